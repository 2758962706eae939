/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/parameters.h"
#include "support/check.h"
#include "support/parameter_copy.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
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

/* Parts of rows are written and read; what is outside of a row is refused; a write of values raises the
 * version. */
static void test_ranges(struct parameters *parameters, int weight, int bias)
{
    rotary_error error;
    const float written[] = {2.5f, -3.5f};
    float read[3];
    struct parameter_range range = {.array = PARAMETER_VALUES, .index = weight, .first = 19, .count = 2};
    uint64_t versions[] = {parameters->rows[weight].version, parameters->rows[bias].version};
    CHECK(parameters_write(parameters, range, written, &error) == ROTARY_OK);
    CHECK(parameters->rows[weight].version == versions[0] + 1);
    CHECK(parameters->rows[bias].version == versions[1]);
    range.first--;
    range.count++;
    CHECK(parameters_read(parameters, range, read, &error) == ROTARY_OK);
    CHECK(read[0] == 1.0f && read[1] == 2.5f && read[2] == -3.5f);
    range.array = PARAMETER_MOMENT1;
    CHECK(parameters_write(parameters, range, read, &error) == ROTARY_OK);
    CHECK(parameters->rows[weight].version == versions[0] + 1);
    range.first = 19;
    CHECK(parameters_read(parameters, range, read, &error) == ROTARY_INVALID_ARGUMENT);
    CHECK_TEXT(error.message, "elements 19 ... 21 of parameter a.weight, which has 21");
    range.first = -1;
    CHECK(parameters_write(parameters, range, read, &error) == ROTARY_INVALID_ARGUMENT);
    range.index = parameters->count;
    CHECK(parameters_read(parameters, range, read, &error) == ROTARY_INVALID_ARGUMENT);
    CHECK_TEXT(error.message, "parameter 2: the table has 2");
    CHECK_INT(parameters_find(parameters, "a.weight"), weight);
    CHECK_INT(parameters_find(parameters, "a"), -1);
}

static void test_table(const struct backend *backend)
{
    struct parameters parameters = {.backend = backend};
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
    CHECK(parameters.rows[weight].version == 1);
    CHECK(parameters_initialise(&parameters, 1, &error) == ROTARY_OK);
    CHECK(parameters.rows[weight].version == 2);
    float *values = parameter_copy(&parameters, PARAMETER_VALUES);
    CHECK_NEAR((double)values[parameters.rows[weight].offset + 20], 1.0, 0.0);
    CHECK_NEAR((double)values[parameters.rows[bias].offset + 4], 0.0, 0.0);
    free(values);
    test_ranges(&parameters, weight, bias);
    parameters_free(&parameters);

    parameters = (struct parameters){.backend = backend};
    weight = add(&parameters, "a.weight", 7, 3, INITIAL_ONE, 0.0f);
    CHECK(parameters_allocate(&parameters, false, &error) == ROTARY_OK);
    CHECK(parameters.gradients == NULL);
    float one = 0.0f;
    struct parameter_range gradients = {.array = PARAMETER_GRADIENTS, .index = weight, .count = 1};
    CHECK(parameters_write(&parameters, gradients, &one, &error) == ROTARY_INVALID_ARGUMENT);
    CHECK_TEXT(error.message, "parameter a.weight has values only: the model was created for inference");
    static const char message[] = "parameters without gradients cannot be trained: the model was created for "
                                  "inference";
    uint64_t version = parameters.rows[weight].version;
    struct step_statistics statistics;
    CHECK(parameters_clear_statistics(&parameters, &error) == ROTARY_INVALID_ARGUMENT);
    CHECK_TEXT(error.message, message);
    CHECK(parameters_read_statistics(&parameters, &statistics, &error) == ROTARY_INVALID_ARGUMENT);
    CHECK_TEXT(error.message, message);
    CHECK(parameters_update(&parameters, &(struct adam){.correction1 = 1.0f}, 0.0, &error) ==
          ROTARY_INVALID_ARGUMENT);
    CHECK_TEXT(error.message, message);
    CHECK(parameters.rows[weight].version == version);
    parameters_free(&parameters);
}

