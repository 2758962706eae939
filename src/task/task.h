/* SPDX-License-Identifier: Apache-2.0
 *
 * Tasks: training sequences, evaluation problems, and how generated text is scored. A training sequence is a
 * pure function of (seed, step, row), a problem one of (seed, index). Nothing is stored, so resuming needs no
 * state. Problems of the evaluation are held out from training.
 */
#ifndef ROTARY_TASK_TASK_H
#define ROTARY_TASK_TASK_H

#include "base/random.h"
#include "file/settings.h"
#include "text/characters.h"

#include <stdbool.h>

struct task;

enum task_kind { TASK_ADDITION, TASK_INDEX, TASK_PREFIX, TASK_KINDS };
extern const char *const task_names[]; /* NULL-terminated, in the order of task_kind */

struct task_config {
    int task;                /* enum task_kind; JSON key "task" */
    int64_t sequence_length; /* tokens per sequence the model reads; a training sequence has one more */
    int64_t problems;        /* problems per evaluation */
    int64_t addition_digits; /* maximum digits of an operand */
    int64_t index_letters;   /* letters of a string */
    int64_t prefix_letters;  /* size of the alphabet */
    int64_t prefix_random, prefix_substring; /* random and copied letters per round */
};
void task_config_default(struct task_config *config);
struct settings task_settings(struct task_config *config);

ROTARY_CHECKED rotary_status task_create(struct task **task, const struct task_config *config,
                                         rotary_error *error);
void task_destroy(struct task *task);
const struct task_config *task_configuration(const struct task *task);
const struct characters *task_characters(const struct task *task);

/* Training sequence `row` of step `step`: sequence_length + 1 tokens. */
void task_sequence(const struct task *task, uint64_t seed, uint32_t step, int64_t row, int32_t *tokens);
/* Validation sequence `index`, held out from training. */
void task_validation_sequence(const struct task *task, uint64_t seed, int64_t index, int32_t *tokens);

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
/* Copies the answer within the text generated for a prompt to `answer`; empty if there is none. */
void task_answer(const struct task *task, const char *generated, char answer[TASK_TEXT_BYTES]);

#endif
