/* SPDX-License-Identifier: Apache-2.0
 *
 * Which tokenizers llama.cpp has: one that it has, and what is refused when one part of it is another. That
 * it then gives the same tokens, and would not where it is refused, is tested by
 * tests/huggingface/gguf_tokenizers.py.
 */
#include "support/check.h"
#include "text/tokenizer_export/gguf_rule.h"
#include "text/tokenizer_export/tokenizer_gguf.h"
#include "text/tokenizer_json/byte_characters.h"

#include <stdio.h>
#include <string.h>

enum { SIZE = 261 }; /* 256 bytes, "ab" and "abb", two added tokens, and one that is unused */

#define GPT2  "{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"use_regex\":true}"
#define LEVEL "{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"use_regex\":false}"
#define LLAMA3(numbers)                                                                                      \
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\\\r\\\\n\\\\p{L}\\\\p{N}]?\\\\p{L}+|\\\\p{N}" numbers                  \
    "| ?[^\\\\s\\\\p{L}\\\\p{N}]+[\\\\r\\\\n]*|\\\\s*[\\\\r\\\\n]+|\\\\s+(?!\\\\S)|\\\\s+"
#define SPLIT(pattern, more)                                                                                 \
    "{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Split\",\"pattern\":{\"Regex\":\"" pattern        \
    "\"}," more "}," LEVEL "]}"
#define ISOLATED "\"behavior\":\"Isolated\",\"invert\":false"

/* A file of byte-level BPE that llama.cpp has. */
static json_t *bpe_file(void)
{
    json_t *vocabulary = json_object();
    for (int byte = 0; byte < 256; byte++) {
        char character[BYTE_CHARACTER_BYTES];
        byte_characters_write((unsigned char)byte, character);
        json_object_set_new(vocabulary, character, json_integer(byte));
    }
    json_object_set_new(vocabulary, "ab", json_integer(256));
    json_object_set_new(vocabulary, "abb", json_integer(257));
    return json_pack("{s:o, s:{s:s}, s:[{s:i, s:s, s:b}, {s:i, s:s, s:b}], s:{s:s, s:o, s:[s, [s, s]]}}",
                     "pre_tokenizer", json_loads(GPT2, 0, NULL), "decoder", "type", "ByteLevel",
                     "added_tokens", "id", 258, "content", "<|e|>", "special", 1, "id", 259, "content",
                     "mine", "special", 0, "model", "type", "BPE", "vocab", vocabulary, "merges", "a b", "ab",
                     "b");
}

/* Sets a key of a file, or "model.key" of its model; "added_tokens" are added to those that are there. */
static void set_key(json_t *file, const char *key, const char *text)
{
    const bool of_model = strncmp(key, "model.", 6) == 0;
    json_t *value = json_loads(text, JSON_DECODE_ANY, NULL);
    CHECK(value != NULL);
    if (strcmp(key, "added_tokens") == 0)
        json_array_extend(json_object_get(file, key), value);
    else if (of_model)
        json_object_set(json_object_get(file, "model"), key + 6, value);
    else
        json_object_set(file, key, value);
    json_decref(value);
}

static const char *ggml_text(const json_t *metadata, const char *key)
{
    const char *text = json_string_value(json_object_get(metadata, key));
    return text ? text : "(none)";
}

/* llama.cpp has the file, of which one key, or one and "ignore_merges", is another, with this name of the
 * cut. */
static void accept(const char *key, const char *value, bool ignores, const char *cut)
{
    char reason[TOKENIZER_REASON_BYTES] = "";
    json_t *file = bpe_file();
    set_key(file, key, value);
    set_key(file, "model.ignore_merges", ignores ? "true" : "false");
    json_t *metadata = tokenizer_gguf_bpe(file, SIZE, reason);
    check_about("%s %s: %s", key, value, reason);
    CHECK_TEXT(ggml_text(metadata, "tokenizer.ggml.model"), "gpt2");
    CHECK_TEXT(ggml_text(metadata, "tokenizer.ggml.pre"), cut);
    json_decref(metadata);
    json_decref(file);
    check_about("%s", "");
}

