/* SPDX-License-Identifier: Apache-2.0
 *
 * Adam and AdamW against double precision over several steps, and the sum of squares, on every instruction
 * set and several numbers of threads.
 */
#include "backend/parameter_update.h"
#include "base/isa.h"
#include "kernel/layer/layer_kernels.h"
#include "support/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 5, BIG = 50001 };

static struct parameters make_table(void)
{
    struct parameters table = {0};
    const struct parameter rows[] = {{.name = "a.weight", .rows = BIG, .columns = 1, .decay = true},
                                     {.name = "a.bias", .rows = 5},
                                     {.name = "b.weight", .rows = 17, .columns = 3, .decay = true},
                                     {.name = "b.bias", .rows = 70000}};
    rotary_error error;
    int index;
    for (int i = 0; i < 4; i++)
        CHECK(parameters_add(&table, &rows[i], &index, &error) == ROTARY_OK);
    CHECK(parameters_allocate(&table, true, &error) == ROTARY_OK);
    for (int i = 0; i < table.count; i++)
        for (int64_t j = 0; j < parameter_elements(&table.rows[i]); j++)
            parameter_value(&table, i)[j] = check_random((uint64_t)i, (uint64_t)j, 4);
    return table;
}

static void draw_gradients(struct parameters *table, int step)
{
    for (int i = 0; i < table->count; i++)
        for (int64_t j = 0; j < parameter_elements(&table->rows[i]); j++)
            parameter_gradient(table, i)[j] = check_random((uint64_t)(100 + 10 * step + i), (uint64_t)j, 6);
}

static struct adam settings(bool decoupled, int step)
{
    return (struct adam){.learning_rate = 1e-2f,
                         .beta1 = 0.9f,
                         .beta2 = 0.98f,
                         .epsilon = 1e-8f,
                         .weight_decay = 0.1f,
                         .decoupled = decoupled,
                         .gradient_scale = 0.5f,
                         .correction1 = (float)(1.0 - pow(0.9, step)),
                         .correction2 = (float)(1.0 - pow(0.98, step))};
}

static void test_adam(const struct backend *backend, bool decoupled)
{
    struct parameters table = make_table();
    double *value = calloc((size_t)table.elements, sizeof(double)),
           *m = calloc((size_t)table.elements, sizeof(double)),
           *v = calloc((size_t)table.elements, sizeof(double));
    for (int64_t i = 0; i < table.elements; i++)
        value[i] = (double)table.values[i];
    for (int step = 1; step <= STEPS; step++) {
        draw_gradients(&table, step);
        const struct adam adam = settings(decoupled, step);
        double square = 0.0;
        for (int64_t i = 0; i < table.elements; i++)
            square += (double)table.gradients[i] * (double)table.gradients[i];
        CHECK_NEAR(update_gradient_square(backend, &table), square, 1e-6 * square);
        for (int i = 0; i < table.count; i++)
            for (int64_t j = 0; j < parameter_elements(&table.rows[i]); j++) {
                int64_t at = table.rows[i].offset + j;
                double decay = table.rows[i].decay ? 0.1 : 0.0, old = value[at];
                double g = 0.5 * (double)table.gradients[at] + (decoupled ? 0.0 : decay * old);
                m[at] = 0.9 * m[at] + 0.1 * g;
                v[at] = 0.98 * v[at] + 0.02 * g * g;
                value[at] -=
                    1e-2 * (m[at] / (1.0 - pow(0.9, step))) / (sqrt(v[at] / (1.0 - pow(0.98, step))) + 1e-8);
                value[at] -= decoupled ? 1e-2 * decay * old : 0.0;
            }
        update_adam(backend, &table, &adam);
    }
    for (int64_t i = 0; i < table.elements; i++) {
        CHECK_NEAR((double)table.values[i], value[i], 2e-6 * fabs(value[i]) + 2e-6);
        CHECK(table.gradients[i] == 0.0f);
    }
    free(value);
    free(m);
    free(v);
    parameters_free(&table);
}

static void test_threads(struct backend backend)
{
    struct parameters one = make_table(), many = make_table();
    const int threads[] = {1, 2, 3, 7};
    double square = 0.0;
    for (int i = 0; i < 4; i++) {
        struct parameters *table = i ? &many : &one;
        memset(table->moment1, 0, (size_t)table->elements * sizeof(float));
        memset(table->moment2, 0, (size_t)table->elements * sizeof(float));
        for (int j = 0; j < table->count; j++)
            for (int64_t k = 0; k < parameter_elements(&table->rows[j]); k++)
                parameter_value(table, j)[k] = check_random((uint64_t)j, (uint64_t)k, 4);
        draw_gradients(table, 1);
        backend.threads = threads[i];
        double got = update_gradient_square(&backend, table);
        square = i ? square : got;
        CHECK(got == square);
        const struct adam adam = settings(true, 1);
        update_adam(&backend, table, &adam);
        CHECK(memcmp(table->values, one.values, (size_t)one.elements * sizeof(float)) == 0);
    }
    parameters_free(&one);
    parameters_free(&many);
}

int main(void)
{
    for (int isa = ROTARY_ISA_SCALAR; isa < ROTARY_ISAS; isa++) {
        if (!rotary_isa_available((rotary_isa)isa))
            continue;
        struct backend backend = {
            .threads = 2, .isa = (rotary_isa)isa, .kernels = layer_kernels_for((rotary_isa)isa)};
        check_about("%s", rotary_isa_name((rotary_isa)isa));
        test_adam(&backend, false);
        test_adam(&backend, true);
        test_threads(backend);
    }
    return check_report();
}
