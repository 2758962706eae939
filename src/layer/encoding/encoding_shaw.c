/* SPDX-License-Identifier: Apache-2.0
 *
 * Relative position representations (Shaw, Uszkoreit and Vaswani 2018): a learned vector a^K of the clipped
 * distance is added to keys, and a^V to values (equations 3 and 4). Each layer has its own tables, which its
 * heads share.
 */
#include "layer/encoding/encoding.h"

const struct position_encoding encoding_shaw = {
    .embedding = EMBEDDING_POSITION_NONE,
    .distance_vectors = {.keys = DISTANCE_VECTORS_TABLE, .values = DISTANCE_VECTORS_TABLE}};
