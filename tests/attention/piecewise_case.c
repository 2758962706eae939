/* SPDX-License-Identifier: Apache-2.0 */
#include "attention/piecewise_case.h"

#include "support/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of exactly `count` numbers, so that reads beyond them are found by sanitizers. */
static float *make(int64_t count)
{
    float *made = calloc((size_t)count + (count == 0), sizeof *made);
    if (!made)
        abort();
    return made;
}

static float *make_random(int64_t count, double size, uint64_t seed)
{
    float *made = make(count);
    for (int64_t i = 0; i < count; i++)
        made[i] = (float)(size * (double)check_random(seed, (uint64_t)i, 0));
    return made;
}

static double psi(int64_t distance)
{
    return log1p(0.1 * fabs((double)distance));
}

/* Ascending, some equal, some below and above all inputs of FIRE, 0 ... 1. */
static float *make_knots(int64_t count, uint64_t seed)
{
    float *knots = make(count);
    float at = -0.25f;
    for (int64_t i = 0; i < count; i++) {
        knots[i] = at;
        if (check_random(seed, (uint64_t)i, 0) > -0.5f)
            at += 3.0f / (float)count * fabsf(check_random(seed + 1, (uint64_t)i, 0));
    }
    if (count > 3)
        knots[count - 1] = (float)HUGE_VAL;
    return knots;
}

rotary_attention_piecewise_bias piecewise_case_make(const struct reference_case *c,
                                                    const struct piecewise_shape *shape, uint64_t seed)
{
    int64_t count = c->heads * shape->segments;
    float *inputs = make(shape->distances), *scales = make(shape->positions);
    for (int64_t i = 0; i < shape->distances; i++) {
        int64_t distance = shape->first + i;
        inputs[i] = (float)(distance <= 0 ? psi(distance) : 0.75 * psi(distance));
    }
    for (int64_t i = 0; i < shape->positions; i++)
        scales[i] = (float)(1 / psi(i > shape->length ? i : shape->length));
    return (rotary_attention_piecewise_bias){.intercepts = make_random(count, shape->size, seed),
                                             .slopes = make_random(count, 2, seed + 1),
                                             .knots = make_knots(shape->segments - 1, seed + 2),
                                             .segments = shape->segments,
                                             .distance_inputs = inputs,
                                             .distances = shape->distances,
                                             .first = shape->first,
                                             .query_scales = scales,
                                             .positions = shape->positions,
                                             .intercept_gradient = make(count),
                                             .slope_gradient = make(count),
                                             .input_gradient = make(shape->distances),
                                             .scale_gradient = make(shape->positions)};
}

void piecewise_case_free(const rotary_attention_piecewise_bias *bias)
{
    const float *const all[] = {bias->intercepts,      bias->slopes,         bias->knots,
                                bias->distance_inputs, bias->query_scales,   bias->intercept_gradient,
                                bias->slope_gradient,  bias->input_gradient, bias->scale_gradient};
    for (int i = 0; i < 9; i++)
        free((void *)(uintptr_t)all[i]);
}

enum { INTERCEPTS, SLOPES, INPUTS, SCALES, GRADIENTS };
static const char *const names[GRADIENTS] = {"intercept gradient", "slope gradient", "input gradient",
                                             "scale gradient"};

static void count_all(const struct reference_case *c, int64_t counts[GRADIENTS])
{
    const rotary_attention_piecewise_bias *bias = c->piecewise_bias;
    counts[INTERCEPTS] = counts[SLOPES] = c->heads * bias->segments;
    counts[INPUTS] = bias->distances;
    counts[SCALES] = bias->positions;
}

static double max_size(const double *values, int64_t count)
{
    double size = 0;
    for (int64_t i = 0; i < count; i++)
        size = fmax(size, fabs(values[i]));
    return size;
}

/* The gradients, from those of the scores; or the largest sizes of what they sum, where scores
 * have gradients of this size. */
static void expect(const struct reference_case *c, const double *ds, double size,
                   double *gradients[GRADIENTS])
{
    const rotary_attention_piecewise_bias *bias = c->piecewise_bias;
    int64_t counts[GRADIENTS], at = 0;
    count_all(c, counts);
    for (int i = 0; i < GRADIENTS; i++) {
        gradients[i] = calloc((size_t)counts[i], sizeof(double));
        if (!gradients[i])
            abort();
    }
    for (int64_t b = 0; b < c->batch; b++)
        for (int64_t h = 0; h < c->heads; h++)
            for (int64_t m = 0; m < c->queries; m++)
                for (int64_t n = 0; n < c->keys; n++, at++) {
                    struct reference_piece piece = reference_piece_of(c, m, n);
                    int64_t segment = h * bias->segments + piece.segment;
                    double slope = (double)bias->slopes[segment];
                    double parts[GRADIENTS] = {1, piece.input * piece.scale, slope * piece.scale,
                                               slope * piece.input};
                    int64_t places[GRADIENTS] = {segment, segment, piece.input_at, piece.scale_at};
                    for (int i = 0; i < GRADIENTS; i++)
                        gradients[i][places[i]] = size > 0
                                                      ? fmax(gradients[i][places[i]], size * fabs(parts[i]))
                                                      : gradients[i][places[i]] + ds[at] * parts[i];
                }
}

void piecewise_case_check(const struct reference_case *c, const struct trial_results *results)
{
    const rotary_attention_piecewise_bias *bias = c->piecewise_bias;
    float *const got[GRADIENTS] = {bias->intercept_gradient, bias->slope_gradient, bias->input_gradient,
                                   bias->scale_gradient};
    double *wanted[GRADIENTS], *naive[GRADIENTS], *sizes[GRADIENTS];
    int64_t counts[GRADIENTS];
    count_all(c, counts);
    double size_of_ds = max_size(results->wanted.output_gradient, reference_query_size(c)) *
                        max_size(results->wanted.value, reference_key_size(c));
    expect(c, results->wanted.score_gradient, 0, wanted);
    expect(c, results->naive.score_gradient, 0, naive);
    expect(c, NULL, size_of_ds, sizes);
    for (int i = 0; i < GRADIENTS; i++) {
        double *numbers = calloc((size_t)counts[i], sizeof *numbers), size = 0;
        if (!numbers)
            abort();
        for (int64_t j = 0; j < counts[i]; j++) {
            numbers[j] = (double)got[i][j];
            size = fmax(size, sizes[i][j]);
        }
        /* A segment may hold all keys of all queries. The gradients of scores of a query add up to 0 then,
         * but for their rounding errors, which kernels with products of bf16 make in the weights too. */
        if (c->bf16 && (i == INTERCEPTS || i == SLOPES))
            size *= 2;
        trial_compare(c, names[i], numbers, wanted[i], naive[i], counts[i], size);
        memset(got[i], 0, (size_t)counts[i] * sizeof **got);
        free(numbers);
        free(wanted[i]);
        free(naive[i]);
        free(sizes[i]);
    }
}
