/* SPDX-License-Identifier: Apache-2.0 */
#include "text/tokenizer_json/bpe_model.h"

#include "base/fail.h"
#include "base/hash_table.h"
#include "text/tokenizer/tokenizer_type.h"
#include "text/utf8.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_WORD_BYTES = 1 << 30 };

struct bpe_model {
    struct bpe_config config;
    struct bpe_merge *merges;
    struct hash_table places; /* of merges, by their two tokens */
    int32_t byte_tokens[256]; /* of a word that begins as bytes */
    bool *whole;              /* of each token, whether a word with its bytes is that token alone */
};

/* A part of a word: a token and its neighbours. A symbol that was merged into the one before has no token. */
struct bpe_symbol {
    int32_t token, previous, next; /* -1: none */
};

/* Neighbours that may be merged: the symbol at `at` and the next one. */
struct bpe_candidate {
    int32_t rank, at, merged;
};

/* ---- the table of merges ---- */

static uint32_t key_of(int32_t left, int32_t right)
{
    return hash_table_key((uint64_t)(uint32_t)left << 32 | (uint32_t)right);
}

/* The slot with the place of a merge, or the free one in which it belongs. */
static struct hash_slot *find_slot(const struct bpe_model *model, int32_t left, int32_t right)
{
    struct hash_slot *slot = hash_table_find(&model->places, key_of(left, right));
    while (slot->value >= 0 &&
           (model->merges[slot->value].left != left || model->merges[slot->value].right != right))
        slot = hash_table_next(&model->places, slot);
    return slot;
}

/* The merge of two tokens, of the same the last; NULL: there is none. */
static const struct bpe_merge *find_merge(const struct bpe_model *model, int32_t left, int32_t right)
{
    const int32_t place = find_slot(model, left, right)->value;
    return place >= 0 ? &model->merges[place] : NULL;
}

static bool fill_merges(struct bpe_model *model, const struct bpe_merge *merges, int64_t count)
{
    model->merges = malloc((size_t)(count + 1) * sizeof *model->merges);
    if (!model->merges || !rotary_hash_table_empty(&model->places, count))
        return false;
    for (int32_t i = 0; i < count; i++) {
        model->merges[i] = merges[i];
        *find_slot(model, merges[i].left, merges[i].right) =
            (struct hash_slot){key_of(merges[i].left, merges[i].right), i};
    }
    return true;
}

/* ---- the heap of candidates: the lowest rank first, of equal ranks the leftmost ---- */

struct candidates {
    struct bpe_candidate *heap;
    int64_t count;
};

static bool is_before(const struct bpe_candidate *a, const struct bpe_candidate *b)
{
    return a->rank != b->rank ? a->rank < b->rank : a->at < b->at;
}

static void push(struct candidates *candidates, struct bpe_candidate added)
{
    struct bpe_candidate *heap = candidates->heap;
    int64_t at = candidates->count++;
    for (int64_t above; at > 0 && is_before(&added, &heap[above = (at - 1) / 2]); at = above)
        heap[at] = heap[above];
    heap[at] = added;
}

static struct bpe_candidate pop(struct candidates *candidates)
{
    struct bpe_candidate *heap = candidates->heap, first = heap[0];
    const struct bpe_candidate last = heap[--candidates->count];
    int64_t at = 0;
    for (int64_t below; (below = 2 * at + 1) < candidates->count; at = below) {
        if (below + 1 < candidates->count && is_before(&heap[below + 1], &heap[below]))
            below++;
        if (!is_before(&heap[below], &last))
            break;
        heap[at] = heap[below];
    }
    heap[at] = last;
    return first;
}

/* ---- words ---- */

void bpe_workspace_free(struct bpe_workspace *workspace)
{
    free(workspace->symbols);
    free(workspace->heap);
    *workspace = (struct bpe_workspace){0};
}

/* Room for a word: each of its bytes may be a symbol, and beside the candidates of the beginning each merge
 * adds two. */
