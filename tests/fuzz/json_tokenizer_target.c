/* SPDX-License-Identifier: Apache-2.0
 *
 * The tokenizer.json of the library `tokenizers`, and this program's own file of such a tokenizer.
 */
#include "fuzz/target.h"
#include "text/tokenizer_type.h"

#include <stdlib.h>
#include <string.h>

static volatile unsigned summed; /* so that nothing read is optimised away */

/* Tokens are there, and are decoded; decoding says the same length however little room there is. */
static void check_text(const struct tokenizer *tokenizer, const char *text, int64_t bytes)
{
    enum { ROOM = 256, TEXT_ROOM = 1 << 12 };
    int32_t tokens[ROOM];
    char decoded[TEXT_ROOM];
    struct token_list list = {.tokens = tokens, .capacity = ROOM};
    rotary_error error = {0};
    if (fuzz_refused(tokenizer_encode(tokenizer, text, bytes, &list, &error), &error)) {
        if (list.count > 0 || list.left_out > 0)
            fuzz_fail("a text that is refused has %lld tokens", (long long)list.count);
        return;
    }
    for (int64_t i = 0; i < list.count; i++)
        if (tokens[i] < 0 || tokens[i] >= tokenizer_size(tokenizer))
            fuzz_fail("token %d of %lld", (int)tokens[i], (long long)tokenizer_size(tokenizer));
    int64_t length = tokenizer_decode(tokenizer, tokens, list.count, decoded, TEXT_ROOM);
    if (tokenizer_decode(tokenizer, tokens, list.count, NULL, 0) != length)
        fuzz_fail("a text has another length without room");
    for (int64_t i = 0; i < length && i < TEXT_ROOM; i++)
        summed += (unsigned char)decoded[i];
}

/* What is saved is the same tokenizer. */
static void check_saved(const struct tokenizer *tokenizer)
{
    rotary_error error = {0};
    struct tokenizer *again = NULL;
    json_t *object = json_object();
    if (!object || !tokenizer->type->save(tokenizer, object) ||
        tokenizer->type->load(&again, object, "what was saved", &error) != ROTARY_OK)
        fuzz_fail("an accepted tokenizer cannot be read back: %s", error.message);
    if (tokenizer_size(again) != tokenizer_size(tokenizer))
        fuzz_fail("%lld tokens become %lld", (long long)tokenizer_size(tokenizer),
                  (long long)tokenizer_size(again));
    for (int32_t token = 0; token < tokenizer_size(again); token++) {
        const struct token_text a = tokenizer_text(tokenizer, token), b = tokenizer_text(again, token);
        if (a.count != b.count || memcmp(a.bytes, b.bytes, (size_t)a.count) != 0)
            fuzz_fail("token %d is another when read back", (int)token);
    }
    json_decref(object);
    tokenizer_destroy(again);
}

static bool read_json_tokenizer(const char *path)
{
    static const char *const texts[] = {
        "",
        "Hello, world! it's 1234  spaces\n\n\tx </s> <s>ab<|e|> word",
        " \xc3\x80\xc3\xa9 e\xcc\x81 \xef\xac\x81 \xef\xb7\xba\xe2\x96\x81.",
        "\xe4\xb8\xad\xe6\x96\x87 \xed\x95\x9c \xf0\x9f\x98\x80\xe2\x80\x8d",
        "\xff",
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaabababababab                x"};
    rotary_error error = {0};
    struct tokenizer *tokenizer;
    if (fuzz_refused(tokenizer_load(&tokenizer, path, &error), &error))
        return false;
    if (tokenizer_kind(tokenizer) == TOKENIZER_HUGGINGFACE) {
        for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
            check_text(tokenizer, texts[i], (int64_t)strlen(texts[i]));
        for (int32_t token = 0; token < tokenizer_size(tokenizer); token++) {
            const struct token_text text = tokenizer_text(tokenizer, token);
            check_text(tokenizer, text.bytes, text.count);
            summed += tokenizer_continues_word(tokenizer, token);
        }
        check_saved(tokenizer);
    }
    tokenizer_destroy(tokenizer);
    return true;
}

static const char *const json_tokenizer_words[] = {"\"type\"",
                                                   "\"model\"",
                                                   "\"BPE\"",
                                                   "\"Unigram\"",
                                                   "\"WordLevel\"",
                                                   "\"Precompiled\"",
                                                   "\"unk_id\"",
                                                   "\"vocab\"",
                                                   "\"merges\"",
                                                   "\"Sequence\"",
                                                   "\"normalizer\"",
                                                   "\"pre_tokenizer\"",
                                                   "\"decoder\"",
                                                   "\"Replace\"",
                                                   "\"Regex\"",
                                                   "\"String\"",
                                                   "\"ByteLevel\"",
                                                   "\"Metaspace\"",
                                                   "\"Split\"",
                                                   "\"Digits\"",
                                                   "\"Strip\"",
                                                   "\"Fuse\"",
                                                   "\"NFKC\"",
                                                   "\"NFD\"",
                                                   "\"Lowercase\"",
                                                   "\"Prepend\"",
                                                   "\"ByteFallback\"",
                                                   "\"added_tokens\"",
                                                   "\"content\"",
                                                   "\"normalized\"",
                                                   "\"lstrip\"",
                                                   "\"single_word\"",
                                                   "\"special_tokens\"",
                                                   "\"unk_token\"",
                                                   "\"Removed\"",
                                                   "\"MergedWithNext\"",
                                                   "\"\\u2581\"",
                                                   "\"\\\\s+\"",
                                                   "\"(?!\\\\S)\"",
                                                   "true",
                                                   "null",
                                                   "-1",
                                                   "1048576",
                                                   "\"\"",
                                                   "{",
                                                   "}",
                                                   "[",
                                                   "]",
                                                   ",",
                                                   ":",
                                                   "\xcc\x81",
                                                   "\xff",
                                                   NULL};

const struct fuzz_target fuzz_json_tokenizer = {
    .name = "json_tokenizer", .read = read_json_tokenizer, .words = json_tokenizer_words, .memory = 2};
