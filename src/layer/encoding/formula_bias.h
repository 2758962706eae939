/* SPDX-License-Identifier: Apache-2.0
 *
 * Biases by distance that are given as a formula of distance, head, heads and learned numbers.
 */
#ifndef ROTARY_LAYER_ENCODING_FORMULA_BIAS_H
#define ROTARY_LAYER_ENCODING_FORMULA_BIAS_H

#include "layer/encoding/encoding.h"
#include "layer/encoding/formula.h"

/* What a formula may name beside the learned numbers, in this order. */
enum formula_bias_name {
    FORMULA_BIAS_DISTANCE, /* the key's position minus the query's */
    FORMULA_BIAS_HEAD,     /* 0 ... heads - 1 */
    FORMULA_BIAS_HEADS,
    FORMULA_BIAS_NAMES
};

struct formula_bias {
    const struct formula *formula; /* borrowed; its names are those above, then the learned numbers */
    int learned;                   /* at most DISTANCE_BIAS_PARAMETERS */
    struct formula_bias_number {
        char name[FORMULA_NAME_BYTES];
        bool shared;    /* one number for all heads; else one for each */
        float *initial; /* owned: [heads], or the one number */
    } numbers[DISTANCE_BIAS_PARAMETERS];
};

/* The function of a distance_bias_shape.settings.formula with so many learned numbers. */
const struct distance_bias_function *formula_bias_function(int learned_numbers);
void formula_bias_free(struct formula_bias *bias);

#endif
