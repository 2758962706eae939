/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations that no kernel computes yet: they are refused.
 */
#include "cuda/cuda.h"

static rotary_status refuse(const char *what, rotary_error *error)
{
    return rotary_fail(error, ROTARY_UNSUPPORTED, "the cuda backend has no %s yet: use --device cpu", what);
}

#define MISSING(name, words)                                                                                 \
    rotary_status cuda_##name(const struct backend *backend, const struct backend_##name *call,              \
                              rotary_error *error)                                                           \
    {                                                                                                        \
        (void)backend;                                                                                       \
        (void)call;                                                                                          \
        return refuse(words, error);                                                                         \
    }
MISSING(attention_forward, "attention")
MISSING(attention_backward, "backward pass of attention")
MISSING(attention_append, "attention with caches")
MISSING(attention_reorder, "attention with caches")
MISSING(attention_shift, "attention with caches")
MISSING(attention_decode, "attention with caches")
#undef MISSING

rotary_status cuda_attention_create(const struct backend *backend, struct attention_plan **plan,
                                    const rotary_attention_config *config, rotary_error *error)
{
    (void)backend;
    (void)plan;
    (void)config;
    return refuse("attention", error);
}

void cuda_attention_destroy(const struct backend *backend, struct attention_plan *plan)
{
    (void)backend;
    (void)plan;
}

/* There is no plan to ask. */
const rotary_attention_config *cuda_attention_config(const struct attention_plan *plan)
{
    (void)plan;
    return NULL;
}

size_t cuda_attention_forward_bytes(const struct attention_plan *plan,
                                    const rotary_attention_forward_call *call)
{
    (void)plan;
    (void)call;
    return 0;
}

size_t cuda_attention_backward_bytes(const struct attention_plan *plan,
                                     const rotary_attention_backward_call *call)
{
    (void)plan;
    (void)call;
    return 0;
}

size_t cuda_attention_decode_bytes(const struct attention_plan *plan, int64_t batch, int64_t queries,
                                   int64_t capacity)
{
    (void)plan;
    (void)batch;
    (void)queries;
    (void)capacity;
    return 0;
}

size_t cuda_attention_append_bytes(const struct attention_plan *plan, int64_t batch, int64_t tokens)
{
    (void)plan;
    (void)batch;
    (void)tokens;
    return 0;
}

size_t cuda_attention_reorder_bytes(const struct attention_plan *plan, int64_t batch)
{
    (void)plan;
    (void)batch;
    return 0;
}
