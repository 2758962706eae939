/* SPDX-License-Identifier: Apache-2.0
 *
 * Rotating tensors in every direction, by the plan's angles or by a caller's tables.
 */
#include "base/element.h"
#include "base/fail.h"
#include "base/sized.h"
#include "base/strides.h"
#include "kernel/rope/rope_kernels.h"
#include "rope/positions.h"
#include "rope/rotate.h"

struct source {
    const rotary_rope *rope;
    const rotary_rope_apply_call *call;
};

static void plan_row(const void *context, enum rotary_rope_role role, int64_t batch, int64_t time,
                     struct rotary_row row)
{
    const struct source *source = context;
    double position[ROTARY_MAX_AXES];
    rotary_rope_position(&source->call->positions, batch, time, source->rope->axes, position);
    rotary_rope_unit_row(source->rope, position, row);
    rotary_rope_finish_row(source->rope, position, role, source->call->direction, row);
}

/* Without an array of positions the rows of consecutive tokens are contiguous in the plan's table. */
static bool plan_stored_rows(const void *context, enum rotary_rope_role role, int64_t batch, int64_t time,
                             int64_t times, struct rotary_rows *rows)
{
    const struct source *source = context;
    const rotary_rope_positions *positions = &source->call->positions;
    double position[ROTARY_MAX_AXES];
    if (positions->array || positions->starts || source->call->direction != ROTARY_FORWARD ||
        source->rope->axes != 1)
        return false;
    rotary_rope_position(positions, batch, time, 1, position);
    return rotary_rope_table_rows(source->rope, position[0], times, role, rows);
}

static void table_row(const void *context, enum rotary_rope_role role, int64_t batch, int64_t time,
                      struct rotary_row row)
{
    (void)role;
    const struct source *source = context;
    const rotary_rope_tables *tables = &source->call->tables;
    rotary_direction direction = source->call->direction;
    int64_t stride = tables->row_stride ? tables->row_stride : source->rope->pairs;
    int64_t at = batch * tables->batch_stride + time * stride;
    if (!tables->per_token) {
        double position[ROTARY_MAX_AXES];
        rotary_rope_position(&source->call->positions, batch, time, 1, position);
        at = (int64_t)position[0] * stride;
    }
    for (int64_t pair = 0; pair < row.count; pair++) {
        float cosine = rotary_element(tables->cosine, at + row.first + pair, tables->dtype);
        float sine = rotary_element(tables->sine, at + row.first + pair, tables->dtype);
        float square = direction == ROTARY_INVERSE ? cosine * cosine + sine * sine : 1.0f;
        row.cosine[pair] = cosine / square;
        row.sine[pair] = (direction == ROTARY_FORWARD ? sine : -sine) / square;
    }
}

/* Whether the offsets of the rows of tables can be computed. */
static rotary_status check_rows(const rotary_rope *rope, const rotary_rope_apply_call *call,
                                rotary_error *error)
{
    const rotary_rope_tables *tables = &call->tables;
    const int64_t row_stride = tables->row_stride ? tables->row_stride : rope->pairs;
    struct rotary_vectors rows = {.tensor = "tables",
                                  .member = "",
                                  .length = rope->pairs,
                                  .element_bytes = rotary_dtype_size(tables->dtype),
                                  .extents = {call->batch, call->time, 1},
                                  .strides = {tables->batch_stride, row_stride, 0}};
    if (!tables->per_token) {
        rows.extents[0] = 1;
        rows.extents[1] = tables->rows;
    }
    return rotary_check_offsets(&rows, error);
}

static rotary_status check_tables(const rotary_rope *rope, const rotary_rope_apply_call *call,
                                  rotary_error *error)
{
    const rotary_rope_tables *tables = &call->tables;
    if (!tables->cosine && !tables->sine)
        return ROTARY_OK;
    if (!tables->cosine || !tables->sine)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "tables.%s is NULL; wanted both tables or neither",
                           tables->cosine ? "sine" : "cosine");
    if ((unsigned)tables->dtype >= ROTARY_DTYPES)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "tables.dtype is %d; wanted f32, f16 or bf16",
                           (int)tables->dtype);
    if (tables->row_stride != 0 && tables->row_stride < rope->pairs)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "tables.row_stride is %lld; wanted at least %lld, the number of pairs",
                           (long long)tables->row_stride, (long long)rope->pairs);
    if (!tables->per_token && rope->axes > 1)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "the plan has %d axes; wanted one, or tables with a row per token", rope->axes);
    if (!tables->per_token && tables->rows < 1)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "tables.rows is %lld; wanted at least 1",
                           (long long)tables->rows);
    return check_rows(rope, call, error);
}

static rotary_status check(struct rotary_rope_rotation *rotation, const rotary_rope_apply_call *call,
                           rotary_error *error)
{
    const rotary_rope *rope = rotation->rope;
    if ((unsigned)call->direction > ROTARY_TRANSPOSE)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "direction is %d; wanted forward, inverse or transpose", (int)call->direction);
    rotary_status status = rotary_rope_check_tensors(rotation, error);
    if (!status)
        status = check_tables(rope, call, error);
    if (status || (call->tables.cosine && call->tables.per_token))
        return status;
    int64_t rows = call->tables.cosine ? call->tables.rows : -1;
    return rotary_rope_check_positions(&call->positions, call->batch, call->time, rope->axes, rows, error);
}

rotary_status rotary_rope_apply(const rotary_rope *rope, const rotary_rope_apply_call *given,
                                rotary_error *error)
{
    rotary_rope_apply_call known = {0}, *call = &known;
    rotary_status status = rotary_copy_sized(&known, sizeof known, given, "rotary_rope_apply_call", error);
    if (status)
        return status;
    struct source source = {.rope = rope, .call = call};
    struct rotary_rope_rotation rotation = {
        .rope = rope,
        .batch = call->batch,
        .time = call->time,
        .tensors = {call->query, call->key, call->value},
        .source = call->tables.cosine ? table_row : plan_row,
        .stored_rows = call->tables.cosine ? NULL : plan_stored_rows,
        .context = &source,
        .same_rows = call->tables.cosine || rotary_rope_roles_alike(rope),
    };
    status = check(&rotation, call, error);
    if (!status)
        rotary_rope_rotate_tensors(&rotation);
    return status;
}
