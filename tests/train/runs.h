/* SPDX-License-Identifier: Apache-2.0
 *
 * Small runs for the tests of the training floor.
 */
#ifndef TESTS_TRAIN_RUNS_H
#define TESTS_TRAIN_RUNS_H

#include "train/train.h"

/* The index task by a model that trains in no time: one layer, 16 wide, 48 tokens, batches of 2, two a step,
 * dropout; 60 steps, a checkpoint every 5. Checked. */
void tiny_config(struct run_config *config);

/* Trains in `folder`, resuming what is there; fails the test if it does not reach its last step. */
void train_to_end(const struct run_config *config, int threads, const char *folder);

/* Whether matrix products of bf16 work here, which not every oneDNN has for every processor. */
bool has_bf16(void);

/* Whole files. The caller frees *bytes. */
char *read_file(const char *folder, const char *name, size_t *count);
void write_file(const char *folder, const char *name, const void *bytes, size_t count);
void copy_file(const char *from_folder, const char *from, const char *to_folder, const char *to);
bool same_file(const char *folder, const char *other_folder, const char *name);
bool has_file(const char *folder, const char *name);

/* Hash of all files of a folder with their names, but for metrics.jsonl's. */
uint64_t hash_folder(const char *folder);
/* metrics.jsonl without what depends on time, one line after another. The caller frees it. */
char *timeless_metrics(const char *folder);

#endif
