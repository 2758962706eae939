/* SPDX-License-Identifier: Apache-2.0 */
#include "file/shape_text.h"

#include <stddef.h>
#include <stdio.h>

const char *shape_text(const int64_t *shape, int dimensions, char text[SHAPE_TEXT_BYTES])
{
    size_t used = 0;
    text[0] = 0;
    for (int i = 0; i < dimensions; i++) {
        int added = snprintf(text + used, SHAPE_TEXT_BYTES - used, "%s%lld", i == 0 ? "[" : ", ",
                             (long long)shape[i]);
        used += added > 0 ? (size_t)added : 0;
    }
    snprintf(text + used, SHAPE_TEXT_BYTES - used, "%s", dimensions == 0 ? "[]" : "]");
    return text;
}
