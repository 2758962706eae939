/* SPDX-License-Identifier: Apache-2.0 */
#include "text/tokenizer/protobuf.h"

/* False at what is no number. */
static bool read_varint(struct protobuf *message, uint64_t *value)
{
    *value = 0;
    for (int shift = 0; shift < 64 && message->at < message->end; shift += 7) {
        unsigned char byte = *message->at++;
        *value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return true;
    }
    return false;
}

bool protobuf_next(struct protobuf *message, struct protobuf_field *field)
{
    uint64_t tag, count = 0;
    *field = (struct protobuf_field){0};
    if (message->at == message->end)
        return true;
    if (!read_varint(message, &tag) || tag >> 3 == 0 || tag >> 32 != 0)
        return false;
    field->number = tag >> 3;
    field->type = (int)(tag & 7);
    if (field->type == PROTOBUF_VARINT)
        return read_varint(message, &field->value);
    if (field->type == PROTOBUF_BYTES) {
        if (!read_varint(message, &count))
            return false;
    } else if (field->type == PROTOBUF_FOUR_BYTES || field->type == PROTOBUF_EIGHT_BYTES) {
        count = field->type == PROTOBUF_FOUR_BYTES ? 4 : 8;
    } else {
        return false;
    }
    if (count > (uint64_t)(message->end - message->at))
        return false;
    field->bytes = message->at;
    field->count = (int64_t)count;
    field->value = field->type == PROTOBUF_FOUR_BYTES ? protobuf_four_bytes(message->at) : 0;
    message->at += count;
    return true;
}
