/* SPDX-License-Identifier: Apache-2.0
 *
 * Norms of heads, sums without a norm and copies of rows against double precision, forward and backward, on
 * every instruction set and in both storage types; the same bits on any number of threads.
 */
#include "backend/backend.h"
#include "base/element.h"
#include "base/isa.h"
#include "support/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 70, PADDING = 3 };

static float *numbers(uint64_t seed, int64_t count)
{
    float *all = malloc((size_t)count * sizeof *all);
    for (int64_t i = 0; i < count; i++)
        all[i] = check_random(seed, (uint64_t)i, 3);
    return all;
}

/* Rows of random numbers with PADDING elements of 99 between them. */
static struct matrix random_matrix(uint64_t seed, rotary_dtype dtype, int64_t columns)
{
    struct matrix m = {.data = calloc(ROWS * (size_t)(columns + PADDING), sizeof(float)),
                       .dtype = dtype,
                       .rows = ROWS,
                       .columns = columns,
                       .stride = columns + PADDING};
    for (int64_t i = 0; i < ROWS * m.stride; i++)
        rotary_set_element(m.data, i, dtype,
                           i % m.stride < columns ? check_random(seed, (uint64_t)i, 3) : 99.0f);
    return m;
}

static double element(struct matrix m, int64_t row, int64_t column)
{
    return (double)rotary_element(m.data, row * m.stride + column, m.dtype);
}

static void check_padding(struct matrix m)
{
    for (int64_t row = 0; row < m.rows; row++)
        for (int64_t column = m.columns; column < m.stride; column++)
            CHECK(element(m, row, column) == 99.0);
}

/* Rounding of a stored result, and of f32 sums of some hundred terms. */
static double bound_of(rotary_dtype dtype, double wanted)
{
    return (dtype == ROTARY_BF16 ? 0x1.01p-8 : 0.0) * fabs(wanted) + 2e-5 * (1.0 + fabs(wanted));
}

struct head_case {
    const struct backend *backend;
    bool rms, in_place;
    int64_t heads, width;
    struct matrix in, out, d_out, d_in;
    float *gain, *bias, *mean, *rstd, *d_gain, *d_bias;
};

static struct norm_weights weights_of(const struct head_case *test)
{
    return (struct norm_weights){.kind = test->rms ? NORM_RMS : NORM_LAYER,
                                 .epsilon = 1e-3f,
                                 .gain = test->gain,
                                 .bias = test->rms ? NULL : test->bias};
}

/* One head of a row: its output, and adds its part of the gradients in double. */
static void check_head(const struct head_case *test, struct matrix in, struct matrix d_out, int64_t row,
                       int64_t head, double *d_gain, double *d_bias)
{
    int64_t width = test->width, first = head * width;
    double mean = 0.0, square = 0.0, mean_g = 0.0, mean_gx = 0.0, x[128];
    for (int64_t i = 0; i < width && !test->rms; i++)
        mean += element(in, row, first + i) / (double)width;
    for (int64_t i = 0; i < width; i++)
        square += pow(element(in, row, first + i) - mean, 2.0) / (double)width;
    double rstd = 1.0 / sqrt(square + 1e-3);
    CHECK_NEAR((double)test->mean[row * test->heads + head], mean, 1e-5 * (1.0 + fabs(mean)));
    CHECK_NEAR((double)test->rstd[row * test->heads + head], rstd, 1e-5 * rstd);
    for (int64_t i = 0; i < width; i++) {
        x[i] = (element(in, row, first + i) - mean) * rstd;
        double y = x[i] * (double)test->gain[i] + (test->rms ? 0.0 : (double)test->bias[i]);
        double d = element(d_out, row, first + i), g = d * (double)test->gain[i];
        CHECK_NEAR(element(test->out, row, first + i), y, bound_of(in.dtype, y));
        mean_g += test->rms ? 0.0 : g / (double)width;
        mean_gx += g * x[i] / (double)width;
        d_gain[i] += d * x[i];
        d_bias[i] += d;
    }
    for (int64_t i = 0; i < width; i++) {
        double g = element(d_out, row, first + i) * (double)test->gain[i];
        double d = rstd * (g - mean_g - x[i] * mean_gx);
        CHECK_NEAR(element(test->d_in, row, first + i), d, bound_of(in.dtype, d) * (1.0 + rstd));
    }
}

