/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the rotation that a model's config.json describes, as Hugging Face writes it: rope_theta and
 * rope_scaling beside the sizes of the heads, or all of it in rope_parameters, once or for each layer type.
 * These keys are rotary's own:
 *
 *     "pairing": "half" | "interleaved"      "span": "front" | "back"
 *     "angles": "f64" | "f32"                "tables": "f32" | "f16" | "bf16"
 *     "axes": "sections" | "interleaved" | "separate", with "mrope_section"
 *     "inverse_frequencies", "pair_factors": [number, ...]       "xpos_scale", "xpos_origin": number
 */
#ifndef ROTARY_FILE_ROPE_CONFIG_H
#define ROTARY_FILE_ROPE_CONFIG_H

#include "file/settings.h"

#include <jansson.h>
#include <rotary/rope.h>

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
    int pairing, span, axes; /* indices into rope_config_pairings, rope_config_spans, rope_config_axes */
    bool without_rotation;   /* refused, unless config.json has a key that names a rotation */
    /* Why no plan can have this rotation: what models of the type do, as in "rotates by time in seconds";
     * empty: one can. */
    char unsupported[SETTING_TEXT_BYTES];
    json_t *rope_parameters; /* an object, or one for each layer type */
    /* Keys that config.json must have, and those that it must not have; their values say what is wanted. */
    json_t *required, *refused;
};
void rope_family_free(struct rope_family *family);

struct rope_config_request {
    const char *layer_type; /* the one to read; NULL: all layers have one rotation */
    /* Of the tensors; 0: not known. It is the default where the file has no head_dim, and decides whether
     * MLA's heads are meant with their unrotated channels or without. */
    int64_t head_dim;
    const char *const *ignored; /* unknown keys to accept, NULL-terminated; NULL: none */
    /* Gives the defaults of a model type, all 0 if it is not known; the reader frees them. NULL: there are
     * none. */
    rotary_status (*find_family)(const char *model_type, struct rope_family *family, rotary_error *error);
};

struct rope_config {
    rotary_rope_config plan; /* its lists point into `numbers` */
    /* Where the pairing is from: the key "pairing", a key of the model's own such as "rope_interleave",
     * "model_type" where it is the family's default, or "default". */
    const char *pairing_from;
    const char *rope_type;          /* of the scaling, as Hugging Face spells it now: "default", "yarn" */
    int64_t query_heads, key_heads; /* of a layer; 0: the file does not say */
    bool rope_part_only; /* plan.head_dim is qk_rope_head_dim: heads have qk_nope_head_dim channels before it
                          */
    double *numbers;
};

/* The names of rope_type, NULL-terminated, without the old spellings, which are read too. */
extern const char *const rope_config_types[];
/* Values of "pairing" (of rotary_pairing), "span" and "axes", NULL-terminated. */
extern const char *const rope_config_pairings[];
extern const char *const rope_config_spans[];
extern const char *const rope_config_axes[];

/* Refuses a key that may change the angles and is neither known nor ignored: any key of the rotation's
 * parameters, and keys of the model with a word that begins with "rope" or "rotary".
 *
 * A wrong file is ROTARY_BAD_FILE, or the error of reading it; the message names file, key, what was got and
 * what was wanted. Threads, instruction set, compat and sequence_length are the caller's to set.
 * rope_config_free frees what a success allocated. */
ROTARY_CHECKED rotary_status rope_config_read(const char *path, const struct rope_config_request *request,
                                              struct rope_config *config, rotary_error *error);
/* Reads a JSON object in the same way; `where` names it in messages. */
ROTARY_CHECKED rotary_status rope_config_parse(const json_t *object, const char *where,
                                               const struct rope_config_request *request,
                                               struct rope_config *config, rotary_error *error);
void rope_config_free(struct rope_config *config);

#endif
