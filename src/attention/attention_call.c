/* SPDX-License-Identifier: Apache-2.0
 *
 * The start of every call: checks of its arguments, and tables of cosines and sines.
 */
#include "attention/attention_plan.h"

#include "base/fail.h"
#include "base/strides.h"
#include "base/threads.h"

enum { ROWS_PER_WORK_ITEM = 64 };
#define MAX_EXTENT ((int64_t)1 << 31)
#define MAX_TOKENS ((int64_t)1 << 40) /* tokens: no size computed from them overflows */

rotary_status rotary_attention_check_shape(rotary_attention_shape shape, rotary_error *error)
{
    const struct {
        const char *name;
        int64_t value, lowest, highest;
    } checks[] = {
        {"batch", shape.batch, 0, MAX_EXTENT},
        {"queries", shape.queries, 0, MAX_EXTENT},
        {"keys", shape.keys, 0, MAX_EXTENT},
        {"first_query", shape.first_query, -ROTARY_ATTENTION_MAX_POSITION, ROTARY_ATTENTION_MAX_POSITION},
        {"first_key", shape.first_key, -ROTARY_ATTENTION_MAX_POSITION, ROTARY_ATTENTION_MAX_POSITION},
    };
    for (int i = 0; i < 5; i++)
        if (checks[i].value < checks[i].lowest || checks[i].value > checks[i].highest)
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "%s is %lld; wanted %lld ... %lld",
                               checks[i].name, (long long)checks[i].value, (long long)checks[i].lowest,
                               (long long)checks[i].highest);
    int64_t time = shape.queries > shape.keys ? shape.queries : shape.keys;
    if (shape.batch * time > MAX_TOKENS)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "batch has %lld tokens; wanted at most %lld",
                           (long long)(shape.batch * time), (long long)MAX_TOKENS);
    return ROTARY_OK;
}

static rotary_status check_operand(const rotary_attention *attention, const struct attention_operand *operand,
                                   rotary_error *error)
{
    const rotary_attention_const_view *view = &operand->view;
    if (operand->batch == 0 || operand->time == 0)
        return ROTARY_OK;
    if (!view->data)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "%s has no data; wanted [%lld, %lld, %lld, %lld] in %s", operand->name,
                           (long long)operand->batch, (long long)operand->time, (long long)operand->heads,
                           (long long)attention->head_dim, rotary_dtype_name(attention->dtype));
    const struct {
        const char *name;
        int64_t extent, stride;
    } axes[] = {
        {"batch_stride", operand->batch, view->batch_stride},
        {"time_stride", operand->time, view->time_stride},
        {"head_stride", operand->heads, view->head_stride},
    };
    int64_t min = operand->written ? attention->head_dim : 0;
    for (int i = 0; i < 3; i++)
        if (axes[i].extent > 1 && axes[i].stride < min)
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "%s has a %s of %lld; wanted at least %lld",
                               operand->name, axes[i].name, (long long)axes[i].stride, (long long)min);
    const int64_t extents[] = {operand->batch, operand->time, operand->heads};
    const int64_t strides[] = {view->batch_stride, view->time_stride, view->head_stride};
    return operand->written
               ? rotary_check_strides(operand->name, "", attention->head_dim, extents, strides, error)
               : ROTARY_OK;
}

rotary_status rotary_attention_check_operands(const rotary_attention *attention,
                                              const struct attention_operand *operands, int count,
                                              rotary_error *error)
{
    for (int i = 0; i < count; i++) {
        rotary_status status = check_operand(attention, &operands[i], error);
        if (status)
            return status;
    }
    return ROTARY_OK;
}

rotary_status rotary_attention_check_bias(const rotary_attention *attention,
                                          const rotary_attention_bias *bias, rotary_attention_shape shape,
                                          rotary_error *error)
{
    const struct {
        const char *name;
        int64_t extent, stride;
    } axes[] = {
        {"batch_stride", shape.batch, bias->batch_stride},
        {"head_stride", attention->heads, bias->head_stride},
        {"query_stride", shape.queries, bias->query_stride},
    };
    for (int i = 0; i < 3 && bias->data; i++)
        if (axes[i].extent > 1 && axes[i].stride < 0)
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                               "bias has a %s of %lld; wanted 0 (shared) or more", axes[i].name,
                               (long long)axes[i].stride);
    return ROTARY_OK;
}

