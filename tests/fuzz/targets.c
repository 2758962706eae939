/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz/target.h"

#include "file/file.h"
#include "file/npy.h"
#include "file/safetensors.h"
#include "fuzz/tokenizer_checks.h"
#include "huggingface/model_types.h"
#include "rope_config/rope_config.h"
#include "text/tokenizer/sentencepiece.h"
#include "train/run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool fuzz_refused(rotary_status status, const rotary_error *error)
{
    if (status == ROTARY_OK)
        return false;
    size_t length = strnlen(error->message, sizeof error->message);
    if (error->status != status || length == 0 || length == sizeof error->message ||
        strchr(error->message, '\n'))
        fuzz_fail("status %d with the error %d \"%.200s\"", (int)status, (int)error->status, error->message);
    return true;
}

/* Reads every byte, so that a sanitizer reports those out of bounds. */
static unsigned sum_bytes(const void *data, size_t count)
{
    unsigned sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += ((const unsigned char *)data)[i];
    return sum;
}

/* Keeps the compiler from removing the sums. */
static volatile unsigned summed;

/* ---- a run's configuration ---- */

/* An accepted configuration must be the same after it is saved and read back. */
static void check_round_trip(const struct run_config *config)
{
    rotary_error error = {0};
    struct run_config again RUN_CONFIG_LOCAL = {0};
    json_t *object, *second;
    if (run_config_to_json(config, &object, &error) ||
        run_config_from_json(&again, object, "the saved configuration", &error) ||
        run_config_to_json(&again, &second, &error))
        fuzz_fail("an accepted configuration cannot be read back: %s", error.message);
    if (!json_equal(object, second))
        fuzz_fail("an accepted configuration is another one when read back");
    json_decref(object);
    json_decref(second);
}

static bool read_json(const char *path)
{
    rotary_error error = {0};
    json_t *object;
    if (fuzz_refused(file_read_json(path, &object, &error), &error))
        return false;
    struct run_config config RUN_CONFIG_LOCAL = {0};
    bool good = !fuzz_refused(run_config_from_json(&config, object, path, &error), &error);
    if (good)
        check_round_trip(&config);
    if (good && !fuzz_refused(run_config_check(&config, &error), &error))
        check_round_trip(&config);
    json_decref(object);
    return good;
}

static const char *const json_words[] = {"{",
                                         "}",
                                         "[",
                                         "]",
                                         ":",
                                         ",",
                                         "\"",
                                         "\\u0000",
                                         "\\ud800",
                                         "null",
                                         "true",
                                         "false",
                                         "1e309",
                                         "-0",
                                         "1e-400",
                                         "0.5",
                                         "\"task\"",
                                         "\"index\"",
                                         "\"seed\"",
                                         "\"steps\"",
                                         "\"pairing\"",
                                         "\"bias\"",
                                         "\"head_dim\"",
                                         "\"rope_theta\"",
                                         "\"rope_scaling\"",
                                         "\"rope_parameters\"",
                                         "\"rope_type\"",
                                         "\"factor\"",
                                         "\"yarn\"",
                                         "\"layer_types\"",
                                         "\"full_attention\"",
                                         "\"sliding_attention\"",
                                         "\"sliding_window\"",
                                         "\"no_rope_layers\"",
                                         "\xff",
                                         "\xf0\x9f\x98\x80",
                                         NULL};

const struct fuzz_target fuzz_json = {.name = "json", .read = read_json, .words = json_words};

/* ---- the rotation in a model's config.json ---- */

enum { MAX_CHANNELS = 512 }; /* of a head that a plan is made for */

