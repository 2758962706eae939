/* SPDX-License-Identifier: Apache-2.0 */
#include "records/comparison/comparison.h"

#include "base/fail.h"
#include "records/comparison/comparable_scores.h"
#include "records/comparison/family.h"
#include "statistics/binomial.h"
#include "statistics/sequential.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const double comparison_alpha = 0.05;
static const double ninety_percent = 0.9;

int comparison_find(const struct comparison *comparison, const char *name)
{
    for (int i = 0; i < comparison->arm_count; i++)
        if (strcmp(comparison->arms[i].name, name) == 0)
            return i;
    return -1;
}

enum measure comparison_label_measure(const struct comparison *comparison)
{
    for (int i = 0; i < comparison->measure_count; i++)
        if (measure_label(comparison->measures[i]) != LABEL_SCORES)
            return comparison->measures[i];
    return MEASURES;
}

/* Those with the first come first, in the order of the arms. */
const struct contrast *comparison_contrast(const struct comparison *comparison, int index)
{
    return index > 0 ? &comparison->contrasts[index - 1] : NULL;
}

/* Only a finished run has the test set's. */
static void take_examples(struct comparison *comparison, const struct record_evaluation *evaluation)
{
    const struct label_scores *labels = record_labels(evaluation);
    comparison->examples = labels ? labels->examples : 0;
    comparison->test = labels == &evaluation->test_labels;
}

/* Scores compare only for the same task and number of problems. */
static rotary_status check_records(struct comparison *comparison, const struct comparison_request *request,
                                   rotary_error *error)
{
    const struct record *records = request->records, *scored = NULL;
    for (int i = 0; i < request->record_count; i++) {
        if (strcmp(records[i].task, records[0].task) != 0)
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                               "%s is a run of task %s and %s one of %s: wanted runs of one task",
                               records[0].folder, records[0].task, records[i].folder, records[i].task);
        const struct record_evaluation *last = record_last_evaluation(&records[i]);
        if (!last)
            continue;
        if (scored && last->problems != comparison->problems)
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                               "%s was scored on %lld problems and %s on %lld: wanted the same number",
                               records[i].folder, (long long)last->problems, scored->folder,
                               (long long)comparison->problems);
        comparison->problems = last->problems;
        comparison->scoring = record_scoring(&records[i]);
        comparison->measures[0] = record_usual_measure(&records[i]);
        if (!comparison->examples || record_finished(&records[i]))
            take_examples(comparison, last);
        scored = &records[i];
    }
    comparison->has_problems = comparison->problems > 0;
    return ROTARY_OK;
}

/* What the runs' configuration declares; without that, what suits them. */
static enum measure primary_measure(const struct comparison *comparison,
                                    const struct comparison_request *request)
{
    const char *declared =
        request->record_count
            ? json_string_value(json_object_get(request->records[0].config, "primary_measure"))
            : NULL;
    for (int i = 0; declared && i < MEASURES; i++)
        if (strcmp(declared, measure_names[i]) == 0 && measure_fits((enum measure)i, comparison->scoring))
            return (enum measure)i;
    return comparison->measures[0];
}

/* Keeps the measures by which the runs compare. */
static rotary_status check_scores(struct comparison *comparison, rotary_error *error)
{
    struct comparable comparable = {.records = comparison->records,
                                    .record_count = comparison->record_count,
                                    .scoring = comparison->scoring,
                                    .measure_count = comparison->measure_count};
    memcpy(comparable.measures, comparison->measures, sizeof comparable.measures);
    rotary_status status = comparable_scores_check(&comparable, error);
    if (status != ROTARY_OK)
        return status;
    memcpy(comparison->measures, comparable.measures, sizeof comparison->measures);
    comparison->measure_count = comparable.measure_count;
    comparison->vocabularies_differ = comparable.vocabularies_differ;
    comparison->incomparable = comparable.fault;
    if (!comparison->unlike)
        comparison->unlike = comparison->incomparable;
    return ROTARY_OK;
}

/* ---- arms ---- */

