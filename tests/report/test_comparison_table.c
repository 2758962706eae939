/* SPDX-License-Identifier: Apache-2.0
 *
 * A comparison as sentences, as text and as JSON.
 */
#include "records/sample_runs.h"
#include "records/synthetic.h"
#include "report/comparison_table.h"
#include "report/findings.h"
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

static void check_comparison(const char *folder)
{
    check_about("three runs of two arms");
    synthetic_comparison(folder, &synthetic_quick, 3, 2, (const char *const[]){"rope", "roper"},
                         (double[]){450, 300});
    char *text = text_of(folder);
    CHECK(strncmp(text, "too few pairs to tell roper from rope: 3 of the 6 ", 50) ==
          0); /* the verdict first */
    CHECK_WORDS(text, "; never had 90%: 0 of 3 runs of roper, 2 of 3 of rope\n|\n\nexact match, % of 128 "
                      "problems (the primary measure; "
                      "higher is better)\nencoding ");
    free(text);
}

static void check_incomplete(const char *folder)
{
    check_about("roper-2 unfinished");
    synthetic_stop(folder, 2, 310, false);
    scratch_remove(synthetic_path(folder, "roper-3"));
    check_says(folder,
               "too few pairs to tell roper from rope: 1 of the 6 that a verdict takes, 5 are missing; mean "
               "+|\n2 unfinished runs not counted\n");

    check_about("roper-2 diverged");
    synthetic_stop(folder, 2, 510, true);
    check_says(folder,
               "\nroper: 1 of 2 runs diverged and has no score: seed 2 at step 511\n"
               "|; diverged: 1 of 2 runs of roper, 0 of 3 of rope\n|\nin its pair a run that diverged counts "
               "with the worst score, 0; two in one pair are no difference\n");
    check_about("roper-1 diverged too");
    synthetic_stop(folder, 1, 20, true);
    check_says(folder,
               "2 of 2 runs diverged and have no score: seed 1 at step 21, seed 2 at step 511\n"
               "|: 2 of the 6 that a verdict takes, |; diverged: 2 of 2 runs of roper, 0 of 3 of rope\n");
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
    CHECK(strstr(text, "exact match") == NULL &&
          strstr(text, "validation loss, nats per token (the primary") == text);
    free(text);
}

/* What is found of a contrast, given as it is. */
struct wording {
    enum measure measure;
    double mean, median, low, high;
    double p; /* joint; 0: the contrast is not judged */
    int pairs, agreeing;
    int family, seeds; /* 0: one, as many as pairs */
    int look, max_pairs;
    double look_mean;
};

/* The verdict on given differences. */
static void check_wording(struct wording given, const char *wanted)
{
    double differences[32];
    struct comparison_arm arms[2] = {{.name = "rope", .run_count = given.pairs},
                                     {.name = "roper", .run_count = given.pairs}};
    struct contrast contrasts[2] = {{.arm = 1,
                                     .pair_count = given.pairs,
                                     .judged = given.p > 0,
                                     .adjusted_p = given.p,
                                     .detectable = (double)NAN,
                                     .look = given.look,
                                     .look_mean = given.look_mean},
                                    {.arm = 1}};
    for (int i = 0; i < given.pairs; i++)
        differences[i] = i < given.agreeing ? given.mean : -given.mean;
    contrasts[0].differences[given.measure] = differences;
    contrasts[0].difference[given.measure] = (struct paired_difference){.count = given.pairs,
                                                                        .mean = given.mean,
                                                                        .median = given.median,
                                                                        .low = given.low,
                                                                        .high = given.high,
                                                                        .level = 0.95};
    struct comparison comparison = {.arms = arms,
                                    .arm_count = 2,
                                    .contrasts = contrasts,
                                    .contrast_count = given.family > 1 ? 2 : 1,
                                    .family = given.family ? given.family : 1,
                                    .seeds = given.seeds ? given.seeds : given.pairs,
                                    .max_pairs = given.max_pairs,
                                    .enough_pairs = given.max_pairs ? 7 : 6,
                                    .drawn = given.pairs > 16,
                                    .measures = {given.measure},
                                    .measure_count = 1};
    struct findings findings;
    rotary_error error;
    if (!CHECK_INT(findings_create(&findings, &comparison, &error), ROTARY_OK))
        return;
    CHECK_TEXT(findings.verdicts.items[0], wanted);
    findings_free(&findings);
}