/* The plan of an accepted configuration is either refused or has finite numbers. */
static void check_plan(rotary_rope_config config)
{
    rotary_error error = {0};
    rotary_rope *rope;
    config.table_positions = 0;
    config.threads = 1;
    if (config.head_dim > MAX_CHANNELS || fuzz_refused(rotary_rope_create(&rope, &config, &error), &error))
        return;
    const double *frequencies = rotary_rope_inverse_frequencies(rope);
    for (int64_t pair = 0; pair < rotary_rope_pairs(rope); pair++)
        if (!isfinite(frequencies[pair]))
            fuzz_fail("pair %lld has the frequency %g", (long long)pair, frequencies[pair]);
    if (!isfinite(rotary_rope_attention_factor(rope)))
        fuzz_fail("the attention factor is %g", rotary_rope_attention_factor(rope));
    rotary_rope_destroy(rope);
}

/* Parses the table of model types once, so that its memory is not charged to each input. */
static rotary_status find_family(const char *model_type, struct rope_family *family, rotary_error *error)
{
    static json_t *table;
    if (!table)
        table = json_loads(model_types_json, 0, NULL);
    return model_types_find_in(table, model_type, family, error);
}

static bool read_rope(const char *path)
{
    static const char *const layer_types[] = {NULL, "full_attention", "sliding_attention"};
    bool accepted = false;
    rotary_error unread = {0};
    json_t *object;
    if (fuzz_refused(file_read_json(path, &object, &unread), &unread))
        return false;
    for (int i = 0; i < 3; i++) {
        rotary_error error = {0}; /* of this reading alone: a refusal must say why each time */
        struct rope_config_request request = {.layer_type = layer_types[i], .find_family = find_family};
        struct rope_config config;
        if (fuzz_refused(rope_config_parse(object, path, &request, &config, &error), &error))
            continue;
        accepted = true;
        check_plan(config.plan);
        rope_config_free(&config);
    }
    json_decref(object);
    return accepted;
}

static const char *const rope_words[] = {"\"rope_type\"",
                                         "\"model_type\"",
                                         "\"gemma4_text\"",
                                         "\"text_config\"",
                                         "\"type\"",
                                         "\"linear\"",
                                         "\"dynamic\"",
                                         "\"yarn\"",
                                         "\"longrope\"",
                                         "\"llama3\"",
                                         "\"mrope\"",
                                         "\"proportional\"",
                                         "\"factor\"",
                                         "\"rope_scaling\"",
                                         "\"rope_parameters\"",
                                         "\"mrope_section\"",
                                         "\"original_max_position_embeddings\"",
                                         "\"partial_rotary_factor\"",
                                         "\"inverse_frequencies\"",
                                         "\"pair_factors\"",
                                         "\"axes\"",
                                         "\"separate\"",
                                         "null",
                                         "1e-300",
                                         "1e300",
                                         "[",
                                         "]",
                                         "{",
                                         "}",
                                         ",",
                                         ":",
                                         NULL};

const struct fuzz_target fuzz_rope = {.name = "rope", .read = read_rope, .words = rope_words};

/* ---- .npy ---- */

static bool read_npy(const char *path)
{
    rotary_error error = {0};
    struct npy array;
    if (fuzz_refused(npy_read(path, &array, &error), &error))
        return false;
    int64_t elements = 1;
    for (int i = 0; i < array.dimensions; i++)
        elements *= array.shape[i];
    if (array.dimensions < 0 || array.dimensions > NPY_DIMENSIONS || elements != array.elements)
        fuzz_fail("%d dimensions, %lld elements, of which the shape knows %lld", array.dimensions,
                  (long long)array.elements, (long long)elements);
    summed = sum_bytes(array.data, (size_t)array.elements * npy_size(array.type));
    npy_free(&array);
    return true;
}

/* Sets the length of the header to its last brace. */
static void repair_npy(unsigned char *bytes, size_t count)
{
    size_t end = count;
    while (end > 10 && bytes[end - 1] != '}')
        end--;
    if (end <= 10)
        return;
    bytes[8] = (unsigned char)((end - 10) & 0xff);
    bytes[9] = (unsigned char)((end - 10) >> 8);
}

