/* SPDX-License-Identifier: Apache-2.0
 *
 * Baselines and the paired bootstrap over examples as text and as JSON.
 */
#include "file/file.h"
#include "report/findings.h"
#include "report/interval_text.h"
#include "report/prediction/predictions.h"
#include "report/resampled_output.h"

#include <math.h>

const struct example_scores *predictions_scores(const struct comparison *comparison)
{
    const struct example_scores *scores = comparison->predictions;
    return scores && !scores->fault && scores->count ? scores : NULL;
}

const struct example_scores *predictions_of(const struct comparison *comparison, enum measure measure)
{
    const struct example_scores *scores = predictions_scores(comparison);
    return scores && scores->measure == measure ? scores : NULL;
}

/* ---- text ---- */

static void write_contrast(FILE *stream, const struct comparison *comparison, int index)
{
    const struct contrast *contrast = &comparison->contrasts[index];
    const struct resampled_difference *mean = &comparison->predictions->contrasts[index].mean;
    if (contrast->pair_count > 0 && !isnan(mean->mean))
        resampled_contrast_text(stream, comparison, contrast, mean);
}

static void write_beside(FILE *stream, const struct comparison *comparison, int arm, int baseline)
{
    const struct beside_baseline *beside = &comparison->predictions->beside[arm * LABEL_BASELINES + baseline];
    if (!isfinite(beside->seeds.mean))
        return;
    fprintf(stream, "%s - %s, mean of %d run%s: %+.2f ", comparison->arms[arm].name,
            label_baseline_title(baseline, comparison->predictions->choices), beside->seeds.count,
            beside->seeds.count == 1 ? "" : "s", beside->seeds.mean);
    char interval[INTERVAL_BYTES];
    if (isfinite(beside->seeds.low))
        fprintf(stream, "over seeds %s, ",
                interval_text(interval, beside->seeds.low, beside->seeds.high, RESAMPLED_DECIMALS, true));
    fputs("over examples ", stream);
    resampled_interval_text(stream, &beside->examples);
}

void predictions_text(FILE *stream, const struct comparison *comparison, enum measure measure)
{
    const struct example_scores *scores = predictions_of(comparison, measure);
    if (comparison->predictions && comparison->predictions->fault &&
        comparison_label_measure(comparison) == measure)
        fprintf(stream, "no baselines: %s\n", comparison->predictions->fault);
    if (!scores)
        return;
    fprintf(stream,
            "beside the baselines, 95%%: over seeds, what other seeds would give on these examples; over "
            "examples, what\nother examples would give with these models (bootstrap over the %lld of the %s "
            "set, %d samples)\n",
            (long long)scores->count, scores->split, (int)EXAMPLE_SAMPLES);
    for (int i = 0; i < comparison->arm_count; i++)
        for (int j = 0; j < LABEL_BASELINES; j++)
            write_beside(stream, comparison, i, j);
    if (comparison->contrast_count > 0)
        fputs("differences of arms over examples, 95%\n", stream);
    for (int i = 0; i < comparison->contrast_count; i++)
        write_contrast(stream, comparison, i);
}

/* ---- JSON ---- */

json_t *predictions_json(const struct comparison *comparison)
{
    const struct example_scores *scores = comparison->predictions;
    if (!scores)
        return json_null();
    json_t *baselines = json_object();
    for (int i = 0; i < LABEL_BASELINES && scores->count > 0; i++)
        json_object_set_new(baselines, label_baseline_name(i, scores->choices),
                            file_json_number(scores->baselines[i]));
    return json_pack("{s:s?, s:I, s:i, s:i, s:s?, s:o}", "split", scores->split, "examples",
                     (json_int_t)scores->count, "samples", (int)EXAMPLE_SAMPLES, "seed", (int)EXAMPLE_SEED,
                     "fault", scores->fault, "baselines", baselines);
}

json_t *predictions_arm_json(const struct comparison *comparison, int index)
{
    const struct example_scores *scores = predictions_scores(comparison);
    if (!scores)
        return json_null();
    json_t *object = json_object();
    for (int i = 0; i < LABEL_BASELINES; i++) {
        const struct beside_baseline *beside = &scores->beside[index * LABEL_BASELINES + i];
        const struct paired_difference *seeds = &beside->seeds;
        json_object_set_new(object, label_baseline_name(i, scores->choices),
                            json_pack("{s:o, s:o, s:o, s:o, s:o}", "mean", file_json_number(seeds->mean),
                                      "level", file_json_number(seeds->level), "low",
                                      file_json_number(seeds->low), "high", file_json_number(seeds->high),
                                      "examples", resampled_json(&beside->examples)));
    }
    return object;
}

json_t *predictions_contrast_json(const struct comparison *comparison, int index)
{
    const struct example_scores *scores = predictions_scores(comparison);
    if (!scores || !comparison->contrasts[index].pair_count)
        return json_null();
    return resampled_contrast_json(&scores->contrasts[index], comparison->contrasts[index].pair_count);
}
