/* SPDX-License-Identifier: Apache-2.0
 *
 * Structs that later versions extend: their first member, struct_size, is the size that the caller was
 * compiled with.
 */
#ifndef ROTARY_BASE_SIZED_H
#define ROTARY_BASE_SIZED_H

#include <rotary/status.h>

/* Copies a caller's struct to `known`, a struct of known_size bytes that holds the defaults. Members that the
 * struct of an older caller lacks keep their defaults. ROTARY_INVALID_ARGUMENT if struct_size was not set, is
 * no size that a struct has, or if the caller's struct is larger, because its last members would be ignored.
 * `name` is its type. */
ROTARY_CHECKED rotary_status rotary_copy_sized(void *known, size_t known_size, const void *given,
                                               const char *name, rotary_error *error);

#endif
