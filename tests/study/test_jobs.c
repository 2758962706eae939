/* SPDX-License-Identifier: Apache-2.0
 *
 * Jobs on their own: what runs beside what, and what a failure or an interruption stops.
 */
#include "support/check.h"
#include "support/thread_list.h"

#include "base/fail.h"
#include "study/jobs.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

enum { ITEMS = 20, JOBS = 4 };

struct world {
    atomic_int begun[ITEMS], order[ITEMS], starts; /* order: the item that began as the n-th */
    atomic_int busy[JOBS], running, most;          /* items of each job; now, and at most at once */
    atomic_bool wrong;
    int together;     /* an item waits until so many run; 0: it does not */
    int fails, waits; /* the item that fails; items from this one on wait to be stopped; -1: none */
    atomic_int saved; /* items that were stopped */
    int interrupts;   /* the item that interrupts; -1: none */
    atomic_bool interrupted;
};

static void wait_a_little(void)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    nanosleep(&pause, NULL);
}

static rotary_status live(struct world *world, const struct jobs_item *item, rotary_error *error)
{
    enum { PATIENCE = 5000 };
    for (int i = 0; i < PATIENCE && atomic_load(&world->most) < world->together; i++)
        wait_a_little();
    if (item->index == world->interrupts)
        atomic_store(&world->interrupted, true);
    if (item->index == world->fails)
        return rotary_fail(error, ROTARY_IO_ERROR, "item %d has no disk", item->index);
    if (world->waits < 0 || item->index < world->waits)
        return ROTARY_OK;
    for (int i = 0; i < PATIENCE && !atomic_load(item->stop); i++)
        wait_a_little();
    if (!atomic_load(item->stop))
        return rotary_fail(error, ROTARY_UNSUPPORTED, "item %d was not stopped", item->index);
    atomic_fetch_add(&world->saved, 1);
    return rotary_fail(error, ROTARY_INTERRUPTED, "item %d was stopped", item->index);
}

static rotary_status run(void *argument, const struct jobs_item *item, rotary_error *error)
{
    struct world *world = argument;
    atomic_store(&world->order[atomic_fetch_add(&world->starts, 1)], item->index);
    if (atomic_fetch_add(&world->begun[item->index], 1) != 0 ||
        atomic_fetch_add(&world->busy[item->job], 1) != 0)
        atomic_store(&world->wrong, true);
    int running = atomic_fetch_add(&world->running, 1) + 1, most = atomic_load(&world->most);
    while (running > most && !atomic_compare_exchange_weak(&world->most, &most, running)) {
    }
    rotary_status status = live(world, item, error);
    atomic_fetch_sub(&world->running, 1);
    atomic_fetch_sub(&world->busy[item->job], 1);
    return status;
}

/* The linker puts this where jobs.c calls pthread_create. */
static atomic_int creatable = 1000;
int __real_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
int __wrap_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*begin)(void *),
                          void *argument)
{
    if (atomic_fetch_sub(&creatable, 1) <= 0)
        return EAGAIN;
    return __real_pthread_create(thread, attributes, begin, argument);
}

static struct world quiet_world(void)
{
    return (struct world){.fails = -1, .waits = -1, .interrupts = -1};
}

static rotary_status run_in(struct world *world, int jobs, rotary_error *error)
{
    const struct jobs_call call = {
        .jobs = jobs, .count = ITEMS, .run = run, .argument = world, .interrupted = &world->interrupted};
    return jobs_run(&call, error);
}

