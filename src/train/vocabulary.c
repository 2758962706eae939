/* SPDX-License-Identifier: Apache-2.0 */
#include "train/vocabulary.h"

#include "base/fail.h"
#include "file/file.h"
#include "train/folder.h"

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
    } rows[] = {{"padding", special.padding},
                {"unknown", special.unknown},
                {"begin", special.begin},
                {"end", special.end},
                {"stop", task_stop(task)}};
    json_t *object = json_object();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].token >= 0)
            json_object_set_new(object, rows[i].name, json_integer(rows[i].token));
    return object;
}

rotary_status vocabulary_write(json_t *object, const struct task_config *config, rotary_error *error)
{
    struct task *task;
    rotary_status status = task_create(&task, config, error);
    if (status != ROTARY_OK)
        return status;
    const struct tokenizer *tokenizer = task_tokenizer(task);
    json_t *tokens = json_array(), *special = special_json(task);
    int64_t count = tokenizer_size(tokenizer);
    for (int64_t i = 0; i < count; i++)
        json_array_append_new(tokens, token_json(tokenizer_text(tokenizer, (int32_t)i)));
    task_destroy(task);
    bool complete =
        (int64_t)json_array_size(tokens) == count && json_object_set(object, RUN_VOCABULARY, tokens) == 0;
    if (complete && json_object_size(special) > 0)
        complete = json_object_set(object, RUN_SPECIAL_TOKENS, special) == 0;
    json_decref(tokens);
    json_decref(special);
    return complete ? ROTARY_OK : rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory for a vocabulary");
}

json_t *vocabulary_take(json_t *object)
{
    static const char *const keys[] = {RUN_VOCABULARY, RUN_SPECIAL_TOKENS};
    json_t *taken = json_object();
    for (int i = 0; taken && i < 2; i++) {
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

/* Both objects differ. */
static rotary_status fail_difference(const char *path, const json_t *found, const json_t *wanted,
                                     rotary_error *error)
{
    const json_t *tokens = json_object_get(found, RUN_VOCABULARY),
                 *needed = json_object_get(wanted, RUN_VOCABULARY);
    if (!json_is_array(tokens) || json_array_size(tokens) != json_array_size(needed))
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "%s: \"" RUN_VOCABULARY "\" is not a list of %zu tokens, as the task has", path,
                           json_array_size(needed));
    for (size_t i = 0; i < json_array_size(needed); i++)
        if (!json_equal(json_array_get(tokens, i), json_array_get(needed, i))) {
            char what[64];
            snprintf(what, sizeof what, "token %zu of \"" RUN_VOCABULARY "\"", i);
            return fail_value(path, what, json_array_get(tokens, i), json_array_get(needed, i), error);
        }
    return fail_value(path, "\"" RUN_SPECIAL_TOKENS "\"", json_object_get(found, RUN_SPECIAL_TOKENS),
                      json_object_get(wanted, RUN_SPECIAL_TOKENS), error);
}

rotary_status vocabulary_check(const json_t *taken, const struct task_config *config, const char *path,
                               rotary_error *error)
{
    if (json_object_size(taken) == 0)
        return ROTARY_OK;
    json_t *wanted = json_object();
    rotary_status status = vocabulary_write(wanted, config, error);
    if (status == ROTARY_OK && !json_equal(taken, wanted))
        status = fail_difference(path, taken, wanted, error);
    json_decref(wanted);
    return status;
}
