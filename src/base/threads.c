/* SPDX-License-Identifier: Apache-2.0
 *
 * A calling thread has a team: its workers are created when a loop first asks for them and end with the
 * thread that calls. A waiting worker spins for some microseconds, then sleeps.
 *
 * A loop calls the workers it has items for, and takes items itself. When no item is left it waits for those
 * that were called. Where there are more threads than processors it takes back the calls that no worker has
 * answered. docs/how-to/tune-a-kernel.md has the reason for both.
 */
#include "base/threads.h"

#include "base/fail.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    SPINS = 1000,    /* pauses before a thread sleeps: some 40 microseconds */
    YIELDS = 100000, /* of a caller to workers that have not begun: more than the time of another program */
    CACHE_LINE = 64
};

/* What a worker does. The caller makes IDLE and ASLEEP to CALLED, CALLED back to IDLE, WORKING to AWAITED
 * when it sleeps until the worker is done, and IDLE and ASLEEP to ENDING; the worker makes all other changes.
 */
enum { IDLE, ASLEEP, CALLED, WORKING, AWAITED, ENDING };

struct worker {
    _Alignas(CACHE_LINE) atomic_int state;
    int number; /* 1 ... */
    struct team *team;
    pthread_t thread;
    /* For whoever sleeps until the state changes: the worker in ASLEEP, the caller in AWAITED. */
    pthread_mutex_t lock;
    pthread_cond_t changed;
};

struct team {
    _Alignas(CACHE_LINE) _Atomic int64_t next; /* the item to be taken next */
    /* The loop that runs. */
    _Alignas(CACHE_LINE) rotary_work *work;
    void *argument;
    int64_t count;
    bool busy;
    int size, most; /* workers there are, and may be */
    int processors;
    struct worker *workers[ROTARY_MAX_THREADS];
};

/* The team of this thread, or the one that it works in. */
static _Thread_local struct team *own_team;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t ending; /* its destructor ends a thread's team */
static bool has_ending;

rotary_status rotary_check_threads(int threads, rotary_error *error)
{
    if (threads < 0 || threads > ROTARY_MAX_THREADS)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "threads is %d; wanted 1 ... %d, or 0 for all processors", threads,
                           ROTARY_MAX_THREADS);
    return ROTARY_OK;
}

int rotary_processors(void)
{
    /* Linux refuses a mask that has not room for all processors it could have: up to 8192. */
    cpu_set_t sets[8];
    if (sched_getaffinity(0, sizeof sets, sets) == 0)
        return CPU_COUNT_S(sizeof sets, sets);
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    return processors > 0 ? (int)processors : 1;
}

/* ---- One worker: waiting for its state, and changing it. ---- */

static void pause_briefly(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Waits until the state is no longer `state`, and returns it. Whoever sleeps shows it by the state
 * `sleeping`, and cannot be cancelled: workers use what is on the caller's stack. */
static int wait_while(struct worker *worker, int state, int sleeping)
{
    for (int spin = 0; spin < SPINS; spin++) {
        int now = atomic_load_explicit(&worker->state, memory_order_acquire);
        if (now != state)
            return now;
        pause_briefly();
    }
    int cancelling;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancelling);
    pthread_mutex_lock(&worker->lock);
    if (atomic_compare_exchange_strong(&worker->state, &state, sleeping))
        while ((state = atomic_load(&worker->state)) == sleeping)
            pthread_cond_wait(&worker->changed, &worker->lock);
    pthread_mutex_unlock(&worker->lock);
    pthread_setcancelstate(cancelling, NULL);
    return state;
}

/* Wakes whoever sleeps in the state `sleeping`. */
static void change(struct worker *worker, int state, int sleeping)
{
    if (atomic_exchange(&worker->state, state) != sleeping)
        return;
    pthread_mutex_lock(&worker->lock);
    pthread_cond_signal(&worker->changed);
    pthread_mutex_unlock(&worker->lock);
}

/* ---- Teams. ---- */

static void take_items(struct team *team, int number)
{
    for (;;) {
        int64_t index = atomic_fetch_add_explicit(&team->next, 1, memory_order_relaxed);
        if (index >= team->count)
            return;
        team->work(team->argument, index, number);
    }
}

