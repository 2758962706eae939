/* SPDX-License-Identifier: Apache-2.0
 *
 * FIRE: its piecewise-linear function against its network in double, evaluated as it is written; gradients of
 * its parameters against finite differences; initial values.
 */
#include "layer/encoding_keys.h"
#include "support/check.h"

#include "layer/encoding/encoding.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { C, MULTIPLIER, HIDDEN_WEIGHT, HIDDEN_BIAS, OUTPUT_WEIGHT, OUTPUT_BIAS, PARAMETERS };
enum { HEADS = 3, WIDTH = 9, TOKENS = 40, MAX_COUNT = 400 };

static const double length = 12;

/* The parameters, and how many each has. */
static const int64_t counts[PARAMETERS] = {1, 1, WIDTH, WIDTH, HEADS *WIDTH, HEADS};
struct numbers {
    float c[1], multiplier[1], hidden_weight[WIDTH], hidden_bias[WIDTH], output_weight[HEADS * WIDTH],
        output_bias[HEADS];
};

static void list_numbers(struct numbers *numbers, float *all[PARAMETERS])
{
    float *arrays[PARAMETERS] = {numbers->c,           numbers->multiplier,    numbers->hidden_weight,
                                 numbers->hidden_bias, numbers->output_weight, numbers->output_bias};
    memcpy(all, arrays, sizeof arrays);
}

static struct numbers make_numbers(uint64_t seed)
{
    struct numbers numbers;
    float *all[PARAMETERS];
    list_numbers(&numbers, all);
    for (int i = 0; i < PARAMETERS; i++)
        for (int64_t j = 0; j < counts[i]; j++)
            all[i][j] = check_random(seed + (uint64_t)i, (uint64_t)j, 0);
    numbers.c[0] = seed % 2 ? -0.3f : 0.2f;
    numbers.multiplier[0] = seed % 3 ? 0.85f : -1.4f;
    /* Units that no input changes, one of them active; and two that begin together. */
    numbers.hidden_weight[1] = numbers.hidden_weight[4] = 0;
    numbers.hidden_bias[1] = 0.5f;
    numbers.hidden_bias[4] = -0.5f;
    numbers.hidden_weight[6] = -2 * numbers.hidden_weight[5];
    numbers.hidden_bias[6] = -2 * numbers.hidden_bias[5];
    return numbers;
}

static struct distance_bias_shape shape_of(bool causal)
{
    char keys[64];
    snprintf(keys, sizeof keys, "fire_width=%d;fire_length=%.17g", WIDTH, length);
    struct distance_bias_shape shape = {.heads = HEADS,
                                        .distances = causal ? TOKENS : 2 * TOKENS - 1,
                                        .first = 1 - TOKENS,
                                        .causal = causal,
                                        .settings = {.options = options_with(POSITION_FIRE, keys)}};
    shape.segments = encoding_fire.distance_bias->segments(&shape.settings);
    return shape;
}

static double psi(const struct numbers *numbers, double distance)
{
    return log(1 + fabs((double)numbers->c[0]) * distance);
}

static double network(const struct numbers *numbers, int head, int m, int n)
{
    double threshold = fabs((double)numbers->multiplier[0]) * length,
           x = psi(numbers, abs(m - n)) / (psi(numbers, fmax(threshold, m)) + 1e-6),
           sum = (double)numbers->output_bias[head];
    for (int j = 0; j < WIDTH; j++)
        sum += (double)numbers->output_weight[head * WIDTH + j] *
               fmax(0, (double)numbers->hidden_weight[j] * x + (double)numbers->hidden_bias[j]);
    return sum;
}

static void fill(const struct distance_bias_shape *shape, struct numbers *numbers, float *bias)
{
    float *all[PARAMETERS];
    list_numbers(numbers, all);
    CHECK(piecewise_layout_of(shape).count <= MAX_COUNT);
    encoding_fire.distance_bias->fill(shape, (const float *const *)all, bias);
}

/* By the arrays, as attention reads them. */
static double piecewise(const struct distance_bias_shape *shape, const float *bias, int head, int m, int n)
{
    const struct piecewise_layout at = piecewise_layout_of(shape);
    double x = (double)bias[at.inputs + n - m - shape->first] * (double)bias[at.scales + m];
    int64_t segment = 0;
    while (segment < shape->segments - 1 && (double)bias[at.knots + segment] <= x)
        segment++;
    segment += head * shape->segments;
    return (double)bias[at.intercepts + segment] + (double)bias[at.slopes + segment] * x;
}

static void test_network(bool causal, uint64_t seed)
{
    const struct distance_bias_shape shape = shape_of(causal);
    struct numbers numbers = make_numbers(seed);
    float bias[MAX_COUNT];
    CHECK_INT(shape.segments, WIDTH + 1);
    fill(&shape, &numbers, bias);
    const struct piecewise_layout at = piecewise_layout_of(&shape);
    for (int64_t i = 1; i < shape.segments - 1; i++)
        CHECK(bias[at.knots + i] >= bias[at.knots + i - 1]);
    for (int head = 0; head < HEADS; head++)
        for (int m = 0; m < TOKENS; m++)
            for (int n = 0; n < (causal ? m + 1 : TOKENS); n++)
                CHECK_NEAR(piecewise(&shape, bias, head, m, n), network(&numbers, head, m, n), 3e-6);
}

