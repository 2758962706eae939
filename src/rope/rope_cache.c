/* SPDX-License-Identifier: Apache-2.0
 *
 * Caches of rotated keys and values: shifting their positions, and converting them from one plan to another.
 */
#include "base/fail.h"
#include "base/sized.h"
#include "rope/positions.h"
#include "rope/rotate.h"

#include <math.h>

struct shift {
    const rotary_rope *rope;
    const rotary_rope_shift_call *call;
};

/* R(p + d) R(p)^-1 is R(d) without the attention factor, which cancels. xPos divides keys by
 * zeta^(d / scale). */
static void shift_row(const void *context, enum rotary_rope_role role, int64_t batch, int64_t time,
                      struct rotary_row row)
{
    (void)time;
    const struct shift *shift = context;
    const rotary_rope *rope = shift->rope;
    double by = (double)shift->call->shift;
    if (shift->call->shifts)
        by += (double)shift->call->shifts[batch];
    double position[ROTARY_MAX_AXES] = {by, by, by, by};
    rotary_rope_unit_row(rope, position, row);
    for (int64_t pair = 0; pair < row.count && rope->xpos_growth && role == ROTARY_ROLE_KEY; pair++) {
        float factor = (float)exp(-rope->xpos_growth[row.first + pair] * by);
        row.cosine[pair] *= factor;
        row.sine[pair] *= factor;
    }
}

rotary_status rotary_rope_shift(const rotary_rope *rope, const rotary_rope_shift_call *given,
                                rotary_error *error)
{
    rotary_rope_shift_call known = {0}, *call = &known;
    rotary_status status = rotary_copy_sized(&known, sizeof known, given, "rotary_rope_shift_call", error);
    if (status)
        return status;
    struct shift shift = {.rope = rope, .call = call};
    struct rotary_rope_rotation rotation = {
        .rope = rope,
        .batch = call->batch,
        .time = call->time,
        .tensors = {[ROTARY_ROLE_KEY] = call->key, [ROTARY_ROLE_VALUE] = call->value},
        .source = shift_row,
        .context = &shift,
        .same_rows = !rope->xpos_growth,
    };
    status = rotary_rope_check_tensors(&rotation, error);
    if (!status)
        rotary_rope_rotate_tensors(&rotation);
    return status;
}

struct rebase {
    const rotary_rope *from, *to;
    const rotary_rope_rebase_call *call;
};

/* R'(p) R(p)^-1 rotates by the difference of the angles and multiplies by the quotient of the magnitudes. */
static void rebase_row(const void *context, enum rotary_rope_role role, int64_t batch, int64_t time,
                       struct rotary_row row)
{
    const struct rebase *rebase = context;
    double position[ROTARY_MAX_AXES];
    rotary_rope_position(&rebase->call->positions, batch, time, rebase->to->axes, position);
    for (int64_t pair = 0; pair < row.count; pair++) {
        double to, from;
        rotary_rope_angles(rebase->to, position, row.first + pair, 1, &to);
        rotary_rope_angles(rebase->from, position, row.first + pair, 1, &from);
        double m = rotary_rope_magnitude(rebase->to, position, role, row.first + pair) /
                   rotary_rope_magnitude(rebase->from, position, role, row.first + pair);
        row.cosine[pair] = (float)(m * cos(to - from));
        row.sine[pair] = (float)(m * sin(to - from));
    }
}

static bool rotate_same_channels(const rotary_rope *a, const rotary_rope *b)
{
    return a->span.head_dim == b->span.head_dim && a->span.start == b->span.start &&
           a->span.dim == b->span.dim && a->span.pairing == b->span.pairing && a->axes == b->axes;
}

rotary_status rotary_rope_rebase(const rotary_rope *from, const rotary_rope *to,
                                 const rotary_rope_rebase_call *given, rotary_error *error)
{
    rotary_rope_rebase_call known = {0}, *call = &known;
    rotary_status status = rotary_copy_sized(&known, sizeof known, given, "rotary_rope_rebase_call", error);
    if (status)
        return status;
    if (!rotate_same_channels(from, to))
        return rotary_fail(
            error, ROTARY_INVALID_ARGUMENT,
            "the plans rotate channels %lld ... %lld of %lld and %lld ... %lld of %lld, by %d and %d axes; "
            "wanted the same channels, pairing and number of axes",
            (long long)from->span.start, (long long)(from->span.start + from->span.dim - 1),
            (long long)from->span.head_dim, (long long)to->span.start,
            (long long)(to->span.start + to->span.dim - 1), (long long)to->span.head_dim, from->axes,
            to->axes);
    struct rebase rebase = {.from = from, .to = to, .call = call};
    struct rotary_rope_rotation rotation = {
        .rope = to,
        .batch = call->batch,
        .time = call->time,
        .tensors = {[ROTARY_ROLE_KEY] = call->key, [ROTARY_ROLE_VALUE] = call->value},
        .source = rebase_row,
        .context = &rebase,
        .same_rows = rotary_rope_roles_alike(from) && rotary_rope_roles_alike(to),
    };
    status = rotary_rope_check_tensors(&rotation, error);
    if (!status)
        status = rotary_rope_check_positions(&call->positions, call->batch, call->time, to->axes, -1, error);
    if (!status)
        rotary_rope_rotate_tensors(&rotation);
    return status;
}
