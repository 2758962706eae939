/* SPDX-License-Identifier: Apache-2.0 */
#include "records/comparison/family.h"

#include "base/fail.h"
#include "statistics/max_t.h"
#include "statistics/power.h"
#include "statistics/sign_flip.h"

#include <math.h>
#include <stdlib.h>

struct judging {
    const struct family_call *call;
    int count;      /* contrasts that are judged */
    int64_t *seeds; /* of all their pairs, ascending, each once */
    int seed_count;
    double *differences; /* [count][seed_count] */
    struct max_t_contrast *contrasts;
};

static int place_of(const int64_t *seeds, int count, int64_t seed)
{
    int place = 0;
    while (place < count && seeds[place] < seed)
        place++;
    return place;
}

static void add_seed(struct judging *judging, int64_t seed)
{
    const int place = place_of(judging->seeds, judging->seed_count, seed);
    if (place < judging->seed_count && judging->seeds[place] == seed)
        return;
    for (int i = judging->seed_count++; i > place; i--)
        judging->seeds[i] = judging->seeds[i - 1];
    judging->seeds[place] = seed;
}

static struct paired_difference *difference_of(const struct family_call *call, int contrast)
{
    return &call->contrasts[contrast].difference[call->measure];
}

/* Which contrasts are judged, and their seeds. */
static rotary_status choose(struct judging *judging, rotary_error *error)
{
    const struct family_call *call = judging->call;
    size_t room = 1;
    for (int i = 0; i < call->contrast_count; i++) {
        struct contrast *contrast = &call->contrasts[i];
        contrast->judged = contrast->pair_count >= ENOUGH_PAIRS && isfinite(difference_of(call, i)->mean);
        judging->count += contrast->judged;
        room += contrast->judged ? (size_t)contrast->pair_count : 0;
    }
    judging->seeds = malloc(room * sizeof *judging->seeds);
    if (!judging->seeds)
        return rotary_fail_memory(error, "for the seeds of a comparison");
    for (int i = 0; i < call->contrast_count; i++)
        for (int j = 0; call->contrasts[i].judged && j < call->contrasts[i].pair_count; j++)
            add_seed(judging, call->contrasts[i].pairs[j].seed);
    return ROTARY_OK;
}

static rotary_status gather(struct judging *judging, rotary_error *error)
{
    const struct family_call *call = judging->call;
    const size_t count = (size_t)judging->count, seeds = (size_t)judging->seed_count;
    judging->contrasts = calloc(count, sizeof *judging->contrasts);
    judging->differences = malloc(count * seeds * sizeof *judging->differences);
    if (!judging->contrasts || !judging->differences)
        return rotary_fail_memory(error, "for %d contrasts", judging->count);
    double *row = judging->differences;
    struct max_t_contrast *taken = judging->contrasts;
    for (int i = 0; i < call->contrast_count; i++) {
        const struct contrast *contrast = &call->contrasts[i];
        if (!contrast->judged)
            continue;
        for (size_t j = 0; j < seeds; j++)
            row[j] = (double)NAN;
        for (int j = 0; j < contrast->pair_count; j++)
            row[place_of(judging->seeds, judging->seed_count, contrast->pairs[j].seed)] =
                contrast->differences[call->measure][j];
        taken++->differences = row;
        row += seeds;
    }
    return ROTARY_OK;
}

static rotary_status test(struct judging *judging, rotary_error *error)
{
    const struct family_call *call = judging->call;
    const struct max_t_contrast *found = judging->contrasts;
    const struct max_t_call test = {.contrasts = judging->contrasts,
                                    .contrast_count = judging->count,
                                    .seed_count = judging->seed_count,
                                    .alpha = call->alpha};
    rotary_status status = max_t_test(&test, error);
    for (int i = 0; status == ROTARY_OK && i < call->contrast_count; i++) {
        struct paired_difference *difference = difference_of(call, i);
        if (!call->contrasts[i].judged)
            continue;
        call->contrasts[i].adjusted_p = found->p;
        difference->level = 1 - call->alpha;
        difference->low = found->low;
        difference->high = found->high;
        found++;
    }
    return status;
}

/* What it takes to show a difference, in units of the contrast's own spread. */
static rotary_status set_power(const struct judging *judging, rotary_error *error)
{
    const struct family_call *call = judging->call;
    struct power power;
    const struct power_design design = {.arms = call->all_pairs ? call->arm_count : judging->count + 1,
                                        .all_pairs = call->all_pairs,
                                        .alpha = call->alpha};
    rotary_status status = power_create(&power, &design, error);
    for (int i = 0; status == ROTARY_OK && i < call->contrast_count; i++) {
        struct contrast *contrast = &call->contrasts[i];
        const struct paired_difference *difference = difference_of(call, i);
        if (!contrast->judged || !(difference->deviation > 0))
            continue;
        contrast->detectable = difference->deviation * power_effect(&power, contrast->pair_count);
        contrast->needed_pairs = power_pairs(&power, difference->mean / difference->deviation);
    }
    return status;
}

rotary_status family_judge(struct family *family, const struct family_call *call, rotary_error *error)
{
    struct judging judging = {.call = call};
    rotary_status status = choose(&judging, error);
    if (status == ROTARY_OK && judging.count > 0)
        status = gather(&judging, error);
    if (status == ROTARY_OK && judging.count > 0)
        status = test(&judging, error);
    if (status == ROTARY_OK && judging.count > 0)
        status = set_power(&judging, error);
    *family = (struct family){
        .count = judging.count, .seeds = judging.seed_count, .drawn = judging.seed_count > SIGN_FLIP_EXACT};
    free(judging.contrasts);
    free(judging.differences);
    free(judging.seeds);
    return status;
}
