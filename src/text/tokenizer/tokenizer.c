/* SPDX-License-Identifier: Apache-2.0 */
#include "text/tokenizer/tokenizer.h"

#include "base/fail.h"
#include "config/settings.h"
#include "file/checksum/checksum.h"
#include "file/file.h"
#include "text/tokenizer/tokenizer_type.h"

#include <stdlib.h>
#include <string.h>

enum { FORMAT = 1, MAX_FILE_BYTES = 64 << 20 };

#define ROTARY_TOKENIZER_NAME(NAME, name) #name,
const char *const tokenizer_names[] = {ROTARY_TOKENIZERS(ROTARY_TOKENIZER_NAME) NULL};

#define ROTARY_TOKENIZER_ROW(NAME, name) &tokenizer_##name,
static const struct tokenizer_type *const types[TOKENIZERS] = {ROTARY_TOKENIZERS(ROTARY_TOKENIZER_ROW)};

#define ROTARY_TOKENIZER_FORMAT_ROW(NAME, name) &tokenizer_format_##name,
static const struct tokenizer_format *const formats[TOKENIZERS] = {
    ROTARY_TOKENIZERS(ROTARY_TOKENIZER_FORMAT_ROW)};

void tokenizer_destroy(struct tokenizer *tokenizer)
{
    if (tokenizer)
        tokenizer->type->destroy(tokenizer);
}

enum tokenizer_kind tokenizer_kind(const struct tokenizer *tokenizer)
{
    int kind = 0;
    while (types[kind] != tokenizer->type)
        kind++;
    return (enum tokenizer_kind)kind;
}

int64_t tokenizer_size(const struct tokenizer *tokenizer)
{
    return tokenizer->size;
}

struct special_tokens tokenizer_special(const struct tokenizer *tokenizer)
{
    return tokenizer->special;
}

struct token_frame tokenizer_frame(const struct tokenizer *tokenizer)
{
    return tokenizer->frame;
}

int32_t tokenizer_begin(const struct tokenizer *tokenizer)
{
    const bool says = tokenizer_kind(tokenizer) == TOKENIZER_HUGGINGFACE;
    return says && !tokenizer->frame.begin ? -1 : tokenizer->special.begin;
}

struct token_text tokenizer_text(const struct tokenizer *tokenizer, int32_t token)
{
    return tokenizer->type->text(tokenizer, token);
}

bool tokenizer_continues_word(const struct tokenizer *tokenizer, int32_t token)
{
    return tokenizer->type->continues_word && tokenizer->type->continues_word(tokenizer, token);
}

bool tokenizer_has_spaces(const struct tokenizer *tokenizer)
{
    return tokenizer->spaces;
}

rotary_status tokenizer_encode(const struct tokenizer *tokenizer, const char *text, int64_t bytes,
                               struct token_list *list, rotary_error *error)
{
    return tokenizer->type->encode(tokenizer, text, bytes, list, error);
}

int64_t tokenizer_decode(const struct tokenizer *tokenizer, const int32_t *tokens, int64_t count, char *text,
                         int64_t capacity)
{
    return tokenizer->type->decode(tokenizer, tokens, count, text, capacity);
}

/* ---- files ---- */

/* The object of a file; NULL without memory. */
static json_t *object_of(const struct tokenizer *tokenizer)
{
    json_t *object =
        json_pack("{s:i, s:s}", "format", FORMAT, "tokenizer", tokenizer_names[tokenizer_kind(tokenizer)]);
    if (object && tokenizer->type->save(tokenizer, object))
        return object;
    json_decref(object);
    return NULL;
}

static rotary_status save_object(const struct tokenizer *tokenizer, const char *path, rotary_error *error)
{
    json_t *object = object_of(tokenizer);
    rotary_status status =
        object ? file_replace_json(path, object, error) : rotary_fail_memory(error, "to write %s", path);
    json_decref(object);
    return status;
}

rotary_status tokenizer_save(const struct tokenizer *tokenizer, const char *path, rotary_error *error)
{
    if (tokenizer->type->save)
        return save_object(tokenizer, path, error);
    const struct token_text file = tokenizer->type->file_bytes(tokenizer);
    return file_replace(path, file.bytes, (size_t)file.count, error);
}

static int add_text(const char *bytes, size_t count, void *checksum)
{
    checksum_add(checksum, bytes, count);
    return 0;
}