/* And it has it not, for the reason with these words. */
static void refuse(const char *key, const char *value, const char *words)
{
    char reason[TOKENIZER_REASON_BYTES] = "";
    json_t *file = bpe_file();
    check_about("%s %s", key, value);
    set_key(file, key, value);
    CHECK(!tokenizer_gguf_bpe(file, SIZE, reason));
    CHECK_WORDS(reason, words);
    json_decref(file);
    check_about("%s", "");
}

/* ---- byte-level BPE ---- */

static void test_metadata(void)
{
    static const char *const texts[] = {"ab", "abb", "<|e|>", "mine", "[UNUSED260]"};
    static const int types[] = {1, 1, 3, 4, 5};
    char reason[TOKENIZER_REASON_BYTES] = "";
    json_t *file = bpe_file(), *metadata = tokenizer_gguf_bpe(file, SIZE, reason);
    const json_t *merges = json_object_get(metadata, "tokenizer.ggml.merges");
    for (size_t i = 0; i < 5; i++) {
        const json_t *tokens = json_object_get(metadata, "tokenizer.ggml.tokens"),
                     *token_types = json_object_get(metadata, "tokenizer.ggml.token_type");
        CHECK_TEXT(json_string_value(json_array_get(tokens, 256 + i)), texts[i]);
        CHECK_INT(json_integer_value(json_array_get(token_types, 256 + i)), types[i]);
    }
    CHECK_TEXT(json_string_value(json_array_get(merges, 0)), "a b");
    CHECK_TEXT(json_string_value(json_array_get(merges, 1)), "ab b");
    json_decref(metadata);
    CHECK(!tokenizer_gguf_bpe(file, 259, reason));
    CHECK_WORDS(reason, "260 tokens, and the model has 259");
    json_decref(file);
}

static void test_cuts(void)
{
    static const char cut[] = "its pre_tokenizer cuts";
    accept("pre_tokenizer", GPT2, false, "gpt-2");
    accept("pre_tokenizer", SPLIT(LLAMA3("{1,3}"), ISOLATED), false, "smaug-bpe");
    accept("pre_tokenizer", SPLIT(LLAMA3("{1,3}"), ISOLATED), true, "llama-bpe");
    accept("pre_tokenizer", SPLIT(LLAMA3(""), ISOLATED), false, "qwen2");
    refuse("model.ignore_merges", "true", "\"ignore_merges\" is true");
    refuse("pre_tokenizer", SPLIT(LLAMA3(""), "\"behavior\":\"Removed\""), cut);
    refuse("pre_tokenizer", SPLIT(LLAMA3(""), "\"behavior\":\"MergedWithNext\""), cut);
    refuse("pre_tokenizer", SPLIT(LLAMA3(""), "\"behavior\":\"Isolated\",\"invert\":true"), cut);
    refuse("pre_tokenizer", SPLIT("[a-z]+", ISOLATED), cut);
    refuse("pre_tokenizer", "{\"type\":\"ByteLevel\",\"add_prefix_space\":true}", cut);
    refuse("pre_tokenizer", "{\"type\":\"ByteLevel\"}", cut); /* the default is a space */
    refuse("pre_tokenizer", LEVEL, cut);
    refuse("pre_tokenizer", "{\"type\":\"Metaspace\"}", cut);
    refuse("pre_tokenizer", "null", cut);
}

static void test_parts(void)
{
    static const char *const normalizers[] = {"Lowercase", "NFC", "NFKC", "Strip", "Prepend", "Replace"};
    for (size_t i = 0; i < sizeof normalizers / sizeof normalizers[0]; i++) {
        char one[64], list[128];
        snprintf(one, sizeof one, "{\"type\":\"%s\"}", normalizers[i]);
        snprintf(list, sizeof list, "{\"type\":\"Sequence\",\"normalizers\":[%s]}", one);
        refuse("normalizer", one, normalizers[i]);
        refuse("normalizer", list, normalizers[i]);
    }
    accept("normalizer", "{\"type\":\"Sequence\",\"normalizers\":[]}", false, "gpt-2");
    refuse("truncation", "{\"max_length\":3}", "\"truncation\"");
    refuse("padding", "{\"pad_id\":3}", "\"padding\"");
    refuse("decoder", "null", "decoder");
}

