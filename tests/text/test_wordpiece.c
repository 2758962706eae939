/* SPDX-License-Identifier: Apache-2.0
 *
 * WordPiece: words of every character, tokens and decoded text as the library tokenizers has them, the files
 * it is read from, those it is saved in, and what is refused.
 */
#include "base/random.h"
#include "support/check.h"
#include "support/scratch.h"
#include "text/loaded_tokenizer.h"
#include "text/tokenizer/bert_words.h"
#include "text/tokenizer/wordpiece.h"
#include "text/unicode.h"
#include "text/wordpiece_goldens.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = 256, TEXT_ROOM = 4096, PIECES = sizeof golden_pieces / sizeof golden_pieces[0] };

static struct bert_rules rules_of(int settings)
{
    return (struct bert_rules){.lower_case = (settings & 4) != 0,
                               .strip_accents = (settings & 2) != 0,
                               .split_chinese = (settings & 1) != 0};
}

/* ---- every character ---- */

struct words {
    char text[8 * 256 * 32];
    size_t bytes;
};

static void take_word(void *context, const char *word, int64_t bytes)
{
    struct words *words = context;
    memcpy(words->text + words->bytes, word, (size_t)bytes);
    words->bytes += (size_t)bytes;
    words->text[words->bytes++] = '\n';
}

/* The words of "a", the character and "b", then an empty line; there is no line feed after the last word. */
static void add_words(struct words *words, const struct bert_rules *rules, uint32_t point)
{
    char text[8];
    const uint32_t points[] = {'a', point, 'b'};
    bert_split(rules, text, unicode_encode(points, 3, text), take_word, words);
    words->text[words->bytes++] = '\n';
}

static void check_block(int row, const bool *alike)
{
    static struct words words;
    uint32_t first = (uint32_t)golden_blocks[row].block * 256;
    words.bytes = 0;
    for (int settings = 0; settings < 8; settings++) {
        const struct bert_rules rules = rules_of(settings);
        for (uint32_t point = first; point < first + 256; point++)
            if (alike[point])
                add_words(&words, &rules, point);
    }
    check_about("U+%04X and those that follow", (unsigned)first);
    CHECK(rotary_hash(words.text, words.bytes) == golden_blocks[row].hash);
    check_about("%s", "");
}

static void test_characters(void)
{
    static bool alike[0x110000];
    int64_t point = 0, characters = 0;
    for (size_t i = 0; i < sizeof golden_alike / sizeof golden_alike[0]; i++)
        for (int32_t j = 0; j < golden_alike[i]; j++, point++) {
            alike[point] = i % 2 == 0;
            characters += alike[point];
        }
    CHECK_INT(point, 0x110000);
    CHECK(characters > 280000);
    for (size_t row = 0; row < sizeof golden_blocks / sizeof golden_blocks[0]; row++)
        check_block((int)row, alike);
}

/* ---- texts ---- */

/* A vocab.txt of the pieces of the goldens. */
static void write_vocabulary(const char *path)
{
    static char bytes[1 << 16];
    size_t count = 0;
    for (int i = 0; i < PIECES; i++)
        count += (size_t)snprintf(bytes + count, sizeof bytes - count, "%s\n", golden_pieces[i]);
    CHECK(count < sizeof bytes);
    scratch_write(path, bytes, count);
}

static void write_text(const char *path, const char *text)
{
    scratch_write(path, text, strlen(text));
}

/* The tokenizer of the goldens with some settings, from vocab.txt and tokenizer_config.json. */
static struct tokenizer *load_golden(int settings)
{
    char config[160];
    snprintf(config, sizeof config,
             "{\"do_lower_case\": %s, \"strip_accents\": %s, \"tokenize_chinese_chars\": %s, \"other\": 7}",
             settings & 4 ? "true" : "false", settings & 2 ? "true" : "false",
             settings & 1 ? "true" : "false");
    write_text(scratch_path("tokenizer_config.json"), config);
    write_vocabulary(scratch_path("vocab.txt"));
    struct tokenizer *tokenizer = load_tokenizer(scratch_path("vocab.txt"));
    scratch_remove(scratch_path("tokenizer_config.json"));
    return tokenizer;
}

