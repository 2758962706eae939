/* SPDX-License-Identifier: Apache-2.0
 *
 * The configuration of a transformer: defaults, settings table.
 */
#include "model/transformer_config.h"

#include "layer/encoding/encoding.h"
#include "model/encoding/custom_encoding.h"
#include "model/encoding/shipped_encodings.h"
#include "rope_config/rope_config.h"

#include <string.h>

static const char *const hidden_acts[] = {"relu", "gelu", "swiglu", "gelu_tanh", "geglu_tanh", NULL};
static const char *const pairings[] = {"half", "interleaved", NULL};
static const char *const norms[] = {"layer_norm", "rms_norm", NULL};
static const char *const norm_positions[] = {"pre", "post", "both", "output", "none", NULL};
static const char *const parallel_residuals[] = {"no", "two_norms", "one_norm", NULL};
static const char *const query_key_norms[] = {"none", "head", "all", NULL};
static const char *const keys_as_values[] = {"false", "true", "unrotated", NULL};
static const char *const projection_biases[] = {"bias", "true", "false", NULL};
const char *const architecture_names[] = {"decoder", "encoder_decoder", "encoder", NULL};
static const char *const classifier_activations[] = {"tanh", "gelu", "relu",
                                                     NULL}; /* of classifier_activation */
static const char *const classifier_poolings[] = {"cls", "mean", NULL};
static const char *const initialisations[] = {"pytorch", "normal", "glorot", "bert", NULL};

void transformer_config_default(struct transformer_config *config)
{
    *config = (struct transformer_config){.hidden_size = 128,
                                          .num_hidden_layers = 3,
                                          .num_attention_heads = 4,
                                          .position = POSITION_ROPE,
                                          .rope_theta = 10000.0,
                                          .partial_rotary_factor = 1.0,
                                          .value_fraction = 1.0,
                                          .xpos_scale = ROPE_CONFIG_XPOS_SCALE,
                                          .norm_epsilon = 1e-5,
                                          .initializer_range = 0.02,
                                          .bias = true};
    encoding_options_default(config->options);
}

#define MEMBER(name) offsetof(struct transformer_config, name)

