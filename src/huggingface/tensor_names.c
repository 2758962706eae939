/* SPDX-License-Identifier: Apache-2.0 */
#include "huggingface/tensor_names.h"

#include <fnmatch.h>
#include <stddef.h>

const char *const tensor_names_separate[] = {"*.q_proj.weight",
                                             "*.q_proj.bias",
                                             "*.k_proj.weight",
                                             "*.k_proj.bias",
                                             "*.attention.wq.weight",
                                             "*.attention.wk.weight",
                                             "*.q_norm.weight",
                                             "*.k_norm.weight",
                                             "*.q_norm.bias",
                                             "*.k_norm.bias",
                                             NULL};

const char *const tensor_names_fused[] = {
    "*.qkv_proj.weight",      "*.qkv_proj.bias",  "*.query_key_value.weight",
    "*.query_key_value.bias", "*.[Ww]qkv.weight", "*.[Ww]qkv.bias",
    "*.q_norm.weight",        "*.k_norm.weight",  NULL};

const char *const tensor_names_packed_weights[] = {"*.q_proj.qweight", "*.k_proj.qweight",
                                                   "*.qkv_proj.qweight", NULL};

const char *const tensor_names_per_row[] = {
    "bias", "weight_scale", "weight_scale_inv", "weight_zero_point", "scale", "SCB", NULL};

static const char *const norms[] = {"*norm.weight", "*norm.bias", NULL};

bool tensor_names_match(const char *const *patterns, const char *name)
{
    for (; *patterns; patterns++)
        if (fnmatch(*patterns, name, 0) == 0)
            return true;
    return false;
}

bool tensor_names_is_norm(const char *name)
{
    return tensor_names_match(norms, name);
}
