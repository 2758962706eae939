/* SPDX-License-Identifier: Apache-2.0
 *
 * Encodings that rotate within attention.
 */
#include "layer/encoding/encoding.h"

/* Queries and keys (Su et al. 2021). */
const struct position_encoding encoding_rope = {.embedding = EMBEDDING_POSITION_NONE,
                                                .rotate_query_key = true};

/* Also values, and outputs inversely (Harik and Jayasiri 2022). */
const struct position_encoding encoding_roper = {
    .embedding = EMBEDDING_POSITION_NONE, .rotate_query_key = true, .rotate_value = true};

/* Queries and keys, with magnitudes whose product falls with the distance (Sun et al. 2022). */
const struct position_encoding encoding_xpos = {
    .embedding = EMBEDDING_POSITION_NONE, .rotate_query_key = true, .xpos = true};