static void check_wordings(void)
{
    double nan = (double)NAN;
    enum measure correct = MEASURE_EXACT_MATCH, loss = MEASURE_VALIDATION_LOSS;
    check_about("wording");
    check_wording(
        (struct wording){correct, 20.04, 19.2, 10.16, 40.6, 0.03125, 6, 6, .family = 1},
        "roper better than rope in 6 of 6 pairs, by a median of 19.2 points of exact match: mean "
        "+20.0, 95% interval [+10.2, +40.6], p = 0.0312 by sign flips of 6 seeds; p <= 0.05 decides, "
        "which takes six of six");
    check_wording(
        (struct wording){correct, -20.04, -19.2, -40.6, -1.16, 0.0469, 7, 6, .family = 1},
        "roper worse than rope in 6 of 7 pairs, by a median of 19.2 points of exact match: mean "
        "-20.0, 95% interval [-40.6, -1.2], p = 0.0469 by sign flips of 7 seeds; p <= 0.05 decides");
    check_wording(
        (struct wording){loss, -0.0078, -0.0081, -0.0123, -0.0011, 0.0117, 9, 9, .family = 2},
        "roper better than rope in 9 of 9 pairs, by a median of 0.0081 nats per token of validation "
        "loss: mean -0.0078, 95% interval [-0.0123, -0.0011], p = 0.0117 by sign flips of 9 seeds, "
        "jointly for 2 contrasts (step-down max t); p <= 0.05 decides");
    check_wording(
        (struct wording){loss, -0.0078, -0.0081, -0.0123, 0.0011, 0.05, 9, 9, .family = 13},
        "roper better than rope in 9 of 9 pairs, by a median of 0.0081 nats per token of validation "
        "loss: mean -0.0078, 95% interval [-0.0123, +0.0011], p = 0.05 by sign flips of 9 seeds, "
        "jointly for 13 contrasts (step-down max t); p <= 0.05 decides; the interval contains zero "
        "because it holds for all 13 contrasts at once, without the steps of the test");
    check_wording(
        (struct wording){loss, 0.0078, 0.0081, 0.0011, 0.0123, 1e-5, 24, 20, .family = 1},
        "roper worse than rope in 20 of 24 pairs, by a median of 0.0081 nats per token of validation "
        "loss: mean +0.0078, 95% interval [+0.0011, +0.0123], p < 0.0001 by drawn sign flips of 24 "
        "seeds; p <= 0.05 decides");
    check_wording((struct wording){correct, 1.2, 0.8, -3, 5.1, 0.0501, 6, 4, .family = 1},
                  "no difference shown between roper and rope: better in 4 of 6 pairs, median +0.8 points of "
                  "exact match, mean +1.2, 95% interval [-3.0, +5.1], p = 0.0501 by sign flips of 6 seeds; "
                  "p <= 0.05 decides, which takes six of six");
    check_about("too few");
    check_wording((struct wording){correct, 0.78125, 0.78125, nan, nan, 0, 3, 3, .family = 0},
                  "too few pairs to tell roper from rope: 3 of the 6 that a verdict takes, 3 are missing; "
                  "median +0.8 points of exact match, mean +0.8");
    check_wording((struct wording){correct, 3, 2.5, 2, 4, 0, 5, 5, .family = 0},
                  "too few pairs to tell roper from rope: 5 of the 6 that a verdict takes, 1 is missing; "
                  "median +2.5 points of exact match, mean +3.0, 95% interval [+2.0, +4.0] (Student t)");
    check_wording((struct wording){correct, 3, 3, nan, nan, 0, 1, 1, .family = 0},
                  "too few pairs to tell roper from rope: 1 of the 6 that a verdict takes, 5 are missing; "
                  "mean +3.0 points of exact match");
    check_wording((struct wording){correct, nan, nan, nan, nan, 0, 0, 0, .family = 0},
                  "no verdict on roper and rope yet: no seed is finished with both");
    check_wording((struct wording){loss, nan, nan, nan, nan, 0, 4, 0, .family = 0},
                  "no verdict on roper and rope: the loss of a run is NaN");
    check_about("looked at after each seed");
    check_wording((struct wording){loss, 0.2124, 0.2, 0.4812, 0.5109, 0, 9, 9, .look = 7, .max_pairs = 12,
                                   .look_mean = 0.4961},
                  "roper worse than rope after 7 of at most 12 seeds, in nats per token of validation loss: "
                  "mean +0.4961, 95% interval [+0.4812, +0.5109] by a sequential sign-flip test (Lan and "
                  "DeMets); mean of all 9 pairs +0.2124");
    check_wording((struct wording){loss, 0.2124, 0.2, nan, nan, 0, 9, 9, .max_pairs = 12},
                  "no verdict on roper and rope: all 9 differences are +0.2124 nats per token of validation "
                  "loss, and no interval follows");
    check_wording(
        (struct wording){loss, 0.2124, 0.2, -0.1, 0.5, 0, 9, 9, .family = 2, .max_pairs = 12,
                         .look_mean = 0.2124},
        "no difference shown between roper and rope after 9 of at most 12 seeds, in nats per token "
        "of validation loss: mean +0.2124, 95% interval [-0.1000, +0.5000] by a sequential sign-flip "
        "test (Lan and DeMets, Bonferroni over 2 contrasts)");
}

/* Runs that failed are counted beside the typical pair: one of ten that never had 90%. */
static void check_failing(void)
{
    struct sample_run runs[20];
    for (int i = 0; i < 20; i++) {
        const int fails = i == 7;
        runs[i] = (struct sample_run){
            i % 2 ? "jumping" : "steady", i / 2, 1, i % 2 ? (fails ? 10 : 124) : 116, 128, 0, 0, 0};
    }
    struct collection collection;
    struct findings findings;
    rotary_error error;
    check_about("a failing run");
    sample_collection(&collection, runs, 20, NULL, (struct comparison_request){0});
    CHECK_INT(findings_create(&findings, collection.comparison, &error), ROTARY_OK);
    CHECK_WORDS(findings.verdicts.items[0],
                "no difference shown between jumping and steady: better in 9 of 10 pairs, median +6.2 points "
                "of exact match, mean -2.7, |; never had 90%: 1 of 10 runs of jumping, 0 of 10 of steady");
    findings_free(&findings);
    collection_free(&collection);
}

int main(void)
{
    const char *folder = scratch_path("compare");
    check_comparison(folder);
    check_incomplete(folder);
    check_no_problems(scratch_path("plain"));
    check_wordings();
    check_failing();
    return check_report();
}
