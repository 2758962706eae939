/* SPDX-License-Identifier: Apache-2.0 */
#include "base/threads.h"
#include "support/check.h"
#include "support/thread_list.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ITEMS = 1000, THREADS = 8 };

struct visits {
    int count[ITEMS];
    atomic_int working[THREADS]; /* by worker */
    atomic_bool wrong;
    int nested; /* threads of a loop within each item; 0: none */
};

static void count_items(void *argument, int64_t index, int worker)
{
    int64_t *sum = argument;
    *sum += index + worker;
}

static void visit(void *argument, int64_t index, int worker)
{
    struct visits *visits = argument;
    bool fits = worker >= 0 && worker < THREADS;
    if (!fits || atomic_fetch_add(&visits->working[worker], 1) != 0)
        atomic_store(&visits->wrong, true);
    visits->count[index]++;
    if (visits->nested) {
        int64_t sum = 0;
        rotary_parallel_for(visits->nested, 10, count_items, &sum);
        if (sum != 45)
            atomic_store(&visits->wrong, true);
    }
    if (fits)
        atomic_fetch_sub(&visits->working[worker], 1);
}

/* Every item once, and no worker two at a time. */
static bool visits_all(int threads, int64_t items, int nested)
{
    struct visits visits = {.nested = nested};
    rotary_parallel_for(threads, items, visit, &visits);
    for (int i = 0; i < ITEMS; i++)
        if (visits.count[i] != (i < items))
            return false;
    return !atomic_load(&visits.wrong);
}

static void test_items(void)
{
    for (int threads = 0; threads <= THREADS; threads++)
        for (int64_t items = 0; items <= ITEMS; items = items < 10 ? items + 1 : 10 * items)
            CHECK(visits_all(threads, items, 0));
    CHECK(visits_all(4, ITEMS, 4)); /* a loop within an item runs on its thread alone */
}

/* Workers sleep between some loops and not between others. */
static void test_many_loops(void)
{
    const struct timespec pause = {.tv_nsec = 200000};
    int wrong = 0;
    for (int loop = 0; loop < 20000; loop++) {
        wrong += !visits_all(1 + loop % THREADS, loop % 13, 0);
        if (loop % 100 == 0)
            nanosleep(&pause, NULL);
    }
    CHECK_INT(wrong, 0);
}

enum { TOGETHER = 4, PATIENCE = 10000 };

/* Ends when all items have begun, or after ten seconds. */
static void wait_for_others(void *argument, int64_t index, int worker)
{
    (void)index;
    (void)worker;
    atomic_int *begun = argument;
    atomic_fetch_add(begun, 1);
    const struct timespec pause = {.tv_nsec = 1000000};
    for (int i = 0; i < PATIENCE && atomic_load(begun) < TOGETHER; i++)
        nanosleep(&pause, NULL);
}

/* Workers that slept take items too. */
static void test_side_by_side(void)
{
    const struct timespec pause = {.tv_nsec = 20000000};
    for (int loop = 0; loop < 3; loop++) {
        time_t start = time(NULL);
        atomic_int begun = 0;
        rotary_parallel_for(TOGETHER, TOGETHER, wait_for_others, &begun);
        if (!CHECK(time(NULL) - start < PATIENCE / 1000 - 2))
            return;
        nanosleep(&pause, NULL);
    }
}

/* Loops of few items and of one leave the threads that loops of many items use. */
static void test_threads_are_kept(void)
{
    long before[THREAD_LIST], after[THREAD_LIST];
    CHECK(visits_all(THREADS, ITEMS, 0));
    int count = thread_list(before);
    CHECK(count >= THREADS);
    for (int loop = 0; loop < 100; loop++)
        CHECK(visits_all(THREADS, loop % 2 ? ITEMS : loop % 5, 0) && visits_all(1 + loop % THREADS, 7, 0));
    CHECK_INT(thread_list(after), count);
    CHECK_INT(memcmp(before, after, (size_t)count * sizeof *before), 0);
}

static void *loop_from_here(void *argument)
{
    atomic_int *wrong = argument;
    for (int loop = 0; loop < 200; loop++)
        if (!visits_all(3, ITEMS, 0))
            atomic_fetch_add(wrong, 1);
    return NULL;
}

