/* SPDX-License-Identifier: Apache-2.0
 *
 * Checked values of JSON that comes from outside. A wrong one is ROTARY_BAD_FILE, with one message for all files:
 * where it is, its key, what was got and what was wanted.
 */
#ifndef ROTARY_CONFIG_JSON_FIELDS_H
#define ROTARY_CONFIG_JSON_FIELDS_H

#include <rotary/status.h>

#include <jansson.h>
#include <stdbool.h>

/* Where an object comes from, for messages. */
struct json_source {
    const char *path;
    int64_t line; /* from 1; 0: the file is one object */
    const char *what,
        *type; /* the part of the file, such as a normalizer, and its type; NULL: the file itself */
};

/* The value of a key; NULL if it is absent, and if it is null. */
const json_t *json_field_value(const json_t *object, const char *key);

/* "metrics.jsonl, line 3: "step" is -1, wanted ..."; value NULL: the key is missing. */
rotary_status json_field_fail(const struct json_source *source, const char *key, const json_t *value,
                              const char *wanted, rotary_error *error);

/* ---- values that may be absent: where `value` is NULL, the result stays as it is ---- */

enum json_range { JSON_ANY, JSON_NOT_NEGATIVE, JSON_POSITIVE };
ROTARY_CHECKED rotary_status json_field_real(const struct json_source *source, const char *key,
                                             const json_t *value, enum json_range range, double *real,
                                             rotary_error *error);
/* A whole number from `min` to 2^53; 4096.0 is one. */
ROTARY_CHECKED rotary_status json_field_integer(const struct json_source *source, const char *key,
                                                const json_t *value, int64_t min, int64_t *integer,
                                                rotary_error *error);
ROTARY_CHECKED rotary_status json_field_boolean(const struct json_source *source, const char *key,
                                                const json_t *value, bool *boolean, rotary_error *error);
/* The text belongs to the value. */
ROTARY_CHECKED rotary_status json_field_text(const struct json_source *source, const char *key,
                                             const json_t *value, const char **text, rotary_error *error);
/* The index of a text in the NULL-terminated `names`; the message lists them and suggests the nearest. */
ROTARY_CHECKED rotary_status json_field_choice(const struct json_source *source, const char *key,
                                               const json_t *value, const char *const *names, int *index,
                                               rotary_error *error);

/* ---- numbers that a program wrote, which must be there ---- */

/* A whole number from 0 to 2^53 - 1. */
ROTARY_CHECKED rotary_status json_field_count(const struct json_source *source, const json_t *object,
                                              const char *key, int64_t *count, rotary_error *error);
/* A number; null stands for NaN or infinity, which JSON cannot hold. */
ROTARY_CHECKED rotary_status json_field_measured(const struct json_source *source, const json_t *object,
                                                 const char *key, double *real, rotary_error *error);

#endif
