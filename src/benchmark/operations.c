/* SPDX-License-Identifier: Apache-2.0 */
#include "benchmark/operations.h"

double operations_matmul_parameters(const struct transformer_config *model)
{
    double width = (double)model->hidden_size, layers = (double)model->num_hidden_layers,
           context = (double)(model->num_attention_heads * model->head_dim),
           keys = (double)(model->num_key_value_heads * model->head_dim),
           up = transformer_is_gated(model) ? 2.0 : 1.0;
    return layers * (width * (2.0 * context + 2.0 * keys) +
                     (up + 1.0) * width * (double)model->intermediate_size) +
           width * (double)model->vocab_size;
}

double operations_attention(const struct transformer_config *model, double keys)
{
    return (double)model->num_hidden_layers * 4.0 * (double)(model->num_attention_heads * model->head_dim) *
           keys;
}
