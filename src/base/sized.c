/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sized.h"

#include "base/fail.h"

#include <stdint.h>
#include <string.h>

/* What such structs are made of. The size of a struct is a multiple of its alignment. Another size ends
 * within a member: half a pointer would be copied. */
struct contents {
    size_t size;
    int64_t integer;
    double real;
    void *pointer;
};

rotary_status rotary_copy_sized(void *known, size_t known_size, const void *given, const char *name,
                                rotary_error *error)
{
    size_t size;
    memcpy(&size, given, sizeof size);
    if (size < sizeof size || size > known_size || size % _Alignof(struct contents) != 0)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "struct_size is %zu; wanted sizeof(%s), at most %zu and a multiple of %zu", size,
                           name, known_size, _Alignof(struct contents));
    memcpy(known, given, size);
    return ROTARY_OK;
}
