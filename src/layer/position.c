/* SPDX-License-Identifier: Apache-2.0 */
#include "layer/position.h"

#include <math.h>

static const struct position_encoding encodings[POSITIONS] = {
    [POSITION_NONE] = {EMBEDDING_POSITION_NONE, false, false},
    [POSITION_LEARNED] = {EMBEDDING_POSITION_LEARNED, false, false},
    [POSITION_SINUSOIDAL] = {EMBEDDING_POSITION_SINUSOIDAL, false, false},
    [POSITION_ROPE] = {EMBEDDING_POSITION_NONE, true, false},
    [POSITION_ROPER] = {EMBEDDING_POSITION_NONE, true, true},
};

const char *const position_names[] = {"none", "learned", "sinusoidal", "rope", "roper", NULL};

const struct position_encoding *position_encoding(enum position position)
{
    return &encodings[position];
}

int64_t position_rotary_dim(int64_t head_dim, double fraction)
{
    return (int64_t)floor((double)head_dim * fraction + 1e-9);
}

/* *rope is not written where no channel is rotated. */
static rotary_status create_rope(rotary_rope **rope, const struct backend *backend,
                                 const struct position_config *config, double fraction, rotary_error *error)
{
    int64_t channels = position_rotary_dim(config->head_dim, fraction);
    if (channels == 0) /* the plan reads 0 as all channels */
        return ROTARY_OK;
    rotary_rope_config plan;
    rotary_rope_config_default(&plan);
    plan.head_dim = config->head_dim;
    plan.rotary_dim = channels;
    plan.pairing = config->pairing;
    plan.base = config->base;
    plan.table_positions = config->table_positions;
    plan.threads = backend->threads;
    plan.isa = backend->isa;
    return rotary_rope_create(rope, &plan, error);
}

rotary_status position_attention_create(struct position_attention *attention, const struct backend *backend,
                                        const struct position_config *config, rotary_error *error)
{
    struct position_attention made = {0};
    const struct position_encoding *encoding = position_encoding(config->position);
    rotary_status status = ROTARY_OK;
    if (encoding->rotate_query_key)
        status = create_rope(&made.rope, backend, config, config->query_key_fraction, error);
    if (status == ROTARY_OK && encoding->rotate_value)
        status = create_rope(&made.value_rope, backend, config, config->value_fraction, error);
    if (status == ROTARY_OK) {
        rotary_attention_config plan;
        rotary_attention_config_default(&plan);
        plan.heads = config->heads;
        plan.key_value_heads = config->key_value_heads;
        plan.head_dim = config->head_dim;
        plan.dtype = backend->storage;
        plan.causal = true;
        plan.rope = made.rope;
        plan.value_rope = made.value_rope;
        plan.threads = backend->threads;
        plan.isa = backend->isa;
        status = rotary_attention_create(&made.attention, &plan, error);
    }
    if (status == ROTARY_OK)
        *attention = made;
    else
        position_attention_destroy(&made);
    return status;
}

void position_attention_destroy(struct position_attention *attention)
{
    rotary_attention_destroy(attention->attention);
    rotary_rope_destroy(attention->value_rope);
    rotary_rope_destroy(attention->rope);
    *attention = (struct position_attention){0};
}
