/* SPDX-License-Identifier: Apache-2.0
 *
 * Gradients with respect to inverse frequencies w and positions p. With y = m R(a) x and g the gradient of y,
 * the angle a of a pair has the gradient
 *
 *     da = g1 y0 - g0 y1
 *
 * and a = p w, so dw = p da and dp = w da. xPos adds the gradient of its magnitude m = e^(+-growth (p -
 * origin)) to dp. Sums over tokens have the same order for any number of threads.
 */
#include "base/element.h"
#include "base/fail.h"
#include "base/integer.h"
#include "base/sized.h"
#include "base/strides.h"
#include "base/threads.h"
#include "kernel/rope/rope_kernels.h"
#include "rope/positions.h"
#include "rope/rows.h"

enum { PAIRS_PER_ITEM = 16, TOKENS_PER_ITEM = 16 };

struct gradient {
    const rotary_rope *rope;
    const rotary_rope_gradient_call *call;
    const rotary_rope_gradient_tensor *tensors[ROTARY_ROLES];
};

static int64_t place(const rotary_rope_const_view *view, int64_t batch, int64_t time, int64_t head)
{
    return batch * view->batch_stride + time * view->time_stride + head * view->head_stride;
}

/* The loss's derivatives with respect to the angle and the logarithm of the magnitude of one pair at one
 * token, summed over heads. */
struct derivative {
    double angle, log_magnitude;
};

static struct derivative pair_derivatives(const rotary_rope *rope, const rotary_rope_gradient_tensor *tensor,
                                          int64_t batch, int64_t time, struct rotary_row row, int64_t i)
{
    const struct rotary_span *span = &rope->span;
    int64_t first = span->start + rotary_rope_pair_channel(span->pairing, rope->pairs, row.first + i, 0);
    int64_t second = span->start + rotary_rope_pair_channel(span->pairing, rope->pairs, row.first + i, 1);
    double c = (double)row.cosine[i], s = (double)row.sine[i];
    struct derivative derivative = {0};
    for (int64_t head = 0; head < tensor->heads; head++) {
        const rotary_rope_const_view *input = &tensor->input, *gradient = &tensor->output_gradient;
        int64_t x_at = place(input, batch, time, head), g_at = place(gradient, batch, time, head);
        double x0 = (double)rotary_element(input->data, x_at + first, input->dtype);
        double x1 = (double)rotary_element(input->data, x_at + second, input->dtype);
        double g0 = (double)rotary_element(gradient->data, g_at + first, gradient->dtype);
        double g1 = (double)rotary_element(gradient->data, g_at + second, gradient->dtype);
        double y0 = x0 * c - x1 * s, y1 = x0 * s + x1 * c;
        derivative.angle += g1 * y0 - g0 * y1;
        derivative.log_magnitude += g0 * y0 + g1 * y1;
    }
    return derivative;
}

/* Adds the gradients of pairs first ... first + count - 1 at one token to dw[pair - first] and dp[axis]. */
static void add_token_gradient(const struct gradient *gradient, int64_t token, int64_t first, int64_t count,
                               double *dw, double *dp)
{
    const rotary_rope *rope = gradient->rope;
    int64_t batch = token / gradient->call->time, time = token % gradient->call->time;
    double position[ROTARY_MAX_AXES];
    rotary_rope_position(&gradient->call->positions, batch, time, rope->axes, position);
    for (int role = 0; role < ROTARY_ROLES; role++) {
        if (!gradient->tensors[role]->input.data)
            continue;
        float cosine[PAIRS_PER_ITEM], sine[PAIRS_PER_ITEM];
        struct rotary_row row = {.first = first, .count = count, .cosine = cosine, .sine = sine};
        rotary_rope_unit_row(rope, position, row);
        rotary_rope_finish_row(rope, position, (enum rotary_rope_role)role, ROTARY_FORWARD, row);
        for (int64_t i = 0; i < count; i++) {
            int64_t pair = first + i;
            struct derivative derivative =
                pair_derivatives(rope, gradient->tensors[role], batch, time, row, i);
            int axis = rope->axis[pair];
            dw[i] += position[axis] * derivative.angle;
            dp[axis] += rope->inverse_frequency[pair] * derivative.angle;
            if (rope->xpos_growth && role != ROTARY_ROLE_VALUE)
                dp[axis] += (role == ROTARY_ROLE_QUERY ? 1.0 : -1.0) * rope->xpos_growth[pair] *
                            derivative.log_magnitude;
        }
    }
}

