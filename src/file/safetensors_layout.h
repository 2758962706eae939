/* SPDX-License-Identifier: Apache-2.0
 *
 * What the reader and the writer of safetensors files agree on.
 */
#ifndef ROTARY_FILE_SAFETENSORS_LAYOUT_H
#define ROTARY_FILE_SAFETENSORS_LAYOUT_H

#include "file/safetensors.h"

#define SAFETENSORS_METADATA "__metadata__"
#define SAFETENSORS_CHECKSUM "content_hash"
/* A header of ours starts with this text, and the digits of the checksum follow. */
#define SAFETENSORS_CHECKSUM_PREFIX "{\"" SAFETENSORS_METADATA "\":{\"" SAFETENSORS_CHECKSUM "\":\""

enum { SAFETENSORS_LENGTH_BYTES = 8, SAFETENSORS_CHECKSUM_DIGITS = 16 };

/* The format's name of a dtype: "F32", "F16", "BF16". */
const char *safetensors_dtype_name(rotary_dtype dtype);

/* Bytes of `dimensions` sizes of `dtype`; false if a size is negative or the product overflows. */
bool safetensors_bytes(const int64_t *shape, int dimensions, rotary_dtype dtype, uint64_t *bytes);

#endif
