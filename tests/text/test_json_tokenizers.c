/* SPDX-License-Identifier: Apache-2.0
 *
 * Tokenizers of the library `tokenizers`: the tokens and texts that it has, of every kind of tokenizer
 * (tests/golden/make_json_tokenizer_goldens.py); what is saved; long words; what is refused.
 */
#include "file/file.h"
#include "support/check.h"
#include "support/scratch.h"
#include "text/loaded_tokenizer.h"
#include "text/text_buffer.h"
#include "text/tokenizer/tokenizer_type.h"
#include "text/tokenizer_json/pattern.h"
#include "text/unicode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = 1 << 10, TEXT_ROOM = 1 << 13 };

static const char *golden_path(const char *name)
{
    static char path[1024];
    snprintf(path, sizeof path, "%s/tests/text/tokenizers/%s.json", getenv("ROTARY_SOURCE_DIR"), name);
    return path;
}

static int64_t count_of(const json_t *list)
{
    return (int64_t)json_array_size(list);
}

static json_t *read_json(const char *path)
{
    json_t *object = NULL;
    rotary_error error = {0};
    if (!CHECK_INT(file_read_json(path, &object, &error), ROTARY_OK))
        printf("%s\n", error.message);
    return object;
}

static void write_json(const char *path, json_t *object)
{
    CHECK_INT(file_replace_json(path, object, NULL), ROTARY_OK);
    json_decref(object);
}

/* Without PCRE2 a file with a regular expression is refused, and says what is missing. */
static struct tokenizer *load_kind(const char *kind)
{
    char version[PATTERN_LIBRARY_BYTES];
    struct tokenizer *tokenizer = NULL;
    rotary_error error = {0};
    if (pattern_library(version))
        return load_tokenizer(golden_path(kind));
    rotary_status status = tokenizer_load(&tokenizer, golden_path(kind), &error);
    if (status != ROTARY_OK) {
        CHECK_INT(status, ROTARY_UNSUPPORTED);
        CHECK_WORDS(error.message, "libpcre2-dev");
    }
    return tokenizer;
}

/* ---- tokens and texts ---- */

static void check_tokens(const struct tokenizer *tokenizer, const char *text, int64_t bytes,
                         const json_t *wanted)
{
    int32_t tokens[ROOM];
    struct token_list list = {.tokens = tokens, .capacity = ROOM};
    rotary_error error = {0};
    if (!CHECK_INT(tokenizer_encode(tokenizer, text, bytes, &list, &error), ROTARY_OK))
        printf("%s\n", error.message);
    CHECK_INT(list.left_out, 0);
    if (!CHECK_INT(list.count, count_of(wanted)))
        return;
    for (int64_t i = 0; i < list.count; i++)
        if (!CHECK_INT(tokens[i], json_integer_value(json_array_get(wanted, (size_t)i))))
            return;
}

/* The library writes U+FFFD for what is not UTF-8. */
static void check_decoded(const struct tokenizer *tokenizer, const json_t *list, const char *wanted)
{
    static char text[TEXT_ROOM], repaired[4 * TEXT_ROOM];
    static uint32_t points[TEXT_ROOM];
    int32_t tokens[ROOM];
    int64_t count = count_of(list);
    for (int64_t i = 0; i < count; i++)
        tokens[i] = (int32_t)json_integer_value(json_array_get(list, (size_t)i));
    int64_t bytes = tokenizer_decode(tokenizer, tokens, count, text, sizeof text);
    if (!CHECK(bytes < TEXT_ROOM) || !CHECK_INT((int64_t)strlen(text), bytes))
        return;
    int64_t length = unicode_encode(points, unicode_decode(text, bytes, points), repaired);
    repaired[length] = '\0';
    CHECK_TEXT(repaired, wanted);
    char part[4] = {1, 1, 1, 1};
    CHECK_INT(tokenizer_decode(tokenizer, tokens, count, part, 3), bytes);
    CHECK(part[3] == 1 && strncmp(part, text, 2) == 0 && part[bytes < 2 ? bytes : 2] == '\0');
}

static void check_frame(const struct tokenizer *tokenizer, const json_t *wanted)
{
    const struct token_frame frame = tokenizer_frame(tokenizer);
    const struct special_tokens special = tokenizer_special(tokenizer);
    const json_t *before = json_array_get(wanted, 0), *behind = json_array_get(wanted, 1);
    CHECK_INT(frame.begin, count_of(before));
    CHECK_INT(frame.end, count_of(behind));
    if (frame.begin)
        CHECK_INT(special.begin, json_integer_value(json_array_get(before, 0)));
    if (frame.end)
        CHECK_INT(special.end, json_integer_value(json_array_get(behind, 0)));
}

