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

/* The entry of the table of types that are none of librotary's, to be borrowed for good; NULL if there is
 * none. */
const char *safetensors_other_type(const char *name);

/* Bytes of a tensor; false if a size is negative, the type is none, or the product overflows. */
bool safetensors_bytes(const struct safetensor *tensor, uint64_t *bytes);

#endif
