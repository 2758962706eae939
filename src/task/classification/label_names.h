/* SPDX-License-Identifier: Apache-2.0
 *
 * The labels of a run, as its folder keeps them for who has the model but not the labelled texts: the names
 * of classes, in the order of the model's outputs, whether texts are pairs, and what decides.
 */
#ifndef ROTARY_TASK_CLASSIFICATION_LABEL_NAMES_H
#define ROTARY_TASK_CLASSIFICATION_LABEL_NAMES_H

#include "task/task.h"

#include <jansson.h>

struct label_names {
    struct task_labels labels; /* its names point into the next two */
    struct text_line *names;   /* [labels.classes] */
    json_t *object;
    bool pairs;
};

/* Replaces labels.json of a folder: {"labels": ["no", "yes"], "pairs": false, "score": "accuracy"}; the labels
 * of a regression are null. */
ROTARY_CHECKED rotary_status label_names_save(const struct task_labels *labels, bool pairs,
                                              const char *folder, rotary_error *error);
/* Reads it. Of a Hugging Face model, whose folder has no such file, classes are the labels of "id2label"
 * in its config.json, or the numbers i of LABEL_i where all have these names, which stand for none; one label
 * is a regression. Whether texts are pairs it does not say (pairs_unknown). A file of another form is
 * ROTARY_BAD_FILE. */
ROTARY_CHECKED rotary_status label_names_load(struct label_names *names, const char *folder,
                                              rotary_error *error);
void label_names_free(struct label_names *names); /* zeroed ones too */

#endif
