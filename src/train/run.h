/* SPDX-License-Identifier: Apache-2.0
 *
 * A run: one model, trained on one task from one seed, in one folder.
 *
 *     config.json            the complete configuration, a flat object; presets have the same keys; and the
 *                            vocabulary (train/folder/vocabulary.h) and hashes of the corpus
 *                            (train/folder/corpus_record.h), and what trained it (train/folder/provenance.h)
 *     metrics.jsonl          one JSON object per line, see below
 *     model.safetensors      the parameters by name, in f32
 *     optimizer.safetensors  the optimizer state: moments and step; with the model, all that resuming needs
 *     best.safetensors       the parameters at the evaluation with the lowest validation loss so far, the
 *                            first of equal ones; its metadata has "validation_loss"
 *     labels.json            of a task with labels: their names, in the order of the model's outputs
 *                            (task/classification/label_names.h)
 *     average.safetensors    the mean of the last average_checkpoints checkpoints, at the end of a run
 *     translations.txt       of a task of translations: those of the test set, or without one of the
 *                            validation set, at the end of a run, one a line
 *     predictions.tsv        of a task with labels: those of the test set, or without one of the validation set,
 *                            at the end of a run (train/evaluation/label_predictions.h)
 *     lengths.json           scores at other lengths, where a comparison was asked for them
 *                            (records/record_lengths.h)
 *     decay.json             mean scores by distance, made by `rotary decay` (records/measured_decay.h)
 *     report.html            made by `rotary report`
 *
 * Lines of metrics.jsonl, in order of time; steps are counted from 1:
 *     {"step":10,"loss":2.13,"learning_rate":0.00025,"gradient_norm":0.71,"tokens_per_second":51234.5}
 *     {"step":500,"evaluation":{"correct":92,"problems":128,"loss":0.31,"accuracy":0.93,"seconds":1.1},
 *      "samples":[{"prompt":"?s='...","answer":"'vejmg'","generated":"'vejmg'#","correct":true}, ...]}
 *     {"step":900,"evaluation":{"correct":0,"problems":0,"loss":1.9,"accuracy":0.61,"seconds":9.3,"bleu":36.4,
 *      "translated":1014,"signature":"nrefs:1|case:lc|...","test":{"bleu":37.0,"translated":1000,"loss":1.8,
 *      "accuracy":0.62},"checkpoint":"average"},"samples":[...]}
 *     {"step":96,"evaluation":{"correct":0,"problems":0,"loss":0.4,"accuracy":0.81,"seconds":2.1,"labels":{
 *      "examples":883,"score":"matthews","accuracy":0.81,"matthews":0.52, ...},"test":{"labels":{...},
 *      "loss":0.5}},"samples":[]}
 *     {"step":96,"evaluation":{"correct":0,"problems":0,"loss":1.5,"accuracy":0.53,"seconds":2.1,
 *      "bits_per_byte":2.16,"frequency_loss":2.9},"samples":[]}
 *     {"step":731,"diverged":"loss", ...}  the last line of a run that diverged: its loss, gradient norm or
 *                                          validation loss was not finite at that step
 * Each ends in "checksum":"0f3a5c7788990a1b"}, of the bytes before it (file/checksum/line_checksum.h), which resuming
 * demands; those who only read allow lines without one, which earlier versions wrote.
 * "loss" is the training loss, the mean in nats per token over the steps since the last line; within
 * "evaluation" it is the validation loss, over sequences held out from training. Both are -log p(target),
 * without label smoothing, which only changes the gradient. "correct" of "problems" were
 * answered by exact match; "problems" is 0 if the task has none. "accuracy" is the share of validation tokens
 * whose argmax is correct. A sample's "answer" is the correct one. Of a task of translations, "bleu" is that
 * of the first "translated" sentences of the validation set, translated greedily; of all of them at the end
 * of a run, which also translates the test set. A sample is then a source, its reference ("answer") and its
 * translation. Of a task with labels, "labels" has the scores of all validation examples (train/folder/metrics.h),
 * and at the end of a run also those of the test set. "bits_per_byte" is the validation loss of all tokens of
 * a text, in bits, divided by the bytes of that text. "frequency_loss" is that of a model that gives each
 * token its frequency (score/frequency_loss.h). "checkpoint" is "average" where the mean of the last
 * checkpoints was evaluated, at the end of a run that makes one, after the evaluation of its own weights.
 */
#ifndef ROTARY_TRAIN_RUN_H
#define ROTARY_TRAIN_RUN_H

#include "model/transformer.h"
#include "task/task.h"

struct train_config {
    int64_t steps;
    int64_t epochs;                      /* of a finite corpus, which say what `steps` is; 0: they do not */
    int64_t batch_size;                  /* sequences of a micro-batch */
    int64_t batch_tokens;                /* or as many as have so many tokens at most; 0: batch_size */
    int64_t gradient_accumulation_steps; /* micro-batches per step */
    int64_t shards;                      /* parts of a micro-batch, with a sum of gradients each: 2^n */
    double learning_rate, minimum_learning_rate;
    int schedule;         /* enum schedule_kind */
    int64_t warmup_steps; /* of linear warm-up, before the schedule */
    int optimizer;        /* enum optimizer_kind */
    double beta1, beta2, epsilon, weight_decay;
    double max_grad_norm;                                      /* 0: gradients are not clipped */
    int precision;                                             /* enum precision */
    int64_t seed, log_every, evaluate_every, checkpoint_every; /* 0: only at the end */
    int64_t average_checkpoints;   /* the last so many multiples of checkpoint_every; 0: none */
    int64_t validation_sequences;  /* sequences of the validation loss */
    int primary_measure;           /* enum measure: what a comparison of runs is decided by */
    char init[SETTING_TEXT_BYTES]; /* the run that the initial weights are from; empty: random ones */
    int64_t lora_rank;             /* of an adaptation of these (train/weights/lora.h); 0: they are trained */
    double lora_alpha;
    char lora_targets[SETTING_TEXT_BYTES]; /* names of projections (train/weights/lora_targets.h) */
};

