/* SPDX-License-Identifier: Apache-2.0 */
#include "report/comparison_table.h"

#include "base/fail.h"
#include "file/file.h"
#include "report/cost.h"
#include "report/findings.h"
#include "report/lengths.h"
#include "report/prediction/predictions.h"
#include "report/prediction/sentences.h"
#include "report/text_scores.h"

/* jansson gives NULL without memory, and for text that is not UTF-8. A NULL that is put into an array or an
 * object makes the whole of it NULL, so that only the whole has to be checked. */

static void put(json_t **object, const char *key, json_t *value)
{
    if (*object && json_object_set_new(*object, key, value) == 0)
        return;
    json_decref(*object);
    *object = NULL;
}

static void append(json_t **array, json_t *value)
{
    if (*array && json_array_append_new(*array, value) == 0)
        return;
    json_decref(*array);
    *array = NULL;
}

static json_t *texts_json(const struct sentences *sentences)
{
    json_t *array = json_array();
    for (int i = 0; i < sentences->count; i++)
        append(&array, json_string(sentences->items[i]));
    return array;
}

/* ---- arms ---- */

static json_t *statistics_json(const struct comparison_arm *arm, enum measure measure)
{
    const struct statistics *statistics = &arm->statistics[measure];
    json_t *object =
        json_pack("{s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "runs", statistics->count, "mean",
                  file_json_number(statistics->mean), "median", file_json_number(statistics->median),
                  "standard_deviation", file_json_number(statistics->deviation), "min",
                  file_json_number(statistics->min), "max", file_json_number(statistics->max),
                  "without_worst", file_json_number(statistics->without_worst), "low",
                  file_json_number(statistics->low), "high", file_json_number(statistics->high));
    if (measure == MEASURE_STEPS_TO_90)
        put(&object, "reached",
            json_pack("{s:i, s:i, s:o}", "runs", arm->reached.count, "reached", arm->reached.reached,
                      "median", file_json_number(arm->reached.median)));
    return object;
}

static json_t *run_json(const struct comparison *comparison, const struct comparison_arm *arm, int index)
{
    const struct record *record = &comparison->records[arm->runs[index]];
    json_t *run = json_pack("{s:I, s:s, s:O?}", "seed", (json_int_t)record->seed, "folder", record->folder,
                            "provenance", record->provenance);
    for (int i = 0; i < comparison->measure_count; i++) {
        enum measure measure = comparison->measures[i];
        put(&run, measure_names[measure], file_json_number(arm->values[measure][index]));
    }
    const struct learned *learned = &comparison->learned[arm->runs[index]];
    if (learned->kind != LEARNED_UNKNOWN)
        put(&run, "begun",
            json_pack("{s:b, s:s, s:f, s:f}", "begun", (int)learned->begun, "reference",
                      learned_reference_names[learned->kind], "reference_loss", learned->reference,
                      "lowest_loss", learned->lowest));
    if (comparison->has_problems) {
        put(&run, "correct", json_integer(record_last_evaluation(record)->correct));
        put(&run, "reached_90", json_boolean(arm->steps_to_90[index] != NOT_REACHED));
    }
    return run;
}

static json_t *diverged_json(const struct comparison *comparison, const struct comparison_arm *arm, int index)
{
    const struct record *record = &comparison->records[arm->runs[arm->run_count + index]];
    return json_pack("{s:I, s:s, s:I}", "seed", (json_int_t)record->seed, "folder", record->folder, "step",
                     (json_int_t)record->diverged);
}

static json_t *arm_json(const struct comparison *comparison, int index)
{
    const struct comparison_arm *arm = &comparison->arms[index];
    json_t *runs = json_array(), *diverged = json_array(), *measures = json_object();
    for (int i = 0; i < arm->run_count; i++)
        append(&runs, run_json(comparison, arm, i));
    for (int i = 0; i < arm->diverged_count; i++)
        append(&diverged, diverged_json(comparison, arm, i));
    for (int i = 0; i < comparison->measure_count; i++)
        put(&measures, measure_names[comparison->measures[i]], statistics_json(arm, comparison->measures[i]));
    return json_pack("{s:s, s:o, s:o, s:b, s:o, s:o, s:o, s:o, s:o}", "name", arm->name, "runs", runs,
                     "diverged", diverged, "too_short", (int)arm->too_short, "measures", measures, "cost",
                     cost_json(arm), "text", text_scores_json(comparison, index), "lengths",
                     lengths_json(comparison, index), "baselines", predictions_arm_json(comparison, index));
}

