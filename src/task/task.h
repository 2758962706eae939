/* SPDX-License-Identifier: Apache-2.0
 *
 * Tasks: rows of training and validation data, evaluation problems, and how generated text is scored. A row
 * is a pure function of its place, a problem one of (seed, index). Nothing is stored, so resuming needs no
 * state. What is validated is held out from training. A task never runs a model.
 */
#ifndef ROTARY_TASK_TASK_H
#define ROTARY_TASK_TASK_H

#include "base/batch.h"
#include "base/random.h"
#include "file/settings.h"
#include "task/task_list.h"
#include "text/tokenizer.h"

#include <stdbool.h>

struct task;

#define ROTARY_TASK_ENUMERATOR(NAME, name) TASK_##NAME,
enum task_kind { ROTARY_TASKS(ROTARY_TASK_ENUMERATOR) TASK_KINDS };
#undef ROTARY_TASK_ENUMERATOR
extern const char *const task_names[]; /* NULL-terminated, in the order of task_kind */

/* The settings that one kind of task has for itself: a struct of the type that its file declares. */
enum { TASK_OPTIONS_BYTES = 1024 };
union task_options {
    unsigned char bytes[TASK_OPTIONS_BYTES];
    double alignment;
};

struct task_config {
    int task;                /* enum task_kind; JSON key "task" */
    int64_t sequence_length; /* tokens per sequence that the model reads */
    int64_t problems;        /* problems per evaluation */
    union task_options options[TASK_KINDS];
};
void task_config_default(struct task_config *config);
/* Whether the task of `config` has a use for the setting: not for another task's, nor for `problems` if it
 * has none. True for keys that are no task's. */
bool task_uses_key(const struct task_config *config, const char *key);
/* The tables over `config`: what all tasks have, then each kind's own. */
enum { TASK_SETTINGS = 1 + TASK_KINDS };
void task_settings(struct task_config *config, struct settings settings[TASK_SETTINGS]);

ROTARY_CHECKED rotary_status task_create(struct task **task, const struct task_config *config,
                                         rotary_error *error);
void task_destroy(struct task *task);
const struct task_config *task_configuration(const struct task *task);
/* How the task's text becomes tokens; owned by the task. */
const struct tokenizer *task_tokenizer(const struct task *task);
/* The token that ends a completion; -1: none does. */
int32_t task_stop(const struct task *task);

/* What the rows of a task's batches have; task/task_batch.h has the batches. */
struct task_shape {
    int64_t time;        /* tokens per row */
    int64_t source_time; /* tokens per row of the encoder's side; 0: there is none */
    bool lengths;        /* rows may be shorter than `time` and `source_time`: they end in padding */
    int64_t scratch;     /* tokens that filling a row needs besides */
};
struct task_shape task_shape(const struct task *task);

/* Which row of the data. */
struct task_place {
    bool validation; /* row `row` of the validation data; else of training step `step` */
    uint64_t seed;
    uint32_t step;         /* counted from 1 */
    int64_t row;           /* counted from 0 */
    int64_t rows_per_step; /* says where a finite corpus begins again; infinite ones ignore it */
};
/* The memory of a row. Every element is written. Classes are BATCH_IGNORED where nothing is to be learned.
 * Members that the shape does not have are NULL. */
struct task_row {
    int32_t *tokens, *classes; /* [time] */
    int32_t *length;           /* [1] */
    int32_t *source;           /* [source_time] */
    int32_t *source_length;    /* [1] */
    int32_t *scratch;          /* [scratch] */
};
void task_fill(const struct task *task, const struct task_place *place, const struct task_row *row);

enum { TASK_TEXT_BYTES = 512 };
struct problem {
    char prompt[TASK_TEXT_BYTES]; /* given to the model */
    char answer[TASK_TEXT_BYTES]; /* the correct one, for exact match */
};
/* Maximum numbers of tokens. */
struct problem_size {
    int64_t prompt, completion;
};
/* Whether the task has problems (prefix has none: its score is the validation loss). */
bool task_has_problems(const struct task *task);
/* The size of the longest problem. */
struct problem_size task_problem_size(const struct task *task);
void task_problem(const struct task *task, uint64_t seed, int64_t index, struct problem *problem);
/* Copies the answer within the text generated for a prompt to `answer`; empty if there is none. Returns
 * whether it is that of the problem, by exact match. */
bool task_score(const struct task *task, const struct problem *problem, const char *generated,
                char answer[TASK_TEXT_BYTES]);

#endif
