/* SPDX-License-Identifier: Apache-2.0
 *
 * Formulas: values do not depend on the entries beside them, and the gradient of no values is 0.
 */
#include "file/file.h"
#include "fuzz/target.h"
#include "layer/encoding/formula.h"

#include <math.h>
#include <stdlib.h>

enum { COUNT = 37, MAX_BYTES = 1 << 16 };

static void check_formula(const struct formula *formula)
{
    double distances[COUNT], values[COUNT], zeros[COUNT] = {0}, head = 1, w = 0.5, d_w = 0, alone;
    const double *inputs[] = {distances, &head, &w};
    double *const d_inputs[] = {NULL, NULL, &d_w};
    for (int j = 0; j < COUNT; j++)
        distances[j] = j - 30;
    formula_values(formula, inputs, COUNT, values);
    formula_gradient(formula, inputs, COUNT, zeros, d_inputs);
    if (d_w != 0)
        fuzz_fail("the gradient of nothing is %g", d_w);
    for (int j = 0; j < COUNT; j++) {
        inputs[0] = &distances[j];
        formula_values(formula, inputs, 1, &alone);
        if (alone != values[j] && !(isnan(alone) && isnan(values[j])))
            fuzz_fail("entry %d is %g alone and %g among others", j, alone, values[j]);
    }
}

static bool read_formula(const char *path)
{
    static const struct formula_name names[] = {
        {"distance", FORMULA_SERIES}, {"head", FORMULA_NUMBER}, {"w", FORMULA_LEARNED}};
    rotary_error error = {0};
    char *text;
    size_t count;
    if (fuzz_refused(file_read(path, MAX_BYTES, &text, &count, &error), &error))
        return false;
    struct formula *formula;
    bool good = !fuzz_refused(formula_create(&formula, text, names, 3, &error), &error);
    if (good) {
        check_formula(formula);
        formula_destroy(formula);
    }
    free(text);
    return good;
}

static const char *const formula_words[] = {
    "distance", "head", "w",   "pi",    "abs(", "sqrt(", "exp(",  "log(", "log2(",   "sin(", "cos(", "floor(",
    "min(",     "max(", "if(", "sum(i", "i",    ",",     "(",     ")",    "+",       "-",    "*",    "/",
    "^",        "<",    "<=",  "==",    "!=",   "0",     "1e308", "64",   "1000000", " ",    NULL};

const struct fuzz_target fuzz_formula = {.name = "formula", .read = read_formula, .words = formula_words};
