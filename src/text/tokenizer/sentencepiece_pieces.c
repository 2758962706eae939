/* SPDX-License-Identifier: Apache-2.0 */
#include "text/tokenizer/sentencepiece_pieces.h"

#include "base/fail.h"
#include "text/tokenizer/protobuf.h"

#include <stdlib.h>
#include <string.h>

/* Numbers of fields of the message ModelProto, and of what is in it. */
enum { MODEL_PIECE = 1, MODEL_TRAINER = 2, MODEL_NORMALISER = 3 };
enum { PIECE_TEXT = 1, PIECE_SCORE = 2, PIECE_TYPE = 3 };
enum { TRAINER_MODEL_TYPE = 3, TRAINER_SUFFIX = 24, TRAINER_BYTE_FALLBACK = 35 };
enum { NORMALISER_CHARSMAP = 2, NORMALISER_PREFIX = 3, NORMALISER_WHITESPACES = 4, NORMALISER_ESCAPES = 5 };
enum { MODEL_UNIGRAM = 1, MODEL_BPE = 2 };

static struct sentencepiece_piece read_piece(struct protobuf message)
{
    struct sentencepiece_piece piece = {.type = PIECE_NORMAL};
    struct protobuf_field field;
    while (protobuf_next(&message, &field) && field.number != 0) {
        const uint32_t bits = (uint32_t)field.value;
        if (field.number == PIECE_TEXT && field.type == PROTOBUF_BYTES) {
            piece.bytes = (const char *)field.bytes;
            piece.count = field.count;
        } else if (field.number == PIECE_SCORE && field.type == PROTOBUF_FOUR_BYTES) {
            memcpy(&piece.score, &bits, sizeof piece.score);
        } else if (field.number == PIECE_TYPE && field.type == PROTOBUF_VARINT) {
            piece.type = (int)field.value;
        }
    }
    return piece;
}

/* What the file says that other programs' files have no word for. */
struct other {
    int64_t model_type;
    bool spaces_behind; /* a space is part of the piece before it */
    bool plain_spaces;  /* and is no U+2581 */
};

static void read_trainer(struct sentencepiece_pieces *pieces, struct protobuf message, struct other *other)
{
    struct protobuf_field field;
    while (protobuf_next(&message, &field) && field.number != 0) {
        if (field.number == TRAINER_MODEL_TYPE)
            other->model_type = (int64_t)field.value;
        else if (field.number == TRAINER_SUFFIX)
            other->spaces_behind = field.value != 0;
        else if (field.number == TRAINER_BYTE_FALLBACK)
            pieces->byte_fallback = field.value != 0;
    }
}

static void read_normaliser(struct sentencepiece_pieces *pieces, struct protobuf message, struct other *other)
{
    struct protobuf_field field;
    while (protobuf_next(&message, &field) && field.number != 0) {
        if (field.number == NORMALISER_CHARSMAP && field.type == PROTOBUF_BYTES) {
            pieces->charsmap = field.bytes;
            pieces->charsmap_count = field.count;
        } else if (field.number == NORMALISER_PREFIX) {
            pieces->add_dummy_prefix = field.value != 0;
        } else if (field.number == NORMALISER_WHITESPACES) {
            pieces->remove_extra_whitespaces = field.value != 0;
        } else if (field.number == NORMALISER_ESCAPES) {
            other->plain_spaces = field.value == 0;
        }
    }
}

static int64_t count_pieces(struct protobuf message)
{
    struct protobuf_field field;
    int64_t count = 0;
    while (protobuf_next(&message, &field) && field.number != 0)
        count += field.number == MODEL_PIECE && field.type == PROTOBUF_BYTES;
    return count;
}

static rotary_status check(const struct other *other, rotary_error *error)
{
    if (other->model_type != MODEL_UNIGRAM && other->model_type != MODEL_BPE)
        return rotary_fail(error, ROTARY_UNSUPPORTED,
                           "the SentencePiece model has the type %lld, wanted unigram or BPE",
                           (long long)other->model_type);
    if (!other->spaces_behind && !other->plain_spaces)
        return ROTARY_OK;
    return rotary_fail(error, ROTARY_UNSUPPORTED, "the SentencePiece model has \"%s\": %s, wanted %s",
                       other->spaces_behind ? "treat_whitespace_as_suffix" : "escape_whitespaces",
                       other->spaces_behind ? "true" : "false", other->spaces_behind ? "false" : "true");
}

rotary_status sentencepiece_pieces_read(struct sentencepiece_pieces *pieces, const char *bytes, int64_t count,
                                        rotary_error *error)
{
    const unsigned char *begin = (const unsigned char *)bytes;
    struct protobuf message = {begin, begin + count};
    struct sentencepiece_pieces read = {.add_dummy_prefix = true, .remove_extra_whitespaces = true};
    struct protobuf_field field;
    struct other other = {.model_type = MODEL_UNIGRAM};
    read.pieces = calloc((size_t)count_pieces(message) + 1, sizeof *read.pieces);
    if (!read.pieces)
        return rotary_fail_memory(error, "for the pieces of a tokenizer");
    while (protobuf_next(&message, &field) && field.number != 0) {
        if (field.type != PROTOBUF_BYTES)
            continue;
        if (field.number == MODEL_PIECE)
            read.pieces[read.count++] = read_piece(protobuf_message(&field));
        else if (field.number == MODEL_TRAINER)
            read_trainer(&read, protobuf_message(&field), &other);
        else if (field.number == MODEL_NORMALISER)
            read_normaliser(&read, protobuf_message(&field), &other);
    }
    read.bpe = other.model_type == MODEL_BPE;
    rotary_status status = check(&other, error);
    if (status == ROTARY_OK)
        *pieces = read;
    else
        sentencepiece_pieces_free(&read);
    return status;
}

void sentencepiece_pieces_free(struct sentencepiece_pieces *pieces)
{
    free(pieces->pieces);
    *pieces = (struct sentencepiece_pieces){0};
}
