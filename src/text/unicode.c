/* SPDX-License-Identifier: Apache-2.0 */
#include "text/unicode.h"

#include "base/fail.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unicase.h>
#include <unictype.h>
#include <unigbrk.h>
#include <uninorm.h>
#include <unistr.h>
#include <unistring/version.h>

/* The bytes that one replacement character stands for: the longest that more bytes would complete, or 1. */
static int broken_bytes(const uint8_t *text, int64_t bytes)
{
    ucs4_t point;
    for (int count = bytes < 3 ? (int)bytes : 3; count > 1; count--)
        if (u8_mbtoucr(&point, text, (size_t)count) == -2)
            return count;
    return 1;
}

int64_t unicode_decode(const char *text, int64_t bytes, uint32_t *points)
{
    int64_t count = 0;
    for (int64_t i = 0; i < bytes; count++) {
        const uint8_t *next = (const uint8_t *)text + i;
        int length = u8_mbtoucr(&points[count], next, (size_t)(bytes - i));
        if (length < 1) {
            points[count] = UNICODE_REPLACEMENT;
            length = broken_bytes(next, bytes - i);
        }
        i += length;
    }
    return count;
}

int64_t unicode_encode(const uint32_t *points, int64_t count, char *text)
{
    int64_t bytes = 0;
    for (int64_t i = 0; i < count; i++) {
        int written = u8_uctomb((uint8_t *)text + bytes, points[i], 4);
        bytes += written > 0 ? written : u8_uctomb((uint8_t *)text + bytes, UNICODE_REPLACEMENT, 4);
    }
    return bytes;
}

rotary_status unicode_mend(const char *text, int64_t bytes, char **mended, int64_t *count,
                           rotary_error *error)
{
    uint32_t *points = malloc(((size_t)bytes + 1) * sizeof *points);
    char *made = malloc((size_t)bytes * 4 + 1);
    if (!points || !made) {
        free(points);
        free(made);
        return rotary_fail_memory(error, "for a text of %lld bytes", (long long)bytes);
    }
    *count = unicode_encode(points, unicode_decode(text, bytes, points), made);
    made[*count] = '\0';
    *mended = made;
    free(points);
    return ROTARY_OK;
}

int64_t unicode_incomplete_bytes(const char *text, int64_t bytes)
{
    ucs4_t point;
    for (int64_t back = 1; back <= 3 && back <= bytes; back++)
        if (u8_mbtoucr(&point, (const uint8_t *)text + bytes - back, (size_t)back) == -2)
            return back;
    return 0;
}

bool unicode_is_space(uint32_t point)
{
    if (point < 0x80)
        return point == ' ' || (point >= 0x09 && point <= 0x0d) || (point >= 0x1c && point <= 0x1f);
    return point == 0x85 || uc_is_general_category_withtable(point, UC_CATEGORY_MASK_Z);
}

int64_t unicode_trimmed(const char *text, int64_t bytes)
{
    for (;;) {
        ucs4_t last;
        const uint8_t *start = (const uint8_t *)text, *before = u8_prev(&last, start + bytes, start);
        if (!before || !unicode_is_space(last))
            return bytes;
        bytes = before - start;
    }
}

bool unicode_is_number(uint32_t point)
{
    return uc_is_general_category_withtable(point, UC_CATEGORY_MASK_N);
}

bool unicode_is_punctuation(uint32_t point)
{
    return uc_is_general_category_withtable(point, UC_CATEGORY_MASK_P);
}

bool unicode_is_symbol(uint32_t point)
{
    return uc_is_general_category_withtable(point, UC_CATEGORY_MASK_S);
}

bool unicode_is_control(uint32_t point)
{
    return uc_is_general_category_withtable(point,
                                            UC_CATEGORY_MASK_Cc | UC_CATEGORY_MASK_Cf | UC_CATEGORY_MASK_Co);
}

bool unicode_is_nonspacing_mark(uint32_t point)
{
    return uc_is_general_category_withtable(point, UC_CATEGORY_MASK_Mn);
}

bool unicode_is_mark(uint32_t point)
{
    return uc_is_general_category_withtable(point, UC_CATEGORY_MASK_M);
}

bool unicode_is_white_space(uint32_t point)
{
    return uc_is_property_white_space(point);
}

bool unicode_is_word(uint32_t point)
{
    return uc_is_property_alphabetic(point) || uc_is_property_join_control(point) ||
           uc_is_general_category_withtable(point,
                                            UC_CATEGORY_MASK_M | UC_CATEGORY_MASK_Nd | UC_CATEGORY_MASK_Pc);
}

