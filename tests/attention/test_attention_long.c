/* SPDX-License-Identifier: Apache-2.0
 *
 * 131,072 positions, one head of 128 channels in bf16, RoPER, forward and backward: tensors and scratch
 * memory are under 600 MB and grow no faster than the length. With the argument "run" the passes run for the
 * last of the queries, and some rows of all results are compared with the formula in double.
 */
#include "attention/trial.h"
#include "base/half.h"
#include "support/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DIM = 128, LENGTH = 131072, HEADS = 1 };
/* The first query of a run: all keys, and more pairs of a query and a key than 31 bits count, in a third of the time that
 * all queries take. */
enum { FIRST = LENGTH - 20480 };

static rotary_attention *make_attention(const rotary_rope *rope, rotary_isa isa)
{
    rotary_attention_config config;
    rotary_attention *attention = NULL;
    rotary_attention_config_default(&config);
    config.heads = config.key_value_heads = HEADS;
    config.head_dim = DIM;
    config.dtype = ROTARY_BF16;
    config.causal = true;
    config.rope = config.value_rope = rope;
    config.threads = 2;
    config.isa = isa;
    CHECK_INT(rotary_attention_create(&attention, &config, NULL), ROTARY_OK);
    return attention;
}

static double scratch_bytes(const rotary_attention *attention, int64_t length)
{
    rotary_attention_shape shape = {.batch = 1, .queries = length, .keys = length};
    size_t forward = rotary_attention_forward_bytes(attention, shape);
    size_t backward = rotary_attention_backward_bytes(attention, shape);
    CHECK(forward > 0 && backward > 0);
    return (double)(forward > backward ? forward : backward);
}

static void try_bytes(const rotary_rope *rope)
{
    rotary_isa isas[6];
    int count = trial_isas(isas);
    for (int i = 0; i < count; i++) {
        rotary_attention *attention = make_attention(rope, isas[i]);
        check_about("%s, 2 threads, bytes", rotary_isa_name(isas[i]));
        double tensors = 8.0 * LENGTH * DIM * 2 + LENGTH * 4.0, scratch = scratch_bytes(attention, LENGTH);
        CHECK(tensors + scratch < 600e6);
        /* Twice the length, at most twice the memory. */
        for (int64_t length = LENGTH / 8; length < LENGTH; length *= 2)
            CHECK(scratch_bytes(attention, 2 * length) <= 2.01 * scratch_bytes(attention, length));
        rotary_attention_destroy(attention);
    }
}

/* Rows [LENGTH, DIM]: query, key, value, output gradient; output; gradients of the first three. */
enum { Q, K, V, G, OUT, DQ, DK, DV, TENSORS };

static uint16_t *tensors[TENSORS];
static float *log_sum_exp;

/* Row `row` in double, rotated by `direction` times its angles. */
static void rotated(double *to, const uint16_t *from, int64_t row, const double *frequency, double direction)
{
    for (int i = 0; i < DIM / 2; i++) {
        double angle = direction * (double)row * frequency[i], c = cos(angle), s = sin(angle);
        double x = (double)rotary_bf16_to_float(from[row * DIM + i]);
        double y = (double)rotary_bf16_to_float(from[row * DIM + i + DIM / 2]);
        to[i] = x * c - y * s;
        to[i + DIM / 2] = x * s + y * c;
    }
}

static double dot(const double *a, const double *b)
{
    double sum = 0;
    for (int i = 0; i < DIM; i++)
        sum += a[i] * b[i];
    return sum;
}

static void add(double *to, double factor, const double *from)
{
    for (int i = 0; i < DIM; i++)
        to[i] += factor * from[i];
}

/* Applies the transposed rotation to a sum and compares it with a row of the library's results. */
static void check_row(int which, int64_t row, const double *sum, const double *frequency, double size)
{
    double got[DIM], off = 0, largest = size;
    rotated(got, tensors[which], row, frequency, 1);
    for (int i = 0; i < DIM; i++) {
        double error = fabs(got[i] - sum[i]);
        off = error > off || error != error ? error : off;
        largest = fmax(largest, fabs(sum[i]));
    }
    check_about("tensor %d, row %lld", which, (long long)row);
    CHECK_NEAR(off, 0, 0.03 * largest); /* bf16 of products, p and results: 2^-9 each, several times */
}

/* Output, log-sum-exp and query gradient of row m. */
static void check_query(int64_t m, const double *frequency)
{
    static double score[LENGTH];
    double q[DIM], k[DIM], v[DIM], g[DIM], out[DIM] = {0}, dq[DIM] = {0}, scale = 1 / sqrt(DIM);
    double row_max = -HUGE_VAL, sum = 0, size = 0;
    rotated(q, tensors[Q], m, frequency, 1);
    rotated(g, tensors[G], m, frequency, 1);
    for (int64_t n = 0; n <= m; n++) {
        rotated(k, tensors[K], n, frequency, 1);
        score[n] = scale * dot(q, k);
        row_max = fmax(row_max, score[n]);
    }
    for (int64_t n = 0; n <= m; n++)
        sum += exp(score[n] - row_max);
    for (int64_t n = 0; n <= m; n++) {
        rotated(v, tensors[V], n, frequency, 1);
        add(out, exp(score[n] - row_max) / sum, v);
    }
    double mean = dot(g, out);
    for (int64_t n = 0; n <= m; n++) {
        rotated(k, tensors[K], n, frequency, 1);
        rotated(v, tensors[V], n, frequency, 1);
        double ds = scale * exp(score[n] - row_max) / sum * (dot(g, v) - mean);
        add(dq, ds, k);
        size += fabs(ds) * 0.1;
    }
    check_row(OUT, m, out, frequency, 0.1);
    check_row(DQ, m, dq, frequency, size);
    CHECK_NEAR((double)log_sum_exp[m], row_max + log(sum), 0.02);
}

