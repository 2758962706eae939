/* SPDX-License-Identifier: Apache-2.0
 *
 * The choice of jobs from tables of times, and a measurement of a tiny model.
 */
#include "support/check.h"
#include "train/runs.h"

#include "study/estimate.h"
#include "study/jobs.h"
#include "train/trainer.h"

/* Rounds of jobs: five runs by two are three rounds. */
static void test_seconds(void)
{
    const struct estimate_work work = {.runs = 5, .steps = 100, .evaluations = 3};
    const struct estimate_times times[] = {{1, 0.5, 2}, {2, 0.7, 3}, {5, 1, 4}};
    CHECK_NEAR(estimate_seconds(&times[0], &work), 5 * (50 + 6), 1e-9);
    CHECK_NEAR(estimate_seconds(&times[1], &work), 3 * (70 + 9), 1e-9);
    CHECK_NEAR(estimate_seconds(&times[2], &work), 100 + 12, 1e-9);
}

static void test_choice(void)
{
    /* Steps and evaluations count, each by its number. */
    const struct estimate_times two[] = {{1, 1, 10}, {2, 2.1, 15}};
    CHECK_INT(estimate_choose(two, 2, &(struct estimate_work){10, 100, 100, false}), 1);
    CHECK_INT(estimate_choose(two, 2, &(struct estimate_work){10, 100, 0, false}), 0);
    CHECK_INT(estimate_choose(two, 1, &(struct estimate_work){10, 100, 100, false}), 0);
    /* An odd run alone makes two jobs useless. */
    const struct estimate_times odd[] = {{1, 1, 0}, {2, 1.6, 0}};
    CHECK_INT(estimate_choose(odd, 2, &(struct estimate_work){3, 10, 0, false}), 0);
    CHECK_INT(estimate_choose(odd, 2, &(struct estimate_work){4, 10, 0, false}), 1);
    /* A gain below what a short measurement can tell is none. */
    const struct estimate_times close[] = {{1, 1, 0}, {2, 1.98, 0}, {4, 3.8, 0}};
    CHECK_INT(estimate_choose(close, 3, &(struct estimate_work){8, 10, 0, false}), 2);
    CHECK_INT(estimate_choose(close, 2, &(struct estimate_work){8, 10, 0, false}), 0);
    /* Four rounds of 3 beat three rounds of 4 where 16 threads are shared. */
    const struct estimate_times rounds[] = {{1, 1, 0}, {3, 1.1, 0}, {4, 1.6, 0}, {10, 4.6, 0}};
    CHECK_INT(estimate_choose(rounds, 4, &(struct estimate_work){10, 10, 0, false}), 1);
}

/* What docs/explanation/performance.md says of ten runs on more threads than there were to measure: a step takes 0.05 +
 * 0.95 / t of its time on one thread, which fits one and two. */
static int choose_on(int threads, double *seconds)
{
    const struct estimate_work work = {.runs = 10, .steps = 100};
    struct estimate_times rows[ESTIMATE_ROWS];
    int candidates[ESTIMATE_ROWS], count = estimate_candidates(candidates, 10, threads < 10 ? threads : 10);
    for (int i = 0; i < count; i++) {
        int share = jobs_threads(threads, candidates[i], candidates[i] - 1); /* the slowest job's */
        rows[i] = (struct estimate_times){.jobs = candidates[i], .step = 0.05 + 0.95 / share};
    }
    int chosen = estimate_choose(rows, count, &work);
    *seconds = estimate_seconds(&rows[chosen], &work) / estimate_seconds(&rows[0], &work);
    return rows[chosen].jobs;
}

static void test_more_threads(void)
{
    double share;
    CHECK_INT(choose_on(2, &share), 2);
    CHECK_NEAR(share, 0.95, 0.01);
    CHECK_INT(choose_on(16, &share), 5);
    CHECK_NEAR(share, 0.67, 0.01);
    CHECK_INT(choose_on(64, &share), 10);
    CHECK_NEAR(share, 0.32, 0.01);
}

static void check_candidates(int runs, int limit, int count, const int *wanted)
{
    int got[ESTIMATE_ROWS];
    check_about("%d runs, limit %d", runs, limit);
    if (CHECK_INT(estimate_candidates(got, runs, limit), count))
        for (int i = 0; i < count; i++)
            CHECK_INT(got[i], wanted[i]);
    check_about("%s", "");
}

static void test_candidates(void)
{
    check_candidates(10, 1, 1, (const int[]){1});
    check_candidates(10, 2, 2, (const int[]){1, 2});
    check_candidates(10, 10, 7, (const int[]){1, 2, 3, 4, 5, 8, 10});
    check_candidates(20, 16, 8, (const int[]){1, 2, 4, 5, 7, 8, 10, 16});
    int many[ESTIMATE_ROWS];
    CHECK(estimate_candidates(many, 2000, 1024) <= ESTIMATE_ROWS);
}

static void test_limit(void)
{
    CHECK_INT(estimate_limit(&(struct estimate_limits){10, 16, 100, 100000}), 10);
    CHECK_INT(estimate_limit(&(struct estimate_limits){10, 2, 100, 100000}), 2);
    CHECK_INT(estimate_limit(&(struct estimate_limits){10, 16, 100, 399}), 3);
    CHECK_INT(estimate_limit(&(struct estimate_limits){10, 16, 100, 99}), 1);
    CHECK_INT(estimate_limit(&(struct estimate_limits){10, 16, 0, 0}), 10);
}

static void test_measurement(void)
{
    struct run_config config;
    struct backend backend;
    rotary_error error = {0};
    tiny_config(&config);
    CHECK_INT(backend_create(&backend, 3, ROTARY_ISA_AUTO, PRECISION_F32, &error), ROTARY_OK);
    struct estimate_call call = {
        .config = &config, .backend = &backend, .work = {.runs = 4, .steps = 1000, .evaluations = 2}};
    for (call.jobs = 1; call.jobs <= 4; call.jobs++) {
        struct estimate estimate;
        size_t bytes;
        if (!CHECK_INT(estimate_make(&call, &estimate, &error), ROTARY_OK))
            printf("    %s\n", error.message);
        CHECK_INT(estimate.jobs, call.jobs < 3 ? call.jobs : 3);
        CHECK_INT(estimate.limit, 3);
        CHECK(estimate.seconds > 0 && estimate.seconds < 1e4);
        CHECK_INT(trainer_bytes(&config, &backend, &bytes, &error), ROTARY_OK);
        CHECK(bytes > 0 && estimate.run_bytes == bytes);
    }
    /* Enough steps for a choice: each of the numbers is one that may be chosen. */
    struct estimate chosen;
    call.jobs = 0;
    call.work.steps = 1000000;
    CHECK_INT(estimate_make(&call, &chosen, &error), ROTARY_OK);
    CHECK(chosen.jobs >= 1 && chosen.jobs <= 3);
    /* Too few of them. */
    call.work.steps = 1;
    CHECK_INT(estimate_make(&call, &chosen, &error), ROTARY_OK);
    CHECK_INT(chosen.jobs, 1);
    atomic_bool interrupted = true;
    call.interrupted = &interrupted;
    CHECK_INT(estimate_make(&call, &chosen, &error), ROTARY_INTERRUPTED);
    backend_destroy(&backend);
}

int main(void)
{
    test_seconds();
    test_choice();
    test_more_threads();
    test_candidates();
    test_limit();
    test_measurement();
    return check_report();
}
