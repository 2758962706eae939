/* SPDX-License-Identifier: Apache-2.0 */
#include "text/utf8.h"

#include <stdbool.h>
#include <string.h>

int64_t utf8_character_bytes(const char *text, int64_t bytes)
{
    unsigned char byte[4] = {0};
    memcpy(byte, text, (size_t)(bytes < 4 ? bytes : 4));
    unsigned char first = byte[0];
    if (first > 0 && first < 0x80)
        return 1;
    int64_t length = first >= 0xc2 && first < 0xe0   ? 2
                     : first >= 0xe0 && first < 0xf0 ? 3
                     : first >= 0xf0 && first < 0xf5 ? 4
                                                     : 0;
    if (length == 0 || length > bytes)
        return 0;
    unsigned char low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    unsigned char high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    if (byte[1] < low || byte[1] > high)
        return 0;
    for (int64_t i = 2; i < length; i++)
        if (byte[i] < 0x80 || byte[i] > 0xbf)
            return 0;
    return length;
}

uint32_t utf8_code_point(const char *text, int64_t bytes)
{
    static const unsigned char first_bits[] = {0x7f, 0x1f, 0x0f, 0x07};
    uint32_t point = (unsigned char)text[0] & first_bits[bytes - 1];
    for (int64_t i = 1; i < bytes; i++)
        point = point << 6 | ((unsigned char)text[i] & 0x3f);
    return point;
}

/* Whether eight bytes are characters of ASCII. Without high bits, subtracting 1 from each byte sets that of the first
 * that is zero. */
static bool is_ascii(const char *text)
{
    uint64_t word;
    memcpy(&word, text, sizeof word);
    return ((word | (word - UINT64_C(0x0101010101010101))) & UINT64_C(0x8080808080808080)) == 0;
}

int64_t utf8_valid_bytes(const char *text, int64_t bytes)
{
    int64_t valid = 0;
    while (valid < bytes) {
        if (bytes - valid >= 8 && is_ascii(text + valid)) {
            valid += 8;
            continue;
        }
        int64_t step = utf8_character_bytes(text + valid, bytes - valid);
        if (step == 0)
            break;
        valid += step;
    }
    return valid;
}
