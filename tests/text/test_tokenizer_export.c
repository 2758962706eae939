/* SPDX-License-Identifier: Apache-2.0
 *
 * Tokenizers in other programs' formats: what the files have. That these programs then give the same tokens
 * is tested by tests/huggingface/export_tokenizers.py.
 */
#include "file/gguf.h"
#include "support/check.h"
#include "support/scratch.h"
#include "text/tokenizer_export/tokenizer_export.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void require(rotary_status status, const rotary_error *error)
{
    if (!CHECK(status == ROTARY_OK))
        printf("%s\n", error->message);
}

/* ---- reading JSON ---- */

/* The value at "model.vocab.a" or "0.id"; NULL: none. */
static const json_t *at(const json_t *value, const char *path)
{
    char key[64];
    while (value && *path) {
        size_t length = strcspn(path, ".");
        snprintf(key, sizeof key, "%.*s", (int)length, path);
        unsigned index = 0;
        value = json_is_array(value) && sscanf(key, "%u", &index) == 1 ? json_array_get(value, index)
                                                                       : json_object_get(value, key);
        path += length + (path[length] == '.');
    }
    return value;
}

static const char *text_at(const json_t *value, const char *path)
{
    const char *text = json_string_value(at(value, path));
    return text ? text : "(none)";
}

static int64_t number_at(const json_t *value, const char *path)
{
    const json_t *number = at(value, path);
    return json_is_integer(number) ? (int64_t)json_integer_value(number) : -100;
}

static json_t *json_of(struct tokenizer *tokenizer, int32_t begin)
{
    rotary_error error = {0};
    json_t *object = NULL;
    require(tokenizer_export_json(tokenizer, begin, &object, &error), &error);
    return object;
}

/* The metadata, which has a tokenizer, or none for this reason. */
static json_t *gguf_of(struct tokenizer *tokenizer, struct tokenizer_gguf_call call, const char *why)
{
    char reason[TOKENIZER_REASON_BYTES];
    rotary_error error = {0};
    json_t *metadata = NULL;
    require(tokenizer_export_gguf(tokenizer, &call, &metadata, reason, &error), &error);
    const char *model = json_string_value(json_object_get(metadata, "tokenizer.ggml.model"));
    CHECK(model && (strcmp(model, "no_vocab") == 0) == (why != NULL) && (reason[0] == '\0') == (why == NULL));
    if (why)
        CHECK_WORDS(reason, why);
    return metadata;
}

static const json_t *ggml(const json_t *metadata, const char *key)
{
    char name[64];
    snprintf(name, sizeof name, "tokenizer.ggml.%s", key);
    return json_object_get(metadata, name);
}

/* ---- tokenizers ---- */

/* Letters of bytes are those of GPT-2's vocabulary. */
static void test_bytes(void)
{
    struct tokenizer *tokenizer;
    rotary_error error = {0};
    check_about("bytes");
    require(bytes_create(&tokenizer, &error), &error);
    json_t *object = json_of(tokenizer, 257);
    static const struct {
        const char *letter;
        int byte;
    } letters[] = {{"A", 'A'},        {"!", '!'},         {"~", '~'},         {"\xc4\xa0", ' '},
                   {"\xc4\x8a", 10},  {"\xc4\x80", 0},    {"\xc5\x83", 0xad}, {"\xc2\xa1", 0xa1},
                   {"\xc3\xbf", 255}, {"\xc4\xa1", 0x7f}, {"\xc5\x82", 0xa0}};
    const json_t *vocabulary = at(object, "model.vocab");
    CHECK_INT((int64_t)json_object_size(vocabulary), 259);
    for (size_t i = 0; i < sizeof letters / sizeof letters[0]; i++)
        CHECK_INT(json_integer_value(json_object_get(vocabulary, letters[i].letter)), letters[i].byte);
    CHECK_INT(number_at(object, "model.vocab.<pad>"), 256);
    CHECK_TEXT(text_at(object, "model.type"), "BPE");
    CHECK_TEXT(text_at(object, "pre_tokenizer.type"), "ByteLevel");
    CHECK_INT((int64_t)json_array_size(at(object, "added_tokens")), 3);
    CHECK_TEXT(text_at(object, "post_processor.type"), "TemplateProcessing");
    CHECK_TEXT(text_at(object, "post_processor.single.0.SpecialToken.id"), "<s>");
    json_decref(object);
    json_t *metadata = gguf_of(tokenizer, (struct tokenizer_gguf_call){300, 257, 258}, NULL);
    CHECK_TEXT(json_string_value(ggml(metadata, "model")), "gpt2");
    CHECK_INT((int64_t)json_array_size(ggml(metadata, "tokens")), 300);
    CHECK_TEXT(text_at(ggml(metadata, "tokens"), "32"), "\xc4\xa0");
    CHECK_TEXT(text_at(ggml(metadata, "tokens"), "65"), "A");
    CHECK_TEXT(text_at(ggml(metadata, "tokens"), "10"), "\xc4\x8a");
    CHECK_TEXT(text_at(ggml(metadata, "tokens"), "299"), "[UNUSED299]");
    CHECK_INT((int64_t)json_array_size(ggml(metadata, "merges")), 1); /* that joins nothing */
    CHECK_INT(number_at(ggml(metadata, "token_type"), "65"), 1);
    CHECK_INT(number_at(ggml(metadata, "token_type"), "10"), 1);
    CHECK_INT(number_at(ggml(metadata, "token_type"), "257"), 3);
    CHECK_INT(number_at(ggml(metadata, "token_type"), "299"), 5);
    CHECK_INT(json_integer_value(ggml(metadata, "eos_token_id")), 258);
    CHECK_INT(json_integer_value(ggml(metadata, "bos_token_id")), 257);
    CHECK(json_is_true(ggml(metadata, "add_bos_token")) && json_is_false(ggml(metadata, "add_eos_token")));
    json_decref(metadata);
    metadata = gguf_of(tokenizer, (struct tokenizer_gguf_call){259, -1, -1}, "no token ends a text");
    CHECK(json_is_false(ggml(metadata, "add_bos_token")) && !ggml(metadata, "eos_token_id"));
    json_decref(metadata);
    json_decref(gguf_of(tokenizer, (struct tokenizer_gguf_call){258, -1, 1}, "259 tokens|has 258"));
    tokenizer_destroy(tokenizer);
}

