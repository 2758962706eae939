/* SPDX-License-Identifier: Apache-2.0
 *
 * DeBERTa's disentangled attention (He et al. 2021, 3.1): the score of query i and key j is
 * q_i . k_j + q_i . K_r[delta(i, j)] + k_j . Q_r[delta(j, i)], divided by the root of 3 d, where delta(i, j)
 * is i - j + k, clipped to 0 ... 2 k - 1. Each layer projects K_r and Q_r from one table of embeddings.
 */
#include "layer/encoding/encoding.h"

const struct position_encoding encoding_deberta = {.embedding = EMBEDDING_POSITION_NONE,
                                                   .distance_vectors = {.keys = DISTANCE_VECTORS_PROJECTED,
                                                                        .queries = DISTANCE_VECTORS_PROJECTED,
                                                                        .rows = DISTANCE_ROWS_TABLE},
                                                   .score_products = 3};
