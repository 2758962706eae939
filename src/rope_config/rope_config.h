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
 *
 * A model trained here says its "position". That of xpos has xPos, with its origin in the middle of
 * max_position_embeddings unless there is another; beside other positions the model's xpos_scale is not read.
 */
#ifndef ROTARY_ROPE_CONFIG_ROPE_CONFIG_H
#define ROTARY_ROPE_CONFIG_ROPE_CONFIG_H

#include "rope_config/rope_request.h"

#include <rotary/rope.h>

/* The scale of xPos (Sun et al. 2022), where a model has xPos and its file does not say. */
#define ROPE_CONFIG_XPOS_SCALE 512.0

/* What a model does with values: RoFormer with "rotary_value" rotates them, DeepSeek-V4 outputs back too. */
enum rope_values { ROPE_VALUES_STAY, ROPE_VALUES_ROTATE, ROPE_VALUES_AND_OUTPUTS };

struct rope_config {
    rotary_rope_config plan; /* its lists point into `numbers` */
    /* Where the pairing is from: the key "pairing", a key of the model's own such as "rope_interleave",
     * "model_type" where it is the family's default, or "default". */
    const char *pairing_from;
    const char *rope_type;          /* of the scaling, as Hugging Face spells it now: "default", "yarn" */
    int64_t query_heads, key_heads; /* of a layer; 0: the file does not say */
    struct rope_query_scale query_scale; /* it is not in the plan */
    struct rope_chunks chunks;           /* nor are these */
    /* Of MLA's heads: scores are divided by its root, and multiplied by rotary_rope_softmax_factor; 0: as
     * tensors have. */
    int64_t score_channels;
    bool unit_scale; /* scores are products as they are (Gemma 4) */
    enum rope_values values;
    char unknown_type
        [64]; /* "model_type", of which nothing is known: general defaults stand for its own; or empty */
    bool rope_part_only; /* plan.head_dim is qk_rope_head_dim: heads have qk_nope_head_dim channels before it
                          */
    double *numbers;
};

/* The names of rope_type, NULL-terminated, without the old spellings, which are read too. */
extern const char *const rope_config_types[];
/* Values of "pairing" (of rotary_pairing) and "span", NULL-terminated. */
extern const char *const rope_config_pairings[];
extern const char *const rope_config_spans[];

/* The channels of a head that a partial_rotary_factor rotates: the product, rounded down as transformers
 * does. (Where rounding leaves the product just below an even number, it is that number: 0.58 * 100 is 58.)
 */
int64_t rope_config_channels(int64_t head_dim, double fraction);

/* Reads the JSON object of a file that `where` names in messages. Refuses a key that may change the angles and is
 * neither known nor ignored: any key of the rotation's parameters, and keys of the model with a word that begins
 * with "rope" or "rotary".
 *
 * A wrong object is ROTARY_BAD_FILE; the message names file, key, what was got and what was wanted. Threads,
 * instruction set and compat (that of the request) are the caller's to set, and sequence_length unless it is
 * that of a "rope_sequence_length". rope_config_free frees what a success allocated. */
ROTARY_CHECKED rotary_status rope_config_parse(const json_t *object, const char *where,
                                               const struct rope_config_request *request,
                                               struct rope_config *config, rotary_error *error);
void rope_config_free(struct rope_config *config);

#endif
