/* SPDX-License-Identifier: Apache-2.0 */
#include "task/translation/translation.h"
#include "text/unicode.h"

#include <stdlib.h>

static rotary_status append(struct text_buffer *buffer, struct text_line line, rotary_error *error)
{
    rotary_status status = text_buffer_reserve(buffer, line.count + 1, error);
    return status == ROTARY_OK ? text_buffer_append(buffer, line.bytes, line.count, error) : status;
}

rotary_status translation_append(const struct translation_options *options, struct text_line line,
                                 struct text_buffer *buffer, rotary_error *error)
{
    if (!options->lowercase)
        return append(buffer, line, error);
    char *lower;
    int64_t bytes;
    rotary_status status = unicode_lowercase(line.bytes, line.count, &lower, &bytes, error);
    if (status != ROTARY_OK)
        return status;
    status = append(buffer, (struct text_line){lower, bytes}, error);
    free(lower);
    return status;
}