static void check_golden(const struct tokenizer *tokenizer, const char *kind, const json_t *texts,
                         const json_t *golden)
{
    const json_t *rows = json_object_get(golden, "rows");
    check_about("%s", kind);
    CHECK_INT(tokenizer_size(tokenizer), json_integer_value(json_object_get(golden, "size")));
    check_frame(tokenizer, json_object_get(golden, "frame"));
    CHECK_INT(count_of(rows), count_of(texts));
    for (size_t i = 0; i < json_array_size(texts); i++) {
        const json_t *text = json_array_get(texts, i), *row = json_array_get(rows, i);
        const json_t *decoded = json_array_get(row, 1);
        check_about("%s: \"%s\"", kind, json_string_value(text));
        check_tokens(tokenizer, json_string_value(text), (int64_t)json_string_length(text),
                     json_array_get(row, 0));
        check_decoded(tokenizer, json_array_get(row, 0), json_string_value(decoded ? decoded : text));
    }
    check_about("%s", "");
}

/* What is saved is the same tokenizer, with the same checksum. */
static void check_saved(const struct tokenizer *tokenizer, const char *kind, const json_t *texts,
                        const json_t *golden)
{
    uint64_t before = 0, after = 1;
    CHECK_INT(tokenizer_save(tokenizer, scratch_path("saved.json"), NULL), ROTARY_OK);
    struct tokenizer *again = load_tokenizer(scratch_path("saved.json"));
    if (!again)
        return;
    check_golden(again, kind, texts, golden);
    CHECK_INT(tokenizer_checksum(tokenizer, &before, NULL), ROTARY_OK);
    CHECK_INT(tokenizer_checksum(again, &after, NULL), ROTARY_OK);
    CHECK(before == after);
    tokenizer_destroy(again);
}

static void test_goldens(void)
{
    json_t *goldens = read_json(golden_path("goldens"));
    const json_t *texts = json_object_get(goldens, "texts");
    const char *kind;
    json_t *golden;
    int compared = 0;
    CHECK(json_array_size(texts) > 100);
    json_object_foreach (json_object_get(goldens, "kinds"), kind, golden) {
        struct tokenizer *tokenizer = load_kind(kind);
        if (!tokenizer)
            continue;
        compared++;
        CHECK_INT(tokenizer_kind(tokenizer), TOKENIZER_HUGGINGFACE);
        check_golden(tokenizer, kind, texts, golden);
        if (compared % 6 == 1) /* a disk takes its time */
            check_saved(tokenizer, kind, texts, golden);
        tokenizer_destroy(tokenizer);
    }
    CHECK(compared >= 2); /* without PCRE2 */
    json_decref(goldens);
}

/* ---- a tokenizer of a few pieces ---- */

#define MODEL(more)                                                                                          \
    "\"model\":{\"type\":\"BPE\",\"unk_token\":\"?\"," more                                                  \
    "\"vocab\":{\"?\":0,\"a\":1,\"b\":2,\"ab\":3,\"aa\":4,\"aab\":5,\"\\u2581\":6,\"</s>\":7,\"<s>\":8},"    \
    "\"merges\":[\"a b\",[\"a\",\"a\"],\"a ab\"]}"
#define LLAMA                                                                                                \
    "\"normalizer\":{\"type\":\"Replace\",\"pattern\":{\"String\":\" \"},\"content\":\"\\u2581\"},"          \
    "\"decoder\":{\"type\":\"Replace\",\"pattern\":{\"String\":\"\\u2581\"},\"content\":\" \"},"
#define ADDED                                                                                                \
    "\"added_tokens\":[{\"id\":7,\"content\":\"</s>\",\"special\":true,\"normalized\":false,"                \
    "\"lstrip\":false,\"rstrip\":false,\"single_word\":false},{\"id\":8,\"content\":\"<s>\","                \
    "\"special\":true}],"

static const char few_pieces[] = "{\"version\":\"1.0\"," LLAMA ADDED MODEL("") "}";

static struct tokenizer *load_text(const char *text)
{
    scratch_write(scratch_path("tokenizer.json"), text, strlen(text));
    return load_tokenizer(scratch_path("tokenizer.json"));
}

static void check_few(const struct tokenizer *tokenizer, const char *text, int64_t bytes,
                      const int32_t *wanted)
{
    int32_t tokens[16];
    struct token_list list = {.tokens = tokens, .capacity = 16};
    CHECK_INT(tokenizer_encode(tokenizer, text, bytes, &list, NULL), ROTARY_OK);
    int64_t count = 0;
    for (; wanted[count] >= 0; count++)
        CHECK_INT(count < list.count ? tokens[count] : -1, wanted[count]);
    CHECK_INT(list.count, count);
}

/* Merges in the order of their ranks, the leftmost first: "aab" is a and ab, which are aab; of "aaab" the
 * last pair is merged first, then the first two. */
