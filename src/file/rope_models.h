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
struct rope_family {
    const char *type;        /* "model_type" */
    const char *unsupported; /* its rotation is none of a plan's: what it does, as in "it turns backwards" */
    const char *parameters;  /* JSON, as of rope_parameters: an object, or one for each type of layer */
    int64_t head_dim;
    int64_t qk_rope_head_dim; /* of heads whose turning part is a vector of its own */
    int64_t rotary_dim;       /* channels of a head that turn; or a share of it: */
    double partial_rotary_factor;
    int64_t hidden_size, attention_heads, max_positions;
    int64_t original_positions; /* positions before scaling; they follow the file's where this is none */
    double rope_theta;
    bool interleaved_pairs; /* pairs neighbours */
    bool rotates_last;      /* the last channels turn */
    bool interleaved_axes;  /* axes take pairs in turn */
};

extern const struct rope_family rope_families[];           /* a NULL type ends it */
extern const char *const rope_families_without_rotation[]; /* types that turn nothing, NULL-terminated */

#endif
