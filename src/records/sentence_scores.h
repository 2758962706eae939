/* SPDX-License-Identifier: Apache-2.0
 *
 * The translations of a comparison's runs, sentence by sentence: their paired bootstrap over sentences
 * (score/resampling.h), and a few of them to show side by side.
 *
 * They are read from the translations.txt of each run and from the texts that its configuration names. A run
 * whose BLEU does not come out as its record says it was has other translations or other texts than it had.
 */
#ifndef ROTARY_RECORDS_SENTENCE_SCORES_H
#define ROTARY_RECORDS_SENTENCE_SCORES_H

#include "records/comparison/comparison.h"
#include "records/comparison/resampled_contrast.h"
#include "task/translation/split_text.h"

enum { SENTENCE_SAMPLES = 1000, SENTENCE_SEED = 1 }; /* of the bootstrap, as `rotary bleu --paired-bs` has */

enum { SENTENCE_SHOWN = 12 };
/* A sentence to show. */
struct sentence_choice {
    int64_t line;
    bool differs; /* chosen because the arms' translations differ; else by its length */
};

struct sentence_run {
    struct text_lines lines; /* its translations; count 0: it has none */
    int64_t *rows;           /* [count][BLEU_STATISTICS] */
    double bleu;             /* of all */
};

struct sentence_scores {
    const struct comparison *comparison; /* borrowed */
    char *fault; /* why there are none, a sentence without its full stop; all else is zero then. NULL: nothing
                  */
    const char *split;                    /* "test" or "validation" */
    int64_t count;                        /* sentences */
    char signature[SIGNATURE_BYTES];      /* of the bootstrap */
    struct split_text text;               /* sources and references */
    struct sentence_run *runs;            /* [records] */
    struct resampled_contrast *contrasts; /* [contrasts of the comparison] */
    int *shown;                           /* [arms]: the record whose translations are shown, the one with the
                                             median BLEU, of two the lower; -1: the arm has no run */
    struct sentence_choice choices[SENTENCE_SHOWN]; /* by line: half of them spread over the lengths of
                                                       sources; the other half those of which the BLEU of the
                                                       shown runs differs most. Of one arm all are spread. */
    int choice_count;
};

/* Reads them for a comparison that is scored by BLEU. What cannot be read, or has changed, is no error but a
 * fault. The caller destroys *scores. */
ROTARY_CHECKED rotary_status sentence_scores_create(struct sentence_scores **scores,
                                                    const struct comparison *comparison, rotary_error *error);
void sentence_scores_destroy(struct sentence_scores *scores); /* NULL too */

/* BLEU of a sentence by itself, with the n-gram lengths that it has, as sacreBLEU's. */
double sentence_bleu(const struct sentence_scores *scores, int record, int64_t line);

#endif
