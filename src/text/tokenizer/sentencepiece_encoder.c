/* SPDX-License-Identifier: Apache-2.0 */
#include "text/tokenizer/sentencepiece_encoder.h"

#include "base/fail.h"
#include "text/tokenizer/sentencepiece_normalizer.h"
#include "text/tokenizer/sentencepiece_pieces.h"
#include "text/tokenizer/tokenizer_type.h"
#include "text/tokenizer_json/bpe_model.h"
#include "text/tokenizer_json/unigram_model.h"
#include "text/utf8.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sentencepiece_encoder {
    struct sentencepiece_pieces pieces;
    struct piece_table table;  /* of the pieces that a text has, by their ids */
    struct piece_trie defined; /* those that users defined are continuing ones */
    struct sentencepiece_normalizer normalizer;
    int32_t unknown, fallback[256];
    struct unigram_model *unigram; /* NULL: `bpe` */
    struct bpe_model *bpe;
    bool words; /* no piece reaches over a U+2581 that comes before a word */
};

static const char space[] = "\xe2\x96\x81"; /* U+2581 */

static bool is_space(const char *text, int64_t bytes)
{
    return bytes >= 3 && memcmp(text, space, 3) == 0;
}

/* ---- pieces ---- */

static bool is_text(const struct sentencepiece_piece *piece)
{
    return piece->type == PIECE_NORMAL || piece->type == PIECE_USER_DEFINED || piece->type == PIECE_UNUSED;
}

/* The token of a piece <0x00> ... <0xFF> is that of its byte. */
static void add_byte(struct sentencepiece_encoder *encoder, const struct sentencepiece_piece *piece,
                     int32_t token)
{
    char name[8] = "";
    unsigned byte;
    if (piece->count == 6)
        memcpy(name, piece->bytes, 6);
    if (sscanf(name, "<0x%2X>", &byte) == 1)
        encoder->fallback[byte] = token;
}

/* Fills the tables. Unused pieces are none that a text has. False without memory. */
static bool fill_tables(struct sentencepiece_encoder *encoder)
{
    const struct sentencepiece_pieces *pieces = &encoder->pieces;
    int64_t bytes = 0, defined = 0;
    for (int64_t i = 0; i < pieces->count; i++) {
        bytes += pieces->pieces[i].count;
        defined += pieces->pieces[i].type == PIECE_USER_DEFINED ? pieces->pieces[i].count : 0;
    }
    if (!piece_table_create(&encoder->table, pieces->count, bytes) ||
        !piece_trie_create(&encoder->defined, defined))
        return false;
    encoder->unknown = -1;
    memset(encoder->fallback, 0xff, sizeof encoder->fallback);
    for (int32_t i = 0; i < pieces->count; i++) {
        const struct sentencepiece_piece *piece = &pieces->pieces[i];
        if (is_text(piece) && piece->type != PIECE_UNUSED)
            (void)piece_table_add(&encoder->table, i, piece->bytes, piece->count);
        if (piece->type == PIECE_USER_DEFINED)
            piece_trie_add(&encoder->defined, PIECE_CONTINUING, piece->bytes, piece->count, i);
        if (piece->type == PIECE_BYTE)
            add_byte(encoder, piece, i);
        if (piece->type == PIECE_UNKNOWN)
            encoder->unknown = i;
    }
    return true;
}

/* ---- unigram ---- */

/* Characters of a piece that users defined are worth the maximum score each, in single precision. */
static rotary_status create_unigram(struct sentencepiece_encoder *encoder, rotary_error *error)
{
    const struct sentencepiece_pieces *pieces = &encoder->pieces;
    float min = FLT_MAX, max = FLT_MIN;
    double *scores = malloc(((size_t)pieces->count + 1) * sizeof *scores);
    if (!scores)
        return rotary_fail_memory(error, "for the pieces of a tokenizer");
    for (int64_t i = 0; i < pieces->count; i++) {
        if (pieces->pieces[i].type != PIECE_NORMAL)
            continue;
        min = fminf(min, pieces->pieces[i].score);
        max = fmaxf(max, pieces->pieces[i].score);
    }
    for (int64_t i = 0; i < pieces->count; i++) {
        const struct sentencepiece_piece *piece = &pieces->pieces[i];
        const float defined = (float)piece->count * max;
        scores[i] = piece->type == PIECE_USER_DEFINED ? (double)defined - 0.1 : (double)piece->score;
    }
    struct unigram_config config = {.pieces = &encoder->table,
                                    .scores = scores,
                                    .single = true,
                                    .unknown_score = (double)(min - (float)UNIGRAM_UNKNOWN_PENALTY),
                                    .unknown = encoder->unknown,
                                    .byte_fallback = pieces->byte_fallback};
    memcpy(config.fallback, encoder->fallback, sizeof config.fallback);
    rotary_status status = unigram_model_create(&encoder->unigram, &config, error);
    free(scores);
    return status;
}

