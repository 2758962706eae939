/* SPDX-License-Identifier: Apache-2.0
 *
 * SentencePiece: models trained on generated text, their tokens and files, options, what cannot be trained,
 * and files that the library must not see.
 */
#include "support/check.h"
#include "support/scratch.h"
#include "text/sentencepiece_text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = 256 };
static struct generated_text text;

static struct sentencepiece_config config_of(enum sentencepiece_model model, int64_t size)
{
    struct sentencepiece_config config;
    sentencepiece_defaults(&config);
    config.model = model;
    config.vocabulary_size = size;
    return config;
}

static struct tokenizer *train(const struct sentencepiece_config *config)
{
    struct tokenizer *tokenizer = NULL;
    rotary_error error = {0};
    if (!CHECK_INT(sentencepiece_train(&tokenizer, config, text.lines, GENERATED_LINES, NULL, &error),
                   ROTARY_OK))
        printf("%s\n", error.message);
    return tokenizer;
}

static char *read_file(const char *path, long *count)
{
    FILE *file = fopen(path, "rb");
    fseek(file, 0, SEEK_END);
    *count = ftell(file);
    rewind(file);
    char *bytes = malloc((size_t)*count + 1);
    CHECK(fread(bytes, 1, (size_t)*count, file) == (size_t)*count);
    fclose(file);
    return bytes;
}

static int64_t encode(const struct tokenizer *tokenizer, const char *line, int32_t tokens[ROOM])
{
    struct token_list list = {.tokens = tokens, .capacity = ROOM};
    CHECK_INT(tokenizer_encode(tokenizer, line, (int64_t)strlen(line), &list, NULL), ROTARY_OK);
    CHECK_INT(list.left_out, 0);
    return list.count;
}

/* Lines of the text become pieces that they are made of, and the same lines again. */
static void check_lines(const struct tokenizer *tokenizer)
{
    int64_t tokens_in_all = 0;
    for (int i = 0; i < GENERATED_LINES; i++) {
        int32_t tokens[ROOM];
        char back[ROOM], joined[2 * ROOM] = "";
        int64_t count = encode(tokenizer, text.bytes[i], tokens), words = 0;
        tokens_in_all += count;
        for (int64_t j = 0; j < count; j++) {
            const struct token_text piece = tokenizer_text(tokenizer, tokens[j]);
            CHECK(tokens[j] > 3 && tokens[j] < tokenizer_size(tokenizer));
            strncat(joined, piece.bytes, (size_t)piece.count);
            words += !tokenizer_continues_word(tokenizer, tokens[j]);
        }
        CHECK_INT(words, 6);
        CHECK_INT((int64_t)strlen(joined), text.lines[i].count + 6 * 3 - 5); /* a space is U+2581 */
        CHECK_INT(tokenizer_decode(tokenizer, tokens, count, back, ROOM), text.lines[i].count);
        CHECK_TEXT(back, text.bytes[i]);
    }
    CHECK(tokens_in_all < GENERATED_LINES * 40);
}

/* A line of Chinese is one run of letters, whose pieces are words nevertheless. */
static void test_chinese(void)
{
    enum { LINES = 200, CHARACTERS = 16 };
    static char bytes[LINES][3 * CHARACTERS + 1];
    struct text_line lines[LINES];
    const struct sentencepiece_config config = config_of(SENTENCEPIECE_BPE, 60);
    struct tokenizer *tokenizer = NULL;
    int64_t longer = 0;
    for (int i = 0; i < LINES; i++) {
        for (int j = 0; j < CHARACTERS; j++) { /* U+6C00 and the next nineteen */
            const int place = (i * i + 3 * j * j + i * j) % 20;
            memcpy(bytes[i] + 3 * j, (char[]){'\xe6', '\xb0', (char)(0x80 + place), '\0'}, 4);
        }
        lines[i] = (struct text_line){bytes[i], 3 * CHARACTERS};
    }
    if (!CHECK_INT(sentencepiece_train(&tokenizer, &config, lines, LINES, NULL, NULL), ROTARY_OK))
        return;
    for (int i = 0; i < LINES; i++) {
        int32_t tokens[ROOM];
        const int64_t count = encode(tokenizer, bytes[i], tokens);
        CHECK(count > 2 && count <= CHARACTERS + 1);
        for (int64_t j = 0; j < count; j++) {
            CHECK(!tokenizer_continues_word(tokenizer, tokens[j]));
            longer += tokenizer_text(tokenizer, tokens[j]).count > 3;
        }
    }
    CHECK(longer > LINES);
    tokenizer_destroy(tokenizer);
}

static void check_special(const struct tokenizer *tokenizer, const struct special_tokens *wanted)
{
    const struct special_tokens special = tokenizer_special(tokenizer);
    CHECK_INT(special.padding, wanted->padding);
    CHECK_INT(special.unknown, wanted->unknown);
    CHECK_INT(special.begin, wanted->begin);
    CHECK_INT(special.end, wanted->end);
    CHECK_INT(special.mask, wanted->mask);
}

