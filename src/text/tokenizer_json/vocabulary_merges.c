/* SPDX-License-Identifier: Apache-2.0 */
#include "text/tokenizer_json/vocabulary_merges.h"

#include "base/fail.h"
#include "file/file.h"
#include "text/tokenizer/special_tokens.h"
#include "text/tokenizer/tokenizer_settings.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_MERGES_BYTES = 64 << 20, SPECIAL_KEYS = 7 };

static const char *const special_keys[SPECIAL_KEYS] = {"bos_token", "eos_token", "unk_token", "pad_token",
                                                       "cls_token", "sep_token", "mask_token"};

/* A class of transformers' tokenizers: the names of its special tokens, in the order of special_keys, and the
 * parts of its tokenizer.json. */
struct tokenizer_class {
    const char *name;
    const char *special[SPECIAL_KEYS];                       /* NULL: none */
    const char *normalizer, *pre_tokenizer, *post_processor; /* JSON */
    bool prefix;                                             /* its ByteLevel follows add_prefix_space */
};

#define END "<|endoftext|>"
#define BYTE_LEVEL(regex)                                                                                    \
    "{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"trim_offsets\":true,\"use_regex\":" regex "}"
#define QWEN2                                                                                                \
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\\\r\\\\n\\\\p{L}\\\\p{N}]?\\\\p{L}+|\\\\p{N}| "                        \
    "?[^\\\\s\\\\p{L}\\\\p{N}]+"                                                                             \
    "[\\\\r\\\\n]*|\\\\s*[\\\\r\\\\n]+|\\\\s+(?!\\\\S)|\\\\s+"
#define ROBERTA "{\"type\":\"RobertaProcessing\",\"sep\":[\"</s>\",2],\"cls\":[\"<s>\",0]}"
#define ROBERTA_NAMES                                                                                        \
    {                                                                                                        \
        "<s>", "</s>", "<unk>", "<pad>", "<s>", "</s>", "<mask>"                                             \
    }

static const struct tokenizer_class classes[] = {
    {"GPT2Tokenizer", {END, END, END}, "null", BYTE_LEVEL("true"), "null", true},
    {"CodeGenTokenizer", {END, END, END}, "null", BYTE_LEVEL("true"), "null", true},
    {"Qwen2Tokenizer",
     {NULL, END, NULL, END},
     "{\"type\":\"NFC\"}",
     "{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Split\",\"pattern\":{\"Regex\":\"" QWEN2
     "\"},\"behavior\":\"Isolated\",\"invert\":false}," BYTE_LEVEL("false") "]}",
     "null",
     false},
    {"RobertaTokenizer", ROBERTA_NAMES, "null", BYTE_LEVEL("true"), ROBERTA, true},
    {"BartTokenizer", ROBERTA_NAMES, "null", BYTE_LEVEL("true"), ROBERTA, true}};

bool vocabulary_merges_is(const json_t *object)
{
    const char *piece;
    json_t *value;
    json_object_foreach ((json_t *)(uintptr_t)object, piece, value)
        if (!json_is_integer(value))
            return false;
    const bool own = json_object_get(object, "format") && json_object_get(object, "tokenizer");
    return json_object_size(object) > (own ? 2 : 1);
}

/* ---- merges.txt ---- */

/* A merge on each line, but for those that are empty or say the version. */
static rotary_status read_merges(const char *path, json_t **merges, rotary_error *error)
{
    char *bytes;
    size_t count;
    rotary_status status = file_read(path, MAX_MERGES_BYTES, &bytes, &count, error);
    if (status != ROTARY_OK)
        return status;
    *merges = json_array();
    for (size_t at = 0; at < count;) {
        const char *line = bytes + at, *end = memchr(line, '\n', count - at);
        size_t length = end ? (size_t)(end - line) : count - at;
        at += length + 1;
        length -= length > 0 && line[length - 1] == '\r';
        if (length > 0 && !(length >= 8 && memcmp(line, "#version", 8) == 0))
            file_json_append(merges, json_stringn(line, length));
    }
    free(bytes);
    return *merges ? ROTARY_OK
                   : rotary_fail(error, ROTARY_BAD_FILE, "%s is not UTF-8 text, or there is no memory for it",
                                 path);
}

/* ---- tokenizer_config.json ---- */

static rotary_status read_beside(const char *folder, json_t **settings, char path[FILE_PATH_BYTES],
                                 rotary_error *error)
{
    *settings = NULL;
    rotary_status status = file_path(path, folder, "tokenizer_config.json", error);
    return status == ROTARY_OK ? tokenizer_settings_read(path, settings, error) : status;
}

