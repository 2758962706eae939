/* SPDX-License-Identifier: Apache-2.0
 *
 * The double array of Darts-clone (Yata), in which SentencePiece has its table of characters: a trie of bytes
 * in units of four. From the unit at `place`, the byte c leads to the unit at place ^ c, which must have the
 * label c, and from there to the place of its own ^ its offset; a unit with a leaf has its value there.
 */
#ifndef ROTARY_TEXT_TOKENIZER_DOUBLE_ARRAY_H
#define ROTARY_TEXT_TOKENIZER_DOUBLE_ARRAY_H

#include "text/tokenizer/protobuf.h"

struct double_array {
    const unsigned char *units; /* of four bytes */
    int64_t count;
};

/* The unit at a place; 0, which has no label, behind the array. */
static inline uint32_t double_array_unit(const struct double_array *array, int64_t place)
{
    return place < array->count ? protobuf_four_bytes(array->units + 4 * place) : 0;
}

static inline int64_t double_array_offset(uint32_t unit)
{
    return (int64_t)(unit >> 10) << ((unit & 1u << 9) >> 6);
}

static inline bool double_array_has_leaf(uint32_t unit)
{
    return unit >> 8 & 1;
}

static inline int64_t double_array_value(const struct double_array *array, int64_t place)
{
    return double_array_unit(array, place) & 0x7fffffff;
}

/* The place where a search begins. */
static inline int64_t double_array_root(const struct double_array *array)
{
    return double_array_offset(double_array_unit(array, 0));
}

/* Follows a byte from *place. Returns the unit that it leads to, and *place is behind it; 0: it leads to none.
 */
static inline uint32_t double_array_step(const struct double_array *array, int64_t *place, unsigned char byte)
{
    const uint32_t unit = double_array_unit(array, *place ^ byte);
    if ((unit & (0x80000000 | 0xff)) != byte)
        return 0;
    *place ^= byte ^ double_array_offset(unit);
    return unit;
}

#endif
