/* SPDX-License-Identifier: Apache-2.0
 *
 * Text that comes token by token is the text of all tokens, shown in complete characters, and ends at a stop
 * string wherever its pieces begin.
 */
#include "support/check.h"
#include "support/scratch.h"
#include "text/stop_strings.h"
#include "text/token_stream.h"
#include "text/unicode.h"

#include "base/random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = 4096 };

struct text {
    char bytes[ROOM];
    int64_t count;
    int pieces; /* that were not empty */
};

static void append(struct text *to, struct token_text piece)
{
    static uint32_t points[ROOM];
    if (piece.count == 0)
        return;
    int64_t count = unicode_decode(piece.bytes, piece.count, points);
    static char again[4 * ROOM];
    /* Complete characters alone: decoding and encoding changes nothing. */
    CHECK_INT(unicode_encode(points, count, again), piece.count);
    CHECK(memcmp(again, piece.bytes, (size_t)piece.count) == 0);
    memcpy(to->bytes + to->count, piece.bytes, (size_t)piece.count);
    to->count += piece.count;
    to->pieces++;
    to->bytes[to->count] = 0;
}

static struct text stream(const struct tokenizer *tokenizer, const int32_t *tokens, int64_t context,
                          int64_t count)
{
    static struct text text;
    text = (struct text){.count = 0};
    struct token_stream stream;
    struct token_text piece;
    token_stream_start(&stream, tokenizer, tokens, context);
    for (int64_t i = context; i < count; i++) {
        CHECK_INT(token_stream_add(&stream, tokens[i], &piece, NULL), ROTARY_OK);
        append(&text, piece);
    }
    CHECK_INT(token_stream_end(&stream, &piece, NULL), ROTARY_OK);
    append(&text, piece);
    token_stream_free(&stream);
    return text;
}

/* The tokens of `sentence` after its first `context` tokens. */
static void check_rest(const struct tokenizer *tokenizer, const char *sentence, int64_t context,
                       const char *wanted)
{
    int32_t tokens[ROOM];
    struct token_list list = {.tokens = tokens, .capacity = ROOM};
    check_about("\"%s\" after %d tokens", sentence, (int)context);
    CHECK_INT(tokenizer_encode(tokenizer, sentence, (int64_t)strlen(sentence), &list, NULL), ROTARY_OK);
    const struct text got = stream(tokenizer, tokens, context, list.count);
    CHECK_TEXT(got.bytes, wanted);
    check_about("%s", "");
}

static void test_bytes(void)
{
    struct tokenizer *bytes = NULL;
    CHECK_INT(bytes_create(&bytes, NULL), ROTARY_OK);
    const char *text = "na\xc3\xafve \xe4\xb8\xad\xe6\x96\x87 \xf0\x9f\x98\x80!";
    check_rest(bytes, text, 0, text);
    check_rest(bytes, text, 5, text + 5);
    int32_t tokens[ROOM];
    struct token_list list = {.tokens = tokens, .capacity = ROOM};
    CHECK_INT(tokenizer_encode(bytes, text, (int64_t)strlen(text), &list, NULL), ROTARY_OK);
    CHECK_INT(stream(bytes, tokens, 0, list.count).pieces, 11); /* characters */
    /* What is not UTF-8 is replaced: a lone lead byte, one that lacks its last byte, and the end of a text.
     */
    static const int32_t broken[] = {'a', 0xe4, 'b', 0xf0, 0x9f, 0x98, 'c', 0x80, 0xe4, 0xb8};
    CHECK_TEXT(stream(bytes, broken, 0, 10).bytes, "a\xef\xbf\xbd"
                                                   "b\xef\xbf\xbd"
                                                   "c\xef\xbf\xbd\xef\xbf\xbd");
    tokenizer_destroy(bytes);
}

