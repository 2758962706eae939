/* SPDX-License-Identifier: Apache-2.0
 *
 * What rotary bleu prints, in the forms of sacreBLEU.
 */
#ifndef ROTARY_CLI_OUTPUT_BLEU_OUTPUT_H
#define ROTARY_CLI_OUTPUT_BLEU_OUTPUT_H

#include "score/translation/system_scores.h"

#include <jansson.h>

struct bleu_output {
    const struct system_scores_call *call;
    const struct system_scores *scores;
    bool width_given, score_only;
    int width; /* decimals of scores */
};

/* The scores of one system, a line for each metric; of several a table. */
void bleu_print_text(const struct bleu_output *output);
/* One object: of one metric and one system sacreBLEU's with more members, else {"results": [...]}. */
json_t *bleu_scores_json(const struct bleu_output *output);

/* The scores of the segments of one system by one metric, in order: lines, or {"name", "signature",
 * "scores"}. */
void bleu_print_segments(const struct bleu_output *output);
json_t *bleu_segments_json(const struct bleu_output *output);

#endif
