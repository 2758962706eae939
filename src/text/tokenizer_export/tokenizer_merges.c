/* SPDX-License-Identifier: Apache-2.0 */
#include "text/tokenizer_export/tokenizer_merges.h"

#include "text/utf8.h"

#include <stdlib.h>
#include <string.h>

static const char space[] = "\xe2\x96\x81"; /* U+2581, which stands for a space */

/* ---- the model ---- */

static json_t *text_of(const struct sentencepiece_piece *piece)
{
    return json_stringn(piece->bytes, (size_t)piece->count);
}

/* The id of the first piece of the type, -1 if there is none. */
static int64_t find_type(const struct sentencepiece_pieces *pieces, int type)
{
    for (int64_t i = 0; i < pieces->count; i++)
        if (pieces->pieces[i].type == type)
            return i;
    return -1;
}

static json_t *make_vocabulary(const struct sentencepiece_pieces *pieces)
{
    json_t *vocabulary = json_object();
    for (int64_t i = 0; i < pieces->count; i++) {
        json_t *text = text_of(&pieces->pieces[i]);
        json_object_set_new(vocabulary, json_string_value(text), json_integer(i));
        json_decref(text);
    }
    return vocabulary;
}

/* Two pieces that become one. */
struct merge {
    int64_t whole, left, right; /* ids */
};

struct merges {
    struct merge *list;
    int64_t count, capacity;
    bool failed;
};

static void add_merge(struct merges *merges, struct merge merge)
{
    if (merges->count == merges->capacity && !merges->failed) {
        const int64_t capacity = merges->capacity > 0 ? 2 * merges->capacity : 1024;
        struct merge *larger = realloc(merges->list, (size_t)capacity * sizeof *larger);
        merges->failed = larger == NULL;
        merges->list = larger ? larger : merges->list;
        merges->capacity = larger ? capacity : merges->capacity;
    }
    if (!merges->failed)
        merges->list[merges->count++] = merge;
}

/* The id of a piece that is text, -1 if there is none. */
static int64_t find_piece(const struct sentencepiece_pieces *pieces, const json_t *vocabulary,
                          const char *bytes, int64_t count)
{
    json_t *text = json_stringn(bytes, (size_t)count);
    const json_t *id = json_object_get(vocabulary, json_string_value(text));
    json_decref(text);
    const int64_t index = id ? (int64_t)json_integer_value(id) : -1;
    return index >= 0 && pieces->pieces[index].type == PIECE_NORMAL ? index : -1;
}

/* Adds every pair of pieces that the piece is made of. */
static void add_pairs(struct merges *merges, const struct sentencepiece_pieces *pieces,
                      const json_t *vocabulary, int64_t id)
{
    const struct sentencepiece_piece *piece = &pieces->pieces[id];
    for (int64_t at = utf8_character_bytes(piece->bytes, piece->count); at > 0 && at < piece->count;
         at += utf8_character_bytes(piece->bytes + at, piece->count - at)) {
        const int64_t left = find_piece(pieces, vocabulary, piece->bytes, at),
                      right = find_piece(pieces, vocabulary, piece->bytes + at, piece->count - at);
        if (left >= 0 && right >= 0)
            add_merge(merges, (struct merge){id, left, right});
    }
}

/* SentencePiece merges the pair whose piece has the highest score: each id has another. */
static int compare_merges(const void *a, const void *b)
{
    const struct merge *first = a, *second = b;
    if (first->whole != second->whole)
        return first->whole < second->whole ? -1 : 1;
    if (first->left != second->left)
        return first->left < second->left ? -1 : 1;
    return (first->right > second->right) - (first->right < second->right);
}

/* Ids of pieces ascend as scores fall in every file that SentencePiece makes. */
static json_t *make_merges(const struct sentencepiece_pieces *pieces, const json_t *vocabulary)
{
    struct merges merges = {0};
    json_t *list = json_array();
    for (int64_t i = 0; i < pieces->count; i++)
        if (pieces->pieces[i].type == PIECE_NORMAL)
            add_pairs(&merges, pieces, vocabulary, i);
    if (merges.count > 0)
        qsort(merges.list, (size_t)merges.count, sizeof *merges.list, compare_merges);
    for (int64_t i = 0; i < merges.count; i++)
        json_array_append_new(list, json_pack("[o, o]", text_of(&pieces->pieces[merges.list[i].left]),
                                              text_of(&pieces->pieces[merges.list[i].right])));
    free(merges.list);
    if (!merges.failed)
        return list;
    json_decref(list);
    return NULL;
}

