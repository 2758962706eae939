/* SPDX-License-Identifier: Apache-2.0
 *
 * Biases by distance from formulas against the named encodings of the same bias: ALiBi and Sandwich bit by
 * bit, KERPLE with its gradients; numbers of each head and shared ones.
 */
#include "layer/encoding_keys.h"
#include "support/check.h"

#include "layer/encoding/formula_bias.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { POSITIONS_OF_TEST = 150, MAX_HEADS = 24, ENTRIES = MAX_HEADS * 2 * POSITIONS_OF_TEST };

struct learned_number {
    const char *name;
    bool shared;
};

static struct formula_bias create(const char *text, const struct learned_number *numbers, int count)
{
    struct formula_name names[FORMULA_BIAS_NAMES + DISTANCE_BIAS_PARAMETERS] = {
        {"distance", FORMULA_SERIES}, {"head", FORMULA_NUMBER}, {"heads", FORMULA_NUMBER}};
    struct formula_bias bias = {.learned = count};
    struct formula *formula = NULL;
    rotary_error error = {0};
    for (int i = 0; i < count; i++) {
        snprintf(bias.numbers[i].name, FORMULA_NAME_BYTES, "%s", numbers[i].name);
        memcpy(names[FORMULA_BIAS_NAMES + i].name, bias.numbers[i].name, FORMULA_NAME_BYTES);
        names[FORMULA_BIAS_NAMES + i].role = FORMULA_LEARNED;
        bias.numbers[i].shared = numbers[i].shared;
    }
    if (!CHECK_INT(formula_create(&formula, text, names, FORMULA_BIAS_NAMES + count, &error), ROTARY_OK)) {
        printf("%s\n", error.message);
        exit(1);
    }
    bias.formula = formula;
    return bias;
}

static void destroy(struct formula_bias *bias)
{
    formula_destroy((struct formula *)(uintptr_t)bias->formula);
    formula_bias_free(bias);
}

/* For a formula and the encoding that it is compared with. */
static struct distance_bias_shape shape_of(int64_t heads, bool causal, enum position named,
                                           const struct formula_bias *bias)
{
    return (struct distance_bias_shape){.heads = heads,
                                        .distances = causal ? POSITIONS_OF_TEST : 2 * POSITIONS_OF_TEST - 1,
                                        .first = 1 - POSITIONS_OF_TEST,
                                        .causal = causal,
                                        .settings = {.options = options_with(named, ""), .formula = bias}};
}

/* Fixed ones, for every number of heads and both directions. */
static void check_same(const char *text, enum position named)
{
    struct formula_bias bias = create(text, NULL, 0);
    const struct distance_bias_function *function = formula_bias_function(bias.learned);
    static float got[ENTRIES], wanted[ENTRIES];
    CHECK(!function->list && !function->gradient);
    for (int64_t heads = 1; heads <= MAX_HEADS; heads++) {
        const struct distance_bias_shape shape = shape_of(heads, heads % 2 == 0, named, &bias);
        const size_t bytes = (size_t)(heads * shape.distances) * sizeof *got;
        check_about("%s, %d heads", position_names[named], (int)heads);
        memset(got, 0xff, sizeof got);
        function->fill(&shape, NULL, got);
        position_encoding(named)->distance_bias->fill(&shape, NULL, wanted);
        CHECK(memcmp(got, wanted, bytes) == 0);
    }
    destroy(&bias);
}

