/* SPDX-License-Identifier: Apache-2.0 */
#include "layer/query_key_norm.h"

#include <stdio.h>

/* The norm "<config->name>.<name>" of `heads` heads. */
static rotary_status create(struct projection_norm *norm, const struct sublayer_config *config,
                            const char *name, int64_t heads, struct parameters *parameters,
                            rotary_error *error)
{
    char full_name[96];
    snprintf(full_name, sizeof full_name, "%s.%s", config->name, name);
    bool each = config->query_key_norm == QUERY_KEY_NORM_HEAD;
    struct projection_norm made = {.heads = each ? heads : 1};
    const struct norm_config row = {.name = full_name,
                                    .kind = config->norm,
                                    .width = each ? config->head_dim : heads * config->head_dim,
                                    .epsilon = config->norm_epsilon};
    rotary_status status = norm_create(&made.norm, &row, parameters, error);
    if (status == ROTARY_OK)
        *norm = made;
    return status;
}

rotary_status query_key_norms_create(struct projection_norm *query, struct projection_norm *key,
                                     const struct sublayer_config *config, struct parameters *parameters,
                                     rotary_error *error)
{
    if (config->query_key_norm == QUERY_KEY_NORM_NONE)
        return ROTARY_OK;
    rotary_status status = create(query, config, "query_norm", config->heads, parameters, error);
    return status == ROTARY_OK ? create(key, config, "key_norm", config->key_value_heads, parameters, error)
                               : status;
}

void projection_norm_carve(struct projection_norm *norm, struct rotary_arena *arena, int64_t rows)
{
    norm->mean = rotary_arena_push(arena, rows * norm->heads, sizeof(float));
    norm->rstd = rotary_arena_push(arena, rows * norm->heads, sizeof(float));
}

rotary_status projection_norm_forward(const struct projection_norm *norm, const struct parameters *parameters,
                                      struct matrix out, struct matrix in, rotary_error *error)
{
    const struct backend_head_norm_forward call = {
        .heads = norm->heads, .out = out, .in = in, .mean = norm->mean, .rstd = norm->rstd};
    return head_norm_forward(&norm->norm, parameters, &call, error);
}

rotary_status projection_norm_backward(const struct projection_norm *norm, struct parameters *parameters,
                                       struct matrix gradient, struct matrix in, rotary_error *error)
{
    const struct backend_head_norm_backward call = {.heads = norm->heads,
                                                    .d_in = gradient,
                                                    .d_out = gradient,
                                                    .in = in,
                                                    .mean = norm->mean,
                                                    .rstd = norm->rstd};
    return head_norm_backward(&norm->norm, parameters, &call, error);
}
