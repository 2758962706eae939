/* SPDX-License-Identifier: Apache-2.0
 *
 * Tokenizers: round trips, the vocabulary of words, errors, truncation, and files, good and damaged.
 */
#include "support/check.h"
#include "support/scratch.h"
#include "text/tokenizer/tokenizer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = 300 };

static struct tokenizer *characters_of(const char *alphabet)
{
    struct tokenizer *tokenizer = NULL;
    CHECK_INT(characters_create(&tokenizer, alphabet, NULL), ROTARY_OK);
    return tokenizer;
}

static struct tokenizer *words_of(const char *text, int64_t min_frequency)
{
    struct tokenizer *tokenizer = NULL;
    CHECK_INT(words_create(&tokenizer, text, (int64_t)strlen(text), min_frequency, NULL), ROTARY_OK);
    return tokenizer;
}

static struct tokenizer *bytes_of(void)
{
    struct tokenizer *tokenizer = NULL;
    CHECK_INT(bytes_create(&tokenizer, NULL), ROTARY_OK);
    return tokenizer;
}

/* Encodes a text whose tokens all fit; returns their number. */
static int64_t encode(const struct tokenizer *tokenizer, const char *text, int64_t bytes,
                      int32_t tokens[ROOM])
{
    struct token_list list = {.tokens = tokens, .capacity = ROOM};
    CHECK_INT(tokenizer_encode(tokenizer, text, bytes, &list, NULL), ROTARY_OK);
    CHECK_INT(list.left_out, 0);
    return list.count;
}

/* Checks that the text becomes `wanted`, and these tokens become `back`. */
static void check_encoded(const struct tokenizer *tokenizer, const char *text, const int32_t *wanted,
                          int64_t count, const char *back)
{
    int32_t tokens[ROOM];
    char decoded[ROOM];
    check_about("\"%s\"", text);
    CHECK_INT(encode(tokenizer, text, (int64_t)strlen(text), tokens), count);
    for (int64_t i = 0; i < count; i++)
        CHECK_INT(tokens[i], wanted[i]);
    CHECK_INT(tokenizer_decode(tokenizer, wanted, count, decoded, ROOM), (int64_t)strlen(back));
    CHECK_TEXT(decoded, back);
    check_about("%s", "");
}

static void check_token_text(const struct tokenizer *tokenizer, int32_t token, const char *wanted)
{
    const struct token_text text = tokenizer_text(tokenizer, token);
    check_about("token %d", (int)token);
    CHECK_INT(text.count, (int64_t)strlen(wanted));
    CHECK(strncmp(text.bytes, wanted, (size_t)text.count) == 0);
    check_about("%s", "");
}

static void check_special(const struct tokenizer *tokenizer, struct special_tokens wanted)
{
    const struct special_tokens special = tokenizer_special(tokenizer);
    CHECK_INT(special.padding, wanted.padding);
    CHECK_INT(special.unknown, wanted.unknown);
    CHECK_INT(special.begin, wanted.begin);
    CHECK_INT(special.end, wanted.end);
    CHECK_INT(special.mask, wanted.mask);
}

/* ---- characters ---- */

static void test_characters(void)
{
    struct tokenizer *tokenizer = characters_of("hello, world");
    CHECK_INT(tokenizer_kind(tokenizer), TOKENIZER_CHARACTERS);
    CHECK_INT(tokenizer_size(tokenizer), 9);
    for (int i = 0; i < 9; i++)
        check_token_text(tokenizer, i, (char[]){"helo, wrd"[i], 0});
    check_special(tokenizer, (struct special_tokens){-1, -1, -1, -1, -1});
    static const int32_t wanted[] = {8, 7, 3, 6, 5, 4, 3, 2, 2, 1, 0};
    check_encoded(tokenizer, "drow ,olleh", wanted, 11, "drow ,olleh");
    check_encoded(tokenizer, "", NULL, 0, "");
    tokenizer_destroy(tokenizer);
    tokenizer_destroy(NULL);
}