/* Bytes and what Python's decode("utf-8", "replace") makes of them. */
static void test_replaced(void)
{
#define R "\xef\xbf\xbd"
    static const struct {
        const char *bytes, *wanted;
    } rows[] = {{"a\xff"
                 "b",
                 "a" R "b"},
                {"\x80\xbf", R R},
                {"\xc0\xaf", R R},
                {"\xc1\xbf"
                 "a",
                 R R "a"},
                {"\xe0\x80\xaf", R R R},
                {"\xe0\xa0", R},
                {"\xed\xa0\x80", R R R},
                {"\xf0\x90\xe4\xb8", R R},
                {"\xf0\x9f\x98", R},
                {"\xf0\x9f\x98"
                 "a",
                 R "a"},
                {"\xf0\x8f\xbf\xbf", R R R R},
                {"\xf4\x90\x80\x80", R R R R},
                {"\xf5\x80\x80\x80", R R R R},
                {"\xe4\xe4\xb8\xad", R "\xe4\xb8\xad"},
                {"\xe4\xb8\xe4\xb8\xe4\xb8\xad\xc3", R R "\xe4\xb8\xad" R},
                {"\xf0\x9f\xf0\x9f\xf0\x9f\x98\x80", R R "\xf0\x9f\x98\x80"},
                {"\xef\xbf\xbd\xef\xbf", R R}};
    struct tokenizer *bytes = NULL;
    CHECK_INT(bytes_create(&bytes, NULL), ROTARY_OK);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int32_t tokens[64];
        const int64_t count = (int64_t)strlen(rows[i].bytes);
        for (int64_t j = 0; j < count; j++)
            tokens[j] = (unsigned char)rows[i].bytes[j];
        check_about("row %d", (int)i);
        CHECK_TEXT(stream(bytes, tokens, 0, count).bytes, rows[i].wanted);
    }
    check_about("%s", "");
    tokenizer_destroy(bytes);
}

/* What no byte can complete is shown at once, and what is complete before that which waits. */
static void test_at_once(void)
{
    static const struct {
        int32_t token;
        const char *shown;
    } rows[] = {{0xff, R},  {'a', "a"}, {0x80, R},    {0xc0, R},  {0xe4, ""},
                {0xb8, ""}, {257, ""},  {'b', R "b"}, {0xf0, ""}, {0x90, ""},
                {0xe4, R},  {0xb8, ""}, {257, ""},    {257, ""},  {0xad, "\xe4\xb8\xad"},
                {0xef, ""}, {0xbf, ""}, {0xbd, R}};
    struct tokenizer *bytes = NULL;
    struct token_stream stream;
    struct token_text piece;
    CHECK_INT(bytes_create(&bytes, NULL), ROTARY_OK);
    token_stream_start(&stream, bytes, NULL, 0);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[16];
        check_about("token %d", (int)i);
        CHECK_INT(token_stream_add(&stream, rows[i].token, &piece, NULL), ROTARY_OK);
        snprintf(text, sizeof text, "%.*s", (int)piece.count, piece.bytes);
        CHECK_TEXT(text, rows[i].shown);
    }
    check_about("%s", "");
    token_stream_free(&stream);
    tokenizer_destroy(bytes);
}

/* Any number of tokens without text may come within a character. */
static void test_empty_tokens(void)
{
    enum { COUNT = 3 * TOKEN_STREAM_WINDOW };
    int32_t tokens[COUNT];
    struct tokenizer *bytes = NULL;
    CHECK_INT(bytes_create(&bytes, NULL), ROTARY_OK);
    for (int i = 0; i < COUNT; i++)
        tokens[i] = 257;
    tokens[0] = 0xe4;
    tokens[COUNT - 2] = 0xb8;
    tokens[COUNT - 1] = 0xad;
    CHECK_TEXT(stream(bytes, tokens, 0, COUNT).bytes, "\xe4\xb8\xad");
    tokenizer_destroy(bytes);
}

/* Of a token that ends within a character what is before it is shown, once. */
static void test_parts_of_tokens(void)
{
    static const char file[] =
        "{\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"use_regex\":false},"
        "\"decoder\":{\"type\":\"ByteLevel\"},\"model\":{\"type\":\"BPE\",\"merges\":[],\"vocab\":{"
        "\"ab\\u00e4\":0,\"\\u00b8\":1,\"\\u0143\":2,\"\\u0143c\\u00e4\":3}}}";
    static const int32_t tokens[] = {0, 1, 3, 1, 2, 0, 0};
    static const char *const shown[] = {"ab",
                                        "",
                                        "\xe4\xb8\xad"
                                        "c",
                                        "",
                                        "\xe4\xb8\xad",
                                        "ab",
                                        R "ab"};
    struct tokenizer *tokenizer = NULL;
    struct token_stream stream;
    struct token_text piece;
    scratch_write_text("tokenizer.json", file);
    if (!CHECK_INT(tokenizer_load(&tokenizer, scratch_path("tokenizer.json"), NULL), ROTARY_OK))
        return;
    token_stream_start(&stream, tokenizer, NULL, 0);
    for (int i = 0; i < 7; i++) {
        char text[16];
        check_about("token %d", i);
        CHECK_INT(token_stream_add(&stream, tokens[i], &piece, NULL), ROTARY_OK);
        snprintf(text, sizeof text, "%.*s", (int)piece.count, piece.bytes);
        CHECK_TEXT(text, shown[i]);
    }
    CHECK_INT(token_stream_end(&stream, &piece, NULL), ROTARY_OK);
    CHECK(piece.count == 3 && memcmp(piece.bytes, R, 3) == 0);
    check_about("%s", "");
    token_stream_free(&stream);
    tokenizer_destroy(tokenizer);
}

