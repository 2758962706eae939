/* SPDX-License-Identifier: Apache-2.0 */
#include "text/tokenizer/wordpiece_file.h"

#include "base/fail.h"
#include "config/json_fields.h"
#include "file/file.h"
#include "text/tokenizer/special_tokens.h"
#include "text/tokenizer/tokenizer_settings.h"
#include "text/tokenizer_json/json_part.h"

#include <stdlib.h>
#include <string.h>

static const char unknown_name[] = "[UNK]", settings_file[] = "tokenizer_config.json";

static const struct {
    const char *key, *name; /* of tokenizer_config.json, and the default */
} special_rows[WORDPIECE_SPECIAL] = {{"pad_token", "[PAD]"},
                                     {"unk_token", unknown_name},
                                     {"cls_token", "[CLS]"},
                                     {"sep_token", "[SEP]"},
                                     {"mask_token", "[MASK]"}};

rotary_status wordpiece_create_from(struct tokenizer **tokenizer, const struct wordpiece_config *config,
                                    const struct token_text *pieces, int64_t count, const char *path,
                                    rotary_error *error)
{
    rotary_error reason;
    rotary_status status = wordpiece_create(tokenizer, config, pieces, count, &reason);
    if (status == ROTARY_OK)
        return status;
    return rotary_fail(error, status == ROTARY_INVALID_ARGUMENT ? ROTARY_BAD_FILE : status, "%s: %s", path,
                       reason.message);
}

/* ---- tokenizer_config.json ---- */

/* Sets *flag if the object has the key; null leaves it as it is. */
static rotary_status read_flag(const json_t *object, const char *key, bool *flag, const char *path,
                               rotary_error *error)
{
    const struct json_source source = {.path = path};
    return json_field_boolean(&source, key, json_field_value(object, key), flag, error);
}

