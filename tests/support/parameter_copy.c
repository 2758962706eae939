/* SPDX-License-Identifier: Apache-2.0 */
#include "support/parameter_copy.h"

#include "support/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

float *parameter_copy(const struct parameters *parameters, enum parameter_array array)
{
    float *copy = calloc((size_t)parameters->elements + 1, sizeof *copy);
    for (int i = 0; CHECK(copy != NULL) && i < parameters->count; i++)
        CHECK(parameters_read(parameters, parameter_range(parameters, array, i),
                              copy + parameters->rows[i].offset, NULL) == ROTARY_OK);
    return copy;
}

void parameter_replace(struct parameters *parameters, enum parameter_array array, const float *from)
{
    for (int i = 0; i < parameters->count; i++)
        CHECK(parameters_write(parameters, parameter_range(parameters, array, i),
                               from + parameters->rows[i].offset, NULL) == ROTARY_OK);
}

void parameter_give(struct parameters *parameters, enum parameter_array array, float *from)
{
    parameter_replace(parameters, array, from);
    free(from);
}

void parameter_clear(struct parameters *parameters, enum parameter_array array)
{
    parameter_give(parameters, array, calloc((size_t)parameters->elements + 1, sizeof(float)));
}

bool parameter_same(const struct parameters *a, const struct parameters *b, enum parameter_array array)
{
    float *first = parameter_copy(a, array), *second = parameter_copy(b, array);
    bool same = a->elements == b->elements && a->elements > 0 &&
                memcmp(first, second, (size_t)a->elements * sizeof *first) == 0;
    free(first);
    free(second);
    return same;
}

void parameter_fill(struct parameters *parameters)
{
    float *values = parameter_copy(parameters, PARAMETER_VALUES);
    for (int row = 0; row < parameters->count; row++) {
        const char *name = parameters->rows[row].name;
        float *value = values + parameters->rows[row].offset;
        bool gain = strstr(name, "norm") && strstr(name, "weight");
        for (int64_t i = 0; i < parameter_elements(&parameters->rows[row]); i++) {
            double x = (double)i;
            double filled = 0.3 * sin(0.7 * x + 0.05 * x * x + (double)strlen(name));
            value[i] = (float)(gain ? 1.0 + filled : filled);
        }
    }
    parameter_give(parameters, PARAMETER_VALUES, values);
}
