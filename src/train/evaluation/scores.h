/* SPDX-License-Identifier: Apache-2.0
 *
 * What an evaluation is asked for, and what it finds.
 */
#ifndef ROTARY_TRAIN_EVALUATION_SCORES_H
#define ROTARY_TRAIN_EVALUATION_SCORES_H

#include "model/transformer.h"
#include "score/label_scores.h"
#include "score/position_losses.h"
#include "score/translation/segments.h"
#include "task/task.h"

#include <stdatomic.h>

struct ranks;

/* The results of an evaluation. */
struct evaluation_sample {
    struct problem problem;          /* of a translation: source and reference */
    char generated[TASK_TEXT_BYTES]; /* until the stop token or the length of the longest completion */
    char answer[TASK_TEXT_BYTES];    /* in the generated text; empty if there is none */
    bool correct;
};
struct evaluation {
    int64_t correct, problems;       /* problems 0: the task has none */
    int64_t translated;              /* sentences; 0: the task has none */
    double bleu;                     /* of their translations, 0 ... 100 */
    char signature[SIGNATURE_BYTES]; /* how that was computed */
    double loss;                     /* validation loss: mean over validation sequences, nats per token; of
                                      * a task with labels over examples */
    double accuracy;                 /* share of validation tokens, or examples, whose argmax is correct */
    double bits_per_byte;            /* of text whose bytes are known; else 0 */
    double frequency_loss; /* of a model that gives each target its frequency (score/frequency_loss.h);
                            * of a task whose data are a finite corpus without labels; else 0 */
    struct position_losses positions; /* of a task that cuts text; else length 0 */
    struct label_scores labels;       /* examples 0: the task has none */
    double seconds;
    struct { /* the same of the test set, at the end of a run; translated 0: none of it was */
        int64_t translated;
        double bleu, loss, accuracy;
        struct label_scores labels; /* likewise of examples */
    } test;
    bool averaged; /* of average.safetensors, at the end of a run; else of the weights of its step */
    int64_t sample_count;
    struct evaluation_sample *samples; /* [sample_count], the caller's: the first problems */
};
struct evaluation_config {
    uint64_t seed;
    int64_t problems;             /* evaluated: the first so many of the seed, where the task has any; of
                                     * translations the first so many of the split */
    int64_t validation_sequences; /* sequences of the validation loss; ignored for a finite corpus, whose
                                     * split is taken as a whole */
    bool last;                    /* a problem stands last in a sequence of the task's sequence_length
                                     * (task_long_prompt); else alone at the start of one */
    bool test;                    /* the test set of a finite corpus; else its validation set */
    const char *translations;     /* the file that is replaced by the translations; NULL: none */
    const char *predictions; /* likewise by the predicted labels (train/evaluation/label_predictions.h) */
    float temperature;       /* 0: greedy */
    const atomic_bool *interrupted; /* once true, the evaluation ends with ROTARY_INTERRUPTED; may be NULL */
    /* Ranks that evaluate together: rank 0 has the results, and writes the files. NULL: this process alone. Problems
     * are solved in so many groups, whose answers do not depend on who solves them; 0: in one. */
    const struct ranks *ranks;
    int64_t shards;
};

#endif
