/* SPDX-License-Identifier: Apache-2.0 */
#include "huggingface/tensor_names.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

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

bool tensor_name_split(const char *name, struct tensor_name *split)
{
    static const char layers[] = "layers.";
    const char *dot = strrchr(name, '.');
    const bool of_layer = strncmp(name, layers, strlen(layers)) == 0;
    const char *number = of_layer ? name + strlen(layers) : name;
    const int digits = of_layer ? (int)strspn(number, "0123456789") : 0;
    if (!dot || digits >= TENSOR_LAYER_BYTES || number + digits > dot)
        return false;
    snprintf(split->layer, sizeof split->layer, "%.*s", digits, number);
    snprintf(split->module, sizeof split->module, "%s%s%.*s", of_layer ? layers : "", of_layer ? "{}" : "",
             (int)(dot - number - digits), number + digits);
    split->kind = dot + 1;
    return true;
}

void tensor_name_fill(char name[TENSOR_NAME_BYTES], const char *pattern, const struct tensor_name *split)
{
    const char *hole = strstr(pattern, "{}");
    if (hole)
        snprintf(name, TENSOR_NAME_BYTES, "%.*s%s%s.%s", (int)(hole - pattern), pattern, split->layer,
                 hole + 2, split->kind);
    else
        snprintf(name, TENSOR_NAME_BYTES, "%s.%s", pattern, split->kind);
}
