/* SPDX-License-Identifier: Apache-2.0
 *
 * Small runs for the tests of the train module.
 */
#ifndef TESTS_TRAIN_RUNS_H
#define TESTS_TRAIN_RUNS_H

#include "train/train.h"

/* The index task with a model that trains in seconds: one layer, width 16, 48 tokens, batches of 2, 2
 * accumulated per step, dropout; 60 steps, a checkpoint every 5. Checked. */
void tiny_config(struct run_config *config);

/* Sets the shape of a model that trains in seconds: width 16. */
void tiny_model(struct run_config *config, int64_t layers);

/* Sets a key of the configuration: "index_letters=5". */
void set_option(struct run_config *config, const char *assignment);

/* Writes config.json and vocabularies, as a run does that begins. */
void write_config(const char *folder, const struct run_config *config);

/* Trains in `folder`, resuming its run; fails the test if the last step is not reached. */
void train_to_end(const struct run_config *config, int threads, const char *folder);

/* Whether this machine computes in bf16: not every oneDNN has bf16 matmul for every processor. */
bool has_bf16(void);

/* A new folder of this name, below the scratch folder. */
const char *new_folder(const char *name);

/* Whole files. The caller frees *bytes. */
char *read_file(const char *folder, const char *name, size_t *count);
void write_file(const char *folder, const char *name, const void *bytes, size_t count);
void copy_file(const char *from_folder, const char *from, const char *to_folder, const char *to);
bool same_file(const char *folder, const char *other_folder, const char *name);
/* Whether both have one config.json, but for what trained them: the numbers of threads differ. */
bool same_config(const char *folder, const char *other_folder);
bool has_file(const char *folder, const char *name);

/* Hash of the names and contents of all files of a folder except metrics.jsonl. */
uint64_t hash_folder(const char *folder);
/* The lines of metrics.jsonl without seconds and tokens_per_second. The caller frees the text. */
char *timeless_metrics(const char *folder);

#endif
