/* SPDX-License-Identifier: Apache-2.0
 *
 * Every kernel on every instruction set of this machine against its specification in double precision, at
 * widths that are no multiples of a vector, with canaries behind every row that is written.
 */
#include "base/element.h"
#include "base/isa.h"
#include "kernel/layer/layer_kernels.h"
#include "layer/layer_reference.h"
#include "support/check.h"

#include <math.h>
#include <string.h>

enum { ROWS = 5, GAP = 3, WIDEST = 200 };

/* Storage or f32 rows with a gap between them: one filled by the specification, one by the variant. */
struct pair {
    rotary_dtype dtype;
    int64_t width, stride;
    unsigned char wanted[ROWS * (WIDEST + GAP) * 4], got[ROWS * (WIDEST + GAP) * 4];
};

static double value_at(const struct pair *pair, const unsigned char *data, int64_t row, int64_t column)
{
    return (double)rotary_element(data, row * pair->stride + column, pair->dtype);
}

static void fill(struct pair *pair, rotary_dtype dtype, int64_t width, int64_t gap, uint64_t seed,
                 int octaves)
{
    pair->dtype = dtype;
    pair->width = width;
    pair->stride = width + gap;
    for (int64_t i = 0; i < ROWS * pair->stride; i++)
        rotary_set_element(pair->wanted, i, dtype, check_random(seed, (uint64_t)i, octaves));
    memcpy(pair->got, pair->wanted, sizeof pair->got);
}

/* |got - wanted| <= bound * largest of the row, plus one bf16 rounding; gaps between rows are untouched. */
static void compare(const struct pair *pair, int64_t rows, double bound)
{
    for (int64_t row = 0; row < rows; row++) {
        double largest = 0.0;
        for (int64_t i = 0; i < pair->width; i++)
            largest = fmax(largest, fabs(value_at(pair, pair->wanted, row, i)));
        for (int64_t i = 0; i < pair->width; i++) {
            double wanted = value_at(pair, pair->wanted, row, i);
            double rounding = pair->dtype == ROTARY_BF16 ? 0x1.02p-7 * fabs(wanted) : 0.0;
            CHECK_NEAR(value_at(pair, pair->got, row, i), wanted, bound * largest + rounding + 1e-37);
        }
        size_t size = rotary_dtype_size(pair->dtype), gap = (size_t)(row * pair->stride + pair->width) * size;
        CHECK(memcmp(pair->wanted + gap, pair->got + gap, (size_t)(pair->stride - pair->width) * size) == 0);
    }
}

static struct pair a, b, c, d, e, f, g, h;

static struct layer_mask mask_of(bool drop)
{
    struct layer_mask mask = {.key = {.seed = 99, .stream = 2, .step = 3}, .scale = 1.0f};
    if (drop) {
        mask.threshold = 0x40000000u;
        mask.scale = 4.0f / 3.0f;
    }
    return mask;
}

static const struct layer_kernels *kernels[2];

static void test_norm_forward(rotary_dtype storage, int64_t width, bool rms, bool sublayer_output, bool drop)
{
    fill(&a, ROTARY_F32, width, 0, 1, 2); /* residual */
    fill(&b, storage, width, GAP, 2, 2);  /* sublayer_output */
    fill(&c, ROTARY_F32, width, 0, 3, 0); /* residual_sum */
    fill(&d, storage, width, GAP, 4, 0);  /* normalised */
    fill(&e, ROTARY_F32, width, 0, 5, 0); /* normalised_f32 */
    fill(&f, ROTARY_F32, ROWS, 0, 6, 0);  /* mean, rstd */
    fill(&g, ROTARY_F32, width, 0, 7, 1); /* gain, bias */
    float *gain = (float *)(void *)g.got;
    for (int i = 0; i < 2; i++) {
        struct pair *pairs[] = {&a, &b, &c, &d, &e, &f};
        void *data[6];
        for (int j = 0; j < 6; j++)
            data[j] = i ? pairs[j]->got : pairs[j]->wanted;
        const struct layer_norm_forward work = {.first = 7,
                                                .rows = ROWS,
                                                .width = width,
                                                .rms = rms,
                                                .epsilon = 1e-5f,
                                                .gain = gain,
                                                .bias = rms ? NULL : gain + width,
                                                .storage = storage,
                                                .residual = data[0],
                                                .sublayer_output = sublayer_output ? data[1] : NULL,
                                                .sublayer_output_stride = width + GAP,
                                                .mask = mask_of(drop),
                                                .residual_sum = data[2],
                                                .normalised = data[3],
                                                .normalised_stride = width + GAP,
                                                .normalised_f32 = data[4],
                                                .mean = data[5],
                                                .rstd = (float *)data[5] + ROWS};
        kernels[i]->norm_forward(&work);
    }
    compare(&c, ROWS, 1e-6);
    compare(&d, ROWS, 2e-6);
    compare(&e, ROWS, 2e-6);
    compare(&f, 2, 2e-6);
}

