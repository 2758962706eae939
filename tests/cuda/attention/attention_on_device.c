/* SPDX-License-Identifier: Apache-2.0
 *
 * Puts the cuda backend in the place of librotary's attention: the tests of tests/attention, linked with this,
 * try kernels on a device. Their tensors stay where they are, which the emulated device can reach, and a real
 * one where the system lets it. So launches run once; here each call runs twice instead, on the emulated device
 * with threads in the one order and the other, and must have the same bits.
 */
#include "cuda/cuda_backend.h"
#include "cuda/device_calls.h"
#include "support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

rotary_status __real_rotary_attention_create(rotary_attention **attention,
                                             const rotary_attention_config *config, rotary_error *error);
void __real_rotary_attention_destroy(rotary_attention *attention);

/* A test's plan, and the device's. */
struct on_device {
    rotary_attention *attention;
    rotary_attention_config config;
    struct backend backend;
    struct attention_plan *plan;
};

enum { MAX_PLANS = 16 };
static struct on_device plans[MAX_PLANS];
static bool making; /* the device's plan has one of librotary */

static struct on_device *find(const rotary_attention *attention)
{
    for (int i = 0; i < MAX_PLANS; i++)
        if (plans[i].attention == attention)
            return &plans[i];
    return NULL;
}

static const struct on_device *on_device(const rotary_attention *attention)
{
    const struct on_device *found = find(attention);
    if (!found)
        abort();
    return found;
}

rotary_status __wrap_rotary_attention_create(rotary_attention **attention,
                                             const rotary_attention_config *config, rotary_error *error);
rotary_status __wrap_rotary_attention_create(rotary_attention **attention,
                                             const rotary_attention_config *config, rotary_error *error)
{
    rotary_status status = __real_rotary_attention_create(attention, config, error);
    if (status || making)
        return status;
    struct on_device *made = find(NULL);
    if (!made)
        abort();
    if (config->dtype == ROTARY_F16) {
        printf("attention on a device is asked for f16, which models do not have\n");
        abort();
    }
    making = true;
    *made = (struct on_device){.attention = *attention, .config = *config};
    status = cuda_backend_create(&made->backend, 1, ROTARY_ISA_SCALAR,
                                 config->dtype == ROTARY_BF16 ? PRECISION_BF16 : PRECISION_F32, error);
    if (status == ROTARY_OK)
        status = made->backend.operations->attention_create(&made->backend, &made->plan, config, error);
    making = false;
    if (status == ROTARY_OK)
        return ROTARY_OK;
    backend_destroy(&made->backend);
    *made = (struct on_device){0};
    __real_rotary_attention_destroy(*attention);
    *attention = NULL;
    return status;
}

void __wrap_rotary_attention_destroy(rotary_attention *attention);
void __wrap_rotary_attention_destroy(rotary_attention *attention)
{
    struct on_device *found = attention ? find(attention) : NULL;
    if (found) {
        struct on_device was = *found;
        *found = (struct on_device){0};
        was.backend.operations->attention_destroy(&was.backend, was.plan);
        backend_destroy(&was.backend);
    }
    __real_rotary_attention_destroy(attention);
}

/* ---- The same bits in both orders. ---- */

/* FNV-1a of what a call wrote. */
static uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        hash = (hash ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3u;
    return hash;
}

struct written {
    const rotary_attention_config *config;
    rotary_attention_view view;
    int64_t batch, time, heads;
};

static uint64_t hash_view(uint64_t hash, const struct written *written)
{
    size_t size = rotary_dtype_size(written->config->dtype);
    for (int64_t b = 0; b < written->batch && written->view.data; b++)
        for (int64_t t = 0; t < written->time; t++)
            for (int64_t h = 0; h < written->heads; h++) {
                const rotary_attention_view *view = &written->view;
                int64_t at = (b > 0 ? b * view->batch_stride : 0) + (t > 0 ? t * view->time_stride : 0) +
                             (h > 0 ? h * view->head_stride : 0);
                hash = hash_bytes(hash, (const char *)view->data + at * (int64_t)size,
                                  size * (size_t)written->config->head_dim);
            }
    return hash;
}

size_t __wrap_rotary_attention_forward_call_bytes(const rotary_attention *attention,
                                                  const rotary_attention_forward_call *call);
size_t __wrap_rotary_attention_forward_call_bytes(const rotary_attention *attention,
                                                  const rotary_attention_forward_call *call)
{
    const struct on_device *on = on_device(attention);
    return on->backend.operations->attention_forward_bytes(on->plan, call);
}

size_t __wrap_rotary_attention_backward_call_bytes(const rotary_attention *attention,
                                                   const rotary_attention_backward_call *call);
size_t __wrap_rotary_attention_backward_call_bytes(const rotary_attention *attention,
                                                   const rotary_attention_backward_call *call)
{
    const struct on_device *on = on_device(attention);
    return on->backend.operations->attention_backward_bytes(on->plan, call);
}

rotary_status __wrap_rotary_attention_forward(const rotary_attention *attention,
                                              const rotary_attention_forward_call *call, rotary_error *error);