static void check_tokens(const struct tokenizer *tokenizer, const char *text, const int32_t *wanted)
{
    int32_t tokens[ROOM];
    struct token_list list = {.tokens = tokens, .capacity = ROOM};
    CHECK_INT(tokenizer_encode(tokenizer, text, (int64_t)strlen(text), &list, NULL), ROTARY_OK);
    int64_t count = 0;
    for (; wanted[count] >= 0; count++)
        if (count < list.count)
            CHECK_INT(tokens[count], wanted[count]);
    CHECK_INT(list.count, count);
    CHECK_INT(list.left_out, 0);
}

static void check_decoded(const struct tokenizer *tokenizer, const int32_t *tokens, const char *wanted)
{
    char text[TEXT_ROOM];
    int64_t count = 0;
    while (tokens[count] >= 0)
        count++;
    CHECK_INT(tokenizer_decode(tokenizer, tokens, count, text, TEXT_ROOM), (int64_t)strlen(wanted));
    CHECK_TEXT(text, wanted);
}

static void test_texts(void)
{
    int compared = 0;
    for (int settings = 0; settings < 8; settings++) {
        struct tokenizer *tokenizer = load_golden(settings), *saved = NULL;
        if (!tokenizer)
            continue;
        const char *path = scratch_path("saved.json");
        CHECK_INT(tokenizer_save(tokenizer, path, NULL), ROTARY_OK);
        saved = load_tokenizer(path);
        for (size_t i = 0; saved && i < sizeof golden_texts / sizeof golden_texts[0]; i++) {
            if (golden_texts[i].settings != settings)
                continue;
            check_about("text %zu", i);
            check_tokens(tokenizer, golden_texts[i].text, golden_texts[i].tokens);
            check_decoded(tokenizer, golden_texts[i].tokens, golden_texts[i].decoded);
            check_tokens(saved, golden_texts[i].text, golden_texts[i].tokens);
            compared++;
        }
        check_about("%s", "");
        tokenizer_destroy(saved);
        tokenizer_destroy(tokenizer);
    }
    CHECK(compared > 250);
}

/* ---- files ---- */

static const char vocabulary[] = "[PAD]\na\n##b\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nA\n\xe4\xb8\xad\n##c\n";

static void test_vocabulary(void)
{
    const char *path = scratch_path("bert");
    write_text(path, vocabulary);
    struct tokenizer *tokenizer = load_tokenizer(path);
    if (!tokenizer)
        return;
    const struct special_tokens special = tokenizer_special(tokenizer);
    CHECK_INT(tokenizer_kind(tokenizer), TOKENIZER_WORDPIECE);
    CHECK_INT(tokenizer_size(tokenizer), 10);
    CHECK(special.padding == 0 && special.unknown == 3 && special.begin == 4 && special.end == 5 &&
          special.mask == 6);
    const struct token_text piece = tokenizer_text(tokenizer, 2);
    CHECK(piece.count == 3 && memcmp(piece.bytes, "##b", 3) == 0);
    for (int32_t token = 0; token < 10; token++)
        CHECK(tokenizer_continues_word(tokenizer, token) == (token == 2 || token == 9));
    check_tokens(tokenizer,
                 "ABC abd \xe4\xb8\xad"
                 "b",
                 (const int32_t[]){1, 2, 9, 3, 8, 3, -1});
    /* Special tokens have no text but for the unknown one; the first piece keeps its mark. */
    check_decoded(tokenizer, (const int32_t[]){4, 2, 1, 2, 9, 6, 3, 2, 8, 5, 0, 0, -1},
                  "##b abc [UNK]b \xe4\xb8\xad");
    tokenizer_destroy(tokenizer);
}

/* Lines may end with "\r\n", and the last one without an end; of equal pieces the last one counts. */
static void test_lines(void)
{
    const char *path = scratch_path("lines");
    write_text(path, "a\r\n[UNK]\r\na\r\n\r\n##");
    struct tokenizer *tokenizer = load_tokenizer(path);
    if (!tokenizer)
        return;
    CHECK_INT(tokenizer_size(tokenizer), 5);
    CHECK_INT(tokenizer_special(tokenizer).mask, -1);
    CHECK_INT(tokenizer_special(tokenizer).begin, -1);
    check_tokens(tokenizer, "a b ##", (const int32_t[]){2, 1, 1, 1, -1});
    CHECK_INT(tokenizer_text(tokenizer, 3).count, 0);
    tokenizer_destroy(tokenizer);
}