/* Refuses what BertJapaneseTokenizer has in place of BERT's words and pieces, and words that are not split. */
static rotary_status check_words(const json_t *object, const char *path, rotary_error *error)
{
    static const struct {
        const char *key, *wanted;
    } rows[] = {{"word_tokenizer_type", "basic"}, {"subword_tokenizer_type", "wordpiece"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *value = json_string_value(json_object_get(object, rows[i].key));
        if (value && strcmp(value, rows[i].wanted) != 0)
            return rotary_fail(error, ROTARY_BAD_FILE, "%s: \"%s\" is \"%.80s\", wanted \"%s\"", path,
                               rows[i].key, value, rows[i].wanted);
    }
    return json_array_size(json_object_get(object, "never_split")) == 0
               ? ROTARY_OK
               : rotary_fail(error, ROTARY_BAD_FILE,
                             "%s: \"never_split\" has words, wanted none: all words are split into pieces",
                             path);
}

static rotary_status read_settings(struct wordpiece_settings *settings, const char *path, rotary_error *error)
{
    const json_t *object = settings->object;
    struct bert_rules *rules = &settings->rules;
    bool basic = true;
    rotary_status status = read_flag(object, "do_lower_case", &rules->lower_case, path, error);
    rules->strip_accents = rules->lower_case;
    if (status == ROTARY_OK)
        status = read_flag(object, "strip_accents", &rules->strip_accents, path, error);
    if (status == ROTARY_OK)
        status = read_flag(object, "tokenize_chinese_chars", &rules->split_chinese, path, error);
    if (status == ROTARY_OK)
        status = read_flag(object, "do_basic_tokenize", &basic, path, error);
    if (status == ROTARY_OK && !basic)
        status = rotary_fail(error, ROTARY_BAD_FILE,
                             "%s: \"do_basic_tokenize\" is false, wanted true: text is not split into words",
                             path);
    if (status == ROTARY_OK)
        status = check_words(object, path, error);
    for (int i = 0; i < WORDPIECE_SPECIAL && status == ROTARY_OK; i++)
        status = special_name_read(object, special_rows[i].key, &settings->names[i], path, error);
    return status;
}

rotary_status wordpiece_settings_read(struct wordpiece_settings *settings, const char *path,
                                      rotary_error *error)
{
    struct wordpiece_config defaults;
    wordpiece_defaults(&defaults);
    *settings = (struct wordpiece_settings){.rules = defaults.rules};
    for (int i = 0; i < WORDPIECE_SPECIAL; i++)
        settings->names[i] = special_rows[i].name;
    rotary_status status = tokenizer_settings_read(path, &settings->object, error);
    return status == ROTARY_OK && settings->object ? read_settings(settings, path, error) : status;
}

void wordpiece_settings_free(struct wordpiece_settings *settings)
{
    json_decref(settings->object);
    settings->object = NULL;
}

/* Reads the file in the folder that has `path`. */
static rotary_status read_settings_beside(struct wordpiece_settings *settings, const char *path,
                                          rotary_error *error)
{
    char folder[FILE_PATH_BYTES], beside[FILE_PATH_BYTES];
    *settings = (struct wordpiece_settings){0};
    rotary_status status = file_folder_of(path, folder, error);
    if (status == ROTARY_OK)
        status = file_path(beside, folder, settings_file, error);
    return status == ROTARY_OK ? wordpiece_settings_read(settings, beside, error) : status;
}

/* ---- pieces ---- */

/* The last piece that is `name`, as a dictionary would have it; -1: none is. */
static int32_t find_piece(const struct token_text *pieces, int64_t count, const char *name)
{
    int64_t length = name ? (int64_t)strlen(name) : -1, i = count - 1;
    while (i >= 0 && !(pieces[i].count == length && memcmp(pieces[i].bytes, name, (size_t)length) == 0))
        i--;
    return (int32_t)i;
}

/* The tokenizer of pieces whose special tokens have the names of `settings`. */
static rotary_status create_named(struct tokenizer **tokenizer, const struct wordpiece_settings *settings,
                                  const struct token_text *pieces, int64_t count, const char *path,
                                  rotary_error *error)
{
    struct wordpiece_config config = {.rules = settings->rules};
    int32_t *const ids[WORDPIECE_SPECIAL] = {&config.special.padding, &config.special.unknown,
                                             &config.special.begin, &config.special.end,
                                             &config.special.mask};
    for (int i = 0; i < WORDPIECE_SPECIAL; i++)
        *ids[i] = find_piece(pieces, count, settings->names[i]);
    if (config.special.unknown < 0)
        return rotary_fail(error, ROTARY_BAD_FILE, "%s has no %s, which stands for words that have no pieces",
                           path, settings->names[1] ? settings->names[1] : "unknown token");
    return wordpiece_create_from(tokenizer, &config, pieces, count, path, error);
}

/* ---- vocab.txt ---- */

/* The line at *at, without its end; *at is moved to the next one. */
static struct token_text next_line(const char *bytes, int64_t count, int64_t *at)
{
    const char *begin = bytes + *at, *end = memchr(begin, '\n', (size_t)(count - *at));
    int64_t length = end ? end - begin : count - *at;
    *at += length + (end != NULL);
    return (struct token_text){begin, length > 0 && begin[length - 1] == '\r' ? length - 1 : length};
}

/* Tokens of added_tokens.json must be lines of the vocabulary, with the same id. */
static rotary_status check_older(json_t *added, const struct token_text *pieces, int64_t count,
                                 const char *path, rotary_error *error)
{
    const char *name;
    json_t *id;
    json_object_foreach (added, name, id)
        if (json_integer_value(id) >= count || find_piece(pieces + json_integer_value(id), 1, name) != 0)
            return rotary_fail(
                error, ROTARY_BAD_FILE,
                "%s: \"%.80s\", token %lld of added_tokens.json beside it, is not there, wanted a line "
                "for it",
                path, name, (long long)json_integer_value(id));
    return ROTARY_OK;
}

bool wordpiece_is_vocabulary(const char *bytes, int64_t count)
{
    for (int64_t at = 0; at < count;) {
        const struct token_text line = next_line(bytes, count, &at);
        if (find_piece(&line, 1, unknown_name) == 0)
            return true;
    }
    return false;
}

rotary_status wordpiece_load_vocabulary(struct tokenizer **tokenizer, const char *bytes, int64_t count,
                                        const char *path, rotary_error *error)
{
    int64_t lines = 0;
    for (int64_t at = 0; at < count; lines++)
        next_line(bytes, count, &at);
    if (lines > WORDPIECE_MAX_PIECES)
        return rotary_fail(error, ROTARY_BAD_FILE, "%s has %lld lines, wanted at most %d", path,
                           (long long)lines, (int)WORDPIECE_MAX_PIECES);
    struct token_text *pieces = malloc(((size_t)lines + 1) * sizeof *pieces);
    if (!pieces)
        return rotary_fail_memory(error, "to read %s", path);
    lines = 0;
    for (int64_t at = 0; at < count; lines++)
        pieces[lines] = next_line(bytes, count, &at);
    struct wordpiece_settings settings;
    rotary_status status = read_settings_beside(&settings, path, error);
    if (status == ROTARY_OK)
        status =
            check_older(json_object_get(settings.object, tokenizer_added_key), pieces, lines, path, error);
    if (status == ROTARY_OK)
        status = create_named(tokenizer, &settings, pieces, lines, path, error);
    wordpiece_settings_free(&settings);
    free(pieces);
    return status;
}

rotary_status wordpiece_load(struct tokenizer **tokenizer, const char *path, rotary_error *error)
{
    char *bytes;
    size_t count;
    rotary_status status = file_read(path, WORDPIECE_FILE_BYTES, &bytes, &count, error);
    if (status != ROTARY_OK)
        return status;
    status = wordpiece_load_vocabulary(tokenizer, bytes, (int64_t)count, path, error);
    free(bytes);
    return status;
}

/* ---- tokenizer.json ---- */

static const char *type_of(const json_t *part)
{
    return json_string_value(json_object_get(part, "type"));
}

static bool is_type(const json_t *part, const char *wanted)
{
    const char *type = type_of(part);
    return type && strcmp(type, wanted) == 0;
}

bool wordpiece_is_object(const json_t *object)
{
    const json_t *model = json_object_get(object, "model");
    return !json_object_get(object, "format") && json_is_object(model) &&
           strcmp(json_model_type(model), "WordPiece") == 0 &&
           (is_type(json_object_get(object, "normalizer"), "BertNormalizer") ||
            is_type(json_object_get(object, "pre_tokenizer"), "BertPreTokenizer"));
}

/* Checks that the part `what` has the type `wanted`. */
static rotary_status check_type(const char *type, const char *what, const char *wanted, const char *path,
                                rotary_error *error)
{
    if (type && strcmp(type, wanted) == 0)
        return ROTARY_OK;
    return rotary_fail(error, ROTARY_BAD_FILE, "%s: the \"%s\" is of type \"%.80s\", wanted \"%s\"", path,
                       what, type ? type : "", wanted);
}

static rotary_status check_model(const json_t *model, const char *path, rotary_error *error)
{
    const char *prefix = json_string_value(json_object_get(model, "continuing_subword_prefix"));
    if (!prefix || strcmp(prefix, "##") != 0)
        return rotary_fail(error, ROTARY_BAD_FILE,
                           "%s: the \"continuing_subword_prefix\" is \"%.80s\", wanted \"##\"", path,
                           prefix ? prefix : "");
    const json_t *max = json_object_get(model, "max_input_chars_per_word");
    if (!json_is_integer(max) || json_integer_value(max) != BERT_WORD_CHARACTERS)
        return rotary_fail(error, ROTARY_BAD_FILE, "%s: \"max_input_chars_per_word\" is not %d, as wanted",
                           path, (int)BERT_WORD_CHARACTERS);
    return ROTARY_OK;
}

static rotary_status read_rules(const json_t *object, struct bert_rules *rules, const char *path,
                                rotary_error *error)
{
    const json_t *normalizer = json_object_get(object, "normalizer");
    bool clean = true;
    rotary_status status = check_type(type_of(normalizer), "normalizer", "BertNormalizer", path, error);
    if (status == ROTARY_OK)
        status = check_type(type_of(json_object_get(object, "pre_tokenizer")), "pre_tokenizer",
                            "BertPreTokenizer", path, error);
    if (status == ROTARY_OK)
        status = read_flag(normalizer, "clean_text", &clean, path, error);
    if (status == ROTARY_OK && !clean)
        status = rotary_fail(error, ROTARY_BAD_FILE, "%s: \"clean_text\" is false, wanted true", path);
    if (status == ROTARY_OK)
        status = read_flag(normalizer, "handle_chinese_chars", &rules->split_chinese, path, error);
    if (status == ROTARY_OK)
        status = read_flag(normalizer, "lowercase", &rules->lower_case, path, error);
    rules->strip_accents = rules->lower_case;
    return status == ROTARY_OK ? read_flag(normalizer, "strip_accents", &rules->strip_accents, path, error)
                               : status;
}

/* Fills pieces[id] of the vocabulary, an object of ids by piece. */
static rotary_status read_vocabulary(json_t *vocabulary, struct token_text *pieces, const char *path,
                                     rotary_error *error)
{
    json_int_t size = (json_int_t)json_object_size(vocabulary);
    const char *piece;
    json_t *value;
    json_object_foreach (vocabulary, piece, value) {
        json_int_t id = json_integer_value(value);
        if (!json_is_integer(value) || id < 0 || id >= size || pieces[id].bytes)
            return rotary_fail(error, ROTARY_BAD_FILE,
                               "%s: the id of \"%.80s\" in \"vocab\" is not one of 0 to %lld of its own",
                               path, piece, (long long)size - 1);
        pieces[id] = (struct token_text){piece, (int64_t)strlen(piece)};
    }
    return ROTARY_OK;
}

/* Tokens that were added must be in the vocabulary, as BERT's special ones are. */
static rotary_status check_added(const json_t *added, const struct token_text *pieces, int64_t count,
                                 const char *path, rotary_error *error)
{
    for (size_t i = 0; i < json_array_size(added); i++) {
        const json_t *entry = json_array_get(added, i);
        const char *text = json_string_value(json_object_get(entry, "content"));
        json_int_t id = json_integer_value(json_object_get(entry, "id"));
        if (text && json_is_false(json_object_get(entry, "special")))
            return rotary_fail(
                error, ROTARY_BAD_FILE,
                "%s: entry %zu of \"added_tokens\", \"%.80s\", is not special, wanted special ones: a "
                "text's words are cut by BERT's rules alone",
                path, i + 1, text);
        if (!text || id < 0 || id >= count || find_piece(pieces + id, 1, text) != 0)
            return rotary_fail(
                error, ROTARY_BAD_FILE,
                "%s: entry %zu of \"added_tokens\", \"%.80s\", is not in \"vocab\" with its id", path, i + 1,
                text ? text : "");
    }
    return ROTARY_OK;
}

/* Pieces are joined as WordPiece's decoder does. */
static rotary_status check_decoder(const json_t *decoder, const char *path, rotary_error *error)
{
    if (!decoder || json_is_null(decoder))
        return ROTARY_OK;
    const char *prefix = json_string_value(json_object_get(decoder, "prefix"));
    if (prefix && strcmp(prefix, "##") != 0)
        return rotary_fail(error, ROTARY_BAD_FILE, "%s: the decoder's \"prefix\" is \"%.80s\", wanted \"##\"",
                           path, prefix);
    return check_type(type_of(decoder), "decoder", "WordPiece", path, error);
}

/* The name at `place` of a template's list, where it is that of a special token, or "A" of the text itself. */
static const char *template_name(const json_t *list, size_t place, const char *kind)
{
    return json_string_value(json_object_get(json_object_get(json_array_get(list, place), kind), "id"));
}

/* Takes the names of the tokens before and behind a text, which a post-processor decides. */
static rotary_status read_frame(const json_t *processor, struct wordpiece_settings *settings,
                                const char *path, rotary_error *error)
{
    enum { BEGIN = 2, END = 3 };
    if (!processor || json_is_null(processor))
        return ROTARY_OK;
    const char *begin = NULL, *end = NULL;
    if (is_type(processor, "BertProcessing") || is_type(processor, "RobertaProcessing")) {
        begin = json_string_value(json_array_get(json_object_get(processor, "cls"), 0));
        end = json_string_value(json_array_get(json_object_get(processor, "sep"), 0));
    } else if (is_type(processor, "TemplateProcessing")) {
        const json_t *list = json_object_get(processor, "single");
        const char *text = template_name(list, 1, "Sequence");
        const bool framed = json_array_size(list) == 3 && text && strcmp(text, "A") == 0;
        begin = framed ? template_name(list, 0, "SpecialToken") : NULL;
        end = framed ? template_name(list, 2, "SpecialToken") : NULL;
    }
    if (!begin || !end)
        return rotary_fail(error, ROTARY_BAD_FILE,
                           "%s: the \"post_processor\" is of type \"%.80s\", wanted a TemplateProcessing, "
                           "BertProcessing or RobertaProcessing with one token before and one behind a text",
                           path, type_of(processor) ? type_of(processor) : "");
    settings->names[BEGIN] = begin;
    settings->names[END] = end;
    return ROTARY_OK;
}

rotary_status wordpiece_load_object(struct tokenizer **tokenizer, const json_t *object, const char *path,
                                    rotary_error *error)
{
    const json_t *model = json_object_get(object, "model");
    json_t *vocabulary = json_object_get(model, "vocab");
    int64_t count = (int64_t)json_object_size(vocabulary);
    rotary_status status = check_model(model, path, error);
    if (status != ROTARY_OK)
        return status;
    struct wordpiece_settings settings;
    struct token_text *pieces = calloc((size_t)count + 1, sizeof *pieces);
    if (!pieces)
        return rotary_fail_memory(error, "to read %s", path);
    status = read_settings_beside(&settings, path, error);
    if (status == ROTARY_OK)
        status = read_rules(object, &settings.rules, path, error);
    if (status == ROTARY_OK)
        status = read_vocabulary(vocabulary, pieces, path, error);
    if (status == ROTARY_OK)
        status = check_added(json_object_get(object, "added_tokens"), pieces, count, path, error);
    if (status == ROTARY_OK)
        status = check_decoder(json_object_get(object, "decoder"), path, error);
    if (status == ROTARY_OK)
        status = read_frame(json_object_get(object, "post_processor"), &settings, path, error);
    const char *unknown = json_string_value(json_object_get(model, "unk_token"));
    if (status == ROTARY_OK && unknown)
        settings.names[1] = unknown;
    if (status == ROTARY_OK)
        status = create_named(tokenizer, &settings, pieces, count, path, error);
    wordpiece_settings_free(&settings);
    free(pieces);
    return status;
}
