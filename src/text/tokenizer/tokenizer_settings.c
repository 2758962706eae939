/* SPDX-License-Identifier: Apache-2.0 */
#include "text/tokenizer/tokenizer_settings.h"

#include "base/fail.h"
#include "file/file.h"
#include "text/tokenizer/special_tokens.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

const char tokenizer_added_key[] = "added_tokens.json";

static const char *const name_keys[] = {"bos_token", "eos_token", "unk_token", "sep_token",
                                        "pad_token", "cls_token", "mask_token"};

bool tokenizer_class_is(const json_t *settings, const char *name)
{
    const char *class = json_string_value(json_object_get(settings, "tokenizer_class"));
    const size_t length = strlen(name);
    return class && strncmp(class, name, length) == 0 &&
           (!class[length] || strcmp(class + length, "Fast") == 0);
}

static rotary_status read_object(const char *path, json_t **object, rotary_error *error)
{
    bool found = false;
    *object = NULL;
    rotary_status status = file_find(path, &found, error);
    return status == ROTARY_OK && found ? file_read_real_json(path, object, error) : status;
}

/* Takes the names of special_tokens_map.json, which was read from `path`. */
static rotary_status take_names(json_t *settings, const json_t *names, const char *path, rotary_error *error)
{
    rotary_status status = ROTARY_OK;
    for (size_t i = 0; status == ROTARY_OK && i < sizeof name_keys / sizeof name_keys[0]; i++) {
        const char *name = NULL;
        json_t *value = json_object_get(names, name_keys[i]);
        if (!value)
            continue;
        status = special_name_read(names, name_keys[i], &name, path, error);
        if (status == ROTARY_OK)
            json_object_set(settings, name_keys[i], value);
    }
    return status;
}

/* Takes the tokens of the added_tokens.json in `folder`, if there is one. */
static rotary_status take_added(json_t **settings, const char *folder, rotary_error *error)
{
    char path[FILE_PATH_BYTES];
    json_t *added = NULL, *id;
    rotary_status status = file_path(path, folder, tokenizer_added_key, error);
    if (status == ROTARY_OK)
        status = read_object(path, &added, error);
    if (status != ROTARY_OK || !added)
        return status;
    const char *token;
    json_object_foreach (added, token, id) { /* numbers are read as real ones */
        const double number = json_number_value(id);
        if (status == ROTARY_OK &&
            !(json_is_number(id) && number >= 0 && number < INT32_MAX && floor(number) == number))
            status = rotary_fail(error, ROTARY_BAD_FILE, "%s: the id of \"%.80s\" is no token", path, token);
        if (status == ROTARY_OK)
            json_object_set_new(added, token, json_integer((json_int_t)number));
    }
    if (status == ROTARY_OK && !*settings)
        *settings = json_object();
    if (status == ROTARY_OK)
        json_object_set(*settings, tokenizer_added_key, added);
    json_decref(added);
    return status;
}

rotary_status tokenizer_settings_read(const char *path, json_t **settings, rotary_error *error)
{
    char folder[FILE_PATH_BYTES], beside[FILE_PATH_BYTES];
    json_t *names = NULL;
    rotary_status status = read_object(path, settings, error);
    const bool no_object = *settings && !json_is_object(*settings);
    if (status != ROTARY_OK || no_object || json_object_get(*settings, "added_tokens_decoder"))
        return status;
    status = file_folder_of(path, folder, error);
    if (status == ROTARY_OK)
        status = file_path(beside, folder, "special_tokens_map.json", error);
    if (status == ROTARY_OK)
        status = read_object(beside, &names, error);
    if (status == ROTARY_OK && names && !*settings)
        *settings = json_object();
    if (status == ROTARY_OK && names)
        status = take_names(*settings, names, beside, error);
    json_decref(names);
    if (status == ROTARY_OK)
        status = take_added(settings, folder, error);
    if (status != ROTARY_OK) {
        json_decref(*settings);
        *settings = NULL;
    }
    return status;
}