static rotary_status make_room(struct bpe_workspace *workspace, int64_t bytes, rotary_error *error)
{
    if (bytes <= workspace->capacity)
        return ROTARY_OK;
    if (bytes >= MAX_WORD_BYTES)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "a word has %lld bytes, wanted less than %d",
                           (long long)bytes, (int)MAX_WORD_BYTES);
    int64_t capacity = bytes < 64 ? 64 : bytes;
    bpe_workspace_free(workspace);
    workspace->symbols = malloc((size_t)capacity * sizeof *workspace->symbols);
    workspace->heap = malloc((size_t)capacity * 3 * sizeof *workspace->heap);
    if (!workspace->symbols || !workspace->heap) {
        bpe_workspace_free(workspace);
        return rotary_fail_memory(error, "for a word of %lld bytes", (long long)bytes);
    }
    workspace->capacity = capacity;
    return ROTARY_OK;
}

struct symbols {
    struct bpe_symbol *items;
    int32_t count;
};

static void add_symbol(struct symbols *symbols, int32_t token)
{
    int32_t at = symbols->count++;
    symbols->items[at] = (struct bpe_symbol){token, at - 1, at + 1};
}

/* The tokens of a character's bytes. False if some byte has none. */
static bool add_fallback(const struct bpe_config *config, struct symbols *symbols, const char *character,
                         int64_t length)
{
    for (int64_t i = 0; i < length; i++)
        if (config->fallback[(unsigned char)character[i]] < 0)
            return false;
    for (int64_t i = 0; i < length; i++)
        add_symbol(symbols, config->fallback[(unsigned char)character[i]]);
    return true;
}

/* What a word begins as: the token of the byte or character at `at`, or -1, and its length. */
static int32_t symbol_at(const struct bpe_model *model, const char *at, int64_t bytes, int64_t *length)
{
    *length = 1;
    if (model->config.bytes)
        return model->byte_tokens[(unsigned char)*at];
    *length = utf8_character_bytes(at, bytes);
    *length = *length > 0 ? *length : 1; /* a zero byte */
    return piece_table_find(model->config.pieces, at, *length);
}

/* An unknown character waits until the next one that is a piece, as in `tokenizers`: tokens of bytes that
 * follow it come before it. */
static void split(const struct bpe_model *model, struct symbols *symbols, const char *word, int64_t bytes)
{
    const struct bpe_config *config = &model->config;
    bool waiting = false;
    for (int64_t at = 0, length; at < bytes; at += length) {
        int32_t token = symbol_at(model, word + at, bytes - at, &length);
        if (token < 0 && config->byte_fallback && add_fallback(config, symbols, word + at, length))
            continue;
        if (waiting && (token >= 0 || !config->fuse_unknown))
            add_symbol(symbols, config->unknown);
        waiting = token < 0 && config->unknown >= 0;
        if (token >= 0)
            add_symbol(symbols, token);
    }
    if (waiting)
        add_symbol(symbols, config->unknown);
}

/* Adds the symbol at `at` and the next one, if they may be merged. */
static void propose(const struct bpe_model *model, const struct symbols *symbols,
                    struct candidates *candidates, int32_t at)
{
    int32_t next = symbols->items[at].next;
    if (next >= symbols->count)
        return;
    const struct bpe_merge *found = find_merge(model, symbols->items[at].token, symbols->items[next].token);
    if (found)
        push(candidates, (struct bpe_candidate){found->rank, at, found->merged});
}

/* A candidate is stale if its symbols have changed since. */
static bool is_stale(const struct bpe_model *model, const struct symbols *symbols,
                     const struct bpe_candidate *candidate)
{
    const struct bpe_symbol *left = &symbols->items[candidate->at];
    if (left->token < 0 || left->next >= symbols->count)
        return true;
    const struct bpe_merge *found = find_merge(model, left->token, symbols->items[left->next].token);
    return !found || found->merged != candidate->merged;
}