static void test_model(void)
{
    refuse("model.type", "\"Unigram\"", "Unigram");
    refuse("model.dropout", "0.1", "\"dropout\"");
    accept("model.dropout", "0.0", false, "gpt-2");
    refuse("model.byte_fallback", "true", "\"byte_fallback\"");
    refuse("model.continuing_subword_prefix", "\"##\"", "\"continuing_subword_prefix\"");
    refuse("model.end_of_word_suffix", "\"</w>\"", "\"end_of_word_suffix\"");
    accept("model.merges", "[]", false, "qwen2"); /* whatever the cut is */
    refuse("model.merges", "[\"a b\",[\"a\",\"b\"]]", "merge 2 is there twice");
    refuse("model.merges", "[[\"a b\",\"b\"]]", "merge 1 is there twice, or has a space");
    refuse("model.vocab", "{\"a\":0}", "the byte 0x00 has no piece");
}

#define TWO(first, second) "[{\"id\":260," first "},{\"id\":261," second "}]"
#define TEXT(text)         "\"content\":\"" text "\""
#define NORMALIZED         ",\"normalized\":true"

/* Of two tokens that llama.cpp has the model has one too few, which is found last. */
static void test_added(void)
{
    static const char across[] = "can lie across each other",
                      accepted[] = "262 tokens, and the model has 261";
    static const char *const flags[] = {"lstrip", "rstrip", "single_word"};
    for (int i = 0; i < 3; i++) {
        char list[128];
        snprintf(list, sizeof list, "[{\"id\":260,\"content\":\"<x>\",\"%s\":true}]", flags[i]);
        refuse("added_tokens", list, flags[i]);
    }
    refuse("added_tokens", TWO(TEXT("xy"), TEXT("yzz")), across);
    refuse("added_tokens", TWO(TEXT("xy"), TEXT("yx")), across);
    refuse("added_tokens", TWO(TEXT("xyz"), TEXT("zw")), accepted); /* the longer is first */
    refuse("added_tokens", TWO(TEXT("xyzz"), TEXT("yz")), accepted);
    refuse("added_tokens", TWO(TEXT("xyz"), TEXT("xy") NORMALIZED), accepted);
    refuse("added_tokens", TWO(TEXT("xyz") NORMALIZED, TEXT("xy")), across);
    refuse("added_tokens", TWO(TEXT("xyz") NORMALIZED, TEXT("yz")), across);
    refuse("added_tokens", TWO(TEXT("xyz") NORMALIZED, TEXT("zx")), across);
    refuse("added_tokens", TWO(TEXT("  "), TEXT("   ")), accepted);
    accept("added_tokens", "[{\"id\":260,\"content\":\"xyx\"}]", false, "gpt-2");
    accept("added_tokens", "[{\"id\":97,\"content\":\"a\"}]", false, "gpt-2");
    refuse("added_tokens", "[{\"id\":260,\"content\":\"\"}]", "no text");
    refuse("added_tokens", "[{\"id\":260,\"content\":\"a\"}]", "\"a\" has the id 260, and 97 to");
    refuse("added_tokens", "[{\"id\":261,\"content\":\"xy\"}]", "\"xy\" has the id 261, and 260 to");
}

/* ---- lists ---- */