/* Bytes above 127 must not become negative indices. */
static void test_every_character(void)
{
    char all[256], back[256];
    for (int byte = 1; byte < 256; byte++)
        all[byte - 1] = (char)byte;
    all[255] = '\0';
    struct tokenizer *tokenizer = characters_of(all);
    CHECK_INT(tokenizer_size(tokenizer), 255);
    int32_t tokens[ROOM];
    CHECK_INT(encode(tokenizer, all, 255, tokens), 255);
    for (int i = 0; i < 255; i++)
        CHECK_INT(tokens[i], i);
    CHECK_INT(tokenizer_decode(tokenizer, tokens, 255, back, sizeof back), 255);
    CHECK(memcmp(back, all, 256) == 0);
    CHECK_INT(tokenizer_encode(tokenizer, "", 1, &(struct token_list){tokens, ROOM, 0, 0}, NULL),
              ROTARY_INVALID_ARGUMENT);
    tokenizer_destroy(tokenizer);
}

static void test_unknown_character(void)
{
    struct tokenizer *tokenizer = characters_of("abc");
    static const struct {
        const char *text, *named, *position;
    } unknown[] = {{"abxc", "'x'", "position 3 "},
                   {"\nab", "0x0a", "position 1 "},
                   {"ab\xc3\xa9", "0xc3", "position 3 "}};
    for (int i = 0; i < 3; i++) {
        int32_t tokens[8] = {-7, -7, -7, -7};
        struct token_list list = {.tokens = tokens, .capacity = 8};
        rotary_error error = {0};
        check_about("text %d", i);
        CHECK_INT(
            tokenizer_encode(tokenizer, unknown[i].text, (int64_t)strlen(unknown[i].text), &list, &error),
            ROTARY_INVALID_ARGUMENT);
        CHECK(strstr(error.message, unknown[i].named) != NULL);
        CHECK(strstr(error.message, unknown[i].position) != NULL);
        CHECK(strstr(error.message, "\"abc\"") != NULL);
        CHECK_INT(tokens[0], -7);
        CHECK_INT(list.count, 0);
    }
    check_about("%s", "");
    tokenizer_destroy(tokenizer);
}

/* ---- words ---- */

/* The vocabulary of The Annotated Transformer: four special tokens, then words by frequency. */
static void test_words(void)
{
    struct tokenizer *tokenizer = words_of(" the cat\tsaw the dog .\nthe dog saw a bird . b \r\n", 1);
    CHECK_INT(tokenizer_kind(tokenizer), TOKENIZER_WORDS);
    static const char *const wanted[] = {"<s>", "</s>", "<blank>", "<unk>", "the",  ".",
                                         "dog", "saw",  "a",       "b",     "bird", "cat"};
    CHECK_INT(tokenizer_size(tokenizer), 12);
    for (int i = 0; i < 12; i++)
        check_token_text(tokenizer, i, wanted[i]);
    check_special(tokenizer,
                  (struct special_tokens){.padding = 2, .unknown = 3, .begin = 0, .end = 1, .mask = -1});
    static const int32_t sentence[] = {4, 10, 7, 3, 6, 3, 5};
    check_encoded(tokenizer, "the  bird saw the_dog dog  birds .", sentence, 7,
                  "the bird saw <unk> dog <unk> .");
    static const int32_t framed[] = {0, 4, 6, 1, 2, 2};
    char decoded[ROOM];
    CHECK_INT(tokenizer_decode(tokenizer, framed, 6, decoded, ROOM), 7);
    CHECK_TEXT(decoded, "the dog");
    check_encoded(tokenizer, " \t\n\v\f\r ", NULL, 0, "");
    tokenizer_destroy(tokenizer);

    tokenizer = words_of("the cat saw the dog . the dog saw a bird . b", 2);
    CHECK_INT(tokenizer_size(tokenizer), 8);
    for (int i = 0; i < 8; i++)
        check_token_text(tokenizer, i, wanted[i]);
    tokenizer_destroy(tokenizer);
    tokenizer = words_of("the cat", 2);
    CHECK_INT(tokenizer_size(tokenizer), 4);
    static const int32_t unknown[] = {3, 3};
    check_encoded(tokenizer, "the cat", unknown, 2, "<unk> <unk>");
    tokenizer_destroy(tokenizer);
}

