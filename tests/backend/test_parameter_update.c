/* SPDX-License-Identifier: Apache-2.0
 *
 * Adam and AdamW against double precision over several steps, and the sum of squares, on every instruction
 * set and several numbers of threads.
 */
#include "backend/cpu.h"
#include "base/isa.h"
#include "support/check.h"
#include "support/parameter_copy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 5, BIG = 50001 };

static void draw(struct parameters *table, enum parameter_array array, int64_t seed, int exponents)
{
    float *drawn = calloc((size_t)table->elements, sizeof *drawn);
    for (int i = 0; i < table->count; i++)
        for (int64_t j = 0; j < parameter_elements(&table->rows[i]); j++)
            drawn[table->rows[i].offset + j] = check_random((uint64_t)(seed + i), (uint64_t)j, exponents);
    parameter_give(table, array, drawn);
}

static struct parameters make_table(const struct backend *backend)
{
    struct parameters table = {.backend = backend};
    const struct parameter rows[] = {{.name = "a.weight", .rows = BIG, .columns = 1, .decay = true},
                                     {.name = "a.bias", .rows = 5},
                                     {.name = "b.weight", .rows = 17, .columns = 3, .decay = true},
                                     {.name = "b.bias", .rows = 70000}};
    rotary_error error;
    int index;
    for (int i = 0; i < 4; i++)
        CHECK(parameters_add(&table, &rows[i], &index, &error) == ROTARY_OK);
    CHECK(parameters_allocate(&table, true, &error) == ROTARY_OK);
    draw(&table, PARAMETER_VALUES, 0, 4);
    return table;
}

static struct adam settings(bool decoupled, int step)
{
    return (struct adam){.learning_rate = 1e-2f,
                         .beta1 = 0.9f,
                         .beta2 = 0.98f,
                         .epsilon = 1e-8f,
                         .weight_decay = 0.1f,
                         .decoupled = decoupled,
                         .correction1 = (float)(1.0 - pow(0.9, step)),
                         .correction2 = (float)(1.0 - pow(0.98, step))};
}

static void test_adam(const struct backend *backend, bool decoupled)
{
    struct parameters table = make_table(backend);
    float *values = parameter_copy(&table, PARAMETER_VALUES);
    double *value = calloc((size_t)table.elements, sizeof(double)),
           *m = calloc((size_t)table.elements, sizeof(double)),
           *v = calloc((size_t)table.elements, sizeof(double));
    for (int64_t i = 0; i < table.elements; i++)
        value[i] = (double)values[i];
    for (int step = 1; step <= STEPS; step++) {
        draw(&table, PARAMETER_GRADIENTS, 100 + 10 * step, 6);
        float *gradients = parameter_copy(&table, PARAMETER_GRADIENTS);
        const struct adam adam = settings(decoupled, step);
        double square = 0.0;
        for (int64_t i = 0; i < table.elements; i++)
            square += (double)gradients[i] * (double)gradients[i];
        double got = 0.0;
        CHECK_INT(cpu_gradient_square(backend, &table, &got, NULL), ROTARY_OK);
        CHECK_NEAR(got, square, 1e-6 * square);
        for (int i = 0; i < table.count; i++)
            for (int64_t j = 0; j < parameter_elements(&table.rows[i]); j++) {
                int64_t at = table.rows[i].offset + j;
                double decay = table.rows[i].decay ? 0.1 : 0.0, old = value[at];
                double g = 0.5 * (double)gradients[at] + (decoupled ? 0.0 : decay * old);
                m[at] = 0.9 * m[at] + 0.1 * g;
                v[at] = 0.98 * v[at] + 0.02 * g * g;
                value[at] -=
                    1e-2 * (m[at] / (1.0 - pow(0.9, step))) / (sqrt(v[at] / (1.0 - pow(0.98, step))) + 1e-8);
                value[at] -= decoupled ? 1e-2 * decay * old : 0.0;
            }
        free(gradients);
        /* Half of the norm: the gradients are scaled by 1/2. */
        CHECK(parameters_update(&table, &adam, 0.5 * sqrt(square), NULL) == ROTARY_OK);
        struct step_statistics statistics;
        CHECK(parameters_read_statistics(&table, &statistics, NULL) == ROTARY_OK);
        CHECK_NEAR(statistics.gradient_norm, sqrt(square), 1e-6 * sqrt(square));
        CHECK_NEAR(statistics.clip_scale, 0.5, 1e-6);
        CHECK_INT(statistics.diverged, 0);
    }
    free(values);
    values = parameter_copy(&table, PARAMETER_VALUES);
    float *zeros = parameter_copy(&table, PARAMETER_GRADIENTS);
    for (int64_t i = 0; i < table.elements; i++) {
        CHECK_NEAR((double)values[i], value[i], 2e-6 * fabs(value[i]) + 2e-6);
        CHECK(zeros[i] == 0.0f);
    }
    free(values);
    free(zeros);
    free(value);
    free(m);
    free(v);
    parameters_free(&table);
}

