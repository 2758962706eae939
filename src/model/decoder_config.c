/* SPDX-License-Identifier: Apache-2.0
 *
 * The configuration of a decoder: defaults, settings table, validation.
 */
#include "model/decoder.h"

#include "base/fail.h"
#include "layer/activation.h"
#include "layer/position.h"

static const char *const hidden_acts[] = {"relu", "gelu", "swiglu", NULL};
static const char *const pairings[] = {"half", "interleaved", NULL};
static const char *const norms[] = {"layer_norm", "rms_norm", NULL};
static const char *const norm_positions[] = {"pre", "post", NULL};
static const char *const initialisations[] = {"pytorch", "normal", NULL};

void decoder_config_default(struct decoder_config *config)
{
    *config = (struct decoder_config){.hidden_size = 128,
                                      .num_hidden_layers = 3,
                                      .num_attention_heads = 4,
                                      .position = POSITION_ROPE,
                                      .rope_theta = 10000.0,
                                      .partial_rotary_factor = 1.0,
                                      .value_fraction = 1.0,
                                      .norm_epsilon = 1e-5,
                                      .initializer_range = 0.02,
                                      .bias = true};
}

enum { MAX_HEAD_DIM = 1024 };

#define MEMBER(name) offsetof(struct decoder_config, name)

static const struct setting table[] = {
    {"position", SETTING_CHOICE, MEMBER(position), 0, 0, position_names, .help = "position encoding"},
    {"vocab_size", SETTING_INTEGER, MEMBER(vocab_size), 0, 1 << 24, NULL, .help = "tokens; 0: the task's"},
    {"hidden_size", SETTING_INTEGER, MEMBER(hidden_size), 1, 1 << 20, NULL,
     .help = "width of the residual stream"},
    {"num_hidden_layers", SETTING_INTEGER, MEMBER(num_hidden_layers), 1, 1024, NULL, .help = "blocks"},
    {"num_attention_heads", SETTING_INTEGER, MEMBER(num_attention_heads), 1, 1024, NULL,
     .help = "query heads"},
    {"num_key_value_heads", SETTING_INTEGER, MEMBER(num_key_value_heads), 0, 1024, NULL,
     .help = "key-value heads; 0: num_attention_heads"},
    {"head_dim", SETTING_INTEGER, MEMBER(head_dim), 0, MAX_HEAD_DIM, NULL,
     .help = "channels per head; 0: hidden_size / num_attention_heads"},
    {"intermediate_size", SETTING_INTEGER, MEMBER(intermediate_size), 0, 1 << 22, NULL,
     .help = "width of the feed-forward layer; 0: 4 hidden_size"},
    {"max_position_embeddings", SETTING_INTEGER, MEMBER(max_position_embeddings), 0, 1 << 24, NULL,
     .help = "longest sequence, tokens; 0: the task's"},
    {"hidden_act", SETTING_CHOICE, MEMBER(hidden_act), 0, 0, hidden_acts,
     .help = "activation of the feed-forward layer"},
    {"pairing", SETTING_CHOICE, MEMBER(pairing), 0, 0, pairings,
     .help = "which channels are rotated together"},
    {"norm", SETTING_CHOICE, MEMBER(norm), 0, 0, norms, .help = "normalisation"},
    {"norm_position", SETTING_CHOICE, MEMBER(norm_position), 0, 0, norm_positions,
     .help = "before each layer, or after each residual sum"},
    {"norm_epsilon", SETTING_REAL, MEMBER(norm_epsilon), 1e-12, 1.0, NULL, .help = "added to the variance"},
    {"initialisation", SETTING_CHOICE, MEMBER(initialisation), 0, 0, initialisations,
     .help = "pytorch: its defaults for Linear and Embedding; normal: GPT-2's"},
    {"initializer_range", SETTING_REAL, MEMBER(initializer_range), 0.0, 10.0, NULL,
     .help = "standard deviation of normal initialisation"},
    {"rope_theta", SETTING_REAL, MEMBER(rope_theta), 1e-3, 1e12, NULL,
     .help = "base of the inverse frequencies"},
    {"partial_rotary_factor", SETTING_REAL, MEMBER(partial_rotary_factor), 0.0, 1.0, NULL,
     .help = "fraction of a head's query and key channels to rotate"},
    {"value_fraction", SETTING_REAL, MEMBER(value_fraction), 0.0, 1.0, NULL,
     .help = "fraction of a head's value channels to rotate (roper)"},
    {"dropout", SETTING_REAL, MEMBER(dropout), 0.0, 0.99, NULL,
     .help = "of the embedding and of every residual branch"},
    {"label_smoothing", SETTING_REAL, MEMBER(label_smoothing), 0.0, 0.99, NULL,
     .help = "of the training loss"},
    {"bias", SETTING_BOOLEAN, MEMBER(bias), 0, 0, NULL, .help = "biases in linear layers"},
    {"tie_word_embeddings", SETTING_BOOLEAN, MEMBER(tie_word_embeddings), 0, 0, NULL,
     .help = "output projection shares the embedding's weights"},
    {"scale_embedding", SETTING_BOOLEAN, MEMBER(scale_embedding), 0, 0, NULL,
     .help = "multiply embeddings by the square root of hidden_size"},
};

struct settings decoder_settings(struct decoder_config *config)
{
    return (struct settings){table, sizeof table / sizeof *table, config};
}

bool decoder_is_gated(const struct decoder_config *config)
{
    return config->hidden_act == ACTIVATION_SWIGLU;
}

static rotary_status check_rotary(const struct decoder_config *config, const char *key, double fraction,
                                  rotary_error *error)
{
    int64_t channels = position_rotary_dim(config->head_dim, fraction);
    if (channels % 2 != 0)
        return rotary_fail(
            error, ROTARY_INVALID_ARGUMENT,
            "%s %g of head_dim %lld rotates %lld channels: wanted an even number, as channels are "
            "rotated in pairs",
            key, fraction, (long long)config->head_dim, (long long)channels);
    return ROTARY_OK;
}

rotary_status decoder_config_check(struct decoder_config *config, rotary_error *error)
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
        if (head_dim > MAX_HEAD_DIM)
            return rotary_fail(
                error, ROTARY_INVALID_ARGUMENT,
                "hidden_size %lld over num_attention_heads %lld makes heads of %lld channels: wanted at most "
                "%d; choose more heads, or set head_dim",
                (long long)config->hidden_size, (long long)config->num_attention_heads, (long long)head_dim,
                MAX_HEAD_DIM);
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
    const struct position_encoding *encoding = position_encoding((enum position)config->position);
    rotary_status status = ROTARY_OK;
    if (encoding->rotate_query_key)
        status = check_rotary(config, "partial_rotary_factor", config->partial_rotary_factor, error);
    if (status == ROTARY_OK && encoding->rotate_value)
        status = check_rotary(config, "value_fraction", config->value_fraction, error);
    return status;
}