static rotary_status find_class(const json_t *settings, const char *path,
                                const struct tokenizer_class **class, rotary_error *error)
{
    const char *name = json_string_value(json_object_get(settings, "tokenizer_class"));
    *class = &classes[0];
    if (!name)
        return ROTARY_OK;
    for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++)
        if (tokenizer_class_is(settings, classes[i].name)) {
            *class = &classes[i];
            return ROTARY_OK;
        }
    return rotary_fail(error, ROTARY_BAD_FILE,
                       "%s: vocab.json of the \"tokenizer_class\" \"%.80s\" is not supported, wanted "
                       "GPT2Tokenizer, CodeGenTokenizer, Qwen2Tokenizer, RobertaTokenizer or BartTokenizer",
                       path, name);
}

/* ---- added tokens ---- */

/* {"50256": {"content": ...}} */
static rotary_status add_decoder(json_t **tokens, const json_t *decoder, const char *path,
                                 rotary_error *error)
{
    const char *key;
    json_t *value;
    json_object_foreach ((json_t *)(uintptr_t)decoder, key, value) {
        json_t *token = json_is_object(value) ? json_copy(value) : NULL;
        char *end;
        const long id = strtol(key, &end, 10);
        if (!token || *end || end == key || id < 0 ||
            json_object_set_new(token, "id", json_integer(id)) != 0) {
            json_decref(token);
            return rotary_fail(error, ROTARY_BAD_FILE,
                               "%s: \"%.80s\" of \"added_tokens_decoder\" is no token", path, key);
        }
        file_json_append(tokens, token);
    }
    return ROTARY_OK;
}

static bool has_token(const json_t *tokens, const char *name)
{
    for (size_t i = 0; i < json_array_size(tokens); i++)
        if (strcmp(json_string_value(json_object_get(json_array_get(tokens, i), "content")), name) == 0)
            return true;
    return false;
}

/* A token of the file or of the class; the caller releases it. */
static json_t *token_of(const char *content, json_t *id, bool special, bool normalized, bool lstrip)
{
    return json_pack("{s:O, s:s, s:b, s:b, s:b, s:b, s:b}", "id", id, "content", content, "special", special,
                     "normalized", normalized, "single_word", 0, "lstrip", lstrip, "rstrip", 0);
}

/* The id of a token by the vocabulary, else by added_tokens.json; NULL: neither has it. */
static json_t *find_id(const json_t *settings, const json_t *vocabulary, const char *name)
{
    json_t *id = name ? json_object_get(vocabulary, name) : NULL;
    return id || !name ? id : json_object_get(json_object_get(settings, tokenizer_added_key), name);
}

/* The special tokens that are in the vocabulary. The mask takes the white space before it, as in the files of
 * RoBERTa. */
static rotary_status add_special(json_t **tokens, const struct tokenizer_class *class, const json_t *settings,
                                 const json_t *vocabulary, const char *path, rotary_error *error)
{
    for (int i = 0; i < SPECIAL_KEYS; i++) {
        const char *name = class->special[i];
        rotary_status status = special_name_read(settings, special_keys[i], &name, path, error);
        if (status != ROTARY_OK)
            return status;
        json_t *id = find_id(settings, vocabulary, name);
        if (id && !has_token(*tokens, name))
            file_json_append(tokens, token_of(name, id, true, false, i == SPECIAL_KEYS - 1));
    }
    return ROTARY_OK;
}

/* The names of "additional_special_tokens", which must be in the vocabulary or in added_tokens.json. */
static rotary_status add_additional(json_t **tokens, const json_t *settings, const json_t *vocabulary,
                                    const char *path, rotary_error *error)
{
    static const char key[] = "additional_special_tokens";
    const json_t *list = json_object_get(settings, key);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *entry = json_array_get(list, i);
        const char *name =
            json_string_value(json_is_object(entry) ? json_object_get(entry, "content") : entry);
        json_t *id = find_id(settings, vocabulary, name);
        if (!id)
            return rotary_fail(
                error, ROTARY_BAD_FILE,
                "%s: entry %zu of \"%s\", \"%.80s\", has no id, wanted a token of vocab.json or of "
                "added_tokens.json",
                path, i + 1, key, name ? name : "");
        if (!has_token(*tokens, name))
            file_json_append(tokens, token_of(name, id, true, false, false));
    }
    return ROTARY_OK;
}

