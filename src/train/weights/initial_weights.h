/* SPDX-License-Identifier: Apache-2.0
 *
 * A run that begins with the weights of another (the setting `init`), or of a Hugging Face model: the next
 * stage of its training, on longer sequences or other text, or another task. Its vocabulary is that of the
 * other.
 */
#ifndef ROTARY_TRAIN_WEIGHTS_INITIAL_WEIGHTS_H
#define ROTARY_TRAIN_WEIGHTS_INITIAL_WEIGHTS_H

#include "huggingface/weight_files.h"
#include "train/run.h"

/* Makes the model that of the run that `init` names. What follows from vocabulary and length of the task is
 * left open, and so are labels of another task; a decoder keeps its positions, and so does a table of learned ones. */
ROTARY_CHECKED rotary_status initial_weights_model(struct run_config *config, rotary_error *error);
/* After other settings: `taken` is the model as initial_weights_model made it. A decoder gets positions for
 * longer sequences, and scalings by length are for these. ROTARY_INVALID_ARGUMENT names the key of what the
 * weights do not fit: sizes, norms, activations, windows. Position encodings, scalings of the rotation and
 * dropout may be others. */
ROTARY_CHECKED rotary_status initial_weights_fit(const struct transformer_config *taken,
                                                 struct run_config *config, rotary_error *error);

/* Copies the values of parameters, by name, from the last checkpoint of the folder that `init` names; without
 * one nothing is done. For the same task there must be the same parameters in both. For another one those
 * that the checkpoint lacks stay as they are (a head), and those that the model lacks are left out; at least
 * one must be there. One of another shape is ROTARY_BAD_FILE. `unused` gets the tensors of heads of other tasks in
 * files of a Hugging Face model. */
ROTARY_CHECKED rotary_status initial_weights_load(const struct run_config *config,
                                                  struct parameters *parameters,
                                                  struct unused_tensors *unused, rotary_error *error);

#endif
