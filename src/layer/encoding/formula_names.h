/* SPDX-License-Identifier: Apache-2.0
 *
 * What a formula may name, and how long it may be.
 */
#ifndef ROTARY_LAYER_ENCODING_FORMULA_NAMES_H
#define ROTARY_LAYER_ENCODING_FORMULA_NAMES_H

#include <rotary/status.h>

enum {
    FORMULA_MAX_BYTES = 1024, /* of the text, with its end */
    FORMULA_MAX_NAMES = 16,
    FORMULA_NAME_BYTES = 32,      /* of a name, with its end */
    FORMULA_MAX_OPERATIONS = 1024 /* after sums are written out and constants computed */
};

enum formula_role {
    FORMULA_NUMBER, /* one number for all entries */
    FORMULA_SERIES, /* a number for each entry */
    FORMULA_LEARNED /* one number for all entries, by which the formula is differentiated */
};

struct formula_name {
    char name[FORMULA_NAME_BYTES];
    enum formula_role role;
};

/* Whether a text may be a formula's name: letters, digits and "_", no digit first, and not the name of a
 * function or of pi. */
bool formula_allows_name(const char *name);

#endif
