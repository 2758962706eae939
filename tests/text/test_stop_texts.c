/* SPDX-License-Identifier: Apache-2.0
 *
 * test_stop_texts MODEL...: texts at which what is generated is to end, of every kind of tokenizer: special
 * tokens, texts that tokens make up in whatever way, and texts that cannot occur. Of models of SentencePiece
 * all that random tokens decode to can occur.
 */
#include "support/check.h"
#include "support/scratch.h"

#include "base/random.h"
#include "text/stop_texts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What becomes of a text: a string, a special token, or a refusal with these words. */
static void check_stop(const struct tokenizer *tokenizer, const char *text, int32_t token,
                       const char *refused)
{
    struct stop_texts stops = {0};
    rotary_error error = {0};
    check_about("\"%s\"", text);
    const rotary_status status = stop_texts_create(&stops, tokenizer, &text, 1, &error);
    if (refused) {
        CHECK_INT(status, ROTARY_INVALID_ARGUMENT);
        if (!CHECK(strstr(error.message, refused) != NULL))
            CHECK_TEXT(error.message, refused);
    } else if (CHECK_INT(status, ROTARY_OK)) {
        CHECK_INT(stops.count, token < 0);
        CHECK_INT(stops.token_count, token >= 0);
        CHECK(token < 0 ? stops.strings[0] == text : stops.tokens[0] == token);
    } else {
        printf("%s\n", error.message);
    }
    stop_texts_free(&stops);
    check_about("%s", "");
}

static const char cannot[] = "cannot occur: no tokens of the vocabulary make it up";

static void test_characters(void)
{
    struct tokenizer *tokenizer = NULL;
    CHECK_INT(characters_create(&tokenizer, "abc0 ", NULL), ROTARY_OK);
    check_stop(tokenizer, "abc cab", -1, NULL);
    check_stop(tokenizer, "abd", -1, cannot);
    check_stop(tokenizer, "a\n", -1, cannot);
    check_stop(tokenizer, "\xc3\xa9", -1, cannot);
    tokenizer_destroy(tokenizer);
}

static void test_bytes(void)
{
    struct tokenizer *tokenizer = NULL;
    CHECK_INT(bytes_create(&tokenizer, NULL), ROTARY_OK);
    check_stop(tokenizer, "a\n\x01\xe4\xb8\xad", -1, NULL);
    check_stop(tokenizer, "\xb8\xad", -1, NULL);
    tokenizer_destroy(tokenizer);
}

/* A space comes between words, and nothing else. */
static void test_words(void)
{
    static const char corpus[] = "the cat sees the dog";
    struct tokenizer *tokenizer = NULL;
    CHECK_INT(words_create(&tokenizer, corpus, (int64_t)strlen(corpus), 1, NULL), ROTARY_OK);
    check_stop(tokenizer, "cat sees", -1, NULL);
    check_stop(tokenizer, " dog cat ", -1, NULL);
    check_stop(tokenizer, "at se", -1, NULL);
    check_stop(tokenizer, "t the sees d", -1, NULL);
    check_stop(tokenizer, "cat  sees", -1, cannot);
    check_stop(tokenizer, "cat\n", -1, cannot);
    check_stop(tokenizer, "the ees dog", -1, cannot);
    check_stop(tokenizer, "bird", -1, cannot);
    check_stop(tokenizer, "</s>", tokenizer_special(tokenizer).end, NULL);
    check_stop(tokenizer, "cat</s>", -1, "has the special token </s>, which is no part of a text");
    /* The first token of all is a special one too. */
    char text[64];
    const struct token_text first = tokenizer_text(tokenizer, 0);
    snprintf(text, sizeof text, "cat%.*s", (int)first.count, first.bytes);
    check_stop(tokenizer, text + 3, 0, NULL);
    check_stop(tokenizer, text, -1, "which is no part of a text");
    tokenizer_destroy(tokenizer);
}

#define TOKEN(id, content, special)                                                                          \
    "{\"id\":" id ",\"content\":\"" content "\",\"single_word\":false,\"lstrip\":false,\"rstrip\":false,"    \
    "\"normalized\":false,\"special\":" special "}"
#define BYTE_LEVEL                                                                                           \
    "{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"trim_offsets\":true,\"use_regex\":false}"

/* A byte BPE of few letters. "<b>" is an added token that is not special: it has a text, and "ab" can be made
 * up of its parts. The bytes of "\xc3\xa9" are two tokens. */
