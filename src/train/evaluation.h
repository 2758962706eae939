/* SPDX-License-Identifier: Apache-2.0
 *
 * Evaluating a transformer on a task: exact matches of the completions it generates with a KV cache, and the
 * validation loss.
 */
#ifndef ROTARY_TRAIN_EVALUATION_H
#define ROTARY_TRAIN_EVALUATION_H

#include "model/transformer.h"
#include "task/task.h"

#include <stdatomic.h>

/* The results of an evaluation. */
struct evaluation_sample {
    struct problem problem;
    char generated[TASK_TEXT_BYTES]; /* until the stop token or the length of the longest completion */
    char answer[TASK_TEXT_BYTES];    /* in the generated text; empty if there is none */
    bool correct;
};
struct evaluation {
    int64_t correct, problems; /* problems 0: the task has none */
    double loss;               /* validation loss: mean over validation sequences, nats per token */
    double accuracy;           /* share of validation tokens whose argmax is correct */
    double seconds;
    bool averaged; /* of average.safetensors, at the end of a run; else of the weights of its step */
    int64_t sample_count;
    struct evaluation_sample *samples; /* [sample_count], the caller's: the first problems */
};
struct evaluation_config {
    uint64_t seed;
    int64_t problems;               /* evaluated: the first so many of the seed, where the task has any */
    int64_t validation_sequences;   /* sequences of the validation loss */
    float temperature;              /* 0: greedy */
    const atomic_bool *interrupted; /* once true, the evaluation ends with ROTARY_INTERRUPTED; may be NULL */
};
/* Evaluates a transformer: exact matches of the completions it generates with a KV cache, and the validation
 * loss. The first evaluation->sample_count problems are recorded in evaluation->samples. */
ROTARY_CHECKED rotary_status evaluation_run(const struct task *task, struct transformer *transformer,
                                            const struct evaluation_config *config,
                                            struct evaluation *evaluation, rotary_error *error);

#endif