static void test_few(void)
{
    struct tokenizer *tokenizer = load_text(few_pieces);
    if (!tokenizer)
        return;
    check_few(tokenizer, "aab", 3, (const int32_t[]){5, -1});
    check_few(tokenizer, "aaab", 4, (const int32_t[]){4, 3, -1});
    check_few(tokenizer, "aaaaa", 5, (const int32_t[]){4, 4, 1, -1});
    check_few(tokenizer, "a\0b", 3, (const int32_t[]){1, 0, 2, -1});
    check_few(tokenizer, "xa yy", 5, (const int32_t[]){0, 1, 6, 0, 0, -1});
    check_few(tokenizer, "<s>ab</s>", 9, (const int32_t[]){8, 3, 7, -1});
    const struct token_text text = tokenizer_text(tokenizer, 6);
    CHECK(text.count == 1 && text.bytes[0] == ' ');
    CHECK(!tokenizer_continues_word(tokenizer, 6) && tokenizer_continues_word(tokenizer, 3));
    CHECK_INT(tokenizer_special(tokenizer).unknown, 0);
    CHECK_INT(tokenizer_special(tokenizer).begin, -1);
    tokenizer_destroy(tokenizer);
}

/* A file of an earlier version of the library has no type in its model. */
static void check_untyped(const char *kind, const json_t *texts, const json_t *golden)
{
    json_t *object = read_json(golden_path(kind));
    if (!CHECK_INT(json_object_del(json_object_get(object, "model"), "type"), 0))
        return;
    write_json(scratch_path("tokenizer.json"), object);
    struct tokenizer *tokenizer = load_tokenizer(scratch_path("tokenizer.json"));
    if (tokenizer)
        check_golden(tokenizer, kind, texts, golden);
    tokenizer_destroy(tokenizer);
}

static void test_untyped(void)
{
    static const char *const kinds[] = {"llama2", "unigram", "words"};
    json_t *goldens = read_json(golden_path("goldens"));
    for (int i = 0; i < 3; i++) {
        const json_t *golden = json_object_get(json_object_get(goldens, "kinds"), kinds[i]);
        CHECK(golden != NULL);
        check_untyped(kinds[i], json_object_get(goldens, "texts"), golden);
    }
    json_decref(goldens);
}

/* A file of one model, and the tokens of a text with it. */
static void check_model(const char *file, const char *text, const int32_t *wanted)
{
    struct tokenizer *tokenizer = load_text(file);
    check_about("%s", file);
    if (tokenizer)
        check_few(tokenizer, text, (int64_t)strlen(text), wanted);
    check_about("%s", "");
    tokenizer_destroy(tokenizer);
}

/* A piece that no merges make; marks side by side, of which each but the last is a word; and a character that
 * is no piece, which is worse than the worst piece. */
static void test_models(void)
{
#define PIECES "\"type\":\"BPE\",\"vocab\":{\"?\":0,\"b\":1,\"bb\":2},\"merges\":[]}}"
#define MARKS                                                                                                \
    "{\"pre_tokenizer\":{\"type\":\"Metaspace\",\"replacement\":\"_\"},\"model\":{\"type\":\"BPE\","         \
    "\"vocab\":{\"?\":0,\"_\":1,\"__\":2,\"x\":3},\"merges\":[\"_ _\"]}}"
    check_model("{\"model\":{" PIECES, "bb", (const int32_t[]){1, 1, -1});
    check_model("{\"model\":{\"ignore_merges\":true," PIECES, "bb", (const int32_t[]){2, -1});
    check_model(MARKS, "  x", (const int32_t[]){1, 1, 3, -1});
    check_model("{\"model\":{\"type\":\"Unigram\",\"unk_id\":0,\"vocab\":[[\"?\",0],[\"a\",1],[\"ab\",-8]]}}",
                "aba", (const int32_t[]){2, 1, -1});
}

static void check_joined(const struct tokenizer *tokenizer, const int32_t *tokens, int64_t count,
                         const char *wanted)
{
    char text[64];
    CHECK_INT(tokenizer_decode(tokenizer, tokens, count, text, sizeof text), (int64_t)strlen(wanted));
    CHECK_TEXT(text, wanted);
}

#define WORDPIECE(cleanup)                                                                                   \
    "{\"pre_tokenizer\":{\"type\":\"WhitespaceSplit\"},\"decoder\":{\"type\":\"WordPiece\",\"prefix\":\"##"  \
    "\","                                                                                                    \
    "\"cleanup\":" cleanup "},\"model\":{\"unk_token\":\"[UNK]\",\"continuing_subword_prefix\":\"##\","      \
    "\"max_input_chars_per_word\":5,\"vocab\":{\"[UNK]\":0,\"a\":1,\"##b\":2,\"##bb\":3,\".\":4,\"##\":5,"   \
    "\"\u00e9\":6,\"'s\":7,\"n't\":8,\"##\u00e9\":9}}}"

