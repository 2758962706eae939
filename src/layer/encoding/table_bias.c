/* SPDX-License-Identifier: Apache-2.0 */
#include "layer/encoding/table_bias.h"

#include "base/integer.h"

#include <stdio.h>
#include <stdlib.h>

/* The entry of a table for entry i of a head's bias. */
static int64_t place_of(const struct distance_bias_shape *shape, int64_t head, int64_t i)
{
    const struct table_bias *table = shape->settings.table;
    int64_t distance = shape->first + i, away = distance < 0 ? -distance : distance;
    return (table->rows == 1 ? 0 : head) * table->columns + min_i64(away, table->columns - 1);
}

static void fill_from(const struct distance_bias_shape *shape, const float *table, float *bias)
{
    for (int64_t head = 0; head < shape->heads; head++)
        for (int64_t i = 0; i < shape->distances; i++)
            bias[head * shape->distances + i] = table[place_of(shape, head, i)];
}

static void fill_fixed(const struct distance_bias_shape *shape, const float *const *parameters, float *bias)
{
    (void)parameters;
    fill_from(shape, shape->settings.table->values, bias);
}

static void fill_learned(const struct distance_bias_shape *shape, const float *const *parameters, float *bias)
{
    fill_from(shape, parameters[0], bias);
}

static int list(const struct distance_bias_shape *shape, struct parameter rows[DISTANCE_BIAS_PARAMETERS])
{
    const struct table_bias *table = shape->settings.table;
    rows[0] = (struct parameter){
        .rows = table->rows, .columns = table->columns, .initial = INITIAL_VALUES, .values = table->values};
    snprintf(rows[0].name, sizeof rows[0].name, "position.bias");
    return 1;
}

static void gradient(const struct distance_bias_shape *shape, const float *const *parameters,
                     const float *d_bias, double *const *d_parameters)
{
    (void)parameters;
    for (int64_t head = 0; head < shape->heads; head++)
        for (int64_t i = 0; i < shape->distances; i++)
            d_parameters[0][place_of(shape, head, i)] += (double)d_bias[head * shape->distances + i];
}

static const struct distance_bias_function fixed = {.fill = fill_fixed}, learned = {.fill = fill_learned,
                                                                                    .list = list,
                                                                                    .gradient = gradient};

const struct distance_bias_function *table_bias_function(const struct table_bias *bias)
{
    return bias->is_learned ? &learned : &fixed;
}

void table_bias_free(struct table_bias *bias)
{
    free(bias->values);
    *bias = (struct table_bias){0};
}
