/* SPDX-License-Identifier: Apache-2.0
 *
 * The classes of lines of text, or the number that a model predicts for each.
 */
#ifndef ROTARY_INFERENCE_TEXT_CLASSIFIER_H
#define ROTARY_INFERENCE_TEXT_CLASSIFIER_H

#include "inference/loaded_model.h"
#include "task/classification/labelled_corpus.h"
#include "text/text_lines.h"

struct text_classifier {
    const struct loaded_model *model; /* borrowed */
    struct task_labels labels;
    bool pairs;
    int choices; /* of each text; 0: it has none, but classes */
    struct text_line choice_texts[LABELLED_MAX_CHOICES];
    int outputs;
    float *logits; /* [outputs]; of classes: their probabilities, once a line is computed */
    int *order;    /* [outputs]: classes, the most probable first */
};

/* ROTARY_INVALID_ARGUMENT for a model without labels, which `folder` names. The caller frees the classifier,
 * also after an error. */
ROTARY_CHECKED rotary_status text_classifier_create(struct text_classifier *classifier,
                                                    const struct loaded_model *model, const char *folder,
                                                    rotary_error *error);
/* Classifies a text, or texts with tabs between them: a pair, or a text and its choices.
 * ROTARY_INVALID_ARGUMENT if it is another number of texts, or if the model's logits are not numbers. */
ROTARY_CHECKED rotary_status text_classifier_run(struct text_classifier *classifier,
                                                 const struct text_line *line, rotary_error *error);
void text_classifier_free(struct text_classifier *classifier); /* one that is all zero too */

#endif
