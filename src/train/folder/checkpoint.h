/* SPDX-License-Identifier: Apache-2.0
 *
 * Checkpoints: the last one, model.safetensors and optimizer.safetensors, replaced together; and the best one
 * by validation, best.safetensors.
 *
 * Both are written as *.next, beside the old ones, and synced. Then optimizer.safetensors.next is renamed,
 * which commits the new checkpoint, and then model.safetensors.next. A process killed between the two renames
 * leaves the new model in model.safetensors.next: checkpoint_open finishes the renaming. A process killed
 * earlier leaves .next files that are ignored and overwritten.
 *
 * best.safetensors has the model alone, so it is replaced by one rename. It records its own step and
 * validation loss, by which a resumed run decides like one that was never stopped. A process killed after it
 * was written leaves a best checkpoint of a step after the last one: the resumed run takes that step again,
 * with the same bits, and finds that its loss is not lower.
 */
#ifndef ROTARY_TRAIN_FOLDER_CHECKPOINT_H
#define ROTARY_TRAIN_FOLDER_CHECKPOINT_H

#include "backend/parameters.h"
#include "file/safetensors.h"
#include "train/run.h"

/* What resuming needs beside parameters and optimizer state. Random numbers are functions of seed and step.
 */
struct checkpoint_state {
    int64_t step; /* steps done; 0: the run is at its start, and the parameters are the initial ones */
    /* Sums over the steps since the last line of metrics, for the mean loss of the next line. */
    double loss_total;
    int64_t loss_counted, loss_steps; /* targets and steps in the sum */
    double gradient_norm;             /* of the step, for its line of metrics */
    rotary_isa isa;                   /* that the run began with; AUTO: it has not begun */
    bool cuda;                        /* it began on a CUDA device */
};

/* Replaces the folder's checkpoint by this state, the parameters, the moments of those that are trained, and
 * values and moments of their adapter, which lie in optimizer.safetensors. A failure leaves the old
 * checkpoint in place. */
ROTARY_CHECKED rotary_status checkpoint_write(const char *folder, const struct run_config *config,
                                              const struct parameters *parameters,
                                              const struct checkpoint_state *state, rotary_error *error);

struct checkpoint {
    struct checkpoint_state state;
    struct safetensors *model, *optimizer; /* NULL if there is no checkpoint */
};
/* Opens the folder's checkpoint, first finishing an interrupted rename; without a checkpoint the state is
 * that of step 0. Files that are damaged, of another format or configuration, or of different steps are
 * ROTARY_BAD_FILE and stay unchanged. */
ROTARY_CHECKED rotary_status checkpoint_open(struct checkpoint *checkpoint, const char *folder,
                                             const struct run_config *config, rotary_error *error);
/* Copies values and moments, and all of the table's adapter. The files must have every parameter in its
 * shape, and no other tensor. */
ROTARY_CHECKED rotary_status checkpoint_load(const struct checkpoint *checkpoint,
                                             struct parameters *parameters, rotary_error *error);
/* Whether a parameter of this name was trained: the files of an adaptation have no moments of others. */
bool checkpoint_has_moments(const struct checkpoint *checkpoint, const struct parameter *row);
void checkpoint_close(struct checkpoint *checkpoint);

/* The best model so far. */
struct checkpoint_best {
    int64_t step; /* of the evaluation; 0: there was none yet, and loss is infinity */
    double loss;  /* its validation loss */
};
/* Replaces the folder's best checkpoint. A failure leaves the old one in place. */
ROTARY_CHECKED rotary_status checkpoint_write_best(const char *folder, const struct run_config *config,
                                                   const struct parameters *parameters,
                                                   const struct checkpoint_best *best, rotary_error *error);
/* Reads step and loss of the folder's best checkpoint. A file that is damaged, of another configuration, or
 * no best checkpoint is ROTARY_BAD_FILE. */
ROTARY_CHECKED rotary_status checkpoint_read_best(const char *folder, const struct run_config *config,
                                                  struct checkpoint_best *best, rotary_error *error);

enum checkpoint_kind { CHECKPOINT_LAST, CHECKPOINT_BEST, CHECKPOINT_AVERAGE };
extern const char *const checkpoint_names[]; /* NULL-terminated, in the order of checkpoint_kind */
/* Copies the values alone, for inference, and sets *step to the steps they were trained for. `config` must be
 * the configuration of the run. A folder without such a checkpoint is ROTARY_INVALID_ARGUMENT; a file of the
 * other kind under its name is ROTARY_BAD_FILE. Changes nothing in the folder. */
ROTARY_CHECKED rotary_status checkpoint_load_model(const char *folder, enum checkpoint_kind kind,
                                                   const struct run_config *config,
                                                   struct parameters *parameters, int64_t *step,
                                                   rotary_error *error);

/* Checks the last checkpoint as loading it does, if there is one: for those who read the files beside it
 * alone. */
ROTARY_CHECKED rotary_status checkpoint_check(const char *folder, const struct run_config *config,
                                              rotary_error *error);

/* ---- for train/weights/average.c ---- */

/* A file of weights alone. */
struct checkpoint_weights {
    const char *folder, *name;
    enum checkpoint_kind kind;
    const char *mark; /* what the metadata say of a kind other than the last; reading ignores it */
    const struct run_config *config;
    const struct parameters *parameters; /* reading ignores them */
    int64_t step;                        /* reading ignores it */
};
/* Replaces the file. A failure leaves the old one in place. */
ROTARY_CHECKED rotary_status checkpoint_write_weights(const struct checkpoint_weights *weights,
                                                      rotary_error *error);
/* Opens it, which safetensors_close closes, and sets *step to its step. A file that is damaged, of another
 * configuration or of another kind is ROTARY_BAD_FILE. */
ROTARY_CHECKED rotary_status checkpoint_open_weights(const struct checkpoint_weights *weights,
                                                     struct safetensors **file, int64_t *step,
                                                     rotary_error *error);
/* The values of a parameter in the file; a tensor that is missing or of another shape is ROTARY_BAD_FILE. */
ROTARY_CHECKED rotary_status checkpoint_values(const struct safetensors *file, const struct parameter *row,
                                               const float **values, rotary_error *error);

#endif
