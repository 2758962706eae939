/* SPDX-License-Identifier: Apache-2.0
 *
 * The rotation a model's config.json describes, as Hugging Face writes it: rope_theta and rope_scaling beside
 * the sizes of the heads, or all of it in rope_parameters, once or for each type of layer. Keys of our own
 * stand beside:
 *
 *     "pairing": "half" | "interleaved"      "span": "front" | "back"
 *     "angles": "f64" | "f32"                "tables": "f32" | "f16" | "bf16"
 *     "axes": "sections" | "interleaved" | "separate", with "mrope_section"
 *     "inverse_frequencies", "pair_factors": [number, ...]       "xpos_scale", "xpos_origin": number
 */
#ifndef ROTARY_FILE_ROPE_CONFIG_H
#define ROTARY_FILE_ROPE_CONFIG_H

#include <jansson.h>
#include <rotary/rope.h>

struct rope_config_request {
    const char *layer_type; /* of the layers that are meant; NULL: the model has but one kind */
    /* Of the tensors, 0: not known. It is taken where the file says nothing, and tells whole heads of two
     * parts from those parts that turn. */
    int64_t head_dim;
    const char *const *ignored; /* keys let pass though they are not known, NULL-terminated; NULL: none */
};

struct rope_config {
    rotary_rope_config plan; /* its lists lie in `numbers` */
    /* Where the pairing is from: "pairing", a switch of the model's such as "rope_interleave", "model_type"
     * where models of that type are known to pair neighbours, or "default". */
    const char *pairing_from;
    const char *rope_type;          /* the scaling's name, as Hugging Face has it now: "default", "yarn" */
    int64_t query_heads, key_heads; /* of a layer; 0: the file does not say */
    bool part; /* the plan's head is the part of a head that turns, before which another stands */
    double *numbers;
};

/* The names of rope_type, NULL-terminated; those of old spellings are read too, and not listed. */
extern const char *const rope_config_types[];
extern const char *const rope_config_pairings[]; /* of rotary_pairing, NULL-terminated */

/* A key among the rotation's parameters, or one beside them with a word that begins with "rope" or "rotary",
 * may change the angles: one that is neither read nor known not to is refused, unless it is among those to
 * ignore. Where the file is silent, what the class of its "model_type" takes is taken.
 *
 * What is wrong is ROTARY_BAD_FILE, or the error of reading the file, and names file, key, what was got and
 * what was wanted. Threads, instruction set, compat and sequence_length are the caller's to set.
 * rope_config_free gives back what a success took. */
ROTARY_CHECKED rotary_status rope_config_read(const char *path, const struct rope_config_request *request,
                                              struct rope_config *config, rotary_error *error);
/* As above, of an object that was read; `where` names it in sentences. */
ROTARY_CHECKED rotary_status rope_config_parse(const json_t *object, const char *where,
                                               const struct rope_config_request *request,
                                               struct rope_config *config, rotary_error *error);
void rope_config_free(struct rope_config *config);

#endif
