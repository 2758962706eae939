/* SPDX-License-Identifier: Apache-2.0 */
#include "huggingface/tied_head.h"

#include "base/element.h"

#include <string.h>

static bool has_same_shape(const struct safetensor *a, const struct safetensor *b)
{
    bool same = a->dimensions == b->dimensions;
    for (int i = 0; same && i < a->dimensions; i++)
        same = a->shape[i] == b->shape[i];
    return same;
}

/* Whether two tensors have one shape and the same values. */
static bool is_equal(const struct safetensor *a, const struct safetensor *b)
{
    if (!has_same_shape(a, b) || a->other_type || b->other_type)
        return false;
    const int64_t elements = safetensors_elements(a);
    if (a->dtype == b->dtype)
        return memcmp(a->data, b->data, (size_t)elements * rotary_dtype_size(a->dtype)) == 0;
    for (int64_t i = 0; i < elements; i++) {
        const float left = rotary_unaligned_element(a->data, i, a->dtype),
                    right = rotary_unaligned_element(b->data, i, b->dtype);
        if (!(left <= right && left >= right))
            return false;
    }
    return true;
}

enum tied_head tied_head_find(const struct weight_files *weights, const char *embedding, const char *output)
{
    const struct safetensor *first = weight_files_find(weights, embedding),
                            *second = weight_files_find(weights, output);
    if (!second)
        return TIED_EMBEDDING;
    if (!first)
        return TIED_OUTPUT;
    return is_equal(first, second) ? TIED_BOTH : TIED_NOT;
}