static void test_json(void)
{
    static const char text[] =
        "{\"version\":\"1.0\",\"added_tokens\":[" TOKEN("8", "<|end|>", "true") "," TOKEN(
            "9", "<\xef\xbd\x9cturn\xe2\x96\x81over\xef\xbd\x9c>",
            "true") "," TOKEN("10", "<b>", "false") "],"
                                                    "\"normalizer\":null,\"pre_tokenizer\":" BYTE_LEVEL
                                                    ",\"post_processor\":null,\"decoder\":" BYTE_LEVEL
                                                    ",\"model\":{\"type\":\"BPE\",\"dropout\":null,\"unk_"
                                                    "token\":null,\"continuing_subword_prefix\":null,"
                                                    "\"end_of_word_suffix\":null,\"fuse_unk\":false,\"byte_"
                                                    "fallback\":false,\"vocab\":{\"a\":0,\"b\":1,"
                                                    "\"ab\":2,\"\xc4\xa0\":3,\"\xc3\x83\":4,\"\xc2\xa9\":5,"
                                                    "\"bca\":6,\"\xc4\x8a\":7},\"merges\":[\"a b\"]}}";
    struct tokenizer *tokenizer = NULL;
    rotary_error error = {0};
    scratch_write(scratch_path("tokenizer.json"), text, strlen(text));
    if (!CHECK_INT(tokenizer_load(&tokenizer, scratch_path("tokenizer.json"), &error), ROTARY_OK)) {
        printf("%s\n", error.message);
        return;
    }
    check_stop(tokenizer, "<|end|>", 8, NULL);
    check_stop(tokenizer, "<\xef\xbd\x9cturn\xe2\x96\x81over\xef\xbd\x9c>", 9, NULL);
    check_stop(tokenizer, "ab\n<|end|>", -1, "has the special token <|end|>, which is no part of a text");
    check_stop(tokenizer, "<b>", -1, NULL);
    check_stop(tokenizer, "b>a", -1, NULL);
    check_stop(tokenizer, "a b\n", -1, NULL);
    check_stop(tokenizer, "\xc3\xa9", -1, NULL);
    check_stop(tokenizer, "abc", -1, NULL); /* a, and a part of bca */
    check_stop(tokenizer, "ca", -1, NULL);
    check_stop(tokenizer, "bcab", -1, NULL);
    check_stop(tokenizer, "c", -1, NULL);
    check_stop(tokenizer, "cc", -1, cannot);
    check_stop(tokenizer, "aca", -1, cannot);
    check_stop(tokenizer, "bcb", -1, cannot);
    check_stop(tokenizer, "###", -1, cannot);
    tokenizer_destroy(tokenizer);
}

/* Whatever tokens decode to can occur. */
static void test_pieces(const char *path)
{
    enum { COUNT = 6, ROOM = 512 };
    struct tokenizer *tokenizer = NULL;
    rotary_error error = {0};
    const rotary_status status = tokenizer_load(&tokenizer, path, &error);
    if (status == ROTARY_UNSUPPORTED) /* without SentencePiece */
        return;
    if (!CHECK_INT(status, ROTARY_OK))
        return;
    struct rotary_random random = {.key = {.seed = 11, .stream = ROTARY_STREAM_TEST}};
    int compared = 0;
    for (int round = 0; round < 30; round++) {
        int32_t tokens[COUNT];
        char text[ROOM], *begin = text;
        for (int i = 0; i < COUNT; i++)
            tokens[i] = (int32_t)rotary_random_below(&random, (uint32_t)tokenizer_size(tokenizer));
        int64_t left = tokenizer_decode(tokenizer, tokens, COUNT, text, ROOM), cut = left / 4;
        while (cut < left && ((unsigned char)text[cut] & 0xc0) == 0x80)
            cut++;
        begin += cut;
        if (left >= ROOM || !*begin || strlen(begin) != (size_t)(left - cut))
            continue;
        check_stop(tokenizer, begin, -1, NULL);
        compared++;
    }
    CHECK(compared > 10);
    const int32_t end = tokenizer_special(tokenizer).end;
    if (end >= 0)
        check_stop(tokenizer, "</s>", end, NULL);
    tokenizer_destroy(tokenizer);
}

/* Several at once, in their order. */
static void test_several(void)
{
    struct tokenizer *tokenizer = NULL;
    struct stop_texts stops = {0};
    static const char *const texts[] = {"one", "</s>", "two"};
    static const char corpus[] = "one two";
    CHECK_INT(words_create(&tokenizer, corpus, (int64_t)strlen(corpus), 1, NULL), ROTARY_OK);
    CHECK_INT(stop_texts_create(&stops, tokenizer, texts, 3, NULL), ROTARY_OK);
    CHECK_INT(stops.count, 2);
    CHECK_INT(stops.token_count, 1);
    CHECK(stops.strings[0] == texts[0] && stops.strings[1] == texts[2]);
    stop_texts_free(&stops);
    CHECK_INT(stop_texts_create(&stops, tokenizer, texts, 0, NULL), ROTARY_OK);
    CHECK(stops.count == 0 && stops.token_count == 0);
    stop_texts_free(&stops);
    tokenizer_destroy(tokenizer);
}

int main(int count, char **arguments)
{
    test_characters();
    test_bytes();
    test_words();
    test_json();
    for (int i = 1; i < count; i++)
        test_pieces(arguments[i]);
    test_several();
    return check_report();
}