static void test_threads(struct backend backend)
{
    struct parameters one = make_table(&backend), many = make_table(&backend);
    const int threads[] = {1, 2, 3, 7};
    double square = 0.0;
    for (int i = 0; i < 4; i++) {
        struct parameters *table = i ? &many : &one;
        parameter_clear(table, PARAMETER_MOMENT1);
        parameter_clear(table, PARAMETER_MOMENT2);
        draw(table, PARAMETER_VALUES, 0, 4);
        draw(table, PARAMETER_GRADIENTS, 110, 6);
        backend.threads = threads[i];
        double got = 0.0;
        CHECK_INT(cpu_gradient_square(&backend, table, &got, NULL), ROTARY_OK);
        square = i ? square : got;
        CHECK(got == square);
        const struct adam adam = settings(true, 1);
        CHECK(parameters_update(table, &adam, 1.0, NULL) == ROTARY_OK);
        CHECK(parameter_same(table, &one, PARAMETER_VALUES));
    }
    parameters_free(&one);
    parameters_free(&many);
}

/* A frozen row keeps values, moments and version; the others are updated as without it. */
static void test_frozen(const struct backend *backend)
{
    enum { FROZEN = 2 };
    struct parameters all = make_table(backend), some = make_table(backend);
    some.rows[FROZEN].frozen = true;
    CHECK(parameter_gradient(&some, FROZEN) == NULL && parameter_gradient(&all, FROZEN) != NULL);
    for (int i = 0; i < 2; i++) {
        struct parameters *table = i ? &some : &all;
        draw(table, PARAMETER_GRADIENTS, 50, 6);
        uint64_t versions[] = {table->rows[0].version, table->rows[FROZEN].version};
        const struct adam adam = settings(true, 1);
        CHECK(parameters_update(table, &adam, 0.0, NULL) == ROTARY_OK);
        CHECK(table->rows[0].version > versions[0]);
        CHECK((table->rows[FROZEN].version > versions[1]) == !table->rows[FROZEN].frozen);
    }
    struct parameters before = make_table(backend);
    for (int array = PARAMETER_VALUES; array < PARAMETER_ARRAYS; array++) {
        if (array == PARAMETER_GRADIENTS)
            continue;
        float *a = parameter_copy(&all, (enum parameter_array)array),
              *b = parameter_copy(&some, (enum parameter_array)array),
              *old = parameter_copy(&before, (enum parameter_array)array);
        for (int i = 0; i < all.count; i++) {
            const struct parameter *row = &all.rows[i];
            const float *wanted = (i == FROZEN ? old : a) + row->offset;
            CHECK(memcmp(b + row->offset, wanted, (size_t)parameter_elements(row) * sizeof *b) == 0);
            CHECK(memcmp(a + row->offset, old + row->offset, (size_t)parameter_elements(row) * sizeof *b) !=
                  0);
        }
        free(a);
        free(b);
        free(old);
    }
    parameters_free(&all);
    parameters_free(&some);
    parameters_free(&before);
}

/* Row `from` of one table and row `to` of another have the same bits in an array. */
static bool same_row(const struct parameters *a, int from, const struct parameters *b, int to,
                     enum parameter_array array)
{
    const size_t bytes = (size_t)parameter_elements(&a->rows[from]) * sizeof(float);
    float *one = malloc(bytes), *two = malloc(bytes);
    CHECK_INT(parameters_read(a, parameter_range(a, array, from), one, NULL), ROTARY_OK);
    CHECK_INT(parameters_read(b, parameter_range(b, array, to), two, NULL), ROTARY_OK);
    const bool same = memcmp(one, two, bytes) == 0;
    free(one);
    free(two);
    return same;
}

/* Adds a row of `all` to another table. */
static void add_like(struct parameters *table, const struct parameters *all, int row, bool adapted,
                     bool frozen)
{
    struct parameter added = all->rows[row];
    int index;
    added.adapted = adapted;
    added.frozen = frozen;
    CHECK_INT(parameters_add(table, &added, &index, NULL), ROTARY_OK);
}

