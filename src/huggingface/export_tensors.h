/* SPDX-License-Identifier: Apache-2.0
 *
 * A model's parameters as the tensors of another program: under its names, split or fused as it has them,
 * with the rows of queries and keys in the order of its pairing, in its type. Elements are read and converted
 * block by block while a file is written, so there is no second copy of the model.
 */
#ifndef ROTARY_HUGGINGFACE_EXPORT_TENSORS_H
#define ROTARY_HUGGINGFACE_EXPORT_TENSORS_H

#include "backend/parameters.h"
#include "file/safetensors.h"
#include "huggingface/export_family.h"

#include <rotary/rope.h>

struct export_tensors_call {
    const struct parameters *parameters;
    const struct transformer_config *config;
    const struct export_family *family;
    rotary_pairing pairing; /* wanted */
    rotary_dtype dtype;     /* of all tensors, or ... */
    bool vectors_f32;       /* ... of matrices: vectors stay f32 */
};

struct export_tensors {
    struct safetensor *tensors; /* [count], for safetensors_write and gguf_replace */
    int count;
    struct export_source *sources; /* [count] */
};

/* Lists the tensors, in the order of the parameters. The parameters are borrowed. ROTARY_UNSUPPORTED, with
 * `where`, names a parameter for which the family has no tensor. export_tensors_free frees the list. */
ROTARY_CHECKED rotary_status export_tensors_make(struct export_tensors *list,
                                                 const struct export_tensors_call *call, const char *where,
                                                 rotary_error *error);
void export_tensors_free(struct export_tensors *list);

#endif
