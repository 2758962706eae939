/* SPDX-License-Identifier: Apache-2.0
 *
 * Random inputs of the terms of attention.
 */
#ifndef TESTS_ATTENTION_TERM_INPUTS_H
#define TESTS_ATTENTION_TERM_INPUTS_H

#include "attention/attention_reference.h"

/* Signed f32 values of about `size`; the caller frees them. */
double *term_numbers(int64_t count, double size, uint64_t seed);

enum term_layout { TERM_HEAD_MAJOR, TERM_DISTANCE_MAJOR, TERM_SHARED, TERM_LAYOUTS };
/* Gives vectors by distance, whose range is there, strides with gaps and random data, which the caller frees.
 */
void term_vectors(const struct reference_case *c, struct reference_distance_vectors *vectors,
                  enum term_layout layout, double size, uint64_t seed);
/* Frees the data of all terms but the bias. */
void term_inputs_free(const struct reference_case *c);

#endif
