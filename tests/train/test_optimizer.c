/* SPDX-License-Identifier: Apache-2.0
 *
 * Schedules against values computed by hand; clipping and steps of Adam and AdamW against the formulas in
 * double.
 */
#include "support/check.h"
#include "support/parameter_copy.h"

#include "train/optimizer.h"
#include "train/schedule.h"

#include <math.h>
#include <stdlib.h>

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
    /* fairseq's inverse_sqrt: rate 5e-3 after 2000 steps, half of it after four times as many. */
    schedule = (struct schedule){
        .kind = SCHEDULE_INVERSE_SQUARE_ROOT, .rate = 5e-3, .minimum = 1e-3, .warmup = 2000, .steps = 3000};
    check_rates(
        &schedule,
        (const double[][2]){{1, 2.5e-6}, {1000, 2.5e-3}, {2000, 5e-3}, {4500, 5e-3 * 2 / 3}, {8000, 2.5e-3}},
        5);
    schedule.warmup = 0;
    check_rates(&schedule, (const double[][2]){{1, 5e-3}, {4, 2.5e-3}}, 2);
    /* Warm-up as long as the run, or longer: the warm-up alone. */
    schedule = (struct schedule){.kind = SCHEDULE_COSINE, .rate = 1.0, .warmup = 8, .steps = 8};
    check_rates(&schedule, (const double[][2]){{4, 0.5}, {8, 1.0}}, 2);
    schedule.warmup = 16;
    check_rates(&schedule, (const double[][2]){{4, 0.25}, {8, 0.5}}, 2);
}

/* `wanted` "": nothing is remarked upon. */
static void check_remark(const struct schedule *schedule, int64_t usual, const char *wanted)
{
    char text[SCHEDULE_REMARK_BYTES] = "";
    bool said = schedule_remark(schedule, usual, text);
    CHECK_INT(said, wanted[0] != 0);
    CHECK_TEXT(text, wanted);
}

static void test_remarks(void)
{
    struct schedule schedule = {.rate = 2.0, .minimum = 0.5, .warmup = 4, .steps = 12, .width = 16};
    for (int kind = SCHEDULE_CONSTANT; kind < SCHEDULES; kind++) {
        schedule.kind = (enum schedule_kind)kind;
        schedule.steps = 12;
        check_remark(&schedule, 12, "");
        schedule.steps = 0;
        check_remark(&schedule, 12, "");
        schedule.steps = 4;
        check_remark(&schedule, 4, "");
        check_remark(&schedule, 0, "");
    }
    schedule.kind = SCHEDULE_CONSTANT;
    check_remark(&schedule, 12, "");
    schedule.kind = SCHEDULE_COSINE;
    check_remark(&schedule, 12, "the cosine schedule is shortened: it ends at step 4 instead of step 12");
    schedule.kind = SCHEDULE_LINEAR;
    check_remark(&schedule, 3, "the linear schedule is stretched: it ends at step 4 instead of step 3");
    schedule.steps = 3;
    check_remark(&schedule, 3,
                 "the warm-up takes 4 steps and the run has 3: the learning rate ends at 1.5, and "
                 "would rise to 2");
    /* 2 / sqrt(16) * min(t^-0.5, t * 4^-1.5) */
    schedule.kind = SCHEDULE_NOAM;
    schedule.steps = 2;
    check_remark(&schedule, 2,
                 "the warm-up takes 4 steps and the run has 2: the learning rate ends at 0.125, and "
                 "would rise to 0.25");
}

enum { ROWS = 3 };
static const struct parameter rows[ROWS] = {
    {.name = "matrix", .rows = 37, .columns = 19, .decay = true},
    {.name = "gain", .rows = 21},
    {.name = "table", .rows = 5, .columns = 64, .decay = true},
};

