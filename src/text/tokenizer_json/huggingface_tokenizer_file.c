/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads a tokenizer.json, part by part.
 */
#include "base/fail.h"
#include "file/file.h"
#include "text/tokenizer/bert_words.h"
#include "text/tokenizer/special_tokens.h"
#include "text/tokenizer/tokenizer_settings.h"
#include "text/tokenizer/wordpiece_file.h"
#include "text/tokenizer_json/byte_characters.h"
#include "text/tokenizer_json/huggingface_model.h"
#include "text/tokenizer_json/json_part.h"
#include "text/tokenizer_json/vocabulary_merges.h"
#include "text/utf8.h"

#include <stdlib.h>
#include <string.h>

static const char settings_file[] = "tokenizer_config.json";

/* Tokens may have no piece: so many more than there are pieces, and as many again. */
enum { SPARE_TOKENS = 256 };

/* `tokenizers` wrote it, and it is not one of BERT. */
static bool is_tokenizer(const json_t *object)
{
    return !json_object_get(object, "format") && json_is_object(json_object_get(object, "model")) &&
           !wordpiece_is_object(object);
}

static bool is_object(const json_t *object)
{
    return is_tokenizer(object) || vocabulary_merges_is(object);
}

/* ---- tokens ---- */

/* Counts the tokens: one more than the greatest. */
static rotary_status measure(struct reading *reading, rotary_error *error)
{
    const struct added_tokens *added = &reading->made->added;
    const json_int_t pieces = (json_int_t)json_object_size(reading->vocabulary);
    const json_int_t limit = 2 * (pieces + added->count) + SPARE_TOKENS;
    const char *piece;
    json_t *value;
    json_object_foreach (reading->vocabulary, piece, value) {
        json_int_t id = json_integer_value(value);
        if (!json_is_integer(value) || id < 0 || id >= limit || id >= TOKENIZER_MAX_TOKENS)
            return rotary_fail(error, ROTARY_BAD_FILE,
                               "%s: the id of \"%.80s\" in \"vocab\" is not valid: wanted 0 to %lld",
                               reading->path, piece, (long long)limit - 1);
        reading->size = id >= reading->size ? id + 1 : reading->size;
    }
    for (int64_t i = 0; i < added->count; i++) {
        int32_t id = added->items[i].token;
        if (id >= limit)
            return rotary_fail(error, ROTARY_BAD_FILE,
                               "%s: the id %d of the added token \"%.80s\" is not valid: wanted 0 to %lld",
                               reading->path, (int)id, added->items[i].content.bytes, (long long)limit - 1);
        reading->size = id >= reading->size ? id + 1 : reading->size;
    }
    return ROTARY_OK;
}

static rotary_status take_pieces(struct reading *reading, rotary_error *error)
{
    const char *piece;
    json_t *value;
    json_object_foreach (reading->vocabulary, piece, value) {
        const char **raw = &reading->raw[json_integer_value(value)];
        if (*raw)
            return rotary_fail(error, ROTARY_BAD_FILE, "%s: \"%.80s\" and \"%.80s\" have the same id %lld",
                               reading->path, *raw, piece, (long long)json_integer_value(value));
        *raw = piece;
    }
    return ROTARY_OK;
}

/* An added token is a piece with that id, or has an id of its own. */
static rotary_status take_added(struct reading *reading, rotary_error *error)
{
    struct added_tokens *added = &reading->made->added;
    for (int64_t i = 0; i < added->count; i++) {
        const struct added_token *token = &added->items[i];
        const char *content = token->content.bytes, *before = reading->raw[token->token];
        int32_t piece = huggingface_find_piece(reading, content);
        if ((piece >= 0 && piece != token->token) || (before && strcmp(before, content) != 0))
            return rotary_fail(error, ROTARY_BAD_FILE,
                               "%s: the id %d of the added token \"%.80s\" is not its own: \"vocab\" or "
                               "another one has it",
                               reading->path, (int)token->token, content);
        reading->raw[token->token] = token->normal ? token->normal : content;
        reading->made->flags[token->token] |= token->special ? TOKEN_SPECIAL : 0;
    }
    return ROTARY_OK;
}

