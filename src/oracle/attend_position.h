/* SPDX-License-Identifier: Apache-2.0
 *
 * The position encoding of an attention that is evaluated: its settings, its parameters in files, and what it
 * adds at each distance between a query and a key.
 */
#ifndef ROTARY_ORACLE_ATTEND_POSITION_H
#define ROTARY_ORACLE_ATTEND_POSITION_H

#include "oracle/position_formula.h"
#include "oracle/reference_attention.h"
#include "oracle/tensor.h"

/* Texts are borrowed. */
struct attend_position {
    const struct formula_encoding *encoding; /* NULL: none is asked for */
    struct formula_settings settings;
    const char *files[FORMULA_PARAMETERS]; /* of its parameters, in its order; NULL after the last */
};

/* The words of a command line: the name of the encoding, "key=value" and "parameter=file". The lists are
 * NULL-terminated. */
struct attend_position_words {
    const char *name; /* NULL: none */
    const char *const *assignments, *const *parameters;
};
/* ROTARY_INVALID_ARGUMENT for what is unknown, missing, twice there, or not of this encoding. */
ROTARY_CHECKED rotary_status attend_position_parse(const struct attend_position_words *words,
                                                   struct attend_position *position, rotary_error *error);

/* What is allocated for it. */
struct attend_terms {
    struct position_formula formula;
    struct tensor parameters[FORMULA_PARAMETERS];
    double *bias, *keys, *queries, *values;
};
/* Reads the parameters and sets attention->distances and ->pairs, which point into *terms, for all distances
 * between queries and keys. *terms, zero before, is released by attend_terms_free, also after an error. */
ROTARY_CHECKED rotary_status attend_position_make(const struct attend_position *position,
                                                  struct reference_attention *attention,
                                                  struct attend_terms *terms, rotary_error *error);
void attend_terms_free(struct attend_terms *terms);

#endif
