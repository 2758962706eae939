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
#include "model/decoder.h"
#include "text/characters.h"

#include <stdatomic.h>

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
/* Whether the task has problems (prefix has none: its score is the validation loss). */
bool task_has_problems(const struct task *task);
void task_problem(const struct task *task, uint64_t seed, int64_t index, struct problem *problem);
/* Copies the answer within the text generated for a prompt to `answer`; empty if there is none. */
void task_answer(const struct task *task, const char *generated, char answer[TASK_TEXT_BYTES]);

/* The results of an evaluation. */
struct evaluation_sample {
    struct problem problem;
    char generated[TASK_TEXT_BYTES]; /* until the # or the length of the longest completion */
    char answer[TASK_TEXT_BYTES];    /* task_answer of it */
    bool correct;
};
struct evaluation {
    int64_t correct, problems; /* problems 0: the task has none */
    double loss;               /* validation loss: mean over validation sequences, nats per token */
    double accuracy;           /* share of validation tokens whose argmax is correct */
    double seconds;
    int64_t sample_count;
    struct evaluation_sample *samples; /* [sample_count], the caller's: the first problems */
};
struct evaluation_config {
    uint64_t seed;
    int64_t problems;               /* evaluated: at most task_config.problems */
    int64_t validation_sequences;   /* sequences of the validation loss */
    float temperature;              /* 0: greedy */
    const atomic_bool *interrupted; /* once true, the evaluation ends with ROTARY_INTERRUPTED; may be NULL */
};
/* Evaluates a decoder: exact matches of the completions it generates with a KV cache, and the validation
 * loss. The first evaluation->sample_count problems are recorded in evaluation->samples. */
ROTARY_CHECKED rotary_status task_evaluate(const struct task *task, struct decoder *decoder,
                                           const struct evaluation_config *config,
                                           struct evaluation *evaluation, rotary_error *error);

#endif
