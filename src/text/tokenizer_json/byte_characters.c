/* SPDX-License-Identifier: Apache-2.0 */
#include "text/tokenizer_json/byte_characters.h"

#include "text/utf8.h"

static bool is_printed(uint32_t byte)
{
    return (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || (byte >= 0xae && byte <= 0xff);
}

/* The byte that a character stands for; -1: none. */
static int byte_of(uint32_t point)
{
    if (point < 0x100)
        return is_printed(point) ? (int)point : -1;
    uint32_t next = 0x100;
    for (uint32_t byte = 0; byte < 0x100; byte++)
        if (!is_printed(byte) && next++ == point)
            return (int)byte;
    return -1;
}

rotary_status byte_characters_append(const char *piece, int64_t bytes, struct text_buffer *to, bool *complete,
                                     rotary_error *error)
{
    const int64_t before = to->count;
    rotary_status status = text_buffer_reserve(to, bytes, error);
    *complete = status == ROTARY_OK;
    for (int64_t at = 0, length; at < bytes && *complete; at += length) {
        length = utf8_character_bytes(piece + at, bytes - at);
        int byte = length > 0 ? byte_of(utf8_code_point(piece + at, length)) : -1;
        *complete = byte >= 0;
        if (*complete)
            to->bytes[to->count++] = (char)byte;
    }
    if (!*complete)
        to->count = before;
    return status;
}

void byte_characters_write(unsigned char byte, char character[BYTE_CHARACTER_BYTES])
{
    uint32_t point = byte, next = 0x100;
    for (uint32_t other = 0; other < byte; other++)
        next += !is_printed(other);
    if (!is_printed(byte))
        point = next;
    const bool single = point < 0x80;
    character[0] = (char)(single ? point : 0xc0 | point >> 6);
    character[1] = (char)(single ? 0 : 0x80 | (point & 0x3f));
    character[2] = '\0';
}
