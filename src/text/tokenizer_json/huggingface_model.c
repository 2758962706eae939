/* SPDX-License-Identifier: Apache-2.0 */
#include "text/tokenizer_json/huggingface_model.h"

#include "base/fail.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_MERGES = 1 << 22 };

/* ---- vocabularies ---- */

int32_t huggingface_find_piece(const struct reading *reading, const char *piece)
{
    const json_t *value = json_object_get(reading->vocabulary, piece);
    return value ? (int32_t)json_integer_value(value) : -1;
}

/* All models but Unigram have tokens by piece. */
static rotary_status take_object(struct reading *reading, const struct json_part *part, rotary_error *error)
{
    json_t *vocabulary = json_object_get(part->object, "vocab");
    if (!json_is_object(vocabulary))
        return json_part_fail(part, "vocab", "ids by piece", error);
    reading->vocabulary = json_incref(vocabulary);
    return ROTARY_OK;
}

/* Reads those of Unigram: a list of [piece, score], in the order of tokens. */
static rotary_status take_list(struct reading *reading, const struct json_part *part, rotary_error *error)
{
    const json_t *list = json_object_get(part->object, "vocab");
    if (!json_is_array(list) || json_array_size(list) > TOKENIZER_MAX_TOKENS)
        return json_part_fail(part, "vocab", "a list of pieces with scores", error);
    reading->vocabulary = json_object();
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *entry = json_array_get(list, i), *score = json_array_get(entry, 1);
        const char *piece = json_string_value(json_array_get(entry, 0));
        if (json_array_size(entry) != 2 || !piece || !json_is_number(score) ||
            !isfinite(json_number_value(score)))
            return rotary_fail(error, ROTARY_BAD_FILE,
                               "%s: entry %zu of \"vocab\" is not valid: wanted a piece and its score",
                               part->path, i + 1);
        if (json_object_get(reading->vocabulary, piece))
            return rotary_fail(error, ROTARY_BAD_FILE,
                               "%s: entry %zu of \"vocab\", \"%.80s\", is there twice", part->path, i + 1,
                               piece);
        if (json_object_set_new(reading->vocabulary, piece, json_integer((json_int_t)i)) != 0)
            return rotary_fail_memory(error, "to read %s", part->path);
    }
    return ROTARY_OK;
}

/* The token of bytes that are no piece by themselves: <0x00> and so on. */
static void find_fallback(const struct reading *reading, int32_t fallback[256])
{
    for (int byte = 0; byte < 256; byte++) {
        char name[8];
        snprintf(name, sizeof name, "<0x%02X>", (unsigned)byte);
        fallback[byte] = huggingface_find_piece(reading, name);
    }
}

/* ---- BPE ---- */

/* The two sides of a merge: "a b", or ["a", "b"]. False if it is neither. */
static bool read_sides(const json_t *entry, struct text_buffer *text, const char **left, const char **right,
                       rotary_error *error)
{
    const char *both = json_string_value(entry), *space = both ? strchr(both, ' ') : NULL;
    if (json_is_array(entry) && json_array_size(entry) == 2) {
        *left = json_string_value(json_array_get(entry, 0));
        *right = json_string_value(json_array_get(entry, 1));
        return *left && *right;
    }
    text->count = 0;
    if (!space || strchr(space + 1, ' ') ||
        text_buffer_append(text, both, (int64_t)strlen(both) + 1, error) != ROTARY_OK)
        return false;
    text->bytes[space - both] = '\0';
    *left = text->bytes;
    *right = text->bytes + (space - both) + 1;
    return true;
}

static rotary_status read_merge(struct reading *reading, size_t number, const json_t *entry,
                                struct bpe_merge *merge, rotary_error *error)
{
    const char *left, *right;
    if (!read_sides(entry, &reading->text, &left, &right, error))
        return rotary_fail(error, ROTARY_BAD_FILE,
                           "%s: entry %zu of \"merges\" is not valid: wanted two pieces", reading->path,
                           number);
    struct text_buffer *merged = &reading->scratch;
    merged->count = 0;
    rotary_status status = text_buffer_append(merged, left, (int64_t)strlen(left), error);
    if (status == ROTARY_OK)
        status = text_buffer_append(merged, right, (int64_t)strlen(right) + 1, error);
    if (status != ROTARY_OK)
        return status;
    *merge = (struct bpe_merge){huggingface_find_piece(reading, left), huggingface_find_piece(reading, right),
                                huggingface_find_piece(reading, merged->bytes), (int32_t)number};
    if (merge->left >= 0 && merge->right >= 0 && merge->merged >= 0)
        return ROTARY_OK;
    return rotary_fail(error, ROTARY_BAD_FILE, "%s: entry %zu of \"merges\": \"%.80s\" is not in \"vocab\"",
                       reading->path, number,
                       merge->left < 0    ? left
                       : merge->right < 0 ? right
                                          : merged->bytes);
}

