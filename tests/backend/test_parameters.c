/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/parameters.h"
#include "support/check.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static int add(struct parameters *parameters, const char *name, int64_t rows, int64_t columns,
               enum initialisation initial, float scale)
{
    struct parameter row = {.rows = rows, .columns = columns, .initial = initial, .scale = scale};
    rotary_error error;
    int index = -1;
    snprintf(row.name, sizeof row.name, "%s", name);
    CHECK(parameters_add(parameters, &row, &index, &error) == ROTARY_OK);
    return index;
}

static void test_table(void)
{
    struct parameters parameters = {0};
    rotary_error error;
    int bias = add(&parameters, "a.bias", 5, 0, INITIAL_ZERO, 0.0f);
    int weight = add(&parameters, "a.weight", 7, 3, INITIAL_ONE, 0.0f);
    struct parameter again = {.name = "a.bias", .rows = 1};
    int index;
    CHECK(parameters_add(&parameters, &again, &index, &error) == ROTARY_INVALID_ARGUMENT);
    CHECK_TEXT(error.message, "two parameters are named \"a.bias\"");
    CHECK_INT(parameters_total(&parameters), 26);
    CHECK(parameters_allocate(&parameters, true, &error) == ROTARY_OK);
    for (int i = 0; i < parameters.count; i++)
        CHECK_INT(parameters.rows[i].offset % 16, 0);
    CHECK(parameter_value(&parameters, weight) - parameter_value(&parameters, bias) >= 5);
    CHECK(parameter_value(&parameters, -1) == NULL);
    CHECK((uintptr_t)parameters.gradients % ROTARY_ALIGNMENT == 0);
    parameters_initialise(&parameters, 2, 1);
    CHECK_NEAR((double)parameter_value(&parameters, weight)[20], 1.0, 0.0);
    CHECK_NEAR((double)parameter_value(&parameters, bias)[4], 0.0, 0.0);
    CHECK_NEAR((double)parameters.values[parameters.elements - 1], 0.0, 0.0);
    parameters_free(&parameters);

    CHECK(parameters_allocate(&parameters, false, &error) == ROTARY_OK);
    CHECK(parameters.gradients == NULL);
    parameters_free(&parameters);
}

static void test_growth(void)
{
    struct parameters parameters = {0};
    for (int i = 0; i < 200; i++) {
        char name[32];
        snprintf(name, sizeof name, "row.%d", i);
        CHECK_INT(add(&parameters, name, i + 1, 2, INITIAL_ONE, 0.0f), i);
    }
    CHECK_INT(parameters_total(&parameters), 200 * 201);
    parameters_free(&parameters);
}

static void test_initialisation(void)
{
    enum { N = 40000 };
    struct parameters one = {0}, two = {0};
    rotary_error error;
    int normal = add(&one, "normal", N, 1, INITIAL_NORMAL, 0.02f),
        uniform = add(&one, "uniform", N, 1, INITIAL_UNIFORM, 0.5f);
    add(&two, "another", 9, 9, INITIAL_NORMAL, 1.0f);
    int same = add(&two, "normal", N, 1, INITIAL_NORMAL, 0.02f);
    CHECK(parameters_allocate(&one, false, &error) == ROTARY_OK);
    CHECK(parameters_allocate(&two, false, &error) == ROTARY_OK);
    parameters_initialise(&one, 1, 7);
    parameters_initialise(&two, 3, 7);
    const float *n = parameter_value(&one, normal), *u = parameter_value(&one, uniform);
    CHECK(memcmp(n, parameter_value(&two, same), N * sizeof *n) == 0);
    double mean[2] = {0}, square[2] = {0};
    for (int i = 0; i < N; i++) {
        mean[0] += (double)n[i] / N;
        square[0] += (double)n[i] * (double)n[i] / N;
        mean[1] += (double)u[i] / N;
        square[1] += (double)u[i] * (double)u[i] / N;
        CHECK(fabsf(u[i]) <= 0.5f);
    }
    CHECK_NEAR(mean[0], 0.0, 4 * 0.02 / 200);
    CHECK_NEAR(sqrt(square[0]), 0.02, 0.02 * 0.02);
    CHECK_NEAR(mean[1], 0.0, 4 * 0.29 / 200);
    CHECK_NEAR(square[1], 0.25 / 3, 0.25 / 3 * 0.03);
    parameters_initialise(&two, 1, 8);
    CHECK(memcmp(n, parameter_value(&two, same), N * sizeof *n) != 0);
    parameters_free(&one);
    parameters_free(&two);
}

int main(void)
{
    test_table();
    test_growth();
    test_initialisation();
    return check_report();
}
