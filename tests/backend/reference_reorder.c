/* SPDX-License-Identifier: Apache-2.0
 *
 * Reordering of caches in the reference backend: everything is copied away first.
 */
#include "backend/reference_operations.h"

#include <stdlib.h>
#include <string.h>

size_t reference_attention_reorder_bytes(const struct attention_plan *plan, int64_t batch)
{
    (void)plan;
    return (size_t)batch * sizeof(int32_t);
}

static unsigned char *element_at(const struct attention_plan *plan, rotary_attention_view view, int64_t entry,
                                 int64_t row, int64_t head)
{
    int64_t element = entry * view.batch_stride + row * view.time_stride + head * view.head_stride;
    return (unsigned char *)view.data + (size_t)element * rotary_dtype_size(plan->config.dtype);
}

/* Rows of a source that hold no token are not copied: they may be stale in the new cache. */
static void reorder(const struct attention_plan *plan, const rotary_attention_reorder_call *call,
                    rotary_attention_view view)
{
    int64_t heads = plan->config.key_value_heads, vectors = call->batch * call->capacity * heads;
    size_t bytes = (size_t)plan->config.head_dim * rotary_dtype_size(plan->config.dtype);
    unsigned char *before = malloc((size_t)vectors * bytes);
    for (int64_t i = 0; i < vectors; i++)
        memcpy(before + (size_t)i * bytes,
               element_at(plan, view, i / heads / call->capacity, i / heads % call->capacity, i % heads),
               bytes);
    for (int64_t i = 0; i < vectors; i++) {
        int64_t entry = i / heads / call->capacity, row = i / heads % call->capacity,
                source = call->source[entry], from = i + (source - entry) * call->capacity * heads;
        if (!call->lengths || row < call->lengths[source])
            memcpy(element_at(plan, view, entry, row, i % heads), before + (size_t)from * bytes, bytes);
    }
    free(before);
}

rotary_status reference_attention_reorder(const struct backend *backend,
                                          const struct backend_attention_reorder *call, rotary_error *error)
{
    (void)error;
    const rotary_attention_reorder_call *of = call->call;
    int64_t last =
        (of->batch - 1) * of->key_cache.batch_stride + (of->capacity - 1) * of->key_cache.time_stride;
    size_t size = rotary_dtype_size(call->plan->config.dtype);
    reference_check_array(backend, of->key_cache.data, last, size, "cache of keys");
    reference_check_array(backend, of->value_cache.data, last, size, "cache of values");
    reference_check_array(backend, of->workspace, of->batch, sizeof(int32_t), "workspace of a reordering");
    reference_check_host(backend, of->lengths, "lengths of the caches");
    reference_check_host(backend, of->source, "sources of a reordering");
    reorder(call->plan, of, of->key_cache);
    if (!call->plan->config.key_is_value)
        reorder(call->plan, of, of->value_cache);
    return ROTARY_OK;
}