static rotary_status read_tokens(struct reading *reading, rotary_error *error)
{
    struct huggingface_tokenizer *made = reading->made;
    rotary_status status = measure(reading, error);
    if (status != ROTARY_OK)
        return status;
    if (reading->size == 0)
        return rotary_fail(error, ROTARY_BAD_FILE, "%s: the \"vocab\" is empty", reading->path);
    reading->raw = calloc((size_t)reading->size, sizeof *reading->raw);
    made->flags = calloc((size_t)reading->size, sizeof *made->flags);
    made->text_starts = calloc((size_t)reading->size + 1, sizeof *made->text_starts);
    if (!reading->raw || !made->flags || !made->text_starts)
        return rotary_fail_memory(error, "to read %s", reading->path);
    made->tokenizer.size = reading->size;
    status = take_pieces(reading, error);
    return status == ROTARY_OK ? take_added(reading, error) : status;
}

/* ---- texts ---- */

/* Where there is a space between pieces, those with the model's prefix continue a word, else those without a
 * space. */
static bool continues(const struct reading *reading, const struct text_buffer *text, const char *raw)
{
    int64_t length = text->count > 0 ? utf8_character_bytes(text->bytes, text->count) : 0;
    uint32_t first = length > 0 ? utf8_code_point(text->bytes, length) : 0x80;
    const char *prefix = json_string_value(json_object_get(reading->model, "continuing_subword_prefix"));
    if (reading->made->decoder.separator[0])
        return prefix && prefix[0] && strncmp(raw, prefix, strlen(prefix)) == 0;
    return first > ' ' && !bert_is_chinese(first);
}

static unsigned char flags_of(const struct reading *reading, const struct text_buffer *text, const char *raw)
{
    const struct piece_decoder *decoder = &reading->made->decoder;
    unsigned char flags = 0;
    if (continues(reading, text, raw))
        flags |= TOKEN_CONTINUES;
    if (piece_decoder_joins(decoder, raw))
        flags |= TOKEN_JOINS;
    if (piece_decoder_has_prefix(decoder, raw))
        flags |= TOKEN_LACKS_PREFIX;
    if (strchr(raw, ' '))
        flags |= TOKEN_KEEPS_SPACES;
    return flags;
}

/* Decodes each token by itself. */
static rotary_status read_texts(struct reading *reading, rotary_error *error)
{
    struct huggingface_tokenizer *made = reading->made;
    struct text_buffer *text = &reading->text;
    rotary_status status = ROTARY_OK;
    for (int64_t token = 0; token < reading->size && status == ROTARY_OK; token++) {
        const char *raw = reading->raw[token] ? reading->raw[token] : "";
        text->count = 0;
        status = text_buffer_append(text, raw, (int64_t)strlen(raw), error);
        if (status == ROTARY_OK)
            status = piece_decoder_apply(&made->decoder, text, &reading->scratch, error);
        if (status == ROTARY_OK)
            status = text_buffer_append(&made->texts, text->bytes, text->count, error);
        made->text_starts[token + 1] = made->texts.count;
        made->flags[token] |= flags_of(reading, text, raw);
    }
    return status == ROTARY_OK ? text_buffer_reserve(&made->texts, 1, error) : status;
}

/* ---- pieces ---- */

