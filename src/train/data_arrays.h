/* SPDX-License-Identifier: Apache-2.0
 *
 * The data of a run as arrays, for those who print or export what training and evaluation read.
 */
#ifndef ROTARY_TRAIN_DATA_ARRAYS_H
#define ROTARY_TRAIN_DATA_ARRAYS_H

#include "base/arena.h"
#include "task/task.h"
#include "train/run.h"

enum data_split { DATA_TRAINING, DATA_VALIDATION, DATA_TEST, DATA_PROBLEMS };
extern const char *const data_split_names[]; /* NULL-terminated, in the order of data_split */

/* Training, validation and test rows have three arrays:
 *     tokens   what the model reads
 *     targets  what it is to predict there: the next token; BATCH_IGNORED where nothing is to be learned
 *     mask     1 where the target counts in the loss, else 0
 * and a fourth, source, of a task with an encoder's side, which has as many columns. Rows of tokens and
 * source that are shorter are followed by BATCH_IGNORED. Of problems, two: prompts and answers, whose rows
 * are followed by BATCH_IGNORED. */
enum data_array { DATA_TOKENS, DATA_TARGETS, DATA_MASK, DATA_SOURCE, DATA_PROMPTS = 0, DATA_ANSWERS };

struct data_arrays {
    enum data_split split;
    int arrays;
    int64_t rows, time;
    int32_t *values; /* [arrays, rows, time] */
    float *numbers;  /* [rows]: the labels of a regression; NULL: it is none */
    struct rotary_arena arena;
};

struct data_request {
    const struct run_config *config; /* checked */
    enum data_split split;
    int64_t step; /* of training data, counted from 1 */
    int64_t rows; /* the first rows or problems; 0: as many as a step or an evaluation of the run has */
};

/* Makes the arrays, which data_arrays_free frees; `task` is that of the configuration. Row r of a step is row
 * r % batch_size of its micro-batch r / batch_size. ROTARY_INVALID_ARGUMENT for more rows than the step has,
 * and for problems or a test set of a task without any. */
ROTARY_CHECKED rotary_status data_arrays_create(struct data_arrays *data, const struct task *task,
                                                const struct data_request *request, rotary_error *error);
void data_arrays_free(struct data_arrays *data);

/* Row `row` of an array, [time]. */
const int32_t *data_arrays_row(const struct data_arrays *data, enum data_array array, int64_t row);

#endif
