/* SPDX-License-Identifier: Apache-2.0
 *
 * The flat arrays of a parameter table, copied from and to backend memory. Row i begins at rows[i].offset.
 */
#ifndef TESTS_SUPPORT_PARAMETER_COPY_H
#define TESTS_SUPPORT_PARAMETER_COPY_H

#include "backend/parameters.h"

/* A copy of the array, [elements], which the caller frees. */
float *parameter_copy(const struct parameters *parameters, enum parameter_array array);
/* Writes the array; `from` is [elements]. */
void parameter_replace(struct parameters *parameters, enum parameter_array array, const float *from);
/* Writes the array and frees `from`. */
void parameter_give(struct parameters *parameters, enum parameter_array array, float *from);
/* Sets the array to zero. */
void parameter_clear(struct parameters *parameters, enum parameter_array array);
/* Fills the values as the scripts in tests/golden do: element i of a row with 0.3 sin(0.7 i + 0.05 i^2 +
 * length of its name), of a norm's weight with 1 more. */
void parameter_fill(struct parameters *parameters);
/* Whether two tables have the same bits in an array. */
bool parameter_same(const struct parameters *a, const struct parameters *b, enum parameter_array array);

#endif
