/* SPDX-License-Identifier: Apache-2.0 */
#include "study/jobs.h"

#include "base/fail.h"
#include "cuda/device_backend.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

struct jobs {
    const struct jobs_call *call;
    const atomic_bool *stop; /* what items look at */
    atomic_bool stopped;     /* by a failure or, where there are several jobs, an interruption */
    pthread_mutex_t lock;    /* of all that follows */
    pthread_cond_t ended;
    int next, running; /* the next item; jobs that have not ended */
    rotary_status status;
    rotary_error error;
};

struct job {
    struct jobs *jobs;
    int number;
    pthread_t thread;
};

int jobs_threads(int threads, int jobs, int job)
{
    int share = threads / jobs + (job < threads % jobs);
    return share > 0 ? share : 1;
}

/* Keeps the first failure. What another item's failure interrupted is none. */
static void note_failure(struct jobs *jobs, rotary_status status, const rotary_error *error)
{
    bool first =
        jobs->status == ROTARY_OK || (jobs->status == ROTARY_INTERRUPTED && status != ROTARY_INTERRUPTED);
    if (first) {
        jobs->status = status;
        jobs->error = *error;
    }
    atomic_store(&jobs->stopped, true);
}

static void *work(void *argument)
{
    const struct job *job = argument;
    struct jobs *jobs = job->jobs;
    pthread_mutex_lock(&jobs->lock);
    while (jobs->next < jobs->call->count && !atomic_load(&jobs->stopped) && !atomic_load(jobs->stop)) {
        struct jobs_item item = {.index = jobs->next++, .job = job->number, .stop = jobs->stop};
        rotary_error error = {0};
        pthread_mutex_unlock(&jobs->lock);
        rotary_status status = jobs->call->run(jobs->call->argument, &item, &error);
        pthread_mutex_lock(&jobs->lock);
        if (status != ROTARY_OK)
            note_failure(jobs, status, &error);
    }
    jobs->running--;
    pthread_cond_signal(&jobs->ended);
    pthread_mutex_unlock(&jobs->lock);
    return NULL;
}

/* Waits until all jobs have ended, and passes an interruption on to them. A signal handler sets the caller's
 * flag and cannot wake anyone, so this looks at it every now and then. */
static void wait_for_jobs(struct jobs *jobs)
{
    const long nanoseconds = 20000000, second = 1000000000;
    pthread_mutex_lock(&jobs->lock);
    while (jobs->running > 0) {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += nanoseconds;
        until.tv_sec += until.tv_nsec / second;
        until.tv_nsec %= second;
        pthread_cond_timedwait(&jobs->ended, &jobs->lock, &until);
        if (jobs->call->interrupted && atomic_load(jobs->call->interrupted))
            atomic_store(&jobs->stopped, true);
    }
    pthread_mutex_unlock(&jobs->lock);
}

/* If not one thread can be created, all runs on this one. */
static rotary_status run_side_by_side(struct jobs *jobs, rotary_error *error)
{
    int count = jobs->call->jobs, created = 0;
    struct job *threads = calloc((size_t)count, sizeof *threads);
    if (!threads)
        return rotary_fail_memory(error, "for %d jobs", count);
    jobs->running = count;
    for (; created < count; created++) {
        threads[created] = (struct job){.jobs = jobs, .number = created};
        if (pthread_create(&threads[created].thread, NULL, work, &threads[created]) != 0)
            break;
    }
    pthread_mutex_lock(&jobs->lock);
    jobs->running -= count - created;
    pthread_mutex_unlock(&jobs->lock);
    if (created == 0) {
        jobs->running = 1;
        work(&threads[0]);
    }
    wait_for_jobs(jobs);
    for (int i = 0; i < created; i++)
        pthread_join(threads[i].thread, NULL);
    free(threads);
    return jobs->status;
}

rotary_status jobs_run(const struct jobs_call *call, rotary_error *error)
{
    struct jobs jobs = {.call = call, .running = 1, .lock = PTHREAD_MUTEX_INITIALIZER};
    jobs.stop = call->jobs == 1 && call->interrupted ? call->interrupted : &jobs.stopped;
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&jobs.ended, &monotonic);
    pthread_condattr_destroy(&monotonic);
    rotary_status status = ROTARY_OK;
    if (call->jobs > 1)
        status = run_side_by_side(&jobs, &jobs.error);
    else
        work(&(struct job){.jobs = &jobs});
    if (status == ROTARY_OK)
        status = jobs.status;
    if (status == ROTARY_OK && jobs.next < call->count) {
        status = ROTARY_INTERRUPTED;
        (void)rotary_fail(&jobs.error, status, "interrupted before item %d of %d", jobs.next + 1,
                          call->count);
    }
    if (status != ROTARY_OK && error)
        *error = jobs.error;
    pthread_cond_destroy(&jobs.ended);
    pthread_mutex_destroy(&jobs.lock);
    return status;
}

rotary_status jobs_backends_create(struct backend **backends, const struct backend *all, int jobs,
                                   rotary_error *error)
{
    struct backend *made = calloc((size_t)jobs, sizeof *made);
    *backends = NULL;
    if (!made)
        return rotary_fail_memory(error, "for %d jobs", jobs);
    rotary_status status = ROTARY_OK;
    for (int i = 0; status == ROTARY_OK && i < jobs; i++)
        status = device_backend_copy(&made[i], all, jobs_threads(all->threads, jobs, i), error);
    if (status == ROTARY_OK)
        *backends = made;
    else
        jobs_backends_destroy(made, jobs);
    return status;
}

void jobs_backends_destroy(struct backend *backends, int jobs)
{
    for (int i = 0; backends && i < jobs; i++)
        backend_destroy(&backends[i]);
    free(backends);
}