/* WordPiece without BERT's normalizer; tokens and texts are those of `tokenizers` 0.23. */
static void test_wordpiece(void)
{
    static const int32_t tokens[] = {1, 2, 4, 1, 7, 2, 8, 0}, first[] = {2, 1, 9}, prefixes[] = {5, 5, 1};
    struct tokenizer *tokenizer = load_text(WORDPIECE("true"));
    if (!tokenizer)
        return;
    CHECK_INT(tokenizer_kind(tokenizer), TOKENIZER_HUGGINGFACE);
    check_few(tokenizer, "ab a abbb abx", 13, (const int32_t[]){1, 2, 1, 1, 3, 2, 0, -1});
    check_few(tokenizer, "##b ## ab##b", 12, (const int32_t[]){2, 5, 0, -1});
    check_few(tokenizer, "abbbb abbbbb a\u00e9\u00e9", 18, (const int32_t[]){1, 3, 3, 0, 1, 9, 9, -1});
    CHECK(tokenizer_continues_word(tokenizer, 2) && !tokenizer_continues_word(tokenizer, 1));
    check_joined(tokenizer, tokens, 8, "ab. a'sbn't [UNK]");
    check_joined(tokenizer, first, 3, "##b a\u00e9");
    check_joined(tokenizer, prefixes, 3, "## a");
    tokenizer_destroy(tokenizer);
    tokenizer = load_text(WORDPIECE("false"));
    if (tokenizer)
        check_joined(tokenizer, tokens, 8, "ab . a 'sb n't [UNK]");
    tokenizer_destroy(tokenizer);
}

/* Special tokens of the tokenizer_config.json, and after saving, where there is none. */
static void test_names(void)
{
    static const char config[] = "{\"bos_token\":{\"content\":\"<s>\"},\"eos_token\":\"</s>\",\"pad_token\":"
                                 "null,\"mask_token\":\"ab\",\"model_max_length\":1000000000000000000000000}";
    scratch_write(scratch_path("tokenizer_config.json"), config, strlen(config));
    struct tokenizer *tokenizer = load_text(few_pieces);
    scratch_remove(scratch_path("tokenizer_config.json"));
    if (!tokenizer)
        return;
    CHECK_INT(tokenizer_save(tokenizer, scratch_path("saved.json"), NULL), ROTARY_OK);
    struct tokenizer *again = load_tokenizer(scratch_path("saved.json"));
    for (int i = 0; i < 2; i++) {
        const struct special_tokens special = tokenizer_special(i ? again : tokenizer);
        CHECK(special.begin == 8 && special.end == 7 && special.padding == -1 && special.mask == 3 &&
              special.unknown == 0);
        CHECK(!tokenizer_frame(i ? again : tokenizer).begin);
    }
    tokenizer_destroy(tokenizer);
    tokenizer_destroy(again);
}

/* A word of a million characters takes no more than a moment, and a list that is full counts what it lacks.
 */
static void test_long(void)
{
    enum { BYTES = 1 << 20 };
    struct tokenizer *tokenizer = load_text(few_pieces);
    char *text = malloc(BYTES);
    int32_t tokens[4] = {-7, -7, -7, -7};
    struct token_list list = {.tokens = tokens, .capacity = 3};
    if (!tokenizer || !CHECK(text != NULL))
        return;
    memset(text, 'a', BYTES);
    CHECK_INT(tokenizer_encode(tokenizer, text, BYTES, &list, NULL), ROTARY_OK);
    CHECK(list.count == 3 && list.left_out == BYTES / 2 - 3 && tokens[2] == 4 && tokens[3] == -7);
    free(text);
    tokenizer_destroy(tokenizer);
}

/* A megabyte of spaces, over which an expression goes back. */
static void test_spaces(void)
{
    enum { BYTES = 1 << 20 };
    struct tokenizer *tokenizer = load_kind("llama3");
    char *text = malloc(BYTES), *decoded = malloc(BYTES + 1);
    int32_t *tokens = malloc(BYTES * sizeof *tokens);
    struct token_list list = {.tokens = tokens, .capacity = BYTES};
    if (tokenizer && CHECK(text && decoded && tokens)) {
        memset(text, ' ', BYTES);
        text[BYTES - 1] = 'x';
        CHECK_INT(tokenizer_encode(tokenizer, text, BYTES, &list, NULL), ROTARY_OK);
        CHECK_INT(list.left_out, 0);
        CHECK_INT(tokenizer_decode(tokenizer, tokens, list.count, decoded, BYTES + 1), BYTES);
        CHECK(memcmp(decoded, text, BYTES) == 0);
    }
    free(text);
    free(decoded);
    free(tokens);
    tokenizer_destroy(tokenizer);
}