/* Adds a piece as texts have it. One with a character that stands for no byte is never found. */
static rotary_status add_piece(struct reading *reading, int32_t token, const char *piece, rotary_error *error)
{
    struct huggingface_tokenizer *made = reading->made;
    struct text_buffer *text = &reading->text;
    int64_t bytes = (int64_t)strlen(piece);
    bool complete = true;
    text->count = 0;
    rotary_status status = made->pre_tokenizer.bytes
                               ? byte_characters_append(piece, bytes, text, &complete, error)
                               : text_buffer_append(text, piece, bytes, error);
    if (status != ROTARY_OK || !complete || text->count == 0)
        return status;
    if (piece_table_add(&made->pieces, token, text->bytes, text->count))
        return ROTARY_OK;
    return rotary_fail(error, ROTARY_BAD_FILE, "%s: the piece \"%.80s\" is there twice", reading->path,
                       piece);
}

static rotary_status read_pieces(struct reading *reading, rotary_error *error)
{
    int64_t bytes = 0;
    const char *piece;
    json_t *value;
    json_object_foreach (reading->vocabulary, piece, value)
        bytes += (int64_t)strlen(piece);
    if (!piece_table_create(&reading->made->pieces, reading->size, bytes))
        return rotary_fail_memory(error, "to read %s", reading->path);
    rotary_status status = ROTARY_OK;
    json_object_foreach (reading->vocabulary, piece, value) {
        if (status == ROTARY_OK)
            status = add_piece(reading, (int32_t)json_integer_value(value), piece, error);
    }
    return status;
}

/* ---- the model ---- */

static rotary_status read_model(struct reading *reading, rotary_error *error)
{
    const struct json_part part = {reading->model, "model", reading->path};
    rotary_status status = huggingface_vocabulary_read(reading, &part, error);
    if (status == ROTARY_OK)
        status = read_tokens(reading, error);
    if (status == ROTARY_OK)
        status = read_texts(reading, error);
    if (status == ROTARY_OK)
        status = read_pieces(reading, error);
    return status == ROTARY_OK ? huggingface_model_read(reading, &part, error) : status;
}

/* ---- special tokens ---- */

/* The token with a name; -1: there is none. */
static int32_t find_token(const struct reading *reading, const char *name)
{
    const struct added_tokens *added = &reading->made->added;
    for (int64_t i = 0; name && i < added->count; i++)
        if (strcmp(added->items[i].content.bytes, name) == 0)
            return added->items[i].token;
    return name ? huggingface_find_piece(reading, name) : -1;
}

/* One of the two tokens that a post-processor may put around a text; `id` is the number that it has for it. */
static rotary_status frame(struct reading *reading, const char *name, const json_t *id, bool starts,
                           rotary_error *error)
{
    struct tokenizer *tokenizer = &reading->made->tokenizer;
    bool *framed = starts ? &tokenizer->frame.begin : &tokenizer->frame.end;
    int32_t token = find_token(reading, name);
    if (token < 0 || *framed)
        return rotary_fail(error, ROTARY_BAD_FILE,
                           token < 0 ? "%s: the token \"%.80s\" of the post_processor is not there"
                                     : "%s: the post_processor puts \"%.80s\" beside another token, wanted "
                                       "one token before and one behind a text at most",
                           reading->path, name ? name : "");
    if (!json_is_integer(id) || json_integer_value(id) != token)
        return rotary_fail(
            error, ROTARY_BAD_FILE,
            "%s: the post_processor has another id for \"%.80s\" than the token, wanted %d alone",
            reading->path, name, (int)token);
    *framed = true;
    *(starts ? &tokenizer->special.begin : &tokenizer->special.end) = token;
    return ROTARY_OK;
}

/* The one id that "special_tokens" has for a token of the template; NULL: there is none, or there are more. */
static const json_t *template_id(const struct json_part *part, const json_t *token)
{
    const char *name = json_string_value(json_object_get(token, "id"));
    const json_t *all = json_object_get(part->object, "special_tokens");
    const json_t *ids = name ? json_object_get(json_object_get(all, name), "ids") : NULL;
    return json_array_size(ids) == 1 ? json_array_get(ids, 0) : NULL;
}

