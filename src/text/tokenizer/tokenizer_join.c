/* SPDX-License-Identifier: Apache-2.0 */
#include "text/tokenizer/tokenizer_type.h"

#include <string.h>

/* A text of which only what fits is kept. */
struct joined {
    char *text;
    int64_t capacity, bytes;
};

static void add(struct joined *joined, const char *bytes, int64_t count)
{
    int64_t room = joined->capacity - 1 - joined->bytes;
    if (room > 0)
        memcpy(joined->text + joined->bytes, bytes, (size_t)(count < room ? count : room));
    joined->bytes += count;
}

static bool has_text(const struct special_tokens *special, int32_t token)
{
    return token != special->padding && token != special->begin && token != special->end &&
           token != special->mask;
}

int64_t tokenizer_join(const struct tokenizer *tokenizer, const char *separator, const int32_t *tokens,
                       int64_t count, char *text, int64_t capacity)
{
    const struct tokenizer_type *type = tokenizer->type;
    struct joined joined = {.text = text, .capacity = capacity};
    bool first = true;
    for (int64_t i = 0; i < count; i++) {
        if (!has_text(&tokenizer->special, tokens[i]))
            continue;
        const struct token_text token = type->text(tokenizer, tokens[i]);
        bool continues = !first && type->continues_word && type->continues_word(tokenizer, tokens[i]);
        int64_t left_out = continues ? type->continuation_bytes : 0;
        if (!first && !continues)
            add(&joined, separator, (int64_t)strlen(separator));
        add(&joined, token.bytes + left_out, token.count - left_out);
        first = false;
    }
    if (capacity > 0)
        text[joined.bytes < capacity ? joined.bytes : capacity - 1] = '\0';
    return joined.bytes;
}