/* Appends the arm's finished records, either those that diverged or the others, to its runs, by seed. Only
 * runs that are not alike, which nobody pairs, may have a seed in common. */
static rotary_status collect(struct comparison_arm *arm, const struct comparison *comparison, int count,
                             bool diverged, rotary_error *error)
{
    const struct record *records = comparison->records;
    int *runs = arm->runs + (diverged ? arm->run_count : 0), found = 0;
    for (int i = 0; i < count; i++) {
        if (strcmp(records[i].arm, arm->name) != 0 || !record_finished(&records[i]) ||
            (records[i].diverged > 0) != diverged)
            continue;
        int place = found;
        while (place > 0 && records[runs[place - 1]].seed > records[i].seed) {
            runs[place] = runs[place - 1];
            place--;
        }
        if (place > 0 && records[runs[place - 1]].seed == records[i].seed && !comparison->unlike)
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                               "%s and %s are both %s with seed %lld: wanted one run of each seed",
                               records[runs[place - 1]].folder, records[i].folder, arm->name,
                               (long long)records[i].seed);
        runs[place] = i;
        found++;
    }
    *(diverged ? &arm->diverged_count : &arm->run_count) = found;
    return ROTARY_OK;
}

/* One block holds all arrays of an arm, which has at most as many runs as there are records. */
static rotary_status make_room(struct comparison_arm *arm, int count, rotary_error *error)
{
    size_t room = (size_t)count + 1;
    double *block = malloc(room * (MEASURES * sizeof(double) + sizeof(int64_t) + sizeof(int)));
    if (!block)
        return rotary_fail_memory(error, "for a comparison");
    for (int measure = 0; measure < MEASURES; measure++)
        arm->values[measure] = block + (size_t)measure * room;
    arm->steps_to_90 = (int64_t *)(block + MEASURES * room);
    arm->runs = (int *)(arm->steps_to_90 + room);
    return ROTARY_OK;
}

static rotary_status summarize(struct comparison_arm *arm, const struct comparison *comparison, int count,
                               rotary_error *error)
{
    const struct record *records = comparison->records;
    rotary_status status = make_room(arm, count, error);
    if (status == ROTARY_OK)
        status = collect(arm, comparison, count, false, error);
    if (status == ROTARY_OK)
        status = collect(arm, comparison, count, true, error);
    if (status != ROTARY_OK)
        return status;
    int runs = arm->run_count, diverged = arm->diverged_count;
    for (int i = 0; i < runs + diverged; i++)
        arm->steps_to_90[i] =
            i < runs ? record_steps_to(&records[arm->runs[i]], ninety_percent) : NOT_REACHED;
    for (int measure = 0; measure < MEASURES; measure++) {
        double *values = arm->values[measure];
        for (int i = 0; i < runs; i++)
            values[i] = record_measure(&records[arm->runs[i]], (enum measure)measure);
        struct statistics *statistics = &arm->statistics[measure];
        statistics_of(statistics, values, runs, measure_descriptions[measure].better);
        if (diverged)
            statistics->without_worst = diverged == 1 ? statistics->mean : (double)NAN;
    }
    for (int i = 0; i < runs; i++)
        arm->unlearned += !comparison->learned[arm->runs[i]].begun;
    arm->too_short = 2 * arm->unlearned > runs;
    return statistics_reached(&arm->reached, arm->steps_to_90, runs + diverged, error);
}

/* ---- contrasts ---- */

/* Exact match of two runs. */
static struct exact_match_pair scores_of(const struct comparison *comparison,
                                         const struct contrast_pair *pair)
{
    const struct record *arm = &comparison->records[pair->arm],
                        *baseline = &comparison->records[pair->baseline];
    return (struct exact_match_pair){.correct = arm->diverged ? 0 : record_last_evaluation(arm)->correct,
                                     .baseline_correct =
                                         baseline->diverged ? 0 : record_last_evaluation(baseline)->correct,
                                     .problems = comparison->problems};
}

