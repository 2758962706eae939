/* SPDX-License-Identifier: Apache-2.0
 *
 * The config.json of BERT (Devlin et al., 2019) and RoFormer (Su et al., 2021), as transformers writes it.
 */
#ifndef ROTARY_HUGGINGFACE_ENCODER_CONFIG_H
#define ROTARY_HUGGINGFACE_ENCODER_CONFIG_H

#include "model/transformer_config.h"

enum encoder_family { ENCODER_BERT, ENCODER_ROFORMER };
enum encoder_head { ENCODER_TOKENS, ENCODER_LABELS }; /* what is predicted: masked tokens, or a label */

/* Members are the keys of config.json, with the defaults of transformers. */
struct encoder_config {
    int family; /* model_type */
    enum encoder_head head;
    int64_t labels; /* entries of id2label, if the head predicts a label; 1: a number */
    int64_t vocab_size, hidden_size, embedding_size, num_hidden_layers, num_attention_heads,
        intermediate_size, max_position_embeddings, type_vocab_size;
    int hidden_act;
    double hidden_dropout_prob, attention_probs_dropout_prob, layer_norm_eps, initializer_range;
    bool tie_word_embeddings, rotary_value, is_decoder, add_cross_attention;
    int position_embedding_type, problem_type;
};

/* Whether a config.json has the model type of such an encoder. */
bool encoder_config_is(const json_t *object);
/* Reads the object, which was read from `path`. ROTARY_BAD_FILE names the key of what is out of range, or
 * what no model of this program computes. Keys that say nothing of what the model computes are ignored.
 * Without a head for labels in "architectures" the head is ENCODER_TOKENS, be it there or not. */
ROTARY_CHECKED rotary_status encoder_config_read(struct encoder_config *config, const json_t *object,
                                                 const char *path, rotary_error *error);
/* Describes the same model as this program configures it. */
void encoder_config_model(const struct encoder_config *config, struct transformer_config *model);

#endif
