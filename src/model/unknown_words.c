/* SPDX-License-Identifier: Apache-2.0 */
#include "model/unknown_words.h"

#include "base/fail.h"
#include "model/attention_weights.h"

#include <stdlib.h>
#include <string.h>

/* The sum over the heads of the last layer. */
static double weight_of(const struct attention_weights *cross, int64_t query, int64_t key)
{
    double sum = 0.0;
    for (int64_t head = 0; head < cross->heads; head++)
        sum += (double)attention_weights_head(cross, cross->layers - 1, head)[query * cross->keys + key];
    return sum;
}

static int64_t find_attended(const struct attention_weights *cross, int64_t query, int64_t words)
{
    int64_t best = 0;
    for (int64_t key = 1; key < words; key++)
        if (weight_of(cross, query, key) > weight_of(cross, query, best))
            best = key;
    return best;
}

rotary_status unknown_words(struct transformer *transformer, const struct unknown_words_call *call,
                            rotary_error *error)
{
    int64_t unknown = 0;
    for (int64_t i = 0; i < call->count; i++) {
        call->from[i] = -1;
        unknown += call->output[i] == call->unknown;
    }
    if (unknown == 0 || call->source_count < 2)
        return ROTARY_OK;
    int32_t *tokens = calloc((size_t)call->count + 1, sizeof *tokens);
    if (!tokens)
        return rotary_fail_memory(error, "for the tokens of a translation");
    tokens[0] = call->begin; /* the decoder gives token i at the position where it has read i before it */
    memcpy(tokens + 1, call->output, (size_t)call->count * sizeof *tokens);
    const struct attention_weights_call weights_call = {
        .tokens = tokens, .count = call->count, .source = call->source, .source_count = call->source_count};
    struct attention_weights weights[ATTENTION_KINDS];
    rotary_status status = attention_weights_create(weights, transformer, &weights_call, error);
    free(tokens);
    if (status != ROTARY_OK)
        return status;
    for (int64_t i = 0; i < call->count; i++)
        if (call->output[i] == call->unknown)
            call->from[i] = find_attended(&weights[ATTENTION_CROSS], i, call->source_count - 1);
    attention_weights_free(weights);
    return ROTARY_OK;
}
