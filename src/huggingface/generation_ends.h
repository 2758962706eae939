/* SPDX-License-Identifier: Apache-2.0
 *
 * The tokens that end a text which a model in Hugging Face's format generates: "eos_token_id", a number or a
 * list, of generation_config.json, or else of config.json. Where the first is there, it decides alone, as in
 * generate() of transformers.
 */
#ifndef ROTARY_HUGGINGFACE_GENERATION_ENDS_H
#define ROTARY_HUGGINGFACE_GENERATION_ENDS_H

#include <rotary/status.h>

struct generation_ends {
    int32_t *tokens; /* [count] */
    int count;
    bool said;      /* by one of the files: else a tokenizer may say */
    bool none_said; /* generation_config.json is there, and names none */
};

/* Reads the files of the folder, which may lack both. ROTARY_BAD_FILE if the key is neither a whole number,
 * nor a list of some, nor null. A negative number is no token, and ends nothing. */
ROTARY_CHECKED rotary_status generation_ends_read(struct generation_ends *ends, const char *folder,
                                                  rotary_error *error);
void generation_ends_free(struct generation_ends *ends); /* a zeroed one too */

#endif