struct run_config {
    struct task_config task;
    struct transformer_config model;
    struct train_config train;
};

extern const char *const precision_names[]; /* NULL-terminated, in the order of enum precision */

void run_config_default(struct run_config *config);
/* Copies a configuration, which run_config_free frees: it owns what its keys describe. One that was made by
 * assignment borrows that from the other. */
void run_config_copy(struct run_config *copy, const struct run_config *config);
void run_config_free(struct run_config *config);
/* Frees a local configuration, which begins as {0}, where its scope ends. */
#define RUN_CONFIG_LOCAL __attribute__((cleanup(run_config_free)))
enum { RUN_SETTINGS = TASK_SETTINGS + TRANSFORMER_SETTINGS + 1 };
/* The tables over `config`: the task's, the model's, the training's. Keys are distinct across them. */
void run_settings(struct run_config *config, struct settings settings[RUN_SETTINGS]);
/* Checks everything that can be checked before memory is allocated: ranges, the task, the model, and that
 * they fit together. Fills in vocab_size and max_position_embeddings where they are 0, and what
 * transformer_config_check fills in. A second check changes nothing. */
ROTARY_CHECKED rotary_status run_config_check(struct run_config *config, rotary_error *error);
/* Sets the steps of so many epochs, unless `epochs` is 0: the batches that the corpus in its own order is cut
 * into, times epochs, divided by gradient_accumulation_steps and rounded up, whatever the seed. Checks that
 * an epoch can be cut. `folder` has the run's vocabularies; NULL: they are made from the corpus. The settings
 * of the task and of training must be valid. run_config_check does this too. */
ROTARY_CHECKED rotary_status run_config_derive_steps(struct run_config *config, const char *folder,
                                                     rotary_error *error);
/* The same for a run that there is already, in `folder`, which has its vocabularies (NULL: `init` has, or
 * they are made): keys that contradict each other are accepted, since an earlier version of the program may
 * have trained with them, and what they compute has not changed. */
ROTARY_CHECKED rotary_status run_config_check_recorded(struct run_config *config, const char *folder,
                                                       rotary_error *error);

/* The configuration as one flat object without "format"; the caller owns *object. run_config_from_json reads
 * such an object: absent keys have their defaults; `where` names the object in errors. */
ROTARY_CHECKED rotary_status run_config_to_json(const struct run_config *config, json_t **object,
                                                rotary_error *error);
ROTARY_CHECKED rotary_status run_config_from_json(struct run_config *config, const json_t *object,
                                                  const char *where, rotary_error *error);
/* Checks that a run of configuration `recorded`, found in `where`, may resume with `config`: the two may
 * differ in steps, epochs, log_every, evaluate_every, checkpoint_every and where a corpus lies
 * (task_is_location) alone. Else ROTARY_INVALID_ARGUMENT; the message has the key and both values. */
ROTARY_CHECKED rotary_status run_config_check_same(const struct run_config *config,
                                                   const struct run_config *recorded, const char *where,
                                                   rotary_error *error);
/* Checks that a run of configuration `recorded`, found in `where`, may resume with the steps of `config`.
 * ROTARY_INVALID_ARGUMENT if the numbers of steps differ and the learning rate depends on them (linear,
 * cosine): the steps already taken would have been others. So it is if checkpoints are averaged, and
 * checkpoint_every differs. A run of 0 steps has taken none. */
ROTARY_CHECKED rotary_status run_config_check_steps(const struct run_config *config,
                                                    const struct run_config *recorded, const char *where,
                                                    rotary_error *error);
/* The folder that has the vocabularies of a run: `folder`, its own if it is not NULL; else that of `init`;
 * else NULL: they are made. */
const char *run_vocabulary_folder(const struct run_config *config, const char *folder);
/* Whether all keys are the same; false without memory. */
bool run_config_equal(const struct run_config *a, const struct run_config *b);
/* Keeps the keys that are fixed for a run: sets those that may change to their defaults. */
void run_config_keep_fixed(struct run_config *config);

/* Whether the model may have more rows than there are tokens, which no text has: so Hugging Face models
 * have. */
bool run_may_pad(const struct run_config *config);

/* Reads and checks config.json of a run's folder, or of a Hugging Face model. Refuses another "format", a
 * folder without a run, and a vocabulary that is not the task's: *config is then as it was. */
ROTARY_CHECKED rotary_status run_read_config(const char *folder, struct run_config *config,
                                             rotary_error *error);
/* Reads it, and of a Hugging Face model config.json, which the caller releases: *transformers is NULL for
 * a run of this program. */
ROTARY_CHECKED rotary_status run_read_folder(const char *folder, struct run_config *config,
                                             json_t **transformers, rotary_error *error);
/* Checks that config.json is as it was written (file/checksum/json_checksum.h): for those who believe what no
 * checkpoint says too, such as the steps that are planned. */
ROTARY_CHECKED rotary_status run_check_unchanged(const char *folder, rotary_error *error);
/* What config.json says of a run beside its configuration and its task. */
struct run_record {
    int64_t parameters;       /* numbers of the model that are trained; 0: not known, as it has not begun */
    const json_t *provenance; /* train/folder/provenance.h; NULL: none */
};
/* Writes config.json and the vocabularies of `task`, which is that of the configuration. */
ROTARY_CHECKED rotary_status run_write_config(const char *folder, const struct run_config *config,
                                              const struct task *task, const struct run_record *record,
                                              rotary_error *error);

#endif