static void test_norm_backward(rotary_dtype storage, int64_t width, bool rms, int given, bool accumulate,
                               bool drop)
{
    fill(&a, ROTARY_F32, width, 0, 11, 2); /* residual_sum */
    fill(&b, storage, width, GAP, 12, 2);  /* d_normalised */
    fill(&c, ROTARY_F32, width, 0, 13, 2); /* d_normalised_f32 and d_residual */
    fill(&d, storage, width, GAP, 14, 0);  /* d_sublayer_output */
    fill(&e, ROTARY_F32, width, 0, 15, 0); /* d_gain, d_bias */
    fill(&g, ROTARY_F32, width, 0, 16, 1); /* gain */
    float mean[ROWS], rstd[ROWS];
    for (int row = 0; row < ROWS; row++) {
        mean[row] = rms ? 0.0f : 0.1f * (float)row;
        rstd[row] = 0.5f + 0.1f * (float)row;
    }
    for (int i = 0; i < 2; i++) {
        float *residual = (float *)(void *)(i ? c.got : c.wanted),
              *gains = (float *)(void *)(i ? e.got : e.wanted);
        const struct layer_norm_backward work = {.first = 2,
                                                 .rows = ROWS,
                                                 .width = width,
                                                 .rms = rms,
                                                 .accumulate = accumulate,
                                                 .storage = storage,
                                                 .gain = (float *)(void *)g.got,
                                                 .residual_sum = (float *)(void *)a.got,
                                                 .mean = mean,
                                                 .rstd = rstd,
                                                 .d_normalised = given & 1 ? b.got : NULL,
                                                 .d_normalised_stride = width + GAP,
                                                 .d_normalised_f32 = given & 2 ? residual : NULL,
                                                 .d_residual = residual,
                                                 .d_sublayer_output = i ? d.got : d.wanted,
                                                 .d_sublayer_output_stride = width + GAP,
                                                 .mask = mask_of(drop),
                                                 .d_gain = gains,
                                                 .d_bias = rms ? NULL : gains + width};
        kernels[i]->norm_backward(&work);
    }
    compare(&c, ROWS, 5e-6);
    compare(&d, ROWS, 5e-6);
    compare(&e, rms ? 1 : 2, 5e-6);
}

static bool same_bits(const void *x, const void *y, rotary_dtype storage, int64_t count)
{
    return memcmp(x, y, (size_t)count * rotary_dtype_size(storage)) == 0;
}

static void test_activation(enum layer_activation kind, rotary_dtype storage, int64_t count)
{
    /* Inputs of 2^-8 to 2^5, where the tails of the normal distribution and of the sigmoid vanish. */
    fill(&a, storage, count, GAP, 31, 5);
    fill(&b, storage, count, GAP, 32, 2);
    fill(&c, storage, count, GAP, 33, 0);
    fill(&d, storage, count, GAP, 34, 0);
    fill(&e, storage, count, GAP, 35, 0);
    fill(&f, storage, count, GAP, 36, 0);
    fill(&g, storage, count, GAP, 37, 0);
    const enum layer_activation gate = kind == LAYER_GELU_TANH ? LAYER_GELU_TANH : LAYER_SILU;
    for (int i = 0; i < 2; i++) {
        kernels[i]->activate(kind, storage, i ? c.got : c.wanted, a.got, count);
        kernels[i]->activate_backward(kind, storage, i ? d.got : d.wanted, NULL, b.got, a.got, count);
        kernels[i]->gated(gate, storage, i ? e.got : e.wanted, a.got, b.got, count);
        kernels[i]->gated_backward(gate, storage, i ? f.got : f.wanted, i ? g.got : g.wanted, NULL, h.got,
                                   a.got, b.got, count);
    }
    compare(&c, 1, 2e-7);
    compare(&d, 1, 1e-6);
    compare(&e, 1, 2e-7);
    compare(&f, 1, 1e-6);
    compare(&g, 1, 2e-7);
    memcpy(a.wanted, b.got, sizeof a.wanted); /* in place */
    kernels[1]->activate_backward(kind, storage, a.wanted, NULL, a.wanted, a.got, count);
    CHECK(same_bits(a.wanted, d.got, storage, count));
    /* The output again, which has the bits of the forward pass, in the memory of its gradient. */
    memcpy(a.wanted, a.got, sizeof a.wanted);
    memcpy(b.wanted, b.got, sizeof b.wanted);
    kernels[1]->activate_backward(kind, storage, a.wanted, b.wanted, b.wanted, a.wanted, count);
    CHECK(same_bits(a.wanted, d.got, storage, count));
    CHECK(same_bits(b.wanted, c.got, storage, count));
    memcpy(a.wanted, a.got, sizeof a.wanted);
    memcpy(b.wanted, b.got, sizeof b.wanted);
    memcpy(h.wanted, h.got, sizeof h.wanted);
    kernels[1]->gated_backward(gate, storage, a.wanted, b.wanted, h.wanted, h.wanted, a.wanted, b.wanted,
                               count);
    CHECK(same_bits(a.wanted, f.got, storage, count) && same_bits(b.wanted, g.got, storage, count));
    CHECK(same_bits(h.wanted, e.got, storage, count));
}

