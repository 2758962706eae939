/* SPDX-License-Identifier: Apache-2.0
 *
 * What rotary bleu prints, in the forms of sacreBLEU.
 */
#ifndef ROTARY_CLI_BLEU_OUTPUT_H
#define ROTARY_CLI_BLEU_OUTPUT_H

#include "score/resampling.h"
#include "score/translation/bleu.h"
#include "score/translation/chrf.h"

#include <jansson.h>

/* One metric of all systems. */
struct metric_scores {
    char name[CHRF_NAME_BYTES], signature[SIGNATURE_BYTES];
    const struct bleu_config *bleu; /* NULL of chrF */
    struct segment_metric metric;
    int64_t **rows;            /* [systems][segments][metric.width]; owned */
    struct resampled *results; /* [systems]; owned */
};

enum { BLEU_METRICS = 2 };
enum bleu_test { TEST_NONE, TEST_BOOTSTRAP, TEST_RANDOMIZATION };

struct bleu_scores {
    int64_t segments;
    int systems, metric_count;
    const char *const *names; /* [systems]: the files of translations */
    struct metric_scores metrics[BLEU_METRICS];
    enum bleu_test test;
    struct segment_sampling sampling;
    bool width_given, score_only;
    int width; /* decimals of scores */
};

/* The scores of one system, a line for each metric; of several a table. */
void bleu_print_text(const struct bleu_scores *scores);
/* One object: of one metric and one system sacreBLEU's with more members, else {"results": [...]}. */
json_t *bleu_scores_json(const struct bleu_scores *scores);

/* The scores of the segments of one system by one metric, in order: lines, or {"name", "signature",
 * "scores"}. */
void bleu_print_segments(const struct bleu_scores *scores);
json_t *bleu_segments_json(const struct bleu_scores *scores);

#endif