rotary_status rotary_attention_check_workspace(const void *workspace, size_t bytes, rotary_error *error)
{
    if (bytes == SIZE_MAX)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "a call this large needs more bytes of workspace than a size_t holds");
    if (bytes > 0 && !workspace)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "there is no workspace; wanted %zu bytes", bytes);
    if ((uintptr_t)workspace % ROTARY_ALIGNMENT != 0)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "the workspace, %p, is not aligned; wanted %zu bytes", workspace,
                           ROTARY_ALIGNMENT);
    return ROTARY_OK;
}

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
                                   int64_t first, int64_t count, struct rotary_arena *arena)
{
    *tables = (struct attention_tables){.first = first, .count = count};
    for (int role = 0; role < ROTARY_ROLES; role++) {
        bool own = (int)attention->rows[role] == role;
        int64_t size = own ? count * pairs_of(attention, role) : 0;
        float *cosine = rotary_arena_push(arena, size, sizeof(float));
        float *sine = rotary_arena_push(arena, size, sizeof(float));
        tables->cosine[role] = own ? cosine : tables->cosine[attention->rows[role]];
        tables->sine[role] = own ? sine : tables->sine[attention->rows[role]];
    }
}

void rotary_attention_fill_rows(const rotary_attention *attention, const struct attention_tables *tables,
                                int64_t row, int64_t count)
{
    for (int role = 0; role < ROTARY_ROLES; role++) {
        int64_t at = row * pairs_of(attention, role);
        if (rope_of(attention, role) && (int)attention->rows[role] == role)
            rotary_rope_role_rows(rope_of(attention, role), tables->first + row, count,
                                  (enum rotary_rope_role)role, tables->cosine[role] + at,
                                  tables->sine[role] + at);
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
    int64_t row = index * ROWS_PER_WORK_ITEM, count = filling->tables->count - row;
    rotary_attention_fill_rows(filling->attention, filling->tables, row, min_i64(count, ROWS_PER_WORK_ITEM));
}

static void fill_tables(const rotary_attention *attention, const struct attention_tables *tables)
{
    struct filling filling = {attention, tables};
    int64_t work_items = divide_up(tables->count, ROWS_PER_WORK_ITEM);
    if (attention->rope || attention->value_rope)
        rotary_parallel_for(attention->threads, work_items, fill_work_item, &filling);
}

struct rotary_attention_rotation rotary_attention_rotation_at(const rotary_attention *attention,
                                                              const struct attention_tables *tables,
                                                              enum rotary_rope_role role, int64_t position)
{
    const rotary_rope *rope = rope_of(attention, role);
    if (!rope)
        return (struct rotary_attention_rotation){0};
    struct rotary_span span = rotary_rope_span(rope);
    int64_t at = (position - tables->first) * (span.dim / 2);
    return (struct rotary_attention_rotation){
        .cosine = tables->cosine[role] + at,
        .sine = tables->sine[role] + at,
        .start = span.start,
        .dim = span.dim,
        .interleaved = span.pairing == ROTARY_PAIRING_INTERLEAVED,
    };
}

void rotary_attention_carve_shape_tables(const rotary_attention *attention,
                                         struct attention_shape_tables *tables, rotary_attention_shape shape,
                                         struct rotary_arena *arena)
{
    int64_t first = shape.first_key < shape.first_query ? shape.first_key : shape.first_query;
    int64_t end_key = shape.first_key + shape.keys, end_query = shape.first_query + shape.queries;
    int64_t count = (end_key > end_query ? end_key : end_query) - first;
    *tables = (struct attention_shape_tables){0};
    if (count <= shape.keys + shape.queries) {
        rotary_attention_carve_tables(attention, &tables->keys, first, count, arena);
    } else {
        rotary_attention_carve_tables(attention, &tables->keys, shape.first_key, shape.keys, arena);
        rotary_attention_carve_tables(attention, &tables->queries, shape.first_query, shape.queries, arena);
    }
}

void rotary_attention_use_tables(const rotary_attention *attention,
                                 const struct attention_shape_tables *tables, rotary_attention_shape shape,
                                 rotary_attention_problem *problem)
{
    const struct attention_tables *queries = tables->queries.count ? &tables->queries : &tables->keys;
    fill_tables(attention, &tables->keys);
    if (tables->queries.count)
        fill_tables(attention, &tables->queries);
    problem->keys = shape.keys;
    problem->query_offset = shape.first_query - shape.first_key;
    problem->query_rotation =
        rotary_attention_rotation_at(attention, queries, ROTARY_ROLE_QUERY, shape.first_query);
    problem->output_rotation =
        rotary_attention_rotation_at(attention, queries, ROTARY_ROLE_VALUE, shape.first_query);
    problem->key_rotation =
        rotary_attention_rotation_at(attention, &tables->keys, ROTARY_ROLE_KEY, shape.first_key);
    problem->value_rotation =
        rotary_attention_rotation_at(attention, &tables->keys, ROTARY_ROLE_VALUE, shape.first_key);
}
