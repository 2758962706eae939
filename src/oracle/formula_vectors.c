/* SPDX-License-Identifier: Apache-2.0
 *
 * Encodings whose distances have vectors that queries, keys or values meet: Shaw.
 */
#include "oracle/position_formula.h"

#include <string.h>

#define MEMBER(member) offsetof(struct formula_settings, member)

/* ---- shaw: Shaw, Uszkoreit and Vaswani 2018 ---- */

static const struct setting shaw_settings[] = {
    {"max_relative_position", SETTING_INTEGER, MEMBER(max_relative_position), .min = 1, .max = 1 << 20},
};

/* w^K and w^V: rows for the distances -k ... k, or -k ... 0 of a decoder. */
static int shaw_list(const struct position_formula *formula,
                     struct formula_parameter rows[FORMULA_PARAMETERS])
{
    int64_t reach = formula->settings.max_relative_position;
    int64_t count = formula->causal ? reach + 1 : 2 * reach + 1;
    rows[0] = (struct formula_parameter){"relative_keys.weight", 2, {count, formula->head_dim}};
    rows[1] = (struct formula_parameter){"relative_values.weight", 2, {count, formula->value_dim}};
    return 2;
}

static void shaw_row(const struct position_formula *formula, int table, int64_t distance, double *vector)
{
    int64_t reach = formula->settings.max_relative_position, last = formula->causal ? 0 : reach;
    int64_t clipped = distance < -reach ? -reach : distance > last ? last : distance;
    int64_t channels = table == 0 ? formula->head_dim : formula->value_dim;
    memcpy(vector, formula->parameters[table] + (clipped + reach) * channels,
           (size_t)channels * sizeof *vector);
}

static void shaw_key(const struct position_formula *formula, int64_t head, int64_t distance, double *vector)
{
    (void)head; /* all heads share the tables */
    shaw_row(formula, 0, distance, vector);
}

static void shaw_value(const struct position_formula *formula, int64_t head, int64_t distance, double *vector)
{
    (void)head;
    shaw_row(formula, 1, distance, vector);
}

const struct formula_encoding formula_shaw = {.name = "shaw",
                                              .settings = shaw_settings,
                                              .setting_count = 1,
                                              .list = shaw_list,
                                              .key = shaw_key,
                                              .value = shaw_value};
