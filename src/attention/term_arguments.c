/* SPDX-License-Identifier: Apache-2.0
 *
 * The terms of a call: the checks of their arguments, and which of them a problem has.
 */
#include "attention/attention_plan.h"

#include "base/fail.h"
#include "base/random.h"
#include "base/strides.h"
#include "kernel/attention/attention_terms.h"

#include <math.h>
#include <stdlib.h>

#define MAX_DISTANCES ((int64_t)1 << 32)

static rotary_status check_distances(const char *name, int64_t distances, int64_t first, rotary_error *error)
{
    if (distances < 1 || distances > MAX_DISTANCES)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "%s has %lld distances; wanted 1 ... %lld", name,
                           (long long)distances, (long long)MAX_DISTANCES);
    if (first < -ROTARY_ATTENTION_MAX_POSITION || first > ROTARY_ATTENTION_MAX_POSITION)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "%s has %lld as its first distance; wanted %lld ... %lld", name, (long long)first,
                           -(long long)ROTARY_ATTENTION_MAX_POSITION,
                           (long long)ROTARY_ATTENTION_MAX_POSITION);
    return ROTARY_OK;
}

rotary_status rotary_attention_check_distance_bias(const rotary_attention *attention,
                                                   const rotary_attention_distance_bias *bias,
                                                   rotary_error *error)
{
    if (!bias->data && bias->gradient)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "distance_bias has a gradient but no data; wanted both, or no gradient");
    if (!bias->data)
        return ROTARY_OK;
    rotary_status status = check_distances("distance_bias", bias->distances, bias->first, error);
    if (status)
        return status;
    if (attention->heads > 1 && bias->head_stride != 0 && bias->head_stride < bias->distances)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "distance_bias has a head_stride of %lld; wanted 0 (shared), or %lld or more",
                           (long long)bias->head_stride, (long long)bias->distances);
    const struct rotary_vectors rows = {.tensor = "distance_bias",
                                        .member = "",
                                        .length = bias->distances,
                                        .element_bytes = sizeof *bias->data,
                                        .extents = {1, 1, attention->heads},
                                        .strides = {0, 0, bias->head_stride}};
    return rotary_check_offsets(&rows, error);
}

/* Whether no entry is below the one before, where `direction` is 1, or above it, where it is -1. A NaN is
 * neither. */
static bool is_monotone(const float *entries, int64_t begin, int64_t end, float direction)
{
    for (int64_t i = begin + 1; i < end; i++)
        if (direction * entries[i] < direction * entries[i - 1])
            return false;
    return true;
}

static rotary_status check_piecewise_sizes(const rotary_attention_piecewise_bias *bias, rotary_error *error)
{
    if (bias->segments < 1 || bias->segments > ROTARY_ATTENTION_MAX_SEGMENTS)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "piecewise_bias has %lld segments; wanted 1 ... %d", (long long)bias->segments,
                           ROTARY_ATTENTION_MAX_SEGMENTS);
    if (bias->positions < 1 || bias->positions > MAX_DISTANCES)
        return rotary_fail(
            error, ROTARY_INVALID_ARGUMENT,
            "piecewise_bias has query_scales of %lld positions; wanted at least 1, at most %lld",
            (long long)bias->positions, (long long)MAX_DISTANCES);
    const char *missing = !bias->slopes                        ? "slopes"
                          : bias->segments > 1 && !bias->knots ? "knots"
                          : !bias->distance_inputs             ? "distance_inputs"
                          : !bias->query_scales                ? "query_scales"
                                                               : NULL;
    if (missing)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "piecewise_bias has intercepts but no %s; wanted both", missing);
    return check_distances("piecewise_bias", bias->distances, bias->first, error);
}

rotary_status rotary_attention_check_piecewise_bias(const rotary_attention_piecewise_bias *bias,
                                                    rotary_error *error)
{
    if (!bias->intercepts &&
        (bias->intercept_gradient || bias->slope_gradient || bias->input_gradient || bias->scale_gradient))
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "piecewise_bias has a gradient but no intercepts; wanted both, or no gradient");
    if (!bias->intercepts)
        return ROTARY_OK;
    rotary_status status = check_piecewise_sizes(bias, error);
    if (status)
        return status;
    if (!is_monotone(bias->knots, 0, bias->segments - 1, 1))
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "piecewise_bias has a knot below the one before; wanted ascending knots");
    /* Distance 0 is in the left part, and may begin the right one. */
    int64_t zero = max_i64(-1, min_i64(-bias->first, bias->distances - 1));
    if (!is_monotone(bias->distance_inputs, 0, zero + 1, -1) ||
        !is_monotone(bias->distance_inputs, max_i64(zero, 0), bias->distances, 1))
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "distance_inputs of piecewise_bias rise up to distance 0, or fall from there on; "
                           "wanted ones that grow with the size of the distance");
    for (int64_t i = 0; i < bias->positions; i++)
        if (bias->query_scales[i] <= 0)
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                               "query_scales[%lld] of piecewise_bias is %g; wanted more than 0", (long long)i,
                               (double)bias->query_scales[i]);
    return ROTARY_OK;
}