static rotary_status add_noise(struct contrast *contrast, const struct comparison *comparison,
                               rotary_error *error)
{
    if (!comparison->has_problems || contrast->pair_count == 0)
        return ROTARY_OK;
    struct exact_match_pair *scores = malloc((size_t)contrast->pair_count * sizeof *scores);
    if (!scores)
        return rotary_fail_memory(error, "for a comparison");
    for (int i = 0; i < contrast->pair_count; i++)
        scores[i] = scores_of(comparison, &contrast->pairs[i]);
    statistics_add_noise(&contrast->difference[MEASURE_EXACT_MATCH],
                         exact_match_noise(scores, contrast->pair_count));
    free(scores);
    return ROTARY_OK;
}

static bool never_reached(const struct record *record)
{
    return record->diverged || record_steps_to(record, ninety_percent) == NOT_REACHED;
}

double comparison_score(const struct comparison *comparison, int record, enum measure measure)
{
    const struct record *of = &comparison->records[record];
    if (!of->diverged)
        return record_measure(of, measure);
    if (!measure_fits(measure, comparison->scoring))
        return (double)NAN;
    double worst = record_worst(of, measure);
    /* A run that diverged before it logged anything had about the loss of the others before training. */
    for (int i = 0; isnan(worst) && i < comparison->record_count; i++)
        worst = record_worst(&comparison->records[i], measure);
    return worst;
}

/* Finds the runs of the arm and its baseline that have one seed. Those that diverged come after the others in
 * an arm, so that pairs are brought into the order of their seeds. */
static void find_pairs(struct contrast *contrast, const struct comparison *comparison)
{
    const struct comparison_arm *arm = &comparison->arms[contrast->arm],
                                *baseline = &comparison->arms[contrast->baseline];
    const int runs = arm->run_count + arm->diverged_count,
              others = baseline->run_count + baseline->diverged_count;
    for (int i = 0; i < runs && !comparison->unlike; i++)
        for (int j = 0; j < others; j++) {
            const struct record *first = &comparison->records[arm->runs[i]],
                                *second = &comparison->records[baseline->runs[j]];
            if (first->seed != second->seed)
                continue;
            int place = contrast->pair_count++;
            for (; place > 0 && contrast->pairs[place - 1].seed > first->seed; place--)
                contrast->pairs[place] = contrast->pairs[place - 1];
            contrast->pairs[place] = (struct contrast_pair){.seed = first->seed,
                                                            .arm = arm->runs[i],
                                                            .baseline = baseline->runs[j],
                                                            .diverged = first->diverged || second->diverged};
        }
}

/* An arm minus its baseline; 0 if both diverged, however large a loss they had before. */
static double difference_of(const struct comparison *comparison, const struct contrast_pair *pair,
                            enum measure measure)
{
    const struct record *arm = &comparison->records[pair->arm],
                        *baseline = &comparison->records[pair->baseline];
    const double difference = comparison_score(comparison, pair->arm, measure) -
                              comparison_score(comparison, pair->baseline, measure);
    return arm->diverged && baseline->diverged && !isnan(difference) ? 0 : difference;
}

static void keep_in_bounds(struct paired_difference *difference, const struct comparison *comparison,
                           enum measure measure)
{
    statistics_keep_within(difference, measure == MEASURE_STEPS_TO_90 ? (double)comparison->steps
                                                                      : measure_largest_difference(measure));
}

/* An interval that leaves out nothing to a side is none, unless the measure has bounds. */
static void set_verdict_bounds(struct paired_difference *difference, const struct comparison *comparison)
{
    keep_in_bounds(difference, comparison, comparison->measures[0]);
    if (isinf(difference->low) || isinf(difference->high))
        difference->low = difference->high = (double)NAN;
}