/* Of random bytes the stream is what all of them are, with many tokens without text among them. */
static void test_random_bytes(void)
{
    static const unsigned char some[] = {0x00, 'a',  0x7f, 0x80, 0x90, 0x9f, 0xa0, 0xb8, 0xbf, 0xc0,
                                         0xc3, 0xe0, 0xe4, 0xed, 0xef, 0xf0, 0xf0, 0xf4, 0xf5, 0xff};
    const struct rotary_random_key key = {.seed = 9, .stream = ROTARY_STREAM_TEST};
    struct rotary_random random = {.key = key};
    struct tokenizer *bytes = NULL;
    CHECK_INT(bytes_create(&bytes, NULL), ROTARY_OK);
    for (int round = 0; round < 500; round++) {
        enum { COUNT = 60 };
        int32_t tokens[COUNT];
        char all[COUNT + 1], *mended = NULL;
        int64_t count = 0;
        for (int i = 0; i < COUNT; i++) {
            const uint32_t which = rotary_random_below(&random, 2 * sizeof some);
            tokens[i] = which < sizeof some ? some[which] : round % 2 ? 257 : some[which - sizeof some];
            tokens[i] += tokens[i] == 0; /* a text of the test ends with a zero byte */
        }
        const int64_t length = tokenizer_decode(bytes, tokens, COUNT, all, sizeof all);
        CHECK_INT(unicode_mend(all, length, &mended, &count, NULL), ROTARY_OK);
        check_about("round %d", round);
        CHECK_TEXT(stream(bytes, tokens, 0, COUNT).bytes, mended);
        free(mended);
    }
    check_about("%s", "");
    tokenizer_destroy(bytes);
}

/* What comes between words is there after the context too. */
static void test_words(void)
{
    const char *corpus = "the cat and the dog and the bird sat on the mat and ate the end of it all";
    struct tokenizer *words = NULL;
    CHECK_INT(words_create(&words, corpus, (int64_t)strlen(corpus), 1, NULL), ROTARY_OK);
    check_rest(words, corpus, 0, corpus);
    check_rest(words, corpus, 1, corpus + 3);
    check_rest(words, corpus, 12, corpus + 47);
    tokenizer_destroy(words);
}

/* The token of a piece; -1: there is none. */
static int32_t token_of(const struct tokenizer *tokenizer, const char *piece)
{
    for (int32_t i = 0; i < tokenizer_size(tokenizer); i++) {
        const struct token_text text = tokenizer_text(tokenizer, i);
        if (text.count == (int64_t)strlen(piece) && memcmp(text.bytes, piece, (size_t)text.count) == 0)
            return i;
    }
    return -1;
}

/* Of bytes that are pieces of SentencePiece too those are shown at once that nothing completes; its library
 * has U+FFFD for each of them. */
static void test_bytes_of_pieces(const struct tokenizer *pieces)
{
    static const struct {
        const char *piece, *shown;
    } rows[] = {{"<0xFF>", R},   {"<0xF0>", ""}, {"<0x90>", ""},
                {"<0xE4>", R R}, {"<0xB8>", ""}, {"<0xAD>", "\xe4\xb8\xad"},
                {"<0x80>", R}};
    struct token_stream stream;
    struct token_text piece;
    if (token_of(pieces, "<0xFF>") < 0)
        return;
    token_stream_start(&stream, pieces, NULL, 0);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[16];
        check_about("%s", rows[i].piece);
        CHECK_INT(token_stream_add(&stream, token_of(pieces, rows[i].piece), &piece, NULL), ROTARY_OK);
        snprintf(text, sizeof text, "%.*s", (int)piece.count, piece.bytes);
        CHECK_TEXT(text, rows[i].shown);
    }
    check_about("%s", "");
    token_stream_free(&stream);
}

/* Pieces of SentencePiece, with bytes for characters that have none: all tokens give the text, whatever was
 * the context. */
