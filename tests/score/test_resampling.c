/* SPDX-License-Identifier: Apache-2.0
 *
 * Bootstrap resampling and approximate randomization: with given samples, against sacreBLEU's functions; with
 * those that are drawn, against what must hold.
 */
#include "score/bleu_goldens.h"
#include "score/resampling.h"
#include "support/check.h"

#include <math.h>
#include <string.h>

enum { WORDS = (GOLDEN_RESAMPLED + 31) / 32 };

static struct bleu_config config;
static const int64_t *const systems[] = {&golden_rows[0][0][0], &golden_rows[1][0][0]};

static struct resampling make(int64_t samples)
{
    bleu_config_default(&config);
    return (struct resampling){.metric = bleu_metric(&config),
                               .segments = GOLDEN_RESAMPLED,
                               .systems = 2,
                               .rows = systems,
                               .samples = samples,
                               .seed = 3,
                               .threads = 1};
}

/* The formulas of make_bleu_goldens.py. */
static void choose(int sample, uint32_t chosen[GOLDEN_RESAMPLED], uint32_t swapped[WORDS])
{
    memset(swapped, 0, sizeof *swapped * WORDS);
    for (int i = 0; i < GOLDEN_RESAMPLED; i++) {
        int64_t mixed = sample * 73 + i * 151 + sample * i * 179 + 7;
        chosen[i] = (uint32_t)(mixed * mixed * mixed / 1000 % GOLDEN_RESAMPLED);
        if (mixed * mixed / 100 % 2 == 1)
            swapped[i / 32] |= 1u << i % 32;
    }
}

static void test_given_samples(void)
{
    const struct resampling resampling = make(GOLDEN_SAMPLES);
    double scores[2 * GOLDEN_SAMPLES], differences[2 * GOLDEN_SAMPLES];
    for (int s = 0; s < GOLDEN_SAMPLES; s++) {
        uint32_t chosen[GOLDEN_RESAMPLED], swapped[WORDS];
        choose(s, chosen, swapped);
        check_about("sample %d", s);
        for (int i = 0; i < 2; i++) {
            scores[i * GOLDEN_SAMPLES + s] = resample_score(&resampling, i, chosen);
            CHECK_NEAR(scores[i * GOLDEN_SAMPLES + s], golden_samples[i][s], 1e-9);
        }
        differences[GOLDEN_SAMPLES + s] = resample_difference(&resampling, 1, swapped);
        CHECK_NEAR(differences[GOLDEN_SAMPLES + s], golden_swaps[s], 1e-9);
    }
    struct resampled results[2];
    resample_summary(&resampling, scores, results);
    for (int i = 0; i < 2; i++) {
        check_about("system %d", i);
        CHECK_NEAR(results[i].score, golden_whole[i], 1e-9);
        CHECK_NEAR(results[i].mean, golden_means[i], 1e-9);
        CHECK_NEAR(results[i].interval, golden_intervals[i], 1e-9);
    }
    check_about("%s", "");
    CHECK(isnan(results[0].p));
    CHECK_NEAR(results[1].p, golden_bootstrap_p, 1e-15);
    resample_trials_summary(&resampling, differences, results);
    CHECK(isnan(results[0].p) && isnan(results[0].mean) && isnan(results[1].interval));
    CHECK_NEAR(results[1].p, golden_trials_p, 1e-15);
}

static void check_same(const struct resampled *a, const struct resampled *b)
{
    for (int i = 0; i < 2; i++) {
        CHECK_NEAR(a[i].score, b[i].score, 0);
        if (!isnan(a[i].mean))
            CHECK_NEAR(a[i].mean, b[i].mean, 0);
        if (i > 0)
            CHECK_NEAR(a[i].p, b[i].p, 0);
    }
}