/* KERPLE's numbers are those of its heads. */
static void check_kerple(void)
{
    static const struct learned_number numbers[] = {{"scale", false}, {"slope", false}};
    enum { HEADS = 3, DISTANCES = 2 * POSITIONS_OF_TEST - 1 };
    struct formula_bias bias = create("-exp(scale) * log(1 + exp(slope) * abs(distance))", numbers, 2);
    const struct distance_bias_shape shape = shape_of(HEADS, false, POSITION_KERPLE, &bias);
    const struct distance_bias_function *function = formula_bias_function(bias.learned),
                                        *kerple = position_encoding(POSITION_KERPLE)->distance_bias;
    static const float scale[HEADS] = {0.3f, -1.0f, 0.6f}, slope[HEADS] = {-0.2f, 0.5f, -3.0f};
    const float *parameters[] = {scale, slope};
    static float got[ENTRIES], wanted[ENTRIES], d_bias[ENTRIES];
    check_about("%s", "kerple");
    function->fill(&shape, parameters, got);
    kerple->fill(&shape, parameters, wanted);
    for (int i = 0; i < HEADS * DISTANCES; i++) {
        CHECK_NEAR((double)got[i], (double)wanted[i], 1e-6 * fabs((double)wanted[i]));
        d_bias[i] = check_random(3, (uint64_t)i, 2);
    }
    /* Gradients are added to what is there. */
    double d_scale[HEADS] = {1, 1, 1}, d_slope[HEADS] = {2, 2, 2}, k_scale[HEADS] = {0}, k_slope[HEADS] = {0};
    function->gradient(&shape, parameters, d_bias, (double *const[]){d_scale, d_slope});
    kerple->gradient(&shape, parameters, d_bias, (double *const[]){k_scale, k_slope});
    for (int head = 0; head < HEADS; head++) {
        CHECK_NEAR(d_scale[head] - 1, k_scale[head], 1e-9 * (1 + fabs(k_scale[head])));
        CHECK_NEAR(d_slope[head] - 2, k_slope[head], 1e-9 * (1 + fabs(k_slope[head])));
    }
    destroy(&bias);
}

/* A number that heads share gets the sum of their gradients, one that they do not share gets its own. */
static void check_shared(void)
{
    static const struct learned_number numbers[] = {{"all", true}, {"own", false}};
    enum { HEADS = 4 };
    struct formula_bias bias = create("all * distance + own * (head + 1)", numbers, 2);
    const struct distance_bias_shape shape = shape_of(HEADS, true, POSITION_NONE, &bias);
    const struct distance_bias_function *function = formula_bias_function(bias.learned);
    static const float all[] = {0.5f}, own[HEADS] = {1, 2, 3, 4};
    const float *parameters[] = {all, own};
    static float got[ENTRIES], d_bias[ENTRIES];
    struct parameter rows[DISTANCE_BIAS_PARAMETERS] = {{.rows = 0}};
    double d_all = 0, d_own[HEADS] = {0}, wanted_all = 0;
    check_about("%s", "a shared number");
    CHECK_INT(function->list(&shape, rows), 2);
    CHECK_INT(rows[0].rows, 1);
    CHECK_INT(rows[1].rows, HEADS);
    CHECK_TEXT(rows[0].name, "position.all");
    CHECK_TEXT(rows[1].name, "position.own");
    CHECK(rows[0].initial == INITIAL_VALUES && rows[0].columns == 0 && !rows[0].decay);
    function->fill(&shape, parameters, got);
    for (int i = 0; i < HEADS * POSITIONS_OF_TEST; i++)
        d_bias[i] = check_random(5, (uint64_t)i, 1);
    function->gradient(&shape, parameters, d_bias, (double *const[]){&d_all, d_own});
    for (int head = 0; head < HEADS; head++) {
        double wanted_own = 0;
        for (int j = 0; j < POSITIONS_OF_TEST; j++) {
            double distance = j + 1 - POSITIONS_OF_TEST, d = (double)d_bias[head * POSITIONS_OF_TEST + j];
            CHECK_NEAR((double)got[head * POSITIONS_OF_TEST + j], 0.5 * distance + (head + 1) * (head + 1),
                       0);
            wanted_all += d * distance;
            wanted_own += d * (head + 1);
        }
        CHECK_NEAR(d_own[head], wanted_own, 1e-9 * (1 + fabs(wanted_own)));
    }
    CHECK_NEAR(d_all, wanted_all, 1e-9 * (1 + fabs(wanted_all)));
    destroy(&bias);
}

int main(void)
{
    check_same("-if(head < 2^floor(log2(heads)), 2^(-8*(head+1)/2^floor(log2(heads))),"
               " 2^(-4*(2*(head-2^floor(log2(heads)))+1)/2^floor(log2(heads)))) * abs(distance)",
               POSITION_ALIBI);
    check_same("sum(i, 0, 63, cos(distance * 10000^(-2*i/128)) - 1) * heads / (8*(head + 1))",
               POSITION_SANDWICH);
    check_kerple();
    check_shared();
    return check_report();
}