/* Finds the pairs and their differences. */
static rotary_status compare_arms(struct contrast *contrast, const struct comparison *comparison,
                                  rotary_error *error)
{
    const struct comparison_arm *arm = &comparison->arms[contrast->arm];
    const size_t room = (size_t)(arm->run_count + arm->diverged_count) + 1;
    double *block = malloc(room * (MEASURES * sizeof(double) + sizeof(struct contrast_pair)));
    if (!block)
        return rotary_fail_memory(error, "for a comparison");
    for (int measure = 0; measure < MEASURES; measure++)
        contrast->differences[measure] = block + (size_t)measure * room;
    contrast->pairs = (struct contrast_pair *)(block + MEASURES * room);
    find_pairs(contrast, comparison);
    const int pairs = contrast->pair_count;
    for (int i = 0; i < pairs; i++)
        contrast->censored += never_reached(&comparison->records[contrast->pairs[i].arm]) ||
                              never_reached(&comparison->records[contrast->pairs[i].baseline]);
    for (int measure = 0; measure < MEASURES; measure++) {
        for (int i = 0; i < pairs; i++)
            contrast->differences[measure][i] =
                difference_of(comparison, &contrast->pairs[i], (enum measure)measure);
        contrast->difference[measure] = statistics_paired(contrast->differences[measure], pairs);
    }
    rotary_status status = add_noise(contrast, comparison, error);
    for (int measure = 0; measure < MEASURES; measure++)
        keep_in_bounds(&contrast->difference[measure], comparison, (enum measure)measure);
    return status;
}

/* The primary measure's differences in the order in which their runs were planned, which is that of the
 * records: seeds that were added by hand are looked at last, whichever they are. The caller frees them. */
static double *order_by_plan(const struct contrast *contrast, enum measure primary)
{
    double *ordered = malloc(((size_t)contrast->pair_count + 1) * sizeof *ordered);
    for (int i = 0; ordered && i < contrast->pair_count; i++) {
        int place = 0;
        for (int j = 0; j < contrast->pair_count; j++)
            place += contrast->pairs[j].arm < contrast->pairs[i].arm;
        ordered[place] = contrast->differences[primary][i];
    }
    return ordered;
}

/* The interval that may be looked at after every seed, at the level of Bonferroni's correction. */
static rotary_status set_sequential(struct contrast *contrast, const struct comparison *comparison,
                                    rotary_error *error)
{
    enum measure primary = comparison->measures[0];
    struct paired_difference *difference = &contrast->difference[primary];
    struct sequential_interval interval = {(double)NAN, (double)NAN};
    double *ordered = order_by_plan(contrast, primary);
    if (!ordered)
        return rotary_fail_memory(error, "for a comparison");
    struct sequential_call call = {.differences = ordered,
                                   .count = contrast->pair_count,
                                   .max_count = comparison->max_pairs,
                                   .alpha = comparison_alpha / comparison->contrast_count};
    rotary_status status = ROTARY_OK;
    if (isfinite(difference->mean)) {
        status = sequential_test(&contrast->look, &call, error);
        if (contrast->look > 0) /* seeds that were added for other arms do not take the verdict back */
            call.count = contrast->look;
        for (int i = 0; i < call.count; i++)
            contrast->look_mean += ordered[i] / call.count;
        if (status == ROTARY_OK)
            status = sequential_interval(&interval, &call, error);
    }
    free(ordered);
    difference->level = 1 - call.alpha;
    difference->low = interval.low;
    difference->high = interval.high;
    keep_in_bounds(difference, comparison, primary);
    return status;
}

/* The verdicts' intervals of the primary measure, and what its spread allows. */
static rotary_status finish_contrasts(struct comparison *comparison, rotary_error *error)
{
    rotary_status status = ROTARY_OK;
    for (int i = 0; i < comparison->contrast_count; i++) {
        comparison->contrasts[i].adjusted_p = comparison->contrasts[i].detectable = (double)NAN;
        if (comparison->contrasts[i].pair_count > comparison->max_pairs)
            comparison->max_pairs = 0;
    }
    if (comparison->max_pairs == 0) {
        struct family family;
        const struct family_call call = {.contrasts = comparison->contrasts,
                                         .contrast_count = comparison->contrast_count,
                                         .arm_count = comparison->arm_count,
                                         .all_pairs = comparison->all_pairs,
                                         .measure = comparison->measures[0],
                                         .alpha = comparison_alpha};
        status = family_judge(&family, &call, error);
        comparison->enough_pairs = ENOUGH_PAIRS;
        comparison->family = family.count;
        comparison->seeds = family.seeds;
        comparison->drawn = family.drawn;
        for (int i = 0; i < comparison->contrast_count; i++)
            set_verdict_bounds(&comparison->contrasts[i].difference[comparison->measures[0]], comparison);
        return status;
    }
    comparison->enough_pairs =
        sequential_first_look(comparison->max_pairs, comparison_alpha / comparison->contrast_count);
    for (int i = 0; status == ROTARY_OK && i < comparison->contrast_count; i++)
        status = set_sequential(&comparison->contrasts[i], comparison, error);
    return status;
}

