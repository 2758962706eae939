/* SPDX-License-Identifier: Apache-2.0 */
#include "benchmark/timed_terms.h"

#include "benchmark/fill.h"

#include <math.h>

enum { SHAW_CLIP = 16, FIRE_UNITS = 32, FIRE_SEGMENTS = FIRE_UNITS + 1 };
static const double fire_slope = 0.1, fire_threshold = 256; /* c and L as they begin (Li et al. 2024) */

static int64_t width_of(const struct timed_terms *terms)
{
    return terms->heads * terms->head_dim;
}

static float *push(struct rotary_arena *arena, int64_t count)
{
    return rotary_arena_push(arena, count, sizeof(float));
}

void timed_terms_carve(struct timed_terms *terms, struct rotary_arena *arena)
{
    const int64_t width = width_of(terms), time = terms->time, segments = terms->heads * FIRE_SEGMENTS;
    terms->biases = push(arena, terms->heads * time);
    terms->bias_gradient = push(arena, terms->heads * time);
    terms->keys = push(arena, time * width);
    terms->key_gradient = push(arena, time * width);
    terms->others = push(arena, time * width);
    terms->other_gradient = push(arena, time * width);
    terms->query_bias = push(arena, width);
    terms->query_bias_gradient = push(arena, width);
    terms->intercepts = push(arena, segments);
    terms->slopes = push(arena, segments);
    terms->segment_gradients = push(arena, 2 * segments);
    terms->knots = push(arena, FIRE_UNITS);
    terms->inputs = push(arena, time);
    terms->scales = push(arena, time);
    terms->input_gradient = push(arena, time);
    terms->scale_gradient = push(arena, time);
    terms->sinks = push(arena, terms->heads);
    terms->sinks_gradient = push(arena, terms->heads);
}

void timed_terms_fill(const struct timed_terms *terms)
{
    const int64_t width = width_of(terms), time = terms->time, segments = terms->heads * FIRE_SEGMENTS;
    benchmark_fill(terms->biases, ROTARY_F32, terms->heads * time, 3);
    benchmark_fill(terms->keys, ROTARY_F32, time * width, 4);
    benchmark_fill(terms->others, ROTARY_F32, time * width, 5);
    benchmark_fill(terms->query_bias, ROTARY_F32, width, 6);
    benchmark_fill(terms->intercepts, ROTARY_F32, segments, 7);
    benchmark_fill(terms->slopes, ROTARY_F32, segments, 8);
    benchmark_fill(terms->sinks, ROTARY_F32, terms->heads, 9);
    for (int i = 0; i < FIRE_UNITS; i++)
        terms->knots[i] = (float)(i + 1) / FIRE_SEGMENTS;
    for (int64_t i = 0; i < time; i++) {
        terms->inputs[i] = (float)log1p(fire_slope * (double)(time - 1 - i));
        terms->scales[i] = (float)(1.0 / log1p(fire_slope * fmax(fire_threshold, (double)i)));
    }
}

/* They are of all distances, or of the last SHAW_CLIP + 1, which all heads share. */
static rotary_attention_distance_vectors vectors_of(const struct timed_terms *terms, const float *data,
                                                    float *gradient, bool clipped)
{
    const int64_t distances = clipped && terms->time > SHAW_CLIP ? SHAW_CLIP + 1 : terms->time;
    return (rotary_attention_distance_vectors){.data = data,
                                               .distances = distances,
                                               .first = 1 - distances,
                                               .head_stride = clipped ? 0 : terms->head_dim,
                                               .distance_stride = clipped ? terms->head_dim : width_of(terms),
                                               .gradient = gradient};
}

static void add_bias(const struct timed_terms *terms, rotary_attention_forward_call *forward)
{
    forward->distance_bias = (rotary_attention_distance_bias){terms->biases, terms->time, 1 - terms->time,
                                                              terms->time, terms->bias_gradient};
}

static void add_fire(const struct timed_terms *terms, rotary_attention_forward_call *forward)
{
    forward->piecewise_bias = (rotary_attention_piecewise_bias){
        .intercepts = terms->intercepts,
        .slopes = terms->slopes,
        .knots = terms->knots,
        .segments = FIRE_SEGMENTS,
        .distance_inputs = terms->inputs,
        .distances = terms->time,
        .first = 1 - terms->time,
        .query_scales = terms->scales,
        .positions = terms->time,
        .intercept_gradient = terms->segment_gradients,
        .slope_gradient = terms->segment_gradients + terms->heads * FIRE_SEGMENTS,
        .input_gradient = terms->input_gradient,
        .scale_gradient = terms->scale_gradient};
}

void timed_terms_add(const struct timed_terms *terms, enum attention_encoding encoding,
                     rotary_attention_forward_call *forward, rotary_attention_backward_call *backward)
{
    const bool shaw = encoding == ATTENTION_SHAW, xl = encoding == ATTENTION_TRANSFORMER_XL,
               deberta = encoding == ATTENTION_DEBERTA;
    if (encoding == ATTENTION_BIAS)
        add_bias(terms, forward);
    if (shaw || xl || deberta)
        forward->distance_keys = vectors_of(terms, terms->keys, terms->key_gradient, shaw);
    if (shaw)
        forward->distance_values = vectors_of(terms, terms->others, terms->other_gradient, true);
    if (deberta)
        forward->distance_queries = vectors_of(terms, terms->others, terms->other_gradient, false);
    if (xl) {
        forward->query_bias = terms->query_bias;
        backward->query_bias_gradient = terms->query_bias_gradient;
    }
    if (encoding == ATTENTION_FIRE)
        add_fire(terms, forward);
    if (encoding == ATTENTION_SINKS) {
        forward->sinks = backward->sinks = terms->sinks;
        backward->sinks_gradient = terms->sinks_gradient;
    }
    if (encoding == ATTENTION_KEY_IS_VALUE) {
        forward->value = backward->value = (rotary_attention_const_view){0};
        backward->value_gradient = (rotary_attention_view){0};
    }
    backward->distance_bias = forward->distance_bias;
    backward->distance_keys = forward->distance_keys;
    backward->distance_queries = forward->distance_queries;
    backward->distance_values = forward->distance_values;
    backward->query_bias = forward->query_bias;
    backward->piecewise_bias = forward->piecewise_bias;
}