/* The tokens of added_tokens.json, none of which is special but those that are named. */
static void add_file(json_t **tokens, const json_t *settings)
{
    const char *name;
    json_t *id;
    json_object_foreach (json_object_get(settings, tokenizer_added_key), name, id)
        if (!has_token(*tokens, name))
            file_json_append(tokens, token_of(name, id, false, true, false));
}

/* All that is added, of files from before "added_tokens_decoder". */
static rotary_status add_older(json_t **tokens, const struct tokenizer_class *class, const json_t *settings,
                               const json_t *vocabulary, const char *path, rotary_error *error)
{
    rotary_status status = add_special(tokens, class, settings, vocabulary, path, error);
    if (status == ROTARY_OK)
        status = add_additional(tokens, settings, vocabulary, path, error);
    if (status == ROTARY_OK)
        add_file(tokens, settings);
    return status;
}

/* ---- all together ---- */

/* Gives the tokens of RoBERTa's post-processor the ids that the vocabulary has. */
static void set_ids(json_t *processor, const json_t *vocabulary)
{
    static const char *const keys[] = {"cls", "sep"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        json_t *pair = json_object_get(processor, keys[i]);
        json_t *id = json_object_get(vocabulary, json_string_value(json_array_get(pair, 0)));
        if (pair && id)
            json_array_set(pair, 1, id);
    }
}

/* A part of the class, in which add_prefix_space is what the file says. */
static json_t *part_of(const struct tokenizer_class *class, const char *text, const json_t *settings)
{
    json_t *part = json_loads(text, JSON_DECODE_ANY, NULL);
    const json_t *prefix = json_object_get(settings, "add_prefix_space");
    if (class->prefix && json_is_true(prefix) && json_object_get(part, "add_prefix_space"))
        json_object_set_new(part, "add_prefix_space", json_true());
    return part;
}

static rotary_status make_object(const struct tokenizer_class *class, const json_t *settings,
                                 const char *settings_path, json_t *vocabulary, json_t *merges,
                                 json_t **object, rotary_error *error)
{
    json_t *tokens = json_array();
    const json_t *decoder = json_object_get(settings, "added_tokens_decoder");
    rotary_status status = json_is_object(decoder)
                               ? add_decoder(&tokens, decoder, settings_path, error)
                               : add_older(&tokens, class, settings, vocabulary, settings_path, error);
    if (status != ROTARY_OK) {
        json_decref(tokens);
        return status;
    }
    json_t *processor = part_of(class, class->post_processor, settings);
    set_ids(processor, vocabulary);
    *object = json_pack("{s:o, s:o, s:o, s:o, s:o, s:{s:s, s:O, s:O}}", "added_tokens", tokens, "normalizer",
                        part_of(class, class->normalizer, settings), "pre_tokenizer",
                        part_of(class, class->pre_tokenizer, settings), "post_processor", processor,
                        "decoder", part_of(class, BYTE_LEVEL("true"), NULL), "model", "type", "BPE", "vocab",
                        vocabulary, "merges", merges);
    return *object ? ROTARY_OK : rotary_fail_memory(error, "for a tokenizer");
}

rotary_status vocabulary_merges_object(json_t *vocabulary, const char *path, json_t **object,
                                       rotary_error *error)
{
    char folder[FILE_PATH_BYTES], merges_path[FILE_PATH_BYTES], settings_path[FILE_PATH_BYTES];
    json_t *merges = NULL, *settings = NULL;
    const struct tokenizer_class *class;
    rotary_status status = file_folder_of(path, folder, error);
    if (status == ROTARY_OK)
        status = file_path(merges_path, folder, "merges.txt", error);
    if (status == ROTARY_OK && !file_exists(merges_path))
        return rotary_fail(error, ROTARY_IO_ERROR,
                           "%s is no tokenizer: wanted a tokenizer.json, or a vocab.json with its merges.txt "
                           "beside it",
                           path);
    if (status == ROTARY_OK)
        status = read_merges(merges_path, &merges, error);
    if (status == ROTARY_OK)
        status = read_beside(folder, &settings, settings_path, error);
    if (status == ROTARY_OK)
        status = find_class(settings, settings_path, &class, error);
    if (status == ROTARY_OK)
        status = make_object(class, settings, settings_path, vocabulary, merges, object, error);
    json_decref(merges);
    json_decref(settings);
    return status;
}