static void make_parameters(struct parameters *parameters, const struct backend *backend)
{
    *parameters = (struct parameters){.backend = backend};
    int index;
    for (int i = 0; i < ROWS; i++)
        CHECK(parameters_add(parameters, &rows[i], &index, NULL) == ROTARY_OK);
    CHECK(parameters_allocate(parameters, true, NULL) == ROTARY_OK);
    float *values = parameter_copy(parameters, PARAMETER_VALUES);
    for (int i = 0; i < ROWS; i++)
        for (int64_t j = 0; j < parameter_elements(&rows[i]); j++)
            values[parameters->rows[i].offset + j] = check_random(1, (uint64_t)(1000 * i + j), 4);
    parameter_give(parameters, PARAMETER_VALUES, values);
}

static void make_gradients(struct parameters *parameters, int64_t step, double *norm)
{
    double square = 0;
    float *gradients = parameter_copy(parameters, PARAMETER_GRADIENTS);
    for (int i = 0; i < ROWS; i++)
        for (int64_t j = 0; j < parameter_elements(&rows[i]); j++) {
            float gradient = check_random((uint64_t)(100 + step), (uint64_t)(1000 * i + j), 6);
            gradients[parameters->rows[i].offset + j] = gradient;
            square += (double)gradient * (double)gradient;
        }
    *norm = sqrt(square);
    parameter_give(parameters, PARAMETER_GRADIENTS, gradients);
}

/* A step whose loss is `loss`. */
static struct step_statistics take_step(const struct optimizer *optimizer, struct parameters *parameters,
                                        int64_t step, double rate, double loss)
{
    struct step_statistics statistics = {.loss.total = loss};
    const struct backend *backend = parameters->backend;
    CHECK(backend->operations->write(backend, parameters->statistics, &statistics, sizeof statistics, NULL) ==
          ROTARY_OK);
    CHECK(optimizer_step(optimizer, parameters, step, rate, NULL) == ROTARY_OK);
    CHECK(parameters_read_statistics(parameters, &statistics, NULL) == ROTARY_OK);
    return statistics;
}

static double clip_scale_of(const struct backend *backend, double norm, double max_grad_norm)
{
    const struct optimizer optimizer = {
        .beta1 = 0.9, .beta2 = 0.99, .epsilon = 1e-8, .max_grad_norm = max_grad_norm};
    struct parameters parameters;
    make_parameters(&parameters, backend);
    float *gradients = parameter_copy(&parameters, PARAMETER_GRADIENTS);
    gradients[parameters.rows[1].offset] = (float)norm;
    parameter_give(&parameters, PARAMETER_GRADIENTS, gradients);
    struct step_statistics statistics = take_step(&optimizer, &parameters, 1, 0.1, 1.0);
    CHECK_NEAR(statistics.gradient_norm, norm, 0.0);
    parameters_free(&parameters);
    return statistics.clip_scale;
}

