/* SPDX-License-Identifier: Apache-2.0
 *
 * A run: one model, trained on one task from one seed, in one folder.
 *
 *     config.json            the whole configuration in force, flat; presets are such files
 *     metrics.jsonl          one object a line, see below
 *     model.safetensors      the parameters, by name, f32
 *     optimizer.safetensors  the moments and the step: with the model, all that resuming needs
 *     report.html            made by `rotary report`
 *
 * Lines of metrics.jsonl, in the order they happened, step counted from 1:
 *     {"step":10,"loss":2.13,"learning_rate":0.00025,"gradient_norm":0.71,"tokens_per_second":51234.5}
 *     {"step":500,"evaluation":{"correct":92,"problems":128,"loss":0.31,"accuracy":0.93,"seconds":1.1},
 *      "samples":[{"prompt":"?s='...","answer":"'vejmg'","generated":"'vejmg'#","correct":true}, ...]}
 *     {"step":731,"diverged":"loss"}       what was not finite there; the last line of such a run
 * loss is the mean over the tokens of the steps since the last line. "problems" is 0 when the task has none.
 */
#ifndef ROTARY_TRAIN_RUN_H
#define ROTARY_TRAIN_RUN_H

#include "model/decoder.h"
#include "task/task.h"

enum { RUN_FORMAT = 2 }; /* "format" in config.json; another number is another version */

struct train_config {
    int64_t steps, batch_size,
        gradient_accumulation_steps; /* accumulation: micro-batches of batch_size a step */
    double learning_rate, minimum_learning_rate;
    int schedule; /* constant, linear, cosine, noam: each after warmup_steps of linear warm-up */
    int64_t warmup_steps;
    int optimizer;                                             /* adam, adamw */
    double beta1, beta2, epsilon, weight_decay, max_grad_norm; /* clip: largest gradient norm; 0: none */
    int precision;                                             /* auto, f32, bf16: enum precision */
    int64_t seed, log_every, evaluate_every, checkpoint_every; /* 0: never but at the end */
    int64_t validation_sequences;                              /* sequences of an evaluation's loss */
};

struct run_config {
    struct task_config task;
    struct decoder_config model;
    struct train_config train;
};

extern const char *const precision_names[]; /* NULL-terminated, in the order of enum precision */

void run_config_default(struct run_config *config);
enum { RUN_SETTINGS = 3 };
/* The three tables over `config`; keys are distinct across them. */
void run_settings(struct run_config *config, struct settings settings[RUN_SETTINGS]);
/* Everything that can be checked before memory is taken: every range, the parts, and that they fit together.
 * Fills in what follows from others: vocab_size and max_position_embeddings where they are 0, and what
 * decoder_config_check fills in. Checking twice changes nothing more. */
ROTARY_CHECKED rotary_status run_config_check(struct run_config *config, rotary_error *error);

/* The configuration as one flat object without "format", and back: keys that are absent keep their defaults.
 * `where` names the object in errors. The caller owns *object. */
ROTARY_CHECKED rotary_status run_config_to_json(const struct run_config *config, json_t **object,
                                                rotary_error *error);
ROTARY_CHECKED rotary_status run_config_from_json(struct run_config *config, const json_t *object,
                                                  const char *where, rotary_error *error);
/* Whether a run of configuration `recorded`, found in `where`, may go on as `config`: the same in all but
 * steps, log_every, evaluate_every and checkpoint_every. ROTARY_INVALID_ARGUMENT names the key and both
 * values. */
ROTARY_CHECKED rotary_status run_config_same(const struct run_config *config,
                                             const struct run_config *recorded, const char *where,
                                             rotary_error *error);
/* Whether a run of configuration `recorded`, found in `where`, may go on to the steps of `config`: whether
 * the steps that were taken would have been the same. ROTARY_INVALID_ARGUMENT where the schedule leads to the
 * last step (linear, cosine) and the last step is another. */
ROTARY_CHECKED rotary_status run_config_extends(const struct run_config *config,
                                                const struct run_config *recorded, const char *where,
                                                rotary_error *error);
/* Leaves the four keys that may change at their defaults: what is the same for all of a run. */
void run_config_fixed(struct run_config *config);

/* config.json of a run's folder, checked; refuses another "format" and a folder that is no run. */
ROTARY_CHECKED rotary_status run_read_config(const char *folder, struct run_config *config,
                                             rotary_error *error);
ROTARY_CHECKED rotary_status run_write_config(const char *folder, const struct run_config *config,
                                              rotary_error *error);

#endif
