/* SPDX-License-Identifier: Apache-2.0
 *
 * Formulas of a few named numbers, such as "-slope * abs(distance)": read from text, evaluated in double for
 * many entries at once, and differentiated by reverse accumulation.
 *
 *     comparison  sum [< <= > >= == != sum]          1 or 0
 *     sum         product {+ - product}
 *     product     sign {* / sign}
 *     sign        - sign, or power
 *     power       primary [^ sign]                   from the right: 2^3^2 is 2^9, and -2^2 is -4
 *     primary     number, name, pi, function(...), (comparison)
 *
 * Functions are abs, sqrt, exp, log, log2, sin, cos, floor of one argument, min and max of two,
 * if(condition, then, else), which takes `then` where the condition is not 0, and sum(i, first, last, term):
 * the term for i = first ... last, which are constants.
 */
#ifndef ROTARY_LAYER_ENCODING_FORMULA_H
#define ROTARY_LAYER_ENCODING_FORMULA_H

#include "layer/encoding/formula_names.h"

/* Never changes once it is made: several threads may evaluate it at once. */
struct formula;

/* Reads a text in which the `count` names may occur. The error of a text that is no such formula is
 * ROTARY_INVALID_ARGUMENT and begins with the column, "column 8: ...", counted from 1 in bytes. */
ROTARY_CHECKED rotary_status formula_create(struct formula **formula, const char *text,
                                            const struct formula_name *names, int count, rotary_error *error);
void formula_destroy(struct formula *formula);

/* Whether the formula depends on the name of that index. */
bool formula_uses(const struct formula *formula, int name);

/* values[j] for j < count. inputs: for each name, in the order of formula_create, its number, or of a series
 * its `count` numbers. What is undefined is a NaN or an infinity, also in a branch of `if` that is not taken,
 * but there without effect. */
void formula_values(const struct formula *formula, const double *const *inputs, int64_t count,
                    double *values);

/* Adds to *d_inputs[i], for each learned name i, sum over j of d_values[j] times the derivative of value j,
 * in an order that depends on count alone. Pointers of other names are not read. Steps (floor, comparisons)
 * have the derivative 0, as do abs at 0, and sqrt and a power at 0 where theirs is infinite; min and max of
 * two equal numbers have that of the first. */
void formula_gradient(const struct formula *formula, const double *const *inputs, int64_t count,
                      const double *d_values, double *const *d_inputs);

#endif