/* Keys of other variants of BPE, which must not be there. */
static rotary_status check_bpe(const struct json_part *part, rotary_error *error)
{
    static const char *const affixes[] = {"continuing_subword_prefix", "end_of_word_suffix"};
    const json_t *dropout = json_object_get(part->object, "dropout");
    for (size_t i = 0; i < sizeof affixes / sizeof affixes[0]; i++) {
        const char *affix = "";
        rotary_status status = json_part_text(part, affixes[i], true, &affix, error);
        if (status == ROTARY_OK && affix[0])
            status = json_part_fail(part, affixes[i], "null, or an empty text", error);
        if (status != ROTARY_OK)
            return status;
    }
    if (json_number_value(dropout) != 0)
        return json_part_fail(part, "dropout", "null, or 0", error);
    return ROTARY_OK;
}

static rotary_status read_config(struct reading *reading, const struct json_part *part,
                                 struct bpe_config *config, rotary_error *error)
{
    const char *unknown = NULL;
    *config = (struct bpe_config){
        .pieces = &reading->made->pieces, .bytes = reading->made->pre_tokenizer.bytes, .unknown = -1};
    rotary_status status = check_bpe(part, error);
    if (status == ROTARY_OK)
        status = json_part_flag(part, "byte_fallback", &config->byte_fallback, error);
    if (status == ROTARY_OK)
        status = json_part_flag(part, "ignore_merges", &config->ignore_merges, error);
    if (status == ROTARY_OK)
        status = json_part_flag(part, "fuse_unk", &config->fuse_unknown, error);
    if (status == ROTARY_OK)
        status = json_part_text(part, "unk_token", true, &unknown, error);
    if (status != ROTARY_OK)
        return status;
    if (config->bytes && config->byte_fallback)
        return json_part_fail(part, "byte_fallback", "false with ByteLevel", error);
    config->unknown = unknown ? huggingface_find_piece(reading, unknown) : -1;
    if (unknown && config->unknown < 0)
        return json_part_fail(part, "unk_token", "a piece of \"vocab\"", error);
    find_fallback(reading, config->fallback);
    return ROTARY_OK;
}

static rotary_status read_bpe(struct reading *reading, const struct json_part *part, rotary_error *error)
{
    const json_t *list = json_object_get(part->object, "merges");
    struct bpe_config config;
    rotary_status status = read_config(reading, part, &config, error);
    if (status == ROTARY_OK && (!json_is_array(list) || json_array_size(list) > MAX_MERGES))
        status = json_part_fail(part, "merges", "a list of at most four million", error);
    if (status != ROTARY_OK)
        return status;
    struct bpe_merge *merges = malloc((json_array_size(list) + 1) * sizeof *merges);
    if (!merges)
        return rotary_fail_memory(error, "to read %s", reading->path);
    for (size_t i = 0; i < json_array_size(list) && status == ROTARY_OK; i++)
        status = read_merge(reading, i + 1, json_array_get(list, i), &merges[i], error);
    if (status == ROTARY_OK)
        status =
            bpe_model_create(&reading->made->bpe, &config, merges, (int64_t)json_array_size(list), error);
    free(merges);
    reading->made->tokenizer.special.unknown = config.unknown;
    return status;
}

/* ---- Unigram ---- */

static rotary_status read_unigram(struct reading *reading, const struct json_part *part, rotary_error *error)
{
    const json_t *list = json_object_get(part->object, "vocab"),
                 *unknown = json_object_get(part->object, "unk_id");
    struct unigram_config config = {.pieces = &reading->made->pieces};
    if (reading->made->pre_tokenizer.bytes)
        return rotary_fail(error, ROTARY_BAD_FILE, "%s: ByteLevel with the model Unigram is not supported",
                           part->path);
    if (!json_is_integer(unknown) || json_integer_value(unknown) < 0 ||
        json_integer_value(unknown) >= (json_int_t)json_array_size(list))
        return json_part_fail(part, "unk_id", "a token", error);
    config.unknown = (int32_t)json_integer_value(unknown);
    rotary_status status = json_part_flag(part, "byte_fallback", &config.byte_fallback, error);
    if (status != ROTARY_OK)
        return status;
    find_fallback(reading, config.fallback);
    double *scores = calloc((size_t)reading->size, sizeof *scores);
    if (!scores)
        return rotary_fail_memory(error, "to read %s", part->path);
    for (size_t i = 0; i < json_array_size(list); i++)
        scores[i] = json_number_value(json_array_get(json_array_get(list, i), 1));
    config.scores = scores;
    rotary_error reason;
    status = unigram_model_create(&reading->made->unigram, &config, &reason);
    free(scores);
    reading->made->tokenizer.special.unknown = config.unknown;
    return status == ROTARY_OK
               ? status
               : rotary_fail(error, status == ROTARY_INVALID_ARGUMENT ? ROTARY_BAD_FILE : status, "%s: %s",
                             part->path, reason.message);
}

