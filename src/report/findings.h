/* SPDX-License-Identifier: Apache-2.0
 *
 * What a comparison shows, as sentences without their full stops.
 */
#ifndef ROTARY_REPORT_FINDINGS_H
#define ROTARY_REPORT_FINDINGS_H

#include "records/comparison/comparison.h"

#include <stdio.h>

struct sentences {
    char **items;
    int count;
};

struct findings {
    /* One about each contrast, of the primary measure alone: "roper better than rope in 6 of 6 pairs, by a
     * median of 12.1 points of exact match: mean +12.4, 95% interval [+3.9, +20.4], p = 0.0312 by sign flips
     * of 6 seeds; p <= 0.05 decides, which takes six of six". */
    struct sentences verdicts;
    /* What it would have taken to show a difference, one about each contrast; empty where one was shown. */
    struct sentences powers;
    /* What a reader of the verdicts should know: that seeds were added after a look, which runs diverged. */
    struct sentences notes;
};

ROTARY_CHECKED rotary_status findings_create(struct findings *findings, const struct comparison *comparison,
                                             rotary_error *error);
void findings_free(struct findings *findings);

/* What a column of arms is called: "encoding", or the keys that are varied. */
const char *arm_heading(const struct comparison *comparison);
/* The width of a column of the arms' names in text, below its head. */
int arm_name_width(const struct comparison *comparison, const char *head);

/* The verdict in one or two words, as in JSON: "better", "no difference shown". */
extern const char *const verdict_words[];
/* The word on a contrast; "no verdict" where it has no pairs, or a score is NaN. */
const char *verdict_word(const struct comparison *comparison, const struct contrast *contrast);
/* Pairs of a sign: 1 those in which the arm has more, -1 those in which it has less. */
int contrast_count_pairs(const struct contrast *contrast, enum measure measure, int sign);

enum { SHORT_NUMBER_BYTES = 32 };
/* A p value with three digits, "< 0.0001" below that, "-" for NaN. Returns `text`. */
const char *p_text(char text[SHORT_NUMBER_BYTES], double p);
/* The same as the page has it: "–" for NaN. */
const char *p_html(char text[SHORT_NUMBER_BYTES], double p);
/* A level in percent with up to four digits: "95%", "98.33%". Returns `text`. */
const char *level_text(char text[SHORT_NUMBER_BYTES], double level);

#endif