/* What is drawn depends on the seed, not on threads; p is what many other samples give. */
static void test_drawn_samples(void)
{
    struct resampled first[2], second[2], other[2];
    struct resampling resampling = make(4000);
    rotary_error error = {0};
    rotary_status (*const tests[])(const struct resampling *, struct resampled *,
                                   rotary_error *) = {resample_bootstrap, resample_trials};
    for (int test = 0; test < 2; test++) {
        check_about("test %d", test);
        CHECK_INT(tests[test](&resampling, first, &error), ROTARY_OK);
        resampling.threads = 3;
        CHECK_INT(tests[test](&resampling, second, &error), ROTARY_OK);
        check_same(first, second);
        resampling.seed = 4;
        CHECK_INT(tests[test](&resampling, other, &error), ROTARY_OK);
        CHECK(other[1].p != first[1].p);
        /* Of the difference of two such p the standard deviation is at most sqrt(0.5 / 4000) = 0.011. */
        CHECK_NEAR(other[1].p, first[1].p, 0.05);
        CHECK(first[1].p > 0.05 && first[1].p < 0.95);
        resampling.seed = 3;
        resampling.threads = 1;
    }
    check_about("%s", "");
}

/* A system against itself: every trial has no difference, which is no chance finding. */
static void test_same_system(void)
{
    const int64_t *const twice[] = {systems[0], systems[0]};
    struct resampling resampling = make(500);
    struct resampled results[2];
    rotary_error error = {0};
    resampling.rows = twice;
    CHECK_INT(resample_trials(&resampling, results, &error), ROTARY_OK);
    CHECK_NEAR(results[1].p, 1.0 / 501, 1e-15);
    CHECK_INT(resample_bootstrap(&resampling, results, &error), ROTARY_OK);
    CHECK_NEAR(results[1].p, 1.0 / 501, 1e-15);
    CHECK_NEAR(results[0].mean, results[1].mean, 0);
    CHECK(results[0].interval > 0);
}

/* Differences that are known: of two pairs of systems in 80 samples. */
static void test_mean_difference(void)
{
    enum { SAMPLES = 80 };
    double scores[4 * SAMPLES];
    static const double corpus[] = {30, 39, 32, 43};
    static const int arms[] = {1, 3}, baselines[] = {0, 2};
    for (int i = 0; i < SAMPLES; i++) {
        int place = i * 37 % SAMPLES; /* the samples are not in order of their differences */
        scores[i] = 30 + i % 7;
        scores[SAMPLES + i] = scores[i] + 0.125 * place;
        scores[2 * SAMPLES + i] = 32 - i % 5;
        scores[3 * SAMPLES + i] = scores[2 * SAMPLES + i] + 0.375 * place - 4;
    }
    struct resampled_difference found;
    const struct resampled_pairs both = {scores, corpus, 2, arms, baselines},
                                 first = {scores, corpus, 1, arms, baselines};
    CHECK_INT(resample_difference_of(&both, SAMPLES, &found, NULL), ROTARY_OK);
    CHECK_NEAR(found.mean, 10, 1e-12);            /* of 9 and 11 */
    CHECK_NEAR(found.low, 0.25 * 2 - 2, 1e-12);   /* two of 80 lie below */
    CHECK_NEAR(found.high, 0.25 * 77 - 2, 1e-12); /* and two above */
    /* As far from 10 as 10 is from 0: 0.25 place - 2 <= 0, places 0 ... 8; none is 20. */
    CHECK_NEAR(found.p, 10.0 / 81, 1e-12);
    CHECK_INT(resample_difference_of(&first, SAMPLES, &found, NULL), ROTARY_OK);
    CHECK_NEAR(found.mean, 9, 1e-12);
    CHECK_NEAR(found.low, 0.25, 1e-12);
    CHECK_NEAR(found.high, 9.625, 1e-12);
    /* A system against itself differs in no sample: p is 1. */
    const struct resampled_pairs same = {scores, corpus, 1, arms, arms};
    CHECK_INT(resample_difference_of(&same, SAMPLES, &found, NULL), ROTARY_OK);
    CHECK_NEAR(found.p, 1, 1e-12);
    CHECK_NEAR(found.high - found.low, 0, 0);
}

int main(void)
{
    test_mean_difference();
    test_given_samples();
    test_drawn_samples();
    test_same_system();
    return check_report();
}