int comparison_seen_before(const struct comparison *comparison)
{
    int seeds = 0;
    for (int i = 0; i < comparison->arm_count; i++) {
        const struct comparison_arm *arm = &comparison->arms[i];
        int finished = arm->run_count + arm->diverged_count;
        seeds = finished > seeds ? finished : seeds;
    }
    for (int i = 0; comparison->looks && i < comparison->looks->count; i++)
        if (comparison->looks->seeds[i] < seeds)
            return comparison->looks->seeds[i];
    return 0;
}

int64_t comparison_seen_steps(const struct comparison *comparison)
{
    const struct looks *looks = comparison->looks;
    for (int i = 0; looks && looks->steps && i < looks->count; i++)
        if (looks->steps[i] < comparison->steps)
            return looks->steps[i];
    return 0;
}

/* The side of a difference. */
static enum verdict side_of(double difference, enum measure measure)
{
    const bool higher = measure_descriptions[measure].better == HIGHER_IS_BETTER;
    return (difference > 0) == higher ? VERDICT_BETTER : VERDICT_WORSE;
}

static enum verdict decide_sequentially(const struct comparison *comparison, const struct contrast *contrast)
{
    const struct paired_difference *difference = &contrast->difference[comparison->measures[0]];
    if (contrast->pair_count < comparison->enough_pairs)
        return VERDICT_TOO_FEW;
    if (isnan(difference->low))
        return VERDICT_NO_SPREAD;
    if (difference->low > 0 || difference->high < 0)
        return side_of(difference->low, comparison->measures[0]);
    return VERDICT_NO_DIFFERENCE;
}

enum verdict comparison_decide(const struct comparison *comparison, const struct contrast *contrast)
{
    if (contrast->pair_count > 0 && comparison->arms[contrast->arm].too_short &&
        comparison->arms[contrast->baseline].too_short)
        return VERDICT_TOO_SHORT;
    if (comparison->max_pairs)
        return decide_sequentially(comparison, contrast);
    if (!contrast->judged)
        return VERDICT_TOO_FEW;
    return contrast->adjusted_p <= comparison_alpha
               ? side_of(contrast->difference[comparison->measures[0]].mean, comparison->measures[0])
               : VERDICT_NO_DIFFERENCE;
}

static rotary_status contrast_arms(struct comparison *comparison, rotary_error *error)
{
    int arms = comparison->arm_count;
    comparison->contrasts = calloc((size_t)arms * (size_t)arms + 1, sizeof *comparison->contrasts);
    if (!comparison->contrasts)
        return rotary_fail_memory(error, "for a comparison");
    rotary_status status = ROTARY_OK;
    for (int baseline = 0; baseline < (comparison->all_pairs ? arms : 1); baseline++)
        for (int arm = baseline + 1; status == ROTARY_OK && arm < arms; arm++) {
            struct contrast *contrast = &comparison->contrasts[comparison->contrast_count++];
            contrast->arm = arm;
            contrast->baseline = baseline;
            status = compare_arms(contrast, comparison, error);
        }
    return status == ROTARY_OK ? finish_contrasts(comparison, error) : status;
}