static const char *const npy_words[] = {
    "'descr'", "'fortran_order'", "'shape'", "True", "False", "'<f4'", "'<f2'", "'<f8'", "'<i4'",
    "'<i8'",   "'>f4'",           "(",       ")",    ",",     "{",     "}",     ": ",    "(0,)",
    "()",      "\x93NUMPY",       "\"",      NULL};

const struct fuzz_target fuzz_npy = {
    .name = "npy", .read = read_npy, .repair = repair_npy, .words = npy_words};

/* ---- safetensors ---- */

static void check_tensor(const struct safetensors *file, const struct safetensor *tensor)
{
    int64_t elements = 1;
    if (tensor->dimensions < 0 || tensor->dimensions > SAFETENSORS_DIMENSIONS)
        fuzz_fail("%s has %d dimensions", tensor->name, tensor->dimensions);
    for (int i = 0; i < tensor->dimensions; i++)
        elements *= tensor->shape[i];
    summed = sum_bytes(tensor->data, (size_t)elements * safetensors_element_bytes(tensor));
    if (safetensors_find(file, tensor->name) != tensor)
        fuzz_fail("%s is found elsewhere", tensor->name);
}

static bool read_safetensors(const char *path)
{
    rotary_error error = {0};
    struct safetensors *file;
    if (fuzz_refused(safetensors_open_any(&file, path, &error), &error))
        return false;
    for (int i = 0; i < safetensors_count(file); i++)
        check_tensor(file, safetensors_at(file, i));
    const char *format = safetensors_metadata(file, "format");
    summed = format ? sum_bytes(format, strlen(format)) : 0;
    safetensors_close(file);
    return true;
}

/* Sets the length of the header to its last brace. */
static void repair_safetensors(unsigned char *bytes, size_t count)
{
    size_t end = count;
    while (end > 8 && bytes[end - 1] != '}')
        end--;
    if (end <= 8)
        return;
    for (int i = 0; i < 8; i++)
        bytes[i] = (unsigned char)((end - 8) >> 8 * i);
}

static const char *const safetensors_words[] = {"{",
                                                "}",
                                                "[",
                                                "]",
                                                ":",
                                                ",",
                                                "\"dtype\"",
                                                "\"shape\"",
                                                "\"data_offsets\"",
                                                "\"F32\"",
                                                "\"F16\"",
                                                "\"BF16\"",
                                                "\"I64\"",
                                                "[0,0]",
                                                "[0,4]",
                                                "[4,8]",
                                                "\"__metadata__\"",
                                                "\"content_hash\"",
                                                "null",
                                                "18446744073709551615",
                                                NULL};

const struct fuzz_target fuzz_safetensors = {.name = "safetensors",
                                             .read = read_safetensors,
                                             .repair = repair_safetensors,
                                             .words = safetensors_words};

/* ---- tokenizers ---- */

/* Whether no text is encoded as this token. */
static bool is_special(const struct special_tokens *special, int32_t token)
{
    return token == special->padding || token == special->unknown || token == special->begin ||
           token == special->end || token == special->mask;
}

/* The text of a token is that token alone, and what it is decoded to. */
static void check_token(const struct tokenizer *tokenizer, int32_t token)
{
    enum { ROOM = 8 };
    const struct special_tokens special = tokenizer_special(tokenizer);
    const struct token_text text = tokenizer_text(tokenizer, token);
    summed = sum_bytes(text.bytes, (size_t)text.count);
    int32_t tokens[ROOM];
    struct token_list list = {.tokens = tokens, .capacity = ROOM};
    rotary_error error = {0};
    bool encoded = !fuzz_refused(tokenizer_encode(tokenizer, text.bytes, text.count, &list, &error), &error);
    if (is_special(&special, token))
        return;
    if (!encoded || list.count != 1 || list.left_out != 0 || tokens[0] != token)
        fuzz_fail("the text of token %d becomes another", (int)token);
    if (tokenizer_decode(tokenizer, &token, 1, NULL, 0) != text.count)
        fuzz_fail("token %d becomes another text", (int)token);
}

