/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows of cosines and sines, from the plan's table or computed. Angles are computed in double, because at
 * position 1,000,000 an f32 product is wrong by several hundredths of a radian. Their cosines and sines are
 * rounded to f32 once.
 */
#include "rope/rows.h"

#include "base/element.h"
#include "base/integer.h"
#include "base/threads.h"

#include <math.h>
#include <string.h>

enum { TABLE_ROWS_PER_ITEM = 64 };

/* ggml computes angles in f32: the angle of the first pair is the position, that of each next pair is the
 * previous angle times a ratio. */
static void ggml_angles(const rotary_rope *rope, const double *position, int64_t first, int64_t count,
                        double *angles)
{
    float theta[ROTARY_MAX_AXES];
    for (int64_t pair = 0; pair < first + count; pair++) {
        bool starts = pair == 0 || (rope->axes_restart && rope->axis[pair] != rope->axis[pair - 1]);
        for (int axis = 0; axis < rope->axes; axis++)
            theta[axis] = starts ? (float)position[axis] : theta[axis] * rope->ratio[axis];
        if (pair >= first)
            angles[pair - first] = (double)(theta[rope->axis[pair]] * rope->frequency_scale[pair]);
    }
}

void rotary_rope_angles(const rotary_rope *rope, const double *position, int64_t first, int64_t count,
                        double *angles)
{
    const double *frequency = rope->inverse_frequency + first;
    const uint8_t *axis = rope->axis + first;
    if (rope->frequency_scale)
        ggml_angles(rope, position, first, count, angles);
    else if (rope->angles_f32)
        for (int64_t pair = 0; pair < count; pair++)
            angles[pair] = (double)((float)position[axis[pair]] * (float)frequency[pair]);
    else
        for (int64_t pair = 0; pair < count; pair++)
            angles[pair] = position[axis[pair]] * frequency[pair];
}

static void compute(const rotary_rope *rope, const double *position, struct rotary_row row)
{
    double angles[64];
    enum { AT_ONCE = sizeof angles / sizeof *angles };
    for (int64_t done = 0; done < row.count; done += AT_ONCE) {
        int64_t count = min_i64(row.count - done, AT_ONCE);
        rotary_rope_angles(rope, position, row.first + done, count, angles);
        for (int64_t pair = 0; pair < count; pair++) {
            row.cosine[done + pair] = (float)cos(angles[pair]);
            row.sine[done + pair] = (float)sin(angles[pair]);
        }
    }
}

static bool in_table(const rotary_rope *rope, const double *position)
{
    bool inside = true;
    for (int axis = 0; axis < rope->axes; axis++)
        inside = inside && position[axis] >= 0 && position[axis] < (double)rope->table_positions &&
                 position[axis] == floor(position[axis]);
    return inside;
}

void rotary_rope_unit_row(const rotary_rope *rope, const double *position, struct rotary_row row)
{
    if (!in_table(rope, position)) {
        compute(rope, position, row);
        return;
    }
    int64_t at = (int64_t)position[0] * rope->pairs + row.first;
    if (rope->axes == 1) {
        memcpy(row.cosine, rope->cosine + at, (size_t)row.count * sizeof *row.cosine);
        memcpy(row.sine, rope->sine + at, (size_t)row.count * sizeof *row.sine);
        return;
    }
    for (int64_t pair = 0; pair < row.count; pair++) {
        at = (int64_t)position[rope->axis[row.first + pair]] * rope->pairs + row.first + pair;
        row.cosine[pair] = rope->cosine[at];
        row.sine[pair] = rope->sine[at];
    }
}

static double query_scale(const rotary_rope *rope, double position)
{
    double blocks = floor((position + rope->query_scale_offset) / rope->query_scale_length);
    return 1.0 + rope->query_scale_beta * log1p(fmax(blocks, 0.0));
}

double rotary_rope_magnitude(const rotary_rope *rope, const double *position, enum rotary_rope_role role,
                             int64_t pair)
{
    if (role == ROTARY_ROLE_VALUE)
        return 1.0;
    double factor = rope->attention_factor;
    if (rope->query_scale_beta > 0 && role == ROTARY_ROLE_QUERY)
        factor *= query_scale(rope, position[0]);
    if (!rope->xpos_growth)
        return factor;
    double grown = rope->xpos_growth[pair] * (position[rope->axis[pair]] - rope->xpos_origin);
    return factor * exp(role == ROTARY_ROLE_QUERY ? grown : -grown);
}

