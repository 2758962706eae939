/* SPDX-License-Identifier: Apache-2.0
 *
 * Biases by distance that are given as a table: entry i of a head is for keys i tokens away, in either
 * direction, and the last one for all that are further away.
 */
#ifndef ROTARY_LAYER_ENCODING_TABLE_BIAS_H
#define ROTARY_LAYER_ENCODING_TABLE_BIAS_H

#include "layer/encoding/encoding.h"

struct table_bias {
    int64_t rows, columns; /* one row for all heads, or one for each; columns at least 1 */
    bool is_learned;       /* then these are the initial values */
    float *values;         /* [rows, columns], owned */
};

/* The function of distance_bias_shape.settings.table, which is `bias`. */
const struct distance_bias_function *table_bias_function(const struct table_bias *bias);
void table_bias_free(struct table_bias *bias);

#endif
