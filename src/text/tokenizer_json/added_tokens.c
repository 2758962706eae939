/* SPDX-License-Identifier: Apache-2.0 */
#include "text/tokenizer_json/added_tokens.h"

#include "base/fail.h"
#include "text/tokenizer_json/json_part.h"
#include "text/unicode.h"
#include "text/utf8.h"

#include <stdlib.h>
#include <string.h>

/* ---- finding ---- */

/* The code point of the character that ends before `at`, and where it begins. */
static uint32_t character_before(const struct token_text *text, int64_t at, int64_t *begin)
{
    *begin = at - 1;
    while (*begin > 0 && at - *begin < 4 && ((unsigned char)text->bytes[*begin] & 0xc0) == 0x80)
        --*begin;
    return utf8_code_point(text->bytes + *begin, at - *begin);
}

static uint32_t character_behind(const struct token_text *text, int64_t at, int64_t *end)
{
    int64_t length = utf8_character_bytes(text->bytes + at, text->count - at);
    length = length > 0 ? length : 1; /* a zero byte */
    *end = at + length;
    return utf8_code_point(text->bytes + at, length);
}

static bool is_single_word(const struct token_text *text, int64_t begin, int64_t end)
{
    int64_t other;
    return (begin == 0 || !unicode_is_word(character_before(text, begin, &other))) &&
           (end == text->count || !unicode_is_word(character_behind(text, end, &other)));
}

static int64_t strip_left(const struct token_text *text, int64_t begin, int64_t taken)
{
    int64_t before;
    while (begin > taken && unicode_is_white_space(character_before(text, begin, &before)))
        begin = before;
    return begin;
}

static int64_t strip_right(const struct token_text *text, int64_t end)
{
    int64_t behind;
    while (end < text->count && unicode_is_white_space(character_behind(text, end, &behind)))
        end = behind;
    return end;
}

struct added_place added_tokens_find(const struct added_tokens *tokens, bool normalized,
                                     const struct token_text *text, int64_t from, int64_t taken)
{
    struct added_place place = {text->count, text->count, text->count, NULL};
    if (!tokens->any[normalized])
        return place;
    for (int64_t at = from, length = 0; at < text->count; at++) {
        if (!tokens->starts[normalized][(unsigned char)text->bytes[at]])
            continue;
        int32_t item = piece_trie_longest(&tokens->tries[normalized], PIECE_FIRST, text->bytes + at,
                                          text->count - at, &length);
        if (item < 0)
            continue;
        const struct added_token *token = &tokens->items[item];
        if (!token->single_word || is_single_word(text, at, at + length))
            return (struct added_place){token->strips_left ? strip_left(text, at, taken) : at,
                                        token->strips_right ? strip_right(text, at + length) : at + length,
                                        at + length, token};
        at += length - 1;
    }
    return place;
}

/* ---- reading ---- */

static rotary_status read_token(struct added_token *token, const struct json_part *part, rotary_error *error)
{
    const json_t *id = json_object_get(part->object, "id");
    const char *content = NULL;
    rotary_status status = json_part_text(part, "content", false, &content, error);
    if (status == ROTARY_OK && (!json_is_integer(id) || json_integer_value(id) < 0 ||
                                json_integer_value(id) >= TOKENIZER_MAX_TOKENS))
        status = json_part_fail(part, "id", "a token", error);
    if (status == ROTARY_OK && strlen(content) > ADDED_TOKEN_BYTES)
        status = json_part_fail(part, "content", "at most 4096 bytes", error);
    if (status != ROTARY_OK)
        return status;
    const struct {
        const char *key;
        bool *value;
    } flags[] = {{"special", &token->special},
                 {"normalized", &token->normalized},
                 {"single_word", &token->single_word},
                 {"lstrip", &token->strips_left},
                 {"rstrip", &token->strips_right}};
    *token = (struct added_token){.content = {content, (int64_t)strlen(content)},
                                  .token = (int32_t)json_integer_value(id)};
    for (size_t i = 0; i < sizeof flags / sizeof flags[0] && status == ROTARY_OK; i++)
        status = json_part_flag(part, flags[i].key, flags[i].value, error);
    return status;
}

