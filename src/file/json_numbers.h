/* SPDX-License-Identifier: Apache-2.0
 *
 * JSON of other programs, whose numbers may be no numbers of C: integers beyond 64 bits, reals beyond double,
 * and NaN, Infinity and -Infinity, which Python writes and reads. A file is not refused for those in fields
 * that nobody asks for; a reader that does ask refuses the value, which is neither a number nor a text.
 */
#ifndef ROTARY_FILE_JSON_NUMBERS_H
#define ROTARY_FILE_JSON_NUMBERS_H

#include <jansson.h>
#include <stdbool.h>

/* Parses `count` bytes as json_loadb does. What is no double becomes {"__float__": its text}, as transformers
 * writes infinities; a whole number beyond int64 becomes a real number, or with `exact`
 * {"__integer__": its digits}. Columns of a wrong text may be those of the replaced one. */
json_t *json_numbers_load(const char *text, size_t count, size_t flags, bool exact, json_error_t *wrong);

/* The text of a number that became an object; NULL: it is none. */
const char *json_numbers_integer(const json_t *value);
const char *json_numbers_float(const json_t *value);

#endif
