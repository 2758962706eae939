/* SPDX-License-Identifier: Apache-2.0
 *
 * Scores of a trained model on sequences of another length than it was trained on: problems that stand last
 * in such sequences (task_long_prompt), and the loss of such validation sequences, into which a task that
 * learns from text cuts it anew. A rotation can be scaled for a longer one, as models of long context are.
 */
#ifndef ROTARY_TRAIN_EVALUATION_LENGTH_EVALUATION_H
#define ROTARY_TRAIN_EVALUATION_LENGTH_EVALUATION_H

#include "train/evaluation/scores.h"
#include "train/folder/checkpoint.h"

/* The scalings by a factor, length / trained length, with the trained length as the context before scaling
 * (rotary_scaling in include/rotary/rope.h). Llama 3's has its default ramp, 1 to 4; LongRoPE has lists of
 * factors besides, which are searched for each model. */
enum length_scaling {
    LENGTH_SCALING_NONE,
    LENGTH_SCALING_LINEAR,
    LENGTH_SCALING_NTK,
    LENGTH_SCALING_DYNAMIC,
    LENGTH_SCALING_YARN,
    LENGTH_SCALING_LLAMA3,
    LENGTH_SCALING_LONGROPE,
    LENGTH_SCALINGS,
};
extern const char *const length_scaling_names[]; /* NULL-terminated, in the order of the enum: "none", ... */

struct length_call {
    const char *folder; /* of the run */
    enum checkpoint_kind checkpoint;
    const struct run_config *config; /* the run's */
    int64_t trained;                 /* tokens of a sequence in training; 0: those of the configuration */
    const struct backend *backend;
    const struct evaluation_config *evaluation; /* but for `last` */
    int64_t length;                             /* tokens of a sequence */
    enum length_scaling scaling;
    const json_t *factors; /* of longrope, which wants them: {"short_factor": [...], "long_factor": [...]} */
};

enum { LENGTH_MIN = 16, LENGTH_MAX = 1 << 20 }; /* as sequence_length */
/* The run's configuration for sequences of the length, which the caller frees. */
struct run_config length_config(const struct length_call *call);
/* The factor of a scaling: 1 for sequences that are not longer than those of training. */
double length_factor(const struct length_call *call);
/* Whether the model computes sequences of this length: not beyond the end of a learned table of positions,
 * with randomised positions no more tokens than there are, and none of which the configuration would be
 * refused, as where xPos's magnitudes overflow. With a scaling: whether it rotates, too, and was trained
 * without one, and without randomised positions. */
bool length_is_possible(const struct length_call *call);
/* ROTARY_INVALID_ARGUMENT for a task with a corpus whose sequences are as long as they are, for a length
 * that is too short for the task's problems, for a scaling of a model that was trained with rope_scaling
 * or rope_parameters, and for factors that are not those of the model's rotation. Reads configuration,
 * length, scaling and factors. */
ROTARY_CHECKED rotary_status length_check(const struct length_call *call, rotary_error *error);
/* Scores the model, which must be possible. Checks the same. evaluation->sample_count problems are recorded,
 * as evaluation_run does. */
ROTARY_CHECKED rotary_status length_evaluate(const struct length_call *call, struct evaluation *evaluation,
                                             rotary_error *error);

#endif