/* Special tokens of other names, which no text is encoded as, be it their name. */
static void test_settings(void)
{
    static const struct {
        const char *config;
        int32_t tokens[8]; /* of "A" with and without an accent, and of a Chinese character with a letter */
        int32_t begin, mask;
    } cases[] = {
        {"{\"model_max_length\": 1000000000000000019884624838656}", {1, 1, 8, 1, -1}, 4, 6},
        {"{\"do_lower_case\": false}", {7, 3, 8, 7, -1}, 4, 6},
        {"{\"do_lower_case\": false, \"strip_accents\": true}", {7, 7, 8, 7, -1}, 4, 6},
        {"{\"do_lower_case\": true, \"strip_accents\": false}", {1, 3, 8, 1, -1}, 4, 6},
        {"{\"strip_accents\": null, \"tokenize_chinese_chars\": false}", {1, 1, 3, -1}, 4, 6},
        {"{\"cls_token\": {\"content\": \"##c\"}, \"mask_token\": null}", {1, 1, 8, 1, -1}, 9, -1},
        {"{\"unk_token\": \"[CLS]\", \"cls_token\": null, \"mask_token\": \"a\"}", {4, 4, 8, 4, -1}, -1, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        write_text(scratch_path("tokenizer_config.json"), cases[i].config);
        write_text(scratch_path("vocab.txt"), vocabulary);
        struct tokenizer *tokenizer = load_tokenizer(scratch_path("vocab.txt"));
        check_about("%s", cases[i].config);
        if (tokenizer) {
            check_tokens(tokenizer,
                         "A \xc3\x80 \xe4\xb8\xad"
                         "A",
                         cases[i].tokens);
            CHECK_INT(tokenizer_special(tokenizer).begin, cases[i].begin);
            CHECK_INT(tokenizer_special(tokenizer).mask, cases[i].mask);
        }
        tokenizer_destroy(tokenizer);
    }
    check_about("%s", "");
    scratch_remove(scratch_path("tokenizer_config.json"));
}

static void test_truncation(void)
{
    write_text(scratch_path("vocab.txt"), vocabulary);
    struct tokenizer *tokenizer = load_tokenizer(scratch_path("vocab.txt"));
    int32_t tokens[4] = {-7, -7, -7, -7};
    struct token_list list = {.tokens = tokens, .capacity = 2};
    CHECK_INT(tokenizer_encode(tokenizer, "abc a", 5, &list, NULL), ROTARY_OK);
    CHECK(list.count == 2 && list.left_out == 2 && tokens[0] == 1 && tokens[1] == 2 && tokens[2] == -7);
    tokenizer_destroy(tokenizer);
}

/* ---- tokenizer.json ---- */

#define JSON_RULES                                                                                           \
    "\"normalizer\":{\"type\":\"BertNormalizer\",\"clean_text\":true,\"handle_chinese_chars\":true,"         \
    "\"strip_accents\":null,\"lowercase\":false},\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"},"
#define JSON_MODEL                                                                                           \
    "\"model\":{\"type\":\"WordPiece\",\"unk_token\":\"[UNK]\",\"continuing_subword_prefix\":\"##\","        \
    "\"max_input_chars_per_word\":100,"

#define JSON_UNTYPED                                                                                         \
    "\"model\":{\"unk_token\":\"[UNK]\",\"continuing_subword_prefix\":\"##\",\"max_input_chars_per_word\":"  \
    "100,"

/* A file of DistilBERT has no type in its model. */
static void test_json(const char *model)
{
    char text[1024];
    const char *path = scratch_path("tokenizer.json");
    snprintf(text, sizeof text,
             "{\"version\":\"1.0\",\"added_tokens\":[{\"id\":1,\"content\":\"[MASK]\"}]," JSON_RULES
             "%s\"vocab\":{\"A\":3,\"[UNK]\":0,\"[MASK]\":1,\"##b\":2}}}",
             model);
    write_text(path, text);
    struct tokenizer *tokenizer = load_tokenizer(path);
    if (!tokenizer)
        return;
    CHECK_INT(tokenizer_kind(tokenizer), TOKENIZER_WORDPIECE);
    CHECK_INT(tokenizer_size(tokenizer), 4);
    CHECK_INT(tokenizer_special(tokenizer).mask, 1);
    CHECK_INT(tokenizer_special(tokenizer).begin, -1);
    check_tokens(tokenizer, "Ab ab [MASK]", (const int32_t[]){3, 2, 0, 0, 0, 0, -1});
    tokenizer_destroy(tokenizer);
}

