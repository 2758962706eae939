/* SPDX-License-Identifier: Apache-2.0
 *
 * Parts of a tokenizer.json: objects with a "type", lists of such objects, and their keys. Every failure is
 * ROTARY_BAD_FILE and names the file, what was read and what was wanted.
 */
#ifndef ROTARY_TEXT_TOKENIZER_JSON_JSON_PART_H
#define ROTARY_TEXT_TOKENIZER_JSON_JSON_PART_H

#include "text/tokenizer_json/pattern.h"

#include <jansson.h>

/* A part, and what messages call it: "normalizer". */
struct json_part {
    const json_t *object;
    const char *what, *path;
};

/* The "type" of a part, or "" if it has none. */
const char *json_part_type(const struct json_part *part);
/* The type of a tokenizer.json's "model": "BPE", "Unigram", "WordLevel", "WordPiece" or what the file says.
 * Where it says none, as in files of earlier versions of the library, its keys tell; "" if they do not. */
const char *json_model_type(const json_t *model);
/* That a part's type is not supported. */
ROTARY_CHECKED rotary_status json_part_refuse(const struct json_part *part, rotary_error *error);
/* That a key's value is invalid, or not supported; `wanted` is what would be. */
ROTARY_CHECKED rotary_status json_part_fail(const struct json_part *part, const char *key, const char *wanted,
                                            rotary_error *error);

/* A boolean key; where it is missing or null, *value stays. */
ROTARY_CHECKED rotary_status json_part_flag(const struct json_part *part, const char *key, bool *value,
                                            rotary_error *error);
/* A text, which belongs to the object. Where it is missing or null, *value stays, if `optional`. */
ROTARY_CHECKED rotary_status json_part_text(const struct json_part *part, const char *key, bool optional,
                                            const char **value, rotary_error *error);
/* The "pattern" of a part: {"String": text} or {"Regex": text}; the other one is NULL. */
ROTARY_CHECKED rotary_status json_part_pattern(const struct json_part *part, const char **literal,
                                               const char **expression, rotary_error *error);

/* pattern_create of a part's regular expression. */
ROTARY_CHECKED rotary_status json_part_compile(const struct json_part *part, struct pattern **pattern,
                                               const char *expression, rotary_error *error);

/* Calls read(context, part) for a part, or for each of its parts if its type is "Sequence", and theirs; `key`
 * is the name of a sequence's list. For none if the object is NULL or null. More than JSON_PARTS_MAX of them
 * are ROTARY_BAD_FILE, as are sequences within sequences beyond a few. */
enum { JSON_PARTS_MAX = 32 };
typedef rotary_status json_part_read(void *context, const struct json_part *part, rotary_error *error);
ROTARY_CHECKED rotary_status json_part_each(const struct json_part *part, const char *key,
                                            json_part_read *read, void *context, rotary_error *error);

#endif