static void test_pieces(const char *model)
{
    struct tokenizer *pieces = NULL;
    rotary_error error = {0};
    rotary_status status = tokenizer_load(&pieces, model, &error);
    if (status == ROTARY_UNSUPPORTED)
        return;
    if (!CHECK_INT(status, ROTARY_OK))
        printf("%s\n", error.message);
    const struct rotary_random_key key = {.seed = 5, .stream = ROTARY_STREAM_TEST};
    struct rotary_random random = {.key = key};
    for (int round = 0; round < 50; round++) {
        enum { COUNT = 60 };
        int32_t tokens[COUNT];
        for (int i = 0; i < COUNT; i++)
            tokens[i] = (int32_t)rotary_random_below(&random, (uint32_t)tokenizer_size(pieces));
        static char all[ROOM], context[ROOM];
        for (int64_t before = 0; before < 3; before++) {
            int64_t bytes = tokenizer_decode(pieces, tokens, COUNT, all, ROOM),
                    first = tokenizer_decode(pieces, tokens, before, context, ROOM);
            check_about("round %d, after %d tokens", round, (int)before);
            if (first >= 3 && memcmp(context + first - 3, "\xef\xbf\xbd", 3) == 0)
                continue; /* no prompt ends within a character */
            CHECK(bytes < ROOM && first <= bytes);
            CHECK_TEXT(stream(pieces, tokens, before, COUNT).bytes, all + first);
        }
    }
    check_about("%s", "");
    test_bytes_of_pieces(pieces);
    tokenizer_destroy(pieces);
}

/* Reads a text in pieces of `size` bytes, up to a stop string. */
static struct text read_pieces(const char *text, int64_t size, const char *const *strings, int count,
                               int *found)
{
    static struct text got;
    got = (struct text){.count = 0};
    struct stop_strings stop;
    stop_strings_start(&stop, strings, count);
    int64_t bytes = (int64_t)strlen(text), shown_bytes;
    const char *shown;
    for (int64_t at = 0; at < bytes; at += size) {
        int64_t piece = bytes - at < size ? bytes - at : size;
        CHECK_INT(stop_strings_read(&stop, text + at, piece, &shown, &shown_bytes, NULL), ROTARY_OK);
        append(&got, (struct token_text){shown, shown_bytes});
    }
    *found = stop.found;
    if (stop.found < 0) {
        stop_strings_end(&stop, &shown, &shown_bytes);
        append(&got, (struct token_text){shown, shown_bytes});
    }
    stop_strings_free(&stop);
    return got;
}

static void test_stop(void)
{
    static const struct {
        const char *text, *strings[3], *wanted;
        int found;
    } cases[] = {{"one two three", {"two"}, "one ", 0},
                 {"aaab", {"aab"}, "a", 0},
                 {"ababac", {"abac"}, "ab", 0},
                 {"one two", {"twos", "zwei"}, "one two", -1},
                 {"abcde", {"e", "cd", "bcd"}, "a", 2}, /* both end with d: the longer one */
                 {"abcde", {"bcdef", "cd"}, "ab", 1},
                 {"\n\nUser: hi", {"User:", "\n\nU"}, "", 1},
                 {"end", {"end"}, "", 0},
                 {"en", {"end"}, "en", -1},
                 {"nothing", {NULL}, "nothing", -1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int count = 0, found;
        while (count < 3 && cases[i].strings[count])
            count++;
        for (int64_t size = 1; size <= 14; size++) {
            check_about("\"%s\" in pieces of %d bytes", cases[i].text, (int)size);
            const struct text got = read_pieces(cases[i].text, size, cases[i].strings, count, &found);
            CHECK_TEXT(got.bytes, cases[i].wanted);
            CHECK_INT(found, cases[i].found);
        }
    }
    check_about("%s", "");
    /* What cannot be the start of a stop string is shown at once. */
    static const char *const strings[] = {"stop"};
    struct stop_strings stop;
    const char *shown;
    int64_t bytes;
    stop_strings_start(&stop, strings, 1);
    CHECK_INT(stop_strings_read(&stop, "one st", 6, &shown, &bytes, NULL), ROTARY_OK);
    CHECK_INT(bytes, 4);
    CHECK_INT(stop_strings_read(&stop, "ep", 2, &shown, &bytes, NULL), ROTARY_OK);
    CHECK_INT(bytes, 4);
    CHECK(bytes == 4 && memcmp(shown, "step", 4) == 0);
    stop_strings_free(&stop);
}

int main(int count, char **arguments)
{
    test_bytes();
    test_replaced();
    test_at_once();
    test_empty_tokens();
    test_parts_of_tokens();
    test_random_bytes();
    test_words();
    for (int i = 1; i < count; i++)
        test_pieces(arguments[i]);
    test_stop();
    return check_report();
}
