/* SPDX-License-Identifier: Apache-2.0
 *
 * Encodings whose distances have vectors that queries, keys or values meet: Shaw, Transformer-XL, DeBERTa.
 */
#include "oracle/position_formula.h"

#include <math.h>
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

/* ---- transformer-xl: Dai et al. 2019 ---- */

static int xl_list(const struct position_formula *formula, struct formula_parameter rows[FORMULA_PARAMETERS])
{
    int64_t heads = formula->heads, channels = formula->head_dim;
    rows[0] = (struct formula_parameter){"relative_keys.weight", 2, {heads * channels, formula->width}};
    rows[1] = (struct formula_parameter){"content_bias", 2, {heads, channels}};
    rows[2] = (struct formula_parameter){"position_bias", 2, {heads, channels}};
    return 3;
}

/* W_{k,R} R_{m - n}, R as in Vaswani et al. 2017: channels 2 i and 2 i + 1 are sine and cosine. */
static void xl_key(const struct position_formula *formula, int64_t head, int64_t distance, double *vector)
{
    int64_t width = formula->width;
    for (int64_t i = 0; i < formula->head_dim; i++) {
        const double *row = formula->parameters[0] + (head * formula->head_dim + i) * width;
        vector[i] = 0;
        for (int64_t c = 0; c < width; c++) {
            double frequency = pow(10000.0, -(double)(c - c % 2) / (double)width),
                   angle = -(double)distance * frequency;
            vector[i] += row[c] * (c % 2 ? cos(angle) : sin(angle));
        }
    }
}

const struct formula_encoding formula_transformer_xl = {
    .name = "transformer-xl", .list = xl_list, .key = xl_key, .content_bias = 1, .position_bias = 2};

/* ---- deberta: He et al. 2021 ---- */

static const struct setting deberta_settings[] = {
    {"max_relative_position", SETTING_INTEGER, MEMBER(max_relative_position), .min = 1, .max = 1 << 20},
};

/* P, W_{k,r}, W_{q,r}. */
static int deberta_list(const struct position_formula *formula,
                        struct formula_parameter rows[FORMULA_PARAMETERS])
{
    int64_t channels = formula->heads * formula->head_dim, width = formula->width;
    rows[0] = (struct formula_parameter){
        "relative_embeddings.weight", 2, {2 * formula->settings.max_relative_position, width}};
    rows[1] = (struct formula_parameter){"relative_keys.weight", 2, {channels, width}};
    rows[2] = (struct formula_parameter){"relative_queries.weight", 2, {channels, width}};
    return 3;
}

/* delta(i, j) of equation 3, of i - j. */
static int64_t deberta_delta(const struct position_formula *formula, int64_t apart)
{
    int64_t k = formula->settings.max_relative_position;
    return apart <= -k ? 0 : apart >= k ? 2 * k - 1 : apart + k;
}

/* Row `row` of P, projected by parameter `projection` for a head. */
static void deberta_project(const struct position_formula *formula, int projection, int64_t head, int64_t row,
                            double *vector)
{
    const double *from = formula->parameters[0] + row * formula->width;
    for (int64_t i = 0; i < formula->head_dim; i++) {
        const double *weight =
            formula->parameters[projection] + (head * formula->head_dim + i) * formula->width;
        vector[i] = 0;
        for (int64_t c = 0; c < formula->width; c++)
            vector[i] += weight[c] * from[c];
    }
}

/* K_r of delta(m, n), which the query meets. */
static void deberta_key(const struct position_formula *formula, int64_t head, int64_t distance,
                        double *vector)
{
    deberta_project(formula, 1, head, deberta_delta(formula, -distance), vector);
}

/* Q_r of delta(n, m), which the key meets. */
static void deberta_query(const struct position_formula *formula, int64_t head, int64_t distance,
                          double *vector)
{
    deberta_project(formula, 2, head, deberta_delta(formula, distance), vector);
}

const struct formula_encoding formula_deberta = {.name = "deberta",
                                                 .settings = deberta_settings,
                                                 .setting_count = 1,
                                                 .list = deberta_list,
                                                 .key = deberta_key,
                                                 .query = deberta_query,
                                                 .products = 3};