static void test_cross_entropy(rotary_dtype storage, int64_t classes, float smoothing, bool backward,
                               float softcap)
{
    const int32_t targets[ROWS] = {0, (int32_t)classes - 1, -1, (int32_t)classes / 2, 0};
    float losses[2][ROWS];
    struct layer_cross_entropy work[2];
    smoothing = classes > 1 ? smoothing : 0.0f;
    fill(&a, ROTARY_F32, classes, GAP, 41, 3);
    fill(&b, storage, classes, GAP, 42, 0);
    for (int i = 0; i < 2; i++) {
        float *logits = (float *)(void *)(i ? a.got : a.wanted);
        for (int64_t row = 0; row < ROWS; row++)
            losses[i][row] = -7.0f;
        for (int64_t j = 0; j < classes; j++)
            logits[4 * a.stride + j] = 2.0f; /* all equal: the first is the largest */
        logits[3 * a.stride + targets[3]] = 90.0f;
        work[i] = (struct layer_cross_entropy){.rows = ROWS,
                                               .classes = classes,
                                               .logits = logits,
                                               .logits_stride = a.stride,
                                               .targets = targets,
                                               .gradient_scale = 0.125f,
                                               .smoothing = smoothing,
                                               .softcap = softcap,
                                               .storage = storage,
                                               .gradient = backward ? (i ? b.got : b.wanted) : NULL,
                                               .gradient_stride = b.stride,
                                               .losses = losses[i]};
        kernels[i]->cross_entropy(&work[i]);
    }
    compare(&b, ROWS, 1e-6);
    CHECK_NEAR(work[1].loss, work[0].loss, 1e-6 * work[0].loss + 1e-6);
    CHECK_INT(work[1].counted, 4);
    CHECK_INT(work[1].correct, work[0].correct);
    CHECK(work[1].correct >= 2);
    for (int64_t row = 0; row < ROWS; row++)
        CHECK_NEAR((double)losses[1][row], (double)losses[0][row], 1e-6 * work[0].loss + 1e-6);
    CHECK_NEAR((double)losses[1][2], -7.0, 0.0); /* ignored */
}