static const struct setting first_table[] = {
    {"position", SETTING_CHOICE, MEMBER(position), 0, 0, position_names, .help = "position encoding",
     .describe = custom_encoding_describe, .description = MEMBER(description),
     .stands_for = custom_encoding_value, .standing = shipped_encoding_names},
    {"architecture", SETTING_CHOICE, MEMBER(architecture), 0, 0, architecture_names,
     .help =
         "decoder; encoder_decoder for tasks with a source; encoder, in which all tokens see one another"},
    {"vocab_size", SETTING_INTEGER, MEMBER(vocab_size), 0, 1 << 24, NULL, .help = "tokens; 0: the task's"},
    {"source_vocab_size", SETTING_INTEGER, MEMBER(source_vocab_size), 0, 1 << 24, NULL,
     .help = "tokens of the encoder; 0: the task's"},
    {"hidden_size", SETTING_INTEGER, MEMBER(hidden_size), 1, 1 << 20, NULL,
     .help = "width of the residual stream"},
    {"num_hidden_layers", SETTING_INTEGER, MEMBER(num_hidden_layers), 1, 1024, NULL,
     .help = "blocks; of an encoder_decoder, those of the decoder"},
    {"num_encoder_layers", SETTING_INTEGER, MEMBER(num_encoder_layers), 0, 1024, NULL,
     .help = "blocks of the encoder; 0: num_hidden_layers"},
    {"num_attention_heads", SETTING_INTEGER, MEMBER(num_attention_heads), 1, TRANSFORMER_MAX_HEADS, NULL,
     .help = "query heads"},
    {"num_key_value_heads", SETTING_INTEGER, MEMBER(num_key_value_heads), 0, 1024, NULL,
     .help = "key-value heads; 0: num_attention_heads"},
    {"head_dim", SETTING_INTEGER, MEMBER(head_dim), 0, TRANSFORMER_MAX_HEAD_DIM, NULL,
     .help = "channels per head; 0: hidden_size / num_attention_heads"},
    {"intermediate_size", SETTING_INTEGER, MEMBER(intermediate_size), 0, 1 << 22, NULL,
     .help = "width of the feed-forward layer; 0: 4 hidden_size"},
    {"max_position_embeddings", SETTING_INTEGER, MEMBER(max_position_embeddings), 0, 1 << 24, NULL,
     .help = "longest sequence, tokens; 0: the task's"},
    {"randomized_positions", SETTING_INTEGER, MEMBER(randomized_positions), 0, 1 << 20, NULL,
     .help = "positions of which each sequence gets an ordered random subset; 0: positions count tokens"},
    {"hidden_act", SETTING_CHOICE, MEMBER(hidden_act), 0, 0, hidden_acts,
     .help = "activation of the feed-forward layer"},
    {"pairing", SETTING_CHOICE, MEMBER(pairing), 0, 0, pairings,
     .help = "which channels are rotated together"},
    {"norm", SETTING_CHOICE, MEMBER(norm), 0, 0, norms, .help = "normalisation"},
    {"norm_position", SETTING_CHOICE, MEMBER(norm_position), 0, 0, norm_positions,
     .help =
         "before each layer, after each residual sum, before each layer and on its output, or on its output"},
    {"parallel_residual", SETTING_CHOICE, MEMBER(parallel_residual), 0, 0, parallel_residuals,
     .help = "feed-forward reads what attention reads, through a norm of its own or the same"},
    {"query_key_norm", SETTING_CHOICE, MEMBER(query_key_norm), 0, 0, query_key_norms,
     .help = "norm of queries and keys: of each head, or of all heads together"},
    {"key_is_value", SETTING_CHOICE, MEMBER(key_is_value), 0, 0, keys_as_values,
     .help = "values of self-attention are its keys, without a projection of their own: true: rotated as the "
             "keys, with one cache for both, and rotated back where the output rotates (roper: DeepSeek-V4); "
             "unrotated: before their rotation"},
    {"attention_sinks", SETTING_BOOLEAN, MEMBER(attention_sinks), 0, 0, NULL,
     .help = "a learned logit of each head of self-attention in the softmax's denominator (gpt-oss)"},
    {"norm_epsilon", SETTING_REAL, MEMBER(norm_epsilon), 1e-12, 1.0, NULL, .help = "added to the variance"},
    {"initialisation", SETTING_CHOICE, MEMBER(initialisation), 0, 0, initialisations,
     .help = "pytorch: its defaults for Linear and Embedding; normal: GPT-2's; glorot; bert: normal too, "
             "with the "
             "same deviation in every matrix"},
    {"initializer_range", SETTING_REAL, MEMBER(initializer_range), 0.0, 10.0, NULL,
     .help = "standard deviation of normal initialisation"},
    {"rope_theta", SETTING_REAL, MEMBER(rope_theta), 1e-3, 1e12, NULL,
     .help = "base of the inverse frequencies"},
    {"partial_rotary_factor", SETTING_REAL, MEMBER(partial_rotary_factor), 0.0, 1.0, NULL,
     .help = "fraction of a head's query and key channels to rotate"},
    {"value_fraction", SETTING_REAL, MEMBER(value_fraction), 0.0, 1.0, NULL,
     .help = "fraction of a head's value channels to rotate (roper)"},
    {"rotate", SETTING_CHOICE, MEMBER(rotate), 0, 0, rotate_names, .chooses = true,
     .help = "what rotates, by letters in this order: queries, keys, values and, inversely, output. With "
             "qk, vo and qkvo attention depends on differences of positions alone, with others on positions "
             "themselves. position: what position says (rope: qk, roper: qkvo)"},
    {"rope_scaling", SETTING_OBJECT, MEMBER(rope_scaling), 0, 0, NULL,
     .help = "scaling of the rotation, as in config.json of transformers: {\"rope_type\":\"yarn\", ...}"},
    {"rope_parameters", SETTING_OBJECT, MEMBER(rope_parameters), 0, 0, NULL,
     .help = "all parameters of the rotation, once or for each layer type; null for a type: no rotation"},
    {"rope_sequence_length", SETTING_INTEGER, MEMBER(rope_sequence_length), 0, 1 << 24, NULL,
     .help = "tokens of the sequences for which scalings by length are (dynamic, longrope); 0: "
             "max_position_embeddings"},
    {"rope_local_base_freq", SETTING_REAL, MEMBER(rope_local_base_freq), 0.0, 1e12, NULL,
     .help = "base of layers of type sliding_attention; 0: that of all layers"},
    {"xpos_scale", SETTING_REAL, MEMBER(xpos_scale), 1e-3, 1e12, NULL,
     .help = "positions from one power of xpos's magnitudes to the next"},
    {"layer_types", SETTING_ARRAY, MEMBER(layer_types), 0, 0, NULL,
     .help = "full_attention or sliding_attention for each layer; null: all alike"},
    {"sliding_window", SETTING_INTEGER, MEMBER(sliding_window), 0, 1 << 24, NULL,
     .help = "last tokens that layers of type sliding_attention attend to (all layers without layer_types); "
             "0: no such layer"},
    {"query_pre_attn_scalar", SETTING_REAL, MEMBER(query_pre_attn_scalar), 0.0, 1e9, NULL,
     .help = "attention divides scores by its square root; 0: by that of head_dim"},
    {"attn_logit_softcapping", SETTING_REAL, MEMBER(attn_logit_softcapping), 0.0, 1e9, NULL,
     .help = "soft cap of attention's scores: c tanh(score / c); 0: none"},
    {"final_logit_softcapping", SETTING_REAL, MEMBER(final_logit_softcapping), 0.0, 1e9, NULL,
     .help = "soft cap of the logits; 0: none"},
    {"no_rope_layers", SETTING_ARRAY, MEMBER(no_rope_layers), 0, 0, NULL,
     .help = "1 or 0 for each layer: 0 does not rotate; null: all rotate"},
    {"cross_rotary", SETTING_BOOLEAN, MEMBER(cross_rotary), 0, 0, NULL,
     .help =
         "cross-attention rotates queries by their positions in the target, keys by theirs in the source"},
};

