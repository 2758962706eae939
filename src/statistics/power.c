/* SPDX-License-Identifier: Apache-2.0 */
#include "statistics/power.h"

#include "base/fail.h"
#include "base/random.h"
#include "statistics/max_t.h"
#include "statistics/selection.h"
#include "statistics/statistics.h"

#include <math.h>
#include <stdlib.h>

/* More patterns would change little of what is found. */
enum { EXPERIMENTS = 200, MAX_PATTERNS = 256 };
static const double wanted = 0.8;
static const int sizes[POWER_SIZES] = {ENOUGH_PAIRS, 8, 12, 16, 24, 48};

struct simulation {
    const struct power_design *design;
    int pairs, contrast_count;
    double *scores;      /* [arms][pairs] */
    double *differences; /* [contrast_count][pairs] */
    struct max_t_contrast *contrasts;
};

static void destroy(struct simulation *simulation)
{
    free(simulation->scores);
    free(simulation->differences);
    free(simulation->contrasts);
}

static rotary_status create(struct simulation *simulation, const struct power_design *design, int pairs,
                            rotary_error *error)
{
    const int arms = design->arms;
    *simulation = (struct simulation){.design = design,
                                      .pairs = pairs,
                                      .contrast_count = design->all_pairs ? arms * (arms - 1) / 2 : arms - 1};
    const size_t contrasts = (size_t)simulation->contrast_count, room = (size_t)pairs;
    simulation->scores = malloc((size_t)arms * room * sizeof(double));
    simulation->differences = malloc(contrasts * room * sizeof(double));
    simulation->contrasts = calloc(contrasts, sizeof *simulation->contrasts);
    if (!simulation->scores || !simulation->differences || !simulation->contrasts) {
        destroy(simulation);
        return rotary_fail_memory(error, "for the power of %d pairs", pairs);
    }
    return ROTARY_OK;
}

/* Scores with the standard deviation that gives differences one of 1. */
static void draw(struct simulation *simulation, int experiment, double effect)
{
    const int arms = simulation->design->arms, pairs = simulation->pairs;
    const struct rotary_random_key key = {.stream = ROTARY_STREAM_POWER, .step = (uint32_t)experiment};
    int contrast = 0;
    for (int i = 0; i < arms * pairs; i++)
        simulation->scores[i] =
            M_SQRT1_2 * (double)rotary_random_normal(key, (uint64_t)i) + (i / pairs == 1 ? effect : 0);
    for (int baseline = 0; baseline < (simulation->design->all_pairs ? arms : 1); baseline++)
        for (int arm = baseline + 1; arm < arms; arm++, contrast++) {
            double *row = simulation->differences + (size_t)contrast * (size_t)pairs;
            simulation->contrasts[contrast].differences = row;
            for (int i = 0; i < pairs; i++)
                row[i] = simulation->scores[arm * pairs + i] - simulation->scores[baseline * pairs + i];
        }
}

/* Judges each of the experiments, in which the second arm has gained an effect, and sets its p, or the effect
 * above which it would have been found without. */
static rotary_status simulate(double *p, double *effects, const struct power_call *wanted_of,
                              rotary_error *error)
{
    struct simulation simulation;
    rotary_status status = create(&simulation, wanted_of->design, wanted_of->pairs, error);
    if (status != ROTARY_OK)
        return status;
    const struct max_t_call call = {.contrasts = simulation.contrasts,
                                    .contrast_count = simulation.contrast_count,
                                    .seed_count = wanted_of->pairs,
                                    .alpha = wanted_of->design->alpha,
                                    .max_patterns = MAX_PATTERNS,
                                    .others_as_found = true};
    for (int i = 0; status == ROTARY_OK && i < wanted_of->experiments; i++) {
        draw(&simulation, i, wanted_of->effect);
        status = max_t_test(&call, error);
        if (p)
            p[i] = simulation.contrasts[0].p;
        if (effects)
            effects[i] = -simulation.contrasts[0].low;
    }
    destroy(&simulation);
    return status;
}

rotary_status power_of(double *power, const struct power_call *call, rotary_error *error)
{
    double *p = malloc((size_t)call->experiments * sizeof *p);
    if (!p)
        return rotary_fail_memory(error, "for %d experiments", call->experiments);
    rotary_status status = simulate(p, NULL, call, error);
    int found = 0;
    for (int i = 0; status == ROTARY_OK && i < call->experiments; i++)
        found += p[i] <= call->design->alpha;
    *power = (double)found / call->experiments;
    free(p);
    return status;
}

rotary_status power_create(struct power *power, const struct power_design *design, rotary_error *error)
{
    double effects[EXPERIMENTS];
    for (int i = 0; i < POWER_SIZES; i++) {
        const struct power_call call = {.design = design, .pairs = sizes[i], .experiments = EXPERIMENTS};
        rotary_status status = simulate(NULL, effects, &call, error);
        if (status != ROTARY_OK)
            return status;
        const int rank = (int)((1 - wanted) * EXPERIMENTS);
        power->effects[i] = sqrt(sizes[i]) * selection_largest(effects, EXPERIMENTS, rank);
    }
    return ROTARY_OK;
}

double power_effect(const struct power *power, int pairs)
{
    int at = 0;
    while (at + 1 < POWER_SIZES && sizes[at + 1] < pairs)
        at++;
    if (at + 1 == POWER_SIZES || isinf(power->effects[at]))
        return power->effects[at] / sqrt(pairs);
    const double part = (1.0 / sizes[at] - 1.0 / pairs) / (1.0 / sizes[at] - 1.0 / sizes[at + 1]);
    return (power->effects[at] + part * (power->effects[at + 1] - power->effects[at])) / sqrt(pairs);
}

int power_pairs(const struct power *power, double effect)
{
    int fewer = ENOUGH_PAIRS - 1, pairs = POWER_MAX_PAIRS;
    while (pairs - fewer > 1) {
        const int middle = fewer + (pairs - fewer) / 2;
        *(power_effect(power, middle) <= fabs(effect) ? &pairs : &fewer) = middle;
    }
    return pairs;
}