rotary_status tokenizer_checksum(const struct tokenizer *tokenizer, uint64_t *checksum, rotary_error *error)
{
    struct checksum sum;
    checksum_start(&sum);
    bool done = true;
    if (tokenizer->type->save) {
        json_t *object = object_of(tokenizer);
        done = object && json_dump_callback(object, add_text, &sum, JSON_COMPACT | JSON_SORT_KEYS) == 0;
        json_decref(object);
    } else {
        const struct token_text file = tokenizer->type->file_bytes(tokenizer);
        checksum_add(&sum, file.bytes, (size_t)file.count);
    }
    if (!done)
        return rotary_fail_memory(error, "for the checksum of a tokenizer");
    *checksum = checksum_finish(&sum);
    return ROTARY_OK;
}

static rotary_status fail_kind(const char *path, rotary_error *error)
{
    return rotary_fail(
        error, ROTARY_BAD_FILE,
        "%s is no tokenizer: wanted a tokenizer.json, a vocab.json with its merges.txt, a "
        "vocab.txt, a model of SentencePiece, or a vocabulary of rotary tokenize train or of a run",
        path);
}

static rotary_status load(struct tokenizer **tokenizer, const json_t *object, const char *path,
                          rotary_error *error)
{
    for (int kind = 0; kind < TOKENIZERS; kind++)
        if (formats[kind]->is_object && formats[kind]->is_object(object))
            return formats[kind]->load(tokenizer, object, path, error);
    const char *name = json_string_value(json_object_get(object, "tokenizer"));
    if (!name && json_integer_value(json_object_get(object, "format")) != FORMAT)
        return fail_kind(path, error);
    rotary_status status = file_check_format(path, object, FORMAT, error);
    if (status != ROTARY_OK)
        return status;
    for (int kind = 0; name && kind < TOKENIZERS; kind++)
        if (strcmp(name, tokenizer_names[kind]) == 0)
            return formats[kind]->load(tokenizer, object, path, error);
    char names[SETTINGS_NAMES_BYTES], hint[SETTINGS_HINT_BYTES];
    return rotary_fail(error, ROTARY_BAD_FILE, "%s: \"tokenizer\" is \"%.80s\", wanted %s%s", path,
                       name ? name : "", settings_names(tokenizer_names, names),
                       settings_hint(name ? name : "", tokenizer_names, hint));
}

/* The programs whose vocabularies are files of their own, by how these begin: a line of tiktoken's is a token's bytes in
 * base64 and its rank; Tekken's is an object with such lines as entries, which may be strings with a NUL. */
static const char *foreign_program(const char *bytes, size_t count)
{
    static const char base64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=";
    static const char tekken[] = "\"default_num_special_tokens\"";
    char begin[1024];
    const size_t length = count < sizeof begin ? count : sizeof begin - 1;
    memcpy(begin, bytes, length);
    begin[length] = 0;
    const size_t token = strspn(begin, base64);
    const size_t rank = begin[token] == ' ' ? strspn(begin + token + 1, "0123456789") : 0;
    if (token > 0 && rank > 0 && begin[token + 1 + rank] == '\n')
        return "tiktoken";
    return begin[0] == '{' && strstr(begin, tekken) ? "Tekken" : NULL;
}

static rotary_status load_bytes(struct tokenizer **tokenizer, const char *bytes, size_t count,
                                const char *path, rotary_error *error)
{
    for (int kind = 0; kind < TOKENIZERS; kind++)
        if (formats[kind]->is_file && formats[kind]->is_file(bytes, (int64_t)count))
            return formats[kind]->load_bytes(tokenizer, bytes, (int64_t)count, path, error);
    const char *program = foreign_program(bytes, count);
    if (program)
        return rotary_fail(
            error, ROTARY_BAD_FILE,
            "%s is a vocabulary of %s, which is not read: wanted the tokenizer.json of the model", path,
            program);
    json_t *object;
    rotary_status status = file_parse_json(path, bytes, count, &object, error);
    if (status != ROTARY_OK)
        return status;
    status = load(tokenizer, object, path, error);
    json_decref(object);
    return status;
}

rotary_status tokenizer_load(struct tokenizer **tokenizer, const char *path, rotary_error *error)
{
    char *bytes;
    size_t count;
    rotary_status status = file_read(path, MAX_FILE_BYTES, &bytes, &count, error);
    if (status != ROTARY_OK)
        return status;
    status = load_bytes(tokenizer, bytes, count, path, error);
    free(bytes);
    return status;
}
