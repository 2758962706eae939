/* SPDX-License-Identifier: Apache-2.0
 *
 * The oracle's formulas of position encodings against those of models, which are written apart from them.
 */
#include "layer/encoding/encoding.h"
#include "oracle/position_formula.h"
#include "support/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { REACH = 300, MAX_HEADS = 12 };

/* A bias of both, and the numbers of its parameters. */
struct trial {
    const char *name;
    const struct position_encoding *model;
    struct formula_settings settings;
    bool causal;
    int64_t heads;
    double bound; /* of errors in f32, of biases up to 1 */
};

static void compare(const struct trial *trial, const float *const *numbers, const double *const *exact)
{
    const struct formula_settings *from = &trial->settings;
    const struct distance_bias_shape shape = {
        .heads = trial->heads,
        .distances = trial->causal ? REACH : 2 * REACH - 1,
        .first = 1 - REACH,
        .causal = trial->causal,
        .settings = {.width = 16,
                     .buckets = from->relative_attention_num_buckets,
                     .max_distance = from->relative_attention_max_distance,
                     .kernel = (enum kerple_kernel)from->kerple_kernel,
                     .sandwich_channels = from->sandwich_channels}};
    struct position_formula formula = {.encoding = formula_find(trial->name),
                                       .settings = trial->settings,
                                       .heads = trial->heads,
                                       .causal = trial->causal};
    memcpy(formula.parameters, exact, 2 * sizeof *exact);
    float *bias = malloc((size_t)(shape.heads * shape.distances) * sizeof *bias);
    if (!bias || !CHECK(formula.encoding && formula.encoding->bias))
        abort();
    trial->model->distance_bias->fill(&shape, numbers, bias);
    for (int64_t head = 0; head < shape.heads; head++) {
        const float *row = bias + head * shape.distances;
        /* A constant changes no weight: sandwich has another one. */
        double shift = (double)row[REACH - 1] - formula.encoding->bias(&formula, head, 0);
        CHECK(strcmp(trial->name, "sandwich") == 0 || fabs(shift) <= trial->bound);
        for (int64_t i = 0; i < shape.distances; i++) {
            double wanted = formula.encoding->bias(&formula, head, shape.first + i) + shift;
            check_about("%s, %lld heads, causal %d, head %lld, distance %lld", trial->name,
                        (long long)shape.heads, trial->causal, (long long)head, (long long)(shape.first + i));
            CHECK_NEAR((double)row[i], wanted, trial->bound * (1 + fabs(wanted) + fabs(shift)));
        }
    }
    free(bias);
}

/* The parameters that the oracle lists are those of the model. */
static void check_list(const struct trial *trial)
{
    struct parameter rows[DISTANCE_BIAS_PARAMETERS] = {0};
    struct formula_parameter listed[FORMULA_PARAMETERS];
    const struct distance_bias_shape shape = {
        .heads = trial->heads,
        .settings = {.width = 16,
                     .buckets = trial->settings.relative_attention_num_buckets,
                     .kernel = (enum kerple_kernel)trial->settings.kerple_kernel}};
    const struct position_formula formula = {
        .encoding = formula_find(trial->name), .settings = trial->settings, .heads = trial->heads};
    int count = trial->model->distance_bias->list ? trial->model->distance_bias->list(&shape, rows) : 0;
    check_about("the parameters of %s", trial->name);
    CHECK_INT(formula.encoding->list ? formula.encoding->list(&formula, listed) : 0, count);
    for (int i = 0; i < count; i++) {
        CHECK_TEXT(listed[i].name, rows[i].name);
        CHECK_INT(listed[i].dimensions, rows[i].columns ? 2 : 1);
        CHECK_INT(listed[i].shape[0], rows[i].rows);
        if (rows[i].columns)
            CHECK_INT(listed[i].shape[1], rows[i].columns);
    }
}

static void check_biases(bool causal, int64_t heads)
{
    enum { BUCKETS = 64 };
    static float numbers[2][BUCKETS * MAX_HEADS];
    static double exact[2][BUCKETS * MAX_HEADS];
    const float *const values[] = {numbers[0], numbers[1]};
    const double *const doubles[] = {exact[0], exact[1]};
    for (int i = 0; i < 2 * BUCKETS * MAX_HEADS; i++) {
        int row = i / (BUCKETS * MAX_HEADS), at = i % (BUCKETS * MAX_HEADS);
        numbers[row][at] = check_random(7, (uint64_t)i, 0);
        exact[row][at] = (double)numbers[row][at];
    }
    const struct formula_settings plain = formula_default_settings;
    struct formula_settings few = plain, many = plain, power = plain, narrow = plain;
    few.relative_attention_num_buckets = 8;
    few.relative_attention_max_distance = 16;
    many.relative_attention_num_buckets = BUCKETS;
    many.relative_attention_max_distance = 256;
    power.kerple_kernel = KERPLE_POWER;
    narrow.sandwich_channels = 10;
    const struct trial trials[] = {
        {"alibi", &encoding_alibi, plain, causal, heads, 1e-7},
        {"t5", &encoding_t5, plain, causal, heads, 0},
        {"t5", &encoding_t5, few, causal, heads, 0},
        {"t5", &encoding_t5, many, causal, heads, 0},
        {"kerple", &encoding_kerple, plain, causal, heads, 1e-7},
        {"kerple", &encoding_kerple, power, causal, heads, 1e-7},
        {"sandwich", &encoding_sandwich, plain, causal, heads, 1e-6},
        {"sandwich", &encoding_sandwich, narrow, causal, heads, 1e-6},
    };
    for (size_t i = 0; i < sizeof trials / sizeof *trials; i++) {
        compare(&trials[i], values, doubles);
        check_list(&trials[i]);
    }
}

/* Every encoding of models is one that the oracle knows. */
static void check_names(void)
{
    for (int i = 0; position_names[i]; i++) {
        const struct formula_encoding *encoding = formula_find(position_names[i]);
        check_about("%s", position_names[i]);
        if (!CHECK(encoding != NULL))
            continue;
        const struct position_encoding *model = position_encoding((enum position)i);
        CHECK((encoding->rotation != FORMULA_NO_ROTATION) == model->rotate_query_key);
        CHECK((encoding->rotation == FORMULA_ROTATES_VALUES) == model->rotate_value);
        CHECK(encoding->in_embedding == (model->embedding != EMBEDDING_POSITION_NONE));
        CHECK((encoding->bias || encoding->pair_bias) == (model->distance_bias != NULL));
    }
}

int main(void)
{
    static const int64_t heads[] = {1, 2, 3, 4, 6, 8, MAX_HEADS};
    check_names();
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        check_biases(true, heads[i]);
        check_biases(false, heads[i]);
    }
    return check_report();
}