/* The arrays' gradients that the sum of these times the biases of all queries and keys has. */
static double factor(int head, int m, int n)
{
    return cos(0.9 * head + 0.37 * m + 0.61 * n + 0.5);
}

static double sum_of(const struct numbers *numbers, bool causal)
{
    double sum = 0;
    for (int head = 0; head < HEADS; head++)
        for (int m = 0; m < TOKENS; m++)
            for (int n = 0; n < (causal ? m + 1 : TOKENS); n++)
                sum += factor(head, m, n) * network(numbers, head, m, n);
    return sum;
}

static void fill_gradient(const struct distance_bias_shape *shape, const float *bias, float *d_bias)
{
    const struct piecewise_layout at = piecewise_layout_of(shape);
    double sums[MAX_COUNT] = {0};
    for (int head = 0; head < HEADS; head++)
        for (int m = 0; m < TOKENS; m++)
            for (int n = 0; n < (shape->causal ? m + 1 : TOKENS); n++) {
                int64_t input = at.inputs + n - m - shape->first, scale = at.scales + m, segment = 0;
                double x = (double)bias[input] * (double)bias[scale], d = factor(head, m, n);
                while (segment < shape->segments - 1 && (double)bias[at.knots + segment] <= x)
                    segment++;
                segment += head * shape->segments;
                double slope = (double)bias[at.slopes + segment];
                sums[at.intercepts + segment] += d;
                sums[at.slopes + segment] += d * x;
                sums[input] += d * slope * (double)bias[scale];
                sums[scale] += d * slope * (double)bias[input];
            }
    for (int64_t i = 0; i < at.count; i++)
        d_bias[i] = (float)sums[i];
}

static void test_gradient(bool causal, uint64_t seed)
{
    const struct distance_bias_shape shape = shape_of(causal);
    struct numbers numbers = make_numbers(seed);
    float bias[MAX_COUNT], d_bias[MAX_COUNT], *all[PARAMETERS];
    double gradients[PARAMETERS][HEADS * WIDTH] = {{0}}, *places[PARAMETERS];
    fill(&shape, &numbers, bias);
    fill_gradient(&shape, bias, d_bias);
    list_numbers(&numbers, all);
    for (int i = 0; i < PARAMETERS; i++)
        places[i] = gradients[i];
    encoding_fire.distance_bias->gradient(&shape, (const float *const *)all, d_bias, places);
    for (int i = 0; i < PARAMETERS; i++)
        for (int64_t j = 0; j < counts[i]; j++) {
            float value = all[i][j], step = 0x1p-18f;
            all[i][j] = value + step;
            double above = sum_of(&numbers, causal);
            all[i][j] = value - step;
            double difference =
                (above - sum_of(&numbers, causal)) / ((double)(value + step) - (double)(value - step));
            all[i][j] = value;
            check_about("%s, parameter %d, element %d", causal ? "causal" : "both directions", i, (int)j);
            CHECK_NEAR(gradients[i][j], difference, 2e-3 * (1 + fabs(difference)));
        }
    check_about("%s", "");
}

static void test_initial_values(void)
{
    const struct distance_bias_shape shape = shape_of(true);
    struct parameter rows[DISTANCE_BIAS_PARAMETERS] = {0};
    CHECK_INT(encoding_fire.distance_bias->list(&shape, rows), PARAMETERS);
    CHECK(rows[C].initial == INITIAL_CONSTANT && rows[C].scale == 0.1f);
    CHECK(rows[MULTIPLIER].initial == INITIAL_ONE);
    CHECK(rows[HIDDEN_WEIGHT].initial == INITIAL_UNIFORM && rows[HIDDEN_WEIGHT].scale == 1);
    CHECK(rows[HIDDEN_BIAS].initial == INITIAL_UNIFORM && rows[HIDDEN_BIAS].scale == 1);
    CHECK_NEAR((double)rows[OUTPUT_WEIGHT].scale, 1.0 / 3, 1e-7);
    CHECK_NEAR((double)rows[OUTPUT_BIAS].scale, 1.0 / 3, 1e-7);
    for (int i = 0; i < PARAMETERS; i++)
        CHECK_INT((rows[i].columns > 0 ? rows[i].columns : 1) * rows[i].rows, counts[i]);
}

int main(void)
{
    test_initial_values();
    for (uint64_t seed = 40; seed < 46; seed++)
        for (int causal = 0; causal < 2; causal++) {
            test_network(causal, 10 * seed + seed % 5);
            test_gradient(causal, 10 * seed + seed % 5);
        }
    return check_report();
}