static json_t *make_bpe(const struct sentencepiece_pieces *pieces)
{
    const int64_t unknown = find_type(pieces, PIECE_UNKNOWN);
    json_t *vocabulary = make_vocabulary(pieces);
    return json_pack("{s:s, s:n, s:o, s:n, s:n, s:b, s:b, s:b, s:o, s:o}", "type", "BPE", "dropout",
                     "unk_token", unknown >= 0 ? text_of(&pieces->pieces[unknown]) : json_null(),
                     "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk", 1, "byte_fallback",
                     (int)pieces->byte_fallback, "ignore_merges", 0, "vocab", vocabulary, "merges",
                     make_merges(pieces, vocabulary));
}

static json_t *make_unigram(const struct sentencepiece_pieces *pieces)
{
    const int64_t unknown = find_type(pieces, PIECE_UNKNOWN);
    json_t *list = json_array();
    for (int64_t i = 0; i < pieces->count; i++)
        json_array_append_new(
            list, json_pack("[o, f]", text_of(&pieces->pieces[i]), (double)pieces->pieces[i].score));
    return json_pack("{s:s, s:o, s:o, s:b}", "type", "Unigram", "unk_id",
                     unknown >= 0 ? json_integer((json_int_t)unknown) : json_null(), "vocab", list,
                     "byte_fallback", (int)pieces->byte_fallback);
}

/* ---- text ---- */

static json_t *make_added(const struct sentencepiece_pieces *pieces)
{
    json_t *list = json_array();
    for (int64_t i = 0; i < pieces->count; i++) {
        const int type = pieces->pieces[i].type;
        const bool special = type == PIECE_CONTROL || type == PIECE_UNKNOWN;
        if (special)
            json_array_append_new(list, json_pack("{s:I, s:o, s:b, s:b, s:b, s:b, s:b}", "id", (json_int_t)i,
                                                  "content", text_of(&pieces->pieces[i]), "single_word", 0,
                                                  "lstrip", 0, "rstrip", 0, "normalized", 0, "special", 1));
    }
    return list;
}

/* RFC 4648. */
static char *base64(const unsigned char *bytes, int64_t count)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char *text = malloc((size_t)(count + 2) / 3 * 4 + 1), *next = text;
    for (int64_t i = 0; text && i < count; i += 3) {
        const int64_t left = count - i;
        const uint32_t three = (uint32_t)bytes[i] << 16 | (left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) |
                               (left > 2 ? (uint32_t)bytes[i + 2] : 0);
        *next++ = digits[three >> 18];
        *next++ = digits[three >> 12 & 63];
        *next++ = left > 1 ? digits[three >> 6 & 63] : '=';
        *next++ = left > 2 ? digits[three & 63] : '=';
    }
    if (text)
        *next = '\0';
    return text;
}

static json_t *replace(const char *kind, const char *from, const char *to)
{
    return json_pack("{s:s, s:{s:s}, s:s}", "type", "Replace", "pattern", kind, from, "content", to);
}

/* The library's own order: the table of characters, white space, a space before the text, U+2581 for spaces.
 */
static json_t *make_normaliser(const struct sentencepiece_pieces *pieces)
{
    json_t *list = json_array();
    if (pieces->charsmap_count > 0) {
        char *map = base64(pieces->charsmap, pieces->charsmap_count);
        json_array_append_new(
            list, json_pack("{s:s, s:s}", "type", "Precompiled", "precompiled_charsmap", map ? map : ""));
        free(map);
    }
    if (pieces->remove_extra_whitespaces) {
        json_array_append_new(list, replace("Regex", "\\A +| +\\z", ""));
        json_array_append_new(list, replace("Regex", " {2,}", " "));
    }
    if (pieces->add_dummy_prefix)
        json_array_append_new(list, json_pack("{s:s, s:s}", "type", "Prepend", "prepend", space));
    json_array_append_new(list, replace("String", " ", space));
    return json_pack("{s:s, s:o}", "type", "Sequence", "normalizers", list);
}

static json_t *make_decoder(const struct sentencepiece_pieces *pieces)
{
    json_t *list =
        json_pack("[o, {s:s}, {s:s}]", replace("String", space, " "), "type", "ByteFallback", "type", "Fuse");
    if (pieces->add_dummy_prefix)
        json_array_append_new(
            list, json_pack("{s:s, s:s, s:i, s:i}", "type", "Strip", "content", " ", "start", 1, "stop", 0));
    return json_pack("{s:s, s:o}", "type", "Sequence", "decoders", list);
}

json_t *tokenizer_merges_json(const struct sentencepiece_pieces *pieces, json_t *post_processor)
{
    return json_pack("{s:s, s:n, s:n, s:o, s:o, s:n, s:o, s:o, s:o}", "version", "1.0", "truncation",
                     "padding", "added_tokens", make_added(pieces), "normalizer", make_normaliser(pieces),
                     "pre_tokenizer", "post_processor", post_processor, "decoder", make_decoder(pieces),
                     "model", pieces->bpe ? make_bpe(pieces) : make_unigram(pieces));
}
