/* SPDX-License-Identifier: Apache-2.0
 *
 * Checkpoints: model.safetensors and optimizer.safetensors, replaced together.
 *
 * Both are written beside the old ones, as *.next, and synced. Then the optimizer's is renamed, which is the
 * moment the new checkpoint counts, and then the model's. Whoever is killed between the two leaves an
 * optimizer ahead of its model and the missing half in model.safetensors.next: checkpoint_open finishes the
 * renaming. Whoever is killed earlier leaves .next files that mean nothing and are overwritten.
 */
#ifndef ROTARY_TRAIN_CHECKPOINT_H
#define ROTARY_TRAIN_CHECKPOINT_H

#include "train/run.h"

/* What resuming needs beside parameters and moments: everything random is a function of seed and step. */
struct checkpoint_state {
    int64_t step; /* done; 0: none, the run is at its start */
    /* Of the steps since the last line of metrics, for the mean the next line tells. */
    double loss_total;
    int64_t loss_counted;
    double gradient_norm; /* of the step, for its line; 0 where an older version did not write it down */
};

/* Replaces the folder's checkpoint by this state, the parameters and their moments. When it fails the old one
 * stays. */
ROTARY_CHECKED rotary_status checkpoint_write(const char *folder, const struct run_config *config,
                                              const struct parameters *parameters,
                                              const struct checkpoint_state *state, rotary_error *error);

struct checkpoint {
    struct checkpoint_state state;
    struct safetensors *model, *optimizer; /* NULL: there is none */
};
/* Finishes a half-done checkpoint and opens it; with none in the folder the state is that of step 0. Damaged
 * files, files of another format, configuration or of different steps are ROTARY_BAD_FILE, and left alone. */
ROTARY_CHECKED rotary_status checkpoint_open(struct checkpoint *checkpoint, const char *folder,
                                             const struct run_config *config, rotary_error *error);
/* Copies values and moments. Every parameter must be there in its shape, and nothing else. */
ROTARY_CHECKED rotary_status checkpoint_load(const struct checkpoint *checkpoint,
                                             struct parameters *parameters, rotary_error *error);
void checkpoint_close(struct checkpoint *checkpoint);

/* Copies the values alone, for inference, of a model of this configuration; changes nothing in the folder. */
ROTARY_CHECKED rotary_status checkpoint_load_model(const char *folder, const struct run_config *config,
                                                   struct parameters *parameters, rotary_error *error);

#endif
