/* SPDX-License-Identifier: Apache-2.0
 *
 * The program's own encoder of SentencePiece models gives the ids of the library: of trained models with and
 * without bytes, some pieces of which are made user-defined or unused, and texts of all sorts.
 */
#include "base/random.h"
#include "support/check.h"
#include "support/scratch.h"
#include "text/sentencepiece_text.h"
#include "text/tokenizer/protobuf.h"
#include "text/tokenizer/sentencepiece_encoder.h"
#include "text/tokenizer/sentencepiece_library.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TOKENS = 1 << 18,
    TEXT_BYTES = 1 << 18,
    TEXTS = 400,
    LONG_TEXTS = 2,
    LONG_PARTS = 60000,
    PIECE = 1,
    USER_DEFINED = 4,
    UNUSED = 5
};

static const char *const parts[] = {"ba",
                                    "lo",
                                    "mi",
                                    "ne",
                                    " ",
                                    " ",
                                    "  ",
                                    ".",
                                    "a",
                                    "b",
                                    "ka ti",
                                    "\xe2\x96\x81", /* U+2581 */
                                    "\xc3\xbc",
                                    "u\xcc\x88",
                                    "\xc2\xa0",
                                    "\xe3\x80\x80",
                                    "\t",
                                    "\xef\xac\x81", /* precomposed or not, spaces, fi */
                                    "\xe2\x91\xa0",
                                    "\xe6\x97\xa5\xe6\x9c\xac",
                                    "\xf0\x9f\x91\x8d",
                                    "Q",
                                    "x\xcc\x81",
                                    "\xe2\x80\x8b"};

static struct rotary_random source = {.key = {.seed = 3, .stream = ROTARY_STREAM_TEST}};

static int draw(int limit)
{
    return (int)rotary_random_below(&source, (uint32_t)limit);
}

static int64_t make_text(char text[TEXT_BYTES])
{
    const int count = draw(draw(4) == 0 ? 100 : 20);
    int64_t bytes = 0;
    for (int i = 0; i < count; i++) {
        const char *part = parts[draw(sizeof parts / sizeof parts[0])];
        memcpy(text + bytes, part, strlen(part));
        bytes += (int64_t)strlen(part);
    }
    return bytes;
}

/* Copies a model with another type for every tenth of the pieces that have none, from piece `first` on. */
static int64_t change_types(const char *from, int64_t count, char *to, int64_t first, int type)
{
    const unsigned char *begin = (const unsigned char *)from;
    struct protobuf message = {begin, begin + count};
    struct protobuf_field field;
    int64_t piece = 0, bytes = 0;
    for (const unsigned char *at = begin; protobuf_next(&message, &field) && field.number != 0;
         at = message.at) {
        const int64_t length = message.at - at;
        const bool changes = field.number == PIECE && at[1] < 0x70 &&
                             !memmem(field.bytes, (size_t)field.count, "\x18", 1) && ++piece % 10 == first;
        memcpy(to + bytes, at, (size_t)length);
        if (changes) {
            to[bytes + 1] = (char)(to[bytes + 1] + 2);
            memcpy(to + bytes + length, (char[]){0x18, (char)type}, 2);
        }
        bytes += length + (changes ? 2 : 0);
    }
    return bytes;
}

/* Checks one text; returns how many tokens it has. */
static int64_t compare_text(const struct sentencepiece_processor *library,
                            const struct sentencepiece_encoder *encoder, const char *text, int64_t length)
{
    static int32_t wanted[TOKENS], got[TOKENS];
    struct token_list theirs = {.tokens = wanted, .capacity = TOKENS},
                      ours = {.tokens = got, .capacity = TOKENS};
    CHECK_INT(sentencepiece_processor_encode(library, text, length, &theirs, NULL), ROTARY_OK);
    CHECK_INT(sentencepiece_encoder_encode(encoder, text, length, &ours, NULL), ROTARY_OK);
    CHECK_INT(ours.count, theirs.count);
    if (!CHECK(memcmp(wanted, got, (size_t)theirs.count * sizeof *got) == 0))
        printf("\"%.*s\"\n", length < 1000 ? (int)length : 1000, text);
    return theirs.count;
}

