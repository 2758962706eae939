/* SPDX-License-Identifier: Apache-2.0 */
#include "score/points.h"

#include "base/fail.h"
#include "text/unicode.h"

#include <stdlib.h>

rotary_status points_reserve(struct points *points, int64_t capacity, rotary_error *error)
{
    if (capacity <= points->capacity)
        return ROTARY_OK;
    uint32_t *at = realloc(points->at, (size_t)capacity * sizeof *at);
    if (!at)
        return rotary_fail_memory(error, "for a segment of %lld characters", (long long)capacity);
    points->at = at;
    points->capacity = capacity;
    return ROTARY_OK;
}

rotary_status points_read(struct points *points, const struct text_line *segment, bool lowercase,
                          struct points *scratch, rotary_error *error)
{
    struct points *first = lowercase ? scratch : points;
    rotary_status status = points_reserve(first, segment->count, error);
    if (status != ROTARY_OK)
        return status;
    first->count = unicode_decode(segment->bytes, segment->count, first->at);
    if (!lowercase)
        return ROTARY_OK;
    status = points_reserve(points, UNICODE_LOWER_MAX * scratch->count, error);
    if (status != ROTARY_OK)
        return status;
    points->count = unicode_lower(scratch->at, scratch->count, points->at);
    return ROTARY_OK;
}

void points_trim(struct points *points)
{
    while (points->count > 0 && unicode_is_space(points->at[points->count - 1]))
        points->count--;
}

void points_squeeze(struct points *points)
{
    int64_t kept = 0;
    for (int64_t i = 0; i < points->count; i++)
        if (!unicode_is_space(points->at[i]))
            points->at[kept++] = points->at[i];
    points->count = kept;
}

bool points_word(const struct points *points, int64_t *begin, int64_t *end)
{
    while (*begin < points->count && unicode_is_space(points->at[*begin]))
        ++*begin;
    *end = *begin;
    while (*end < points->count && !unicode_is_space(points->at[*end]))
        ++*end;
    return *end > *begin;
}

int64_t points_words(const struct points *points)
{
    int64_t words = 0;
    for (int64_t begin = 0, end; points_word(points, &begin, &end); begin = end)
        words++;
    return words;
}

void points_free(struct points *points)
{
    free(points->at);
    *points = (struct points){0};
}
