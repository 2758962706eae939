/* SPDX-License-Identifier: Apache-2.0
 *
 * Every subset of queries, keys, values and outputs trains: losses are finite, each subset takes steps of its own, and
 * a run that stopped and went on has the bits of one that did not.
 */
#include "support/check.h"
#include "support/parameter_copy.h"
#include "train/runs.h"

#include "base/random.h"
#include "train/trainer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { STEPS = 4, SUBSETS = 16 };

static void configure(struct run_config *config, const char *assignment)
{
    tiny_config(config);
    set_option(config, assignment);
    config->train.steps = STEPS;
    config->train.checkpoint_every = STEPS / 2;
    CHECK_INT(run_config_check(config, NULL), ROTARY_OK);
}

/* A hash of the weights after STEPS steps. */
static uint64_t weights_of(const char *assignment)
{
    struct run_config config RUN_CONFIG_LOCAL = {0};
    struct backend backend;
    struct trainer trainer;
    check_about("%s", assignment);
    configure(&config, assignment);
    CHECK_INT(backend_create(&backend, 1, ROTARY_ISA_AUTO, PRECISION_F32, NULL), ROTARY_OK);
    CHECK_INT(trainer_create(&trainer, &config, NULL, &backend, NULL), ROTARY_OK);
    for (int step = 1; step <= STEPS; step++) {
        struct trainer_step taken;
        CHECK_INT(trainer_step(&trainer, step, &taken, NULL), ROTARY_OK);
        CHECK(!taken.diverged && isfinite(taken.loss.total) && taken.loss.total > 0);
    }
    const struct parameters *parameters = transformer_parameters(trainer.transformer);
    float *values = parameter_copy(parameters, PARAMETER_VALUES);
    uint64_t hash = rotary_hash(values, (uint64_t)parameters->elements * sizeof *values);
    free(values);
    trainer_destroy(&trainer);
    backend_destroy(&backend);
    return hash;
}

static void check_resume(const char *assignment, int subset)
{
    struct run_config config RUN_CONFIG_LOCAL = {0};
    char names[2][32];
    const char *folders[2];
    configure(&config, assignment);
    for (int i = 0; i < 2; i++) {
        snprintf(names[i], sizeof names[i], "%s%d", i ? "resumed" : "straight", subset);
        folders[i] = new_folder(names[i]);
    }
    train_to_end(&config, 1, folders[0]);
    config.train.steps = STEPS / 2;
    train_to_end(&config, 1, folders[1]);
    config.train.steps = STEPS;
    train_to_end(&config, 1, folders[1]);
    CHECK(same_file(folders[0], folders[1], "model.safetensors"));
    CHECK(same_file(folders[0], folders[1], "optimizer.safetensors"));
}

int main(void)
{
    uint64_t weights[SUBSETS] = {0};
    for (int subset = 1; subset < SUBSETS; subset++) {
        char assignment[40];
        snprintf(assignment, sizeof assignment, "rotate=%s", rotate_names[subset]);
        weights[subset] = weights_of(assignment);
        for (int other = 1; other < subset; other++)
            CHECK(weights[subset] != weights[other]);
        check_resume(assignment, subset);
    }
    CHECK(weights_of("position=rope") == weights[ROTATE_QUERY_KEY]);
    CHECK(weights_of("position=roper") == weights[ROTATE_ALL]);
    check_about("%s", "");
    return check_report();
}
