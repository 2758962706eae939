/* SPDX-License-Identifier: Apache-2.0
 *
 * What models take where their configuration is silent. tests/golden/make_rope_models.py writes the tables
 * from the classes of transformers.
 */
#ifndef ROTARY_FILE_ROPE_MODELS_H
#define ROTARY_FILE_ROPE_MODELS_H

#include <stdbool.h>
#include <stdint.h>

/* 0, NULL and false: what all others take. */
struct rope_model {
    const char *type;       /* "model_type" */
    const char *why_not;    /* its rotation is none of a plan's: what it does, as in "it turns backwards" */
    const char *parameters; /* JSON, as of rope_parameters: an object, or one for each type of layer */
    int64_t head_dim;
    int64_t rope_head_dim; /* of heads whose turning part is a vector of its own */
    int64_t rotated;       /* channels of a head that turn; or a share of it: */
    double fraction;
    int64_t width, heads, positions;
    int64_t original; /* positions before scaling; they follow the file's where this is none */
    double base;
    bool interleaved; /* pairs neighbours */
    bool back;        /* the last channels turn */
    bool in_turn;     /* axes take pairs in turn */
};

extern const struct rope_model rope_models[];   /* a NULL type ends it */
extern const char *const rope_models_without[]; /* types that turn nothing, NULL-terminated */

#endif
