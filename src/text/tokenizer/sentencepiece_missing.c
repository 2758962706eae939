/* SPDX-License-Identifier: Apache-2.0
 *
 * What stands for the library SentencePiece in a program that was built without it.
 */
#include "base/fail.h"
#include "text/tokenizer/sentencepiece_library.h"

#include <stddef.h>

static rotary_status fail(rotary_error *error)
{
    return rotary_fail(
        error, ROTARY_UNSUPPORTED,
        "this program was built without SentencePiece: install libsentencepiece-dev and g++ (names of "
        "Debian packages), and build it again");
}

rotary_status sentencepiece_processor_create(struct sentencepiece_processor **processor, const char *bytes,
                                             int64_t count, rotary_error *error)
{
    (void)processor;
    (void)bytes;
    (void)count;
    return fail(error);
}

rotary_status sentencepiece_library_train(const struct sentencepiece_config *config,
                                          const struct text_line *lines, int64_t count, char **model,
                                          int64_t *bytes, rotary_error *error)
{
    (void)config;
    (void)lines;
    (void)count;
    (void)model;
    (void)bytes;
    return fail(error);
}

const char *sentencepiece_library_version(void)
{
    return NULL;
}

/* There is no processor that these could be called with. */

void sentencepiece_processor_destroy(struct sentencepiece_processor *processor)
{
    (void)processor;
}

int64_t sentencepiece_processor_size(const struct sentencepiece_processor *processor)
{
    (void)processor;
    return 0;
}

struct special_tokens sentencepiece_processor_special(const struct sentencepiece_processor *processor)
{
    (void)processor;
    return (struct special_tokens){-1, -1, -1, -1, -1};
}

struct token_text sentencepiece_processor_text(const struct sentencepiece_processor *processor, int32_t token)
{
    (void)processor;
    (void)token;
    return (struct token_text){"", 0};
}

rotary_status sentencepiece_processor_encode(const struct sentencepiece_processor *processor,
                                             const char *text, int64_t bytes, struct token_list *list,
                                             rotary_error *error)
{
    (void)processor;
    (void)text;
    (void)bytes;
    (void)list;
    return fail(error);
}

int64_t sentencepiece_processor_decode(const struct sentencepiece_processor *processor, const int32_t *tokens,
                                       int64_t count, char *text, int64_t capacity)
{
    (void)processor;
    (void)tokens;
    (void)count;
    if (capacity > 0)
        text[0] = '\0';
    return 0;
}
