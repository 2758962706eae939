/* SPDX-License-Identifier: Apache-2.0
 *
 * How a position encoding lowers scores with the distance of query and key, by its formula.
 *
 * Of a rotation it is the long-term decay of section 3.4.3 of the RoFormer paper (Su et al., arXiv
 * 2104.09864). By Abel summation the score of a query and a key before it at distance n is at most the
 * largest difference between the products of neighbouring pairs, times the sum of |S_j| over j = 1 ... pairs,
 * where
 *
 *     S_j = sum of zeta_k^(n / scale) exp(i n w_k) over k = 0 ... j - 1
 *
 * and the curve is the mean of these |S_j|. The zeta_k are xPos's (Sun et al., arXiv 2212.10554), 1 without.
 *
 * Of a bias by distance it is the bias of each head.
 */
#ifndef ROTARY_MODEL_ENCODING_DECAY_H
#define ROTARY_MODEL_ENCODING_DECAY_H

#include "model/transformer_config.h"

#include <rotary/rope.h>

struct decay_curves {
    bool is_bound;  /* of a rotation, the same in all heads; else biases */
    int64_t curves; /* heads, or 1 */
    int64_t count;  /* distances 0 ... count - 1 */
    double *values; /* [curves, count] */
};
void decay_curves_free(struct decay_curves *curves);

/* The bound of a rotation up to `distance`; xpos_scale as in its configuration, 0: it has no xPos. The
 * attention factor is left out: no distance changes it. The caller frees the curves, also those of an
 * encoding. */
ROTARY_CHECKED rotary_status decay_of_rotation(const rotary_rope *rope, double xpos_scale, int64_t distance,
                                               struct decay_curves *curves, rotary_error *error);

/* What an encoding's curves depend on beside the distance. */
struct decay_encoding {
    const char *position; /* a name, or a file that describes one (model/encoding/custom_encoding.h) */
    int64_t heads;        /* of biases */
    int64_t channels;     /* of a rotated head, or of the sinusoids of sandwich */
};
/* A configuration with that encoding. Errors: those of reading a name or a file. */
ROTARY_CHECKED rotary_status decay_config(const struct decay_encoding *encoding,
                                          struct transformer_config *config, rotary_error *error);
/* Its curves: the bound of its rotation, or without one its bias. ROTARY_INVALID_ARGUMENT where there is
 * neither, or the bias is learned: the error says so. */
ROTARY_CHECKED rotary_status decay_of_encoding(const struct transformer_config *config, int64_t distance,
                                               struct decay_curves *curves, rotary_error *error);

#endif