static rotary_status check_vectors(const rotary_attention *attention, const char *name,
                                   const rotary_attention_distance_vectors *vectors, rotary_error *error)
{
    if (!vectors->data && vectors->gradient)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "%s has a gradient but no data; wanted both, or no gradient", name);
    if (!vectors->data)
        return ROTARY_OK;
    rotary_status status = check_distances(name, vectors->distances, vectors->first, error);
    if (status)
        return status;
    const struct {
        const char *name;
        int64_t extent, stride;
    } axes[] = {
        {"head_stride", vectors->head_stride ? attention->heads : 1, vectors->head_stride},
        {"distance_stride", vectors->distances,
         vectors->distance_stride == INT64_MIN ? 0 : llabs(vectors->distance_stride)},
    };
    for (int i = 0; i < 2; i++)
        if (axes[i].extent > 1 && axes[i].stride < attention->head_dim)
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                               "%s has a %s of %lld; wanted %sat least %lld%s", name, axes[i].name,
                               (long long)(i == 0 ? vectors->head_stride : vectors->distance_stride),
                               i == 0 ? "0 (shared), or " : "", (long long)attention->head_dim,
                               i == 0 ? "" : ", or as much backwards");
    const struct rotary_vectors checked = {.tensor = name,
                                           .member = "",
                                           .length = attention->head_dim,
                                           .element_bytes = sizeof *vectors->data,
                                           .extents = {1, axes[1].extent, axes[0].extent},
                                           .strides = {0, axes[1].stride, axes[0].stride}};
    status = rotary_check_offsets(&checked, error);
    return status ? status : rotary_check_strides(&checked, error);
}

rotary_status rotary_attention_check_vectors(const rotary_attention *attention,
                                             const struct attention_vectors *vectors, rotary_error *error)
{
    if (vectors->query_bias && !vectors->keys->data)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "query_bias is given without distance_keys; wanted both, or no query_bias");
    if (vectors->queries->data && vectors->keys_rotated && (attention->rotated & ROTARY_ROTATE_KEY))
        return rotary_fail(
            error, ROTARY_INVALID_ARGUMENT,
            "distance_queries are given with keys that are rotated; wanted a plan without rope, "
            "or, in a forward call, keys that are not rotated");
    rotary_status status = check_vectors(attention, "distance_keys", vectors->keys, error);
    if (!status)
        status = check_vectors(attention, "distance_queries", vectors->queries, error);
    return status ? status : check_vectors(attention, "distance_values", vectors->values, error);
}

rotary_status rotary_attention_check_dropout(const rotary_attention_dropout *dropout, rotary_error *error)
{
    if (!(dropout->probability >= 0 && dropout->probability < 1))
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "dropout has a probability of %g; wanted 0 (none) or more, and less than 1",
                           (double)dropout->probability);
    return ROTARY_OK;
}

struct rotary_attention_dropout_mask rotary_attention_dropout_mask_of(const rotary_attention_dropout *dropout,
                                                                      int64_t sequence)
{
    struct rotary_random_key key = {dropout->seed, ROTARY_STREAM_ATTENTION_DROPOUT, dropout->step};
    uint32_t words[4], threshold = (uint32_t)fminf(roundf(dropout->probability * 0x1p16f), 0xffff);
    rotary_random_block(key, dropout->site, words);
    return (struct rotary_attention_dropout_mask){
        .seed = words[0] | (uint64_t)words[1] << 32,
        .threshold = threshold,
        .scale = 0x1p16f / (0x1p16f - (float)threshold),
        .sequence = dropout->first_sequence + sequence,
    };
}

void rotary_attention_use_terms(const rotary_attention *attention, rotary_attention_problem *problem)
{
    int count = 0;
    const struct rotary_attention_score_term *const *term = attention->kernels->score_terms;
    for (; *term; term++)
        if ((*term)->is_present(problem))
            problem->score_terms[count++] = *term;
    problem->score_terms[count] = NULL;
    const struct rotary_attention_weight_term *weight_term = attention->kernels->weight_term;
    problem->weight_term = weight_term->is_present(problem) ? weight_term : NULL;
    const struct rotary_attention_value_term *value_term = attention->kernels->value_term;
    problem->value_term = value_term->is_present(problem) ? value_term : NULL;
}