static void test_all_items(void)
{
    long threads[THREAD_LIST];
    int before = thread_list(threads);
    for (int jobs = 1; jobs <= JOBS; jobs++) {
        check_about("%d jobs", jobs);
        struct world world = quiet_world();
        world.together = jobs;
        CHECK_INT(run_in(&world, jobs, NULL), ROTARY_OK);
        CHECK(!atomic_load(&world.wrong));
        CHECK_INT(atomic_load(&world.most), jobs);
        int begun = 0, early = 0;
        for (int i = 0; i < ITEMS; i++) {
            begun += atomic_load(&world.begun[i]) == 1;
            early += atomic_load(&world.order[i]) > i + jobs; /* threads may be late by a moment */
        }
        CHECK_INT(begun, ITEMS);
        CHECK_INT(early, 0);
        if (jobs == 1)
            CHECK_INT(atomic_load(&world.order[7]), 7);
        CHECK(thread_list_settles(before));
    }
    check_about("%s", "");
}

/* The other jobs are stopped, and the failure is what is returned, not their interruption. */
static void test_failure(void)
{
    for (int jobs = 1; jobs <= JOBS; jobs++) {
        check_about("%d jobs", jobs);
        struct world world = quiet_world();
        rotary_error error = {0};
        world.together = jobs;
        world.fails = 0;
        world.waits = 1;
        CHECK_INT(run_in(&world, jobs, &error), ROTARY_IO_ERROR);
        CHECK_TEXT(error.message, "item 0 has no disk");
        CHECK_INT(atomic_load(&world.starts), jobs);
        CHECK_INT(atomic_load(&world.saved), jobs - 1);
    }
    check_about("%s", "");
}

static void test_interruption(void)
{
    for (int jobs = 1; jobs <= JOBS; jobs++) {
        check_about("%d jobs", jobs);
        struct world world = quiet_world();
        rotary_error error = {0};
        world.together = jobs;
        world.interrupts = 0;
        world.waits = 0;
        CHECK_INT(run_in(&world, jobs, &error), ROTARY_INTERRUPTED);
        CHECK_INT(atomic_load(&world.starts), jobs);
        CHECK_INT(atomic_load(&world.saved), jobs);
        /* An item that is done when the interruption comes leaves the others undone. */
        struct world done = quiet_world();
        done.interrupts = 0;
        done.waits = 1;
        CHECK_INT(run_in(&done, jobs, &error), ROTARY_INTERRUPTED);
        CHECK(atomic_load(&done.starts) < ITEMS);
    }
    check_about("%s", "");
}

/* The system has threads for fewer jobs, or for none: they do all that is to be done. */
static void test_few_threads(void)
{
    for (int threads = 0; threads < JOBS; threads++) {
        check_about("%d threads", threads);
        struct world world = quiet_world();
        world.together = threads;
        atomic_store(&creatable, threads);
        CHECK_INT(run_in(&world, JOBS, NULL), ROTARY_OK);
        CHECK_INT(atomic_load(&world.starts), ITEMS);
        CHECK_INT(atomic_load(&world.most), threads > 0 ? threads : 1);
        CHECK(!atomic_load(&world.wrong));
    }
    atomic_store(&creatable, 1000);
    check_about("%s", "");
}

static void test_shares(void)
{
    static const int wanted[][3] = {{3, 2, 2}, {2, 2, 2}, {1, 1, 1}}, threads[] = {7, 6, 2};
    for (int i = 0; i < 3; i++)
        for (int job = 0; job < 3; job++)
            CHECK_INT(jobs_threads(threads[i], 3, job), wanted[i][job]);
    struct backend all, *shares;
    CHECK_INT(backend_create(&all, 5, ROTARY_ISA_AUTO, PRECISION_F32, NULL), ROTARY_OK);
    CHECK_INT(jobs_backends_create(&shares, &all, 2, NULL), ROTARY_OK);
    CHECK_INT(shares[0].threads, 3);
    CHECK_INT(shares[1].threads, 2);
    CHECK(shares[0].isa == all.isa && shares[1].storage == all.storage);
    jobs_backends_destroy(shares, 2);
    backend_destroy(&all);
}

int main(void)
{
    alarm(100); /* jobs that are waited for in vain would be a test that never ends */
    test_all_items();
    test_failure();
    test_interruption();
    test_few_threads();
    test_shares();
    return check_report();
}
