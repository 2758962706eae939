/* SPDX-License-Identifier: Apache-2.0 */
#include "layer/encoding/position.h"

#include <math.h>

/* *rope is not written without a configuration. */
static rotary_status create_rope(rotary_rope **rope, const struct backend *backend,
                                 const rotary_rope_config *config, rotary_error *error)
{
    if (!config)
        return ROTARY_OK;
    rotary_rope_config plan = *config;
    plan.threads = backend->threads;
    plan.isa = backend->isa;
    return rotary_rope_create(rope, &plan, error);
}

static rotary_status create_attention(struct position_attention *made, const struct backend *backend,
                                      const struct position_config *config, rotary_error *error)
{
    rotary_attention_config plan;
    rotary_attention_config_default(&plan);
    plan.heads = config->heads;
    plan.key_value_heads = config->key_value_heads;
    plan.head_dim = config->head_dim;
    plan.causal = config->causal;
    plan.window = config->window;
    plan.softcap = config->softcap;
    plan.rope = made->rope;
    plan.key_is_value = config->key_is_value;
    plan.value_rope = config->key_is_value && config->value_rope ? made->rope : made->value_rope;
    plan.rotate = config->rotate;
    double products = config->score_products > 1 ? (double)config->score_products : 1.0;
    double channels = config->score_channels > 0 ? config->score_channels : (double)config->head_dim;
    if (products != 1.0 || config->score_channels > 0) /* else the plan's own default */
        plan.scale = (float)(1.0 / sqrt(products * channels));
    return backend->operations->attention_create(backend, &made->attention, &plan, error);
}

rotary_status position_attention_create(struct position_attention *attention, const struct backend *backend,
                                        const struct position_config *config, rotary_error *error)
{
    struct position_attention made = {.backend = backend,
                                      .scales_queries = config->rope && config->rope->query_scale_beta > 0};
    rotary_status status = create_rope(&made.rope, backend, config->rope, error);
    if (status == ROTARY_OK)
        status =
            create_rope(&made.value_rope, backend, config->key_is_value ? NULL : config->value_rope, error);
    if (status == ROTARY_OK)
        status = create_attention(&made, backend, config, error);
    if (status == ROTARY_OK)
        *attention = made;
    else
        position_attention_destroy(&made);
    return status;
}

void position_attention_destroy(struct position_attention *attention)
{
    if (attention->backend)
        attention->backend->operations->attention_destroy(attention->backend, attention->attention);
    rotary_rope_destroy(attention->value_rope);
    rotary_rope_destroy(attention->rope);
    *attention = (struct position_attention){0};
}
