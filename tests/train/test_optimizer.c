/* SPDX-License-Identifier: Apache-2.0
 *
 * Schedules against values computed by hand; clipping and steps of Adam and AdamW against the formulas in
 * double.
 */
#include "support/check.h"

#include "train/optimizer.h"
#include "train/schedule.h"

#include <math.h>
#include <string.h>

static void check_rates(const struct schedule *schedule, const double (*wanted)[2], int count)
{
    for (int i = 0; i < count; i++) {
        check_about("%s, step %g", schedule_names[schedule->kind], wanted[i][0]);
        double rate = schedule_rate(schedule, (int64_t)wanted[i][0]);
        CHECK_NEAR(rate, wanted[i][1], 1e-12 * wanted[i][1]);
    }
    check_about("%s", "");
}

static void test_schedules(void)
{
    struct schedule schedule = {.rate = 2.0, .minimum = 0.5, .warmup = 4, .steps = 12};
    schedule.kind = SCHEDULE_CONSTANT;
    check_rates(&schedule, (const double[][2]){{1, 0.5}, {3, 1.5}, {4, 2.0}, {5, 2.0}, {12, 2.0}, {99, 2.0}},
                6);
    schedule.kind = SCHEDULE_LINEAR;
    check_rates(
        &schedule,
        (const double[][2]){{1, 0.5}, {4, 2.0}, {5, 1.8125}, {8, 1.25}, {11, 0.6875}, {12, 0.5}, {99, 0.5}},
        7);
    schedule.kind = SCHEDULE_COSINE; /* a third and two thirds of the half period: cosines of 1/2 and -1/2 */
    schedule.steps = 10;
    check_rates(&schedule,
                (const double[][2]){{2, 1.0}, {4, 2.0}, {6, 1.625}, {7, 1.25}, {8, 0.875}, {10, 0.5}}, 6);
    /* Vaswani et al.: width 512, 4000 steps of warm-up; the maximum is (512 * 4000)^-0.5. */
    schedule =
        (struct schedule){.kind = SCHEDULE_NOAM, .rate = 1.0, .warmup = 4000, .steps = 100000, .width = 512};
    check_rates(&schedule,
                (const double[][2]){{1, 1.746928107421711e-07},
                                    {1000, 1.746928107421711e-04},
                                    {4000, 6.987712429686843e-04},
                                    {16000, 3.4938562148434216e-04}},
                4);
    schedule.warmup = 0;
    check_rates(&schedule, (const double[][2]){{1, 0.044194173824159216}, {4, 0.022097086912079608}}, 2);
    /* Warm-up as long as the run, or longer: the warm-up alone. */
    schedule = (struct schedule){.kind = SCHEDULE_COSINE, .rate = 1.0, .warmup = 8, .steps = 8};
    check_rates(&schedule, (const double[][2]){{4, 0.5}, {8, 1.0}}, 2);
    schedule.warmup = 16;
    check_rates(&schedule, (const double[][2]){{4, 0.25}, {8, 0.5}}, 2);
}

static void test_clip_scale(void)
{
    CHECK_NEAR(optimizer_clip_scale(10.0, 0.0), 1.0, 0.0);
    CHECK_NEAR(optimizer_clip_scale(0.0, 1.0), 1.0, 0.0);
    CHECK_NEAR(optimizer_clip_scale(0.5, 1.0), 1.0, 0.0);
    CHECK_NEAR(optimizer_clip_scale(4.0, 1.0), 1.0 / 4.000001, 1e-15);
    CHECK_NEAR(optimizer_clip_scale(1.0, 1.0), 1.0 / 1.000001, 1e-15); /* PyTorch scales at the bound too */
}

enum { ROWS = 3 };
static const struct parameter rows[ROWS] = {
    {.name = "matrix", .rows = 37, .columns = 19, .decay = true},
    {.name = "gain", .rows = 21},
    {.name = "table", .rows = 5, .columns = 64, .decay = true},
};

static void make_parameters(struct parameters *parameters)
{
    *parameters = (struct parameters){0};
    int index;
    for (int i = 0; i < ROWS; i++)
        CHECK(parameters_add(parameters, &rows[i], &index, NULL) == ROTARY_OK);
    CHECK(parameters_allocate(parameters, true, NULL) == ROTARY_OK);
    for (int i = 0; i < ROWS; i++)
        for (int64_t j = 0; j < parameter_elements(&rows[i]); j++)
            parameter_value(parameters, i)[j] = check_random(1, (uint64_t)(1000 * i + j), 4);
}

static void make_gradients(struct parameters *parameters, int64_t step, double *norm)
{
    double square = 0;
    for (int i = 0; i < ROWS; i++)
        for (int64_t j = 0; j < parameter_elements(&rows[i]); j++) {
            float gradient = check_random((uint64_t)(100 + step), (uint64_t)(1000 * i + j), 6);
            parameter_gradient(parameters, i)[j] = gradient;
            square += (double)gradient * (double)gradient;
        }
    *norm = sqrt(square);
}

/* The formulas for one element, in double. */
struct element {
    double value, moment1, moment2;
};
static void reference_step(struct element *element, const struct optimizer *optimizer, double gradient,
                           bool decay, double rate, int64_t step)
{
    double weight_decay = decay ? optimizer->weight_decay : 0.0;
    if (optimizer->kind == OPTIMIZER_ADAM)
        gradient += weight_decay * element->value;
    else
        element->value -= rate * weight_decay * element->value;
    element->moment1 = optimizer->beta1 * element->moment1 + (1.0 - optimizer->beta1) * gradient;
    element->moment2 = optimizer->beta2 * element->moment2 + (1.0 - optimizer->beta2) * gradient * gradient;
    double mean = element->moment1 / (1.0 - pow(optimizer->beta1, (double)step));
    double square = element->moment2 / (1.0 - pow(optimizer->beta2, (double)step));
    element->value -= rate * mean / (sqrt(square) + optimizer->epsilon);
}