/* A piece that is no added token, but one to llama.cpp; and tokens that share a text. */
static void test_lists(void)
{
    static const struct {
        const char *first, *second;
        int type;
        const char *reason;
    } rows[] = {{"a", "b", PIECE_NORMAL, NULL},
                {"a", "</s>", PIECE_CONTROL, NULL},
                {"a", "</s>", PIECE_NORMAL, "\"</s>\" is no added token"},
                {"a", "a", PIECE_NORMAL, "0 and 1 have the same"},
                {"a", "", PIECE_NORMAL, "token 1 has no text"},
                {"<|tool_response>", "</s>", PIECE_CONTROL, "</s>"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char reason[TOKENIZER_REASON_BYTES] = "";
        struct gguf_tokens tokens;
        gguf_tokens_start(&tokens);
        gguf_tokens_add(&tokens, json_string(rows[i].first), 0, rows[i].type);
        gguf_tokens_add(&tokens, json_string(rows[i].second), 0, rows[i].type);
        CHECK(gguf_rule_tokens(&tokens, 2, reason) == !rows[i].reason);
        CHECK(!gguf_rule_tokens(&tokens, 3, reason));
        if (rows[i].reason && !gguf_rule_tokens(&tokens, 2, reason))
            CHECK_WORDS(reason, rows[i].reason);
        gguf_tokens_drop(&tokens);
    }
    CHECK(gguf_rule_changes_name("My-Phi-3-mini") && gguf_rule_changes_name("phi3") &&
          !gguf_rule_changes_name("phi-2"));
}

/* ---- SentencePiece ---- */

/* A model of 256 pieces of bytes, if it has them, and one of the type. */
static void check_pieces(struct sentencepiece_pieces pieces, int type, const char *why)
{
    char reason[TOKENIZER_REASON_BYTES] = "";
    struct sentencepiece_piece list[257];
    for (int i = 0; i < 257; i++)
        list[i] =
            (struct sentencepiece_piece){.type = i < 256 && pieces.byte_fallback ? PIECE_BYTE : PIECE_NORMAL};
    list[256].type = type;
    pieces.pieces = list;
    pieces.count = 257;
    check_about("%s", why ? why : "");
    CHECK(gguf_rule_pieces(&pieces, reason) == !why);
    if (why)
        CHECK_WORDS(reason, why);
    check_about("%s", "");
}

static void test_pieces(void)
{
    const unsigned char map[4] = {0};
    struct sentencepiece_pieces bpe = {.bpe = true, .byte_fallback = true},
                                unigram = {.add_dummy_prefix = true};
    check_pieces(bpe, PIECE_NORMAL, NULL);
    check_pieces(bpe, PIECE_USER_DEFINED, "user-defined");
    check_pieces(bpe, PIECE_UNUSED, "unused");
    bpe.remove_extra_whitespaces = true;
    check_pieces(bpe, PIECE_NORMAL, "normalised (white space)");
    bpe.charsmap = map;
    bpe.charsmap_count = 4;
    check_pieces(bpe, PIECE_NORMAL, "normalised (characters)");
    check_pieces((struct sentencepiece_pieces){.bpe = true}, PIECE_NORMAL, "no pieces of bytes");
    check_pieces(unigram, PIECE_NORMAL, "keeps white space");
    unigram.remove_extra_whitespaces = true;
    check_pieces(unigram, PIECE_NORMAL, NULL);
    check_pieces(unigram, PIECE_BYTE, "pieces of bytes");
    unigram.add_dummy_prefix = false;
    check_pieces(unigram, PIECE_NORMAL, "puts none before a text");
}

/* A file of one piece "a", and a message of the trainer or the normaliser. */
static void test_spaces(void)
{
    static const struct {
        const char *bytes;
        int64_t count;
        const char *why;
    } rows[] = {{"\x0a\x03\x0a\x01"
                 "a\x12\x03\xc0\x01\x00\x1a\x02\x28\x01",
                 14, NULL},
                {"\x0a\x03\x0a\x01"
                 "a\x12\x03\xc0\x01\x01",
                 10, "\"treat_whitespace_as_suffix\": true"},
                {"\x0a\x03\x0a\x01"
                 "a\x1a\x02\x28\x00",
                 9, "\"escape_whitespaces\": false"},
                {"\x0a\x03\x0a\x01"
                 "a\x12\x02\x18\x03",
                 9, "the type 3"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct sentencepiece_pieces pieces = {0};
        rotary_error error = {0};
        check_about("file %d", (int)i);
        CHECK_INT(sentencepiece_pieces_read(&pieces, rows[i].bytes, rows[i].count, &error),
                  rows[i].why ? ROTARY_UNSUPPORTED : ROTARY_OK);
        CHECK_INT(pieces.count, rows[i].why ? 0 : 1);
        if (rows[i].why)
            CHECK_WORDS(error.message, rows[i].why);
        sentencepiece_pieces_free(&pieces);
    }
    check_about("%s", "");
}

int main(void)
{
    test_metadata();
    test_cuts();
    test_parts();
    test_model();
    test_added();
    test_lists();
    test_pieces();
    test_spaces();
    return check_report();
}
