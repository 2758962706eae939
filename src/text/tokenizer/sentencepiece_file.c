/* SPDX-License-Identifier: Apache-2.0 */
#include "text/tokenizer/sentencepiece_file.h"

#include "base/fail.h"
#include "text/tokenizer/double_array.h"
#include "text/utf8.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static rotary_status fail_wire(const char *path, rotary_error *error)
{
    return rotary_fail(error, ROTARY_BAD_FILE,
                       "%s is no SentencePiece model: it is no message of protocol buffers", path);
}

/* ---- the table of a normaliser ---- */

/* The library walks the array without bounds. */
struct trie {
    struct double_array array;
    int64_t text_bytes;        /* values are less */
    unsigned char *max_leaves; /* [count] on a path from a unit on, and 1; 0: not yet known */
};

/* The library's room for the matches of one place, and the longest key that is followed. Its own have 27
 * bytes or fewer. */
enum { MAX_LEAVES = 32, MAX_DEPTH = 64 };

/* The maximum of leaves on a path from `unit` on; -1 if a path leads out of the array, or has no end. */
static int count_leaves(const struct trie *trie, int64_t unit, int depth)
{
    if (trie->max_leaves[unit] > 0)
        return trie->max_leaves[unit] - 1;
    uint32_t content = double_array_unit(&trie->array, unit);
    bool has_leaf = depth > 0 && double_array_has_leaf(content); /* the first unit is never matched */
    int64_t base = unit ^ double_array_offset(content);
    if (depth > MAX_DEPTH || (base | 0xff) >= trie->array.count ||
        (has_leaf && double_array_value(&trie->array, base) >= trie->text_bytes))
        return -1;
    int max = 0;
    for (int64_t byte = 0; byte < 256; byte++) {
        if ((double_array_unit(&trie->array, base ^ byte) & (0x80000000 | 0xff)) != byte)
            continue;
        int leaves = count_leaves(trie, base ^ byte, depth + 1);
        if (leaves < 0)
            return -1;
        max = leaves > max ? leaves : max;
    }
    max += has_leaf;
    if (max > MAX_LEAVES)
        return -1;
    trie->max_leaves[unit] = (unsigned char)(max + 1);
    return max;
}

/* A table is the number of the trie's bytes, the trie, and the texts that its values lead to,
 * zero-terminated. */
static rotary_status check_table(const char *path, const struct protobuf_field *table, rotary_error *error)
{
    static const char wrong[] = "%s is no SentencePiece model: the table of its normaliser is damaged";
    int64_t bytes = table->count >= 4 ? protobuf_four_bytes(table->bytes) : 0;
    if (table->count == 0)
        return ROTARY_OK;
    if (bytes == 0 || bytes % 4 != 0 || bytes >= table->count - 4 || table->bytes[table->count - 1] != 0)
        return rotary_fail(error, ROTARY_BAD_FILE, wrong, path);
    struct trie trie = {.array = {table->bytes + 4, bytes / 4}, .text_bytes = table->count - 4 - bytes};
    trie.max_leaves = calloc((size_t)trie.array.count, 1);
    if (!trie.max_leaves)
        return rotary_fail_memory(error, "to read %s", path);
    int leaves = count_leaves(&trie, 0, 0);
    free(trie.max_leaves);
    return leaves >= 0 ? ROTARY_OK : rotary_fail(error, ROTARY_BAD_FILE, wrong, path);
}

static rotary_status check_normaliser(const char *path, const struct protobuf_field *message,
                                      rotary_error *error)
{
    enum { TABLE = 2 };
    struct protobuf wire = {message->bytes, message->bytes + message->count};
    struct protobuf_field field;
    while (protobuf_next(&wire, &field)) {
        if (field.number == 0)
            return ROTARY_OK;
        rotary_status status = field.number == TABLE && field.type == PROTOBUF_BYTES
                                   ? check_table(path, &field, error)
                                   : ROTARY_OK;
        if (status != ROTARY_OK)
            return status;
    }
    return fail_wire(path, error);
}

/* ---- pieces ---- */

struct piece {
    const unsigned char *bytes;
    int64_t count;
};

struct model {
    const char *path;
    int64_t pieces;
    struct piece *defined; /* the user-defined ones */
    int64_t defined_count, defined_room;
};

static rotary_status add_defined(struct model *model, struct piece piece, rotary_error *error)
{
    if (model->defined_count == model->defined_room) {
        int64_t room = model->defined_room > 0 ? 2 * model->defined_room : 64;
        struct piece *larger = realloc(model->defined, (size_t)room * sizeof *larger);
        if (!larger)
            return rotary_fail_memory(error, "to read %s", model->path);
        model->defined = larger;
        model->defined_room = room;
    }
    model->defined[model->defined_count++] = piece;
    return ROTARY_OK;
}