/* {"Sequence": {"id": "A"}} is the text, {"SpecialToken": {"id": name}} a token before or behind it. */
static rotary_status read_template(struct reading *reading, const struct json_part *part, rotary_error *error)
{
    const json_t *list = json_object_get(part->object, "single");
    bool starts = true;
    rotary_status status = ROTARY_OK;
    if (!json_is_array(list))
        return json_part_fail(part, "single", "a list", error);
    for (size_t i = 0; i < json_array_size(list) && status == ROTARY_OK; i++) {
        const json_t *entry = json_array_get(list, i), *token = json_object_get(entry, "SpecialToken"),
                     *text = json_object_get(json_object_get(entry, "Sequence"), "id");
        if (token)
            status = frame(reading, json_string_value(json_object_get(token, "id")), template_id(part, token),
                           starts, error);
        else if (starts && json_is_string(text) && strcmp(json_string_value(text), "A") == 0)
            starts = false;
        else
            status = json_part_fail(part, "single", "special tokens around one text", error);
    }
    return status;
}

/* "cls" and "sep" are a name and an id. */
static rotary_status read_bert(struct reading *reading, const struct json_part *part, rotary_error *error)
{
    const json_t *cls = json_object_get(part->object, "cls"), *sep = json_object_get(part->object, "sep");
    rotary_status status =
        frame(reading, json_string_value(json_array_get(cls, 0)), json_array_get(cls, 1), true, error);
    return status == ROTARY_OK ? frame(reading, json_string_value(json_array_get(sep, 0)),
                                       json_array_get(sep, 1), false, error)
                               : status;
}

static rotary_status read_processor(void *context, const struct json_part *part, rotary_error *error)
{
    const char *type = json_part_type(part);
    if (strcmp(type, "ByteLevel") == 0) /* changes offsets alone */
        return ROTARY_OK;
    if (strcmp(type, "TemplateProcessing") == 0)
        return read_template(context, part, error);
    if (strcmp(type, "RobertaProcessing") == 0 || strcmp(type, "BertProcessing") == 0)
        return read_bert(context, part, error);
    return json_part_refuse(part, error);
}

/* Takes the names of a tokenizer_config.json, where what is taken so far has no token. */
static rotary_status take_names(struct reading *reading, const json_t *settings, const char *path,
                                rotary_error *error)
{
    struct special_tokens *special = &reading->made->tokenizer.special;
    const struct {
        const char *key;
        int32_t *token;
    } rows[] = {{"bos_token", &special->begin},   {"cls_token", &special->begin},
                {"eos_token", &special->end},     {"sep_token", &special->end},
                {"pad_token", &special->padding}, {"unk_token", &special->unknown},
                {"mask_token", &special->mask}};
    rotary_status status = ROTARY_OK;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0] && status == ROTARY_OK; i++) {
        const char *name = NULL;
        status = special_name_read(settings, rows[i].key, &name, path, error);
        if (status == ROTARY_OK && *rows[i].token < 0)
            *rows[i].token = find_token(reading, name);
    }
    return status;
}

/* Reads the names from the file beside `path`, if there is one. */
static rotary_status read_names(struct reading *reading, rotary_error *error)
{
    char folder[FILE_PATH_BYTES], beside[FILE_PATH_BYTES];
    json_t *settings = NULL;
    rotary_status status = file_folder_of(reading->path, folder, error);
    if (status == ROTARY_OK)
        status = file_path(beside, folder, settings_file, error);
    if (status == ROTARY_OK)
        status = tokenizer_settings_read(beside, &settings, error);
    if (status != ROTARY_OK || !settings)
        return status;
    status = take_names(reading, settings, beside, error);
    json_decref(settings);
    return status;
}

/* A file of this program has the numbers. */
static rotary_status read_numbers(struct reading *reading, const json_t *object, rotary_error *error)
{
    struct special_tokens *special = &reading->made->tokenizer.special;
    rotary_status status = special_tokens_read(special, object, reading->path, error);
    const int32_t ids[] = {special->padding, special->unknown, special->begin, special->end, special->mask};
    for (int i = 0; i < 5 && status == ROTARY_OK; i++)
        if (ids[i] >= reading->size)
            status = rotary_fail(error, ROTARY_BAD_FILE, "%s: the special token %d is not below %lld",
                                 reading->path, (int)ids[i], (long long)reading->size);
    return status;
}

