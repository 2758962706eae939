/* SPDX-License-Identifier: Apache-2.0
 *
 * Structs that grow: their first member, struct_size, says how much of them the caller was compiled with.
 */
#ifndef ROTARY_BASE_SIZED_H
#define ROTARY_BASE_SIZED_H

#include <rotary/status.h>

/* Copies the struct that a caller gave over `known`, which holds the defaults of what an older caller does
 * not know and is known_size bytes, all that this library knows of it. Refuses one that knows more, since
 * what it asks for would go unheard, and one whose size was never set. `name` is the struct's type. */
ROTARY_CHECKED rotary_status rotary_take_sized(void *known, size_t known_size, const void *given,
                                               const char *name, rotary_error *error);

#endif