static void test_models(void)
{
    for (int model = 0; sentencepiece_model_names[model]; model++) {
        const struct sentencepiece_config config = config_of((enum sentencepiece_model)model, 60);
        struct tokenizer *tokenizer = train(&config), *again = train(&config), *read = NULL;
        check_about("%s", sentencepiece_model_names[model]);
        if (!CHECK(tokenizer && again))
            return;
        CHECK_INT(tokenizer_kind(tokenizer), TOKENIZER_SENTENCEPIECE);
        CHECK_INT(tokenizer_size(tokenizer), 60);
        check_special(tokenizer, &config.special);
        check_lines(tokenizer);

        const char *first = scratch_path("first.model"), *second = scratch_path("second.model");
        long count = 0, other = 0;
        CHECK_INT(tokenizer_save(tokenizer, first, NULL), ROTARY_OK);
        CHECK_INT(tokenizer_save(again, second, NULL), ROTARY_OK);
        char *bytes = read_file(first, &count), *same = read_file(second, &other);
        CHECK(count == other && memcmp(bytes, same, (size_t)count) == 0);
        free(same);

        CHECK_INT(tokenizer_load(&read, first, NULL), ROTARY_OK);
        check_lines(read);
        for (int32_t token = 0; token < 60; token++) {
            const struct token_text piece = tokenizer_text(read, token),
                                    wanted = tokenizer_text(tokenizer, token);
            CHECK(piece.count == wanted.count &&
                  memcmp(piece.bytes, wanted.bytes, (size_t)wanted.count) == 0);
        }
        CHECK_INT(tokenizer_save(read, second, NULL), ROTARY_OK);
        same = read_file(second, &other);
        CHECK(count == other && memcmp(bytes, same, (size_t)count) == 0);
        free(same);
        free(bytes);
        tokenizer_destroy(read);
        tokenizer_destroy(again);
        tokenizer_destroy(tokenizer);
    }
    check_about("%s", "");
}