static void test_words(void)
{
    static const char text[] = "one two, one";
    static const struct {
        struct words_config config;
        const char *pattern, *decoder;
    } forms[] = {
        {{.min_frequency = 1}, "[^\\x09-\\x0d ]+", "(none)"},
        {{.min_frequency = 1, .characters = true}, "[^\\x09-\\x0d ]", "Fuse"},
        {{.min_frequency = 1, .punctuation = true},
         "[\\p{P}\\p{S}]|[^\\p{P}\\p{S}\\x09-\\x0d ](?:[^\\p{P}\\p{S}\\x09-\\x0d "
         "]|['\\x{2019}\\-\\x{2010}](?=[^\\p{P}\\p{S}\\x00-\\x20])|(?<=[0-9])[.,:](?=[0-9]))*",
         "(none)"},
    };
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        struct tokenizer *tokenizer;
        rotary_error error = {0};
        check_about("words, form %zu", i);
        require(words_configured_create(&tokenizer, text, (int64_t)strlen(text), &forms[i].config, &error),
                &error);
        json_t *object = json_of(tokenizer, -1);
        CHECK_TEXT(text_at(object, "pre_tokenizer.pattern.Regex"), forms[i].pattern);
        CHECK(json_is_true(at(object, "pre_tokenizer.invert")));
        CHECK_TEXT(text_at(object, "decoder.type"), forms[i].decoder);
        CHECK_INT(number_at(object, "model.vocab.<unk>"), 3);
        CHECK(json_is_null(at(object, "post_processor")));
        if (i != 1)
            CHECK_INT(number_at(object, "model.vocab.one"), 4);
        json_decref(object);
        const struct tokenizer_gguf_call call = {tokenizer_size(tokenizer), -1, 1};
        json_decref(
            gguf_of(tokenizer, call, forms[i].config.characters ? "are <unk>|characters" : "of words"));
        tokenizer_destroy(tokenizer);
    }
}

/* The pieces of a merge are those whose texts make that of a piece, and pieces come in their order. */
static void check_merges(const json_t *object)
{
    const json_t *merges = at(object, "model.merges"), *vocabulary = at(object, "model.vocab");
    int64_t last = -1;
    CHECK(json_array_size(merges) > 0);
    for (size_t i = 0; i < json_array_size(merges); i++) {
        char whole[128];
        const json_t *pair = json_array_get(merges, i);
        snprintf(whole, sizeof whole, "%s%s", text_at(pair, "0"), text_at(pair, "1"));
        const int64_t id = (int64_t)json_integer_value(json_object_get(vocabulary, whole));
        CHECK(json_object_get(vocabulary, whole) && id >= last);
        last = id;
    }
}