/* ---- files ---- */

static rotary_status read_parts(struct reading *reading, const json_t *file, rotary_error *error)
{
    struct huggingface_tokenizer *made = reading->made;
    const char *path = reading->path;
    rotary_status status =
        text_normalizer_read(&made->normalizer, json_object_get(file, "normalizer"), path, error);
    if (status == ROTARY_OK)
        status =
            pre_tokenizer_read(&made->pre_tokenizer, json_object_get(file, "pre_tokenizer"), path, error);
    if (status == ROTARY_OK)
        status = added_tokens_read(&made->added, json_object_get(file, "added_tokens"), &made->normalizer,
                                   path, error);
    if (status == ROTARY_OK)
        status = piece_decoder_read(&made->decoder, json_object_get(file, "decoder"), path, error);
    if (status == ROTARY_OK)
        status = read_model(reading, error);
    const struct json_part processor = {json_object_get(file, "post_processor"), "post_processor", path};
    return status == ROTARY_OK ? json_part_each(&processor, "processors", read_processor, reading, error)
                               : status;
}

/* Keeps the file's text, and lets go of what belongs to its object. */
static rotary_status keep_file(struct huggingface_tokenizer *made, const json_t *file, const char *path,
                               rotary_error *error)
{
    char *text = json_dumps(file, JSON_COMPACT);
    if (!text)
        return rotary_fail_memory(error, "to read %s", path);
    made->file = (struct text_buffer){
        .bytes = text, .count = (int64_t)strlen(text), .capacity = (int64_t)strlen(text)};
    for (int64_t i = 0; i < made->added.count; i++)
        made->added.items[i].content = (struct token_text){NULL, 0};
    return ROTARY_OK;
}

/* Makes the tokenizer of the object `file`. Of this program's own file the numbers of special tokens are in
 * `own`, else NULL. */
static rotary_status create(struct tokenizer **tokenizer, const json_t *file, const json_t *own,
                            const char *path, rotary_error *error)
{
    struct huggingface_tokenizer *made = calloc(1, sizeof *made);
    if (!made)
        return rotary_fail_memory(error, "to read %s", path);
    made->tokenizer = (struct tokenizer){.type = &tokenizer_huggingface, .special = {-1, -1, -1, -1, -1}};
    struct reading reading = {.made = made, .model = json_object_get(file, "model"), .path = path};
    rotary_status status = read_parts(&reading, file, error);
    if (status == ROTARY_OK)
        status = own ? read_numbers(&reading, own, error) : read_names(&reading, error);
    if (status == ROTARY_OK)
        status = keep_file(made, file, path, error);
    free(reading.raw);
    json_decref(reading.vocabulary);
    text_buffer_free(&reading.text);
    text_buffer_free(&reading.scratch);
    if (status == ROTARY_OK)
        *tokenizer = &made->tokenizer;
    else
        huggingface_tokenizer_destroy(&made->tokenizer);
    return status;
}

static rotary_status load(struct tokenizer **tokenizer, const json_t *object, const char *path,
                          rotary_error *error)
{
    if (is_tokenizer(object))
        return create(tokenizer, object, NULL, path, error);
    if (!vocabulary_merges_is(object))
        return create(tokenizer, json_object_get(object, "file"), object, path, error);
    json_t *made;
    rotary_status status = vocabulary_merges_object((json_t *)(uintptr_t)object, path, &made, error);
    if (status != ROTARY_OK)
        return status;
    status = create(tokenizer, made, NULL, path, error);
    json_decref(made);
    return status;
}

const struct tokenizer_format tokenizer_format_huggingface = {.load = load, .is_object = is_object};
