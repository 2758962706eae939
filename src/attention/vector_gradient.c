/* SPDX-License-Identifier: Apache-2.0 */
#include "attention/vector_gradient.h"

#include <string.h>

enum { SLICE_ENTRIES = 64 };

void rotary_attention_carve_vector_gradient(const rotary_attention *attention,
                                            struct vector_gradient *gradient, int64_t items, int64_t queries,
                                            int64_t keys, struct rotary_arena *arena)
{
    const rotary_attention_distance_vectors *vectors = &gradient->table.vectors;
    if (!vectors->data || !vectors->gradient)
        return;
    int64_t entries = min_i64(queries + keys, vectors->distances);
    int64_t floats =
        rotary_attention_group(attention) * rotary_attention_vector_sums(entries, attention->head_dim);
    rotary_attention_carve_items(&gradient->items, items, floats, arena);
}

void rotary_attention_start_vector_gradient(const rotary_attention *attention,
                                            struct vector_gradient *gradient, rotary_attention_shape shape)
{
    const rotary_attention_work all = {.query_end = shape.queries, .key_end = shape.keys};
    struct rotary_attention_entries entries =
        rotary_attention_entries_of(&gradient->table, rotary_attention_extent_of(&gradient->table, &all));
    gradient->first = entries.begin;
    gradient->entries = entries.end - entries.begin;
    gradient->tables = gradient->table.vectors.head_stride == 0 ? 1 : attention->heads;
    gradient->heads = attention->heads / gradient->tables;
    gradient->slices = gradient->tables * divide_up(gradient->entries, SLICE_ENTRIES);
}

struct vector_slice rotary_attention_vector_slice(const struct vector_gradient *gradient, int64_t index)
{
    int64_t table = index % gradient->tables, end = gradient->first + gradient->entries;
    int64_t begin = gradient->first + index / gradient->tables * SLICE_ENTRIES;
    return (struct vector_slice){table * gradient->heads, (table + 1) * gradient->heads, begin,
                                 min_i64(begin + SLICE_ENTRIES, end)};
}

static void add(float *to, const float *from, float factor, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        to[i] += from[i] * factor;
}

void rotary_attention_add_item_vectors(const rotary_attention *attention,
                                       const struct vector_gradient *gradient, int64_t item,
                                       const rotary_attention_work *work, const struct vector_slice *slice)
{
    const rotary_attention_distance_vectors *vectors = &gradient->table.vectors;
    struct rotary_attention_entries entries =
        rotary_attention_entries_of(&gradient->table, rotary_attention_extent_of(&gradient->table, work));
    int64_t width = rotary_attention_row(attention->head_dim),
            member = slice->head % rotary_attention_group(attention);
    const float *from =
        rotary_attention_item(&gradient->items, item) +
        member * rotary_attention_vector_sums(entries.end - entries.begin, attention->head_dim);
    for (int64_t entry = max_i64(entries.begin, slice->begin); entry < min_i64(entries.end, slice->end);
         entry++)
        add(vectors->gradient + slice->head * vectors->head_stride + entry * vectors->distance_stride,
            from + (entry - entries.begin) * width, 1.0f, attention->head_dim);
}

void rotary_attention_carve_query_bias(const rotary_attention *attention,
                                       struct query_bias_gradient *gradient, int64_t query_blocks,
                                       struct rotary_arena *arena)
{
    gradient->group_floats = rotary_attention_group(attention) * rotary_attention_row(attention->head_dim);
    gradient->sums = rotary_arena_push(arena, query_blocks, (size_t)gradient->group_floats * sizeof(float));
}

void rotary_attention_add_up_queries(const rotary_attention *attention,
                                     const struct query_bias_gradient *gradient, const float *unrotated_query,
                                     const rotary_attention_work *work, int64_t index)
{
    int64_t width = rotary_attention_row(attention->head_dim), queries = work->query_end - work->query_begin;
    if (!gradient->sums)
        return;
    float *sums = gradient->sums + index * gradient->group_floats;
    memset(sums, 0, (size_t)gradient->group_floats * sizeof *sums);
    for (int64_t member = 0; member < rotary_attention_group(attention); member++)
        for (int64_t query = 0; query < queries; query++) {
            int64_t row = member * round_up(queries, ROTARY_ATTENTION_ROW_MULTIPLE) + query;
            add(sums + member * width, unrotated_query + row * width, 1.0f, width);
        }
}

void rotary_attention_finish_query_bias(const rotary_attention *attention,
                                        const struct query_bias_gradient *gradient, float *to, int64_t batch,
                                        int64_t query_blocks)
{
    int64_t width = rotary_attention_row(attention->head_dim), head_dim = attention->head_dim;
    for (int64_t head = 0; head < attention->heads && gradient->sums; head++)
        for (int64_t i = 0; i < batch * query_blocks; i++) {
            int64_t key_value_head =
                i / query_blocks * attention->key_value_heads + head / rotary_attention_group(attention);
            int64_t index = key_value_head * query_blocks + i % query_blocks;
            add(to + head * head_dim,
                gradient->sums + index * gradient->group_floats +
                    head % rotary_attention_group(attention) * width,
                attention->scale, head_dim);
        }
}