/* Threads that call at once have workers of their own, which end with them. */
static void test_callers(void)
{
    long threads[THREAD_LIST];
    int before = thread_list(threads);
    atomic_int wrong = 0;
    pthread_t callers[4];
    for (int i = 0; i < 4; i++)
        CHECK_INT(pthread_create(&callers[i], NULL, loop_from_here, &wrong), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(callers[i], NULL);
    CHECK_INT(atomic_load(&wrong), 0);
    CHECK(thread_list_settles(before));
}

/* A child process has workers of its own. */
static void test_fork(void)
{
    CHECK(visits_all(4, ITEMS, 0));
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        long threads[THREAD_LIST];
        _exit(visits_all(4, ITEMS, 0) && thread_list(threads) == 4 ? 0 : 1);
    }
    int status = 1;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK_INT(status, 0);
}

/* ---- Ends of threads that call. ---- */

struct destruction {
    pthread_key_t key;
    atomic_int right;
};

static void loop_in_destructor(void *argument)
{
    struct destruction *destruction = argument;
    if (visits_all(3, ITEMS, 0))
        atomic_fetch_add(&destruction->right, 1);
}

static void *loop_until_destruction(void *argument)
{
    struct destruction *destruction = argument;
    loop_in_destructor(destruction);
    pthread_setspecific(destruction->key, destruction);
    return NULL;
}

/* Destructors of a thread's other keys run after its workers have ended. */
static void test_destructors(void)
{
    long threads[THREAD_LIST];
    int before = thread_list(threads);
    struct destruction destruction = {.right = 0};
    pthread_t caller;
    CHECK(visits_all(3, ITEMS, 0)); /* so that the key of the workers is the first of the two */
    CHECK_INT(pthread_key_create(&destruction.key, loop_in_destructor), 0);
    CHECK_INT(pthread_create(&caller, NULL, loop_until_destruction, &destruction), 0);
    pthread_join(caller, NULL);
    CHECK_INT(atomic_load(&destruction.right), 2);
    CHECK(thread_list_settles(before));
    pthread_key_delete(destruction.key);
}

struct cancellation {
    atomic_int begun, done;
};

static void be_late(void *argument, int64_t index, int worker)
{
    struct cancellation *cancellation = argument;
    const struct timespec pause = {.tv_nsec = 100000000};
    atomic_fetch_add(&cancellation->begun, 1);
    if (worker != 0)
        nanosleep(&pause, NULL); /* the caller waits meanwhile */
    else
        while (atomic_load(&cancellation->begun) < 2)
            sched_yield();
    (void)index;
    atomic_fetch_add(&cancellation->done, 1);
}

static void *loop_until_cancelled(void *argument)
{
    rotary_parallel_for(2, 2, be_late, argument);
    pthread_testcancel();
    return NULL;
}

/* A thread that is cancelled while it waits for its workers waits on: they use its stack. */
static void test_cancellation(void)
{
    struct cancellation cancellation = {0};
    pthread_t caller;
    void *result = NULL;
    CHECK_INT(pthread_create(&caller, NULL, loop_until_cancelled, &cancellation), 0);
    while (atomic_load(&cancellation.begun) < 2)
        sched_yield();
    CHECK_INT(pthread_cancel(caller), 0);
    pthread_join(caller, &result);
    CHECK(result == PTHREAD_CANCELED);
    CHECK_INT(atomic_load(&cancellation.done), 2);
}

static void test_processors(void)
{
    cpu_set_t all, one;
    CHECK_INT(sched_getaffinity(0, sizeof all, &all), 0);
    CHECK_INT(rotary_processors(), CPU_COUNT(&all));
    CPU_ZERO(&one);
    for (size_t i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++)
        if (CPU_ISSET(i, &all))
            CPU_SET(i, &one);
    CHECK_INT(sched_setaffinity(0, sizeof one, &one), 0);
    CHECK_INT(rotary_processors(), 1);
    CHECK(visits_all(4, ITEMS, 0)); /* more threads than processors */
    CHECK_INT(sched_setaffinity(0, sizeof all, &all), 0);
}

int main(int argc, char **argv)
{
    alarm(100); /* a lost wake-up would be a test that never ends */
    if (argc == 2 && strcmp(argv[1], "fork") == 0) {
        test_fork();
        return check_report();
    }
    test_items();
    test_many_loops();
    test_side_by_side();
    test_threads_are_kept();
    test_callers();
    test_destructors();
    test_cancellation();
    test_processors();
    return check_report();
}
