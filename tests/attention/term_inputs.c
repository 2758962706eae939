/* SPDX-License-Identifier: Apache-2.0 */
#include "attention/term_inputs.h"

#include "support/check.h"

#include <stdlib.h>

double *term_numbers(int64_t count, double size, uint64_t seed)
{
    double *made = malloc((size_t)count * sizeof *made);
    if (!made)
        abort();
    for (int64_t i = 0; i < count; i++)
        made[i] = (double)(float)(size * (double)check_random(seed, (uint64_t)i, 2));
    return made;
}

void term_vectors(const struct reference_case *c, struct reference_distance_vectors *vectors,
                  enum term_layout layout, double size, uint64_t seed)
{
    int64_t vector = c->head_dim + 3;
    vectors->distance_stride = layout == TERM_DISTANCE_MAJOR ? c->heads * vector : vector;
    vectors->head_stride = layout == TERM_DISTANCE_MAJOR ? vector
                           : layout == TERM_SHARED       ? 0
                                                         : vectors->distances * vector;
    int64_t count =
        (c->heads - 1) * vectors->head_stride + (vectors->distances - 1) * vectors->distance_stride + vector;
    double *data = term_numbers(count, size, seed);
    for (int64_t i = 0; i < count; i++)
        data[i] = reference_round(c, data[i]);
    vectors->data = data;
}

void term_inputs_free(const struct reference_case *c)
{
    const double *const all[] = {c->distance_keys.data,   c->query_bias,         c->distance_queries.data,
                                 c->distance_values.data, c->distance_bias.data, c->sinks};
    for (int i = 0; i < 6; i++)
        free((void *)(uintptr_t)all[i]);
}