static void test_refused_texts(void)
{
    struct tokenizer *tokenizer = load_text(few_pieces);
    int32_t tokens[4] = {-7};
    struct token_list list = {.tokens = tokens, .capacity = 4};
    rotary_error error = {0};
    CHECK_INT(tokenizer_encode(tokenizer, "a\0\0b\xff", 5, &list, &error), ROTARY_INVALID_ARGUMENT);
    CHECK_WORDS(error.message, "0xff|position 5 ");
    CHECK(list.count == 0 && tokens[0] == -7);
    tokenizer_destroy(tokenizer);
}

/* ---- vocab.json and merges.txt ---- */

/* Writes the older files of a golden tokenizer into a folder, with a class and what tokens are added. */
static void write_older(const char *kind, const char *class)
{
    json_t *golden = read_json(golden_path(kind)), *added = json_object(), *token;
    const json_t *model = json_object_get(golden, "model"), *merge;
    struct text_buffer merges = {0};
    size_t i;
    CHECK_INT(text_buffer_append(&merges, "#version: 0.2\n", 14, NULL), ROTARY_OK);
    json_array_foreach (json_object_get(model, "merges"), i, merge) {
        char line[256];
        int count = snprintf(line, sizeof line, "%s %s\n", json_string_value(json_array_get(merge, 0)),
                             json_string_value(json_array_get(merge, 1)));
        CHECK_INT(text_buffer_append(&merges, line, count, NULL), ROTARY_OK);
    }
    json_array_foreach (json_object_get(golden, "added_tokens"), i, token) {
        char id[16];
        snprintf(id, sizeof id, "%d", (int)json_integer_value(json_object_get(token, "id")));
        json_object_set(added, id, token);
    }
    scratch_write(scratch_path("merges.txt"), merges.bytes, (size_t)merges.count);
    write_json(scratch_path("vocab.json"), json_incref(json_object_get(model, "vocab")));
    write_json(scratch_path("tokenizer_config.json"),
               json_pack("{s:s, s:o}", "tokenizer_class", class, "added_tokens_decoder", added));
    text_buffer_free(&merges);
    json_decref(golden);
}

static void check_older(const char *kind, const char *class, const json_t *goldens)
{
    write_older(kind, class);
    struct tokenizer *tokenizer = load_tokenizer(scratch_path("vocab.json"));
    if (!tokenizer)
        return;
    const json_t *texts = json_object_get(goldens, "texts");
    const json_t *golden = json_object_get(json_object_get(goldens, "kinds"), kind);
    check_golden(tokenizer, kind, texts, golden);
    scratch_remove(scratch_path("tokenizer_config.json"));
    check_saved(tokenizer, kind, texts, golden);
    tokenizer_destroy(tokenizer);
}

/* Without a tokenizer_config.json it is GPT-2's. */
static void test_older_files(void)
{
    char version[PATTERN_LIBRARY_BYTES];
    if (!pattern_library(version))
        return;
    json_t *goldens = read_json(golden_path("goldens"));
    check_older("gpt2", "GPT2TokenizerFast", goldens);
    check_older("qwen2", "Qwen2Tokenizer", goldens);
    write_older("gpt2", "");
    scratch_remove(scratch_path("tokenizer_config.json"));
    struct tokenizer *tokenizer = load_tokenizer(scratch_path("vocab.json"));
    if (tokenizer)
        check_golden(tokenizer, "gpt2 alone", json_object_get(goldens, "texts"),
                     json_object_get(json_object_get(goldens, "kinds"), "gpt2"));
    tokenizer_destroy(tokenizer);
    json_decref(goldens);
}

/* Vocabularies of GPT-2, RoBERTa and Qwen 2 have the piece "format", which is also a key of this program's
 * files. */
static void test_piece_format(void)
{
    static const char vocabulary[] = "{\"f\":0,\"o\":1,\"r\":2,\"m\":3,\"a\":4,\"t\":5,\"fo\":6,\"for\":7,"
                                     "\"form\":8,\"at\":9,\"format\":10,\"\\u0120\":11}",
                      merges[] = "f o\nfo r\nfor m\na t\nform at\n";
    char version[PATTERN_LIBRARY_BYTES];
    if (!pattern_library(version))
        return;
    check_about("a vocab.json with the piece \"format\"");
    scratch_write(scratch_path("vocab.json"), vocabulary, sizeof vocabulary - 1);
    scratch_write(scratch_path("merges.txt"), merges, sizeof merges - 1);
    struct tokenizer *tokenizer = load_tokenizer(scratch_path("vocab.json"));
    if (tokenizer)
        check_few(tokenizer, "format form", 11, (const int32_t[]){10, 11, 8, -1});
    tokenizer_destroy(tokenizer);
}

