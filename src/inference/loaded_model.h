/* SPDX-License-Identifier: Apache-2.0
 *
 * A trained model that is ready to be used: that of a run's folder, or of a Hugging Face folder.
 */
#ifndef ROTARY_INFERENCE_LOADED_MODEL_H
#define ROTARY_INFERENCE_LOADED_MODEL_H

#include "cuda/device_backend.h"
#include "train/evaluation/length_evaluation.h"
#include "train/train.h"
#include "train/weights/pretrained.h"

struct loaded_model {
    struct run_config config;
    struct backend backend;
    struct transformer *transformer;
    struct task *task;                 /* NULL: a Hugging Face decoder, of which none was wanted */
    const struct tokenizer *tokenizer; /* of the task, or of that decoder; NULL: its folder has none */
    int32_t begin;                     /* the token that texts begin with; -1: none */
    int64_t step;                      /* steps done; 0: the weights are the initial ones */
    int64_t trained; /* tokens of a sequence in training; a Hugging Face decoder does not say, and had as
                      * many as it has positions */
    struct pretrained pretrained; /* of such a decoder */
    struct unused_tensors unused; /* heads of other tasks in its files, which a caller may want to say */
};

/* What a model computes with: backend_create has the threads and the instruction set. */
struct loaded_model_backend {
    enum device device;
    int threads;
    rotary_isa isa;
    bool precision_given; /* false: the precision that it was trained in */
    enum precision precision;
};

struct loaded_model_call {
    const char *folder;
    enum checkpoint_kind checkpoint; /* of a run */
    struct loaded_model_backend backend;
    enum task_need need;
    int64_t batch, time;         /* limits of the transformer; 0: as configured */
    int64_t length;              /* tokens of a sequence of the task; 0: as in training */
    enum length_scaling scaling; /* of the rotation for that length (train/evaluation/length_evaluation.h) */
    const char *const *assignments; /* [assignment_count] "key=value" of keys of the task: other data */
    int assignment_count;
    /* Whether of a Hugging Face decoder model and tokenizer are all that is wanted
     * (train/weights/pretrained.h): its weights then stay in their files. The longest text has `tokens`, or
     * as many as the model has positions for (0). For others such a folder is a run of the task language. */
    bool takes_pretrained;
    int64_t tokens;
    bool reads_parameters; /* of such a decoder: they are copied from its files */
};

/* Loads it; the caller closes it. An assignment that changes nothing is refused. */
ROTARY_CHECKED rotary_status loaded_model_open(const struct loaded_model_call *call,
                                               struct loaded_model *model, rotary_error *error);
void loaded_model_close(struct loaded_model *model);
/* The positions of the model in a folder, without loading it. */
ROTARY_CHECKED rotary_status loaded_model_positions(const char *folder, int64_t *positions,
                                                    rotary_error *error);

#endif
