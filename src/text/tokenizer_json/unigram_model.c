/* SPDX-License-Identifier: Apache-2.0 */
#include "text/tokenizer_json/unigram_model.h"

#include "base/fail.h"
#include "text/tokenizer/piece_trie.h"
#include "text/tokenizer/tokenizer_type.h"
#include "text/utf8.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_WORD_BYTES = 1 << 30 };

struct unigram_model {
    struct unigram_config config;
    double *scores;
    double unknown_score;
    struct piece_trie trie;
};

/* The best way to the end of a byte: its score, and the piece that it ends with. */
struct unigram_node {
    double score;
    int32_t begin; /* of that piece; -1: no way leads here */
    int32_t token; /* the piece; -1: an unknown character */
    int32_t end;   /* of the part of the best way that begins here */
};

/* ---- models ---- */

rotary_status unigram_model_create(struct unigram_model **model, const struct unigram_config *config,
                                   rotary_error *error)
{
    const struct piece_table *pieces = config->pieces;
    if (pieces->used > PIECE_TRIE_MAX_BYTES)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "the pieces have %lld bytes, wanted at most %d",
                           (long long)pieces->used, (int)PIECE_TRIE_MAX_BYTES);
    struct unigram_model *made = calloc(1, sizeof *made);
    if (made)
        made->scores = malloc((size_t)pieces->count * sizeof *made->scores);
    if (!made || !made->scores || !piece_trie_create(&made->trie, pieces->used)) {
        unigram_model_destroy(made);
        return rotary_fail_memory(error, "for %lld pieces", (long long)pieces->count);
    }
    made->config = *config;
    made->unknown_score = INFINITY;
    memcpy(made->scores, config->scores, (size_t)pieces->count * sizeof *made->scores);
    for (int32_t token = 0; token < pieces->count; token++) {
        const struct token_text text = piece_table_text(pieces, token);
        if (!text.bytes)
            continue;
        made->unknown_score = fmin(made->unknown_score, made->scores[token]);
        piece_trie_add(&made->trie, PIECE_FIRST, text.bytes, text.count, token);
    }
    made->unknown_score =
        config->single ? config->unknown_score : made->unknown_score - UNIGRAM_UNKNOWN_PENALTY;
    *model = made;
    return ROTARY_OK;
}

void unigram_model_destroy(struct unigram_model *model)
{
    if (!model)
        return;
    piece_trie_free(&model->trie);
    free(model->scores);
    free(model);
}

/* ---- words ---- */

void unigram_workspace_free(struct unigram_workspace *workspace)
{
    free(workspace->nodes);
    *workspace = (struct unigram_workspace){0};
}

static rotary_status make_room(struct unigram_workspace *workspace, int64_t bytes, rotary_error *error)
{
    if (bytes >= MAX_WORD_BYTES)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "a word has %lld bytes, wanted less than %d",
                           (long long)bytes, (int)MAX_WORD_BYTES);
    if (bytes < workspace->capacity)
        return ROTARY_OK;
    unigram_workspace_free(workspace);
    workspace->nodes = malloc((size_t)(bytes + 64) * sizeof *workspace->nodes);
    if (!workspace->nodes)
        return rotary_fail_memory(error, "for a word of %lld bytes", (long long)bytes);
    workspace->capacity = bytes + 64;
    return ROTARY_OK;
}

/* A way to `end` by a piece from `begin` on; of equal ones the first counts. SentencePiece keeps sums in single
 * precision, and compares them with one in double precision, but for an unknown character. */
static void reach(struct unigram_node *nodes, int64_t begin, int64_t end, double score, int32_t token,
                  bool single)
{
    double sum = nodes[begin].score + score;
    if (single && token < 0)
        sum = (float)sum;
    if (nodes[end].begin < 0 || sum > nodes[end].score)
        nodes[end] = (struct unigram_node){single ? (double)(float)sum : sum, (int32_t)begin, token, -1};
}

/* Finds the best way to the end of every character. */
static void find_ways(const struct unigram_model *model, struct unigram_node *nodes, const char *word,
                      int64_t bytes)
{
    const bool single = model->config.single;
    for (int64_t i = 0; i <= bytes; i++)
        nodes[i] = (struct unigram_node){0, -1, -1, -1};
    for (int64_t at = 0, length; at < bytes; at += length) {
        int32_t node = PIECE_FIRST;
        bool is_piece = false;
        length = utf8_character_bytes(word + at, bytes - at);
        length = length > 0 ? length : 1; /* a zero byte */
        for (int64_t end = at + 1; end <= bytes; end++) {
            node = piece_trie_step(&model->trie, node, word[end - 1]);
            if (node < 0)
                break;
            const int32_t token = model->trie.nodes[node].token;
            if (token < 0)
                continue;
            reach(nodes, at, end, model->scores[token], token == model->config.unknown ? -1 : token, single);
            is_piece = is_piece || end - at == length;
        }
        if (!is_piece)
            reach(nodes, at, at + length, model->unknown_score, -1, single);
    }
}

/* Follows the best way back from the end: the node at the begin of each part then has its end. Unknown parts
 * side by side become one. */
static void find_parts(struct unigram_node *nodes, int64_t bytes)
{
    int64_t end = bytes;
    for (int64_t last = bytes; last > 0;) {
        const int64_t begin = nodes[last].begin;
        const bool joins = nodes[last].token < 0 && begin > 0 && nodes[begin].token < 0;
        if (!joins) {
            nodes[begin].end = (int32_t)end;
            end = begin;
        }
        last = begin;
    }
}

/* `tokenizers` looks for an unknown part among the pieces, as a whole. */
static void append_unknown(const struct unigram_model *model, const char *part, int64_t bytes,
                           struct token_list *list)
{
    const struct unigram_config *config = &model->config;
    const int32_t token = config->single ? -1 : piece_table_find(config->pieces, part, bytes);
    bool complete = config->byte_fallback;
    for (int64_t i = 0; token < 0 && complete && i < bytes; i++)
        complete = config->fallback[(unsigned char)part[i]] >= 0;
    if (token >= 0 || !complete) {
        token_list_append(list, token >= 0 ? token : config->unknown);
        return;
    }
    for (int64_t i = 0; i < bytes; i++)
        token_list_append(list, config->fallback[(unsigned char)part[i]]);
}

rotary_status unigram_model_encode(const struct unigram_model *model, struct unigram_workspace *workspace,
                                   const char *word, int64_t bytes, struct token_list *list,
                                   rotary_error *error)
{
    rotary_status status = make_room(workspace, bytes, error);
    if (status != ROTARY_OK)
        return status;
    find_ways(model, workspace->nodes, word, bytes);
    find_parts(workspace->nodes, bytes);
    for (int64_t at = 0, end; at < bytes; at = end) {
        end = workspace->nodes[at].end;
        const int32_t token = workspace->nodes[end].token;
        if (token >= 0)
            token_list_append(list, token);
        else
            append_unknown(model, word + at, end - at, list);
    }
    return ROTARY_OK;
}
