/* SPDX-License-Identifier: Apache-2.0 */
#include "attention/attention_tables.h"

#include "base/threads.h"

enum { ROWS_PER_WORK_ITEM = 64 };

static const rotary_rope *rope_of(const rotary_attention *attention, int role)
{
    return role == ROTARY_ROLE_VALUE ? attention->value_rope : attention->rope;
}

static int64_t pairs_of(const rotary_attention *attention, int role)
{
    const rotary_rope *rope = rope_of(attention, role);
    return rope ? rotary_rope_span(rope).dim / 2 : 0;
}

void rotary_attention_carve_tables(const rotary_attention *attention, struct attention_tables *tables,
                                   int64_t count, struct rotary_arena *arena)
{
    *tables = (struct attention_tables){0};
    for (int role = 0; role < ROTARY_ROLES; role++) {
        bool own = (int)attention->rows[role] == role;
        int64_t size = own ? count * pairs_of(attention, role) : 0;
        tables->own_cosine[role] = rotary_arena_push(arena, size, sizeof(float));
        tables->own_sine[role] = rotary_arena_push(arena, size, sizeof(float));
    }
}

/* Whether the plan's table has the rows of all tokens. */
static bool find_in_plan(const rotary_rope *rope, const struct attention_tokens *tokens,
                         enum rotary_rope_role role, struct rotary_rows *rows)
{
    int64_t first = tokens->first, count = tokens->count;
    if (tokens->positions) {
        int32_t lowest = 0, highest = 0;
        for (int64_t i = 0; i < count; i++) {
            lowest = tokens->positions[i] < lowest ? tokens->positions[i] : lowest;
            highest = tokens->positions[i] > highest ? tokens->positions[i] : highest;
        }
        first = lowest; /* at most 0: rows are counted from position 0 */
        count = (int64_t)highest + 1;
    }
    return rotary_rope_table_rows(rope, (double)first, count, role, rows);
}

void rotary_attention_find_rows(const rotary_attention *attention, struct attention_tables *tables,
                                struct attention_tokens tokens, int64_t row)
{
    tables->tokens = tokens;
    tables->row = row;
    for (int role = 0; role < ROTARY_ROLES; role++) {
        int from = (int)attention->rows[role];
        int64_t own = row * pairs_of(attention, role);
        struct rotary_rows rows;
        if (from != role) {
            tables->in_plan[role] = tables->in_plan[from];
            tables->cosine[role] = tables->cosine[from];
            tables->sine[role] = tables->sine[from];
        } else if (rope_of(attention, role)) {
            tables->in_plan[role] =
                find_in_plan(rope_of(attention, role), &tokens, (enum rotary_rope_role)role, &rows);
            tables->cosine[role] = tables->in_plan[role] ? rows.cosine : tables->own_cosine[role] + own;
            tables->sine[role] = tables->in_plan[role] ? rows.sine : tables->own_sine[role] + own;
        }
    }
}

static bool must_fill(const rotary_attention *attention, const struct attention_tables *tables, int role)
{
    return rope_of(attention, role) && (int)attention->rows[role] == role && !tables->in_plan[role];
}

void rotary_attention_fill_rows(const rotary_attention *attention, const struct attention_tables *tables,
                                int64_t token, int64_t count)
{
    const struct attention_tokens *tokens = &tables->tokens;
    for (int role = 0; role < ROTARY_ROLES; role++) {
        if (!must_fill(attention, tables, role))
            continue;
        const rotary_rope *rope = rope_of(attention, role);
        int64_t pairs = pairs_of(attention, role), step = tokens->positions ? 1 : count;
        for (int64_t at = token; at < token + count; at += step) {
            int64_t position = tokens->positions ? tokens->positions[at] : tokens->first + at;
            int64_t own = (tables->row + at) * pairs;
            rotary_rope_role_rows(rope, position, step, (enum rotary_rope_role)role,
                                  tables->own_cosine[role] + own, tables->own_sine[role] + own);
        }
    }
}

struct filling {
    const rotary_attention *attention;
    const struct attention_tables *tables;
};

static void fill_work_item(void *argument, int64_t index, int worker)
{
    (void)worker;
    const struct filling *filling = argument;
    int64_t token = index * ROWS_PER_WORK_ITEM, count = filling->tables->tokens.count - token;
    rotary_attention_fill_rows(filling->attention, filling->tables, token,
                               min_i64(count, ROWS_PER_WORK_ITEM));
}

static void make_rows(const rotary_attention *attention, struct attention_tables *tables)
{
    struct filling filling = {attention, tables};
    bool fill = false;
    rotary_attention_find_rows(attention, tables, tables->tokens, 0);
    for (int role = 0; role < ROTARY_ROLES; role++)
        fill = fill || must_fill(attention, tables, role);
    if (fill)
        rotary_parallel_for(attention->threads, divide_up(tables->tokens.count, ROWS_PER_WORK_ITEM),
                            fill_work_item, &filling);
}

