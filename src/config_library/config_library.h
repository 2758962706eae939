/* SPDX-License-Identifier: Apache-2.0
 *
 * librotary_config: the rotation that a config.json describes, for bindings of other languages. librotary itself has no
 * reader, because it needs nothing but libm and threads. The Python package has this library beside its own
 * librotary.so, and both are of one build: it is not installed elsewhere and promises no ABI.
 */
#ifndef ROTARY_CONFIG_LIBRARY_CONFIG_LIBRARY_H
#define ROTARY_CONFIG_LIBRARY_CONFIG_LIBRARY_H

#include <rotary/rope.h>
#include <rotary/status.h>

/* What is to be read. Messages call layer_type and ignored by these names. */
typedef struct rotary_config_source {
    const char *name; /* of the file, for messages */
    const char *text; /* its content, a JSON object of `bytes` bytes */
    size_t bytes;
    const char *layer_type;     /* whose rotation; NULL: all layers have one */
    const char *const *ignored; /* keys to read as if they were not there, NULL-terminated; NULL: none */
    rotary_compat compat;       /* whose reading of the keys is followed where readings differ */
} rotary_config_source;

typedef struct rotary_config_rotation rotary_config_rotation;

/* Reads a rotation; the caller destroys it with rotary_config_rotation_destroy. *rotation is written on success only.
 * Errors: ROTARY_BAD_FILE for a content that is no rotation or one that no plan can have, whose message says file, key,
 * what was got and what was wanted; ROTARY_OUT_OF_MEMORY. */
ROTARY_API ROTARY_CHECKED rotary_status rotary_config_rotation_create(rotary_config_rotation **rotation,
                                                                      const rotary_config_source *source,
                                                                      rotary_error *error);
ROTARY_API void rotary_config_rotation_destroy(rotary_config_rotation *rotation); /* NULL is allowed */

/* The configuration of the plan, but for compat, threads and instruction set. It belongs to the rotation, and so do its
 * lists. */
ROTARY_API const rotary_rope_config *rotary_config_rotation_plan(const rotary_config_rotation *rotation);
/* The file's "model_type" if it is one of which nothing is known, so that general defaults stand for its own; else "".
 */
ROTARY_API const char *rotary_config_rotation_unknown_type(const rotary_config_rotation *rotation);

#endif
