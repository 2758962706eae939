/* SPDX-License-Identifier: Apache-2.0 */
#include "model/config_check.h"

#include "base/fail.h"
#include "model/encoding/attention_plans.h"
#include "model/encoding/model_encoding.h"

/* What an encoder-decoder has and others have not. */
static rotary_status check_encoder_decoder(struct transformer_config *config, rotary_error *error)
{
    bool shared = config->share_encoder_decoder_embeddings;
    if (config->num_encoder_layers == 0)
        config->num_encoder_layers = config->num_hidden_layers;
    if (config->source_vocab_size == 0 && shared)
        config->source_vocab_size = config->vocab_size;
    if (config->source_vocab_size < 1)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "source_vocab_size is %lld: an encoder needs at least 1 token",
                           (long long)config->source_vocab_size);
    if (shared && config->source_vocab_size != config->vocab_size)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "source_vocab_size is %lld and vocab_size %lld with "
                           "share_encoder_decoder_embeddings: wanted one vocabulary",
                           (long long)config->source_vocab_size, (long long)config->vocab_size);
    if (config->parallel_residual != PARALLEL_RESIDUAL_NO)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "parallel_residual with architecture encoder_decoder: wanted no, as "
                           "feed-forward reads what cross-attention adds");
    return ROTARY_OK;
}

static bool counts_tokens(const struct position_encoding *encoding)
{
    const struct distance_vector_terms *vectors = &encoding->distance_vectors;
    return encoding->distance_bias || vectors->keys || vectors->values;
}

/* Positions are those of tables and rotations; other terms of scores count tokens. */
static bool takes_any_positions(const struct position_encoding *encoding)
{
    return !counts_tokens(encoding) && (encoding->embedding != EMBEDDING_POSITION_NONE || encoding->rotate);
}

static rotary_status check_randomized(const struct transformer_config *config, rotary_error *error)
{
    const struct position_encoding *encoding = model_encoding(config);
    char names[SETTINGS_NAMES_BYTES];
    long long positions = (long long)config->randomized_positions;
    if (positions == 0)
        return ROTARY_OK;
    if (!takes_any_positions(encoding))
        return rotary_fail(
            error, ROTARY_INVALID_ARGUMENT,
            "randomized_positions is %lld with position %s, which %s: wanted 0, or position %s", positions,
            model_encoding_name(config),
            counts_tokens(encoding) ? "counts the tokens between two" : "has no positions of tokens",
            encoding_names(takes_any_positions, names));
    if (positions < config->max_position_embeddings)
        return rotary_fail(
            error, ROTARY_INVALID_ARGUMENT,
            "randomized_positions is %lld: wanted 0, or at least max_position_embeddings, %lld", positions,
            (long long)config->max_position_embeddings);
    return ROTARY_OK;
}

/* A window goes back from a query: what it would be on both sides is not defined. */
static rotary_status check_encoder_alone(const struct transformer_config *config, rotary_error *error)
{
    if (config->sliding_window > 0)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "sliding_window is %lld with architecture encoder: wanted 0, as a window is of "
                           "earlier tokens and an encoder sees all",
                           (long long)config->sliding_window);
    if (transformer_names_layer_type(config, "sliding_attention"))
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "layer_types has sliding_attention with architecture encoder: wanted "
                           "full_attention alone, as an encoder sees all tokens");
    return ROTARY_OK;
}

rotary_status transformer_config_check(struct transformer_config *config, rotary_error *error)
{
    if (config->vocab_size < 1)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "vocab_size is %lld: a model needs at least 1 token",
                           (long long)config->vocab_size);
    if (config->max_position_embeddings < 1)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "max_position_embeddings is %lld: a model needs at least 1 position",
                           (long long)config->max_position_embeddings);
    if (config->head_dim == 0) {
        if (config->hidden_size % config->num_attention_heads != 0)
            return rotary_fail(
                error, ROTARY_INVALID_ARGUMENT,
                "hidden_size %lld is not a multiple of num_attention_heads %lld: choose a width that "
                "the heads divide, or set head_dim",
                (long long)config->hidden_size, (long long)config->num_attention_heads);
        int64_t head_dim = config->hidden_size / config->num_attention_heads;
        if (head_dim > TRANSFORMER_MAX_HEAD_DIM)
            return rotary_fail(
                error, ROTARY_INVALID_ARGUMENT,
                "hidden_size %lld over num_attention_heads %lld makes heads of %lld channels: wanted at most "
                "%d; choose more heads, or set head_dim",
                (long long)config->hidden_size, (long long)config->num_attention_heads, (long long)head_dim,
                TRANSFORMER_MAX_HEAD_DIM);
        config->head_dim = head_dim;
    }
    if (config->num_key_value_heads == 0)
        config->num_key_value_heads = config->num_attention_heads;
    if (config->num_attention_heads % config->num_key_value_heads != 0)
        return rotary_fail(
            error, ROTARY_INVALID_ARGUMENT,
            "num_attention_heads %lld is not a multiple of num_key_value_heads %lld: each key-value "
            "head serves equally many query heads",
            (long long)config->num_attention_heads, (long long)config->num_key_value_heads);
    if (config->intermediate_size == 0)
        config->intermediate_size = 4 * config->hidden_size;
    if (config->parallel_residual != PARALLEL_RESIDUAL_NO && config->norm_position == NORM_POSITION_POST)
        return rotary_fail(
            error, ROTARY_INVALID_ARGUMENT,
            "norm_position post with a parallel_residual: wanted norm_position pre, both, output "
            "or none, as there is one residual sum for both layers");
    if (config->parallel_residual == PARALLEL_RESIDUAL_TWO_NORMS &&
        config->norm_position != NORM_POSITION_PRE && config->norm_position != NORM_POSITION_BOTH)
        return rotary_fail(
            error, ROTARY_INVALID_ARGUMENT,
            "parallel_residual two_norms without a norm before the layers: wanted norm_position "
            "pre or both, or parallel_residual one_norm");
    rotary_status status = model_encoding_check(config, error);
    if (status == ROTARY_OK)
        status = check_randomized(config, error);
    if (status == ROTARY_OK && transformer_has_encoder(config))
        status = check_encoder_decoder(config, error);
    if (status == ROTARY_OK && config->architecture == ARCHITECTURE_ENCODER)
        status = check_encoder_alone(config, error);
    if (status == ROTARY_OK && config->num_labels > 0 && config->architecture != ARCHITECTURE_ENCODER)
        status =
            rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                        "num_labels is %lld without architecture encoder: wanted 0, or an encoder, whose "
                        "first token sees the others",
                        (long long)config->num_labels);
    return status == ROTARY_OK ? attention_plans_check(config, error) : status;
}
