/* SPDX-License-Identifier: Apache-2.0
 *
 * The training loop.
 */
#ifndef ROTARY_TRAIN_TRAIN_H
#define ROTARY_TRAIN_TRAIN_H

#include "train/run.h"

struct train_progress {
    int64_t step, steps;
    /* Of this step, but for tokens_per_second: since the last line of metrics. All 0 when a resumed run makes
     * up for an evaluation it was stopped before. */
    double loss, learning_rate, gradient_norm, tokens_per_second, seconds_left;
    const struct evaluation *evaluation; /* just made at this step; NULL otherwise */
};

struct train_call {
    const struct run_config *config; /* checked */
    const struct compute *compute;   /* its profile, if it has one, becomes that of the steps */
    const char *folder;
    bool resume; /* continue what is in the folder; with no checkpoint there, start at step 0 */
    /* Called after every step, from the calling thread. May be NULL. */
    void (*progress)(void *argument, const struct train_progress *progress);
    void *argument;
    /* When it becomes true: checkpoint and return ROTARY_INTERRUPTED. May be NULL. */
    const atomic_bool *interrupted;
};

/* Filled in whatever the status. */
struct train_result {
    int64_t steps_done, first_step; /* first_step: where this call started */
    double loss, seconds;           /* loss: of the last line of metrics, NaN if there is none */
    struct evaluation evaluation;   /* the last, zero if there was none; its samples are not kept */
    int64_t diverged;               /* the step a loss or gradient was not finite at; 0: none was */
};

/* Trains until config->train.steps are done, writing the run's folder. A run that is finished already returns
 * at once. A folder that holds a run is never overwritten: without `resume` it is refused, and with `resume`
 * a configuration that differs from the folder's is refused too, but for steps, log_every, evaluate_every and
 * checkpoint_every; and other steps are refused of a schedule that ends with them (run_config_extends). A
 * metrics.jsonl that does not reach the checkpoint, or is damaged before it, is ROTARY_BAD_FILE. Another
 * process training in the folder is refused.
 *
 * A loss or gradient that is not finite ends the run for good: that is written to metrics.jsonl, the last
 * checkpoint stays, result->diverged says the step, and the status is ROTARY_INVALID_ARGUMENT, as it is at
 * once whenever the run is asked for again, since it would go the same way again.
 *
 * Stopped at any moment and resumed, the run ends with the same bytes in model.safetensors, and with the same
 * lines in metrics.jsonl but for the times. Evaluations draw their problems from the run's seed, so that runs
 * of one seed are asked the same. A precision of `auto` is settled by compute->storage and written
 * down so. */
ROTARY_CHECKED rotary_status train(const struct train_call *call, struct train_result *result,
                                   rotary_error *error);

/* Loads the trained model of a folder for inference. `limits` says what it will be used for. */
ROTARY_CHECKED rotary_status train_load(const char *folder, const struct compute *compute,
                                        struct decoder_limits limits, struct run_config *config,
                                        struct decoder **decoder, struct task **task, rotary_error *error);

#endif