/* The keys of encodings come between. */
static const struct setting last_table[] = {
    {"dropout", SETTING_REAL, MEMBER(dropout), 0.0, 0.99, NULL,
     .help = "of the embedding and of every residual branch"},
    {"attention_dropout", SETTING_REAL, MEMBER(attention_dropout), 0.0, 0.99, NULL,
     .help = "of the weights by which attention sums values"},
    {"activation_dropout", SETTING_REAL, MEMBER(activation_dropout), 0.0, 0.99, NULL,
     .help = "of the activations of the feed-forward layer"},
    {"label_smoothing", SETTING_REAL, MEMBER(label_smoothing), 0.0, 0.99, NULL,
     .help = "of the loss whose gradient is followed; losses that are logged leave it out"},
    {"bias", SETTING_BOOLEAN, MEMBER(bias), 0, 0, NULL, .help = "biases in linear layers"},
    {"attention_bias", SETTING_CHOICE, MEMBER(attention_bias), 0, 0, projection_biases,
     .help = "biases of queries, keys and values; bias: as bias says"},
    {"attention_output_bias", SETTING_CHOICE, MEMBER(attention_output_bias), 0, 0, projection_biases,
     .help = "bias of attention's output projection"},
    {"mlp_bias", SETTING_CHOICE, MEMBER(mlp_bias), 0, 0, projection_biases,
     .help = "biases of the feed-forward layer"},
    {"output_bias", SETTING_CHOICE, MEMBER(output_bias), 0, 0, projection_biases,
     .help = "bias of the output projection"},
    {"tie_word_embeddings", SETTING_BOOLEAN, MEMBER(tie_word_embeddings), 0, 0, NULL,
     .help = "output projection shares the embedding's weights"},
    {"share_encoder_decoder_embeddings", SETTING_BOOLEAN, MEMBER(share_encoder_decoder_embeddings), 0, 0,
     NULL, .help = "encoder and decoder have one vocabulary and one embedding"},
    {"scale_embedding", SETTING_BOOLEAN, MEMBER(scale_embedding), 0, 0, NULL,
     .help = "multiply embeddings by the square root of hidden_size"},
    {"type_vocab_size", SETTING_INTEGER, MEMBER(type_vocab_size), 0, 1 << 16, NULL,
     .help = "token types with an embedding each, which is added to that of the token; 0: none"},
    {"embedding_norm", SETTING_BOOLEAN, MEMBER(embedding_norm), 0, 0, NULL,
     .help = "normalise the sum of embeddings, before its dropout"},
    {"output_transform", SETTING_BOOLEAN, MEMBER(output_transform), 0, 0, NULL,
     .help = "a linear layer, an activation and a norm before the output projection, as BERT has them"},
    {"num_labels", SETTING_INTEGER, MEMBER(num_labels), 0, 1 << 16, NULL,
     .help = "classes of a sequence, which an encoder then tells; 1: a number; 0: tokens"},
    {"classifier_activation", SETTING_CHOICE, MEMBER(classifier_activation), 0, 0, classifier_activations,
     .help = "activation of the linear layer before the classifier: tanh as BERT has it, gelu as RoFormer"},
    {"classifier_pooling", SETTING_CHOICE, MEMBER(classifier_pooling), 0, 0, classifier_poolings,
     .help = "what that layer reads: cls: the first token, as BERT; mean: the mean over the tokens"},
};