static void test_growth(const struct backend *backend)
{
    struct parameters parameters = {.backend = backend};
    for (int i = 0; i < 200; i++) {
        char name[32];
        snprintf(name, sizeof name, "row.%d", i);
        CHECK_INT(add(&parameters, name, i + 1, 2, INITIAL_ONE, 0.0f), i);
    }
    CHECK_INT(parameters_total(&parameters), 200 * 201);
    parameters_free(&parameters);
}

static void test_initialisation(const struct backend *backend)
{
    enum { N = 1100000 }; /* more than are initialised on the host at once */
    struct parameters one = {.backend = backend}, two = {.backend = backend};
    rotary_error error;
    int normal = add(&one, "normal", N, 1, INITIAL_NORMAL, 0.02f),
        uniform = add(&one, "uniform", N, 1, INITIAL_UNIFORM, 0.5f),
        log_uniform = add(&one, "log_uniform", N, 1, INITIAL_LOG_UNIFORM, 2.0f),
        constant = add(&one, "constant", 2, 0, INITIAL_CONSTANT, 0.1f);
    add(&two, "another", 9, 9, INITIAL_NORMAL, 1.0f);
    int same = add(&two, "normal", N, 1, INITIAL_NORMAL, 0.02f);
    CHECK(parameters_allocate(&one, false, &error) == ROTARY_OK);
    CHECK(parameters_allocate(&two, false, &error) == ROTARY_OK);
    struct backend more = *backend;
    more.threads = 3;
    two.backend = &more;
    CHECK(parameters_initialise(&one, 7, &error) == ROTARY_OK);
    CHECK(parameters_initialise(&two, 7, &error) == ROTARY_OK);
    float *of_one = parameter_copy(&one, PARAMETER_VALUES), *of_two = parameter_copy(&two, PARAMETER_VALUES);
    const float *n = of_one + one.rows[normal].offset, *u = of_one + one.rows[uniform].offset,
                *l = of_one + one.rows[log_uniform].offset;
    CHECK(memcmp(n, of_two + two.rows[same].offset, N * sizeof *n) == 0);
    CHECK(of_one[one.rows[constant].offset] == 0.1f && of_one[one.rows[constant].offset + 1] == 0.1f);
    double mean[3] = {0}, square[2] = {0};
    for (int i = 0; i < N; i++) {
        mean[0] += (double)n[i] / N;
        square[0] += (double)n[i] * (double)n[i] / N;
        mean[1] += (double)u[i] / N;
        square[1] += (double)u[i] * (double)u[i] / N;
        mean[2] += exp((double)l[i]) / N;
        CHECK(fabsf(u[i]) <= 0.5f);
        CHECK(l[i] <= logf(2.0f) && l[i] >= logf(2.0f / 256.0f));
    }
    /* What is initialised at once is no copy of what came before it. */
    int alike = 0;
    for (int i = 1 << 20; i < N; i++)
        alike += (n[i] == n[i - (1 << 20)]) + (u[i] == u[i - (1 << 20)]);
    CHECK(alike < 100);
    CHECK_NEAR(mean[0], 0.0, 4 * 0.02 / 1000);
    CHECK_NEAR(sqrt(square[0]), 0.02, 0.02 * 0.02);
    CHECK_NEAR(mean[1], 0.0, 4 * 0.29 / 1000);
    CHECK_NEAR(square[1], 0.25 / 3, 0.25 / 3 * 0.03);
    CHECK_NEAR(mean[2], 1.0, 4 * 0.58 / 1000);
    CHECK(parameters_initialise(&two, 8, &error) == ROTARY_OK);
    free(of_two);
    of_two = parameter_copy(&two, PARAMETER_VALUES);
    CHECK(memcmp(n, of_two + two.rows[same].offset, N * sizeof *n) != 0);
    free(of_one);
    free(of_two);
    parameters_free(&one);
    parameters_free(&two);
}

int main(void)
{
    struct backend backend;
    CHECK(backend_create(&backend, 1, ROTARY_ISA_AUTO, PRECISION_F32, NULL) == ROTARY_OK);
    test_table(&backend);
    test_growth(&backend);
    test_initialisation(&backend);
    backend_destroy(&backend);
    return check_report();
}
