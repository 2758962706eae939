/* SPDX-License-Identifier: Apache-2.0 */
#include "records/comparison/resampled_contrast.h"

#include "base/fail.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

rotary_status resampled_contrast_find(struct resampled_contrast *found, const struct contrast *contrast,
                                      const struct resampled_runs *runs, rotary_error *error)
{
    const int count = contrast->pair_count;
    found->mean = (struct resampled_difference){(double)NAN, (double)NAN, (double)NAN, (double)NAN};
    if (count == 0)
        return ROTARY_OK;
    int *arms = calloc(2 * (size_t)count, sizeof *arms), *baselines = arms + count;
    found->pairs = calloc((size_t)count, sizeof *found->pairs);
    rotary_status status =
        arms && found->pairs ? ROTARY_OK : rotary_fail_memory(error, "for %d pairs", count);
    int taken = 0;
    for (int i = 0; status == ROTARY_OK && i < count; i++) {
        found->pairs[i] = found->mean;
        if (contrast->pairs[i].diverged) /* it answered nothing */
            continue;
        arms[taken] = runs->of_record[contrast->pairs[i].arm];
        baselines[taken] = runs->of_record[contrast->pairs[i].baseline];
        const struct resampled_pairs one = {runs->scores, runs->corpus, 1, &arms[taken], &baselines[taken]};
        status = resample_difference_of(&one, runs->samples, &found->pairs[i], error);
        taken++;
    }
    const struct resampled_pairs all = {runs->scores, runs->corpus, taken, arms, baselines};
    if (status == ROTARY_OK && taken > 0)
        status = resample_difference_of(&all, runs->samples, &found->mean, error);
    free(arms);
    return status;
}

rotary_status resampled_keep_fault(rotary_status status, const rotary_error *fault, char **kept)
{
    if (status == ROTARY_OK || status == ROTARY_OUT_OF_MEMORY)
        return status;
    *kept = strdup(fault->message);
    return *kept ? ROTARY_OK : ROTARY_OUT_OF_MEMORY;
}