static void test_special(void)
{
    static const struct special_tokens cases[] = {{-1, 0, 1, 2, -1}, {3, 2, 1, 0, -1}, {-1, 0, -1, -1, -1},
                                                  {4, 0, 9, 2, -1},  {0, 1, 2, 3, 4},  {4, 0, 9, 2, 1},
                                                  {-1, 0, -1, -1, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sentencepiece_config config = config_of(SENTENCEPIECE_BPE, 60);
        config.special = cases[i];
        config.mask = cases[i].mask >= 0;
        struct tokenizer *tokenizer = train(&config);
        check_about("special %zu", i);
        if (!CHECK(tokenizer != NULL))
            continue;
        check_special(tokenizer, &cases[i]);
        /* No text is one of them, and they are none. */
        int32_t tokens[ROOM];
        char back[ROOM];
        int64_t count = encode(tokenizer, "ba <s> </s> <pad> <mask>", tokens);
        for (int64_t j = 0; j < count; j++)
            CHECK(tokens[j] != cases[i].begin && tokens[j] != cases[i].end && tokens[j] != cases[i].padding &&
                  (cases[i].mask < 0 || tokens[j] != cases[i].mask));
        count = encode(tokenizer, "balo", tokens);
        if (cases[i].end >= 0)
            tokens[count++] = cases[i].end;
        if (cases[i].mask >= 0)
            tokens[count++] = cases[i].mask;
        CHECK_INT(tokenizer_decode(tokenizer, tokens, count, back, ROOM), 4);
        CHECK_TEXT(back, "balo");
        tokenizer_destroy(tokenizer);
    }
    check_about("%s", "");
}

/* Characters that the text has not: the unknown token, or their bytes. Texts that do not fit are cut off. */
static void test_unknown(void)
{
    struct sentencepiece_config config = config_of(SENTENCEPIECE_UNIGRAM, 60);
    struct tokenizer *tokenizer = train(&config);
    int32_t tokens[ROOM];
    char back[ROOM];
    int64_t count = encode(tokenizer, "\xe6\x97\xa5", tokens);
    CHECK_INT(tokens[count - 1], 1);
    CHECK_INT(tokenizer_decode(tokenizer, tokens, count, back, ROOM), 5);
    CHECK_TEXT(back, " \xe2\x81\x87 ");
    CHECK_INT(tokenizer_decode(tokenizer, tokens, count, back, 3), 5);
    CHECK_TEXT(back, " \xe2");
    CHECK_INT(tokenizer_decode(tokenizer, tokens, count, NULL, 0), 5);
    struct token_list short_list = {.tokens = tokens, .capacity = 1};
    CHECK_INT(tokenizer_encode(tokenizer, "ba lo mi", 8, &short_list, NULL), ROTARY_OK);
    CHECK(short_list.count == 1 && short_list.left_out >= 2);
    CHECK_INT(encode(tokenizer, "", tokens), 0);
    CHECK_INT(encode(tokenizer, "  ", tokens), 0);
    tokenizer_destroy(tokenizer);

    config = config_of(SENTENCEPIECE_UNIGRAM, 310);
    config.byte_fallback = true;
    tokenizer = train(&config);
    count = encode(tokenizer, "\xe6\x97\xa5", tokens);
    CHECK(count >= 3);
    CHECK_INT(tokenizer_decode(tokenizer, tokens, count, back, ROOM), 3);
    CHECK_TEXT(back, "\xe6\x97\xa5");
    tokenizer_destroy(tokenizer);
}

/* The share of characters that become pieces decides whether a rare one is known. */
static void test_coverage(void)
{
    struct text_line lines[GENERATED_LINES];
    memcpy(lines, text.lines, sizeof lines);
    lines[7] = (struct text_line){"ba lo Q", 7};
    for (int all = 0; all < 2; all++) {
        struct sentencepiece_config config = config_of(SENTENCEPIECE_BPE, 60);
        config.character_coverage = all ? 1 : 0.99;
        struct tokenizer *tokenizer = NULL;
        int32_t tokens[ROOM];
        CHECK_INT(sentencepiece_train(&tokenizer, &config, lines, GENERATED_LINES, NULL, NULL), ROTARY_OK);
        int64_t count = encode(tokenizer, "Q", tokens);
        CHECK((tokens[count - 1] == config.special.unknown) == !all);
        tokenizer_destroy(tokenizer);
    }
}

static void test_counts(void)
{
    static const struct text_line lines[] = {
        {"balo mi", 7},         {"", 0}, {"balobalobalobalo", 16}, {"balo balo", 9},
        {"ba \xe2\x96\x85", 6}, {"", 0}, {"milomilomilo", 12}};
    struct sentencepiece_config config = config_of(SENTENCEPIECE_BPE, 12);
    struct sentencepiece_counts counts;
    struct tokenizer *tokenizer = NULL;
    config.max_line_bytes = 11;
    CHECK_INT(sentencepiece_train(&tokenizer, &config, lines, 7, &counts, NULL), ROTARY_OK);
    CHECK_INT(counts.used, 2);
    CHECK_INT(counts.empty, 2);
    CHECK_INT(counts.too_long, 2);
    CHECK_INT(counts.first_too_long, 2);
    CHECK_INT(counts.reserved, 1);
    tokenizer_destroy(tokenizer);
}

/* ---- what is refused ---- */

static void refuse_config(const struct sentencepiece_config *config, const char *words)
{
    struct tokenizer *tokenizer = NULL;
    rotary_error error = {0};
    check_about("%s", words);
    CHECK_INT(sentencepiece_train(&tokenizer, config, text.lines, GENERATED_LINES, NULL, &error),
              ROTARY_INVALID_ARGUMENT);
    CHECK_WORDS(error.message, words);
    CHECK(tokenizer == NULL);
    check_about("%s", "");
}

static void test_refused_training(void)
{
    for (int model = 0; model < 2; model++) {
        struct sentencepiece_config config = config_of((enum sentencepiece_model)model, 100000);
        refuse_config(&config, "SentencePiece says: Vocabulary size too high (100000)");
        config.vocabulary_size = 8;
        refuse_config(&config, "SentencePiece says: Vocabulary size is smaller than required_chars");
        config.vocabulary_size = 1;
        refuse_config(&config, "1 pieces, wanted 2 to 1048576");
        config = config_of((enum sentencepiece_model)model, 60);
        config.special.unknown = -1;
        refuse_config(&config, "-1 (unknown)");
        config.special.unknown = 3;
        refuse_config(&config, "3 (unknown)|3 (end)");
        config.special.unknown = 60;
        refuse_config(&config, "60 (unknown)");
        config = config_of((enum sentencepiece_model)model, 60);
        config.character_coverage = 0.5;
        refuse_config(&config, "0.5, wanted 0.98 to 1");
        config.character_coverage = (double)NAN;
        refuse_config(&config, "wanted 0.98 to 1");
        config.character_coverage = 1;
        config.max_line_bytes = 9;
        refuse_config(&config, "9 bytes, wanted 10 to 1048576");
        static const struct text_line nothing[] = {{"", 0}, {" \xe2\x80\x8b", 4}, {"\t\xc2\xa0", 3}};
        struct tokenizer *tokenizer = NULL;
        rotary_error error = {0};
        config = config_of((enum sentencepiece_model)model, 60);
        for (int64_t count = 0; count <= 3; count++) {
            CHECK_INT(sentencepiece_train(&tokenizer, &config, nothing, count, NULL, &error),
                      ROTARY_INVALID_ARGUMENT);
            CHECK_WORDS(error.message, "no line to train SentencePiece on");
        }
    }
}

static void refuse_file(const char *bytes, long count, const char *words)
{
    const char *path = scratch_path("damaged.model");
    struct tokenizer *tokenizer = NULL;
    rotary_error error = {0};
    scratch_write(path, bytes, (size_t)count);
    check_about("%s", words);
    CHECK_INT(sentencepiece_load(&tokenizer, path, &error), ROTARY_BAD_FILE);
    CHECK_WORDS(error.message, "damaged.model");
    CHECK_WORDS(error.message, words);
    CHECK(tokenizer == NULL);
    check_about("%s", "");
}

/* The place of the table of the normaliser: behind the name of the rules, a tag and a length of three bytes.
 */
static char *find_table(char *bytes, long count)
{
    char *name = memmem(bytes, (size_t)count, "nmt_nfkc", 8);
    return name ? name + 8 + 1 + 3 : NULL;
}

static void test_refused_files(void)
{
    const struct sentencepiece_config config = config_of(SENTENCEPIECE_BPE, 60);
    struct tokenizer *tokenizer = train(&config);
    const char *path = scratch_path("good.model");
    long count;
    CHECK_INT(tokenizer_save(tokenizer, path, NULL), ROTARY_OK);
    tokenizer_destroy(tokenizer);
    char *bytes = read_file(path, &count), *table = find_table(bytes, count);
    if (!CHECK(table != NULL))
        return;
    refuse_file("", 0, "has no pieces");
    refuse_file("\n\x05\n\x01"
                "a\x10\x01",
                7, "SentencePiece says: unk is not defined");
    refuse_file("\n\x02\n\x00", 4, "piece 1 is empty");
    refuse_file("\n\x03\n\x01\xff", 5, "piece 1 is no UTF-8 text");
    refuse_file("\n\x03\n\x01\x00", 5, "piece 1 is no UTF-8 text");
    refuse_file("\n\x08\n\x01"
                "a\x15\x00\x00\x80\x7f",
                10, "score of piece 1 is not finite");
    refuse_file("\n\x09\n\x01"
                "a",
                5, "no message of protocol buffers");
    refuse_file("{\"format\":1}", 12, "no message of protocol buffers");
    refuse_file("hello\n", 6, "no message of protocol buffers");
    for (long kept = 1; kept < count; kept += 997)
        refuse_file(bytes, kept, "damaged.model");
    static const struct {
        long offset;
        unsigned char byte;
    } damages[] = {{3, 0x7f}, {0, 1}, {4 + 3, 0x7f}};
    for (int i = 0; i < 3; i++) {
        char old = table[damages[i].offset];
        table[damages[i].offset] = (char)damages[i].byte;
        refuse_file(bytes, count, "the table of its normaliser is damaged");
        table[damages[i].offset] = old;
    }
    free(bytes);
}

/* The library keeps 64 matches of user-defined pieces, on the stack. */
static void test_nested_pieces(void)
{
    for (int nested = 64; nested <= 65; nested++) {
        char bytes[8192] = "\n\x07\n\x03"
                           "unk\x18\x02";
        long count = 9;
        for (int length = 1; length <= nested; length++) {
            count += sprintf(bytes + count, "\n%c\n%c", (char)(length + 4), (char)length);
            memset(bytes + count, 'a', (size_t)length);
            memcpy(bytes + count + length, "\x18\x04", 2);
            count += length + 2;
        }
        if (nested == 65) {
            refuse_file(bytes, count, "begins with 64 others");
            continue;
        }
        struct tokenizer *tokenizer = NULL;
        const char *path = scratch_path("nested.model");
        rotary_error error = {0};
        scratch_write(path, bytes, (size_t)count);
        if (!CHECK_INT(sentencepiece_load(&tokenizer, path, &error), ROTARY_OK))
            printf("%s\n", error.message);
        else
            tokenizer_destroy(tokenizer);
    }
}

int main(void)
{
    struct tokenizer *tokenizer = NULL;
    const struct sentencepiece_config config = config_of(SENTENCEPIECE_BPE, 60);
    generate_text(&text, 7);
    if (!sentencepiece_version()) {
        rotary_error error = {0};
        CHECK_INT(sentencepiece_train(&tokenizer, &config, text.lines, GENERATED_LINES, NULL, &error),
                  ROTARY_UNSUPPORTED);
        CHECK_WORDS(error.message, "without SentencePiece|libsentencepiece-dev");
        return check_report() ? 1 : 77;
    }
    test_models();
    test_chinese();
    test_special();
    test_unknown();
    test_coverage();
    test_counts();
    test_refused_training();
    test_refused_files();
    test_nested_pieces();
    return check_report();
}
