/* SPDX-License-Identifier: Apache-2.0
 *
 * What the ranks of a run tell each other beside the gradients of their shards. With ranks NULL each of these does
 * nothing.
 */
#ifndef ROTARY_TRAIN_TOGETHER_H
#define ROTARY_TRAIN_TOGETHER_H

#include "backend/parameters.h"
#include "ranks/ranks.h"
#include "train/run.h"

/* Whether so many ranks can have the shards of the configuration between them. */
ROTARY_CHECKED rotary_status together_check_shards(const struct ranks *ranks, const struct run_config *config,
                                                   rotary_error *error);
/* Checks that all ranks have this configuration (NULL: each may have its own) and compute alike. */
ROTARY_CHECKED rotary_status together_check_same(const struct ranks *ranks, const struct run_config *config,
                                                 const struct backend *backend, rotary_error *error);

/* Copies the values of rank 0, of a table without a share its moments, and those of the adapter, to the others. */
ROTARY_CHECKED rotary_status together_share_parameters(const struct ranks *ranks,
                                                       struct parameters *parameters, rotary_error *error);
/* Sums the gradients of all ranks, a piece at a time. pieces: memory of the host. */
enum { TOGETHER_PIECES = 2 * RANKS_PIECE }; /* floats */
ROTARY_CHECKED rotary_status together_sum_gradients(const struct ranks *ranks, struct parameters *parameters,
                                                    float *pieces, rotary_error *error);

/* What all ranks know before the first backward pass of a step: sums over them. */
struct together_counts {
    int64_t targets, tokens, sequences;
    int64_t stops;     /* ranks that are to stop: then no rank takes the step */
    int64_t evaluates; /* 1: rank 0 begins an evaluation instead */
    int64_t collects;  /* 1: rank 0 wants the moments that it has not, and the others go on waiting */
};
ROTARY_CHECKED rotary_status together_count(const struct ranks *ranks, struct together_counts *counts,
                                            rotary_error *error);
/* The losses of all ranks, and whether one of them failed. */
struct together_losses {
    struct loss_sums sums;
    int64_t failed;
};
ROTARY_CHECKED rotary_status together_sum_losses(const struct ranks *ranks, struct together_losses *losses,
                                                 rotary_error *error);

#endif