static void check_unigram(const struct tokenizer *tokenizer, json_t *metadata)
{
    CHECK_TEXT(json_string_value(ggml(metadata, "model")), "t5");
    for (int32_t i = 0; i < tokenizer_size(tokenizer); i++) {
        const struct token_text text = tokenizer_text(tokenizer, i);
        const json_t *piece = json_array_get(ggml(metadata, "tokens"), (size_t)i);
        CHECK((int64_t)json_string_length(piece) == text.count &&
              memcmp(json_string_value(piece), text.bytes, (size_t)text.count) == 0);
    }
    CHECK_INT(number_at(ggml(metadata, "token_type"), "0"), 2);
    CHECK_INT(number_at(ggml(metadata, "token_type"), "1"), 3);
    CHECK_INT(json_integer_value(ggml(metadata, "unknown_token_id")), 0);
    CHECK(isfinite(json_real_value(json_array_get(ggml(metadata, "scores"), 10))));
    CHECK(ggml(metadata, "precompiled_charsmap") != NULL);
    json_decref(metadata);
}

static void test_pieces(const char *folder, const char *name, bool bpe)
{
    char path[1024];
    struct tokenizer *tokenizer;
    rotary_error error = {0};
    check_about("%s", name);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    require(tokenizer_load(&tokenizer, path, &error), &error);
    json_t *object = json_of(tokenizer, -1);
    CHECK_TEXT(text_at(object, "model.type"), bpe ? "BPE" : "Unigram");
    const json_t *vocabulary = at(object, "model.vocab");
    CHECK_INT((int64_t)(bpe ? json_object_size(vocabulary) : json_array_size(vocabulary)),
              tokenizer_size(tokenizer));
    CHECK_TEXT(text_at(object, "normalizer.normalizers.0.type"), "Precompiled");
    CHECK(strlen(text_at(object, "normalizer.normalizers.0.precompiled_charsmap")) % 4 == 0);
    CHECK_TEXT(text_at(object, "normalizer.normalizers.3.type"), "Prepend");
    CHECK_TEXT(text_at(object, "added_tokens.0.content"), "<unk>");
    CHECK(json_is_true(at(object, "model.byte_fallback")) == (strcmp(name, "bytes.model") == 0));
    if (bpe)
        check_merges(object);
    json_decref(object);
    const struct tokenizer_gguf_call call = {tokenizer_size(tokenizer), 1, 2};
    if (bpe)
        json_decref(gguf_of(tokenizer, call, "(characters)"));
    else
        check_unigram(tokenizer, gguf_of(tokenizer, call, NULL));
    tokenizer_destroy(tokenizer);
}

/* A model is refused that a tokenizer.json would give other tokens of. */
static void test_refused(const char *folder, const char *name, const char *words)
{
    char path[1024];
    struct tokenizer *tokenizer;
    rotary_error error = {0};
    json_t *object = NULL;
    check_about("%s", name);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    require(tokenizer_load(&tokenizer, path, &error), &error);
    CHECK(tokenizer_export_json(tokenizer, -1, &object, &error) == ROTARY_UNSUPPORTED && !object);
    CHECK_WORDS(error.message, words);
    tokenizer_destroy(tokenizer);
}

/* The file says what a text begins and ends with; llama.cpp has one end for that and for generation. */
static void test_ends(void)
{
    static const char text[] =
        "{\"model\":{\"type\":\"WordLevel\",\"unk_token\":\"a\",\"vocab\":{\"a\":0,\"<s>\":1,\"</s>\":2}},"
        "\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[{\"SpecialToken\":{\"id\":\"<s>\"}},"
        "{\"Sequence\":{\"id\":\"A\"}},{\"SpecialToken\":{\"id\":\"</s>\"}}],"
        "\"special_tokens\":{\"<s>\":{\"ids\":[1]},\"</s>\":{\"ids\":[2]}}}}";
    struct tokenizer *tokenizer;
    rotary_error error = {0};
    check_about("ends");
    scratch_write(scratch_path("tokenizer.json"), text, sizeof text - 1);
    require(tokenizer_load(&tokenizer, scratch_path("tokenizer.json"), &error), &error);
    json_t *metadata = gguf_of(tokenizer, (struct tokenizer_gguf_call){3, -1, 2}, "its model is WordLevel");
    CHECK(json_is_true(ggml(metadata, "add_bos_token")) && json_is_true(ggml(metadata, "add_eos_token")));
    CHECK_INT(json_integer_value(ggml(metadata, "bos_token_id")), 1);
    json_decref(metadata);
    json_decref(gguf_of(tokenizer, (struct tokenizer_gguf_call){3, -1, 0},
                        "puts token 2 behind a text, and token 0"));
    tokenizer_destroy(tokenizer);
}

int main(int count, char **arguments)
{
    if (!CHECK_INT(count, 3))
        return check_report();
    test_bytes();
    test_words();
    test_ends();
    if (strcmp(arguments[2], "with") == 0) {
        test_pieces(arguments[1], "unigram.model", false);
        test_pieces(arguments[1], "bytes.model", true);
        test_refused(arguments[1], "bpe.model", "user-defined|--format gguf");
        test_refused(arguments[1], "word.model", "type 3|wanted unigram or BPE");
    }
    return check_report();
}
