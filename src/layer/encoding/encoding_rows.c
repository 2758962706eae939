/* SPDX-License-Identifier: Apache-2.0
 *
 * Encodings that need nothing but their rows.
 */
#include "layer/encoding/encoding.h"

/* NoPE: only the causal mask gives order (Kazemnejad et al. 2023). */
const struct position_encoding encoding_none = {.embedding = EMBEDDING_POSITION_NONE};

/* ---- what is added to the embedding of each token: a row of a table ---- */

/* A trained table (Gehring et al. 2017). */
const struct position_encoding encoding_learned = {.embedding = EMBEDDING_POSITION_LEARNED};

/* Fixed sines and cosines (Vaswani et al. 2017). */
const struct position_encoding encoding_sinusoidal = {.embedding = EMBEDDING_POSITION_SINUSOIDAL};

/* ---- rotations within attention ---- */

/* Queries and keys (Su et al. 2021). */
const struct position_encoding encoding_rope = {.rotate = ROTATE_QUERY_KEY};

/* Also values, and outputs inversely (Harik and Jayasiri 2022). */
const struct position_encoding encoding_roper = {.rotate = ROTATE_ALL};

/* Queries and keys, with magnitudes whose product falls with the distance (Sun et al. 2022). */
const struct position_encoding encoding_xpos = {.rotate = ROTATE_QUERY_KEY, .xpos = true};

/* ---- vectors by distance ---- */

struct vector_options {
    int64_t max_relative_position;
};

static const struct setting vector_table[] = {
    {"max_relative_position", SETTING_INTEGER, offsetof(struct vector_options, max_relative_position), 1,
     1 << 20, NULL, .help = "distance from which on all share their vectors (shaw, deberta)"},
};
static const struct vector_options vector_defaults = {.max_relative_position = 16};
static const struct encoding_keys vector_keys = {.settings = vector_table,
                                                 .count = sizeof vector_table / sizeof vector_table[0],
                                                 .options_bytes = sizeof vector_defaults,
                                                 .defaults = &vector_defaults};

static int64_t clip(const union encoding_options *options)
{
    return ((const struct vector_options *)options)->max_relative_position;
}

/* Relative position representations (Shaw, Uszkoreit and Vaswani 2018): a learned vector a^K of the clipped
 * distance is added to keys, and a^V to values (equations 3 and 4). Each layer has its own tables, which its
 * heads share. */
const struct position_encoding encoding_shaw = {
    .keys = &vector_keys,
    .distance_vectors = {.keys = DISTANCE_VECTORS_TABLE, .values = DISTANCE_VECTORS_TABLE},
    .clip = clip};

/* Transformer-XL's relative positions (Dai et al. 2019, 3.3): the score of query i and key j is
 * (q_i + u) . k_j + (q_i + v) . W_r R_(i - j), R being sinusoids of the distance. Each layer has its W_r; u
 * and v are vectors of each head. Segments that are kept from before are no part of it. */
const struct position_encoding encoding_transformer_xl = {
    .distance_vectors = {
        .keys = DISTANCE_VECTORS_PROJECTED, .rows = DISTANCE_ROWS_SINUSOIDS, .query_biases = true}};

/* DeBERTa's disentangled attention (He et al. 2021, 3.1): the score of query i and key j is
 * q_i . k_j + q_i . K_r[delta(i, j)] + k_j . Q_r[delta(j, i)], divided by the root of 3 d, where delta(i, j)
 * is i - j + k, clipped to 0 ... 2 k - 1. Each layer projects K_r and Q_r from one table of embeddings. */
const struct position_encoding encoding_deberta = {.keys = &vector_keys,
                                                   .distance_vectors = {.keys = DISTANCE_VECTORS_PROJECTED,
                                                                        .queries = DISTANCE_VECTORS_PROJECTED,
                                                                        .rows = DISTANCE_ROWS_TABLE},
                                                   .clip = clip,
                                                   .score_products = 3};
