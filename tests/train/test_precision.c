/* SPDX-License-Identifier: Apache-2.0
 *
 * Training in bf16 follows training in f32: the first 200 steps of a preset, from the same weights on the
 * same data.
 *
 *     test_precision [PRESET [BATCH [STEPS]]]       such as addition/paper 1
 *
 * The loss is compared, as a mean over the tokens of ten steps. Rounding operands to bf16 has a relative
 * error of up to 2^-9 each, which is random, so that of a mean over many products and tokens is far less. The
 * tolerance is 2^-8 of the loss, one unit in the last place of bf16. Where training is unstable, runs that
 * differ slightly diverge at any precision. A second run in f32, whose initial weights alone are rounded to
 * bf16, measures that: four times its maximum deviation so far is added to the tolerance, since it is one
 * sample. A smaller batch is the harder test: fewer roundings cancel.
 *
 * The test also checks that the tolerance can fail: weights kept in bf16 without f32 master weights must
 * exceed it. (With a BATCH argument that is printed but not required: with a small batch f32 itself may be
 * unstable.)
 */
#include "support/check.h"
#include "support/parameter_copy.h"

#include "base/half.h"
#include "file/file.h"
#include "layer/encoding/encoding.h"
#include "train/trainer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { SMOOTHED = 10, MAX_STEPS = 1000 };
enum way { IN_F32, IN_F32_ROUNDED_ONCE, IN_BF16, ALL_IN_BF16, WAYS };
static const char *const way_names[] = {"f32", "f32, rounded once", "bf16", "bf16, no master weights"};
static const double unit = 0x1p-8;

static void must(rotary_status status, const rotary_error *error)
{
    if (status == ROTARY_OK)
        return;
    printf("%s\n", error->message);
    exit(1);
}

static void read_preset(struct run_config *config, const char *preset, int64_t batch)
{
    const char *root = getenv("ROTARY_SOURCE_DIR");
    char path[1024];
    snprintf(path, sizeof path, "%s/presets/%s.json", root ? root : ".", preset);
    json_t *object;
    rotary_error error;
    must(file_read_json(path, &object, &error), &error);
    must(run_config_from_json(config, object, path, &error), &error);
    json_decref(object);
    config->model.position = POSITION_ROPER;
    config->train.batch_size = batch;
    must(run_config_check(config, &error), &error);
}

static void round_weights(struct parameters *parameters)
{
    float *values = parameter_copy(parameters, PARAMETER_VALUES);
    for (int64_t i = 0; i < parameters->elements; i++)
        values[i] = rotary_bf16_to_float(rotary_bf16_from_float(values[i]));
    parameter_give(parameters, PARAMETER_VALUES, values);
}

/* The loss of each step. */
static void train_curve(const struct run_config *config, enum way way, int64_t steps, double *loss)
{
    struct backend backend;
    struct trainer trainer;
    rotary_error error;
    must(backend_create(&backend, 1, ROTARY_ISA_AUTO, way < IN_BF16 ? PRECISION_F32 : PRECISION_BF16, &error),
         &error);
    must(trainer_create(&trainer, config, NULL, &backend, &error), &error);
    if (way == IN_F32_ROUNDED_ONCE)
        round_weights(transformer_parameters(trainer.transformer));
    for (int64_t step = 1; step <= steps; step++) {
        struct trainer_step taken;
        must(trainer_step(&trainer, step, &taken, &error), &error);
        loss[step - 1] = taken.loss.total / (double)taken.loss.counted;
        if (way == ALL_IN_BF16)
            round_weights(transformer_parameters(trainer.transformer));
    }
    trainer_destroy(&trainer);
    backend_destroy(&backend);
}

static double smoothed(const double *loss, int64_t first)
{
    double sum = 0.0;
    for (int64_t i = first; i < first + SMOOTHED; i++)
        sum += loss[i];
    return sum / SMOOTHED;
}

/* Maximum deviation of a curve, in nats and relative to the tolerance. */
struct distance {
    double nats, relative;
};

static struct distance measure(const double *loss, const double *wanted, const double *rounded, int64_t steps)
{
    struct distance max = {0.0, 0.0};
    double unstable = 0.0;
    for (int64_t i = 0; i + SMOOTHED <= steps; i++) {
        double level = smoothed(wanted, i), off = fabs(smoothed(loss, i) - level);
        unstable = fmax(unstable, fabs(smoothed(rounded, i) - level));
        double relative = off / (unit * level + 4.0 * unstable);
        max.nats = fmax(max.nats, off);
        /* A NaN becomes the maximum. */
        max.relative = relative <= max.relative ? max.relative : relative;
    }
    return max;
}

int main(int count, char **arguments)
{
    const char *preset = count > 1 ? arguments[1] : "prefix/quick";
    int64_t batch = count > 2 ? strtoll(arguments[2], NULL, 10) : 1,
            steps = count > 3 ? strtoll(arguments[3], NULL, 10) : 200;
    if (!rotary_isa_available(ROTARY_ISA_AVX512BF16))
        check_skip("this machine has no instructions for bf16");
    if (batch < 1 || steps < SMOOTHED || steps > MAX_STEPS)
        check_skip("a batch of at least 1 and %d to %d steps are wanted", SMOOTHED, MAX_STEPS);

    struct run_config config;
    read_preset(&config, preset, batch);
    static double loss[WAYS][MAX_STEPS];
    for (int way = 0; way < WAYS; way++) {
        train_curve(&config, (enum way)way, steps, loss[way]);
        struct distance off = measure(loss[way], loss[IN_F32], loss[IN_F32_ROUNDED_ONCE], steps);
        printf("%s, batch %lld, %-24s loss %.4f to %.4f, off by at most %.5f nats, %.3f of the tolerance\n",
               preset, (long long)batch, way_names[way], loss[way][0], smoothed(loss[way], steps - SMOOTHED),
               off.nats, off.relative);
        fflush(stdout);
        check_about("%s, %s", preset, way_names[way]);
        CHECK(smoothed(loss[way], steps - SMOOTHED) < 0.95 * loss[way][0]); /* the loss decreased */
        if (way != ALL_IN_BF16)
            CHECK(off.relative <= 1.0);
        else if (count <= 2)
            CHECK(off.relative > 1.0);
    }
    return check_report();
}