/* Key and value gradients of row n, with the log-sum-exps and outputs that were written. */
static void check_key(int64_t n, const double *frequency)
{
    double q[DIM], k[DIM], v[DIM], g[DIM], out[DIM], dk[DIM] = {0}, dv[DIM] = {0}, scale = 1 / sqrt(DIM);
    double size = 0, value_size = 0;
    rotated(k, tensors[K], n, frequency, 1);
    rotated(v, tensors[V], n, frequency, 1);
    for (int64_t m = n > FIRST ? n : FIRST; m < LENGTH; m++) {
        rotated(q, tensors[Q], m, frequency, 1);
        rotated(g, tensors[G], m, frequency, 1);
        rotated(out, tensors[OUT], m, frequency, 1);
        double p = exp(scale * dot(q, k) - (double)log_sum_exp[m]);
        double ds = scale * p * (dot(g, v) - dot(g, out));
        add(dk, ds, q);
        add(dv, p, g);
        size += fabs(ds) * 0.1;
        value_size += p * 0.1;
    }
    check_row(DK, n, dk, frequency, size);
    check_row(DV, n, dv, frequency, value_size);
}

static void try_run(const rotary_rope *rope)
{
    rotary_attention *attention = make_attention(rope, ROTARY_ISA_AUTO);
    rotary_error error = {0};
    for (int t = 0; t < TENSORS; t++) {
        tensors[t] = trial_memory((size_t)LENGTH * DIM * 2);
        memset(tensors[t], 0xff, (size_t)LENGTH * DIM * 2);
        for (int64_t i = 0; i < (int64_t)LENGTH * DIM && t < OUT; i++)
            tensors[t][i] = rotary_bf16_from_float(check_random((uint64_t)t, (uint64_t)i, 1));
    }
    log_sum_exp = trial_memory(LENGTH * sizeof(float));
    void *workspace = trial_memory((size_t)scratch_bytes(attention, LENGTH));
    rotary_attention_const_view given[TENSORS];
    rotary_attention_view taken[TENSORS];
    for (int t = 0; t < TENSORS; t++) {
        const bool of_queries = t == Q || t == G || t == OUT || t == DQ;
        uint16_t *rows = tensors[t] + (of_queries ? (size_t)FIRST * DIM : 0);
        given[t] = (rotary_attention_const_view){rows, 0, DIM, DIM};
        taken[t] = (rotary_attention_view){rows, 0, DIM, DIM};
    }
    const rotary_attention_shape shape = {
        .batch = 1, .queries = LENGTH - FIRST, .keys = LENGTH, .first_query = FIRST};
    rotary_attention_forward_call forward = {.struct_size = sizeof forward,
                                             .shape = shape,
                                             .query = given[Q],
                                             .key = given[K],
                                             .value = given[V],
                                             .output = taken[OUT],
                                             .log_sum_exp = log_sum_exp + FIRST,
                                             .workspace = workspace};
    CHECK_INT(rotary_attention_forward(attention, &forward, &error), ROTARY_OK);
    rotary_attention_backward_call backward = {.struct_size = sizeof backward,
                                               .shape = shape,
                                               .query = given[Q],
                                               .key = given[K],
                                               .value = given[V],
                                               .output = given[OUT],
                                               .output_gradient = given[G],
                                               .log_sum_exp = log_sum_exp + FIRST,
                                               .query_gradient = taken[DQ],
                                               .key_gradient = taken[DK],
                                               .value_gradient = taken[DV],
                                               .workspace = workspace};
    CHECK_INT(rotary_attention_backward(attention, &backward, &error), ROTARY_OK);
    const int64_t queries[] = {FIRST, FIRST + 1, FIRST + 1023, 120001, LENGTH - 1};
    const int64_t keys[] = {0, 1, 1023, 65536, 100003, FIRST, LENGTH - 1};
    const double *frequency = rotary_rope_inverse_frequencies(rope);
    for (size_t i = 0; i < sizeof queries / sizeof *queries; i++)
        check_query(queries[i], frequency);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        check_key(keys[i], frequency);
    for (int t = 0; t < TENSORS; t++)
        free(tensors[t]);
    free(log_sum_exp);
    free(workspace);
    rotary_attention_destroy(attention);
}

int main(int argc, char **argv)
{
    rotary_rope_config config;
    rotary_rope *rope = NULL;
    rotary_rope_config_default(&config);
    config.head_dim = DIM;
    CHECK_INT(rotary_rope_create(&rope, &config, NULL), ROTARY_OK);
    if (argc > 1 && strcmp(argv[1], "run") == 0)
        try_run(rope);
    else
        try_bytes(rope);
    rotary_rope_destroy(rope);
    return check_report();
}
