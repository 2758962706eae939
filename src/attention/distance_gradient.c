/* SPDX-License-Identifier: Apache-2.0 */
#include "attention/distance_gradient.h"

#include "base/threads.h"

#include <string.h>

void rotary_attention_carve_distance_gradient(const rotary_attention *attention,
                                              struct distance_gradient *gradient, int64_t items,
                                              int64_t queries, int64_t keys, struct rotary_arena *arena)
{
    int64_t floats = rotary_attention_group(attention) * rotary_attention_distance_sums(queries, keys);
    rotary_attention_carve_items(&gradient->items, items, floats, arena);
}

void rotary_attention_start_distance_gradient(const rotary_attention *attention,
                                              struct distance_gradient *gradient,
                                              const struct attention_call *call,
                                              const struct attention_sequence *sequence)
{
    gradient->queries = sequence->shape.queries;
    gradient->keys = sequence->shape.keys;
    gradient->total = call->distance_sums + attention->heads * (sequence->query + sequence->key);
    if (gradient->queries > 0 && gradient->keys > 0)
        memset(gradient->total, 0,
               (size_t)(attention->heads * (gradient->queries + gradient->keys)) * sizeof(float));
}

void rotary_attention_add_item_distances(const rotary_attention *attention,
                                         const struct distance_gradient *gradient, int64_t item,
                                         const rotary_attention_work *work, int64_t head)
{
    int64_t queries = work->query_end - work->query_begin, keys = work->key_end - work->key_begin;
    int64_t member = head % rotary_attention_group(attention);
    const float *from = rotary_attention_item(&gradient->items, item) +
                        member * rotary_attention_distance_sums(queries, keys);
    int64_t step = 1, count = queries + keys - 1;
    if (attention->kernels->transposed_backward) {
        step = -1;
        from += count - 1;
    }
    float *to = gradient->total + head * (gradient->queries + gradient->keys) + work->key_begin -
                (work->query_end - 1) + gradient->queries - 1;
    for (int64_t distance = 0; distance < count; distance++)
        to[distance] += from[distance * step];
}

struct finishing {
    const rotary_attention *attention;
    const struct attention_call *call;
    int64_t heads; /* that share entries */
};

static void finish_heads(void *argument, int64_t index, int worker)
{
    (void)worker;
    const struct finishing *finishing = argument;
    const struct attention_call *call = finishing->call;
    const rotary_attention_distance_bias *bias = &call->distance_bias;
    bool packed = call->packed_sequences.query_starts != NULL;
    for (int64_t head = index * finishing->heads; head < (index + 1) * finishing->heads; head++)
        for (int64_t i = 0; i < (packed ? call->packed_sequences.sequences : 1); i++) {
            struct attention_sequence sequence = {.shape = call->shape};
            if (packed)
                sequence = rotary_attention_sequence_of(call->shape, &call->packed_sequences, i);
            int64_t queries = sequence.shape.queries, keys = sequence.shape.keys;
            if (queries == 0 || keys == 0)
                continue;
            const float *total = call->distance_sums +
                                 finishing->attention->heads * (sequence.query + sequence.key) +
                                 head * (queries + keys);
            int64_t first = call->shape.first_key - call->shape.first_query - (queries - 1) - bias->first;
            rotary_attention_add_clipped(bias->gradient + head * bias->head_stride, bias->distances, first,
                                         total, queries + keys - 1);
        }
}

void rotary_attention_finish_distance_gradient(const rotary_attention *attention,
                                               const struct attention_call *call)
{
    bool shared = call->distance_bias.head_stride == 0;
    struct finishing finishing = {attention, call, shared ? attention->heads : 1};
    if (call->shape.batch > 0)
        rotary_parallel_for(attention->threads, attention->heads / finishing.heads, finish_heads, &finishing);
}
