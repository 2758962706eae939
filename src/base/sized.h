/* SPDX-License-Identifier: Apache-2.0
 *
 * Structs that later versions extend: their first member, struct_size, is the size that the caller was
 * compiled with.
 */
#ifndef ROTARY_BASE_SIZED_H
#define ROTARY_BASE_SIZED_H

#include <rotary/status.h>

/* Copies a caller's struct over `known`, the library's own of known_size bytes. Members that an older caller
 * does not have keep the defaults in `known`. ROTARY_INVALID_ARGUMENT if struct_size was not set, or if the
 * caller's struct is larger, because its last members would be ignored. `name` is the struct's type. */
ROTARY_CHECKED rotary_status rotary_take_sized(void *known, size_t known_size, const void *given,
                                               const char *name, rotary_error *error);

#endif
