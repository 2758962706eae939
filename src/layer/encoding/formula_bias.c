/* SPDX-License-Identifier: Apache-2.0 */
#include "layer/encoding/formula_bias.h"

#include "base/integer.h"

#include <stdio.h>
#include <stdlib.h>

enum { CHUNK = 64 }; /* of distances, whose numbers are on the stack */

/* What the formula is given for a head. */
struct head_inputs {
    double distances[CHUNK], head, heads, numbers[DISTANCE_BIAS_PARAMETERS];
    const double *pointers[FORMULA_BIAS_NAMES + DISTANCE_BIAS_PARAMETERS];
};

static void set_head(struct head_inputs *inputs, const struct distance_bias_shape *shape,
                     const float *const *parameters, int64_t head)
{
    const struct formula_bias *bias = shape->settings.formula;
    inputs->head = (double)head;
    inputs->heads = (double)shape->heads;
    inputs->pointers[FORMULA_BIAS_DISTANCE] = inputs->distances;
    inputs->pointers[FORMULA_BIAS_HEAD] = &inputs->head;
    inputs->pointers[FORMULA_BIAS_HEADS] = &inputs->heads;
    for (int i = 0; i < bias->learned; i++) {
        inputs->numbers[i] = (double)parameters[i][bias->numbers[i].shared ? 0 : head];
        inputs->pointers[FORMULA_BIAS_NAMES + i] = &inputs->numbers[i];
    }
}

/* Sets the distances from entry `first` on; returns how many. */
static int64_t set_distances(struct head_inputs *inputs, const struct distance_bias_shape *shape,
                             int64_t first)
{
    int64_t count = min_i64(shape->distances - first, CHUNK);
    for (int64_t j = 0; j < count; j++)
        inputs->distances[j] = (double)(shape->first + first + j);
    return count;
}

static void fill(const struct distance_bias_shape *shape, const float *const *parameters, float *bias)
{
    struct head_inputs inputs;
    double values[CHUNK];
    for (int64_t head = 0; head < shape->heads; head++) {
        set_head(&inputs, shape, parameters, head);
        for (int64_t first = 0; first < shape->distances; first += CHUNK) {
            int64_t count = set_distances(&inputs, shape, first);
            formula_values(shape->settings.formula->formula, inputs.pointers, count, values);
            for (int64_t j = 0; j < count; j++)
                bias[head * shape->distances + first + j] = (float)values[j];
        }
    }
}

static int list(const struct distance_bias_shape *shape, struct parameter rows[DISTANCE_BIAS_PARAMETERS])
{
    const struct formula_bias *bias = shape->settings.formula;
    for (int i = 0; i < bias->learned; i++) {
        rows[i] = (struct parameter){.rows = bias->numbers[i].shared ? 1 : shape->heads,
                                     .initial = INITIAL_VALUES,
                                     .values = bias->numbers[i].initial};
        snprintf(rows[i].name, sizeof rows[i].name, "position.%s", bias->numbers[i].name);
    }
    return bias->learned;
}

static void gradient(const struct distance_bias_shape *shape, const float *const *parameters,
                     const float *d_bias, double *const *d_parameters)
{
    const struct formula_bias *bias = shape->settings.formula;
    struct head_inputs inputs;
    double d_values[CHUNK], *d_numbers[FORMULA_BIAS_NAMES + DISTANCE_BIAS_PARAMETERS] = {NULL};
    for (int64_t head = 0; head < shape->heads; head++) {
        set_head(&inputs, shape, parameters, head);
        for (int i = 0; i < bias->learned; i++)
            d_numbers[FORMULA_BIAS_NAMES + i] = &d_parameters[i][bias->numbers[i].shared ? 0 : head];
        for (int64_t first = 0; first < shape->distances; first += CHUNK) {
            int64_t count = set_distances(&inputs, shape, first);
            for (int64_t j = 0; j < count; j++)
                d_values[j] = (double)d_bias[head * shape->distances + first + j];
            formula_gradient(bias->formula, inputs.pointers, count, d_values, d_numbers);
        }
    }
}

static const struct distance_bias_function fixed = {.fill = fill},
                                           learned = {.fill = fill, .list = list, .gradient = gradient};

const struct distance_bias_function *formula_bias_function(int learned_numbers)
{
    return learned_numbers > 0 ? &learned : &fixed;
}

void formula_bias_free(struct formula_bias *bias)
{
    for (int i = 0; i < bias->learned; i++)
        free(bias->numbers[i].initial);
    *bias = (struct formula_bias){0};
}