static void refuse_older(const char *config, const char *merges, const char *words)
{
    static const char vocabulary[] = "{\"a\":0,\"b\":1,\"ab\":2}";
    struct tokenizer *tokenizer = NULL;
    rotary_error error = {0};
    scratch_write(scratch_path("vocab.json"), vocabulary, sizeof vocabulary - 1);
    scratch_write(scratch_path("merges.txt"), merges, strlen(merges));
    scratch_write(scratch_path("tokenizer_config.json"), config, strlen(config));
    check_about("%s, %s", config, merges);
    CHECK_INT(tokenizer_load(&tokenizer, scratch_path("vocab.json"), &error), ROTARY_BAD_FILE);
    CHECK_WORDS(error.message, words);
    CHECK(tokenizer == NULL);
    check_about("%s", "");
    scratch_remove(scratch_path("tokenizer_config.json"));
}

static void test_refused_older(void)
{
    refuse_older("{\"tokenizer_class\":\"CLIPTokenizer\"}", "a b\n",
                 "tokenizer_config.json|\"CLIPTokenizer\"");
    refuse_older("{\"additional_special_tokens\":[\"<new>\"]}", "a b\n", "\"<new>\", has no id");
    refuse_older("{\"tokenizer_class\":\"GPT2TokenizerSlow\"}", "a b\n", "\"GPT2TokenizerSlow\"");
    refuse_older("{\"added_tokens_decoder\":{\"x\":{}}}", "a b\n", "\"x\" of \"added_tokens_decoder\"");
    refuse_older("{\"added_tokens_decoder\":{\"1\":7}}", "a b\n", "\"1\" of \"added_tokens_decoder\"");
    refuse_older("{\"eos_token\":7}", "a b\n", "\"eos_token\"");
    refuse_older("[]", "a b\n", "tokenizer_config.json");
    refuse_older("{}", "a\xff b\n", "merges.txt is not UTF-8");
    scratch_remove(scratch_path("merges.txt"));
    struct tokenizer *tokenizer = NULL;
    rotary_error error = {0};
    CHECK_INT(tokenizer_load(&tokenizer, scratch_path("vocab.json"), &error), ROTARY_IO_ERROR);
    CHECK_WORDS(error.message, "merges.txt");
}

/* ---- what is refused ---- */

static void refuse(const char *text, const char *words)
{
    struct tokenizer *tokenizer = NULL;
    rotary_error error = {0};
    char version[PATTERN_LIBRARY_BYTES];
    bool without = strstr(text, "Regex") && !pattern_library(version);
    scratch_write(scratch_path("a.json"), text, strlen(text));
    check_about("%s", text);
    CHECK_INT(tokenizer_load(&tokenizer, scratch_path("a.json"), &error),
              without ? ROTARY_UNSUPPORTED : ROTARY_BAD_FILE);
    CHECK_WORDS(error.message, without ? "libpcre2-dev" : words);
    CHECK_WORDS(error.message, "a.json");
    CHECK(tokenizer == NULL);
    check_about("%s", "");
}

#define PART(name, part) "{\"" name "\":" part "," MODEL("") "}"
#define SPLIT(regex)     PART("pre_tokenizer", "{\"type\":\"Split\",\"pattern\":{\"Regex\":\"" regex "\"}}")