/* Moves a rotation on by `rows` queries or keys. */
static void move_rotation(struct rotary_attention_rotation *rotation, int64_t rows)
{
    int64_t floats = rows * (rotation->dim / 2);
    if (rotation->rows) {
        rotation->rows += rows;
    } else if (rotation->cosine) {
        rotation->cosine += floats;
        rotation->sine += floats;
    }
}

struct rotary_attention_rotation rotary_attention_rotation_at(const rotary_attention *attention,
                                                              const struct attention_tables *tables,
                                                              rotary_attention_rotate part, int64_t token)
{
    enum rotary_rope_role role = rotary_attention_role_of(part);
    const rotary_rope *rope = rope_of(attention, (int)role);
    if (!(attention->rotated & part))
        return (struct rotary_attention_rotation){0};
    struct rotary_span span = rotary_rope_span(rope);
    struct rotary_attention_rotation rotation = {
        .cosine = tables->cosine[role],
        .sine = tables->sine[role],
        .rows = tables->in_plan[role] ? tables->tokens.positions : NULL,
        .start = span.start,
        .dim = span.dim,
        .interleaved = span.pairing == ROTARY_PAIRING_INTERLEAVED,
    };
    move_rotation(&rotation, token);
    return rotation;
}

void rotary_attention_carve_shape_tables(const rotary_attention *attention,
                                         struct attention_shape_tables *tables, rotary_attention_shape shape,
                                         const struct attention_positions *positions,
                                         struct rotary_arena *arena)
{
    struct attention_tokens keys = {.first = shape.first_key, .count = shape.keys},
                            queries = {.first = shape.first_query, .count = shape.queries};
    if (positions->keys_rotated)
        keys = (struct attention_tokens){.first = shape.first_query};
    int64_t first = min_i64(keys.first, queries.first);
    int64_t count = max_i64(keys.first + keys.count, queries.first + queries.count) - first;
    bool separate = positions->queries || positions->keys || count > keys.count + queries.count;
    if (!separate)
        keys = (struct attention_tokens){.first = first, .count = count};
    if (positions->keys)
        keys = (struct attention_tokens){.count = shape.batch * positions->key_stride,
                                         .positions = positions->keys};
    if (positions->queries)
        queries = (struct attention_tokens){.count = shape.batch * positions->query_stride,
                                            .positions = positions->queries};
    *tables = (struct attention_shape_tables){.positions = *positions, .separate = separate};
    rotary_attention_carve_tables(attention, &tables->keys, keys.count, arena);
    tables->keys.tokens = keys;
    if (separate)
        rotary_attention_carve_tables(attention, &tables->queries, queries.count, arena);
    tables->queries.tokens = queries;
}

void rotary_attention_use_tables(const rotary_attention *attention, struct attention_shape_tables *tables,
                                 rotary_attention_shape shape, rotary_attention_problem *problem)
{
    const struct attention_tables *keys = &tables->keys, *queries = keys;
    int64_t key = keys->tokens.positions ? 0 : shape.first_key - keys->tokens.first;
    int64_t query = shape.first_query - keys->tokens.first;
    make_rows(attention, &tables->keys);
    if (tables->separate) {
        make_rows(attention, &tables->queries);
        queries = &tables->queries;
        query = 0;
    }
    problem->keys = shape.keys;
    problem->query_offset = shape.first_query - shape.first_key;
    problem->query_rotation = rotary_attention_rotation_at(attention, queries, ROTARY_ROTATE_QUERY, query);
    problem->output_rotation = rotary_attention_rotation_at(attention, queries, ROTARY_ROTATE_OUTPUT, query);
    if (tables->positions.keys_rotated)
        return;
    problem->key_rotation = rotary_attention_rotation_at(attention, keys, ROTARY_ROTATE_KEY, key);
    problem->value_rotation = attention->key_is_value
                                  ? problem->key_rotation
                                  : rotary_attention_rotation_at(attention, keys, ROTARY_ROTATE_VALUE, key);
}

void rotary_attention_use_sequence(const struct attention_shape_tables *tables, int64_t sequence,
                                   rotary_attention_problem *problem)
{
    const struct attention_positions *positions = &tables->positions;
    if (positions->queries) {
        move_rotation(&problem->query_rotation, sequence * positions->query_stride);
        move_rotation(&problem->output_rotation, sequence * positions->query_stride);
    }
    if (positions->keys) {
        move_rotation(&problem->key_rotation, sequence * positions->key_stride);
        move_rotation(&problem->value_rotation, sequence * positions->key_stride);
    }
}
