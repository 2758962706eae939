/* SPDX-License-Identifier: Apache-2.0
 *
 * What metrics of translations (score/translation/bleu.h, score/translation/chrf.h) read and write. A metric
 * has a row of statistics, whole numbers, for each segment. The statistics of a corpus are their sums, and
 * its score is a function of the sums alone, so that any selection of segments is scored without looking at a
 * text again.
 */
#ifndef ROTARY_SCORE_TRANSLATION_SEGMENTS_H
#define ROTARY_SCORE_TRANSLATION_SEGMENTS_H

#include "text/text_lines.h"

/* Translations, and for each of them as many references. All is borrowed. What is not UTF-8 reads as
 * U+FFFD (text/unicode.h). */
struct segment_corpus {
    int64_t count;
    const struct text_line *hypotheses;        /* [count] */
    int reference_count;                       /* at least 1 */
    const struct text_line *const *references; /* [reference_count][count] */
};

/* A metric for those that know no texts (score/resampling.h). */
struct segment_metric {
    int width; /* numbers in a row of statistics */
    /* Computes it from sums of rows, in the metric's unit; the better, the higher. */
    double (*score)(const void *config, const int64_t *sums);
    const void *config; /* borrowed */
};

enum { SEGMENT_MAX_STATISTICS = 64 };

/* sums[j] = the sum of rows[i][j] over `count` rows of `width` numbers. */
void segments_sum(const int64_t *rows, int64_t count, int width, int64_t *sums);

/* How resampled scores came to be, for a signature: 0 for what was not done. */
struct segment_sampling {
    int64_t bootstrap, trials; /* resamples; trials of approximate randomization */
    int64_t seed;
};
enum { SIGNATURE_BYTES = 192 };
/* The definition that signatures name: sacreBLEU's version, and after the plus this program's. */
enum { SIGNATURE_VERSION_BYTES = 64 };
const char *segments_version(char text[SIGNATURE_VERSION_BYTES]);
/* How signatures begin: "nrefs:1|bs:1000|seed:1|"; returns the number of bytes written. `sampling` may be
 * NULL. */
int segments_signature(char text[SIGNATURE_BYTES], int reference_count,
                       const struct segment_sampling *sampling);

#endif
