/* SPDX-License-Identifier: Apache-2.0
 *
 * A comparison as sentences, as text and as JSON.
 */
#include "report/comparison_table.h"
#include "report/findings.h"
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

static void check_comparison(const char *folder)
{
    check_about("three runs of two arms");
    synthetic_comparison(folder, &synthetic_quick, 3, 2, (const char *const[]){"rope", "roper"},
                         (double[]){450, 300});
    char *text = text_of(folder);
    CHECK(strncmp(text, "no difference shown between roper and rope: +", 45) == 0); /* the verdict first */
    CHECK_WORDS(text,
                " contains zero, 3 pairs, p = 0.|\n\nexact match, % of 128 problems (the primary measure; "
                "higher is better)\nencoding ");
    free(text);
}

static void check_incomplete(const char *folder)
{
    check_about("roper-2 unfinished");
    synthetic_stop(folder, 2, 310, false);
    scratch_remove(synthetic_path(folder, "roper-3"));
    check_says(folder,
               "too few runs to tell roper from rope: | over 1 pair\n2 unfinished runs not counted\n");

    check_about("roper-2 diverged");
    synthetic_stop(folder, 2, 510, true);
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
    CHECK(strstr(text, "exact match") == NULL &&
          strstr(text, "validation loss, nats per token (the primary") == text);
    free(text);
}

struct wording {
    double mean, low, high;
    int pairs;
    enum measure measure;
    double p, min_p, level, adjusted_p;
    int contrasts;
};

/* The verdict on given differences. */
static void check_wording(struct wording given, const char *wanted)
{
    struct comparison_arm arms[2] = {{.name = "rope"}, {.name = "roper"}};
    struct contrast contrasts[2] = {{.arm = 1, .pair_count = given.pairs, .adjusted_p = given.adjusted_p},
                                    {.arm = 1}};
    contrasts[0].difference[given.measure] =
        (struct paired_difference){.count = given.pairs,
                                   .mean = given.mean,
                                   .low = given.low,
                                   .high = given.high,
                                   .sign_flip_p = given.p > 0 ? given.p : 0.25,
                                   .sign_flip_min_p = given.min_p > 0 ? given.min_p : 0.25,
                                   .level = given.level > 0 ? given.level : 0.95};
    struct comparison comparison = {.arms = arms,
                                    .arm_count = 2,
                                    .contrasts = contrasts,
                                    .contrast_count = given.contrasts ? given.contrasts : 1,
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
        (struct wording){20.04, 10.16, 40.6, 3, correct, .p = 0.25},
        "roper better than rope by 20.0 points of exact match: 95% interval [10.2, 40.6], 3 pairs, p = "
        "0.25, the least 3 pairs can give");
    check_wording(
        (struct wording){-20.04, -40.6, -10.16, 4, correct, .p = 0.25, .min_p = 0.125},
        "roper worse than rope by 20.0 points of exact match: 95% interval [10.2, 40.6], 4 pairs, p = "
        "0.25 (4 pairs can give 0.125 at least)");
    check_wording(
        (struct wording){-0.0078, -0.0123, -0.0011, 9, loss, .p = 0.0117, .min_p = 0.0039, .level = 0.975,
                         .adjusted_p = 0.0234, .contrasts = 2},
        "roper better than rope by 0.0078 nats per token of validation loss: 97.5% interval [0.0011, "
        "0.0123], 9 pairs, p = 0.0117, 0.0234 corrected for 2 comparisons");
    check_wording((struct wording){0.0078, 0.0011, 0.0123, 24, loss, .p = 1e-6, .min_p = 1e-7},
                  "roper worse than rope by 0.0078 nats per token of validation loss: 95% interval [0.0011, "
                  "0.0123], 24 pairs, p < 0.0001");
    check_wording(
        (struct wording){1.2, -3, 5.1, 5, correct, .p = 0.5, .min_p = 0.0625},
        "no difference shown between roper and rope: +1.2 points of exact match, 95% interval [-3.0, 5.1] "
        "contains zero, 5 pairs, p = 0.5 (5 pairs can give 0.0625 at least)");
    check_wording((struct wording){0.78125, nan, nan, 3, correct, .p = 0.25},
                  "no verdict on roper and rope: all 3 differences are +0.8 points of exact match, and no "
                  "interval follows");
    check_wording((struct wording){3, 2, 4, 2, correct, .p = 0.25},
                  "too few runs to tell roper from rope: +3.0 points of exact match over 2 pairs");
    check_wording((struct wording){nan, nan, nan, 0, correct, .p = 0.25},
                  "no verdict on roper and rope yet: no seed is finished with both");
    check_wording((struct wording){nan, nan, nan, 4, loss, .p = 0.25},
                  "no verdict on roper and rope: the loss of a run is NaN");
}

int main(void)
{
    const char *folder = scratch_path("compare");
    check_comparison(folder);
    check_incomplete(folder);
    check_no_problems(scratch_path("plain"));
    check_wordings();
    return check_report();
}