static void test_clip_scale(const struct backend *backend)
{
    CHECK_NEAR(clip_scale_of(backend, 10.0, 0.0), 1.0, 0.0);
    CHECK_NEAR(clip_scale_of(backend, 0.0, 1.0), 1.0, 0.0);
    CHECK_NEAR(clip_scale_of(backend, 0.5, 1.0), 1.0, 0.0);
    CHECK_NEAR(clip_scale_of(backend, 4.0, 1.0), 1.0 / 4.000001, 1e-15);
    /* PyTorch scales at the bound too. */
    CHECK_NEAR(clip_scale_of(backend, 1.0, 1.0), 1.0 / 1.000001, 1e-15);
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
    make_parameters(&parameters, backend);
    static struct element elements[ROWS][1024];
    float *values = parameter_copy(&parameters, PARAMETER_VALUES);
    for (int i = 0; i < ROWS; i++)
        for (int64_t j = 0; j < parameter_elements(&rows[i]); j++)
            elements[i][j] = (struct element){.value = (double)values[parameters.rows[i].offset + j]};
    free(values);
    const double rate = 0.01;
    for (int64_t step = 1; step <= 5; step++) {
        double wanted_norm;
        make_gradients(&parameters, step, &wanted_norm);
        double scale =
            optimizer->max_grad_norm > 0.0 ? fmin(1.0, optimizer->max_grad_norm / (wanted_norm + 1e-6)) : 1.0;
        float *drawn = parameter_copy(&parameters, PARAMETER_GRADIENTS);
        for (int i = 0; i < ROWS; i++)
            for (int64_t j = 0; j < parameter_elements(&rows[i]); j++)
                reference_step(&elements[i][j], optimizer,
                               scale * (double)drawn[parameters.rows[i].offset + j], rows[i].decay, rate,
                               step);
        free(drawn);
        struct step_statistics statistics = take_step(optimizer, &parameters, step, rate, 1.0);
        CHECK_INT(statistics.diverged, 0);
        /* Sums of up to 1,024 squares in f32, in at least 4 lanes: at most 256 + 2 roundings, of which the
         * root halves the error. */
        CHECK_NEAR(statistics.gradient_norm, wanted_norm, 129 * 0x1p-24 * wanted_norm);
    }
    double largest = 0, gradients = 0;
    float *zeros = parameter_copy(&parameters, PARAMETER_GRADIENTS);
    values = parameter_copy(&parameters, PARAMETER_VALUES);
    for (int i = 0; i < ROWS; i++)
        for (int64_t j = 0; j < parameter_elements(&rows[i]); j++) {
            int64_t at = parameters.rows[i].offset + j;
            double got = (double)values[at], wanted = elements[i][j].value;
            /* Five steps of about `rate`; f32 keeps six digits of each, and of the value itself. */
            double error = fabs(got - wanted) / (rate + 0.1 * fabs(wanted));
            largest = error > largest || isnan(error) ? error : largest;
            gradients += fabs((double)zeros[at]);
        }
    free(zeros);
    free(values);
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
    make_parameters(&parameters, backend);
    float *gradients = parameter_copy(&parameters, PARAMETER_GRADIENTS);
    for (int64_t i = 0; i < parameters.elements; i++)
        gradients[i] = i % 2 ? 0.5f : -3.0f;
    parameter_give(&parameters, PARAMETER_GRADIENTS, gradients);
    parameter_clear(&parameters, PARAMETER_VALUES);
    CHECK_INT(take_step(&optimizer, &parameters, 1, 0.25, 1.0).diverged, 0);
    float *values = parameter_copy(&parameters, PARAMETER_VALUES);
    for (int i = 0; i < ROWS; i++)
        for (int64_t j = 0; j < parameter_elements(&rows[i]); j++) {
            int64_t at = parameters.rows[i].offset + j;
            CHECK_NEAR((double)values[at], at % 2 ? -0.25 : 0.25, 1e-6);
        }
    free(values);
    parameters_free(&parameters);
    check_about("%s", "");
}

/* With a gradient or a loss that is not finite the parameters and moments stay unchanged. */
static void test_not_finite(const struct backend *backend)
{
    struct optimizer optimizer = {.beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8, .max_grad_norm = 1.0};
    const float bad[] = {NAN, INFINITY, -INFINITY};
    for (int i = 0; i < 6; i++) {
        struct parameters parameters, before;
        make_parameters(&parameters, backend);
        make_parameters(&before, backend);
        double norm;
        make_gradients(&parameters, 1, &norm);
        float *gradients = parameter_copy(&parameters, PARAMETER_GRADIENTS);
        if (i < 3)
            gradients[parameters.rows[2].offset + 17] = bad[i];
        parameter_give(&parameters, PARAMETER_GRADIENTS, gradients);
        struct step_statistics statistics =
            take_step(&optimizer, &parameters, 1, 0.1, i < 3 ? 1.0 : (double)bad[i - 3]);
        CHECK_INT(statistics.diverged, 1);
        CHECK(i < 3 ? !isfinite(statistics.gradient_norm) : statistics.gradient_norm == 0.0);
        CHECK(parameter_same(&parameters, &before, PARAMETER_VALUES));
        CHECK(parameter_same(&parameters, &before, PARAMETER_MOMENT1));
        CHECK(parameter_same(&parameters, &before, PARAMETER_MOMENT2));
        parameters_free(&parameters);
        parameters_free(&before);
    }
}

int main(void)
{
    test_schedules();
    test_remarks();
    struct backend backend;
    CHECK(backend_create(&backend, 2, ROTARY_ISA_AUTO, PRECISION_F32, NULL) == ROTARY_OK);
    test_clip_scale(&backend);
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
