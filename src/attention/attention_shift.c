/* SPDX-License-Identifier: Apache-2.0
 *
 * Context shift: tokens leave the middle of a cache, and those after them take their rows and positions. What
 * is cached is rotated: R(p - d) x = R(-d) R(p) x, so moved keys, and the values that the plan rotates, are
 * rotated once more.
 */
#include "attention/cache_checks.h"

#include "base/fail.h"
#include "base/sized.h"
#include "base/threads.h"

#include <string.h>

struct shift {
    const rotary_attention *attention;
    const rotary_attention_shift_call *call;
};

/* Tokens of a sequence that move. */
static int64_t moved_of(const rotary_attention_shift_call *call, int64_t sequence)
{
    return call->lengths[sequence] - call->keep[sequence] - call->discard[sequence];
}

/* Moves the rows of one head of one cache of a sequence down, the first of them first. */
static void move_rows(void *argument, int64_t index, int worker)
{
    (void)worker;
    const struct shift *shift = argument;
    const rotary_attention_shift_call *call = shift->call;
    const rotary_attention_problem problem = rotary_attention_problem_of(shift->attention);
    int64_t heads = rotary_attention_caches(shift->attention) * problem.key_value_heads,
            sequence = index / heads, head = index % heads;
    bool is_key = head < problem.key_value_heads;
    rotary_attention_view cache = is_key ? call->key_cache : call->value_cache;
    rotary_attention_const_view from = rotary_attention_as_const(cache);
    head -= is_key ? 0 : problem.key_value_heads;
    size_t bytes = (size_t)problem.head_dim * rotary_dtype_size(shift->attention->dtype);
    int64_t to = call->keep[sequence], discard = call->discard[sequence];
    for (int64_t moved = discard > 0 ? moved_of(call, sequence) : 0; moved > 0; moved--, to++)
        memcpy(mutable_vector_at(&problem, cache, sequence, to, head),
               vector_at(&problem, from, sequence, to + discard, head), bytes);
}

/* The moved rows of a sequence, to be rotated in place. */
static rotary_rope_tensor moved_rows(const struct shift *shift, rotary_attention_view cache, int64_t sequence)
{
    const rotary_attention *attention = shift->attention;
    int64_t element = sequence * cache.batch_stride + shift->call->keep[sequence] * cache.time_stride;
    void *data = (char *)cache.data + element * (int64_t)rotary_dtype_size(attention->dtype);
    return (rotary_rope_tensor){
        .heads = attention->key_value_heads,
        .input = {data, attention->dtype, cache.batch_stride, cache.time_stride, cache.head_stride},
        .output = {data, attention->dtype, cache.batch_stride, cache.time_stride, cache.head_stride}};
}

static rotary_status rotate_rows(const struct shift *shift, int64_t sequence, rotary_error *error)
{
    const rotary_attention *attention = shift->attention;
    rotary_rope_shift_call call = {.struct_size = sizeof call,
                                   .batch = 1,
                                   .time = moved_of(shift->call, sequence),
                                   .shift = -shift->call->discard[sequence]};
    rotary_rope_shift_call keys = call, values = call;
    if (call.time == 0 || call.shift == 0)
        return ROTARY_OK;
    keys.key = moved_rows(shift, shift->call->key_cache, sequence);
    values.value = moved_rows(shift, shift->call->value_cache, sequence);
    rotary_status status = ROTARY_OK;
    if (attention->rotated & ROTARY_ROTATE_KEY)
        status = rotary_rope_shift(attention->rope, &keys, error);
    if (status == ROTARY_OK && (attention->rotated & ROTARY_ROTATE_VALUE))
        status = rotary_rope_shift(attention->value_rope, &values, error);
    return status;
}

static rotary_status check_tokens(const rotary_attention_shift_call *call, rotary_error *error)
{
    if (call->batch > 0 && (!call->lengths || !call->keep || !call->discard))
        return rotary_fail(
            error, ROTARY_INVALID_ARGUMENT,
            "lengths, keep or discard is missing; wanted one of each for each of %lld sequences",
            (long long)call->batch);
    for (int64_t sequence = 0; sequence < call->batch; sequence++) {
        int64_t length = call->lengths[sequence], keep = call->keep[sequence],
                discard = call->discard[sequence];
        if (length < 0 || length > call->capacity)
            return rotary_fail(
                error, ROTARY_INVALID_ARGUMENT,
                "lengths[%lld] is %lld in a cache of %lld; wanted no token that was overwritten",
                (long long)sequence, (long long)length, (long long)call->capacity);
        if (keep < 0 || discard < 0 || keep > length || discard > length - keep)
            return rotary_fail(
                error, ROTARY_INVALID_ARGUMENT,
                "keep[%lld] is %lld and discard[%lld] %lld of %lld tokens; wanted neither below "
                "0, nor both together above that",
                (long long)sequence, (long long)keep, (long long)sequence, (long long)discard,
                (long long)length);
    }
    return ROTARY_OK;
}

rotary_status rotary_attention_check_shift(const rotary_attention *attention,
                                           const rotary_attention_shift_call *call, rotary_error *error)
{
    int64_t batch = call->batch, capacity = call->capacity, heads = attention->key_value_heads;
    rotary_status status =
        rotary_attention_check_shape((rotary_attention_shape){.batch = batch, .keys = capacity}, error);
    if (!status)
        status = check_tokens(call, error);
    if (status)
        return status;
    const struct attention_operand operands[] = {
        {"key_cache", rotary_attention_as_const(call->key_cache), batch, capacity, heads, true},
        {"value_cache", rotary_attention_as_const(call->value_cache), batch, capacity, heads, true},
    };
    return rotary_attention_check_operands(attention, operands, 2, error);
}

rotary_status rotary_attention_shift(const rotary_attention *attention,
                                     const rotary_attention_shift_call *given, rotary_error *error)
{
    rotary_attention_shift_call known = {0};
    rotary_status status =
        rotary_copy_sized(&known, sizeof known, given, "rotary_attention_shift_call", error);
    if (!status)
        status = rotary_attention_share_written_keys(attention, "value_cache", known.key_cache,
                                                     &known.value_cache, error);
    if (!status)
        status = rotary_attention_check_shift(attention, &known, error);
    if (status)
        return status;
    struct shift shift = {.attention = attention, .call = &known};
    rotary_parallel_for(attention->threads,
                        known.batch * rotary_attention_caches(attention) * attention->key_value_heads,
                        move_rows, &shift);
    for (int64_t sequence = 0; sequence < known.batch && !status; sequence++)
        status = rotate_rows(&shift, sequence, error);
    return status;
}