/* ---- what is refused ---- */

static void refuse(const char *name, const char *text, const char *words)
{
    struct tokenizer *tokenizer = NULL;
    rotary_error error = {0};
    write_text(scratch_path(name), text);
    check_about("%s", text);
    CHECK_INT(tokenizer_load(&tokenizer, scratch_path(name), &error), ROTARY_BAD_FILE);
    CHECK_WORDS(error.message, words);
    CHECK(strstr(error.message, name) != NULL);
    CHECK(tokenizer == NULL);
    check_about("%s", "");
}

static void test_refused_files(void)
{
    refuse("a.txt", "[UNK]\n\xff\n", "piece 2 is not UTF-8");
    refuse("a.json", "{\"format\":1,\"tokenizer\":\"wordpiece\"}", "\"lower_case\"|true or false");
#define OURS                                                                                                 \
    "{\"format\":1,\"tokenizer\":\"wordpiece\",\"lower_case\":true,\"strip_accents\":true,"                  \
    "\"split_chinese\":true,\"special_tokens\":{\"padding\":-1,\"begin\":-1,\"end\":-1,"
    refuse("a.json", OURS "\"unknown\":0}}", "\"mask\"");
    refuse("a.json", OURS "\"unknown\":0,\"mask\":-2}}", "\"mask\"|-1");
    refuse("a.json", OURS "\"unknown\":0,\"mask\":-1}}", "\"pieces\"|a list");
    refuse("a.json", OURS "\"unknown\":0,\"mask\":-1},\"pieces\":[\"a\",7]}", "entry 2");
    refuse("a.json", OURS "\"unknown\":-1,\"mask\":-1},\"pieces\":[\"a\",\"b\"]}", "-1 (unknown)");
    refuse("a.json", OURS "\"unknown\":2,\"mask\":-1},\"pieces\":[\"a\",\"b\"]}", "2 (unknown)|below 2");
    refuse("a.json", OURS "\"unknown\":1,\"mask\":1},\"pieces\":[\"a\",\"b\"]}", "1 (mask)|different");
    refuse("a.json", "{\"model\":{\"type\":\"Words\"}}", "\"Words\", wanted \"BPE\", \"Unigram\"");
    refuse("a.json", "{" JSON_RULES "\"model\":{\"type\":\"WordPiece\",\"continuing_subword_prefix\":\"@\"}}",
           "\"@\", wanted \"##\"");
    refuse("a.json", "{\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"}," JSON_MODEL "\"vocab\":{}}}",
           "\"normalizer\"|wanted \"BertNormalizer\"");
    refuse("a.json", "{" JSON_RULES JSON_MODEL "\"vocab\":{\"a\":0}}}", "has no [UNK]");
    refuse("a.json", "{" JSON_RULES JSON_MODEL "\"vocab\":{\"[UNK]\":0,\"a\":2}}}", "\"a\"|0 to 1");
    refuse("a.json", "{" JSON_RULES JSON_MODEL "\"vocab\":{\"[UNK]\":0,\"a\":0}}}", "\"a\"|of its own");
    refuse("a.json",
           "{\"added_tokens\":[{\"id\":1,\"content\":\"new\"}]," JSON_RULES JSON_MODEL
           "\"vocab\":{\"[UNK]\":0}}}",
           "\"new\", is not in \"vocab\"");
#define SMALL(more) "{" more JSON_RULES JSON_MODEL "\"vocab\":{\"[UNK]\":0,\"x\":1,\"<s>\":2,\"</s>\":3}}}"
    refuse("a.json", SMALL("\"added_tokens\":[{\"id\":1,\"content\":\"x\",\"special\":false}],"),
           "\"x\", is not special");
    refuse("a.json", SMALL("\"decoder\":{\"type\":\"ByteLevel\"},"),
           "\"decoder\"|\"ByteLevel\", wanted \"WordPiece\"");
    refuse("a.json", SMALL("\"decoder\":{\"type\":\"WordPiece\",\"prefix\":\"@\"},"), "\"@\", wanted \"##\"");
    refuse("a.json", SMALL("\"post_processor\":{\"type\":\"Nonsense\"},"), "\"post_processor\"|\"Nonsense\"");
    refuse("a.json",
           "{" JSON_RULES "\"model\":{\"type\":\"WordPiece\",\"continuing_subword_prefix\":\"##\"}}",
           "max_input_chars_per_word");
}

