/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages of protocol buffers (their encoding guide), field by field: all that reading SentencePiece's files
 * takes.
 */
#ifndef ROTARY_TEXT_TOKENIZER_PROTOBUF_H
#define ROTARY_TEXT_TOKENIZER_PROTOBUF_H

#include <stdbool.h>
#include <stdint.h>

enum { PROTOBUF_VARINT = 0, PROTOBUF_EIGHT_BYTES = 1, PROTOBUF_BYTES = 2, PROTOBUF_FOUR_BYTES = 5 };

/* What is left of a message. */
struct protobuf {
    const unsigned char *at, *end;
};

struct protobuf_field {
    uint64_t number; /* of the field; 0: there is no more */
    int type;
    uint64_t value;             /* of PROTOBUF_VARINT and PROTOBUF_FOUR_BYTES */
    const unsigned char *bytes; /* of PROTOBUF_BYTES; borrowed from the message */
    int64_t count;
};

/* Reads the next field. False if what follows is no field, or not all of one. Groups, which nobody writes any
 * more, are none. */
bool protobuf_next(struct protobuf *message, struct protobuf_field *field);
/* The message that a field of PROTOBUF_BYTES has. */
static inline struct protobuf protobuf_message(const struct protobuf_field *field)
{
    return (struct protobuf){field->bytes, field->bytes + field->count};
}
/* A number of four bytes, the lowest first. */
static inline uint32_t protobuf_four_bytes(const unsigned char *bytes)
{
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

#endif