/* ---- byte-pair encoding ---- */

struct merges {
    struct bpe_merge *list;
    int64_t count, capacity;
};

static bool add_merge(struct merges *merges, struct bpe_merge merge)
{
    if (merges->count == merges->capacity) {
        const int64_t capacity = merges->capacity > 0 ? 2 * merges->capacity : 1024;
        struct bpe_merge *larger = realloc(merges->list, (size_t)capacity * sizeof *larger);
        if (!larger)
            return false;
        merges->list = larger;
        merges->capacity = capacity;
    }
    merges->list[merges->count++] = merge;
    return true;
}

/* Adds all pairs of pieces that the piece is made of, which have its rank. False without memory. */
static bool add_merges(struct merges *merges, const struct sentencepiece_encoder *encoder, int32_t token,
                       int32_t rank)
{
    const struct piece_table *table = &encoder->table;
    const struct sentencepiece_piece *piece = &encoder->pieces.pieces[token];
    for (int64_t at = utf8_character_bytes(piece->bytes, piece->count); at < piece->count;
         at += utf8_character_bytes(piece->bytes + at, piece->count - at)) {
        const int32_t left = piece_table_find(table, piece->bytes, at),
                      right = piece_table_find(table, piece->bytes + at, piece->count - at);
        if (left >= 0 && right >= 0 && encoder->pieces.pieces[left].type == PIECE_NORMAL &&
            encoder->pieces.pieces[right].type == PIECE_NORMAL &&
            !add_merge(merges, (struct bpe_merge){left, right, token, rank}))
            return false;
    }
    return true;
}

/* A piece in the order of its merges: the highest score first. */
struct ranked {
    float score;
    int32_t token;
};

static int compare_ranked(const void *left, const void *right)
{
    const struct ranked *a = left, *b = right;
    return a->score != b->score ? (a->score < b->score) - (a->score > b->score)
                                : (a->token > b->token) - (a->token < b->token);
}

/* Pieces of one score have one rank. */
static bool rank_merges(struct merges *merges, const struct sentencepiece_encoder *encoder,
                        struct ranked *ranked)
{
    int64_t count = 0;
    int32_t rank = 0;
    for (int32_t i = 0; i < encoder->pieces.count; i++)
        if (encoder->pieces.pieces[i].type == PIECE_NORMAL)
            ranked[count++] = (struct ranked){encoder->pieces.pieces[i].score, i};
    qsort(ranked, (size_t)count, sizeof *ranked, compare_ranked);
    for (int64_t i = 0; i < count; i++) {
        rank += i > 0 && ranked[i].score != ranked[i - 1].score;
        if (!add_merges(merges, encoder, ranked[i].token, rank))
            return false;
    }
    return true;
}

static rotary_status create_bpe(struct sentencepiece_encoder *encoder, rotary_error *error)
{
    struct merges merges = {0};
    struct ranked *ranked = malloc(((size_t)encoder->pieces.count + 1) * sizeof *ranked);
    struct bpe_config config = {.pieces = &encoder->table,
                                .byte_fallback = encoder->pieces.byte_fallback,
                                .fuse_unknown = true,
                                .unknown = encoder->unknown};
    memcpy(config.fallback, encoder->fallback, sizeof config.fallback);
    rotary_status status = ranked && rank_merges(&merges, encoder, ranked)
                               ? bpe_model_create(&encoder->bpe, &config, merges.list, merges.count, error)
                               : rotary_fail_memory(error, "for the merges of a tokenizer");
    free(ranked);
    free(merges.list);
    return status;
}

/* Whether the merges follow from the table: a text of a piece may be merged from characters that are pieces
 * themselves, and pieces that stand for no text, or are unused, are none of its parts. */
static bool has_plain_merges(const struct sentencepiece_encoder *encoder)
{
    for (int64_t i = 0; i < encoder->pieces.count; i++) {
        const struct sentencepiece_piece *piece = &encoder->pieces.pieces[i];
        const int64_t first = utf8_character_bytes(piece->bytes, piece->count);
        if (piece->type == PIECE_UNUSED || (!is_text(piece) && first == piece->count))
            return false;
        if (piece->type != PIECE_NORMAL)
            continue;
        for (int64_t at = 0, length; at < piece->count; at += length) {
            length = utf8_character_bytes(piece->bytes + at, piece->count - at);
            const int32_t part = piece_table_find(&encoder->table, piece->bytes + at, length);
            if (part < 0 || encoder->pieces.pieces[part].type != PIECE_NORMAL)
                return false;
        }
    }
    return true;
}

/* Whether a U+2581 is a piece, and begins every piece that it is in. */
static bool has_words(const struct sentencepiece_encoder *encoder)
{
    for (int64_t i = 0; i < encoder->pieces.count; i++) {
        const struct sentencepiece_piece *piece = &encoder->pieces.pieces[i];
        if (is_text(piece) && memmem(piece->bytes + 1, (size_t)piece->count - 1, space, 3))
            return false;
    }
    return piece_table_find(&encoder->table, space, 3) >= 0;
}

