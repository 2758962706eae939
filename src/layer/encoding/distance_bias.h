/* SPDX-License-Identifier: Apache-2.0
 *
 * The bias by distance that an encoding adds to the scores of self-attention, in the memory of a backend, and
 * its parameters where it is learned. The layers of a stack share a table (Raffel et al. 2020); each has a
 * piecewise-linear bias of its own (Li et al. 2024).
 *
 * A table of heads times distances is small, so it is computed on the host: learned biases cost a read and a
 * write in each pass. What is computed is a function of the values alone, whatever the number of threads.
 */
#ifndef ROTARY_LAYER_ENCODING_DISTANCE_BIAS_H
#define ROTARY_LAYER_ENCODING_DISTANCE_BIAS_H

#include "layer/encoding/encoding.h"

struct distance_bias {
    /* For attention's calls: at most one of them; without data or intercepts there is no such bias. */
    rotary_attention_distance_bias call;
    rotary_attention_piecewise_bias piecewise;
    bool is_learned; /* known without memory too */

    const struct backend *backend;
    const struct distance_bias_function *function; /* NULL: the encoding has no bias */
    struct distance_bias_shape shape;
    float *memory;   /* the bias, of the backend, owned; then its gradient, of a learned one in training */
    float *gradient; /* there; NULL: none */
    int count;       /* parameters */
    int rows[DISTANCE_BIAS_PARAMETERS];          /* in the table of parameters */
    uint64_t versions[DISTANCE_BIAS_PARAMETERS]; /* of the values in memory; 0: none yet */
    /* Of a learned one, on the host, owned: the parameters and their gradients, and a place for the bias, its
     * gradient or that of a parameter. */
    float *table, *values[DISTANCE_BIAS_PARAMETERS];
    double *gradients[DISTANCE_BIAS_PARAMETERS];
};

struct distance_bias_config {
    const struct distance_bias_function *function; /* NULL: the encoding has no bias */
    const char *prefix; /* of the parameters' names: "", "encoder." or that of a layer */
    int64_t heads;
    int64_t positions; /* sequences have at most so many tokens; 0: only parameters are added, no memory */
    bool causal;
    bool training;
    struct distance_bias_settings settings;
};
/* The bias of an encoding; an empty one where it has none. Adds the parameters of a learned one to the table,
 * whose initial values stay borrowed. */
ROTARY_CHECKED rotary_status distance_bias_create(struct distance_bias *bias, const struct backend *backend,
                                                  const struct distance_bias_config *config,
                                                  struct parameters *parameters, rotary_error *error);
void distance_bias_destroy(struct distance_bias *bias);
/* The segments of a piecewise-linear bias; 0: the encoding has another bias, or none. */
int64_t distance_bias_segments(const struct distance_bias_config *config);
/* Bytes of the backend that distance_bias_create would allocate. */
double distance_bias_bytes(const struct distance_bias_config *config);

/* Before a forward pass or decoding: computes a learned bias anew if its parameters have changed. */
ROTARY_CHECKED rotary_status distance_bias_update(struct distance_bias *bias,
                                                  const struct parameters *parameters, rotary_error *error);
/* Before and after the backward pass of the layers, which add to the bias's gradient. The second adds the
 * gradients of the parameters to theirs. */
ROTARY_CHECKED rotary_status distance_bias_clear_gradient(struct distance_bias *bias, rotary_error *error);
ROTARY_CHECKED rotary_status distance_bias_backward(struct distance_bias *bias, struct parameters *parameters,
                                                    rotary_error *error);

#endif
