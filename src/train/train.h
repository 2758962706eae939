/* SPDX-License-Identifier: Apache-2.0
 *
 * The training loop.
 */
#ifndef ROTARY_TRAIN_TRAIN_H
#define ROTARY_TRAIN_TRAIN_H

#include "huggingface/weight_files.h"
#include "ranks/ranks.h"
#include "train/evaluation/evaluation.h"
#include "train/folder/checkpoint.h"

struct train_progress {
    int64_t step, steps;
    /* These are of this step; tokens_per_second is the mean since the last line of metrics. All 0 if a
     * resumed run reports an evaluation that was due when it was stopped. */
    double loss, learning_rate, gradient_norm, tokens_per_second, seconds_left;
    const struct evaluation *evaluation; /* of this step; NULL if there was none */
    const char *remark;                  /* what a reader should know of the run, once; else NULL */
};

/* What there is before the first step. */
struct train_beginning {
    const struct task *task;
    int64_t done;                        /* the steps that a resumed run begins after */
    const struct unused_tensors *unused; /* heads of other tasks in the Hugging Face model it begins with */
};

struct train_call {
    const struct run_config *config; /* checked */
    const struct ranks *ranks;       /* that call train_run together; NULL: this process alone */
    const struct backend *backend;   /* its profile, if not NULL, measures the steps */
    const char *folder;
    const char *commit; /* of the program, for the run's provenance; NULL: not known */
    bool resume;        /* resume the folder's run; without a checkpoint, start at step 0 */
    bool tensorboard;   /* write an event file, also of what the run has done; a resumed run continues one */
    /* Called once before the first step, unless the run is finished. May be NULL. */
    void (*begin)(void *argument, const struct train_beginning *beginning);
    /* Called after every step, from the calling thread. May be NULL. */
    void (*progress)(void *argument, const struct train_progress *progress);
    void *argument;
    /* Once true, train_run() writes a checkpoint and returns ROTARY_INTERRUPTED. May be NULL. */
    const atomic_bool *interrupted;
};

/* Filled in whatever the status. */
struct train_result {
    int64_t steps_done, first_step; /* first_step: steps done before this call */
    double loss, seconds;           /* loss: of the last line of metrics, NaN if there is none */
    struct evaluation evaluation;   /* the last, without samples; zero if there was none */
    int64_t diverged;               /* step at which training diverged; 0: it did not */
};

/* Trains until config->train.steps are done, writing the run's folder; a finished run returns at once. With 0
 * steps the folder gets the initial weights as a checkpoint, which resumes to more steps like any other.
 *
 * A folder that holds a run is never overwritten. Without `resume` it is refused; with `resume`, `config` may
 * differ from the folder's in steps, log_every, evaluate_every and checkpoint_every alone
 * (run_config_check_same), and in steps only if the schedule does not depend on them
 * (run_config_check_steps) and are not fewer than those of the last and of the best checkpoint. A
 * metrics.jsonl that is damaged, or ends before the checkpoint's step, is ROTARY_BAD_FILE. A folder in which
 * another process trains is refused.
 *
 * An evaluation whose validation loss is lower than that of any before replaces best.safetensors. The best
 * checkpoint is what `rotary evaluate --checkpoint best` uses; resuming, comparisons and reports use the
 * last.
 *
 * If the loss or a gradient is not finite, the run has diverged: metrics.jsonl records it, the last
 * checkpoint stays, result->diverged is the step, and the status is ROTARY_INVALID_ARGUMENT. Resuming such a
 * run is refused too, since the same steps would diverge again.
 *
 * Resuming is bit-exact: a run stopped at any moment and resumed ends with the same bytes in
 * model.safetensors and best.safetensors, and the same lines in metrics.jsonl except for times, and so for
 * checksums. (Where the plan changes, the metadata of best.safetensors have the plan of the time when it was
 * written.) The problems of evaluations depend on the run's seed alone, so runs of one seed have the same
 * ones. Several ranks train one run, each an equal share of its shards: the bits are those of one rank. Rank 0
 * alone reads and writes what changes in the folder, calls `begin` and `progress`, and evaluates. What stops one of
 * them stops all. Precision `auto` becomes that of backend->storage, also in config.json. */
ROTARY_CHECKED rotary_status train_run(const struct train_call *call, struct train_result *result,
                                       rotary_error *error);

/* A trained model, which trained_model_free frees. */
struct trained_model {
    struct run_config config;
    struct transformer *transformer;
    struct task *task;
    int64_t step;                 /* steps done; 0: the weights are the initial ones */
    struct unused_tensors unused; /* of a model in Hugging Face's format: those of heads of other tasks */
};
struct train_load_call {
    const char *folder;
    enum task_need need; /* of the task */
    enum checkpoint_kind checkpoint;
    const struct backend *backend;    /* borrowed by the model */
    struct transformer_limits limits; /* the largest batch it will compute */
    const struct run_config *other;   /* what task and model are made by, with the same parameters; NULL: the
                                       * folder's configuration */
};
/* Loads a folder's trained model for inference. */
ROTARY_CHECKED rotary_status train_load(const struct train_load_call *call, struct trained_model *model,
                                        rotary_error *error);
void trained_model_free(struct trained_model *model);

#endif
