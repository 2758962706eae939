/* SPDX-License-Identifier: Apache-2.0
 *
 * A text as code points, in memory that is used again for the next one.
 */
#ifndef ROTARY_SCORE_POINTS_H
#define ROTARY_SCORE_POINTS_H

#include "score/translation/segments.h"

struct points {
    uint32_t *at; /* [capacity] */
    int64_t count, capacity;
};

/* Makes room for `capacity` code points; what was there is kept. */
ROTARY_CHECKED rotary_status points_reserve(struct points *points, int64_t capacity, rotary_error *error);
/* The text of a segment, in lower case if `lowercase`. `scratch` is overwritten. */
ROTARY_CHECKED rotary_status points_read(struct points *points, const struct text_line *segment,
                                         bool lowercase, struct points *scratch, rotary_error *error);
/* Removes white space at the end. */
void points_trim(struct points *points);
/* Removes all white space. */
void points_squeeze(struct points *points);
/* The next word at or after *begin: words are what white space (unicode_is_space) separates. False if there
 * is none. */
bool points_word(const struct points *points, int64_t *begin, int64_t *end);
/* How many words there are. */
int64_t points_words(const struct points *points);
void points_free(struct points *points);

#endif
