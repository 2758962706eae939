/* SPDX-License-Identifier: Apache-2.0
 *
 * A tensor in a file, rotated by librotary into another file.
 */
#ifndef ROTARY_ORACLE_ROTATE_TENSOR_H
#define ROTARY_ORACLE_ROTATE_TENSOR_H

#include "oracle/heads.h"
#include "oracle/rotation.h"

struct rotate_tensor_config {
    struct rotation_request rotation; /* its threads and isa hold for all plans; config NULL: tables alone */
    const char *cosine, *sine;        /* tables in files; NULL: those of the rotation */
    rotary_pairing pairing;           /* of tables without a configuration */
    const char *input, *output;
    const char *positions; /* NULL: offset, offset + 1, ... */
    int64_t offset;
    enum rotary_rope_role role;
    rotary_dtype arithmetic; /* ROTARY_F32: as librotary; else rounded to this type throughout */
    enum heads_layout layout;
    int64_t heads; /* of the flat layout */
    bool inverse;
};

/* Reads, rotates and writes. The caller frees *output, the tensor written. */
ROTARY_CHECKED rotary_status rotate_tensor(const struct rotate_tensor_config *config, struct tensor *output,
                                           rotary_error *error);

#endif