static void test_refused_parts(void)
{
    refuse(PART("normalizer", "{\"type\":\"Nmt\"}"), "normalizer of type \"Nmt\" is not supported");
    refuse(PART("normalizer", "7"), "normalizer of type \"\"");
    refuse(PART("normalizer", "{\"type\":\"Sequence\",\"normalizers\":7}"), "\"normalizers\"|a list");
    refuse(PART("normalizer", "{\"type\":\"Prepend\"}"),
           "the normalizer \"Prepend\": \"prepend\" is missing, wanted a text");
    refuse(PART("normalizer", "{\"type\":\"Strip\",\"strip_left\":1}"), "\"strip_left\"|true or false");
    refuse(PART("normalizer", "{\"type\":\"Replace\",\"pattern\":\"a\",\"content\":\"b\"}"), "\"pattern\"");
    refuse(PART("normalizer", "{\"type\":\"Replace\",\"pattern\":{\"String\":\"\"},\"content\":\"b\"}"),
           "\"pattern\"|not empty");
    refuse(PART("pre_tokenizer", "{\"type\":\"UnicodeScripts\"}"), "\"UnicodeScripts\" is not supported");
    refuse(PART("pre_tokenizer", "{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"ByteLevel\","
                                 "\"use_regex\":false},{\"type\":\"Digits\"}]}"),
           "\"Digits\" after ByteLevel");
    refuse(PART("pre_tokenizer", "{\"type\":\"Metaspace\",\"replacement\":\"ab\"}"), "one character");
    refuse(
        PART("pre_tokenizer", "{\"type\":\"Metaspace\",\"replacement\":\"_\",\"prepend_scheme\":\"last\"}"),
        "never, first or always");
    refuse(PART("pre_tokenizer", "{\"type\":\"Punctuation\",\"behavior\":\"Gone\"}"),
           "\"behavior\"|Isolated");
    refuse(PART("decoder", "{\"type\":\"CTC\"}"), "decoder of type \"CTC\"");
    refuse(PART("decoder", "{\"type\":\"Strip\",\"content\":\" \",\"start\":1,\"stop\":0}"), "Fuse");
    refuse(PART("decoder", "{\"type\":\"Sequence\",\"decoders\":[{\"type\":\"Fuse\"},{\"type\":"
                           "\"ByteFallback\"}]}"),
           "\"ByteFallback\" at this place");
    refuse(PART("post_processor", "{\"type\":\"TemplateProcessing\",\"single\":[{\"SpecialToken\":{\"id\":"
                                  "\"<t>\"}},{\"Sequence\":{\"id\":\"A\"}}]}"),
           "\"<t>\"|not there");
#define TEMPLATE(single, ids)                                                                                \
    PART("post_processor", "{\"type\":\"TemplateProcessing\",\"single\":[" single "],\"special_tokens\":{"   \
                           "\"<s>\":{\"ids\":[" ids "]},\"</s>\":{\"ids\":[7]}}}")
#define BEGIN "{\"SpecialToken\":{\"id\":\"<s>\"}},"
    refuse(TEMPLATE(BEGIN "{\"SpecialToken\":{\"id\":\"</s>\"}},{\"Sequence\":{\"id\":\"A\"}}", "8"),
           "\"</s>\" beside another");
    refuse(TEMPLATE(BEGIN "{\"Sequence\":{\"id\":\"A\"}}", "4"), "another id for \"<s>\"|wanted 8 alone");
    refuse(TEMPLATE(BEGIN "{\"Sequence\":{\"id\":\"A\"}}", "8,4"), "another id for \"<s>\"|wanted 8 alone");
    refuse(TEMPLATE(BEGIN "{\"Sequence\":{\"id\":\"B\"}}", "8"), "\"single\"|special tokens around one text");
    refuse(PART("post_processor", "{\"type\":\"BertProcessing\",\"cls\":[\"<s>\",3],\"sep\":[\"</s>\",7]}"),
           "another id for \"<s>\"");
    refuse(PART("added_tokens", "7"), "\"added_tokens\"");
    refuse(PART("added_tokens", "[{\"content\":\"new\"}]"),
           "the added token \"\": \"id\" is missing, wanted a token");
    refuse(PART("added_tokens", "[{\"id\":1000000,\"content\":\"new\"}]"), "1000000|\"new\"");
    refuse(PART("added_tokens", "[{\"id\":3,\"content\":\"new\"}]"), "3|\"new\"|not its own");
    refuse(PART("added_tokens", "[{\"id\":9,\"content\":\"ab\"}]"), "9|\"ab\"|not its own");
}

static void test_refused_expressions(void)
{
    refuse(SPLIT("(a"), "regular expression \"(a\" is invalid");
    refuse(SPLIT("a*"), "matches the empty text");
    refuse(SPLIT("[[a]b]"), "a class in a class at byte 2");
    refuse(SPLIT("[a&&b]"), "an intersection");
    refuse(SPLIT("[]a]"), "an empty class");
    refuse(SPLIT("\\\\p{N}{1,3}+"), "a brace");
    refuse(SPLIT("a{,3}"), "a brace");
    refuse(SPLIT("a{2}?"), "a brace");
    refuse(SPLIT("\\\\p{Script=Han}"), "a property with a value at byte 1");
    refuse(SPLIT("\\\\bword"), "an escape");
    refuse(SPLIT("(a)\\\\1"), "an escape");
    refuse(SPLIT("(?P<n>a)"), "a group");
    refuse(SPLIT("(*VERB)"), "a verb");
    refuse(SPLIT("[\\\\W]"), "an escape");
    refuse(SPLIT("\\\\p{Nothing}"), "is invalid");
    refuse(SPLIT("a\\\\"), "an escape");
}

#define BPE(text) "{\"model\":{\"type\":\"BPE\"," text "}}"