static void copy_row(struct parameters *to, int row, const struct parameters *from, int source,
                     enum parameter_array array)
{
    float *values = malloc((size_t)parameter_elements(&from->rows[source]) * sizeof *values);
    CHECK_INT(parameters_read(from, parameter_range(from, array, source), values, NULL), ROTARY_OK);
    CHECK_INT(parameters_write(to, parameter_range(to, array, row), values, NULL), ROTARY_OK);
    free(values);
}

/* A table with a frozen row, an adapted one and two that are trained, one of them in its adapter, has the
 * update that the two alone have; frozen and adapted rows have no moments, and their gradients do not count.
 */
static void test_adapter(const struct backend *backend)
{
    enum { FROZEN, TRAINED, ADAPTED };
    struct parameters all = make_table(backend), both = {.backend = backend}, table = {.backend = backend},
                      adapter = {.backend = backend};
    const struct adam adam = settings(true, 1);
    struct step_statistics statistics, wanted;
    float kept = 3.0f;
    add_like(&both, &all, 0, false, false);
    add_like(&both, &all, 3, false, false);
    add_like(&table, &all, 1, false, true);
    add_like(&table, &all, 0, false, false);
    add_like(&table, &all, 2, true, false);
    add_like(&adapter, &all, 3, false, false);
    CHECK_INT(parameters_allocate(&both, true, NULL), ROTARY_OK);
    CHECK_INT(parameters_allocate(&table, false, NULL), ROTARY_OK);
    CHECK_INT(parameters_allocate_training(&table, NULL), ROTARY_OK);
    CHECK_INT(parameters_allocate(&adapter, true, NULL), ROTARY_OK);
    table.adapter = &adapter;
    CHECK_INT(table.trained_elements, BIG + 15);
    CHECK_INT(table.gradient_elements, BIG + 15 + 64);
    draw(&both, PARAMETER_VALUES, 0, 4);
    draw(&both, PARAMETER_GRADIENTS, 60, 4);
    for (int array = PARAMETER_VALUES; array <= PARAMETER_GRADIENTS; array++) {
        copy_row(&table, TRAINED, &both, 0, (enum parameter_array)array);
        copy_row(&adapter, 0, &both, 1, (enum parameter_array)array);
    }
    const struct parameter_range gradient = {.array = PARAMETER_GRADIENTS, .index = ADAPTED, .count = 1};
    CHECK_INT(parameters_write(&table, gradient, &kept, NULL), ROTARY_OK);
    CHECK(parameters_write(&table, parameter_range(&table, PARAMETER_MOMENT1, ADAPTED), &kept, NULL) ==
          ROTARY_INVALID_ARGUMENT);
    CHECK(parameters_write(&table, parameter_range(&table, PARAMETER_MOMENT2, FROZEN), &kept, NULL) ==
          ROTARY_INVALID_ARGUMENT);
    CHECK(parameter_gradient(&table, FROZEN) == NULL);
    const uint64_t version = adapter.rows[0].version, old = table.rows[ADAPTED].version;
    CHECK_INT(parameters_update(&both, &adam, 0.0, NULL), ROTARY_OK);
    CHECK_INT(parameters_update(&table, &adam, 0.0, NULL), ROTARY_OK);
    CHECK(adapter.rows[0].version > version && table.rows[ADAPTED].version == old);
    CHECK_INT(parameters_read_statistics(&table, &statistics, NULL), ROTARY_OK);
    CHECK_INT(parameters_read_statistics(&both, &wanted, NULL), ROTARY_OK);
    CHECK_NEAR(statistics.gradient_norm, wanted.gradient_norm, 1e-6 * wanted.gradient_norm);
    for (int array = PARAMETER_VALUES; array < PARAMETER_ARRAYS; array++) {
        CHECK(same_row(&table, TRAINED, &both, 0, (enum parameter_array)array));
        CHECK(same_row(&adapter, 0, &both, 1, (enum parameter_array)array));
    }
    CHECK(*parameter_gradient(&table, ADAPTED) == kept && *parameter_value(&table, ADAPTED) == 0.0f);
    parameters_free(&all);
    parameters_free(&both);
    parameters_free(&table);
    parameters_free(&adapter);
}

int main(void)
{
    for (int isa = ROTARY_ISA_SCALAR; isa < ROTARY_ISAS; isa++) {
        if (!rotary_isa_available((rotary_isa)isa))
            continue;
        struct backend backend;
        CHECK(backend_create(&backend, 2, (rotary_isa)isa, PRECISION_F32, NULL) == ROTARY_OK);
        check_about("%s", rotary_isa_name((rotary_isa)isa));
        test_adam(&backend, false);
        test_adam(&backend, true);
        test_threads(backend);
        test_frozen(&backend);
        test_adapter(&backend);
        backend_destroy(&backend);
    }
    return check_report();
}
