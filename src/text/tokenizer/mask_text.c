/* SPDX-License-Identifier: Apache-2.0 */
#include "text/tokenizer/mask_text.h"

#include <string.h>

rotary_status mask_text_encode(const struct tokenizer *tokenizer, const struct text_line *line,
                               struct token_list *list, int64_t *rows, int64_t *masks, rotary_error *error)
{
    const int32_t token = tokenizer_special(tokenizer).mask;
    const struct token_text name = token >= 0 ? tokenizer_text(tokenizer, token) : (struct token_text){0};
    const char *at = line->bytes, *end = line->bytes + line->count;
    rotary_status status = ROTARY_OK;
    int64_t found = 0;
    while (status == ROTARY_OK) {
        const char *mask = token >= 0 ? memmem(at, (size_t)(end - at), name.bytes, (size_t)name.count) : NULL;
        status = tokenizer_encode(tokenizer, at, (mask ? mask : end) - at, list, error);
        if (!mask)
            break;
        if (list->count < list->capacity) {
            if (rows)
                rows[found] = list->count;
            found++;
            list->tokens[list->count++] = token;
        } else {
            list->left_out++;
        }
        at = mask + name.count;
    }
    if (rows)
        *masks = found;
    return status;
}
