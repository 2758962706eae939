/* SPDX-License-Identifier: Apache-2.0
 *
 * Added tokens. The library `tokenizers` looks for those that are not normalized, then for the others, each
 * time from the left and for the longest. llama.cpp looks for one token after the other in all of a text, the
 * longest first. Both find the same where no two tokens can lie across each other in a text.
 */
#include "text/tokenizer_export/gguf_rule.h"

#include <stdlib.h>
#include <string.h>

struct searched {
    const char *text;
    size_t length;
    bool normalized;
};

struct search {
    struct searched *tokens; /* [count] in the order of their first bytes */
    size_t count;
    size_t starts[257]; /* of each first byte */
};

static bool is_true(const json_t *token, const char *key)
{
    return json_is_true(json_object_get(token, key));
}

static bool check_flags(const json_t *token, char *reason)
{
    static const char *const flags[] = {"lstrip", "rstrip", "single_word"};
    const char *text = json_string_value(json_object_get(token, "content"));
    for (int i = 0; i < 3; i++)
        if (is_true(token, flags[i]))
            return gguf_rule_refuse(reason, "its added token \"%.60s\" has \"%s\", which llama.cpp has not",
                                    text ? text : "", flags[i]);
    return (text && text[0]) || gguf_rule_refuse(reason, "an added token has no text");
}

/* The library gives an added token the id of the piece, or else the next, whatever the file says. */
static bool check_id(const json_t *token, const json_t *vocabulary, json_int_t *next, char *reason)
{
    const json_int_t id = json_integer_value(json_object_get(token, "id"));
    const char *text = json_string_value(json_object_get(token, "content"));
    const json_t *piece = json_object_get(vocabulary, text);
    const json_int_t wanted = piece ? json_integer_value(piece) : *next;
    *next = wanted >= *next ? wanted + 1 : *next;
    return id == wanted ||
           gguf_rule_refuse(reason,
                            "its added token \"%.60s\" has the id %lld, and %lld to the library tokenizers",
                            text, (long long)id, (long long)wanted);
}

/* ---- tokens across others ---- */

static int compare_first(const void *a, const void *b)
{
    const unsigned char first = (unsigned char)((const struct searched *)a)->text[0],
                        second = (unsigned char)((const struct searched *)b)->text[0];
    return (first > second) - (first < second);
}

/* False without memory. */
static bool create(struct search *search, const json_t *added)
{
    *search = (struct search){.count = json_array_size(added)};
    search->tokens = calloc(search->count + 1, sizeof *search->tokens);
    for (size_t i = 0; search->tokens && i < search->count; i++) {
        const json_t *token = json_array_get(added, i);
        const char *text = json_string_value(json_object_get(token, "content"));
        search->tokens[i] = (struct searched){text, strlen(text), is_true(token, "normalized")};
    }
    if (!search->tokens)
        return false;
    qsort(search->tokens, search->count, sizeof *search->tokens, compare_first);
    for (size_t i = 0; i < search->count; i++)
        search->starts[(unsigned char)search->tokens[i].text[0] + 1]++;
    for (int byte = 0; byte < 256; byte++)
        search->starts[byte + 1] += search->starts[byte];
    return true;
}

/* Whether a text is one byte again and again: of the runs that are tokens both take the longest from the
 * left. */
static bool is_run(const struct searched *token)
{
    return strspn(token->text, (const char[]){token->text[0], '\0'}) == token->length;
}

/* Whether both find the same where `other` begins at byte `at` > 0 of `token` in a text. */
static bool is_alike(const struct searched *token, size_t at, const struct searched *other)
{
    const size_t left = token->length - at;
    const bool inside = other->length <= left;
    if (memcmp(token->text + at, other->text, inside ? other->length : left) != 0)
        return true;
    if (token->normalized != other->normalized)
        return inside && !token->normalized;
    return inside || token->length > other->length || (is_run(token) && is_run(other));
}

/* Does so for those at its beginning, of which the longest counts, but that others are looked for before it.
 */
static bool is_alike_first(const struct searched *token, const struct searched *other)
{
    const bool inside = other->length < token->length;
    return !inside || !token->normalized || other->normalized ||
           memcmp(token->text, other->text, other->length) != 0;
}

static bool check_token(const struct search *search, const struct searched *token, char *reason)
{
    for (size_t at = 0; at < token->length; at++) {
        const unsigned char byte = (unsigned char)token->text[at];
        for (size_t i = search->starts[byte]; i < search->starts[byte + 1]; i++) {
            const struct searched *other = &search->tokens[i];
            if (other != token && !(at > 0 ? is_alike(token, at, other) : is_alike_first(token, other)))
                return gguf_rule_refuse(
                    reason,
                    "its added tokens \"%.60s\" and \"%.60s\" can lie across each other in "
                    "a text",
                    token->text, other->text);
        }
    }
    return true;
}

bool gguf_rule_added(const json_t *added, const json_t *vocabulary, char reason[TOKENIZER_REASON_BYTES])
{
    struct search search = {0};
    json_int_t next = (json_int_t)json_object_size(vocabulary);
    bool alike = true;
    for (size_t i = 0; i < json_array_size(added) && alike; i++)
        alike = check_flags(json_array_get(added, i), reason) &&
                check_id(json_array_get(added, i), vocabulary, &next, reason);
    if (alike && !create(&search, added))
        alike = gguf_rule_refuse(reason, "there is no memory for its added tokens");
    for (size_t i = 0; i < search.count && alike; i++)
        alike = check_token(&search, &search.tokens[i], reason);
    free(search.tokens);
    return alike;
}
