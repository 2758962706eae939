/* SPDX-License-Identifier: Apache-2.0
 *
 * A comparison as sentences, as text and as JSON.
 */
#include "report/comparison_table.h"
#include "study/synthetic.h"
#include "support/check.h"
#include "support/scratch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The folder's comparison as text, which the caller frees. */
static char *text_of(const char *folder)
{
    char *text;
    rotary_error error = {0};
    struct collection collection = synthetic_read(folder);
    CHECK_INT(comparison_text(collection.comparison, &text, &error), ROTARY_OK);
    collection_free(&collection);
    return text;
}

static void check_says(const char *folder, const char *words)
{
    char *text = text_of(folder);
    CHECK_WORDS(text, words);
    free(text);
}

static void check_json(const char *folder)
{
    rotary_error error = {0};
    struct collection collection = synthetic_read(folder);
    const struct comparison_arm *roper = &collection.comparison->arms[1];
    json_t *object;
    CHECK_INT(comparison_json(collection.comparison, &object, &error), ROTARY_OK);
    json_t *arm = json_array_get(json_object_get(object, "arms"), 1);
    CHECK_TEXT(json_string_value(json_object_get(arm, "name")), "roper");
    CHECK_NEAR(json_real_value(json_object_get(json_object_get(arm, "exact_match_percent"), "mean")),
               roper->statistics[MEASURE_EXACT_MATCH].mean, 0);
    CHECK_INT((int64_t)json_array_size(json_object_get(arm, "runs")), roper->run_count);
    CHECK_NEAR(json_real_value(json_object_get(json_object_get(arm, "validation_loss"), "mean")),
               roper->statistics[MEASURE_VALIDATION_LOSS].mean, 0);
    json_t *diverged = json_object_get(arm, "diverged");
    CHECK_INT((int64_t)json_array_size(diverged), roper->diverged_count);
    if (roper->diverged_count)
        CHECK_INT(json_integer_value(json_object_get(json_array_get(diverged, 0), "step")),
                  collection.records[roper->runs[roper->run_count]].diverged);
    json_decref(object);
    collection_free(&collection);
}

static void check_comparison(const char *folder)
{
    check_about("three runs of two arms");
    synthetic_comparison(folder, &synthetic_quick, 3, 2, (const char *const[]){"rope", "roper"},
                         (double[]){450, 300});
    check_json(folder);
    char *text = text_of(folder), *sentence;
    CHECK(strstr(text, "exact match, % of 128 problems\nencoding  runs") == text);
    struct collection collection = synthetic_read(folder);
    rotary_error error = {0};
    CHECK_INT(comparison_verdict(collection.comparison, 1, &sentence, &error), ROTARY_OK);
    CHECK(strncmp(sentence, "no difference shown between roper and rope: +", 45) == 0 &&
          strstr(sentence, " contains zero, 3 pairs") != NULL);
    CHECK(strstr(text, sentence) != NULL);
    collection_free(&collection);
    free(sentence);
    free(text);
}

static void check_incomplete(const char *folder)
{
    check_about("roper-2 unfinished");
    synthetic_stop(folder, 2, 310, false);
    scratch_remove(synthetic_path(folder, "roper-3"));
    check_says(folder, "1 unfinished run not counted\ntoo few runs to tell roper from rope: | over 1 pair\n");

    check_about("roper-2 diverged");
    synthetic_stop(folder, 2, 510, true);
    check_json(folder);
    check_says(folder, "\nroper: 1 of 2 runs diverged and has no score: seed 2 at step 511\n"
                       "| pair; 1 run diverged\n");
    check_about("roper-1 diverged too");
    synthetic_stop(folder, 1, 20, true);
    check_says(folder, "2 of 2 runs diverged and have no score: seed 1 at step 21, seed 2 at step 511\n"
                       "|no verdict on roper and rope yet: no seed is finished with both; 2 runs diverged\n");
}

static void check_no_problems(const char *folder)
{
    check_about("a run of a task without problems");
    struct synthetic_run run = synthetic_quick;
    run.task = "prefix";
    run.position = "rope";
    run.problems = 0;
    synthetic_run(folder, &run);
    char *text = text_of(folder);
    CHECK(strstr(text, "exact match") == NULL && strstr(text, "validation loss") == text);
    free(text);
}

/* The verdict on given differences. */
static void check_wording(double mean, double low, double high, int pairs, bool correct, const char *wanted)
{
    struct comparison_arm arms[2] = {{.name = "rope"}, {.name = "roper"}};
    enum measure measure = correct ? MEASURE_EXACT_MATCH : MEASURE_VALIDATION_LOSS;
    struct contrast contrast = {.arm = 1, .pair_count = pairs};
    contrast.difference[measure] =
        (struct paired_difference){.count = pairs, .mean = mean, .low = low, .high = high};
    struct comparison comparison = {
        .arms = arms, .arm_count = 2, .contrasts = &contrast, .measures = {measure}, .measure_count = 1};
    char *sentence;
    rotary_error error;
    CHECK_INT(comparison_verdict(&comparison, 1, &sentence, &error), ROTARY_OK);
    CHECK_TEXT(sentence, wanted);
    free(sentence);
}

int main(void)
{
    const char *folder = scratch_path("compare");
    check_comparison(folder);
    check_incomplete(folder);
    check_no_problems(scratch_path("plain"));

    check_about("wording");
    double nan = (double)NAN;
    check_wording(20.04, 10.16, 40.6, 3, true,
                  "roper better than rope by 20.0 points of exact match: 95% interval [10.2, 40.6], 3 pairs");
    check_wording(-20.04, -40.6, -10.16, 3, true,
                  "roper worse than rope by 20.0 points of exact match: 95% interval [10.2, 40.6], 3 pairs");
    check_wording(-0.0078, -0.0123, -0.0011, 9, false,
                  "roper better than rope by 0.0078 nats per token of validation loss: 95% interval [0.0011, "
                  "0.0123], 9 pairs");
    check_wording(
        1.2, -3, 5.1, 5, true,
        "no difference shown between roper and rope: +1.2 points of exact match, 95% interval [-3.0, 5.1] "
        "contains zero, 5 pairs");
    check_wording(0.78125, nan, nan, 3, true,
                  "no verdict on roper and rope: all 3 differences are +0.8 points of exact match, and no "
                  "interval follows");
    check_wording(3, 2, 4, 2, true,
                  "too few runs to tell roper from rope: +3.0 points of exact match over 2 pairs");
    check_wording(nan, nan, nan, 0, true, "no verdict on roper and rope yet: no seed is finished with both");
    check_wording(nan, nan, nan, 4, false, "no verdict on roper and rope: the loss of a run is NaN");
    return check_report();
}