/* ---- WordLevel ---- */

static rotary_status read_words(struct reading *reading, const struct json_part *part, rotary_error *error)
{
    const char *name = NULL;
    rotary_status status = json_part_text(part, "unk_token", false, &name, error);
    const int32_t unknown = status == ROTARY_OK ? huggingface_find_piece(reading, name) : -1;
    if (status == ROTARY_OK && unknown < 0)
        status = json_part_fail(part, "unk_token", "a piece of \"vocab\"", error);
    reading->made->unknown_word = reading->made->tokenizer.special.unknown = unknown;
    return status;
}

/* ---- WordPiece ---- */

static rotary_status create_wordpiece(struct reading *reading, const struct wordpiece_model_config *config,
                                      rotary_error *error)
{
    rotary_error reason;
    rotary_status status = wordpiece_model_create(&reading->made->wordpiece, config, &reason);
    reading->made->tokenizer.special.unknown = config->unknown;
    return status == ROTARY_OK
               ? status
               : rotary_fail(error, status == ROTARY_INVALID_ARGUMENT ? ROTARY_BAD_FILE : status, "%s: %s",
                             reading->path, reason.message);
}

static rotary_status read_wordpiece(struct reading *reading, const struct json_part *part,
                                    rotary_error *error)
{
    const json_t *max = json_object_get(part->object, "max_input_chars_per_word");
    const char *name = NULL, *prefix = NULL;
    if (reading->made->pre_tokenizer.bytes)
        return rotary_fail(error, ROTARY_BAD_FILE, "%s: ByteLevel with the model WordPiece is not supported",
                           part->path);
    rotary_status status = json_part_text(part, "unk_token", false, &name, error);
    if (status == ROTARY_OK)
        status = json_part_text(part, "continuing_subword_prefix", false, &prefix, error);
    if (status == ROTARY_OK && (!json_is_integer(max) || json_integer_value(max) < 0))
        status = json_part_fail(part, "max_input_chars_per_word", "a number", error);
    if (status != ROTARY_OK)
        return status;
    const struct wordpiece_model_config config = {&reading->made->pieces, prefix,
                                                  (int64_t)json_integer_value(max),
                                                  huggingface_find_piece(reading, name)};
    return config.unknown < 0 ? json_part_fail(part, "unk_token", "a piece of \"vocab\"", error)
                              : create_wordpiece(reading, &config, error);
}

/* ---- all of them ---- */

static const struct model_type {
    const char *type;
    rotary_status (*vocabulary)(struct reading *reading, const struct json_part *part, rotary_error *error);
    rotary_status (*read)(struct reading *reading, const struct json_part *part, rotary_error *error);
} types[] = {{"BPE", take_object, read_bpe},
             {"Unigram", take_list, read_unigram},
             {"WordLevel", take_object, read_words},
             {"WordPiece", take_object, read_wordpiece}};

static const struct model_type *find_type(const struct json_part *part)
{
    const char *type = json_model_type(part->object);
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (strcmp(type, types[i].type) == 0)
            return &types[i];
    return NULL;
}

rotary_status huggingface_vocabulary_read(struct reading *reading, const struct json_part *part,
                                          rotary_error *error)
{
    const struct model_type *type = find_type(part);
    if (type)
        return type->vocabulary(reading, part, error);
    return rotary_fail(error, ROTARY_BAD_FILE,
                       "%s: the \"model\" is of type \"%.80s\", wanted \"BPE\", \"Unigram\", "
                       "\"WordLevel\" or \"WordPiece\"",
                       part->path, json_model_type(part->object));
}

rotary_status huggingface_model_read(struct reading *reading, const struct json_part *part,
                                     rotary_error *error)
{
    return find_type(part)->read(reading, part, error);
}