/* The same texts to both. Returns how many tokens were compared. */
static int64_t compare(const char *bytes, int64_t count, bool encodes)
{
    static char text[TEXT_BYTES];
    struct sentencepiece_processor *library = NULL;
    struct sentencepiece_encoder *encoder = NULL;
    int64_t compared = 0;
    if (!CHECK_INT(sentencepiece_processor_create(&library, bytes, count, NULL), ROTARY_OK) ||
        !CHECK_INT(sentencepiece_encoder_create(&encoder, bytes, count, NULL), ROTARY_OK))
        return 0;
    CHECK((encoder != NULL) == encodes);
    for (int i = 0; encoder && i < TEXTS; i++)
        compared += compare_text(library, encoder, text, make_text(text));
    /* Sums grow until they no longer tell near ways apart. */
    for (int i = 0; i < TEXT_BYTES; i++)
        text[i] = (char)('a' + draw(2));
    if (encoder)
        compared += compare_text(library, encoder, text, TEXT_BYTES);
    sentencepiece_encoder_destroy(encoder);
    sentencepiece_processor_destroy(library);
    return compared;
}

/* A piece whose score is nearly the sum of its parts' scores. */
static void test_near_ways(void)
{
    static const struct {
        const char *text;
        float score;
    } pieces[] = {{"\xe2\x96\x81", -3}, {"a", -1.1f},       {"b", -1.3f},
                  {"ab", -2.4001f},     {"aba", -3.50005f}, {"ba", -2.3999f}};
    char bytes[256] = "\n\x07\n\x03unk\x18\x02";
    int64_t count = 9;
    check_about("near ways");
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
        const int length = (int)strlen(pieces[i].text);
        count += sprintf(bytes + count, "\n%c\n%c%s\x15", (char)(length + 7), (char)length, pieces[i].text);
        memcpy(bytes + count, &pieces[i].score, sizeof(float));
        count += (int64_t)sizeof(float);
    }
    CHECK(compare(bytes, count, true) > TEXT_BYTES / 3);
    check_about("%s", "");
}

static void test_model(struct generated_text *text, enum sentencepiece_model model, bool fallback)
{
    struct sentencepiece_config config;
    sentencepiece_defaults(&config);
    config.model = model;
    config.vocabulary_size = fallback ? 350 : 90;
    config.byte_fallback = fallback;
    char *bytes = NULL;
    int64_t count = 0;
    rotary_error error = {0};
    check_about("%s%s", sentencepiece_model_names[model], fallback ? " with bytes" : "");
    if (!CHECK_INT(sentencepiece_library_train(&config, text->lines, GENERATED_LINES, &bytes, &count, &error),
                   ROTARY_OK)) {
        printf("%s\n", error.message);
        return;
    }
    char *changed = malloc((size_t)count * 2);
    CHECK(compare(bytes, count, true) > 10 * TEXTS);
    for (int first = 1; first < 10; first += 4) {
        check_about("%s%s, user-defined", sentencepiece_model_names[model], fallback ? " with bytes" : "");
        const int64_t defined = change_types(bytes, count, changed, first, USER_DEFINED);
        CHECK(defined > count);
        /* Merges of a user-defined character's neighbours are the library's. */
        struct sentencepiece_encoder *encoder = NULL;
        CHECK_INT(sentencepiece_encoder_create(&encoder, changed, defined, &error), ROTARY_OK);
        const bool encodes = encoder != NULL;
        sentencepiece_encoder_destroy(encoder);
        CHECK(encodes || model == SENTENCEPIECE_BPE);
        compare(changed, defined, encodes);
        check_about("%s%s, unused", sentencepiece_model_names[model], fallback ? " with bytes" : "");
        const int64_t unused = change_types(bytes, count, changed, first, UNUSED);
        compare(changed, unused, model == SENTENCEPIECE_UNIGRAM);
    }
    check_about("%s", "");
    free(changed);
    free(bytes);
}

int main(void)
{
    static struct generated_text text;
    if (!sentencepiece_version()) {
        printf("skipped: this program was built without SentencePiece\n");
        return 77;
    }
    generate_text(&text, 11);
    test_near_ways();
    for (int model = 0; sentencepiece_model_names[model]; model++)
        for (int fallback = 0; fallback < 2; fallback++)
            test_model(&text, (enum sentencepiece_model)model, fallback == 1);
    return check_report();
}
