/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sized.h"

#include "base/fail.h"

#include <string.h>

rotary_status rotary_copy_sized(void *known, size_t known_size, const void *given, const char *name,
                                rotary_error *error)
{
    size_t size;
    memcpy(&size, given, sizeof size);
    if (size < sizeof size || size > known_size)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "struct_size is %zu; wanted sizeof(%s), at most %zu", size, name, known_size);
    memcpy(known, given, size);
    return ROTARY_OK;
}
