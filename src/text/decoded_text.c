/* SPDX-License-Identifier: Apache-2.0 */
#include "text/decoded_text.h"

#include "text/unicode.h"
#include "text/utf8.h"

#include <stdlib.h>

static rotary_status append_mended(struct text_buffer *to, int64_t bytes, rotary_error *error)
{
    char *mended;
    int64_t count;
    rotary_status status = unicode_mend(to->bytes + to->count, bytes, &mended, &count, error);
    if (status != ROTARY_OK)
        return status;
    status = text_buffer_append(to, mended, count + 1, error);
    to->count -= status == ROTARY_OK;
    free(mended);
    return status;
}

rotary_status decoded_bytes_append(const struct tokenizer *tokenizer, const int32_t *tokens, int64_t count,
                                   struct text_buffer *to, rotary_error *error)
{
    const int64_t bytes = tokenizer_decode(tokenizer, tokens, count, NULL, 0);
    rotary_status status = text_buffer_reserve(to, bytes + 1, error);
    if (status == ROTARY_OK) {
        tokenizer_decode(tokenizer, tokens, count, to->bytes + to->count, bytes + 1);
        to->count += bytes;
    }
    return status;
}

rotary_status decoded_text_append(const struct tokenizer *tokenizer, const int32_t *tokens, int64_t count,
                                  struct text_buffer *to, rotary_error *error)
{
    const int64_t before = to->count;
    rotary_status status = decoded_bytes_append(tokenizer, tokens, count, to, error);
    const int64_t bytes = to->count - before;
    if (status != ROTARY_OK || utf8_valid_bytes(to->bytes + before, bytes) == bytes)
        return status;
    to->count = before;
    return append_mended(to, bytes, error);
}
