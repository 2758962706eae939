/* SPDX-License-Identifier: Apache-2.0
 *
 * The terms of a call: the checks of their arguments, and which of them a problem has.
 */
#include "attention/attention_plan.h"

#include "base/fail.h"
#include "base/random.h"
#include "kernel/attention/attention_terms.h"

#include <math.h>

#define MAX_DISTANCES ((int64_t)1 << 32)

rotary_status rotary_attention_check_distance_bias(const rotary_attention *attention,
                                                   const rotary_attention_distance_bias *bias,
                                                   rotary_error *error)
{
    if (!bias->data && bias->gradient)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "distance_bias has a gradient but no data; wanted both, or no gradient");
    if (!bias->data)
        return ROTARY_OK;
    if (bias->distances < 1 || bias->distances > MAX_DISTANCES)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "distance_bias has %lld distances; wanted 1 ... %lld", (long long)bias->distances,
                           (long long)MAX_DISTANCES);
    if (bias->first < -ROTARY_ATTENTION_MAX_POSITION || bias->first > ROTARY_ATTENTION_MAX_POSITION)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "distance_bias has %lld as its first distance; wanted %lld ... %lld",
                           (long long)bias->first, -(long long)ROTARY_ATTENTION_MAX_POSITION,
                           (long long)ROTARY_ATTENTION_MAX_POSITION);
    if (attention->heads > 1 && bias->head_stride != 0 && bias->head_stride < bias->distances)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "distance_bias has a head_stride of %lld; wanted 0 (shared), or %lld or more",
                           (long long)bias->head_stride, (long long)bias->distances);
    return ROTARY_OK;
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
        .sequence = sequence,
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
}
