/* SPDX-License-Identifier: Apache-2.0 */
#include "attention/vector_columns.h"

#include "base/half.h"
#include "base/threads.h"

#include <math.h>
#include <string.h>

/* Columns that a kernel may read after the last; what rows are cut to: an odd number of cache lines, so that
 * the rows of a column do not share sets of a cache; and how many queries, and keys, there may be past the
 * last in a tile. */
enum { AFTER_LAST = 48, LINE = 16, PADDING = 64 };

void rotary_attention_see_vectors(const rotary_attention *attention,
                                  rotary_attention_distance_vectors *vectors)
{
    if (!vectors->data || !attention->causal)
        return;
    int64_t last = vectors->distances - 1, begin = 0, end = max_i64(0, min_i64(last, -vectors->first));
    if (attention->window > 0)
        begin = max_i64(0, min_i64(end, 1 - attention->window - vectors->first));
    vectors->first += begin;
    vectors->distances = end - begin + 1;
    vectors->data += begin * vectors->distance_stride;
    if (vectors->gradient)
        vectors->gradient += begin * vectors->distance_stride;
}

void rotary_attention_carve_columns(const rotary_attention *attention, struct vector_columns *columns,
                                    rotary_attention_shape shape, struct rotary_arena *arena)
{
    const rotary_attention_distance_vectors *vectors = &columns->table.vectors;
    if (!vectors->data)
        return;
    int64_t entries = min_i64(shape.queries + shape.keys + 2 * PADDING, vectors->distances);
    columns->tables = vectors->head_stride == 0 ? 1 : attention->heads;
    columns->columns.row = (divide_up(entries, LINE) | 1) * LINE;
    bool pairs = attention->kernels->vector_pairs;
    int64_t width = rotary_attention_row(attention->head_dim),
            head_words = columns->columns.row * (pairs ? width / 2 : attention->head_dim) + AFTER_LAST,
            rows_words = (pairs ? divide_up(entries, 2) : entries) * width;
    columns->columns.head_stride = vectors->head_stride == 0 ? 0 : head_words;
    columns->columns.rows_head_stride = vectors->head_stride == 0 ? 0 : rows_words;
    columns->memory = rotary_arena_push(arena, columns->tables, (size_t)head_words * sizeof(float));
    columns->rows = rotary_arena_push(arena, columns->tables, (size_t)rows_words * sizeof(float));
    columns->norm = rotary_arena_push(arena, attention->heads, sizeof(float));
}

struct packing {
    const rotary_attention *attention;
    struct vector_columns *columns;
    struct rotary_attention_entries entries;
};

static float largest_norm(const struct packing *packing, int64_t head)
{
    const rotary_attention_distance_vectors *vectors = &packing->columns->table.vectors;
    float largest = 0;
    for (int64_t entry = packing->entries.begin; entry < packing->entries.end; entry++) {
        const float *vector = vectors->data + head * vectors->head_stride + entry * vectors->distance_stride;
        float squares = 0;
        for (int64_t channel = 0; channel < packing->attention->head_dim; channel++)
            squares += vector[channel] * vector[channel];
        /* A NaN stays. */
        largest = squares <= largest ? largest : squares;
    }
    return sqrtf(largest);
}

static void pack_rows(const struct packing *packing, int64_t head)
{
    const rotary_attention_distance_vectors *vectors = &packing->columns->table.vectors;
    int64_t head_dim = packing->attention->head_dim, width = rotary_attention_row(head_dim);
    float *to = (float *)packing->columns->rows + head * packing->columns->columns.rows_head_stride;
    for (int64_t entry = packing->entries.begin; entry < packing->entries.end; entry++, to += width) {
        memcpy(to, vectors->data + head * vectors->head_stride + entry * vectors->distance_stride,
               (size_t)head_dim * sizeof *to);
        memset(to + head_dim, 0, (size_t)(width - head_dim) * sizeof *to);
    }
}

/* An entry times a factor in bf16, with zeros after its channels, or no entry. */
static void round_entry(const struct packing *packing, int64_t head, int64_t entry, float factor,
                        uint16_t *to)
{
    const rotary_attention_distance_vectors *vectors = &packing->columns->table.vectors;
    const float *from = vectors->data + head * vectors->head_stride + entry * vectors->distance_stride;
    int64_t head_dim = entry < packing->entries.end ? packing->attention->head_dim : 0;
    for (int64_t channel = 0; channel < head_dim; channel++)
        to[channel] = rotary_bf16_from_float(from[channel] * factor);
    memset(to + head_dim, 0,
           (size_t)(rotary_attention_row(packing->attention->head_dim) - head_dim) * sizeof *to);
}

/* The columns of a table by key have the scale, so that keys need none. */
static void pack_pairs(const struct packing *packing, int64_t head)
{
    const struct rotary_attention_columns *columns = &packing->columns->columns;
    int64_t width = rotary_attention_row(packing->attention->head_dim), begin = packing->entries.begin;
    uint32_t *channel_pairs = (uint32_t *)packing->columns->memory + head * columns->head_stride,
             *entry_pairs = (uint32_t *)packing->columns->rows + head * columns->rows_head_stride;
    uint16_t two[2][ROTARY_ATTENTION_MAX_HEAD_DIM];
    bool by_key = packing->columns->table.by_key;
    for (int64_t entry = begin; entry < packing->entries.end; entry += 2, entry_pairs += width) {
        for (int i = 0; i < 2; i++) {
            round_entry(packing, head, entry + i, by_key ? packing->attention->scale : 1.0f, two[i]);
            for (int64_t pair = 0; pair < width / 2 && entry + i < packing->entries.end; pair++)
                memcpy(channel_pairs + pair * columns->row + entry + i - begin, two[i] + 2 * pair,
                       sizeof *channel_pairs);
            if (by_key)
                round_entry(packing, head, entry + i, 1.0f, two[i]);
        }
        for (int64_t channel = 0; channel < width; channel++)
            entry_pairs[channel] = two[0][channel] | (uint32_t)two[1][channel] << 16;
    }
}

static void pack_table(void *argument, int64_t head, int worker)
{
    (void)worker;
    const struct packing *packing = argument;
    struct vector_columns *columns = packing->columns;
    if (packing->attention->kernels->vector_pairs) {
        pack_pairs(packing, head);
    } else {
        rotary_attention_pack_columns(
            &columns->table.vectors, head, packing->entries, packing->attention->head_dim,
            (float *)columns->memory + head * columns->columns.head_stride, columns->columns.row);
        pack_rows(packing, head);
    }
    int64_t heads = packing->attention->heads / columns->tables;
    float norm = largest_norm(packing, head);
    for (int64_t at = head * heads; at < (head + 1) * heads; at++)
        columns->norm[at] = norm;
}

void rotary_attention_pack_vectors(const rotary_attention *attention, struct vector_columns *columns,
                                   rotary_attention_shape shape)
{
    if (!columns->table.vectors.data)
        return;
    const rotary_attention_work all = {.query_end = shape.queries + PADDING, .key_end = shape.keys + PADDING};
    struct packing packing = {
        attention, columns,
        rotary_attention_entries_of(&columns->table, rotary_attention_extent_of(&columns->table, &all))};
    if (attention->kernels->vector_pairs) {
        columns->columns.channel_pairs = columns->memory;
        columns->columns.entry_pairs = columns->rows;
    } else {
        columns->columns.data = columns->memory;
        columns->columns.rows = columns->rows;
    }
    columns->columns.norm = columns->norm;
    columns->columns.first = packing.entries.begin;
    rotary_parallel_for(attention->threads, columns->tables, pack_table, &packing);
}