rotary_status __wrap_rotary_attention_forward(const rotary_attention *attention,
                                              const rotary_attention_forward_call *call, rotary_error *error)
{
    const struct on_device *on = on_device(attention);
    const struct backend_attention_forward given = {on->plan, call};
    const rotary_attention_shape *shape = &call->shape;
    const struct written output = {&on->config, call->output, shape->batch, shape->queries, on->config.heads};
    uint64_t hash[2] = {0};
    rotary_status status = ROTARY_OK;
    for (int order = 0; order < 2 && status == ROTARY_OK; order++) {
        device_order(order == 0);
        status = on->backend.operations->attention_forward(&on->backend, &given, error);
        if (status == ROTARY_OK)
            status = device_wait(&on->backend, error);
        if (status)
            return status;
        hash[order] = hash_view(1, &output);
        if (call->log_sum_exp)
            hash[order] = hash_bytes(hash[order], call->log_sum_exp,
                                     (size_t)(shape->batch * on->config.heads * shape->queries) * 4);
    }
    CHECK(hash[0] == hash[1]);
    return status;
}

/* A call without the gradients that are added to. */
static rotary_attention_backward_call overwriting(const rotary_attention_backward_call *call)
{
    rotary_attention_backward_call only = *call;
    only.distance_bias.gradient = NULL;
    only.distance_keys.gradient = NULL;
    only.distance_queries.gradient = NULL;
    only.distance_values.gradient = NULL;
    only.query_bias_gradient = NULL;
    only.sinks_gradient = NULL;
    only.piecewise_bias.intercept_gradient = NULL;
    only.piecewise_bias.slope_gradient = NULL;
    only.piecewise_bias.input_gradient = NULL;
    only.piecewise_bias.scale_gradient = NULL;
    return only;
}

rotary_status __wrap_rotary_attention_backward(const rotary_attention *attention,
                                               const rotary_attention_backward_call *call,
                                               rotary_error *error);
rotary_status __wrap_rotary_attention_backward(const rotary_attention *attention,
                                               const rotary_attention_backward_call *call,
                                               rotary_error *error)
{
    const struct on_device *on = on_device(attention);
    const rotary_attention_backward_call first = overwriting(call);
    const struct backend_attention_backward given[2] = {{on->plan, &first}, {on->plan, call}};
    const rotary_attention_shape *shape = &call->shape;
    const struct written gradients[3] = {
        {&on->config, call->query_gradient, shape->batch, shape->queries, on->config.heads},
        {&on->config, call->key_gradient, shape->batch, shape->keys, on->config.key_value_heads},
        {&on->config, call->value_gradient, shape->batch, shape->keys, on->config.key_value_heads}};
    uint64_t hash[2] = {1, 1};
    for (int order = 0; order < 2; order++) {
        device_order(order == 0);
        rotary_status status = on->backend.operations->attention_backward(&on->backend, &given[order], error);
        if (status == ROTARY_OK)
            status = device_wait(&on->backend, error);
        if (status)
            return status;
        for (int i = 0; i < 3; i++)
            hash[order] = hash_view(hash[order], &gradients[i]);
    }
    CHECK(hash[0] == hash[1]);
    return ROTARY_OK;
}

/* ---- Caches. ---- */

size_t __wrap_rotary_attention_decode_bytes(const rotary_attention *attention, int64_t batch, int64_t queries,
                                            int64_t capacity);
size_t __wrap_rotary_attention_decode_bytes(const rotary_attention *attention, int64_t batch, int64_t queries,
                                            int64_t capacity)
{
    const struct on_device *on = on_device(attention);
    return on->backend.operations->attention_decode_bytes(on->plan, batch, queries, capacity);
}

size_t __wrap_rotary_attention_reorder_bytes(const rotary_attention *attention, int64_t batch);
size_t __wrap_rotary_attention_reorder_bytes(const rotary_attention *attention, int64_t batch)
{
    const struct on_device *on = on_device(attention);
    return on->backend.operations->attention_reorder_bytes(on->plan, batch);
}

/* A call of the table in one of the orders, which alternate. */
#define ON_DEVICE(name)                                                                                      \
    rotary_status __wrap_rotary_attention_##name(                                                            \
        const rotary_attention *attention, const rotary_attention_##name##_call *call, rotary_error *error); \
    rotary_status __wrap_rotary_attention_##name(                                                            \
        const rotary_attention *attention, const rotary_attention_##name##_call *call, rotary_error *error)  \
    {                                                                                                        \
        static bool descending;                                                                              \
        const struct on_device *on = on_device(attention);                                                   \
        const struct backend_attention_##name given = {on->plan, call};                                      \
        descending = !descending;                                                                            \
        device_order(descending);                                                                            \
        rotary_status status = on->backend.operations->attention_##name(&on->backend, &given, error);        \
        return status == ROTARY_OK ? device_wait(&on->backend, error) : status;                              \
    }
ON_DEVICE(decode)
ON_DEVICE(append)
ON_DEVICE(reorder)
ON_DEVICE(shift)