static void test_steps(const struct optimizer *optimizer, const struct backend *backend)
{
    check_about("%s, clip %g, decay %g", optimizer_names[optimizer->kind], optimizer->max_grad_norm,
                optimizer->weight_decay);
    struct parameters parameters;
    make_parameters(&parameters);
    static struct element elements[ROWS][1024];
    for (int i = 0; i < ROWS; i++)
        for (int64_t j = 0; j < parameter_elements(&rows[i]); j++)
            elements[i][j] = (struct element){.value = (double)parameter_value(&parameters, i)[j]};
    const double rate = 0.01;
    for (int64_t step = 1; step <= 5; step++) {
        double wanted_norm, norm;
        make_gradients(&parameters, step, &wanted_norm);
        double scale =
            optimizer->max_grad_norm > 0.0 ? fmin(1.0, optimizer->max_grad_norm / (wanted_norm + 1e-6)) : 1.0;
        for (int i = 0; i < ROWS; i++)
            for (int64_t j = 0; j < parameter_elements(&rows[i]); j++)
                reference_step(&elements[i][j], optimizer,
                               scale * (double)parameter_gradient(&parameters, i)[j], rows[i].decay, rate,
                               step);
        CHECK(optimizer_step(optimizer, backend, &parameters, step, rate, &norm));
        /* Sums of up to 1,024 squares in f32, in at least 4 lanes: at most 256 + 2 roundings, of which the
         * root halves the error. */
        CHECK_NEAR(norm, wanted_norm, 129 * 0x1p-24 * wanted_norm);
    }
    double largest = 0, gradients = 0;
    for (int i = 0; i < ROWS; i++)
        for (int64_t j = 0; j < parameter_elements(&rows[i]); j++) {
            double got = (double)parameter_value(&parameters, i)[j], wanted = elements[i][j].value;
            /* Five steps of about `rate`; f32 keeps six digits of each, and of the value itself. */
            double error = fabs(got - wanted) / (rate + 0.1 * fabs(wanted));
            largest = error > largest || isnan(error) ? error : largest;
            gradients += fabs((double)parameter_gradient(&parameters, i)[j]);
        }
    CHECK_NEAR(largest, 0.0, 2e-5);
    CHECK_NEAR(gradients, 0.0, 0.0);
    parameters_free(&parameters);
    check_about("%s", "");
}

/* With betas near 1 the first step still has the size of the learning rate: the bias correction uses the
 * betas as rounded to f32, as the moments do. */
static void test_largest_betas(const struct backend *backend)
{
    check_about("largest betas");
    struct optimizer optimizer = {.beta1 = 0.9999999, .beta2 = 0.9999999, .epsilon = 1e-30};
    struct parameters parameters;
    make_parameters(&parameters);
    for (int64_t i = 0; i < parameters.elements; i++) {
        parameters.values[i] = 0;
        parameters.gradients[i] = i % 2 ? 0.5f : -3.0f;
    }
    double norm;
    CHECK(optimizer_step(&optimizer, backend, &parameters, 1, 0.25, &norm));
    for (int i = 0; i < ROWS; i++)
        for (int64_t j = 0; j < parameter_elements(&rows[i]); j++) {
            float *value = parameter_value(&parameters, i) + j;
            CHECK_NEAR((double)*value, (value - parameters.values) % 2 ? -0.25 : 0.25, 1e-6);
        }
    parameters_free(&parameters);
    check_about("%s", "");
}

/* With a gradient that is not finite the parameters and moments stay unchanged. */
static void test_not_finite(const struct backend *backend)
{
    struct optimizer optimizer = {.beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8, .max_grad_norm = 1.0};
    const float bad[] = {NAN, INFINITY, -INFINITY};
    for (int i = 0; i < 3; i++) {
        struct parameters parameters, before;
        make_parameters(&parameters);
        make_parameters(&before);
        double norm;
        make_gradients(&parameters, 1, &norm);
        parameter_gradient(&parameters, 2)[17] = bad[i];
        CHECK(!optimizer_step(&optimizer, backend, &parameters, 1, 0.1, &norm));
        CHECK(!isfinite(norm));
        CHECK(memcmp(parameters.values, before.values, (size_t)before.elements * sizeof(float)) == 0);
        CHECK(memcmp(parameters.moment1, before.moment1, (size_t)before.elements * sizeof(float)) == 0);
        CHECK(memcmp(parameters.moment2, before.moment2, (size_t)before.elements * sizeof(float)) == 0);
        parameters_free(&parameters);
        parameters_free(&before);
    }
}

int main(void)
{
    test_schedules();
    test_clip_scale();
    struct backend backend;
    CHECK(backend_create(&backend, 2, ROTARY_ISA_AUTO, PRECISION_F32, NULL) == ROTARY_OK);
    for (int kind = OPTIMIZER_ADAM; kind <= OPTIMIZER_ADAMW; kind++)
        for (int variant = 0; variant < 4; variant++) {
            struct optimizer optimizer = {.kind = (enum optimizer_kind)kind,
                                          .beta1 = 0.9,
                                          .beta2 = 0.98,
                                          .epsilon = 1e-6,
                                          .weight_decay = variant & 1 ? 0.1 : 0.0,
                                          .max_grad_norm = variant & 2 ? 1.0 : 0.0};
            test_steps(&optimizer, &backend);
        }
    test_largest_betas(&backend);
    test_not_finite(&backend);
    backend_destroy(&backend);
    return check_report();
}