static rotary_status check_piece(struct model *model, const struct protobuf_field *message,
                                 rotary_error *error)
{
    enum { TEXT = 1, SCORE = 2, TYPE = 3, USER_DEFINED = 4 };
    struct protobuf wire = {message->bytes, message->bytes + message->count};
    struct piece piece = {NULL, 0};
    struct protobuf_field field;
    bool defined = false, number = true;
    do {
        if (!protobuf_next(&wire, &field))
            return fail_wire(model->path, error);
        if (field.number == TEXT && field.type == PROTOBUF_BYTES)
            piece = (struct piece){field.bytes, field.count};
        float score = 0;
        uint32_t bits = (uint32_t)field.value;
        if (field.number == SCORE && field.type == PROTOBUF_FOUR_BYTES)
            memcpy(&score, &bits, sizeof score);
        number = number && isfinite(score);
        defined =
            defined || (field.number == TYPE && field.type == PROTOBUF_VARINT && field.value == USER_DEFINED);
    } while (field.number != 0);
    model->pieces++;
    if (piece.count == 0 || utf8_valid_bytes((const char *)piece.bytes, piece.count) != piece.count)
        return rotary_fail(error, ROTARY_BAD_FILE, "%s is no SentencePiece model: piece %lld is %s",
                           model->path, (long long)model->pieces,
                           piece.count == 0 ? "empty" : "no UTF-8 text");
    if (!number)
        return rotary_fail(error, ROTARY_BAD_FILE,
                           "%s is no SentencePiece model: the score of piece %lld is not finite", model->path,
                           (long long)model->pieces);
    if (model->pieces > SENTENCEPIECE_MAX_PIECES)
        return rotary_fail(error, ROTARY_BAD_FILE, "%s has more than %d pieces, the maximum", model->path,
                           (int)SENTENCEPIECE_MAX_PIECES);
    return defined ? add_defined(model, piece, error) : ROTARY_OK;
}

static int compare_pieces(const void *left, const void *right)
{
    const struct piece *a = left, *b = right;
    int order = memcmp(a->bytes, b->bytes, (size_t)(a->count < b->count ? a->count : b->count));
    return order != 0 ? order : (a->count > b->count) - (a->count < b->count);
}

static bool is_prefix(const struct piece *prefix, const struct piece *piece)
{
    return prefix->count <= piece->count && memcmp(prefix->bytes, piece->bytes, (size_t)prefix->count) == 0;
}

/* In the order of their bytes, the prefixes of a piece that are pieces are a stack. */
static rotary_status check_defined(struct model *model, rotary_error *error)
{
    enum { MAX_PREFIXES = 64 }; /* the library's room, the piece itself included */
    const struct piece *prefixes[MAX_PREFIXES];
    int count = 0;
    if (model->defined_count > 0)
        qsort(model->defined, (size_t)model->defined_count, sizeof *model->defined, compare_pieces);
    for (int64_t i = 0; i < model->defined_count; i++) {
        while (count > 0 && !is_prefix(prefixes[count - 1], &model->defined[i]))
            count--;
        if (count == MAX_PREFIXES)
            return rotary_fail(error, ROTARY_BAD_FILE,
                               "%s has a user-defined piece that begins with %d others, wanted fewer",
                               model->path, (int)MAX_PREFIXES);
        prefixes[count++] = &model->defined[i];
    }
    return ROTARY_OK;
}

/* ---- the file ---- */

static rotary_status check_model(struct model *model, struct protobuf wire, rotary_error *error)
{
    enum { PIECE = 1, NORMALISER = 3, DENORMALISER = 5 };
    struct protobuf_field field;
    while (protobuf_next(&wire, &field)) {
        rotary_status status = ROTARY_OK;
        if (field.number == 0)
            return ROTARY_OK;
        if (field.number == PIECE && field.type == PROTOBUF_BYTES)
            status = check_piece(model, &field, error);
        else if ((field.number == NORMALISER || field.number == DENORMALISER) && field.type == PROTOBUF_BYTES)
            status = check_normaliser(model->path, &field, error);
        if (status != ROTARY_OK)
            return status;
    }
    return fail_wire(model->path, error);
}

rotary_status sentencepiece_check_file(const char *path, const char *bytes, int64_t count,
                                       rotary_error *error)
{
    const unsigned char *begin = (const unsigned char *)bytes;
    struct model model = {.path = path};
    rotary_status status = check_model(&model, (struct protobuf){begin, begin + count}, error);
    if (status == ROTARY_OK && model.pieces == 0)
        status = rotary_fail(error, ROTARY_BAD_FILE, "%s is no SentencePiece model: it has no pieces", path);
    if (status == ROTARY_OK)
        status = check_defined(&model, error);
    free(model.defined);
    return status;
}

/* A model begins with the tag of its first piece, which is a newline and so might begin JSON, and then its
 * length. */
bool sentencepiece_is_file(const char *bytes, int64_t count)
{
    int64_t text = 0;
    while (text < count && strchr(" \t\r\n", bytes[text]) && bytes[text] != '\0')
        text++;
    return count > 0 && bytes[0] == '\n' && text < count && bytes[text] != '{' && bytes[text] != '[';
}
