/* SPDX-License-Identifier: Apache-2.0
 *
 * What the reader and the writer of safetensors files share.
 */
#ifndef ROTARY_FILE_SAFETENSORS_LAYOUT_H
#define ROTARY_FILE_SAFETENSORS_LAYOUT_H

#include "file/safetensors.h"

#define SAFETENSORS_METADATA "__metadata__"
#define SAFETENSORS_CHECKSUM "content_hash"
/* A header with a checksum starts with this text, followed by the digits of the checksum. */
#define SAFETENSORS_CHECKSUM_PREFIX "{\"" SAFETENSORS_METADATA "\":{\"" SAFETENSORS_CHECKSUM "\":\""

enum { SAFETENSORS_LENGTH_BYTES = 8 };

/* The static name equal to `name` of a type that is not a rotary_dtype; NULL if the format has no such type.
 */
const char *safetensors_other_type(const char *name);

/* Bytes of a tensor; false if a size is negative, the type is unknown, or the product overflows. */
bool safetensors_bytes(const struct safetensor *tensor, uint64_t *bytes);

#endif
