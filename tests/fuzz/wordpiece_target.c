/* SPDX-License-Identifier: Apache-2.0
 *
 * The files of WordPiece: a vocab.txt, the tokenizer.json of others, this program's own, and the
 * tokenizer_config.json beside them.
 */
#include "fuzz/target.h"
#include "text/tokenizer_type.h"
#include "text/utf8.h"
#include "text/wordpiece_file.h"

#include <stdlib.h>
#include <string.h>

/* What is decoded again is no longer than the longest piece allows, and is UTF-8 text. */
static void check_text(const struct tokenizer *tokenizer, const char *text, int64_t bytes)
{
    enum { ROOM = 256, TEXT_ROOM = 1 << 12 };
    int32_t tokens[ROOM];
    char decoded[TEXT_ROOM];
    struct token_list list = {.tokens = tokens, .capacity = ROOM};
    rotary_error error = {0};
    if (fuzz_refused(tokenizer_encode(tokenizer, text, bytes, &list, &error), &error))
        return;
    const struct special_tokens special = tokenizer_special(tokenizer);
    for (int64_t i = 0; i < list.count; i++)
        if (tokens[i] < 0 || tokens[i] >= tokenizer_size(tokenizer) || tokens[i] == special.begin ||
            tokens[i] == special.end || tokens[i] == special.padding || tokens[i] == special.mask)
            fuzz_fail("token %d of %lld", (int)tokens[i], (long long)tokenizer_size(tokenizer));
    int64_t length = tokenizer_decode(tokenizer, tokens, list.count, decoded, TEXT_ROOM);
    if (length < TEXT_ROOM && utf8_valid_bytes(decoded, length) != length)
        fuzz_fail("the text of %lld tokens is not UTF-8", (long long)list.count);
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
        fuzz_fail("%lld pieces become %lld", (long long)tokenizer_size(tokenizer),
                  (long long)tokenizer_size(again));
    for (int32_t token = 0; token < tokenizer_size(again); token++) {
        const struct token_text a = tokenizer_text(tokenizer, token), b = tokenizer_text(again, token);
        if (a.count != b.count || memcmp(a.bytes, b.bytes, (size_t)a.count) != 0)
            fuzz_fail("piece %d is another when read back", (int)token);
    }
    json_decref(object);
    tokenizer_destroy(again);
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
            check_text(tokenizer, texts[i], (int64_t)strlen(texts[i]));
        for (int32_t token = 0; token < tokenizer_size(tokenizer); token++) {
            const struct token_text text = tokenizer_text(tokenizer, token);
            check_text(tokenizer, text.bytes, text.count);
        }
        check_saved(tokenizer);
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