/* The text of a special token is a word like any other, and none that is known: a text cannot end itself. */
static void test_words_spelled_special(void)
{
    struct tokenizer *tokenizer = words_of("<s> a </s> <unk> <blank> a <s>", 1);
    CHECK_INT(tokenizer_size(tokenizer), 5);
    static const int32_t wanted[] = {3, 4, 3, 3, 3};
    check_encoded(tokenizer, "<s> a </s> <unk> <blank>", wanted, 5, "<unk> a <unk> <unk> <unk>");
    tokenizer_destroy(tokenizer);
}

/* Thousands of words, far more than bytes: none is lost or found twice, and bytes decide the order. */
static void test_many_words(void)
{
    enum { WORDS = 5000 };
    char *text = malloc((size_t)WORDS * 16);
    int64_t bytes = 0;
    for (int i = 0; i < WORDS; i++)
        bytes += sprintf(text + bytes, "w%d\xc3\xa9 ", (i * 7919) % WORDS);
    struct tokenizer *tokenizer = words_of(text, 1);
    CHECK_INT(tokenizer_size(tokenizer), 4 + WORDS);
    for (int32_t token = 5; token < 4 + WORDS; token++) {
        struct token_text before = tokenizer_text(tokenizer, token - 1),
                          text_of = tokenizer_text(tokenizer, token);
        int64_t common = before.count < text_of.count ? before.count : text_of.count;
        int order = memcmp(before.bytes, text_of.bytes, (size_t)common);
        CHECK(order < 0 || (order == 0 && before.count < text_of.count));
        int32_t tokens[ROOM];
        CHECK_INT(encode(tokenizer, text_of.bytes, text_of.count, tokens), 1);
        CHECK_INT(tokens[0], token);
    }
    tokenizer_destroy(tokenizer);
    free(text);
}

