/* SPDX-License-Identifier: Apache-2.0
 *
 * Attention of the cpu backend: librotary's, whose plans these are.
 */
#include "backend/cpu.h"

#include "base/fail.h"

#include <stdlib.h>

struct attention_plan {
    rotary_attention *attention;
    rotary_attention_config config;
};

rotary_status cpu_attention_create(const struct backend *backend, struct attention_plan **plan,
                                   const rotary_attention_config *config, rotary_error *error)
{
    struct attention_plan *made = calloc(1, sizeof *made);
    if (!made)
        return rotary_fail_memory(error, "for a plan of attention");
    made->config = backend_attention_config(backend, config);
    rotary_status status = rotary_attention_create(&made->attention, &made->config, error);
    if (status == ROTARY_OK)
        *plan = made;
    else
        free(made);
    return status;
}

void cpu_attention_destroy(const struct backend *backend, struct attention_plan *plan)
{
    (void)backend;
    if (plan)
        rotary_attention_destroy(plan->attention);
    free(plan);
}

const rotary_attention_config *cpu_attention_config(const struct attention_plan *plan)
{
    return &plan->config;
}

size_t cpu_attention_forward_bytes(const struct attention_plan *plan,
                                   const rotary_attention_forward_call *call)
{
    return rotary_attention_forward_call_bytes(plan->attention, call);
}

size_t cpu_attention_backward_bytes(const struct attention_plan *plan,
                                    const rotary_attention_backward_call *call)
{
    return rotary_attention_backward_call_bytes(plan->attention, call);
}

size_t cpu_attention_decode_bytes(const struct attention_plan *plan, int64_t batch, int64_t queries,
                                  int64_t capacity)
{
    return rotary_attention_decode_bytes(plan->attention, batch, queries, capacity);
}

size_t cpu_attention_append_bytes(const struct attention_plan *plan, int64_t batch, int64_t tokens)
{
    return rotary_attention_append_bytes(plan->attention, batch, tokens);
}

size_t cpu_attention_reorder_bytes(const struct attention_plan *plan, int64_t batch)
{
    return rotary_attention_reorder_bytes(plan->attention, batch);
}

rotary_status cpu_attention_forward(const struct backend *backend,
                                    const struct backend_attention_forward *call, rotary_error *error)
{
    (void)backend;
    return rotary_attention_forward(call->plan->attention, call->call, error);
}

rotary_status cpu_attention_backward(const struct backend *backend,
                                     const struct backend_attention_backward *call, rotary_error *error)
{
    (void)backend;
    return rotary_attention_backward(call->plan->attention, call->call, error);
}

rotary_status cpu_attention_decode(const struct backend *backend, const struct backend_attention_decode *call,
                                   rotary_error *error)
{
    (void)backend;
    return rotary_attention_decode(call->plan->attention, call->call, error);
}

rotary_status cpu_attention_append(const struct backend *backend, const struct backend_attention_append *call,
                                   rotary_error *error)
{
    (void)backend;
    return rotary_attention_append(call->plan->attention, call->call, error);
}

rotary_status cpu_attention_reorder(const struct backend *backend,
                                    const struct backend_attention_reorder *call, rotary_error *error)
{
    (void)backend;
    return rotary_attention_reorder(call->plan->attention, call->call, error);
}

rotary_status cpu_attention_shift(const struct backend *backend, const struct backend_attention_shift *call,
                                  rotary_error *error)
{
    (void)backend;
    return rotary_attention_shift(call->plan->attention, call->call, error);
}