/* What the content becomes in normalized text. */
static rotary_status normalize(struct added_token *token, const struct text_normalizer *normalizer,
                               rotary_error *error)
{
    struct text_buffer text = {0}, scratch = {0};
    bool stripped;
    rotary_status status = text_buffer_append(&text, token->content.bytes, token->content.count, error);
    if (status == ROTARY_OK)
        status = text_normalizer_apply(normalizer, &text, &scratch, &stripped, error);
    if (status == ROTARY_OK)
        status = text_buffer_append(&text, "", 1, error);
    text_buffer_free(&scratch);
    if (status == ROTARY_OK)
        token->normal = text.bytes;
    else
        text_buffer_free(&text);
    return status;
}

static struct token_text searched(const struct added_token *token)
{
    return token->normal ? (struct token_text){token->normal, (int64_t)strlen(token->normal)}
                         : token->content;
}

/* Fills the trie of normalized tokens, or that of the others. */
static bool fill_trie(struct added_tokens *tokens, bool normalized)
{
    int64_t bytes = 0;
    for (int64_t i = 0; i < tokens->count; i++)
        if (tokens->items[i].normalized == normalized)
            bytes += searched(&tokens->items[i]).count;
    if (bytes > PIECE_TRIE_MAX_BYTES || !piece_trie_create(&tokens->tries[normalized], bytes))
        return false;
    for (int64_t i = 0; i < tokens->count; i++) {
        const struct token_text text = searched(&tokens->items[i]);
        if (tokens->items[i].normalized != normalized || text.count == 0)
            continue;
        piece_trie_add(&tokens->tries[normalized], PIECE_FIRST, text.bytes, text.count, (int32_t)i);
        tokens->starts[normalized][(unsigned char)text.bytes[0]] = true;
        tokens->any[normalized] = true;
    }
    return true;
}

static rotary_status read_tokens(struct added_tokens *tokens, const json_t *list,
                                 const struct text_normalizer *normalizer, const char *path,
                                 rotary_error *error)
{
    rotary_status status = ROTARY_OK;
    for (size_t i = 0; i < json_array_size(list) && status == ROTARY_OK; i++) {
        const struct json_part part = {json_array_get(list, i), "added token", path};
        struct added_token *token = &tokens->items[tokens->count];
        status = read_token(token, &part, error);
        if (status != ROTARY_OK)
            break;
        tokens->count++;
        if (token->normalized && normalizer->count > 0)
            status = normalize(token, normalizer, error);
    }
    return status;
}

rotary_status added_tokens_read(struct added_tokens *tokens, const json_t *list,
                                const struct text_normalizer *normalizer, const char *path,
                                rotary_error *error)
{
    *tokens = (struct added_tokens){0};
    if (!list || json_is_null(list))
        return ROTARY_OK;
    if (!json_is_array(list) || json_array_size(list) > ADDED_TOKENS_MAX)
        return rotary_fail(error, ROTARY_BAD_FILE, "%s: wanted \"added_tokens\", a list of at most %d", path,
                           (int)ADDED_TOKENS_MAX);
    tokens->items = calloc(json_array_size(list) + 1, sizeof *tokens->items);
    rotary_status status = tokens->items ? read_tokens(tokens, list, normalizer, path, error)
                                         : rotary_fail_memory(error, "to read %s", path);
    if (status == ROTARY_OK && (!fill_trie(tokens, false) || !fill_trie(tokens, true)))
        status = rotary_fail_memory(error, "for the added tokens of %s", path);
    return status;
}

void added_tokens_free(struct added_tokens *tokens)
{
    for (int64_t i = 0; i < tokens->count; i++)
        free(tokens->items[i].normal);
    free(tokens->items);
    piece_trie_free(&tokens->tries[0]);
    piece_trie_free(&tokens->tries[1]);
    *tokens = (struct added_tokens){0};
}
