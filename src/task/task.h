/* SPDX-License-Identifier: Apache-2.0
 *
 * What is taught, and how it is scored. A task is a pure function from (seed, step, row) to a training
 * sequence and from (seed, index) to a problem; nothing is stored, so there is nothing to resume. No problem
 * used for evaluation ever occurs in training.
 */
#ifndef ROTARY_TASK_TASK_H
#define ROTARY_TASK_TASK_H

#include "base/random.h"
#include "file/settings.h"
#include "model/decoder.h"
#include "text/characters.h"

#include <stdatomic.h>

struct task;

enum task_kind { TASK_ADDITION, TASK_INDEX, TASK_PREFIX, TASK_KINDS };
extern const char *const task_names[]; /* NULL-terminated, in the order of task_kind */

struct task_config {
    int task;                /* enum task_kind; JSON key "task" */
    int64_t sequence_length; /* tokens a model reads: a training sequence has one more */
    int64_t problems;        /* problems an evaluation solves; "problems" */
    int64_t addition_digits; /* most digits of an operand */
    int64_t index_letters;   /* letters of a string */
    int64_t prefix_letters, prefix_random,
        prefix_substring; /* alphabet, random letters and copied letters a round */
};
void task_config_default(struct task_config *config);
struct settings task_settings(struct task_config *config);

ROTARY_CHECKED rotary_status task_create(struct task **task, const struct task_config *config,
                                         rotary_error *error);
void task_destroy(struct task *task);
const struct characters *task_characters(const struct task *task);

/* Training sequence `row` of step `step`: sequence_length + 1 tokens. */
void task_sequence(const struct task *task, uint64_t seed, uint32_t step, int64_t row, int32_t *tokens);
/* Held-out sequence `index`, of the same kind. */
void task_validation_sequence(const struct task *task, uint64_t seed, int64_t index, int32_t *tokens);

enum { TASK_TEXT_BYTES = 512 };
struct problem {
    char prompt[TASK_TEXT_BYTES]; /* what the model is given */
    char answer[TASK_TEXT_BYTES]; /* what counts as right */
};
/* Whether the task has problems (prefix has none: its score is the held-out loss). */
bool task_has_problems(const struct task *task);
void task_problem(const struct task *task, uint64_t seed, int64_t index, struct problem *problem);
/* The answer in what a model wrote after a prompt, copied to `answer`; empty if there is none. */
void task_answer(const struct task *task, const char *generated, char answer[TASK_TEXT_BYTES]);

/* One evaluation. */
struct evaluation_sample {
    struct problem problem;
    char generated[TASK_TEXT_BYTES]; /* what the model wrote, up to the end of the problem */
    char answer[TASK_TEXT_BYTES];    /* what task_answer found in it */
    bool correct;
};
struct evaluation {
    int64_t correct, problems; /* problems 0: the task has none */
    double loss;               /* mean over held-out sequences, nats a token */
    double accuracy;           /* share of held-out tokens predicted right */
    double seconds;
    int64_t sample_count;
    struct evaluation_sample
        *samples; /* the caller's, room for sample_count of them; the first ones are filled */
};
struct evaluation_config {
    uint64_t seed;
    int64_t problems;             /* how many; at most the configured */
    int64_t validation_sequences; /* sequences for the loss */
    float temperature;            /* 0: greedy */
    const atomic_bool *interrupted;
};
/* Scores a decoder: greedy decoding of the problems through the cache, and the held-out loss. The first
 * evaluation->sample_count problems are written down in evaluation->samples. */
ROTARY_CHECKED rotary_status task_evaluate(const struct task *task, struct decoder *decoder,
                                           const struct evaluation_config *config,
                                           struct evaluation *evaluation, rotary_error *error);

#endif