int unicode_decompose(uint32_t point, uint32_t parts[UNICODE_PARTS_MAX])
{
    int count = 1;
    parts[0] = point;
    for (int i = 0; i < count;) {
        ucs4_t step[UC_DECOMPOSITION_MAX_LENGTH];
        int length = uc_canonical_decomposition(parts[i], step);
        if (length < 1 || count - 1 + length > UNICODE_PARTS_MAX) {
            i++;
            continue;
        }
        memmove(parts + i + length, parts + i + 1, (size_t)(count - i - 1) * sizeof *parts);
        memcpy(parts + i, step, (size_t)length * sizeof *parts);
        count += length - 1;
    }
    return count;
}

int unicode_combining_class(uint32_t point)
{
    return uc_combining_class(point);
}

/* Whether the sigma at `at` ends a word: what is before it, but for characters that case ignores, has case,
 * and what is after it has not. A character with both properties is ignored. */
static bool is_final_sigma(const uint32_t *points, int64_t count, int64_t at)
{
    int64_t before = at - 1, after = at + 1;
    while (before >= 0 && uc_is_property_case_ignorable(points[before]))
        before--;
    while (after < count && uc_is_property_case_ignorable(points[after]))
        after++;
    return before >= 0 && uc_is_property_cased(points[before]) &&
           (after == count || !uc_is_property_cased(points[after]));
}

enum { CAPITAL_SIGMA = 0x3a3, FINAL_SIGMA = 0x3c2, DOTTED_I = 0x130, DOT_ABOVE = 0x307 };

int64_t unicode_lower_each(const uint32_t *points, int64_t count, uint32_t *lower)
{
    uint32_t *to = lower;
    for (int64_t i = 0; i < count; i++) {
        if (points[i] == DOTTED_I) { /* the only one that becomes two */
            *to++ = 'i';
            *to++ = DOT_ABOVE;
        } else {
            *to++ = uc_tolower(points[i]);
        }
    }
    return to - lower;
}

int64_t unicode_lower(const uint32_t *points, int64_t count, uint32_t *lower)
{
    uint32_t *to = lower;
    for (int64_t i = 0; i < count; i++) {
        if (points[i] == CAPITAL_SIGMA && is_final_sigma(points, count, i))
            *to++ = FINAL_SIGMA;
        else
            to += unicode_lower_each(&points[i], 1, to);
    }
    return to - lower;
}

rotary_status unicode_lowercase(const char *text, int64_t bytes, char **lower, int64_t *lower_bytes,
                                rotary_error *error)
{
    size_t room = (size_t)bytes + 1;
    uint32_t *points = malloc(room * sizeof *points * (1 + UNICODE_LOWER_MAX));
    char *made = points ? malloc(room * UNICODE_LOWER_MAX * 4) : NULL;
    if (!made) {
        free(points);
        return rotary_fail_memory(error, "for the lower case of %lld bytes", (long long)bytes);
    }
    int64_t count = unicode_lower(points, unicode_decode(text, bytes, points), points + room);
    *lower_bytes = unicode_encode(points + room, count, made);
    made[*lower_bytes] = 0;
    free(points);
    *lower = made;
    return ROTARY_OK;
}

rotary_status unicode_normalize(enum unicode_form form, const char *text, int64_t bytes, char **normal,
                                int64_t *normal_bytes, rotary_error *error)
{
    const uninorm_t forms[] = {UNINORM_NFC, UNINORM_NFD, UNINORM_NFKC, UNINORM_NFKD};
    size_t count = 0;
    *normal = (char *)u8_normalize(forms[form], (const uint8_t *)text, (size_t)bytes, NULL, &count);
    if (!*normal)
        return rotary_fail_memory(error, "for a normal form of %lld bytes", (long long)bytes);
    *normal_bytes = (int64_t)count;
    return ROTARY_OK;
}

int64_t unicode_grapheme_bytes(const char *text, int64_t bytes)
{
    const uint8_t *begin = (const uint8_t *)text, *next = u8_grapheme_next(begin, begin + bytes);
    return next && next > begin ? next - begin : 1;
}

const char *unicode_library(char text[UNICODE_LIBRARY_BYTES])
{
    int version = _libunistring_version;
    snprintf(text, UNICODE_LIBRARY_BYTES, "%d.%d.%d", version >> 16 & 0xff, version >> 8 & 0xff,
             version & 0xff);
    return text;
}