void transformer_settings(struct transformer_config *config, struct settings settings[TRANSFORMER_SETTINGS])
{
    settings[0] = (struct settings){first_table, sizeof first_table / sizeof *first_table, config};
    encoding_settings(config->options, settings + 1);
    settings[TRANSFORMER_SETTINGS - 1] =
        (struct settings){last_table, sizeof last_table / sizeof *last_table, config};
}

void transformer_config_copy(struct transformer_config *copy, const struct transformer_config *config)
{
    *copy = *config;
    struct settings settings[TRANSFORMER_SETTINGS];
    transformer_settings(copy, settings);
    settings_share(settings, TRANSFORMER_SETTINGS);
}

void transformer_config_free(struct transformer_config *config)
{
    struct settings settings[TRANSFORMER_SETTINGS];
    transformer_settings(config, settings);
    settings_free(settings, TRANSFORMER_SETTINGS);
}

bool transformer_has_bias(const struct transformer_config *config, int choice)
{
    return choice == PROJECTION_BIAS_AS_BIAS ? config->bias : choice == PROJECTION_BIAS_TRUE;
}

int64_t transformer_positions(const struct transformer_config *config)
{
    return config->randomized_positions > 0 ? config->randomized_positions : config->max_position_embeddings;
}

int64_t transformer_outputs(const struct transformer_config *config)
{
    return config->num_labels > 0 ? config->num_labels : config->vocab_size;
}

bool transformer_has_encoder(const struct transformer_config *config)
{
    return config->architecture == ARCHITECTURE_ENCODER_DECODER;
}

bool transformer_names_layer_type(const struct transformer_config *config, const char *type)
{
    const json_t *entry;
    size_t layer;
    json_array_foreach (config->layer_types, layer, entry)
        if (json_is_string(entry) && strcmp(json_string_value(entry), type) == 0)
            return true;
    return false;
}

bool transformer_is_gated(const struct transformer_config *config)
{
    return activation_is_gated((enum activation)config->hidden_act);
}
