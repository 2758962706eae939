/* SPDX-License-Identifier: Apache-2.0
 *
 * Small encoders for tests, with the batch of tests/golden/make_encoder_goldens.py.
 */
#ifndef ENCODER_FIXTURE_H
#define ENCODER_FIXTURE_H

#include "model/transformer_parts.h"

enum { BATCH = 3, TIME = 7, ROWS = BATCH * TIME, VOCABULARY = 13 };
extern const int32_t encoder_lengths[BATCH];

/* An encoder with these settings, JSON, and the sizes of the scripts. */
void encoder_config(struct transformer_config *config, const char *text);
/* With initial weights, also for packed sequences. Ends the test where it fails. */
struct transformer *encoder_create(const struct backend *backend, const struct transformer_config *config,
                                   bool training);

/* A batch with what it points to: three sequences of 7, 4 and 1 tokens, eight of which have a target. */
struct masked_batch {
    struct batch batch;
    int32_t tokens[ROWS], segments[ROWS], classes[ROWS], starts[BATCH + 1];
};
void masked_batch(struct masked_batch *made, const struct transformer_config *config);
/* The same in two steps: sequences of 7 tokens each, and these cut to their lengths. */
void masked_batch_level(struct masked_batch *made, const struct transformer_config *config);
void masked_batch_cut(struct masked_batch *made);

/* Runs a batch with a gradient scale of 1. */
struct loss_sums encoder_run(struct transformer *transformer, const struct batch *batch,
                             struct transformer_call call);

/* Fills the parameters as the scripts do, and adds step * sin(0.37 i) to element i of the flat array. */
void encoder_fill(struct transformer *transformer, double step);
/* Of the gradients, the slope of the loss along the direction of encoder_fill. */
double encoder_slope(struct transformer *transformer);
/* The norm of a - b over that of b. */
double encoder_difference(const float *a, const float *b, int64_t count);

#endif
