/* SPDX-License-Identifier: Apache-2.0
 *
 * Low-rank adaptation (Hu et al. 2021, arXiv 2106.09685) of the weights that `init` gives. A target W
 * [outputs, inputs] is
 *
 *     W = W0 + s B A,   s = lora_alpha / lora_rank,   A [rank, inputs], B [outputs, rank]
 *
 * and A and B are trained in place of W. B begins at zero, so that W begins as W0, and A uniform with the
 * bound 1 / sqrt(inputs), as PEFT has it. From dW, the gradient of W that the backward pass gives,
 *
 *     dA = s B^T dW,   dB = s dW A^T
 *
 * so the model need not know: it computes with W, as if that were trained. W is what is saved, and is
 * computed anew after every step. Other parameters that `init` gave are frozen; those that it did not give (a
 * head) are trained as ever.
 */
#ifndef ROTARY_TRAIN_WEIGHTS_LORA_H
#define ROTARY_TRAIN_WEIGHTS_LORA_H

#include "huggingface/weight_files.h"
#include "train/folder/checkpoint.h"
#include "train/run.h"

struct lora;

/* Begins the adaptation of a model whose parameters have no gradients yet (transformer_limits), and allocates
 * them: takes the weights of `init` (`unused` as in initial_weights_load), and freezes what it gave. The parameters are borrowed, and A, B and W0
 * are the rows of their `adapter` from here on. */
ROTARY_CHECKED rotary_status lora_begin(struct lora **lora, const struct run_config *config,
                                        struct parameters *parameters, struct unused_tensors *unused,
                                        rotary_error *error);
/* Reads it from a checkpoint of the run: trained is what has moments in it. */
ROTARY_CHECKED rotary_status lora_resume(struct lora **lora, const struct run_config *config,
                                         struct parameters *parameters, const struct checkpoint *checkpoint,
                                         rotary_error *error);
/* NULL is allowed. */
void lora_destroy(struct lora *lora);

/* The gradients of A and B from those of the targets, which become zero. */
ROTARY_CHECKED rotary_status lora_gradients(struct lora *lora, rotary_error *error);
/* The targets from A and B. */
ROTARY_CHECKED rotary_status lora_merge(struct lora *lora, rotary_error *error);

#endif
