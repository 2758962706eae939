/* SPDX-License-Identifier: Apache-2.0
 *
 * The folder of a Hugging Face model, which stands in the place of a run's (docs/how-to/huggingface.md) and is
 * only read: BERT, RoFormer, or a decoder.
 */
#ifndef ROTARY_TRAIN_WEIGHTS_HUGGINGFACE_RUN_H
#define ROTARY_TRAIN_WEIGHTS_HUGGINGFACE_RUN_H

#include "backend/parameters.h"
#include "file/file.h"
#include "huggingface/weight_files.h"
#include "model/transformer_config.h"
#include "task/task.h"

/* Reads config.json, whose path it writes; the caller owns *object. NULL: the folder has none. */
ROTARY_CHECKED rotary_status huggingface_run_read(const char *folder, char path[FILE_PATH_BYTES],
                                                  json_t **object, rotary_error *error);
/* Whether a config.json is one of transformers: it has a "model_type". */
bool huggingface_run_is(const json_t *object);
/* Whether the folder's is. */
ROTARY_CHECKED rotary_status huggingface_run_find(const char *folder, bool *found, rotary_error *error);

/* The run that such a model stands for. */
struct huggingface_run {
    enum task_id task;
    int64_t sequence_length;
    struct transformer_config model;
};
/* Reads the object, which was read from `path`. An encoder has the task classification if it has a head for
 * sequence classification, else masked, and the longest sequences that it has positions for; a decoder has
 * the task language. */
ROTARY_CHECKED rotary_status huggingface_run_describe(struct huggingface_run *run, const json_t *object,
                                                      const char *path, rotary_error *error);
/* Fills the parameters from the files of the folder, whose config.json is `object`. Without `head_wanted`
 * what is behind the last layer of an encoder may be missing in them, and then stays as it is. `unused`, NULL
 * if it is not wanted, gets the tensors of heads of other tasks. */
ROTARY_CHECKED rotary_status huggingface_run_load(const char *folder, const json_t *object, bool head_wanted,
                                                  struct parameters *parameters,
                                                  struct unused_tensors *unused, rotary_error *error);

#endif
