/* SPDX-License-Identifier: Apache-2.0
 *
 * A tokenizer of bytes as the metadata of GGUF: byte-level BPE of a tokenizer.json, or bytes that nothing
 * merges.
 */
#include "text/tokenizer_export/gguf_rule.h"
#include "text/tokenizer_export/tokenizer_gguf.h"
#include "text/tokenizer_json/byte_characters.h"

static void set_token(struct gguf_tokens *tokens, int64_t id, json_t *text, int type)
{
    gguf_tokens_add_unused(tokens, id + 1);
    json_array_set(tokens->texts, (size_t)id, text);
    json_array_set_new(tokens->types, (size_t)id, json_integer(type));
}

/* All tokens of the model are unused until the file names them. */
static void fill_tokens(struct gguf_tokens *tokens, const json_t *file, int64_t size)
{
    const json_t *added = json_object_get(file, "added_tokens");
    const char *text;
    json_t *id;
    gguf_tokens_add_unused(tokens, size);
    json_object_foreach (json_object_get(json_object_get(file, "model"), "vocab"), text, id) {
        json_t *name = json_string(text);
        set_token(tokens, (int64_t)json_integer_value(id), name, PIECE_NORMAL);
        json_decref(name);
    }
    for (size_t i = 0; i < json_array_size(added); i++) {
        const json_t *token = json_array_get(added, i);
        const bool special = json_is_true(json_object_get(token, "special"));
        set_token(tokens, (int64_t)json_integer_value(json_object_get(token, "id")),
                  json_object_get(token, "content"), special ? PIECE_CONTROL : PIECE_USER_DEFINED);
    }
}

/* "left right" of each; files have that, or a list of the two. */
static json_t *make_merges(const json_t *merges)
{
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

/* llama.cpp wants merges, and GGUF has no list of nothing: this one joins what no merge makes. */
static json_t *some_merges(json_t *merges)
{
    if (json_array_size(merges) == 0)
        json_array_append_new(merges, json_string("no merges"));
    return merges;
}

static json_t *make_metadata(struct gguf_tokens *tokens, const char *cut, json_t *merges)
{
    json_decref(tokens->scores);
    return json_pack("{s:s, s:s, s:o, s:o, s:o}", "tokenizer.ggml.model", "gpt2", "tokenizer.ggml.pre", cut,
                     "tokenizer.ggml.tokens", tokens->texts, "tokenizer.ggml.token_type", tokens->types,
                     "tokenizer.ggml.merges", some_merges(merges));
}

json_t *tokenizer_gguf_bpe(const json_t *file, int64_t size, char reason[TOKENIZER_REASON_BYTES])
{
    const char *cut = NULL;
    struct gguf_tokens tokens;
    if (!gguf_rule_file(file, &cut, reason))
        return NULL;
    gguf_tokens_start(&tokens);
    fill_tokens(&tokens, file, size);
    if (gguf_rule_tokens(&tokens, size, reason))
        return make_metadata(&tokens, cut,
                             make_merges(json_object_get(json_object_get(file, "model"), "merges")));
    gguf_tokens_drop(&tokens);
    return NULL;
}

json_t *tokenizer_gguf_bytes(const struct tokenizer *tokenizer, int64_t size,
                             char reason[TOKENIZER_REASON_BYTES])
{
    struct gguf_tokens tokens;
    gguf_tokens_start(&tokens);
    for (int32_t token = 0; token < tokenizer_size(tokenizer); token++) {
        const struct token_text text = tokenizer_text(tokenizer, token);
        char character[BYTE_CHARACTER_BYTES];
        if (text.count == 1)
            byte_characters_write((unsigned char)text.bytes[0], character);
        gguf_tokens_add(
            &tokens, text.count == 1 ? json_string(character) : json_stringn(text.bytes, (size_t)text.count),
            0, text.count == 1 ? PIECE_NORMAL : PIECE_CONTROL);
    }
    gguf_tokens_add_unused(&tokens, size);
    if (gguf_rule_tokens(&tokens, size, reason))
        return make_metadata(&tokens, gguf_rule_bytes_cut, json_array());
    gguf_tokens_drop(&tokens);
    return NULL;
}