static void free_case(struct head_case *test)
{
    void *all[] = {test->in.data, test->out.data, test->d_out.data, test->d_in.data, test->gain,
                   test->bias,    test->mean,     test->rstd,       test->d_gain,    test->d_bias};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

static void test_heads(const struct backend *backend, bool rms, int64_t heads, int64_t width, bool in_place)
{
    rotary_dtype dtype = backend->storage;
    int64_t columns = heads * width;
    struct head_case test = {.backend = backend,
                             .rms = rms,
                             .heads = heads,
                             .width = width,
                             .in = random_matrix(1, dtype, columns),
                             .out = random_matrix(2, dtype, columns),
                             .d_out = random_matrix(3, dtype, columns),
                             .d_in = random_matrix(4, dtype, columns),
                             .gain = numbers(5, width),
                             .bias = numbers(6, width),
                             .mean = numbers(7, ROWS * heads),
                             .rstd = numbers(7, ROWS * heads),
                             .d_gain = numbers(8, width),
                             .d_bias = numbers(9, width)};
    struct matrix in = random_matrix(1, dtype, columns), d_out = random_matrix(3, dtype, columns);
    float *d_gain_before = numbers(8, width), *d_bias_before = numbers(9, width);
    double *d_gain = calloc((size_t)width, sizeof *d_gain), *d_bias = calloc((size_t)width, sizeof *d_bias);
    check_about("%s %s %s norm of %lld heads of %lld%s", rotary_isa_name(backend->isa),
                rotary_dtype_name(dtype), rms ? "RMS" : "layer", (long long)heads, (long long)width,
                in_place ? " in place" : "");
    const struct backend_head_norm_forward forward = {.norm = weights_of(&test),
                                                      .heads = heads,
                                                      .out = in_place ? test.in : test.out,
                                                      .in = test.in,
                                                      .mean = test.mean,
                                                      .rstd = test.rstd};
    CHECK(backend->operations->head_norm_forward(backend, &forward, NULL) == ROTARY_OK);
    const struct backend_head_norm_backward backward = {.norm = weights_of(&test),
                                                        .d_gain = test.d_gain,
                                                        .d_bias = rms ? NULL : test.d_bias,
                                                        .heads = heads,
                                                        .d_in = in_place ? test.d_out : test.d_in,
                                                        .d_out = test.d_out,
                                                        .in = in,
                                                        .mean = test.mean,
                                                        .rstd = test.rstd};
    CHECK(backend->operations->head_norm_backward(backend, &backward, NULL) == ROTARY_OK);
    struct head_case seen = test;
    seen.out = forward.out;
    seen.d_in = backward.d_in;
    for (int64_t row = 0; row < ROWS; row++)
        for (int64_t head = 0; head < heads; head++)
            check_head(&seen, in, d_out, row, head, d_gain, d_bias);
    check_padding(seen.out);
    check_padding(seen.d_in);
    for (int64_t i = 0; i < width; i++) {
        double wanted = (double)d_gain_before[i] + d_gain[i];
        CHECK_NEAR((double)test.d_gain[i], wanted, 1e-4 * (10.0 + fabs(wanted)));
        wanted = (double)d_bias_before[i] + (rms ? 0.0 : d_bias[i]);
        CHECK_NEAR((double)test.d_bias[i], wanted, 1e-4 * (10.0 + fabs(wanted)));
    }
    free(in.data);
    free(d_out.data);
    free(d_gain_before);
    free(d_bias_before);
    free(d_gain);
    free(d_bias);
    free_case(&test);
}

/* Everything that a sum without a norm reads and writes. */
struct sum {
    int64_t width;
    float *residual, *sum, *copy, *d_residual, *d_f32;
    struct matrix f, h, d_h, d_f;
};

static struct sum make_sum(rotary_dtype dtype, int64_t width)
{
    int64_t count = ROWS * width;
    return (struct sum){.width = width,
                        .residual = numbers(11, count),
                        .sum = numbers(12, count),
                        .copy = numbers(13, count),
                        .d_residual = numbers(14, count),
                        .d_f32 = numbers(15, count),
                        .f = random_matrix(16, dtype, width),
                        .h = random_matrix(17, dtype, width),
                        .d_h = random_matrix(18, dtype, width),
                        .d_f = random_matrix(19, dtype, width)};
}

static void free_sum(struct sum *sum)
{
    void *all[] = {sum->residual, sum->sum,    sum->copy,     sum->d_residual, sum->d_f32,
                   sum->f.data,   sum->h.data, sum->d_h.data, sum->d_f.data};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

/* Variants: with or without sublayer output, h, copy, gradients, accumulation; with or without dropout. */
static void run_sum(const struct backend *backend, struct sum *sum, int variant)
{
    const struct dropout dropout = {
        .probability = variant & 16 ? 0.4f : 0.0f, .first_row = 5, .seed = 3, .site = 2};
    struct backend_norm_forward forward = {.norm = {.kind = NORM_NONE},
                                           .rows = ROWS,
                                           .width = sum->width,
                                           .residual = sum->residual,
                                           .dropout = dropout};
    struct backend_norm_backward backward = {.norm = {.kind = NORM_NONE},
                                             .rows = ROWS,
                                             .width = sum->width,
                                             .d_residual = sum->d_residual,
                                             .accumulate = variant & 1,
                                             .dropout = dropout};
    if (variant & 2) {
        forward.sublayer_output = sum->f;
        forward.residual_sum = variant & 4 ? sum->residual : sum->sum;
        backward.d_sublayer_output = sum->d_f;
    }
    if (variant & 4) {
        forward.normalised = sum->h;
        backward.d_normalised = sum->d_h;
    }
    if (variant & 8) {
        forward.normalised_f32 = sum->copy;
        backward.d_normalised_f32 = sum->d_f32;
    }
    CHECK(backend->operations->norm_forward(backend, &forward, NULL) == ROTARY_OK);
    CHECK(backend->operations->norm_backward(backend, &backward, NULL) == ROTARY_OK);
}

static void check_stored(struct matrix got, struct matrix before, bool written, int64_t row, int64_t column,
                         double wanted)
{
    if (written)
        CHECK_NEAR(element(got, row, column), wanted, bound_of(got.dtype, wanted));
    else
        CHECK(element(got, row, column) == element(before, row, column));
}

static void test_sum(const struct backend *backend, int64_t width, int variant)
{
    struct sum sum = make_sum(backend->storage, width), before = make_sum(backend->storage, width);
    check_about("%s %s sum of width %lld, variant %d", rotary_isa_name(backend->isa),
                rotary_dtype_name(backend->storage), (long long)width, variant);
    run_sum(backend, &sum, variant);
    const float *stream = !(variant & 2) || variant & 4 ? sum.residual : sum.sum;
    int64_t dropped = 0;
    for (int64_t row = 0; row < ROWS; row++)
        for (int64_t column = 0; column < width; column++) {
            int64_t at = row * width + column;
            double f = variant & 2 ? element(before.f, row, column) : 0.0, x = (double)before.residual[at];
            double factor = variant & 16 ? 1.0 / 0.6 : 1.0;
            bool kept = !(variant & 16) || !(variant & 2) || (double)stream[at] != x || f == 0.0;
            dropped += !kept;
            double wanted = x + (kept ? f * factor : 0.0);
            CHECK_NEAR((double)stream[at], wanted, 1e-6 * (1.0 + fabs(wanted) + fabs(f)));
            check_stored(sum.h, before.h, variant & 4, row, column, wanted);
            CHECK_NEAR((double)sum.copy[at], variant & 8 ? wanted : (double)before.copy[at],
                       1e-6 * (1.0 + fabs(wanted) + fabs(f)));
            double d = (variant & 4 ? element(before.d_h, row, column) : 0.0) +
                       (variant & 8 ? (double)before.d_f32[at] : 0.0) +
                       (variant & 1 ? (double)before.d_residual[at] : 0.0);
            CHECK_NEAR((double)sum.d_residual[at], d, 1e-5 * (1.0 + fabs(d)));
            check_stored(sum.d_f, before.d_f, variant & 2, row, column, kept ? d * factor : 0.0);
        }
    check_padding(sum.h);
    check_padding(sum.d_f);
    double share = (double)dropped / (double)(ROWS * width);
    CHECK_NEAR(share, variant & 16 && variant & 2 ? 0.4 : 0.0,
               variant & 16 ? 4.0 * sqrt(0.24 / (double)(ROWS * width)) : 0.0);
    free_sum(&sum);
    free_sum(&before);
}

static void test_threads(struct backend backend)
{
    enum { WIDTH = 40 };
    struct sum first = make_sum(backend.storage, WIDTH);
    backend.threads = 1;
    run_sum(&backend, &first, 31);
    for (int threads = 2; threads <= 3; threads++) {
        struct sum sum = make_sum(backend.storage, WIDTH);
        backend.threads = threads;
        run_sum(&backend, &sum, 31);
        CHECK(memcmp(sum.residual, first.residual, ROWS * WIDTH * sizeof(float)) == 0);
        CHECK(memcmp(sum.d_residual, first.d_residual, ROWS * WIDTH * sizeof(float)) == 0);
        free_sum(&sum);
    }
    free_sum(&first);
}

static void test_copy_rows(const struct backend *backend)
{
    const int64_t index[] = {5, 0, 0, ROWS - 1};
    struct matrix in = random_matrix(21, backend->storage, 11), out = random_matrix(22, backend->storage, 11);
    for (int indexed = 0; indexed < 2; indexed++) {
        const struct backend_copy_rows call = {
            .out = matrix_rows(out, 2, 4), .in = in, .index = indexed ? index : NULL};
        CHECK(backend->operations->copy_rows(backend, &call, NULL) == ROTARY_OK);
        for (int64_t row = 0; row < 4; row++)
            for (int64_t column = 0; column < 11; column++)
                CHECK(element(out, row + 2, column) == element(in, indexed ? index[row] : row, column));
        check_padding(out);
    }
    free(in.data);
    free(out.data);
}

int main(void)
{
    for (int i = 0; i < 2 * ROTARY_ISAS; i++) {
        rotary_isa isa = (rotary_isa)(i / 2);
        enum precision precision = i % 2 ? PRECISION_BF16 : PRECISION_F32;
        struct backend backend;
        if (isa == ROTARY_ISA_AUTO || !rotary_isa_available(isa) ||
            backend_create(&backend, 2, isa, PRECISION_F32, NULL) != ROTARY_OK)
            continue;
        /* Matmuls may not have bf16 here; norms do. */
        backend.storage = precision == PRECISION_BF16 ? ROTARY_BF16 : ROTARY_F32;
        for (int64_t width = 1; width <= 100; width = 3 * width + 1) {
            for (int rms = 0; rms < 2; rms++) {
                test_heads(&backend, rms, 1, width, false);
                test_heads(&backend, rms, 3, width, rms);
            }
            for (int variant = 0; variant < 32; variant += width == 40 ? 1 : 7)
                test_sum(&backend, width, variant);
        }
        test_threads(backend);
        test_copy_rows(&backend);
        backend_destroy(&backend);
    }
    return check_report();
}