static void merge(const struct bpe_model *model, struct symbols *symbols, struct bpe_candidate *heap)
{
    struct candidates candidates = {.heap = heap};
    for (int32_t i = 0; i + 1 < symbols->count; i++)
        propose(model, symbols, &candidates, i);
    while (candidates.count > 0) {
        const struct bpe_candidate best = pop(&candidates);
        if (is_stale(model, symbols, &best))
            continue;
        struct bpe_symbol *left = &symbols->items[best.at], *right = &symbols->items[left->next];
        left->token = best.merged;
        left->next = right->next;
        right->token = -1;
        if (left->next < symbols->count)
            symbols->items[left->next].previous = best.at;
        if (left->previous >= 0)
            propose(model, symbols, &candidates, left->previous);
        propose(model, symbols, &candidates, best.at);
    }
}

static rotary_status encode_merging(const struct bpe_model *model, struct bpe_workspace *workspace,
                                    const char *word, int64_t bytes, struct token_list *list,
                                    rotary_error *error)
{
    rotary_status status = make_room(workspace, bytes, error);
    if (status != ROTARY_OK)
        return status;
    struct symbols symbols = {.items = workspace->symbols};
    split(model, &symbols, word, bytes);
    merge(model, &symbols, workspace->heap);
    for (int32_t i = 0; i < symbols.count; i++)
        if (symbols.items[i].token >= 0)
            token_list_append(list, symbols.items[i].token);
    return ROTARY_OK;
}

rotary_status bpe_model_encode(const struct bpe_model *model, struct bpe_workspace *workspace,
                               const char *word, int64_t bytes, struct token_list *list, rotary_error *error)
{
    int32_t token = piece_table_find(model->config.pieces, word, bytes);
    if (token < 0 || !model->whole[token])
        return encode_merging(model, workspace, word, bytes, list, error);
    token_list_append(list, token);
    return ROTARY_OK;
}

/* ---- models ---- */

/* Finds out which pieces merging makes of their own bytes. */
static rotary_status find_whole(struct bpe_model *model, rotary_error *error)
{
    const struct piece_table *pieces = model->config.pieces;
    struct bpe_workspace workspace = {0};
    rotary_status status = ROTARY_OK;
    for (int32_t token = 0; token < pieces->count && status == ROTARY_OK; token++) {
        const struct token_text text = piece_table_text(pieces, token);
        int32_t first;
        struct token_list list = {.tokens = &first, .capacity = 1};
        if (!text.bytes || text.count == 0)
            continue;
        if (!model->config.ignore_merges)
            status = encode_merging(model, &workspace, text.bytes, text.count, &list, error);
        model->whole[token] =
            model->config.ignore_merges || (list.count == 1 && list.left_out == 0 && first == token);
    }
    bpe_workspace_free(&workspace);
    return status;
}

rotary_status bpe_model_create(struct bpe_model **model, const struct bpe_config *config,
                               const struct bpe_merge *merges, int64_t count, rotary_error *error)
{
    struct bpe_model *made = calloc(1, sizeof *made);
    if (made) {
        made->config = *config;
        made->whole = calloc((size_t)config->pieces->count + 1, sizeof *made->whole);
    }
    if (!made || !made->whole || !fill_merges(made, merges, count)) {
        bpe_model_destroy(made);
        return rotary_fail_memory(error, "for %lld merges", (long long)count);
    }
    for (int byte = 0; byte < 256; byte++)
        made->byte_tokens[byte] = piece_table_find(config->pieces, &(char){(char)byte}, 1);
    rotary_status status = find_whole(made, error);
    if (status == ROTARY_OK)
        *model = made;
    else
        bpe_model_destroy(made);
    return status;
}

void bpe_model_destroy(struct bpe_model *model)
{
    if (!model)
        return;
    free(model->merges);
    rotary_hash_table_free(&model->places);
    free(model->whole);
    free(model);
}
