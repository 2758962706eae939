/* SPDX-License-Identifier: Apache-2.0
 *
 * The configuration of a transformer.
 */
#ifndef ROTARY_MODEL_TRANSFORMER_CONFIG_H
#define ROTARY_MODEL_TRANSFORMER_CONFIG_H

#include "layer/encoding/encoding.h"

enum { TRANSFORMER_MAX_HEAD_DIM = 1024, TRANSFORMER_MAX_HEADS = 1024 };

enum architecture {
    ARCHITECTURE_DECODER,         /* one causal stack */
    ARCHITECTURE_ENCODER_DECODER, /* an encoder, and a decoder that attends to its output */
    ARCHITECTURE_ENCODER          /* one stack in which every token sees all others (BERT) */
};
extern const char *const architecture_names[]; /* NULL-terminated, in the order of enum architecture */
enum norm_position {
    NORM_POSITION_PRE,    /* of what a sublayer reads (GPT-2) */
    NORM_POSITION_POST,   /* of each residual sum (Vaswani et al. 2017) */
    NORM_POSITION_BOTH,   /* of what a sublayer reads and of its output (Gemma 2) */
    NORM_POSITION_OUTPUT, /* of its output (OLMo 2) */
    NORM_POSITION_NONE    /* only the last norm */
};
/* Of the layer before a classifier. */
enum classifier_activation { CLASSIFIER_TANH, CLASSIFIER_GELU, CLASSIFIER_RELU };
/* What that layer reads of a sequence. */
enum classifier_pooling {
    POOLING_CLS, /* its first token (BERT) */
    POOLING_MEAN /* the mean over its tokens (Reimers & Gurevych 2019) */
};
/* Whether feed-forward reads the stream that attention reads. */
enum parallel_residual {
    PARALLEL_RESIDUAL_NO,
    PARALLEL_RESIDUAL_TWO_NORMS, /* each through a norm of its own (GPT-NeoX) */
    PARALLEL_RESIDUAL_ONE_NORM   /* both through one (Phi) */
};
/* Whether a projection has a bias. */
enum projection_bias { PROJECTION_BIAS_AS_BIAS, PROJECTION_BIAS_TRUE, PROJECTION_BIAS_FALSE };

/* Keys are Hugging Face's where it has one; transformer_settings() lists each with its range. */
struct transformer_config {
    int64_t vocab_size, hidden_size, num_hidden_layers, num_attention_heads, num_key_value_heads, head_dim,
        intermediate_size, max_position_embeddings;
    /* Of encoder-decoders. num_hidden_layers counts the decoder's layers; 0 encoder layers are as many. */
    int architecture; /* enum architecture */
    int64_t num_encoder_layers, source_vocab_size;
    bool share_encoder_decoder_embeddings; /* the source reads the target's table */
    bool cross_rotary; /* cross-attention rotates queries and keys by their positions in target and source */
    int hidden_act;    /* relu, gelu, swiglu, gelu_tanh, geglu_tanh: enum activation */
    int position;      /* enum position: layer/encoding/encoding.h */
    struct setting_description
        *description;  /* of POSITION_CUSTOM: model/encoding/custom_encoding.h; else NULL */
    int rotate;        /* a sum of rotary_attention_rotate; 0: what the encoding rotates */
    int pairing;       /* half, interleaved */
    int norm;          /* layer_norm, rms_norm */
    int norm_position; /* enum norm_position */
    int parallel_residual;
    int query_key_norm;   /* none, head, all: enum query_key_norm */
    int key_is_value;     /* of self-attention: enum key_is_value (layer/sublayer.h) */
    bool attention_sinks; /* of self-attention: layer/sublayer.h */
    int initialisation;   /* pytorch, normal, glorot: enum initial_kind */
    double rope_theta, partial_rotary_factor, value_fraction, norm_epsilon, dropout, attention_dropout,
        activation_dropout, initializer_range, label_smoothing;
    bool bias, tie_word_embeddings, scale_embedding;
    int64_t type_vocab_size; /* token types, which batches have as segments; 0: none */
    bool embedding_norm;     /* of the sum of embeddings, before its dropout */
    bool output_transform;   /* layer/output_transform.h */
    /* Of a classifier, which is an encoder: outputs for each sequence, 1 of them for a number that is
     * predicted; 0: outputs are tokens. */
    int64_t num_labels;
    int classifier_activation;                                        /* enum classifier_activation */
    int classifier_pooling;                                           /* enum classifier_pooling */
    int attention_bias, attention_output_bias, mlp_bias, output_bias; /* enum projection_bias */
    /* The rotation beyond rope_theta, and what differs between layers, as Hugging Face writes them
     * (model/encoding/rotation_config.h, model/encoding/attention_plans.h). Owned, and never
     * changed; NULL: null. */
    json_t *rope_scaling;         /* {"rope_type": ..., "factor": ..., ...} */
    json_t *rope_parameters;      /* likewise, with rope_theta, once or by layer type */
    json_t *layer_types;          /* [layers] "full_attention" or "sliding_attention" */
    json_t *no_rope_layers;       /* [layers] 1: rotated, 0: not */
    double rope_local_base_freq;  /* base of sliding_attention; 0: rope_theta */
    double xpos_scale;            /* of the magnitudes of xpos, in positions */
    int64_t randomized_positions; /* those that tokens get a random subset of; 0: 0, 1, 2, ... */
    double query_pre_attn_scalar; /* scores are divided by its square root; 0: by that of head_dim */
    double attn_logit_softcapping, final_logit_softcapping; /* of scores, of logits (Gemma 2); 0: none */
    int64_t rope_sequence_length; /* for scalings by length (dynamic, longrope); 0: max_position_embeddings */
    int64_t sliding_window;       /* keys that a query of sliding_attention sees; 0: no such layer */
    union encoding_options options[POSITIONS]; /* of encodings: layer/encoding/encoding.h */
};

void transformer_config_default(struct transformer_config *config);
/* Copies a configuration, which transformer_config_free frees. One that was made by assignment borrows what
 * the other owns. */
void transformer_config_copy(struct transformer_config *copy, const struct transformer_config *config);
void transformer_config_free(struct transformer_config *config);
/* Frees a local configuration where its scope ends. */
#define TRANSFORMER_CONFIG_LOCAL __attribute__((cleanup(transformer_config_free)))
/* The settings tables of `config`: the model's own, with those of the encodings in the middle. */
enum { TRANSFORMER_SETTINGS = POSITIONS + 2 };
void transformer_settings(struct transformer_config *config, struct settings settings[TRANSFORMER_SETTINGS]);
/* The number of positions, all of which tables have. */
int64_t transformer_positions(const struct transformer_config *config);
/* Whether a projection has a bias: `choice` is a member of type enum projection_bias. */
bool transformer_has_bias(const struct transformer_config *config, int choice);
/* Whether the model is an encoder-decoder, which reads a source. */
bool transformer_has_encoder(const struct transformer_config *config);
/* Outputs: classes of a token, or of a sequence. */
int64_t transformer_outputs(const struct transformer_config *config);
/* Whether layer_types, which may be missing, has the type for any layer. */
bool transformer_names_layer_type(const struct transformer_config *config, const char *type);
/* Whether the feed-forward layer has a gate (swiglu). */
bool transformer_is_gated(const struct transformer_config *config);

#endif
