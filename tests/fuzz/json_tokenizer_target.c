/* SPDX-License-Identifier: Apache-2.0
 *
 * The tokenizer.json of the library `tokenizers`, and this program's own file of such a tokenizer.
 */
#include "fuzz/target.h"
#include "fuzz/tokenizer_checks.h"

#include <string.h>

static volatile unsigned summed; /* so that nothing read is optimised away */

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
    struct fuzz_encoded encoded;
    if (fuzz_refused(tokenizer_load(&tokenizer, path, &error), &error))
        return false;
    if (tokenizer_kind(tokenizer) == TOKENIZER_HUGGINGFACE) {
        for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
            fuzz_encode(tokenizer, (struct token_text){texts[i], (int64_t)strlen(texts[i])}, &encoded);
        for (int32_t token = 0; token < tokenizer_size(tokenizer); token++) {
            fuzz_encode(tokenizer, tokenizer_text(tokenizer, token), &encoded);
            summed += tokenizer_continues_word(tokenizer, token);
        }
        fuzz_check_saved(tokenizer);
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