/* The largest, equal ones and excluded ones, wherever in a block they are, in calls of some columns. */
static void test_top_classes(int64_t classes, int64_t columns, int64_t count, int64_t excluded)
{
    enum { CLASSES = 1500, MOST = 10 };
    static float logits[ROWS * (CLASSES + GAP)], values[2][ROWS * MOST], maximum[ROWS], sum[ROWS];
    static int32_t chosen[2][ROWS * MOST];
    const int32_t ids[] = {(int32_t)classes - 1, 0};
    int64_t stride = classes + GAP;
    for (int64_t i = 0; i < ROWS * stride; i++)
        logits[i] = 4.0f * check_random(45, (uint64_t)i, 3);
    for (int64_t i = 0; i < classes; i++) {
        logits[stride + i] = 3.0f;                                     /* all equal */
        logits[2 * stride + i] = (float)((i * 37 + 11) % 16);          /* many are */
        logits[3 * stride + i] = 70.0f + (float)i / (float)classes;    /* each is the largest so far */
        logits[4 * stride + i] = i < classes / 2 ? -INFINITY : -60.0f; /* hardly any is possible */
    }
    for (int i = 0; i < 2; i++) {
        struct layer_top_classes work = {.rows = ROWS,
                                         .classes = classes,
                                         .count = count,
                                         .logits_stride = stride,
                                         .excluded = ids,
                                         .excluded_count = excluded,
                                         .maximum = maximum,
                                         .sum = sum,
                                         .log_probabilities = values[i],
                                         .chosen = chosen[i]};
        values[i][ROWS * count] = 17.0f;
        for (; work.first < classes; work.first += work.columns) {
            int64_t left = classes - work.first;
            work.columns = i == 0 || left < columns ? left : columns;
            work.logits = logits + work.first;
            kernels[i]->top_classes(&work);
        }
        CHECK(values[i][ROWS * count] == 17.0f);
    }
    for (int64_t i = 0; i < ROWS * count; i++) {
        CHECK_INT(chosen[1][i], chosen[0][i]);
        if (values[0][i] < -1e9f)
            CHECK(values[1][i] == values[0][i]);
        else
            CHECK_NEAR((double)values[1][i], (double)values[0][i], 2e-5); /* sums of 1500 in f32, at 70 */
    }
}

static void test_sums(rotary_dtype storage, int64_t width)
{
    fill(&a, storage, width, GAP, 51, 3);
    fill(&b, ROTARY_F32, width, GAP, 52, 1);
    for (int i = 0; i < 2; i++)
        kernels[i]->column_sums((float *)(void *)(i ? b.got : b.wanted), storage, a.got, ROWS, width,
                                a.stride);
    compare(&b, 1, 1e-6);
    const float *values = (float *)(void *)b.got;
    double wanted = kernels[0]->sum_of_squares(values, width);
    CHECK_NEAR(kernels[1]->sum_of_squares(values, width), wanted, 1e-6 * wanted);

    fill(&c, storage, width, GAP, 53, 1);
    fill(&d, ROTARY_F32, width, GAP, 54, 1);
    for (int i = 0; i < 2; i++) {
        kernels[i]->to_storage(storage, i ? c.got : c.wanted, values, width);
        kernels[i]->from_storage(storage, (float *)(void *)(i ? d.got : d.wanted), a.got, width);
    }
    compare(&c, 1, 0.0);
    compare(&d, 1, 0.0);
}

static void test_embed(int64_t width, bool add, bool drop)
{
    const struct layer_mask mask = mask_of(drop);
    fill(&a, ROTARY_F32, width, GAP, 61, 2);
    fill(&b, ROTARY_F32, width, GAP, 62, 2);
    fill(&c, ROTARY_F32, width, GAP, 63, 2);
    fill(&d, ROTARY_F32, width, GAP, 64, 2);
    const float *in = (float *)(void *)a.got;
    for (int i = 0; i < 2; i++) {
        float *to = (float *)(void *)(i ? b.got : b.wanted), *out = (float *)(void *)(i ? c.got : c.wanted),
              *added = (float *)(void *)(i ? d.got : d.wanted);
        kernels[i]->embed(out, in, add ? in + a.stride : NULL, 0.7f, 9, 64, width, &mask);
        kernels[i]->embed_backward(to, add ? added : NULL, in, 0.7f, 9, 64, width, &mask);
    }
    compare(&b, 1, 1e-6);
    compare(&c, 1, 1e-6);
    compare(&d, 1, 1e-6);
}

static void test_drop(rotary_dtype storage, int64_t width, bool in_place)
{
    const struct layer_mask mask = mask_of(true);
    fill(&a, storage, width, GAP, 65, 1);
    fill(&b, storage, width, GAP, 66, 1);
    for (int i = 0; i < 2; i++) {
        void *in = i ? a.got : a.wanted, *out = i ? b.got : b.wanted;
        kernels[i]->drop(storage, in_place ? in : out, in, 9, width, &mask);
    }
    compare(in_place ? &a : &b, 1, 1e-6);
}