static bool read_tokenizer(const char *path)
{
    rotary_error error = {0};
    struct tokenizer *tokenizer;
    if (fuzz_refused(tokenizer_load(&tokenizer, path, &error), &error))
        return false;
    bool continues = tokenizer_kind(tokenizer) == TOKENIZER_WORDPIECE; /* "##b" is three words */
    for (int32_t token = 0; token < tokenizer_size(tokenizer) && !continues; token++)
        check_token(tokenizer, token);
    tokenizer_destroy(tokenizer);
    return true;
}

static const char *const tokenizer_words[] = {"\"format\":1",
                                              "\"tokenizer\"",
                                              "\"characters\"",
                                              "\"words\"",
                                              "\"bytes\"",
                                              "\"<s>\"",
                                              "\"</s>\"",
                                              "\"a b\"",
                                              "\"\\u0000\"",
                                              "\"\\u00e9\"",
                                              "\"\"",
                                              "[",
                                              "]",
                                              "{",
                                              "}",
                                              ",",
                                              ":",
                                              "255",
                                              "256",
                                              "-1",
                                              "null",
                                              NULL};

const struct fuzz_target fuzz_tokenizer = {
    .name = "tokenizer", .read = read_tokenizer, .words = tokenizer_words};

/* ---- SentencePiece ---- */

static bool read_sentencepiece(const char *path)
{
    static const char *const texts[] = {
        "",
        "balo <a>b schr.",
        "\xef\xac\x81 A\xcc\x88\xcc\x81 \xe3\x80\x80 x \xe2\x80\x8b",
        "\xff\xc3 \xe2\x96\x81\xf0\x9f\x98\x80 \xef\xb7\xba",
        "\xe6\x97\xa5\xe6\x9c\xac aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        "\x01\x7f\t~ <s> </s> <unk> <0x41>"};
    rotary_error error = {0};
    struct tokenizer *tokenizer;
    struct fuzz_encoded encoded;
    if (!sentencepiece_version() || fuzz_refused(sentencepiece_load(&tokenizer, path, &error), &error))
        return !sentencepiece_version();
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        fuzz_encode(tokenizer, (struct token_text){texts[i], (int64_t)strlen(texts[i])}, &encoded);
    for (int32_t token = 0; token < tokenizer_size(tokenizer); token++) {
        fuzz_encode(tokenizer, tokenizer_text(tokenizer, token), &encoded);
        summed = (unsigned)tokenizer_decode(tokenizer, &token, 1, NULL, 0);
    }
    tokenizer_destroy(tokenizer);
    return true;
}

static const char *const sentencepiece_words[] = {"\n\x08\n\x01"
                                                  "a\x15",
                                                  "\x18\x02",
                                                  "\x18\x04",
                                                  "\x18\x06",
                                                  "\x1a\x05",
                                                  "\x12\x04",
                                                  "\xff\xff\xff\xff\x0f",
                                                  "<unk>",
                                                  "\xe2\x96\x81",
                                                  NULL};

const struct fuzz_target fuzz_sentencepiece = {
    .name = "sentencepiece", .read = read_sentencepiece, .words = sentencepiece_words};

const struct fuzz_target *const fuzz_targets[] = {&fuzz_json,
                                                  &fuzz_rope,
                                                  &fuzz_npy,
                                                  &fuzz_safetensors,
                                                  &fuzz_tokenizer,
                                                  &fuzz_wordpiece,
                                                  &fuzz_json_tokenizer,
                                                  &fuzz_sentencepiece,
                                                  &fuzz_translations,
                                                  &fuzz_formula,
                                                  &fuzz_lengths,
                                                  &fuzz_decay,
                                                  &fuzz_encoding,
                                                  &fuzz_tokens,
                                                  &fuzz_documents,
                                                  &fuzz_inputs,
                                                  &fuzz_table,
                                                  &fuzz_huggingface,
                                                  &fuzz_decoder,
                                                  &fuzz_shards,
                                                  &fuzz_archive,
                                                  NULL};
