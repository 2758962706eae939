/* SPDX-License-Identifier: Apache-2.0
 *
 * Which model of Hugging Face and of llama.cpp a model of ours is, and how these write it:
 * export_families.json, which the build embeds. An entry of its "families" has
 *
 * - "model_type", "architecture": as config.json has them
 * - "like": another entry, whose members it has too, unless it has them itself
 * - "wanted": facts of the model, and the values that they may have; "$fact" is the value of another fact,
 * and null wants nothing
 * - "config": config.json, where "$fact" stands for a fact; null removes what is inherited
 * - "scaling": the one rope_type beside "default" that there is
 * - "rotations": "by_layer_type" if layers with a sliding window may have another rotation than the others
 * - "gguf": the same of GGUF: "architecture", "wanted", "pairing", "metadata"; "tensors", modules of ours and
 * the names of theirs, a list where ours is fused; and "factors", the tensors of factors of frequencies;
 * null: llama.cpp has no such model; a text: nor is one of these written, and why
 *
 * Tensors of transformers have the names that huggingface/decoder_family.h has for reading.
 *
 * Facts are the keys of the model's configuration, its biases resolved to true and false, and what
 * export_family.c derives of them. A key that is neither wanted, nor in "config", nor in "ignored" must have
 * its default: so a key that the table has never heard of is refused, not lost.
 */
#ifndef ROTARY_HUGGINGFACE_EXPORT_FAMILY_H
#define ROTARY_HUGGINGFACE_EXPORT_FAMILY_H

#include "model/transformer_config.h"

enum export_format { EXPORT_HUGGINGFACE, EXPORT_GGUF };
extern const char *const export_format_names[]; /* NULL-terminated, in the order of export_format */

struct export_family {
    json_t *facts;
    json_t *entry; /* with what it has of others */
    /* They are of the entry, or of its "gguf", borrowed. */
    const json_t *form;        /* "architecture", "tensors" */
    const json_t *description; /* config.json or metadata, where "$fact" stands for a fact */
};

/* Finds the family of a checked configuration. ROTARY_UNSUPPORTED if the format has no such model: the
 * message begins with `where` and names a key, its value, what is wanted and why. export_family_free frees
 * what a success allocated. */
ROTARY_CHECKED rotary_status export_family_find(struct export_family *family,
                                                const struct transformer_config *config,
                                                enum export_format format, const char *where,
                                                rotary_error *error);
void export_family_free(struct export_family *family);

/* Whether layers have a sliding window. */
bool export_family_windowed(const struct transformer_config *config);
/* A text of the format: "model_type", "architecture", "pairing"; "" if there is none. */
const char *export_family_text(const struct export_family *family, const char *key);
/* A new object with the members of the description, facts in the places of their names, which the caller
 * owns. `prefix` stands before the keys. */
json_t *export_family_describe(const struct export_family *family, const char *prefix);

extern const char export_families_json[]; /* the text of export_families.json */

#endif