static void test_adam(int64_t count, float coupled, float decoupled)
{
    struct pair *pairs[] = {&a, &b, &c, &d};
    for (int j = 0; j < 4; j++)
        fill(pairs[j], ROTARY_F32, count, GAP, (uint64_t)(71 + j), 2);
    for (int64_t j = 0; j < count; j++)
        ((float *)(void *)d.got)[j] = ((float *)(void *)d.wanted)[j] = fabsf(((float *)(void *)d.got)[j]);
    for (int i = 0; i < 2; i++) {
        float *data[4];
        for (int j = 0; j < 4; j++)
            data[j] = (float *)(void *)(i ? pairs[j]->got : pairs[j]->wanted);
        const struct layer_adam work = {.count = count,
                                        .value = data[0],
                                        .gradient = data[1],
                                        .moment1 = data[2],
                                        .moment2 = data[3],
                                        .learning_rate = 0.01f,
                                        .beta1 = 0.9f,
                                        .beta2 = 0.999f,
                                        .epsilon = 1e-8f,
                                        .coupled_decay = coupled,
                                        .decoupled_decay = decoupled,
                                        .gradient_scale = 0.5f,
                                        .inverse_correction1 = 1.3f,
                                        .inverse_correction2 = 2.5f};
        kernels[i]->adam(&work);
    }
    for (int j = 0; j < 4; j++)
        compare(pairs[j], 1, 1e-6);
}

/* Reordering bf16: all bytes as specified, those around untouched. */
static void test_reorders(int64_t rows, int64_t columns)
{
    enum { SIDE = 104, PADDED = 128, MAX = PADDED * PADDED };
    static uint16_t in[SIDE * SIDE], out[2][MAX + 8];
    static _Alignas(64) unsigned char copied[2][SIDE * 256];
    for (int64_t i = 0; i < SIDE * SIDE; i++)
        in[i] = (uint16_t)(i * 40503u >> 3);
    for (int way = 0; way < 2; way++) {
        memset(out, 0xa5, sizeof out);
        for (int i = 0; i < 2; i++)
            if (way)
                kernels[i]->transpose(out[i], rows + 5, in, SIDE, rows, columns);
            else
                kernels[i]->pack_vnni(out[i], in, SIDE, rows, columns);
        check_about("%s of %lld x %lld", way ? "transposition" : "VNNI packing", (long long)rows,
                    (long long)columns);
        CHECK(memcmp(out[0], out[1], sizeof out[0]) == 0);
    }
    for (int64_t stride = 256; stride > 192; stride -= 56) { /* aligned, and not */
        memset(copied, 0x5a, sizeof copied);
        for (int i = 0; i < 2; i++)
            kernels[i]->copy_nontemporal(copied[i], stride, in, rows, columns / 8 * 8 < 64 ? 64 : 128);
        CHECK(memcmp(copied[0], copied[1], sizeof copied[0]) == 0);
    }
}

/* Far from 0 an activation is 0 or x, and its derivative 0 or 1; that of NaN is NaN. */
static void test_far(enum layer_activation kind, rotary_dtype storage)
{
    const float in[5] = {-3e38f, -200.0f, 200.0f, 3e38f, (float)NAN},
                ones[5] = {1.0f, 1.0f, 1.0f, 1.0f, 1.0f};
    float x[5], one[5], stored[5], value[5], slope[5];
    kernels[1]->to_storage(storage, x, in, 5);
    kernels[1]->to_storage(storage, one, ones, 5);
    kernels[1]->activate_backward(kind, storage, stored, NULL, one, x, 5);
    kernels[1]->from_storage(storage, slope, stored, 5);
    kernels[1]->activate(kind, storage, stored, x, 5);
    kernels[1]->from_storage(storage, value, stored, 5);
    kernels[1]->from_storage(storage, stored, x, 5);
    const bool flat = kind == LAYER_TANH;
    check_about("activation %d far from 0, %s", kind, rotary_dtype_name(storage));
    CHECK(slope[0] == 0.0f && fabsf(slope[1]) < 1e-30f && slope[2] == (flat ? 0.0f : 1.0f) &&
          slope[3] == slope[2]);
    CHECK(value[0] == (flat ? -1.0f : 0.0f) && fabsf(value[1] - value[0]) < 1e-30f);
    CHECK(value[2] == (flat ? 1.0f : stored[2]) && value[3] == (flat ? 1.0f : stored[3]) && isnan(value[4]));
}

