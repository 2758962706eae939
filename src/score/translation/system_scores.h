/* SPDX-License-Identifier: Apache-2.0
 *
 * Scores of files of translations by those of their references, and tests of the difference between systems.
 */
#ifndef ROTARY_SCORE_TRANSLATION_SYSTEM_SCORES_H
#define ROTARY_SCORE_TRANSLATION_SYSTEM_SCORES_H

#include "score/resampling.h"
#include "score/translation/bleu.h"
#include "score/translation/chrf.h"

/* One metric of all systems. */
struct metric_scores {
    char name[CHRF_NAME_BYTES], signature[SIGNATURE_BYTES];
    const struct bleu_config *bleu; /* NULL of chrF */
    struct segment_metric metric;
    int64_t **rows;            /* [systems][segments][metric.width] */
    struct resampled *results; /* [systems] */
};

enum { SYSTEM_METRICS = 2 };
enum system_test { TEST_NONE, TEST_BOOTSTRAP, TEST_RANDOMIZATION };

struct system_scores_call {
    const struct bleu_config *bleu; /* NULL: not wanted; it outlives the scores */
    const struct chrf_config *chrf; /* likewise */
    /* Files with a segment a line, whose white space at its ends does not count, each with as many lines as
     * the first; "-" is the standard input. */
    const char *const *references, *const *systems; /* the first system is the baseline */
    int reference_count, system_count;
    enum system_test test;
    struct segment_sampling sampling; /* of the test */
    int threads;                      /* 0: every processor */
};

struct system_scores {
    int64_t segments;
    int systems, metric_count;
    struct metric_scores metrics[SYSTEM_METRICS]; /* BLEU comes before chrF */
    int64_t *tokenized; /* [systems]: lines that end in " ."; NULL: a file could not be read */
};

/* The caller frees the scores, also after an error. */
ROTARY_CHECKED rotary_status system_scores_create(struct system_scores *scores,
                                                  const struct system_scores_call *call, rotary_error *error);
void system_scores_free(struct system_scores *scores);

#endif