static void test_refused_models(void)
{
    refuse("{\"model\":{\"type\":\"Words\",\"vocab\":{}}}", "\"Words\", wanted \"BPE\"");
    refuse("{\"model\":{}}", "type \"\", wanted");
    refuse(BPE("\"merges\":[]"), "the model \"BPE\": \"vocab\" is missing, wanted ids by piece");
    refuse(BPE("\"vocab\":{},\"merges\":[]"), "\"vocab\" is empty");
    refuse(BPE("\"vocab\":{\"a\":0}"), "\"merges\"");
    refuse(BPE("\"vocab\":{\"a\":-1},\"merges\":[]"), "id of \"a\"");
    refuse(BPE("\"vocab\":{\"a\":1.5},\"merges\":[]"), "id of \"a\"");
    refuse(BPE("\"vocab\":{\"a\":99999},\"merges\":[]"), "id of \"a\"|wanted 0 to ");
    refuse(BPE("\"vocab\":{\"a\":0,\"b\":0},\"merges\":[]"), "\"a\" and \"b\" have the same id 0");
    refuse(BPE("\"vocab\":{\"a\":0},\"merges\":[\"a\"]"), "entry 1 of \"merges\"|two pieces");
    refuse(BPE("\"vocab\":{\"a\":0},\"merges\":[\"a a a\"]"), "entry 1 of \"merges\"|two pieces");
    refuse(BPE("\"vocab\":{\"a\":0},\"merges\":[[\"a\",7]]"), "entry 1 of \"merges\"|two pieces");
    refuse(BPE("\"vocab\":{\"a\":0},\"merges\":[\"a b\"]"), "\"b\" is not in \"vocab\"");
    refuse(BPE("\"vocab\":{\"a\":0},\"merges\":[\"a a\"]"), "\"aa\" is not in \"vocab\"");
    refuse(BPE("\"vocab\":{\"a\":0},\"merges\":[],\"unk_token\":\"?\""), "\"unk_token\"|a piece");
    refuse(BPE("\"vocab\":{\"a\":0},\"merges\":[],\"dropout\":0.1"), "\"dropout\"");
    refuse(BPE("\"vocab\":{\"a\":0},\"merges\":[],\"end_of_word_suffix\":\"</w>\""),
           "\"end_of_word_suffix\"");
    refuse(BPE("\"vocab\":{\"a\":0},\"merges\":[],\"fuse_unk\":7"), "\"fuse_unk\"");
    refuse("{\"format\":1,\"tokenizer\":\"huggingface\"}", "type \"\"");
    refuse("{\"format\":1,\"tokenizer\":\"huggingface\",\"file\":{" MODEL("") "}}", "\"special_tokens\"");
    refuse("{\"format\":1,\"tokenizer\":\"huggingface\",\"file\":{" MODEL(
               "") "},\"special_tokens\":{\"padding\":9,\"unknown\":0,\"begin\":-1,\"end\":-1,\"mask\":-1}}",
           "9|below 9");
}

#define MODEL_OF(type, text) "{\"model\":{\"type\":\"" type "\"," text "}}"

static void test_refused_other_models(void)
{
    refuse(MODEL_OF("WordLevel", "\"vocab\":{\"a\":0}"), "\"unk_token\"");
    refuse(MODEL_OF("WordLevel", "\"vocab\":{\"a\":0},\"unk_token\":\"b\""), "\"unk_token\"|a piece");
    refuse(MODEL_OF("WordLevel", "\"vocab\":[]"), "\"vocab\"|ids by piece");
    refuse(MODEL_OF("WordPiece", "\"vocab\":{\"a\":0}"), "\"unk_token\"");
#define UNKNOWN_WORD "\"vocab\":{\"a\":0},\"continuing_subword_prefix\":\"#\",\"unk_token\":\"b\""
    refuse(MODEL_OF("WordPiece", UNKNOWN_WORD), "\"max_input_chars_per_word\"|a number");
    refuse(MODEL_OF("WordPiece", UNKNOWN_WORD ",\"max_input_chars_per_word\":9"), "\"unk_token\"|a piece");
    refuse(MODEL_OF("Unigram", "\"vocab\":{}"), "\"vocab\"|a list of pieces");
    refuse(MODEL_OF("Unigram", "\"vocab\":[]"), "\"vocab\" is empty");
    refuse(MODEL_OF("Unigram", "\"vocab\":[[\"a\"]]"), "entry 1 of \"vocab\"");
    refuse(MODEL_OF("Unigram", "\"vocab\":[[\"a\",0],[7,0]]"), "entry 2 of \"vocab\"");
    refuse(MODEL_OF("Unigram", "\"vocab\":[[\"a\",0],[\"a\",-1]]"), "entry 2 of \"vocab\"|twice");
    refuse(MODEL_OF("Unigram", "\"vocab\":[[\"a\",0]],\"unk_id\":null"), "\"unk_id\"");
    refuse(MODEL_OF("Unigram", "\"vocab\":[[\"a\",0]],\"unk_id\":1"), "\"unk_id\"");
    refuse(PART("normalizer", "{\"type\":\"Precompiled\"}"), "\"precompiled_charsmap\"");
    refuse(PART("normalizer", "{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"AAA\"}"), "in base64");
    refuse(PART("normalizer", "{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"BAA-\"}"), "in base64");
    refuse(PART("normalizer", "{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"/////wAAAAAA\"}"),
           "table of characters");
}

int main(void)
{
    test_goldens();
    test_untyped();
    test_few();
    test_models();
    test_wordpiece();
    test_names();
    test_long();
    test_spaces();
    test_refused_texts();
    test_older_files();
    test_piece_format();
    test_refused_older();
    test_refused_parts();
    test_refused_expressions();
    test_refused_models();
    test_refused_other_models();
    return check_report();
}
