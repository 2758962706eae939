/* SPDX-License-Identifier: Apache-2.0
 *
 * The GGUF format, version 3, which ggml's programs read (ggml/docs/gguf.md): little-endian; magic, version,
 * numbers of tensors and of entries of metadata, these entries, a description of each tensor, and the
 * tensors' bytes, each at a multiple of GGUF_ALIGNMENT from where they begin.
 */
#ifndef ROTARY_FILE_GGUF_H
#define ROTARY_FILE_GGUF_H

#include "file/safetensors.h"

enum { GGUF_VERSION = 3, GGUF_ALIGNMENT = 32, GGUF_DIMENSIONS = 4, GGUF_NAME_BYTES = 64 };

/* Types of metadata, as the file has them. Only these are written. */
enum gguf_type {
    GGUF_UINT8 = 0, /* in lists alone */
    GGUF_UINT32 = 4,
    GGUF_INT32 = 5,
    GGUF_FLOAT32 = 6,
    GGUF_BOOL = 7,
    GGUF_STRING = 8,
    GGUF_ARRAY = 9
};
/* ggml's number of a type of tensors. */
uint32_t gguf_tensor_type(rotary_dtype dtype);

/* A list of bytes as a value of metadata, which is an ARRAY of UINT8: a new value, NULL without memory. */
json_t *gguf_bytes(const unsigned char *bytes, size_t count);

/* Replaces `path` atomically. `metadata` is an object whose members are written in their order: an integer is
 * a UINT32, a real number a FLOAT32, a boolean a BOOL, a text a STRING, and a list of one of these with at
 * least one member an ARRAY, whose integers are INT32. Tensors have their shape as in safetensors, the
 * outermost dimension first, which GGUF has last.
 * ROTARY_INVALID_ARGUMENT names the key or the tensor that the format cannot have: an integer that does not
 * fit, a list of different types, a tensor of more than GGUF_DIMENSIONS dimensions, with a name of
 * GGUF_NAME_BYTES bytes or more, with that of another, or of a type that is no rotary_dtype. */
ROTARY_CHECKED rotary_status gguf_replace(const char *path, const json_t *metadata,
                                          const struct safetensor *tensors, int count, rotary_error *error);

#endif
