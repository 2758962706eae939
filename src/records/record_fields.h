/* SPDX-License-Identifier: Apache-2.0
 *
 * Fields of the JSON files that a run's folder has, with one message for what is wrong in them.
 */
#ifndef ROTARY_RECORDS_RECORD_FIELDS_H
#define ROTARY_RECORDS_RECORD_FIELDS_H

#include <rotary/status.h>

#include <jansson.h>

/* Where an object comes from. */
struct record_source {
    const char *path;
    int64_t line; /* from 1; 0: the file is one object */
};

/* ROTARY_BAD_FILE: "metrics.jsonl, line 3: "step" is -1, wanted ..."; value NULL: the key is missing. */
rotary_status record_field_fail(const struct record_source *source, const char *key, const json_t *value,
                                const char *wanted, rotary_error *error);
/* A whole number from 0 to 2^53 - 1. */
ROTARY_CHECKED rotary_status record_field_count(const struct record_source *source, const json_t *object,
                                                const char *key, int64_t *count, rotary_error *error);
/* null stands for NaN or infinity, which JSON cannot hold. */
ROTARY_CHECKED rotary_status record_field_real(const struct record_source *source, const json_t *object,
                                               const char *key, double *real, rotary_error *error);

#endif
