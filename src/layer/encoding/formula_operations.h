/* SPDX-License-Identifier: Apache-2.0
 *
 * The operations of a formula, and what the reader of formulas makes of a text.
 */
#ifndef ROTARY_LAYER_ENCODING_FORMULA_OPERATIONS_H
#define ROTARY_LAYER_ENCODING_FORMULA_OPERATIONS_H

#include "layer/encoding/formula_names.h"

enum { FORMULA_ARGUMENTS = 3 };

enum formula_operation {
    FORMULA_CONSTANT,
    FORMULA_INPUT,
    FORMULA_ADD,
    FORMULA_SUBTRACT,
    FORMULA_MULTIPLY,
    FORMULA_DIVIDE,
    FORMULA_POWER,
    FORMULA_NEGATE,
    FORMULA_LESS,
    FORMULA_LESS_EQUAL,
    FORMULA_GREATER,
    FORMULA_GREATER_EQUAL,
    FORMULA_EQUAL,
    FORMULA_NOT_EQUAL,
    FORMULA_ABS,
    FORMULA_SQRT,
    FORMULA_EXP,
    FORMULA_LOG,
    FORMULA_LOG2,
    FORMULA_SIN,
    FORMULA_COS,
    FORMULA_FLOOR,
    FORMULA_MIN,
    FORMULA_MAX,
    FORMULA_IF
};

/* One operation on the results of earlier ones. */
struct formula_node {
    enum formula_operation operation;
    int arguments[FORMULA_ARGUMENTS]; /* indices of nodes before this one; 0 where there is none */
    int input;                        /* of FORMULA_INPUT: the index of its name */
    double constant;                  /* of FORMULA_CONSTANT */
    bool is_series, is_learned;       /* what it depends on */
};

/* In the order of evaluation; the last is the result. */
struct formula_nodes {
    struct formula_node *items; /* owned; freed by the caller of formula_parse, also after an error */
    int count, capacity;
};

/* The result of an operation that is neither constant nor input. */
double formula_apply(enum formula_operation operation, double x, double y, double z);
/* Its derivatives by its arguments. `result`: what formula_apply gave. */
void formula_derivatives(enum formula_operation operation, const double arguments[FORMULA_ARGUMENTS],
                         double result, double derivatives[FORMULA_ARGUMENTS]);

/* See formula_create. */
ROTARY_CHECKED rotary_status formula_parse(struct formula_nodes *nodes, const char *text,
                                           const struct formula_name *names, int count, rotary_error *error);

#endif
