/* SPDX-License-Identifier: Apache-2.0 */
#include "text/tokenizer/special_tokens.h"

#include "base/fail.h"

json_t *special_tokens_object(const struct special_tokens *special)
{
    return json_pack("{s:i, s:i, s:i, s:i, s:i}", "padding", special->padding, "unknown", special->unknown,
                     "begin", special->begin, "end", special->end, "mask", special->mask);
}

static rotary_status read_token(const json_t *object, const char *key, int32_t *token, const char *path,
                                rotary_error *error)
{
    const json_t *value = json_object_get(json_object_get(object, "special_tokens"), key);
    json_int_t id = json_integer_value(value);
    if (!json_is_integer(value) || id < -1 || id >= TOKENIZER_MAX_TOKENS)
        return rotary_fail(error, ROTARY_BAD_FILE,
                           "%s has no valid \"special_tokens\": wanted \"%s\", a token or -1", path, key);
    *token = (int32_t)id;
    return ROTARY_OK;
}

rotary_status special_tokens_read(struct special_tokens *special, const json_t *object, const char *path,
                                  rotary_error *error)
{
    const struct {
        const char *key;
        int32_t *token;
    } rows[] = {{"padding", &special->padding},
                {"unknown", &special->unknown},
                {"begin", &special->begin},
                {"end", &special->end},
                {"mask", &special->mask}};
    rotary_status status = ROTARY_OK;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0] && status == ROTARY_OK; i++)
        status = read_token(object, rows[i].key, rows[i].token, path, error);
    return status;
}

rotary_status special_name_read(const json_t *object, const char *key, const char **name, const char *path,
                                rotary_error *error)
{
    const json_t *value = json_object_get(object, key);
    if (!value)
        return ROTARY_OK;
    *name = json_string_value(json_is_object(value) ? json_object_get(value, "content") : value);
    if (*name || json_is_null(value))
        return ROTARY_OK;
    return rotary_fail(error, ROTARY_BAD_FILE, "%s: \"%s\" is no token, wanted its text", path, key);
}
