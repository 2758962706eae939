/* SPDX-License-Identifier: Apache-2.0
 *
 * Transformer-XL's relative positions (Dai et al. 2019, 3.3): the score of query i and key j is
 * (q_i + u) . k_j + (q_i + v) . W_r R_(i - j), R being sinusoids of the distance. Each layer has its W_r; u
 * and v are vectors of each head. Segments that are kept from before are no part of it.
 */
#include "layer/encoding/encoding.h"

const struct position_encoding encoding_transformer_xl = {
    .embedding = EMBEDDING_POSITION_NONE,
    .distance_vectors = {
        .keys = DISTANCE_VECTORS_PROJECTED, .rows = DISTANCE_ROWS_SINUSOIDS, .query_biases = true}};