/* The post-processor says what stands before and behind a text. */
static void test_frame(void)
{
    write_text(scratch_path("a.json"),
               SMALL("\"post_processor\":{\"type\":\"RobertaProcessing\",\"cls\":[\"<s>\",2],"
                     "\"sep\":[\"</s>\",3]},"));
    struct tokenizer *tokenizer = load_tokenizer(scratch_path("a.json"));
    if (tokenizer)
        CHECK(tokenizer_special(tokenizer).begin == 2 && tokenizer_special(tokenizer).end == 3);
    tokenizer_destroy(tokenizer);
}

static void refuse_settings(const char *text, const char *words)
{
    struct tokenizer *tokenizer = NULL;
    rotary_error error = {0};
    write_text(scratch_path("tokenizer_config.json"), text);
    write_text(scratch_path("vocab.txt"), vocabulary);
    check_about("%s", text);
    CHECK_INT(wordpiece_load(&tokenizer, scratch_path("vocab.txt"), &error), ROTARY_BAD_FILE);
    CHECK_WORDS(error.message, words);
    CHECK(tokenizer == NULL);
    check_about("%s", "");
    scratch_remove(scratch_path("tokenizer_config.json"));
}

static void test_refused_settings(void)
{
    refuse_settings("[]", "tokenizer_config.json");
    refuse_settings("{\"do_lower_case\": 1}", "\"do_lower_case\"");
    refuse_settings("{\"do_basic_tokenize\": false}", "\"do_basic_tokenize\" is false");
    refuse_settings("{\"mask_token\": 7}", "\"mask_token\"");
    refuse_settings("{\"word_tokenizer_type\": \"mecab\"}",
                    "\"word_tokenizer_type\" is \"mecab\", wanted \"basic\"");
    refuse_settings("{\"subword_tokenizer_type\": \"character\"}", "\"character\", wanted \"wordpiece\"");
    refuse_settings("{\"never_split\": [\"aab\"]}", "\"never_split\" has words");
    write_text(scratch_path("added_tokens.json"), "{\"<new>\": 1000}");
    refuse_settings("{}", "vocab.txt|\"<new>\", token 1000 of added_tokens.json");
    scratch_remove(scratch_path("added_tokens.json"));
    refuse_settings("{\"unk_token\": \"<unk>\"}", "vocab.txt|has no <unk>");
    refuse_settings("{\"mask_token\": \"[UNK]\"}", "vocab.txt|3 (mask)");
}

static void test_refused_texts(void)
{
    static const struct {
        const char *text;
        int64_t bytes;
        const char *words;
    } cases[] = {{"ab \xff", 4, "0xff|position 4 "},
                 {"a\0b", 3, "0x00|position 2 "},
                 {"\xed\xa0\x80", 3, "0xed|position 1 "},
                 {"a\xc3", 2, "0xc3|position 2 "}};
    write_text(scratch_path("vocab.txt"), vocabulary);
    struct tokenizer *tokenizer = load_tokenizer(scratch_path("vocab.txt"));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int32_t tokens[4] = {-7};
        struct token_list list = {.tokens = tokens, .capacity = 4};
        rotary_error error = {0};
        check_about("text %zu", i);
        CHECK_INT(tokenizer_encode(tokenizer, cases[i].text, cases[i].bytes, &list, &error),
                  ROTARY_INVALID_ARGUMENT);
        CHECK_WORDS(error.message, cases[i].words);
        CHECK(list.count == 0 && tokens[0] == -7);
    }
    check_about("%s", "");
    tokenizer_destroy(tokenizer);
}

int main(void)
{
    test_characters();
    test_texts();
    test_vocabulary();
    test_lines();
    test_settings();
    test_truncation();
    test_json(JSON_MODEL);
    test_json(JSON_UNTYPED);
    test_refused_files();
    test_frame();
    test_refused_settings();
    test_refused_texts();
    return check_report();
}
