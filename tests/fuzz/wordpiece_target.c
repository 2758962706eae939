/* SPDX-License-Identifier: Apache-2.0
 *
 * The files of WordPiece: a vocab.txt, the tokenizer.json of others, this program's own, and the
 * tokenizer_config.json beside them.
 */
#include "fuzz/target.h"
#include "fuzz/tokenizer_checks.h"
#include "text/tokenizer/wordpiece_file.h"
#include "text/utf8.h"

#include <string.h>

/* Special tokens are no text's, and what is decoded again is UTF-8 text. */
static void check_text(const struct tokenizer *tokenizer, struct token_text text)
{
    struct fuzz_encoded encoded;
    if (!fuzz_encode(tokenizer, text, &encoded))
        return;
    const struct special_tokens special = tokenizer_special(tokenizer);
    for (int64_t i = 0; i < encoded.count; i++) {
        const int32_t token = encoded.tokens[i];
        if (token == special.begin || token == special.end || token == special.padding ||
            token == special.mask)
            fuzz_fail("a text has the special token %d", (int)token);
    }
    if (encoded.bytes < FUZZ_TEXT_BYTES && utf8_valid_bytes(encoded.decoded, encoded.bytes) != encoded.bytes)
        fuzz_fail("the text of %lld tokens is not UTF-8", (long long)encoded.count);
}

static bool read_settings(const char *path)
{
    struct wordpiece_settings settings;
    rotary_error error = {0};
    bool accepted = !fuzz_refused(wordpiece_settings_read(&settings, path, &error), &error);
    for (int i = 0; accepted && i < WORDPIECE_SPECIAL; i++)
        if (settings.names[i] && strlen(settings.names[i]) > 1 << 20)
            fuzz_fail("a name has more bytes than the file");
    wordpiece_settings_free(&settings);
    return accepted;
}

static bool read_wordpiece(const char *path)
{
    static const char *const texts[] = {
        "", "Ab, abc \xc3\x80\xc3\xa9 e\xcc\x81. [MASK] ##b",
        "\xe4\xb8\xad\xe6\x96\x87 \xed\x95\x9c\xea\xb5\xad \xf0\x9f\x98\x80\xe2\x80\x8d \xef\xbf\xbd", "\xff",
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
        " aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
        "aaa"};
    rotary_error error = {0};
    struct tokenizer *tokenizer;
    if (fuzz_refused(tokenizer_load(&tokenizer, path, &error), &error))
        return read_settings(path);
    if (tokenizer_kind(tokenizer) == TOKENIZER_WORDPIECE) {
        for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
            check_text(tokenizer, (struct token_text){texts[i], (int64_t)strlen(texts[i])});
        for (int32_t token = 0; token < tokenizer_size(tokenizer); token++)
            check_text(tokenizer, tokenizer_text(tokenizer, token));
        fuzz_check_saved(tokenizer);
    }
    tokenizer_destroy(tokenizer);
    return true;
}

static const char *const wordpiece_words[] = {"\n",
                                              "[UNK]\n",
                                              "##",
                                              "[MASK]",
                                              "\"model\"",
                                              "\"vocab\"",
                                              "\"WordPiece\"",
                                              "\"added_tokens\"",
                                              "\"special_tokens\"",
                                              "\"pieces\"",
                                              "\"mask\"",
                                              "\"content\"",
                                              "\"unk_token\"",
                                              "\"do_lower_case\"",
                                              "\"strip_accents\"",
                                              "true",
                                              "null",
                                              "-1",
                                              "1048576",
                                              "\"\"",
                                              "{",
                                              "}",
                                              ",",
                                              ":",
                                              "\xcc\x81",
                                              "\xff",
                                              NULL};

const struct fuzz_target fuzz_wordpiece = {
    .name = "wordpiece", .read = read_wordpiece, .words = wordpiece_words};
