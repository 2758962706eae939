/* SPDX-License-Identifier: Apache-2.0 */
#include "text/tokenizer_json/wordpiece_model.h"

#include "base/fail.h"
#include "text/tokenizer/piece_trie.h"
#include "text/tokenizer/tokenizer_type.h"
#include "text/utf8.h"

#include <stdlib.h>
#include <string.h>

struct wordpiece_model {
    struct piece_trie trie;
    int64_t max_characters;
    int32_t unknown;
};

/* What a piece adds to the words that it continues: nothing if it has no prefix, or nothing behind it. */
static struct token_text continuation(struct token_text piece, const char *prefix)
{
    const int64_t length = (int64_t)strlen(prefix);
    if (piece.count <= length || memcmp(piece.bytes, prefix, (size_t)length) != 0)
        return (struct token_text){NULL, 0};
    return (struct token_text){piece.bytes + length, piece.count - length};
}

/* A word may also begin with a piece that has the prefix, if its text does. */
static void fill(struct wordpiece_model *model, const struct wordpiece_model_config *config)
{
    for (int32_t token = 0; token < config->pieces->count; token++) {
        const struct token_text piece = piece_table_text(config->pieces, token),
                                rest = continuation(piece, config->prefix);
        if (piece.count > 0)
            piece_trie_add(&model->trie, PIECE_FIRST, piece.bytes, piece.count, token);
        if (rest.count > 0)
            piece_trie_add(&model->trie, PIECE_CONTINUING, rest.bytes, rest.count, token);
    }
}

rotary_status wordpiece_model_create(struct wordpiece_model **model,
                                     const struct wordpiece_model_config *config, rotary_error *error)
{
    int64_t bytes = 0;
    for (int32_t token = 0; token < config->pieces->count; token++)
        bytes += 2 * piece_table_text(config->pieces, token).count;
    if (bytes > PIECE_TRIE_MAX_BYTES)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "the pieces have more than %d bytes",
                           (int)PIECE_TRIE_MAX_BYTES / 2);
    struct wordpiece_model *made = calloc(1, sizeof *made);
    if (!made || !piece_trie_create(&made->trie, bytes)) {
        free(made);
        return rotary_fail_memory(error, "for %lld pieces of words", (long long)config->pieces->count);
    }
    made->max_characters = config->max_characters;
    made->unknown = config->unknown;
    fill(made, config);
    *model = made;
    return ROTARY_OK;
}

void wordpiece_model_destroy(struct wordpiece_model *model)
{
    if (model)
        piece_trie_free(&model->trie);
    free(model);
}

/* Whether a word has at most so many characters. */
static bool fits(const char *word, int64_t bytes, int64_t max)
{
    int64_t characters = 0;
    for (int64_t at = 0; at < bytes && characters <= max; at++)
        characters += ((unsigned char)word[at] & 0xc0) != 0x80;
    return characters <= max;
}

void wordpiece_model_encode(const struct wordpiece_model *model, const char *word, int64_t bytes,
                            struct token_list *list)
{
    const struct token_list before = *list;
    int32_t token = fits(word, bytes, model->max_characters) ? 0 : -1;
    for (int64_t at = 0, length = 0; at < bytes && token >= 0; at += length) {
        token = piece_trie_longest(&model->trie, at == 0 ? PIECE_FIRST : PIECE_CONTINUING, word + at,
                                   bytes - at, &length);
        if (token >= 0)
            token_list_append(list, token);
    }
    if (token >= 0)
        return;
    *list = before;
    token_list_append(list, model->unknown);
}
