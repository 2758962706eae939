/* SPDX-License-Identifier: Apache-2.0
 *
 * A tokenizer.json of byte-level BPE as the metadata of GGUF.
 */
#include "text/tokenizer_gguf.h"

#include <stdio.h>
#include <string.h>

/* How text is cut into words before merging, and llama.cpp's name for it. */
static const struct {
    const char *name, *pattern;
} cuts[] = {
    {"llama-bpe", "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| "
                  "?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"},
    {"qwen2", "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| "
              "?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"},
};

static bool is_type(const json_t *object, const char *wanted)
{
    const char *type = json_string_value(json_object_get(object, "type"));
    return type && strcmp(type, wanted) == 0;
}

/* llama.cpp's name for a pre_tokenizer; NULL: it has none. ByteLevel cuts as GPT-2 does, unless a Split has
 * cut before it. */
static const char *cut_of(const json_t *pre_tokenizer)
{
    const json_t *list = json_object_get(pre_tokenizer, "pretokenizers"), *split = json_array_get(list, 0),
                 *last = list ? json_array_get(list, 1) : pre_tokenizer;
    const char *pattern = json_string_value(json_object_get(json_object_get(split, "pattern"), "Regex"));
    if (!is_type(last, "ByteLevel") || json_is_true(json_object_get(last, "add_prefix_space")))
        return NULL;
    if (!list)
        return json_is_false(json_object_get(last, "use_regex")) ? NULL : "gpt-2";
    if (json_array_size(list) != 2 || !is_type(split, "Split") || !pattern ||
        !json_is_false(json_object_get(last, "use_regex")))
        return NULL;
    for (size_t i = 0; i < sizeof cuts / sizeof cuts[0]; i++)
        if (strcmp(pattern, cuts[i].pattern) == 0)
            return cuts[i].name;
    return NULL;
}

/* ---- tokens ---- */

static void set_token(struct tokenizer_gguf_lists *lists, int64_t id, json_t *text, int type)
{
    if (id >= 0 && id < (int64_t)json_array_size(lists->tokens)) {
        json_array_set(lists->tokens, (size_t)id, text);
        json_array_set_new(lists->types, (size_t)id, json_integer(type));
    }
}

/* All tokens of the model are unused until the file names them. */
static void fill_tokens(struct tokenizer_gguf_lists *lists, const json_t *file, int64_t size)
{
    const json_t *added = json_object_get(file, "added_tokens");
    const char *text;
    json_t *id;
    tokenizer_gguf_add_unused(lists, size);
    json_object_foreach (json_object_get(json_object_get(file, "model"), "vocab"), text, id) {
        json_t *name = json_string(text);
        set_token(lists, (int64_t)json_integer_value(id), name, PIECE_NORMAL);
        json_decref(name);
    }
    for (size_t i = 0; i < json_array_size(added); i++) {
        const json_t *token = json_array_get(added, i);
        const bool special = json_is_true(json_object_get(token, "special"));
        set_token(lists, (int64_t)json_integer_value(json_object_get(token, "id")),
                  json_object_get(token, "content"), special ? PIECE_CONTROL : PIECE_USER_DEFINED);
    }
}

/* "left right" of each; files have that, or a list of the two. */
static json_t *make_merges(const json_t *file)
{
    const json_t *merges = json_object_get(json_object_get(file, "model"), "merges");
    json_t *list = json_array();
    for (size_t i = 0; i < json_array_size(merges); i++) {
        json_t *merge = json_array_get(merges, i);
        if (json_is_string(merge))
            json_array_append(list, merge);
        else
            json_array_append_new(list, json_sprintf("%s %s", json_string_value(json_array_get(merge, 0)),
                                                     json_string_value(json_array_get(merge, 1))));
    }
    return list;
}

json_t *tokenizer_gguf_bpe(const json_t *file, int64_t size)
{
    const char *cut = cut_of(json_object_get(file, "pre_tokenizer"));
    if (!cut || !is_type(json_object_get(file, "model"), "BPE") ||
        json_array_size(json_object_get(json_object_get(file, "model"), "merges")) == 0)
        return NULL;
    struct tokenizer_gguf_lists lists = {json_array(), json_array(), json_array()};
    fill_tokens(&lists, file, size);
    json_decref(lists.scores);
    return json_pack("{s:s, s:s, s:o, s:o, s:o}", "tokenizer.ggml.model", "gpt2", "tokenizer.ggml.pre", cut,
                     "tokenizer.ggml.tokens", lists.tokens, "tokenizer.ggml.token_type", lists.types,
                     "tokenizer.ggml.merges", make_merges(file));
}
