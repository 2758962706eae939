/* SPDX-License-Identifier: Apache-2.0
 *
 * What `rotary data` says of a task with labels: its examples and labels, what a split leaks, and baselines.
 */
#ifndef ROTARY_CLI_OUTPUT_LABEL_DATA_H
#define ROTARY_CLI_OUTPUT_LABEL_DATA_H

#include "task/task.h"

#include <jansson.h>

/* What became of the examples of each split, found once. */
struct label_data {
    const struct task *task; /* borrowed */
    int64_t
        leaks[TASK_SPLITS]; /* of validation and test: texts that are in training, or a part of one there */
};
ROTARY_CHECKED rotary_status label_data_find(struct label_data *data, const struct task *task,
                                             rotary_error *error);
void label_data_print(const struct label_data *data);
/* Describes one split. */
json_t *label_data_json(const struct label_data *data, enum task_split split);

/* Prints the scores of the baselines on validation and test; or, with `object`, sets its key "baselines". */
ROTARY_CHECKED rotary_status label_data_baselines(const struct task *task, json_t *object,
                                                  rotary_error *error);

#endif