static void frequency_gradient_of_pairs(void *argument, int64_t index, int worker)
{
    (void)worker;
    const struct gradient *gradient = argument;
    const rotary_rope_gradient_call *call = gradient->call;
    int64_t first = index * PAIRS_PER_ITEM;
    int64_t count = min_i64(gradient->rope->pairs - first, PAIRS_PER_ITEM);
    double dw[PAIRS_PER_ITEM] = {0}, unused[ROTARY_MAX_AXES] = {0};
    for (int64_t token = 0; token < call->batch * call->time; token++)
        add_token_gradient(gradient, token, first, count, dw, unused);
    for (int64_t i = 0; i < count; i++)
        call->frequency_gradient[first + i] += dw[i];
}

static void position_gradient_of_tokens(void *argument, int64_t index, int worker)
{
    (void)worker;
    const struct gradient *gradient = argument;
    const rotary_rope_gradient_call *call = gradient->call;
    int64_t tokens = call->batch * call->time, begin = index * TOKENS_PER_ITEM;
    for (int64_t token = begin; token < tokens && token < begin + TOKENS_PER_ITEM; token++) {
        double unused[PAIRS_PER_ITEM] = {0}, dp[ROTARY_MAX_AXES] = {0};
        for (int64_t first = 0; first < gradient->rope->pairs; first += PAIRS_PER_ITEM) {
            int64_t count = min_i64(gradient->rope->pairs - first, PAIRS_PER_ITEM);
            add_token_gradient(gradient, token, first, count, unused, dp);
        }
        for (int axis = 0; axis < gradient->rope->axes; axis++)
            call->position_gradient[axis * tokens + token] = dp[axis];
    }
}

/* Whether the offsets of the elements of a tensor can be computed. */
static rotary_status check_view(const struct gradient *gradient, const char *name, const char *member,
                                int64_t heads, const rotary_rope_const_view *view, rotary_error *error)
{
    const struct rotary_vectors vectors = {
        .tensor = name,
        .member = member,
        .length = gradient->rope->span.head_dim,
        .element_bytes = rotary_dtype_size(view->dtype),
        .extents = {gradient->call->batch, gradient->call->time, heads},
        .strides = {view->batch_stride, view->time_stride, view->head_stride}};
    return rotary_check_offsets(&vectors, error);
}

static rotary_status check(const struct gradient *gradient, rotary_error *error)
{
    static const char *const names[ROTARY_ROLES] = {"query", "key", "value"};
    const rotary_rope_gradient_call *call = gradient->call;
    rotary_status status = rotary_check_tokens(call->batch, call->time, error);
    if (status)
        return status;
    for (int role = 0; role < ROTARY_ROLES; role++) {
        const rotary_rope_gradient_tensor *tensor = gradient->tensors[role];
        if (!tensor->input.data)
            continue;
        if (!tensor->output_gradient.data || tensor->heads < 1)
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                               "%s.heads is %lld and its output_gradient is %s; wanted at least 1 head and "
                               "a tensor",
                               names[role], (long long)tensor->heads,
                               tensor->output_gradient.data ? "given" : "NULL");
        if ((unsigned)tensor->input.dtype >= ROTARY_DTYPES ||
            (unsigned)tensor->output_gradient.dtype >= ROTARY_DTYPES)
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                               "%s has types %d and %d; wanted f32, f16 or bf16", names[role],
                               (int)tensor->input.dtype, (int)tensor->output_gradient.dtype);
        status = check_view(gradient, names[role], ".input", tensor->heads, &tensor->input, error);
        if (!status)
            status = check_view(gradient, names[role], ".output_gradient", tensor->heads,
                                &tensor->output_gradient, error);
        if (status)
            return status;
    }
    return rotary_rope_check_positions(&call->positions, call->batch, call->time, gradient->rope->axes, -1,
                                       error);
}

rotary_status rotary_rope_gradient(const rotary_rope *rope, const rotary_rope_gradient_call *given,
                                   rotary_error *error)
{
    rotary_rope_gradient_call known = {0}, *call = &known;
    rotary_status status = rotary_copy_sized(&known, sizeof known, given, "rotary_rope_gradient_call", error);
    if (status)
        return status;
    struct gradient gradient = {
        .rope = rope, .call = call, .tensors = {&call->query, &call->key, &call->value}};
    status = check(&gradient, error);
    if (status)
        return status;
    int64_t pair_items = divide_up(rope->pairs, PAIRS_PER_ITEM);
    int64_t token_items = divide_up(call->batch * call->time, TOKENS_PER_ITEM);
    if (call->frequency_gradient)
        rotary_parallel_for(rope->threads, pair_items, frequency_gradient_of_pairs, &gradient);
    if (call->position_gradient)
        rotary_parallel_for(rope->threads, token_items, position_gradient_of_tokens, &gradient);
    return ROTARY_OK;
}
