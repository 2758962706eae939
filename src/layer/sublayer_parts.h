/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of several types of sublayers share: linear layers, calls of attention, matrices.
 */
#ifndef ROTARY_LAYER_SUBLAYER_PARTS_H
#define ROTARY_LAYER_SUBLAYER_PARTS_H

#include "layer/sublayer.h"

/* A linear layer "<config->name>.<name>" (without a name of the sublayer: "<name>") with the initial
 * distribution of a projection from the residual stream or, with `joins`, back to it. */
struct sublayer_linear {
    const char *name;
    int64_t inputs, outputs;
    /* Where several matrices are stored below one another: outputs of the first, and of each after it; 0: one
     * matrix, or all have as many outputs. */
    int64_t first_outputs, next_outputs;
    int64_t rows; /* the maximum per call; 0: config->batch * config->time */
    bool bias, joins;
    bool tied; /* shares parameter `tied_weight` of the table as its weight */
    int tied_weight;
};
ROTARY_CHECKED rotary_status sublayer_add_linear(struct linear **linear, const struct backend *backend,
                                                 const struct sublayer_config *config,
                                                 const struct sublayer_linear *shape,
                                                 struct parameters *parameters, rotary_error *error);

/* Makes a call of attention, and shows it to the observer. */
ROTARY_CHECKED rotary_status sublayer_attend(const struct sublayer *sublayer,
                                             const rotary_attention_forward_call *call,
                                             const struct attention_observer *observer, rotary_error *error);

/* [rows of the largest call, columns] of the storage type; 0 columns: no memory. */
struct matrix sublayer_push_rows(const struct sublayer *sublayer, struct rotary_arena *arena, int64_t rows,
                                 int64_t columns);
struct matrix sublayer_push(const struct sublayer *sublayer, struct rotary_arena *arena, int64_t columns);

#endif