void rotary_rope_finish_row(const rotary_rope *rope, const double *position, enum rotary_rope_role role,
                            rotary_direction direction, struct rotary_row row)
{
    bool plain = role == ROTARY_ROLE_VALUE || rotary_rope_roles_alike(rope);
    /* R = m O with O orthogonal has the inverse 1/m O^T and the transpose m O^T. */
    for (int64_t pair = 0; pair < row.count && !plain; pair++) {
        double m = rotary_rope_magnitude(rope, position, role, row.first + pair);
        float factor = (float)(direction == ROTARY_INVERSE ? 1.0 / m : m);
        row.cosine[pair] *= factor;
        row.sine[pair] *= factor;
    }
    for (int64_t pair = 0; pair < row.count && direction != ROTARY_FORWARD; pair++)
        row.sine[pair] = -row.sine[pair];
    for (int64_t pair = 0; pair < row.count && rope->table_dtype != ROTARY_F32; pair++) {
        row.cosine[pair] = rotary_rounded(row.cosine[pair], rope->table_dtype);
        row.sine[pair] = rotary_rounded(row.sine[pair], rope->table_dtype);
    }
}

int64_t rotary_rope_table_positions(const rotary_rope *rope)
{
    return rope->table_positions;
}

bool rotary_rope_table_rows(const rotary_rope *rope, double first, int64_t count, enum rotary_rope_role role,
                            struct rotary_rows *rows)
{
    bool unit = role == ROTARY_ROLE_VALUE || rotary_rope_roles_alike(rope);
    const double position[ROTARY_MAX_AXES] = {first, first, first, first};
    if ((unit && rope->table_dtype != ROTARY_F32) || !in_table(rope, position) ||
        first + (double)count > (double)rope->table_positions)
        return false;
    int64_t at = (int64_t)first * rope->pairs;
    const float *cosine = unit ? rope->cosine : rope->role_cosine[role],
                *sine = unit ? rope->sine : rope->role_sine[role];
    *rows = (struct rotary_rows){0, rope->pairs, cosine + at, sine + at};
    return true;
}

void rotary_rope_role_rows(const rotary_rope *rope, int64_t first, int64_t count, enum rotary_rope_role role,
                           float *cosine, float *sine)
{
    for (int64_t at = 0; at < count; at++) {
        double position[ROTARY_MAX_AXES];
        for (int axis = 0; axis < ROTARY_MAX_AXES; axis++)
            position[axis] = (double)(first + at);
        struct rotary_row row = {
            .count = rope->pairs, .cosine = cosine + at * rope->pairs, .sine = sine + at * rope->pairs};
        rotary_rope_unit_row(rope, position, row);
        rotary_rope_finish_row(rope, position, role, ROTARY_FORWARD, row);
    }
}

/* The row of a role from a unit row, which is left as it is. */
static void fill_role(const rotary_rope *rope, const double *position, enum rotary_rope_role role,
                      struct rotary_row unit)
{
    int64_t at = (int64_t)position[0] * rope->pairs;
    struct rotary_row row = {
        .count = rope->pairs, .cosine = rope->role_cosine[role] + at, .sine = rope->role_sine[role] + at};
    memcpy(row.cosine, unit.cosine, (size_t)row.count * sizeof *row.cosine);
    memcpy(row.sine, unit.sine, (size_t)row.count * sizeof *row.sine);
    rotary_rope_finish_row(rope, position, role, ROTARY_FORWARD, row);
}

static void fill_rows(void *argument, int64_t index, int worker)
{
    (void)worker;
    const rotary_rope *rope = argument;
    int64_t first = index * TABLE_ROWS_PER_ITEM, end = first + TABLE_ROWS_PER_ITEM;
    for (int64_t at = first; at < end && at < rope->table_positions; at++) {
        double position[ROTARY_MAX_AXES] = {(double)at, (double)at, (double)at, (double)at};
        struct rotary_row row = {.count = rope->pairs,
                                 .cosine = rope->cosine + at * rope->pairs,
                                 .sine = rope->sine + at * rope->pairs};
        compute(rope, position, row);
        if (rotary_rope_roles_alike(rope))
            continue;
        fill_role(rope, position, ROTARY_ROLE_QUERY, row);
        if (rotary_rope_has_query_rows(rope))
            fill_role(rope, position, ROTARY_ROLE_KEY, row);
    }
}

void rotary_rope_fill_table(rotary_rope *rope)
{
    rotary_parallel_for(rope->threads, divide_up(rope->table_positions, TABLE_ROWS_PER_ITEM), fill_rows,
                        rope);
}