/* ---- models ---- */

/* Whether no text is a piece twice, as one that a text has and as one that stands for none. */
static bool are_pieces_distinct(const struct sentencepiece_encoder *encoder)
{
    for (int64_t i = 0; i < encoder->pieces.count; i++) {
        const struct sentencepiece_piece *piece = &encoder->pieces.pieces[i];
        if (!is_text(piece) && piece_table_find(&encoder->table, piece->bytes, piece->count) >= 0)
            return false;
    }
    return true;
}

static rotary_status create_model(struct sentencepiece_encoder *encoder, bool *possible, rotary_error *error)
{
    if (!fill_tables(encoder))
        return rotary_fail_memory(error, "for the pieces of a tokenizer");
    sentencepiece_normalizer_start(&encoder->normalizer, &encoder->pieces, &encoder->defined);
    encoder->words = has_words(encoder);
    *possible = encoder->unknown >= 0 && are_pieces_distinct(encoder) &&
                encoder->table.used <= PIECE_TRIE_MAX_BYTES &&
                (!encoder->pieces.bpe || has_plain_merges(encoder));
    if (!*possible)
        return ROTARY_OK;
    return encoder->pieces.bpe ? create_bpe(encoder, error) : create_unigram(encoder, error);
}

rotary_status sentencepiece_encoder_create(struct sentencepiece_encoder **encoder, const char *bytes,
                                           int64_t count, rotary_error *error)
{
    bool possible = false;
    struct sentencepiece_encoder *made = calloc(1, sizeof *made);
    *encoder = NULL;
    if (!made)
        return rotary_fail_memory(error, "for a tokenizer (%zu bytes)", sizeof *made);
    rotary_status status = sentencepiece_pieces_read(&made->pieces, bytes, count, error);
    if (status == ROTARY_OK)
        status = create_model(made, &possible, error);
    if (status == ROTARY_OK && possible)
        *encoder = made;
    else
        sentencepiece_encoder_destroy(made);
    return status == ROTARY_UNSUPPORTED ? ROTARY_OK : status;
}

void sentencepiece_encoder_destroy(struct sentencepiece_encoder *encoder)
{
    if (!encoder)
        return;
    unigram_model_destroy(encoder->unigram);
    bpe_model_destroy(encoder->bpe);
    piece_trie_free(&encoder->defined);
    piece_table_free(&encoder->table);
    sentencepiece_pieces_free(&encoder->pieces);
    free(encoder);
}

/* ---- texts ---- */

/* Cuts the text at pieces that users defined, which are never merged, and into words. */
static rotary_status encode_bpe(const struct sentencepiece_encoder *encoder, const struct text_buffer *text,
                                struct token_list *list, rotary_error *error)
{
    struct bpe_workspace workspace = {0};
    rotary_status status = ROTARY_OK;
    int64_t begin = 0;
    for (int64_t at = 0, length; at < text->count && status == ROTARY_OK; at += length) {
        const char *next = text->bytes + at;
        const int32_t defined =
            piece_trie_longest(&encoder->defined, PIECE_CONTINUING, next, text->count - at, &length);
        const bool cuts = defined >= 0 || (encoder->words && is_space(next, text->count - at));
        if (defined < 0)
            length = utf8_character_bytes(next, text->count - at);
        if (cuts && at > begin)
            status = bpe_model_encode(encoder->bpe, &workspace, text->bytes + begin, at - begin, list, error);
        if (cuts)
            begin = defined >= 0 ? at + length : at;
        if (defined >= 0 && status == ROTARY_OK)
            token_list_append(list, defined);
    }
    if (status == ROTARY_OK && text->count > begin)
        status =
            bpe_model_encode(encoder->bpe, &workspace, text->bytes + begin, text->count - begin, list, error);
    bpe_workspace_free(&workspace);
    return status;
}

static rotary_status encode_unigram(const struct sentencepiece_encoder *encoder,
                                    const struct text_buffer *text, struct token_list *list,
                                    rotary_error *error)
{
    struct unigram_workspace workspace = {0};
    rotary_status status =
        unigram_model_encode(encoder->unigram, &workspace, text->bytes, text->count, list, error);
    unigram_workspace_free(&workspace);
    return status;
}

rotary_status sentencepiece_encoder_encode(const struct sentencepiece_encoder *encoder, const char *text,
                                           int64_t bytes, struct token_list *list, rotary_error *error)
{
    struct text_buffer normal = {0};
    rotary_status status = sentencepiece_normalize(&encoder->normalizer, text, bytes, &normal, error);
    if (status == ROTARY_OK && normal.count > 0)
        status = encoder->unigram ? encode_unigram(encoder, &normal, list, error)
                                  : encode_bpe(encoder, &normal, list, error);
    text_buffer_free(&normal);
    return status;
}
