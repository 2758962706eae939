/* SPDX-License-Identifier: Apache-2.0
 *
 * Values of a configuration, for rope_config.c: each is checked as it is read, and what is wrong is said with
 * file, key, what was got and what was wanted.
 */
#ifndef ROTARY_FILE_ROPE_READER_H
#define ROTARY_FILE_ROPE_READER_H

#include "file/rope_models.h"

#include <jansson.h>
#include <rotary/status.h>

/* A file being read. `top` holds the sizes of the model, `rope` the parameters of the rotation: an object
 * within, the same object if the parameters stand beside the sizes, or NULL if there are none. */
struct rope_reader {
    const char *where;
    const json_t *root, *text_config, *parameters; /* the file; see above */
    const char *parameters_key;                    /* where `rope` was found */
    const char *model_type;                        /* "model_type"; may be NULL */
    const struct rope_family *family;              /* what it takes where the file is silent */
    const char *layer_type;                        /* that was asked for, or NULL */
    const char *const *ignored;                    /* keys let pass, NULL-terminated; NULL: none */
    const json_t *defaults; /* model->parameters; then those of the type of layer; NULL: none */
    double default_base, default_fraction; /* which they have; 0: none */
    int64_t default_head_dim;
    bool has_local_base; /* the layers that are meant may have a base of their own */
    bool without_mla;    /* its heads are not of two parts, though those of its type are */
    rotary_error *error;
};

/* NULL if absent, and if null, which is how Hugging Face writes what is not used. */
const json_t *rope_reader_value(const json_t *object, const char *key);
/* Among the rotation's parameters if it is there, or else beside the sizes. */
const json_t *rope_reader_find(const struct rope_reader *reader, const char *key);

/* WHERE: "key" is GOT, wanted WANTED */
rotary_status rope_reader_refuse(const struct rope_reader *reader, const char *key, const json_t *got,
                                 const char *wanted);
/* WHERE has no "key", which WHY wants */
rotary_status rope_reader_refuse_absent(const struct rope_reader *reader, const char *key, const char *why);

/* `value` as a number; where it is NULL, the number stays as it is. `key` is for the sentence. What is wrong
 * is ROTARY_BAD_FILE. The others read likewise. */
enum rope_reader_range { ROPE_READER_ANY, ROPE_READER_NOT_NEGATIVE, ROPE_READER_POSITIVE };
ROTARY_CHECKED rotary_status rope_reader_real(const struct rope_reader *reader, const char *key,
                                              const json_t *value, enum rope_reader_range range,
                                              double *real);
/* A whole number from `least` up to 2^53; 4096.0 is one. */
ROTARY_CHECKED rotary_status rope_reader_integer(const struct rope_reader *reader, const char *key,
                                                 const json_t *value, int64_t min, int64_t *integer);
ROTARY_CHECKED rotary_status rope_reader_boolean(const struct rope_reader *reader, const char *key,
                                                 const json_t *value, bool *boolean);
/* The index of the text in the NULL-terminated `names`; the sentence lists them and suggests the nearest. */
ROTARY_CHECKED rotary_status rope_reader_choice(const struct rope_reader *reader, const char *key,
                                                const json_t *value, const char *const *names, int *index);

#endif
