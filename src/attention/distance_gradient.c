/* SPDX-License-Identifier: Apache-2.0 */
#include "attention/distance_gradient.h"

#include "base/threads.h"

#include <string.h>

void rotary_attention_carve_distance_gradient(const rotary_attention *attention,
                                              struct distance_gradient *gradient, int64_t items,
                                              int64_t queries, int64_t keys, struct rotary_arena *arena)
{
    int64_t group = attention->heads / attention->key_value_heads;
    gradient->item_floats = group * rotary_attention_distance_sums(queries, keys);
    gradient->items = rotary_arena_push(arena, items, (size_t)gradient->item_floats * sizeof(float));
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

float *rotary_attention_item_distances(const struct distance_gradient *gradient, int64_t item)
{
    if (!gradient->items)
        return NULL;
    float *sums = gradient->items + item * gradient->item_floats;
    memset(sums, 0, (size_t)gradient->item_floats * sizeof *sums);
    return sums;
}

void rotary_attention_add_item_distances(const rotary_attention *attention,
                                         const struct distance_gradient *gradient, int64_t item,
                                         const rotary_attention_work *work, int64_t head)
{
    int64_t queries = work->query_end - work->query_begin, keys = work->key_end - work->key_begin;
    int64_t member = head % (attention->heads / attention->key_value_heads);
    const float *from = gradient->items + item * gradient->item_floats +
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

/* Adds the totals of one head of one sequence. What is beyond an end of the table adds up in its last entry,
 * in double. */
static void add_total(const rotary_attention_distance_bias *bias, const float *total, int64_t first,
                      int64_t count, float *to)
{
    double below = 0, above = 0;
    int64_t last = bias->distances - 1;
    for (int64_t at = 0; at < count; at++) {
        int64_t entry = first + at;
        if (entry <= 0)
            below += (double)total[at];
        else if (entry >= last)
            above += (double)total[at];
        else
            to[entry] += total[at];
    }
    to[0] += (float)below;
    to[last] += (float)above;
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
            add_total(bias, total, first, queries + keys - 1, bias->gradient + head * bias->head_stride);
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
