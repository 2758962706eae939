/* SPDX-License-Identifier: Apache-2.0
 *
 * Turning tensors by a plan, forward and back.
 */
#include "base/fail.h"
#include "rope/positions.h"
#include "rope/turn.h"

struct source {
    const rotary_rope *rope;
    const rotary_rope_positions *positions;
    rotary_direction direction;
};

/* What a row is multiplied by. The rotation R = f O, with O orthogonal, has the inverse 1/f O^T and the
 * transpose f O^T. */
static float magnitude(const struct source *source, enum rotary_rope_role role)
{
    double factor = role == ROTARY_ROLE_VALUE ? 1.0 : source->rope->attention_factor;
    return (float)(source->direction == ROTARY_INVERSE ? 1.0 / factor : factor);
}

static void row(const void *context, enum rotary_rope_role role, int64_t batch, int64_t time, int64_t first,
                int64_t count, float *cosine, float *sine)
{
    const struct source *source = context;
    rotary_rope_row(source->rope, rotary_rope_position(source->positions, batch, time), first, count, cosine,
                    sine);
    float cosine_factor = magnitude(source, role);
    float sine_factor = source->direction == ROTARY_FORWARD ? cosine_factor : -cosine_factor;
    for (int64_t pair = 0; pair < count; pair++) {
        cosine[pair] *= cosine_factor;
        sine[pair] *= sine_factor;
    }
}

static rotary_status check(const rotary_rope *rope, const rotary_rope_apply_call *call, rotary_error *error)
{
    static const char *const names[ROTARY_ROLES] = {"query", "key", "value"};
    const rotary_rope_tensor *tensors[ROTARY_ROLES] = {&call->query, &call->key, &call->value};
    if (call->batch < 0 || call->time < 0)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "batch is %lld and time is %lld; wanted neither below 0", (long long)call->batch,
                           (long long)call->time);
    if ((unsigned)call->direction > ROTARY_TRANSPOSE)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "direction is %d; wanted forward, inverse or transpose", (int)call->direction);
    for (int role = 0; role < ROTARY_ROLES; role++) {
        rotary_status status = ROTARY_OK;
        if (tensors[role]->input.data)
            status =
                rotary_rope_check_tensor(rope, names[role], call->batch, call->time, tensors[role], error);
        if (status)
            return status;
    }
    return rotary_rope_check_positions(&call->positions, call->batch, call->time, error);
}

rotary_status rotary_rope_apply(const rotary_rope *rope, const rotary_rope_apply_call *call,
                                rotary_error *error)
{
    rotary_status status = check(rope, call, error);
    if (status)
        return status;
    struct source source = {.rope = rope, .positions = &call->positions, .direction = call->direction};
    struct rotary_rope_turning turning = {
        .rope = rope,
        .batch = call->batch,
        .time = call->time,
        .tensors = {call->query.input.data ? &call->query : NULL, call->key.input.data ? &call->key : NULL,
                    call->value.input.data ? &call->value : NULL},
        .source = row,
        .context = &source,
        .same_rows = rope->attention_factor == 1.0,
    };
    rotary_rope_turn_tensors(&turning);
    return ROTARY_OK;
}
