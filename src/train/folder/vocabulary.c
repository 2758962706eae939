/* SPDX-License-Identifier: Apache-2.0 */
#include "train/folder/vocabulary.h"

#include "base/fail.h"
#include "file/checksum/checksum.h"
#include "file/file.h"
#include "run_folder/folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static json_t *token_json(struct token_text text)
{
    bool has_zero = memchr(text.bytes, 0, (size_t)text.count) != NULL; /* which a reader of JSON may refuse */
    json_t *string = has_zero ? NULL : json_stringn(text.bytes, (size_t)text.count);
    if (string)
        return string;
    json_t *bytes = json_array();
    for (int64_t i = 0; i < text.count; i++)
        json_array_append_new(bytes, json_integer((unsigned char)text.bytes[i]));
    return bytes;
}

static json_t *special_json(const struct task *task)
{
    const struct special_tokens special = tokenizer_special(task_tokenizer(task));
    const struct {
        const char *name;
        int32_t token;
    } rows[] = {{"padding", special.padding}, {"unknown", special.unknown}, {"begin", special.begin},
                {"end", special.end},         {"mask", special.mask},       {"stop", task_stop(task)}};
    json_t *object = json_object();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].token >= 0)
            json_object_set_new(object, rows[i].name, json_integer(rows[i].token));
    return object;
}

static json_t *tokens_json(const struct tokenizer *tokenizer)
{
    json_t *tokens = json_array();
    for (int64_t i = 0; i < tokenizer_size(tokenizer); i++)
        json_array_append_new(tokens, token_json(tokenizer_text(tokenizer, (int32_t)i)));
    return tokens;
}

void vocabulary_write(json_t *object, const struct task *task)
{
    const char *file = task_target_file(task), *source = task_source_file(task);
    json_t *special = special_json(task);
    json_object_set_new(object, RUN_VOCABULARY, file ? json_string(file) : tokens_json(task_tokenizer(task)));
    if (source)
        json_object_set_new(object, RUN_SOURCE_VOCABULARY, json_string(source));
    if (json_object_size(special) > 0)
        json_object_set(object, RUN_SPECIAL_TOKENS, special);
    json_decref(special);
}

/* The numbers of bytes keep "ab", "c" from being "a", "bc". */
static void hash_tokens(struct checksum *checksum, const struct tokenizer *tokenizer)
{
    for (int64_t i = 0; i < tokenizer_size(tokenizer); i++) {
        const struct token_text text = tokenizer_text(tokenizer, (int32_t)i);
        checksum_add(checksum, &text.count, sizeof text.count);
        checksum_add(checksum, text.bytes, (size_t)text.count);
    }
}

static rotary_status hash_file(struct checksum *checksum, const char *folder, const char *name,
                               rotary_error *error)
{
    char path[FILE_PATH_BYTES], *bytes = NULL;
    size_t count = 0;
    rotary_status status = file_path(path, folder, name, error);
    if (status == ROTARY_OK)
        status = file_read(path, VOCABULARY_FILE_BYTES, &bytes, &count, error);
    if (status == ROTARY_OK) {
        const int64_t length = (int64_t)count;
        checksum_add(checksum, &length, sizeof length);
        checksum_add(checksum, bytes, count);
    }
    free(bytes);
    return status;
}

rotary_status vocabulary_write_hash(json_t *object, const struct task *task, const char *folder,
                                    rotary_error *error)
{
    const char *file = task_target_file(task), *source = task_source_file(task);
    struct checksum checksum;
    char text[CHECKSUM_TEXT_BYTES];
    rotary_status status = ROTARY_OK;
    checksum_start(&checksum);
    if (file)
        status = hash_file(&checksum, folder, file, error);
    else if (task_tokenizer(task))
        hash_tokens(&checksum, task_tokenizer(task));
    if (status == ROTARY_OK && source && file && strcmp(source, file) != 0)
        status = hash_file(&checksum, folder, source, error);
    if (status != ROTARY_OK)
        return status;
    checksum_finish_text(&checksum, text);
    json_object_set_new(object, RUN_VOCABULARY_HASH, json_string(text));
    return ROTARY_OK;
}

json_t *vocabulary_take(json_t *object)
{
    static const char *const keys[] = {RUN_VOCABULARY, RUN_SOURCE_VOCABULARY, RUN_SPECIAL_TOKENS};
    json_t *taken = json_object();
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        json_t *value = json_object_get(object, keys[i]);
        if (value)
            json_object_set(taken, keys[i], value);
        json_object_del(object, keys[i]);
    }
    return taken;
}

static rotary_status fail_value(const char *path, const char *what, const json_t *found, const json_t *wanted,
                                rotary_error *error)
{
    char *got = file_json_text(found, JSON_ENCODE_ANY), *needed = file_json_text(wanted, JSON_ENCODE_ANY);
    rotary_status status = rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                                       "%s: %s is %.80s, and %.80s in the vocabulary of the task", path, what,
                                       got ? got : "absent", needed ? needed : "absent");
    free(got);
    free(needed);
    return status;
}

static bool same_key(const json_t *found, const json_t *wanted, const char *key)
{
    const json_t *a = json_object_get(found, key), *b = json_object_get(wanted, key);
    return a && b ? json_equal(a, b) : a == b;
}

static rotary_status fail_key(const char *path, const char *key, const json_t *found, const json_t *wanted,
                              rotary_error *error)
{
    char what[64];
    snprintf(what, sizeof what, "\"%s\"", key);
    return fail_value(path, what, json_object_get(found, key), json_object_get(wanted, key), error);
}

/* Both objects differ. */
static rotary_status fail_difference(const char *path, const json_t *found, const json_t *wanted,
                                     rotary_error *error)
{
    const json_t *tokens = json_object_get(found, RUN_VOCABULARY),
                 *needed = json_object_get(wanted, RUN_VOCABULARY);
    if (!json_is_array(needed) && !json_equal(tokens, needed))
        return fail_key(path, RUN_VOCABULARY, found, wanted, error);
    if (!same_key(found, wanted, RUN_SOURCE_VOCABULARY))
        return fail_key(path, RUN_SOURCE_VOCABULARY, found, wanted, error);
    if (json_is_array(needed) &&
        (!json_is_array(tokens) || json_array_size(tokens) != json_array_size(needed)))
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "%s: \"" RUN_VOCABULARY "\" is not a list of %zu tokens, as the task has", path,
                           json_array_size(needed));
    for (size_t i = 0; i < json_array_size(needed); i++)
        if (!json_equal(json_array_get(tokens, i), json_array_get(needed, i))) {
            char what[64];
            snprintf(what, sizeof what, "token %zu of \"" RUN_VOCABULARY "\"", i);
            return fail_value(path, what, json_array_get(tokens, i), json_array_get(needed, i), error);
        }
    return fail_key(path, RUN_SPECIAL_TOKENS, found, wanted, error);
}

rotary_status vocabulary_check(const json_t *taken, const struct task_config *config, const char *folder,
                               const char *path, rotary_error *error)
{
    if (json_object_size(taken) == 0)
        return ROTARY_OK;
    struct task *task;
    rotary_status status = task_create(
        &task, config,
        &(struct task_request){.folder = folder, .own = folder != NULL, .need = TASK_TOKENIZERS}, error);
    if (status != ROTARY_OK)
        return status;
    json_t *wanted = json_object();
    vocabulary_write(wanted, task);
    if (!json_equal(taken, wanted))
        status = fail_difference(path, taken, wanted, error);
    json_decref(wanted);
    task_destroy(task);
    return status;
}