/* ---- contrasts ---- */

static json_t *difference_json(const struct contrast *contrast, enum measure measure)
{
    const struct paired_difference *difference = &contrast->difference[measure];
    json_t *differences = json_array();
    for (int i = 0; i < contrast->pair_count; i++)
        append(&differences, file_json_number(contrast->differences[measure][i]));
    json_t *object =
        json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "differences", differences, "mean",
                  file_json_number(difference->mean), "median", file_json_number(difference->median),
                  "standard_deviation", file_json_number(difference->deviation), "level",
                  file_json_number(difference->level), "low", file_json_number(difference->low), "high",
                  file_json_number(difference->high), "t_test_p", file_json_number(difference->t_test_p),
                  "sign_flip_p", file_json_number(difference->sign_flip_p), "sign_flip_min_p",
                  file_json_number(difference->sign_flip_min_p));
    if (measure == MEASURE_STEPS_TO_90)
        put(&object, "censored", json_integer(contrast->censored));
    return object;
}

static json_t *contrast_json(const struct comparison *comparison, int index, const char *sentence)
{
    const struct contrast *contrast = &comparison->contrasts[index];
    json_t *seeds = json_array(), *measures = json_object();
    for (int i = 0; i < contrast->pair_count; i++)
        append(&seeds, json_integer(contrast->pairs[i].seed));
    for (int i = 0; i < comparison->measure_count; i++)
        put(&measures, measure_names[comparison->measures[i]],
            difference_json(contrast, comparison->measures[i]));
    return json_pack("{s:s, s:s, s:i, s:o, s:s, s:s, s:o, s:o, s:i, s:o, s:o, s:o, s:o}", "arm",
                     comparison->arms[contrast->arm].name, "baseline",
                     comparison->arms[contrast->baseline].name, "pairs", contrast->pair_count, "seeds", seeds,
                     "verdict", verdict_words[comparison_decide(comparison, contrast)], "sentence", sentence,
                     "adjusted_p", file_json_number(contrast->adjusted_p), "detectable_difference",
                     file_json_number(contrast->detectable), "needed_pairs", contrast->needed_pairs,
                     "measures", measures, "lengths", lengths_contrast_json(comparison, contrast),
                     "sentences", sentences_contrast_json(comparison, index), "predictions",
                     predictions_contrast_json(comparison, index));
}

rotary_status comparison_json(const struct comparison *comparison, json_t **object, rotary_error *error)
{
    struct findings findings;
    rotary_status status = findings_create(&findings, comparison, error);
    if (status != ROTARY_OK)
        return status;
    json_t *arms = json_array(), *contrasts = json_array(), *measures = json_array();
    for (int i = 0; i < comparison->arm_count; i++)
        append(&arms, arm_json(comparison, i));
    for (int i = 0; i < comparison->contrast_count; i++)
        append(&contrasts, contrast_json(comparison, i, findings.verdicts.items[i]));
    for (int i = 0; i < comparison->measure_count; i++)
        append(&measures, json_string(measure_names[comparison->measures[i]]));
    json_t *made = json_pack(
        "{s:s, s:s, s:o, s:s?, s:I, s:I, s:i, s:i, s:I, s:i, s:i, s:o, s:o, s:o, s:o, s:s?, s:o, s:o}",
        "varied", comparison->varied, "primary_measure", measure_names[comparison->measures[0]], "measures",
        measures, "unlike", comparison->unlike, "problems", (json_int_t)comparison->problems, "steps",
        (json_int_t)comparison->steps, "unfinished", comparison->unfinished, "seen_before",
        comparison_seen_before(comparison), "seen_steps", (json_int_t)comparison_seen_steps(comparison),
        "max_pairs", comparison->max_pairs, "family", comparison->family, "verdicts",
        texts_json(&findings.verdicts), "notes", texts_json(&findings.notes), "arms", arms, "contrasts",
        contrasts, "signature", sentences_signature(comparison), "sentences", sentences_json(comparison),
        "predictions", predictions_json(comparison));
    findings_free(&findings);
    if (!made)
        return rotary_fail_memory(error, "for a comparison as JSON, or a name that is not UTF-8");
    *object = made;
    return ROTARY_OK;
}
