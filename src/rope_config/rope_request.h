/* SPDX-License-Identifier: Apache-2.0
 *
 * What a caller of rope_config_parse asks for, and the defaults of a model family that it may supply.
 */
#ifndef ROTARY_ROPE_CONFIG_ROPE_REQUEST_H
#define ROTARY_ROPE_CONFIG_ROPE_REQUEST_H

#include "config/settings.h"

#include <jansson.h>
#include <rotary/rope.h>
#include <rotary/status.h>

/* Defaults of the models of one "model_type", for keys that config.json does not have. Members have the names
 * of those keys; 0 and NULL mean that the family has no default of its own. */
struct rope_family {
    int64_t head_dim;
    int64_t qk_rope_head_dim; /* of heads whose rotated channels are a vector of their own (MLA) */
    int64_t rotary_dim;
    double partial_rotary_factor;
    int64_t hidden_size, num_attention_heads;
    int64_t max_position_embeddings, original_max_position_embeddings;
    double rope_theta;
    int pairing, span, axes; /* indices into rope_config_pairings, rope_config_spans, rope_axes_names */
    /* Towers' tokens have the row and the column of a patch in an image as positions: how the two share a
     * head's pairs, index into rope_tower_names. 0: no tower. */
    int tower;
    int64_t embed_dim;     /* of towers whose hidden_size is not their own width */
    bool without_rotation; /* refused, unless config.json has a key that names a rotation */
    bool known;            /* the table of families has the type, with its rotation */
    bool rotates_values;   /* and outputs back */
    bool unit_scale;       /* its scores are not divided by the root of head_dim, nor by anything else */
    bool ntk_divides;      /* its "ntk" is vLLM's: base * factor, and frequencies / factor^(2 / d) */
    /* Its models rotate only where "position_embedding_type" says so. Those of other known types ignore that
     * key. */
    bool reads_position_embedding_type;
    /* Why no plan can have this rotation: what models of the type do, as in "rotates by time in seconds";
     * empty: one can. */
    char unsupported[SETTING_TEXT_BYTES];
    json_t *rope_parameters; /* an object, or one for each layer type */
    /* Keys that config.json must have, and those that it must not have; their values say what is wanted. */
    json_t *required, *refused;
};
void rope_family_free(struct rope_family *family);

/* Queries at position p are multiplied, unrotated channels too, by 1 + beta ln(1 + floor((p + offset) /
 * length)); beta 0: they are not. */
struct rope_query_scale {
    double beta, length, offset;
};

/* Dual chunk attention: a key at position n rotates by n mod length. A query at position p rotates by p mod
 * length for keys of its own chunk of `length` positions; by the smaller of that plus length and of `reach`
 * for those of the chunk before; and by the smaller of 2 length - 1 and `reach` for all before. Scores of a
 * sequence of N keys are multiplied by the square of max(1, 1 + 0.1 ln(N / original)), unless that is 0. */
struct rope_chunks {
    int64_t length, reach, original; /* length 0: none */
};

struct rope_config_request {
    const char *layer_type; /* the one to read; NULL: all layers have one rotation */
    /* The tensors say it; 0: not known. It is the default where the file has no head_dim, and decides whether
     * MLA's heads are meant with their unrotated channels or without. */
    int64_t head_dim;
    const char *const *ignored; /* unknown keys to accept, NULL-terminated; NULL: none */
    /* The caller multiplies queries by the scale of their position; otherwise a file that has one is refused. */
    bool scales_queries;
    bool attends;         /* the caller rotates by chunks; otherwise a file that has them is refused */
    bool unrotated;       /* of a layer without rotation: Llama 4 scales the queries of these alone */
    rotary_compat compat; /* whose reading of the keys is followed where readings differ */
    /* The object is the settings of a model of ours: layer_type names layers also where all have one
     * rotation, and messages do not speak of options. */
    bool of_settings;
    /* What messages call layer_type and ignored; NULL: "--layer-type" and "--ignore", as the program does. */
    const char *layer_type_option, *ignore_option;
    /* Gives the defaults of a model type, all 0 if it is not known; the reader frees them. NULL: there are
     * none. */
    rotary_status (*find_family)(const char *model_type, struct rope_family *family, rotary_error *error);
};

#endif
