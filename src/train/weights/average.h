/* SPDX-License-Identifier: Apache-2.0
 *
 * The mean of the weights of a run's last checkpoints (Vaswani et al. 2017, section 6.1): those of the last
 * `average_checkpoints` steps that are multiples of checkpoint_every.
 *
 * After each such checkpoint its weights are kept in a file of their own, and those that no plan of steps can
 * still need are removed. So a run that is killed and resumed averages the same weights, also where it is
 * resumed for more steps. At the end the files become average.safetensors and are removed.
 */
#ifndef ROTARY_TRAIN_WEIGHTS_AVERAGE_H
#define ROTARY_TRAIN_WEIGHTS_AVERAGE_H

#include "train/folder/checkpoint.h"

/* Checks that the folder of a run that has done `step` steps has the weights of all earlier checkpoints that
 * the average at the end needs: ROTARY_INVALID_ARGUMENT with the step that is missing if it was resumed after
 * its end, for too few steps more. */
ROTARY_CHECKED rotary_status average_check(const char *folder, const struct run_config *config, int64_t step,
                                           rotary_error *error);

/* Keeps the weights if `step` is one of those that may be averaged; they must be those of the checkpoint just
 * written. Does nothing if they are kept already, or the run averages nothing. */
ROTARY_CHECKED rotary_status average_keep(const char *folder, const struct run_config *config,
                                          const struct parameters *parameters, int64_t step,
                                          rotary_error *error);

/* Replaces the parameters' values by the mean, and writes it as average.safetensors, unless that is of the
 * run's last step already: then the values are those of the file. Removes the weights that were kept. The
 * mean is rounded once, from a sum in double in the order of the steps. */
ROTARY_CHECKED rotary_status average_finish(const char *folder, const struct run_config *config,
                                            struct parameters *parameters, rotary_error *error);

#endif
