/* SPDX-License-Identifier: Apache-2.0
 *
 * What the heads of one model look at in a few texts.
 */
#ifndef ROTARY_STUDY_HEATMAP_RUN_H
#define ROTARY_STUDY_HEATMAP_RUN_H

#include "model/transformer.h"
#include "records/heatmaps.h"
#include "task/task.h"
#include "text/text_lines.h"

struct heatmap_request {
    const struct task *task;          /* of the model: its tokenizers */
    const struct text_lines *inputs;  /* what an encoder reads; without one, what the decoder does. path NULL:
                                         it is named --text in errors */
    const struct text_lines *targets; /* what the decoder of a model with an encoder reads, as many; NULL: the
                                         model's own greedy translations */
    int64_t max_tokens; /* of a text, with its begin and end tokens; the transformer was created for them */
    int64_t new_tokens; /* without an encoder: the model continues each text by up to so many */
    int64_t shown;      /* of the first texts the weights are kept */
};

/* Fills examples and numbers of a run, of which folder and seed are set, from its model. The caller frees the
 * run, also after an error. ROTARY_INVALID_ARGUMENT if a text cannot be encoded, is empty or too long; the
 * message has its file and line. */
ROTARY_CHECKED rotary_status heatmap_run_fill(struct heatmap_run *run, struct transformer *transformer,
                                              const struct heatmap_request *request, rotary_error *error);

#endif