static void *run_worker(void *argument)
{
    struct worker *worker = argument;
    own_team = worker->team;
    for (;;) {
        if (wait_while(worker, IDLE, ASLEEP) == ENDING)
            return NULL;
        int called = CALLED;
        if (atomic_compare_exchange_strong(&worker->state, &called, WORKING)) {
            take_items(worker->team, worker->number);
            change(worker, IDLE, AWAITED);
        }
    }
}

static bool add_worker(struct team *team)
{
    struct worker *worker = aligned_alloc(CACHE_LINE, sizeof *worker);
    if (!worker)
        return false;
    *worker = (struct worker){.number = team->size + 1,
                              .team = team,
                              .lock = PTHREAD_MUTEX_INITIALIZER,
                              .changed = PTHREAD_COND_INITIALIZER};
    if (pthread_create(&worker->thread, NULL, run_worker, worker) != 0) {
        free(worker);
        return false;
    }
    team->workers[team->size++] = worker;
    return true;
}

static void end_team(void *argument)
{
    struct team *team = argument;
    own_team = NULL; /* a later destructor of this thread may call again */
    for (int i = 0; i < team->size; i++)
        change(team->workers[i], ENDING, ASLEEP);
    for (int i = 0; i < team->size; i++) {
        pthread_join(team->workers[i]->thread, NULL);
        pthread_mutex_destroy(&team->workers[i]->lock);
        pthread_cond_destroy(&team->workers[i]->changed);
        free(team->workers[i]);
    }
    free(team);
}

/* A child process has the thread that forked and no worker. */
static void forget_team(void)
{
    own_team = NULL;
    if (has_ending)
        pthread_setspecific(ending, NULL);
}

static void prepare_ending(void)
{
    /* Without these a team outlives its thread, or a child cannot compute: nothing to refuse to compute for.
     */
    has_ending = pthread_key_create(&ending, end_team) == 0;
    (void)pthread_atfork(NULL, NULL, forget_team);
}

/* The team of this thread, with `workers` workers or as many as there can be; NULL: none, or it is at work.
 */
static struct team *find_team(int workers)
{
    if (!own_team) {
        pthread_once(&once, prepare_ending);
        struct team *team = aligned_alloc(CACHE_LINE, sizeof *team);
        if (!team)
            return NULL;
        *team = (struct team){.most = ROTARY_MAX_THREADS, .processors = rotary_processors()};
        own_team = team;
        if (has_ending)
            pthread_setspecific(ending, team);
    }
    if (own_team->busy)
        return NULL;
    while (own_team->size < workers && own_team->size < own_team->most)
        if (!add_worker(own_team))
            own_team->most = own_team->size; /* asking again in every loop would take time */
    return own_team;
}

/* Waits until a worker that was called is done. One that has not begun gets this thread's processor if it
 * needs one; the impatient call it back instead. In the end so do all: a worker of a lower priority than this
 * thread may never begin. */
static void wait_for(struct worker *worker, bool patient)
{
    int waits = patient ? SPINS + YIELDS : 0;
    for (int i = 0; i < waits && atomic_load_explicit(&worker->state, memory_order_acquire) == CALLED; i++)
        if (i < SPINS)
            pause_briefly();
        else
            sched_yield();
    int called = CALLED;
    if (!atomic_compare_exchange_strong(&worker->state, &called, IDLE))
        (void)wait_while(worker, WORKING, AWAITED);
}

static void run_team(struct team *team, int workers)
{
    for (int i = 0; i < workers; i++)
        change(team->workers[i], CALLED, ASLEEP);
    take_items(team, 0);
    for (int i = 0; i < workers; i++)
        wait_for(team->workers[i], workers < team->processors);
}

void rotary_parallel_for(int threads, int64_t count, rotary_work *work, void *argument)
{
    if (threads <= 0)
        threads = rotary_processors();
    if (threads > count)
        threads = (int)count;
    struct team *team = threads > 1 ? find_team(threads - 1) : NULL;
    if (!team) {
        for (int64_t index = 0; index < count; index++)
            work(argument, index, 0);
        return;
    }
    team->work = work;
    team->argument = argument;
    team->count = count;
    team->busy = true;
    atomic_store_explicit(&team->next, 0, memory_order_relaxed);
    run_team(team, team->size < threads - 1 ? team->size : threads - 1);
    team->busy = false;
}
