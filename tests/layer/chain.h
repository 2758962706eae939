/* SPDX-License-Identifier: Apache-2.0
 *
 * A small network of every layer of src/layer but attention, run forward and backward:
 *
 *     stream = dropout(embedding);  up = first(norm1(stream));  sublayer_output = second(activation(up))
 *     middle = norm2(stream + dropout(sublayer_output));  loss = cross-entropy(output(norm3(middle)))
 *
 * where output shares the embedding's table.
 */
#ifndef TESTS_LAYER_CHAIN_H
#define TESTS_LAYER_CHAIN_H

#include "layer/embedding.h"
#include "layer/loss.h"
#include "layer/norm.h"

struct chain_config {
    int64_t batch, time;
    enum embedding_position position;
    enum norm_kind norm;
    enum activation activation;
    float dropout, smoothing;
};

struct chain {
    struct chain_config config;
    struct backend backend;
    struct parameters parameters;
    struct embedding embedding;
    struct norm norm[3];
    struct linear *first, *second, *output;
    struct loss *loss;
    int64_t rows;
    int32_t *tokens, *targets;
    struct rotary_arena arena;
    float *stream, *residual_sum, *middle, *d_stream, *mean[3], *rstd[3];
    void *normalised[3], *up, *hidden, *sublayer_output, *d_wide, *d_hidden, *d_narrow;
    struct loss_sums sums;
};

enum { CHAIN_VOCABULARY = 11, CHAIN_WIDTH = 24, CHAIN_HIDDEN = 40, CHAIN_POSITIONS = 64 };

/* Parameters are 0.3 sin(0.7 i + 0.05 i^2 + length of the name), plus 1 for gains. */
void chain_create(struct chain *chain, const struct chain_config *config, int threads, rotary_isa isa,
                  enum precision precision);
/* On a backend that the chain destroys. */
void chain_create_on(struct chain *chain, const struct chain_config *config, struct backend backend);
void chain_destroy(struct chain *chain);
/* Sets the sums; adds to the gradients if `backward`. */
void chain_run(struct chain *chain, bool backward);

#endif