/* A vocabulary is kept in JSON, which is UTF-8. */
static void test_words_refused(void)
{
    static const struct {
        const char *text;
        int64_t bytes;
        const char *words;
    } cases[] = {
        {"ab \xff", 4, "0xff|position 4 "},      {"a\0b", 3, "0x00|position 2 "},
        {"\xc3", 1, "0xc3|position 1 "},         {"x\xc0\x80", 3, "0xc0|position 2 "},
        {"\xed\xa0\x80", 3, "0xed|position 1 "}, {"\xf4\x90\x80\x80", 4, "0xf4|position 1 "},
        {"\xe0\x80\x80", 3, "0xe0|position 1 "}, {"\xf0\x8f\xbf\xbf", 4, "0xf0|position 1 "},
        {"\xe2\x82\x28", 3, "0xe2|position 1 "}, {"\xf5\x80\x80\x80", 4, "0xf5|position 1 "},
        {"\xc3\xa9\x80", 3, "0x80|position 3 "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tokenizer *tokenizer = NULL;
        rotary_error error = {0};
        check_about("text %zu", i);
        CHECK_INT(words_create(&tokenizer, cases[i].text, cases[i].bytes, 1, &error),
                  ROTARY_INVALID_ARGUMENT);
        CHECK_WORDS(error.message, cases[i].words);
        CHECK(tokenizer == NULL);
    }
    check_about("%s", "");
    /* The first and last of each length are allowed. */
    struct tokenizer *tokenizer = words_of("\x7f \xc2\x80 \xdf\xbf \xe0\xa0\x80 \xed\x9f\xbf \xee\x80\x80 "
                                           "\xef\xbf\xbf \xf0\x90\x80\x80 \xf4\x8f\xbf\xbf",
                                           1);
    CHECK_INT(tokenizer_size(tokenizer), 4 + 9);
    /* What is encoded may be anything. */
    int32_t tokens[ROOM];
    CHECK_INT(encode(tokenizer, "\xff \0 \x7f", 5, tokens), 3);
    CHECK_INT(tokens[0], 3);
    CHECK_INT(tokens[1], 3);
    CHECK(tokens[2] > 3);
    tokenizer_destroy(tokenizer);
}

/* A vocabulary with a mask has its words behind it, in its file too; text never becomes one. */
static void test_words_with_mask(void)
{
    static const char text[] = "b a a <mask> b a";
    const struct words_config config = {.min_frequency = 1, .mask = true};
    struct tokenizer *tokenizer = NULL, *read = NULL, *plain = words_of(text, 1);
    const char *path = scratch_path("mask.json");
    int32_t tokens[ROOM];
    CHECK_INT(words_configured_create(&tokenizer, text, sizeof text - 1, &config, NULL), ROTARY_OK);
    CHECK_INT(tokenizer_save(tokenizer, path, NULL), ROTARY_OK);
    CHECK_INT(tokenizer_load(&read, path, NULL), ROTARY_OK);
    for (int i = 0; i < 2; i++) {
        const struct tokenizer *checked = i == 0 ? tokenizer : read;
        CHECK_INT(tokenizer_size(checked), 5 + 2);
        check_special(checked,
                      (struct special_tokens){.padding = 2, .unknown = 3, .begin = 0, .end = 1, .mask = 4});
        check_token_text(checked, 4, "<mask>");
        check_token_text(checked, 5, "a");
        check_token_text(checked, 6, "b");
        CHECK_INT(encode(checked, text, sizeof text - 1, tokens), 6);
        static const int32_t wanted[] = {6, 5, 5, 3, 6, 5};
        for (int64_t j = 0; j < 6; j++)
            CHECK_INT(tokens[j], wanted[j]);
        char decoded[ROOM];
        tokenizer_decode(checked, (const int32_t[]){5, 4, 6}, 3, decoded, ROOM);
        CHECK_TEXT(decoded, "a b");
        CHECK(!tokenizer_continues_word(checked, 5));
    }
    CHECK_INT(tokenizer_size(plain), 4 + 3); /* where it is a word like any other */
    tokenizer_destroy(plain);
    tokenizer_destroy(read);
    tokenizer_destroy(tokenizer);
}

/* Each character is a word, of one byte or of four; white space is none, and nothing stands between them when
 * decoded. */
static void test_words_of_characters(void)
{
    static const char text[] = "\xe6\xb3\x95\xe9\x99\xa2 \xe6\xb3\x95\n\xf0\xa0\x80\x80 2\xef\xbc\x8c";
    static const int32_t wanted[] = {5, 9, 5, 8, 6, 7};
    const struct words_config config = {.min_frequency = 1, .characters = true, .mask = true};
    struct tokenizer *tokenizer = NULL, *read = NULL;
    const char *path = scratch_path("characters.json");
    int32_t tokens[ROOM];
    char decoded[ROOM];
    CHECK_INT(words_configured_create(&tokenizer, text, sizeof text - 1, &config, NULL), ROTARY_OK);
    CHECK_INT(tokenizer_save(tokenizer, path, NULL), ROTARY_OK);
    CHECK_INT(tokenizer_load(&read, path, NULL), ROTARY_OK);
    for (int i = 0; i < 2; i++) {
        const struct tokenizer *checked = i == 0 ? tokenizer : read;
        CHECK_INT(tokenizer_size(checked), 5 + 5);
        check_token_text(checked, 5, "\xe6\xb3\x95"); /* twice in the text */
        CHECK_INT(encode(checked, text, sizeof text - 1, tokens), 6);
        static const char *const texts[] = {
            "\xe6\xb3\x95", "\xe9\x99\xa2", "\xe6\xb3\x95", "\xf0\xa0\x80\x80", "2", "\xef\xbc\x8c"};
        for (int j = 0; j < 6; j++)
            check_token_text(checked, tokens[j], texts[j]);
        CHECK_INT(tokens[0], wanted[0]);
        tokenizer_decode(checked, tokens, 6, decoded, ROOM);
        CHECK_TEXT(decoded, "\xe6\xb3\x95\xe9\x99\xa2\xe6\xb3\x95\xf0\xa0\x80\x80"
                            "2\xef\xbc\x8c");
        CHECK_INT(encode(checked, "\xe9\x99", 0, tokens), 0);
        CHECK_INT(encode(checked, "x2", 2, tokens), 2);
        CHECK_INT(tokens[0], tokenizer_special(checked).unknown);
        CHECK(!tokenizer_continues_word(checked, 6));
    }
    tokenizer_destroy(read);
    tokenizer_destroy(tokenizer);
}

/* Marks are words, except inside of words and numbers; decoded, they stand alone. */
static void test_words_and_punctuation(void)
{
    static const struct {
        const char *text, *words;
    } cases[] = {
        {"A man, a plan.", "A man , a plan ."},
        {"don't well-known it's. 'quoted' -x- a--b", "don't well-known it's . ' quoted ' - x - a - - b"},
        {"3.5 1,000 10:30, 3. .5 a.b v1.2", "3.5 1,000 10:30 , 3 . . 5 a . b v1.2"},
        {"\xe2\x80\x9e"
         "Ja\xe2\x80\x9c \xc2\xbb"
         "x\xc2\xab l\xe2\x80\x99"
         "eau \xe2\x82\xac"
         "5",
         "\xe2\x80\x9e Ja \xe2\x80\x9c \xc2\xbb x \xc2\xab l\xe2\x80\x99"
         "eau \xe2\x82\xac 5"},
        {"fu\xc3\x9f"
         "ball\xe3\x80\x82 <s>$?",
         "fu\xc3\x9f"
         "ball \xe3\x80\x82 < s > $ ?"},
        {" \t", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tokenizer *tokenizer = NULL, *read = NULL;
        int32_t tokens[ROOM];
        char decoded[ROOM];
        const char *path = scratch_path("marks.json");
        int64_t bytes = (int64_t)strlen(cases[i].text);
        check_about("\"%s\"", cases[i].text);
        CHECK_INT(words_and_punctuation_create(&tokenizer, cases[i].text, bytes, 1, NULL), ROTARY_OK);
        CHECK_INT(tokenizer_save(tokenizer, path, NULL), ROTARY_OK);
        CHECK_INT(tokenizer_load(&read, path, NULL), ROTARY_OK);
        int64_t count = encode(read, cases[i].text, bytes, tokens);
        for (int64_t j = 0; j < count; j++)
            CHECK(tokens[j] > 3);
        tokenizer_decode(tokenizer, tokens, count, decoded, ROOM);
        CHECK_TEXT(decoded, cases[i].words);
        tokenizer_destroy(read);
        tokenizer_destroy(tokenizer);
    }
    check_about("%s", "");
    /* What is not UTF-8 is part of a word. */
    struct tokenizer *tokenizer = NULL;
    int32_t tokens[ROOM];
    CHECK_INT(words_and_punctuation_create(&tokenizer, "a .", 3, 1, NULL), ROTARY_OK);
    CHECK_INT(encode(tokenizer, "a\xff. \xc3", 5, tokens), 3);
    CHECK_INT(tokens[0], 3);
    CHECK(tokens[1] > 3);
    CHECK_INT(tokens[2], 3);
    tokenizer_destroy(tokenizer);
}

/* ---- bytes ---- */

static void test_bytes(void)
{
    struct tokenizer *tokenizer = bytes_of();
    CHECK_INT(tokenizer_kind(tokenizer), TOKENIZER_BYTES);
    CHECK_INT(tokenizer_size(tokenizer), 259);
    check_special(tokenizer, (struct special_tokens){
                                 .padding = 256, .unknown = -1, .begin = 257, .end = 258, .mask = -1});
    char all[256], back[258];
    for (int byte = 0; byte < 256; byte++)
        all[byte] = (char)byte;
    int32_t tokens[ROOM];
    CHECK_INT(encode(tokenizer, all, 256, tokens), 256);
    for (int i = 0; i < 256; i++)
        CHECK_INT(tokens[i], i);
    tokens[256] = 258;
    tokens[257] = 256;
    CHECK_INT(tokenizer_decode(tokenizer, tokens, 258, back, sizeof back), 256);
    CHECK(memcmp(back, all, 256) == 0 && back[256] == 0);
    check_token_text(tokenizer, 'x', "x");
    check_token_text(tokenizer, 256, "<pad>");
    check_token_text(tokenizer, 257, "<s>");
    check_token_text(tokenizer, 258, "</s>");
    tokenizer_destroy(tokenizer);
}

/* ---- all ---- */

/* Lists are appended to and say how much did not fit; texts are truncated and say how long they are. */
static void test_truncation(void)
{
    struct tokenizer *const tokenizers[] = {characters_of("ab "), words_of("a b", 1), bytes_of()};
    for (int kind = 0; kind <= TOKENIZER_BYTES; kind++) {
        const struct tokenizer *tokenizer = tokenizers[kind];
        int32_t all[ROOM], tokens[ROOM];
        int64_t count = encode(tokenizer, "a b b a", 7, all);
        check_about("%s", tokenizer_names[kind]);
        CHECK_INT(tokenizer_kind(tokenizer), kind);
        for (int64_t capacity = 0; capacity <= count + 1; capacity++) {
            memset(tokens, 0xff, sizeof tokens);
            struct token_list list = {.tokens = tokens, .capacity = capacity};
            CHECK_INT(tokenizer_encode(tokenizer, "a b b a", 7, &list, NULL), ROTARY_OK);
            CHECK_INT(list.count, capacity < count ? capacity : count);
            CHECK_INT(list.count + list.left_out, count);
            CHECK(memcmp(tokens, all, (size_t)list.count * sizeof *all) == 0);
            CHECK_INT(tokens[list.count], -1);
        }
        struct token_list twice = {.tokens = tokens, .capacity = ROOM};
        CHECK_INT(tokenizer_encode(tokenizer, "a b b a", 7, &twice, NULL), ROTARY_OK);
        CHECK_INT(tokenizer_encode(tokenizer, "a", 1, &twice, NULL), ROTARY_OK);
        CHECK_INT(twice.count, count + 1);
        CHECK_INT(tokens[count], all[0]);
        CHECK_INT(tokenizer_decode(tokenizer, all, count, NULL, 0), 7);
        for (int64_t capacity = 1; capacity < 10; capacity++) {
            char text[12];
            memset(text, 'x', sizeof text);
            CHECK_INT(tokenizer_decode(tokenizer, all, count, text, capacity), 7);
            int64_t kept = capacity <= 7 ? capacity - 1 : 7;
            CHECK_INT((int64_t)strlen(text), kept);
            CHECK(strncmp(text, "a b b a", (size_t)kept) == 0);
            CHECK_INT(text[kept + 1], 'x');
        }
    }
    check_about("%s", "");
    for (int kind = 0; kind <= TOKENIZER_BYTES; kind++)
        tokenizer_destroy(tokenizers[kind]);
}

/* ---- files ---- */

static void test_files(void)
{
    struct tokenizer *const tokenizers[] = {characters_of("b\xff\x01 a"), words_of("z \xc3\xa9 z \"q\\ a", 1),
                                            bytes_of()};
    for (int kind = 0; kind <= TOKENIZER_BYTES; kind++) {
        const char *path = scratch_path("tokenizer.json");
        struct tokenizer *read = NULL;
        check_about("%s", tokenizer_names[kind]);
        CHECK_INT(tokenizer_save(tokenizers[kind], path, NULL), ROTARY_OK);
        if (!CHECK_INT(tokenizer_load(&read, path, NULL), ROTARY_OK))
            continue;
        CHECK_INT(tokenizer_kind(read), kind);
        CHECK_INT(tokenizer_size(read), tokenizer_size(tokenizers[kind]));
        for (int32_t token = 0; token < tokenizer_size(read); token++) {
            const struct token_text text = tokenizer_text(read, token),
                                    wanted = tokenizer_text(tokenizers[kind], token);
            CHECK_INT(text.count, wanted.count);
            CHECK(memcmp(text.bytes, wanted.bytes, (size_t)wanted.count) == 0);
        }
        check_special(read, tokenizer_special(tokenizers[kind]));
        tokenizer_destroy(read);
    }
    check_about("%s", "");
    for (int kind = 0; kind <= TOKENIZER_BYTES; kind++)
        tokenizer_destroy(tokenizers[kind]);
}

static void test_files_refused(void)
{
    static const struct {
        const char *text, *words;
    } cases[] = {
        {"[]", "no JSON object"},
        {"{}", "is no tokenizer"},
        {"IQ== 0\nIg== 1\n", "a vocabulary of tiktoken|wanted the tokenizer.json"},
        {"IQ== 0 1\n", "line 1"},
        {"IQ==\n", "line 1"},
        {"{\"config\": {\"default_num_special_tokens\": 1000}, \"vocab\": [\"\\u0000\"]}",
         "a vocabulary of Tekken"},
        {"{\"format\":2,\"tokenizer\":\"bytes\"}", "format 2"},
        {"{\"format\":1}", "characters, words, bytes, sentencepiece, huggingface or wordpiece"},
        {"{\"format\":1,\"tokenizer\":7}",
         "characters, words, bytes, sentencepiece, huggingface or wordpiece"},
        {"{\"format\":1,\"tokenizer\":\"word\"}", "\"word\"|did you mean \"words\""},
        {"{\"format\":1,\"tokenizer\":\"words\"}", "\"words\"|a list"},
        {"{\"format\":1,\"tokenizer\":\"words\",\"words\":\"a\"}", "\"words\"|a list"},
        {"{\"format\":1,\"tokenizer\":\"words\",\"words\":[\"a\",7]}", "entry 2|white space"},
        {"{\"format\":1,\"tokenizer\":\"words\",\"words\":[\"a\",\"\"]}", "entry 2|white space"},
        {"{\"format\":1,\"tokenizer\":\"words\",\"words\":[\"a b\"]}", "entry 1|white space"},
        {"{\"format\":1,\"tokenizer\":\"words\",\"words\":[\"a\",\"b.\"],\"punctuation\":true}",
         "entry 2|not one word"},
        {"{\"format\":1,\"tokenizer\":\"words\",\"words\":[\"a\"],\"punctuation\":1}", "\"punctuation\""},
        {"{\"format\":1,\"tokenizer\":\"words\",\"words\":[\"a\"],\"characters\":1}", "\"characters\""},
        {"{\"format\":1,\"tokenizer\":\"words\",\"words\":[\"a\",\"bc\"],\"characters\":true}",
         "entry 2|not one word"},
        {"{\"format\":1,\"tokenizer\":\"words\",\"words\":[\"x\",\"y\",\"</s>\"]}", "entry 3"},
        {"{\"format\":1,\"tokenizer\":\"words\",\"words\":[\"x\",\"y\",\"x\"]}", "entry 3|\"x\"|twice"},
        {"{\"format\":1,\"tokenizer\":\"characters\"}", "\"bytes\"|1 to 256"},
        {"{\"format\":1,\"tokenizer\":\"characters\",\"bytes\":[]}", "\"bytes\"|1 to 256"},
        {"{\"format\":1,\"tokenizer\":\"characters\",\"bytes\":[1,256]}", "entry 2|0 to 255"},
        {"{\"format\":1,\"tokenizer\":\"characters\",\"bytes\":[1,-1]}", "entry 2|0 to 255"},
        {"{\"format\":1,\"tokenizer\":\"characters\",\"bytes\":[1,2.5]}", "entry 2|0 to 255"},
        {"{\"format\":1,\"tokenizer\":\"characters\",\"bytes\":[9,1,9]}", "entry 3|once"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *path = scratch_path("damaged.json");
        struct tokenizer *tokenizer = NULL;
        rotary_error error = {0};
        scratch_write(path, cases[i].text, strlen(cases[i].text));
        check_about("%s", cases[i].text);
        CHECK_INT(tokenizer_load(&tokenizer, path, &error), ROTARY_BAD_FILE);
        CHECK_WORDS(error.message, cases[i].words);
        CHECK(strstr(error.message, path) != NULL);
        CHECK(tokenizer == NULL);
    }
    check_about("%s", "");
}

int main(void)
{
    test_characters();
    test_every_character();
    test_unknown_character();
    test_words();
    test_words_spelled_special();
    test_many_words();
    test_words_refused();
    test_words_with_mask();
    test_words_of_characters();
    test_words_and_punctuation();
    test_bytes();
    test_truncation();
    test_files();
    test_files_refused();
    return check_report();
}
