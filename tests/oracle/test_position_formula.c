/* SPDX-License-Identifier: Apache-2.0
 *
 * The oracle's formulas of position encodings against those of models, which are written apart from them.
 */
#include "layer/encoding_keys.h"
#include "oracle/position_formula.h"
#include "support/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { REACH = 300, MAX_HEADS = 12 };

/* A bias of both, and the numbers of its parameters. */
struct trial {
    const char *name;
    enum position position;
    struct formula_settings settings;
    bool causal;
    int64_t heads;
    double bound; /* of errors in f32, of biases up to 1 */
};

/* What the model is given for the oracle's settings. */
static struct distance_bias_settings settings_of(const struct trial *trial)
{
    static const char *const kernels[] = {"log", "power"};
    const struct formula_settings *from = &trial->settings;
    char keys[256];
    snprintf(keys, sizeof keys,
             "relative_attention_num_buckets=%lld;relative_attention_max_distance=%lld;kerple_kernel=%s;"
             "sandwich_channels=%lld",
             (long long)from->relative_attention_num_buckets,
             (long long)from->relative_attention_max_distance, kernels[from->kerple_kernel],
             (long long)from->sandwich_channels);
    return (struct distance_bias_settings){.width = 16, .options = options_with(trial->position, keys)};
}

static const struct distance_bias_function *function_of(const struct trial *trial)
{
    return position_encoding(trial->position)->distance_bias;
}

static void compare(const struct trial *trial, const float *const *numbers, const double *const *exact)
{
    const struct distance_bias_shape shape = {.heads = trial->heads,
                                              .distances = trial->causal ? REACH : 2 * REACH - 1,
                                              .first = 1 - REACH,
                                              .causal = trial->causal,
                                              .settings = settings_of(trial)};
    struct position_formula formula = {.encoding = formula_find(trial->name),
                                       .settings = trial->settings,
                                       .heads = trial->heads,
                                       .causal = trial->causal};
    memcpy(formula.parameters, exact, 2 * sizeof *exact);
    float *bias = malloc((size_t)(shape.heads * shape.distances) * sizeof *bias);
    if (!bias || !CHECK(formula.encoding && formula.encoding->bias))
        abort();
    function_of(trial)->fill(&shape, numbers, bias);
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
    const struct distance_bias_shape shape = {.heads = trial->heads, .settings = settings_of(trial)};
    const struct position_formula formula = {
        .encoding = formula_find(trial->name), .settings = trial->settings, .heads = trial->heads};
    int count = function_of(trial)->list ? function_of(trial)->list(&shape, rows) : 0;
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
    power.kerple_kernel = 1;
    narrow.sandwich_channels = 10;
    const struct trial trials[] = {
        {"alibi", POSITION_ALIBI, plain, causal, heads, 1e-7},
        {"t5", POSITION_T5, plain, causal, heads, 0},
        {"t5", POSITION_T5, few, causal, heads, 0},
        {"t5", POSITION_T5, many, causal, heads, 0},
        {"kerple", POSITION_KERPLE, plain, causal, heads, 1e-7},
        {"kerple", POSITION_KERPLE, power, causal, heads, 1e-7},
        {"sandwich", POSITION_SANDWICH, plain, causal, heads, 1e-6},
        {"sandwich", POSITION_SANDWICH, narrow, causal, heads, 1e-6},
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
        CHECK((encoding->rotation != FORMULA_NO_ROTATION) ==
              ((model->rotate & ROTATE_QUERY_KEY) == ROTATE_QUERY_KEY));
        CHECK((encoding->rotation == FORMULA_ROTATES_VALUES) == (model->rotate == ROTATE_ALL));
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