/* NaN stays NaN; infinities do not become finite. */
static void test_not_numbers(void)
{
    float in[3] = {NAN, INFINITY, -INFINITY}, out[3], loss_row[3] = {NAN, 1.0f, 2.0f};
    kernels[1]->activate(LAYER_RELU, ROTARY_F32, out, in, 3);
    CHECK(isnan(out[0]) && isinf(out[1]) && out[2] == 0.0f);
    kernels[1]->activate(LAYER_GELU, ROTARY_F32, out, in, 1);
    CHECK(isnan(out[0]));
    kernels[1]->activate(LAYER_SILU, ROTARY_F32, out, in, 2);
    CHECK(isnan(out[0]) && isinf(out[1]));
    for (int kind = LAYER_GELU; kind <= LAYER_TANH; kind++) {
        test_far((enum layer_activation)kind, ROTARY_F32);
        test_far((enum layer_activation)kind, ROTARY_BF16);
    }
    kernels[1]->activate(LAYER_TANH, ROTARY_F32, out, in, 3);
    CHECK(isnan(out[0]) && out[1] == 1.0f && out[2] == -1.0f);
    uint16_t half[3];
    kernels[1]->to_storage(ROTARY_BF16, half, in, 3);
    kernels[1]->from_storage(ROTARY_BF16, out, half, 3);
    CHECK(isnan(out[0]) && out[1] > 1e38f && out[2] < -1e38f);
    const int32_t target = 1;
    struct layer_cross_entropy work = {.rows = 1, .classes = 3, .logits = loss_row, .targets = &target};
    kernels[1]->cross_entropy(&work);
    CHECK(isnan(work.loss));
    const float some[] = {1.0f, (float)NAN, 3.0f};
    int32_t chosen[3];
    float state[2];
    const struct layer_top_classes most = {.rows = 1,
                                           .classes = 3,
                                           .columns = 3,
                                           .count = 3,
                                           .logits = some,
                                           .maximum = state,
                                           .sum = state + 1,
                                           .log_probabilities = out,
                                           .chosen = chosen};
    kernels[1]->top_classes(&most);
    CHECK(isnan(out[0]) && chosen[0] == 2 && chosen[1] == 0 && chosen[2] == 1);
}

static void test_all(rotary_dtype storage, int64_t width)
{
    fill(&h, storage, width, GAP, 30, 2);
    for (int flags = 0; flags < 8; flags++) {
        test_norm_forward(storage, width, flags & 1, flags & 2, flags & 4);
        test_norm_backward(storage, width, flags & 1, 1, flags & 2, flags & 4);
        test_norm_backward(storage, width, flags & 1, 2, false, flags & 4);
        test_norm_backward(storage, width, flags & 1, 3, false, flags & 4);
        test_cross_entropy(storage, width, flags & 1 ? 0.1f : 0.0f, flags & 2, flags & 4 ? 3.0f : 0.0f);
        test_embed(width, flags & 1, flags & 2);
    }
    for (int kind = LAYER_RELU; kind <= LAYER_TANH; kind++)
        test_activation((enum layer_activation)kind, storage, width);
    test_sums(storage, width);
    test_drop(storage, width, false);
    test_drop(storage, width, true);
    test_adam(width, 0.01f, 0.0f);
    test_adam(width, 0.0f, 0.001f);
}

int main(void)
{
    const int64_t widths[] = {1, 3, 16, 31, 64, 97, 128, 200};
    kernels[0] = &layer_kernels_reference;
    for (int isa = ROTARY_ISA_SCALAR; isa < ROTARY_ISAS; isa++) {
        if (!rotary_isa_available((rotary_isa)isa))
            continue;
        kernels[1] = layer_kernels_for((rotary_isa)isa);
        for (size_t i = 0; i < sizeof widths / sizeof *widths; i++)
            for (int bf16 = 0; bf16 < 2; bf16++) {
                check_about("%s %s width %lld", rotary_isa_name((rotary_isa)isa), bf16 ? "bf16" : "f32",
                            (long long)widths[i]);
                test_all(bf16 ? ROTARY_BF16 : ROTARY_F32, widths[i]);
            }
        check_about("%s", rotary_isa_name((rotary_isa)isa));
        test_not_numbers();
        const int64_t classes[] = {13, 16, 127, 128, 129, 256, 1499};
        for (int i = 0; i < 7 * 3 * 2; i++)
            for (int64_t columns = 2048; columns > 1; columns /= 5)
                test_top_classes(classes[i % 7], columns,
                                 i / 7 % 3 == 0   ? 1
                                 : i / 7 % 3 == 1 ? 4
                                                  : 9,
                                 i / 21 * 2);
        const int64_t sides[] = {1, 2, 31, 32, 33, 64, 70, 96, 99};
        for (int i = 0; i < 81; i++)
            test_reorders(sides[i / 9], sides[i % 9]);
    }
    return check_report();
}