/* Sets what the arm costs beside the first. */
static rotary_status find_cost(const struct comparison *comparison, int index, rotary_error *error)
{
    struct comparison_arm *arm = &comparison->arms[index];
    const struct contrast *contrast = comparison_contrast(comparison, index);
    const struct record *records = comparison->records;
    struct statistics statistics;
    if (arm->run_count > 0)
        arm->cost.parameters = records[arm->runs[0]].parameters;
    arm->cost.time = 1;
    if (!contrast)
        return ROTARY_OK;
    double *times = malloc(((size_t)contrast->pair_count + 1) * sizeof *times);
    int count = 0;
    if (!times)
        return rotary_fail_memory(error, "for a comparison");
    for (int i = 0; i < contrast->pair_count; i++) {
        double time = records[contrast->pairs[i].baseline].tokens_per_second /
                      records[contrast->pairs[i].arm].tokens_per_second;
        if (isfinite(time))
            times[count++] = time;
    }
    statistics_of(&statistics, times, count, LOWER_IS_BETTER);
    arm->cost.time = statistics.median;
    free(times);
    return ROTARY_OK;
}

static rotary_status fill(struct comparison *comparison, const struct comparison_request *request,
                          rotary_error *error)
{
    const struct record *records = request->records;
    rotary_status status = check_records(comparison, request, error);
    if (status != ROTARY_OK)
        return status;
    const enum measure primary = primary_measure(comparison, request);
    comparison->measure_count = measures_reported(primary, comparison->scoring, comparison->measures);
    status = check_scores(comparison, error);
    if (status != ROTARY_OK)
        return status;
    for (int i = 0; i < request->arm_count; i++)
        comparison->arms[comparison->arm_count++].name = request->arms[i];
    if (request->planned > request->record_count)
        comparison->unfinished = request->planned - request->record_count;
    for (int i = 0; i < request->record_count; i++) {
        comparison->unfinished += !record_finished(&records[i]);
        comparison->diverged += records[i].diverged > 0;
        if (records[i].steps > comparison->steps)
            comparison->steps = records[i].steps;
        if (comparison_find(comparison, records[i].arm) < 0)
            comparison->arms[comparison->arm_count++].name = records[i].arm;
    }
    for (int i = 0; status == ROTARY_OK && i < comparison->arm_count; i++)
        status = summarize(&comparison->arms[i], comparison, request->record_count, error);
    if (status == ROTARY_OK)
        status = contrast_arms(comparison, error);
    for (int i = 0; status == ROTARY_OK && i < comparison->arm_count; i++)
        status = find_cost(comparison, i, error);
    return status;
}

rotary_status comparison_create(struct comparison **comparison, const struct comparison_request *request,
                                rotary_error *error)
{
    struct comparison *created = calloc(1, sizeof *created);
    if (!created)
        return rotary_fail_memory(error, "for a comparison");
    size_t max = (size_t)(request->record_count + request->arm_count);
    created->arms = calloc(max ? max : 1, sizeof *created->arms);
    created->learned = calloc((size_t)request->record_count + 1, sizeof *created->learned);
    if (!created->arms || !created->learned) {
        comparison_destroy(created);
        return rotary_fail_memory(error, "for a comparison");
    }
    created->records = request->records;
    created->record_count = request->record_count;
    created->varied = request->varied ? request->varied : "position";
    created->unlike = request->unlike;
    created->looks = request->looks;
    learned_judge(created->learned, created->records, created->record_count);
    created->max_pairs = request->max_pairs;
    created->all_pairs = request->all_pairs;
    rotary_status status = fill(created, request, error);
    if (status != ROTARY_OK) {
        comparison_destroy(created);
        return status;
    }
    *comparison = created;
    return ROTARY_OK;
}

void comparison_destroy(struct comparison *comparison)
{
    if (!comparison)
        return;
    for (int i = 0; i < comparison->arm_count; i++)
        free(comparison->arms[i].values[0]);
    for (int i = 0; i < comparison->contrast_count; i++)
        free(comparison->contrasts[i].differences[0]);
    free(comparison->contrasts);
    free(comparison->incomparable);
    free(comparison->learned);
    free(comparison->arms);
    free(comparison);
}
