/* SPDX-License-Identifier: Apache-2.0 */
#include "text/tokenizer_json/character_map.h"

#include "base/fail.h"
#include "text/unicode.h"
#include "text/utf8.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_GRAPHEME_BYTES = 5, HEAD_BYTES = 4 };

/* ---- reading ---- */

/* The value of a digit of base64; -1: it is none. */
static int digit_of(char character)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *found = character ? strchr(digits, character) : NULL;
    return found ? (int)(found - digits) : -1;
}

/* Decodes `count` characters to `to`; returns how many bytes there are, or -1. */
static int64_t decode_base64(const char *text, size_t count, unsigned char *to)
{
    int64_t bytes = 0;
    uint32_t bits = 0;
    if (count % 4 != 0)
        return -1;
    while (count > 0 && text[count - 1] == '=')
        count--;
    for (size_t i = 0; i < count; i++) {
        const int digit = digit_of(text[i]);
        if (digit < 0)
            return -1;
        bits = bits << 6 | (uint32_t)digit;
        if (i % 4 != 0)
            to[bytes++] = (unsigned char)(bits >> (6 - 2 * (i % 4)));
    }
    return bytes;
}

rotary_status character_map_read(struct character_map *map, const char *base64, rotary_error *error)
{
    const size_t count = strlen(base64);
    *map = (struct character_map){.bytes = malloc(count + 1)};
    if (!map->bytes)
        return rotary_fail_memory(error, "for a table of characters");
    const int64_t bytes = decode_base64(base64, count, map->bytes);
    const int64_t array = bytes > HEAD_BYTES ? (int64_t)protobuf_four_bytes(map->bytes) : 0;
    if (array == 0 || array % 4 != 0 || array >= bytes - HEAD_BYTES || map->bytes[bytes - 1] != 0)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "the table of characters is damaged");
    map->array = (struct double_array){map->bytes + HEAD_BYTES, array / 4};
    map->text_bytes = bytes - HEAD_BYTES - array;
    return ROTARY_OK;
}

void character_map_free(struct character_map *map)
{
    free(map->bytes);
    *map = (struct character_map){0};
}

/* ---- looking up ---- */

/* Whether a value leads to UTF-8, and not into the midst of a character. */
static bool is_text(const char *text)
{
    const int64_t bytes = (int64_t)strlen(text);
    return utf8_valid_bytes(text, bytes) == bytes;
}

/* What the shortest beginning of a text that is in the table becomes; NULL: none is. */
static const char *find(const struct character_map *map, const char *text, int64_t bytes)
{
    int64_t place = double_array_root(&map->array);
    for (int64_t i = 0; i < bytes && text[i] != 0; i++) {
        const uint32_t unit = double_array_step(&map->array, &place, (unsigned char)text[i]);
        if (unit == 0)
            return NULL;
        if (double_array_has_leaf(unit)) {
            const int64_t value = double_array_value(&map->array, place);
            const char *texts = (const char *)map->array.units + 4 * map->array.count;
            return value < map->text_bytes && is_text(texts + value) ? texts + value : NULL;
        }
    }
    return NULL;
}

static rotary_status apply_characters(const struct character_map *map, const char *text, int64_t bytes,
                                      struct text_buffer *to, rotary_error *error)
{
    rotary_status status = ROTARY_OK;
    for (int64_t at = 0, length; at < bytes && status == ROTARY_OK; at += length) {
        length = utf8_character_bytes(text + at, bytes - at);
        length = length > 0 ? length : 1; /* a zero byte */
        const char *found = find(map, text + at, length);
        status = found ? text_buffer_append(to, found, (int64_t)strlen(found), error)
                       : text_buffer_append(to, text + at, length, error);
    }
    return status;
}

rotary_status character_map_apply(const struct character_map *map, const char *text, int64_t bytes,
                                  struct text_buffer *to, rotary_error *error)
{
    rotary_status status = ROTARY_OK;
    for (int64_t at = 0, length; at < bytes && status == ROTARY_OK; at += length) {
        length = unicode_grapheme_bytes(text + at, bytes - at);
        const char *found = length <= MAX_GRAPHEME_BYTES ? find(map, text + at, length) : NULL;
        status = found ? text_buffer_append(to, found, (int64_t)strlen(found), error)
                       : apply_characters(map, text + at, length, to, error);
    }
    return status;
}
