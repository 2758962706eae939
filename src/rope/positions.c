/* SPDX-License-Identifier: Apache-2.0 */
#include "rope/positions.h"

#include "base/fail.h"
#include "base/strides.h"

#include <math.h>

rotary_status rotary_rope_check_starts(const struct rotary_starts *given, int64_t batch, int64_t tokens,
                                       rotary_error *error)
{
    const int32_t *starts = given->starts;
    int64_t sequences = given->sequences;
    if (batch != 1)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "batch is %lld; wanted 1 for packed sequences",
                           (long long)batch);
    if (sequences < 1)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "%s.sequences is %lld; wanted at least 1",
                           given->owner, (long long)sequences);
    if (starts[0] != 0)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "%s.%s[0] is %d; wanted 0", given->owner,
                           given->name, starts[0]);
    for (int64_t i = 0; i < sequences; i++)
        if (starts[i + 1] < starts[i])
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                               "%s.%s[%lld] is %d after %d; wanted starts that do not decrease", given->owner,
                               given->name, (long long)i + 1, starts[i + 1], starts[i]);
    if (starts[sequences] != tokens)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "%s.%s[%lld] is %d; wanted the number of tokens, %lld", given->owner, given->name,
                           (long long)sequences, starts[sequences], (long long)tokens);
    return ROTARY_OK;
}

/* The packed sequence of a token: the last one that starts at or before it. */
static int64_t packed_sequence(const rotary_rope_positions *positions, int64_t time)
{
    int64_t low = 0, high = positions->sequences; /* starts[low] <= time < starts[high] */
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (positions->starts[middle] <= time)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static double entry(const rotary_rope_positions *positions, int64_t at)
{
    switch (positions->array_type) {
    case ROTARY_POSITION_I32:
        return (double)((const int32_t *)positions->array)[at];
    case ROTARY_POSITION_F32:
        return (double)((const float *)positions->array)[at];
    default:
        return (double)((const int64_t *)positions->array)[at];
    }
}

void rotary_rope_position(const rotary_rope_positions *positions, int64_t batch, int64_t time, int axes,
                          double position[ROTARY_MAX_AXES])
{
    int64_t sequence = positions->starts ? packed_sequence(positions, time) : batch;
    int64_t at = batch * positions->array_batch_stride + time;
    int64_t index = positions->starts ? time - positions->starts[sequence] : time;
    double offset = (double)positions->offset;
    if (positions->offsets)
        offset += (double)positions->offsets[sequence];
    int64_t step = positions->array_axis_stride;
    for (int axis = 0; axis < axes; axis++)
        position[axis] = offset + (positions->array ? entry(positions, at + axis * step) : (double)index);
}

/* Whether the offsets of the entries of an array can be computed. */
static rotary_status check_entries(const rotary_rope_positions *positions, int64_t batch, int64_t time,
                                   int axes, rotary_error *error)
{
    const struct rotary_vectors entries = {
        .tensor = "positions",
        .member = ".array",
        .length = time,
        .element_bytes = sizeof(int64_t), /* the largest type */
        .extents = {axes, batch, 1},
        .strides = {positions->array_axis_stride, positions->array_batch_stride, 0}};
    return rotary_check_offsets(&entries, error);
}

/* Refuses NaN and infinity, and, if rows >= 0, positions that are not a row of a table of `rows` rows. */
static rotary_status check_every_position(const rotary_rope_positions *positions, int64_t batch, int64_t time,
                                          int axes, int64_t rows, rotary_error *error)
{
    double position[ROTARY_MAX_AXES];
    for (int64_t sequence = 0; sequence < batch && time > 0; sequence++)
        for (int64_t token = 0; token < time; token++) {
            rotary_rope_position(positions, sequence, token, axes, position);
            for (int axis = 0; axis < axes; axis++) {
                double p = position[axis];
                if (!isfinite(p))
                    return rotary_fail(
                        error, ROTARY_INVALID_ARGUMENT,
                        "the position of token %lld of sequence %lld is %g; wanted a finite number",
                        (long long)token, (long long)sequence, p);
                if (rows >= 0 && !(p >= 0 && p < (double)rows && p == floor(p)))
                    return rotary_fail(
                        error, ROTARY_INVALID_ARGUMENT,
                        "the position of token %lld of sequence %lld is %.10g; wanted one of the table's "
                        "rows, 0 ... %lld",
                        (long long)token, (long long)sequence, p, (long long)rows - 1);
            }
        }
    return ROTARY_OK;
}

rotary_status rotary_rope_check_positions(const rotary_rope_positions *positions, int64_t batch, int64_t time,
                                          int axes, int64_t rows, rotary_error *error)
{
    if (positions->starts) {
        const struct rotary_starts starts = {"positions", "starts", positions->starts, positions->sequences};
        rotary_status status = rotary_rope_check_starts(&starts, batch, time, error);
        if (status)
            return status;
    }
    if (positions->array && (unsigned)positions->array_type > ROTARY_POSITION_F32)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "positions.array_type is %d; wanted i64, i32 or f32", (int)positions->array_type);
    if (positions->array) {
        rotary_status status = check_entries(positions, batch, time, axes, error);
        if (status)
            return status;
    }
    bool fractional = positions->array && positions->array_type == ROTARY_POSITION_F32;
    if (fractional || rows >= 0)
        return check_every_position(positions, batch, time, axes, rows, error);
    return ROTARY_OK;
}
