/* SPDX-License-Identifier: Apache-2.0 */
#include "study/run_list.h"

#include "base/fail.h"
#include "file/file.h"
#include "run_folder/folder.h"
#include "study/jobs.h"
#include "study/rank_runs.h"
#include "study/run_state.h"
#include "study/run_training.h"

#include <stdlib.h>
#include <string.h>

rotary_status run_list_create(struct run_list *list, const char *folder, const struct arms *arms,
                              const struct run_config *configs, const int64_t *seeds, int seed_count,
                              rotary_error *error)
{
    *list = (struct run_list){.folder = folder, .arms = arms->count};
    list->runs = calloc((size_t)seed_count * (size_t)arms->count + 1, sizeof *list->runs);
    if (!list->runs)
        return rotary_fail_memory(error, "for a list of runs");
    for (int i = 0; i < seed_count; i++)
        for (int arm = 0; arm < arms->count; arm++) {
            struct listed_run *run = &list->runs[list->count++];
            *run =
                (struct listed_run){.arm = arms->items[arm].name, .config = &configs[arm], .seed = seeds[i]};
            run_name(run->name, run->arm, run->seed);
        }
    return ROTARY_OK;
}

void run_list_free(struct run_list *list)
{
    free(list->runs);
    *list = (struct run_list){0};
}

/* ---- runs that are there ---- */

static rotary_status check_run(const struct run_config *config, const char *folder, rotary_error *error)
{
    struct run_config recorded RUN_CONFIG_LOCAL = {0};
    rotary_status status = run_read_config(folder, &recorded, error);
    if (status == ROTARY_OK)
        status = run_config_check_same(config, &recorded, folder, error);
    if (status == ROTARY_OK)
        status = run_config_check_steps(config, &recorded, folder, error);
    if (status == ROTARY_OK && config->train.steps < recorded.train.steps)
        status = rotary_fail(error, ROTARY_INVALID_ARGUMENT, "%s has %lld steps, wanted at most %lld", folder,
                             (long long)recorded.train.steps, (long long)config->train.steps);
    if (status == ROTARY_OK && config->train.evaluate_every != recorded.train.evaluate_every)
        status = rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                             "evaluate_every is %lld in %s and %lld now: runs that are compared are "
                             "evaluated at the same steps",
                             (long long)recorded.train.evaluate_every, folder,
                             (long long)config->train.evaluate_every);
    return status;
}

int run_list_precision(const struct run_config *config, const struct backend *backend)
{
    const int own = backend->storage == ROTARY_BF16 ? PRECISION_BF16 : PRECISION_F32;
    return config->train.precision == PRECISION_AUTO ? own : config->train.precision;
}

rotary_status run_list_check(const struct run_list *list, const struct backend *backend, rotary_error *error)
{
    rotary_status status = ROTARY_OK;
    for (int i = 0; status == ROTARY_OK && i < list->count; i++) {
        char folder[FILE_PATH_BYTES], path[FILE_PATH_BYTES];
        status = file_path(folder, list->folder, list->runs[i].name, error);
        if (status == ROTARY_OK)
            status = file_path(path, folder, FOLDER_CONFIG, error);
        bool found = false;
        if (status == ROTARY_OK)
            status = file_find(path, &found, error);
        if (!found)
            continue;
        struct run_config config = *list->runs[i].config;
        config.train.seed = list->runs[i].seed;
        config.train.precision = run_list_precision(&config, backend);
        status = check_run(&config, folder, error);
    }
    return status;
}

/* ---- what is left ---- */

/* Evaluations of `steps` more steps, the last of which has one. */
static int64_t count_evaluations(const struct train_config *train, int64_t steps)
{
    int64_t every = train->evaluate_every;
    return every > 0 ? (steps + every - 1) / every : 1;
}

/* Counts what is left. Returns the first run that is not finished; NULL: all are. */
static const struct listed_run *count_work(const struct run_list *list, struct estimate_work *work)
{
    const struct listed_run *first = NULL;
    int64_t all = 0;
    *work = (struct estimate_work){0};
    for (int i = 0; i < list->count; i++) {
        int64_t left = run_state_steps_left(list, &list->runs[i]);
        if (left < 0)
            continue;
        work->uneven = work->uneven || (first && left != all / work->runs);
        work->runs++;
        all += left;
        if (!first)
            first = &list->runs[i];
    }
    if (first) {
        work->steps = (all + work->runs - 1) / work->runs;
        work->evaluations = count_evaluations(&first->config->train, work->steps);
    }
    return first;
}

/* Says what training will take, and how many jobs there are to be. */
static rotary_status choose_jobs(const struct run_list_call *call, int *jobs, rotary_error *error)
{
    struct run_list_estimate estimate = {.threads = call->backend->threads};
    *jobs = 1;
    if (!call->estimated && call->jobs >= 0 && call->jobs <= 1)
        return ROTARY_OK;
    const struct listed_run *first = count_work(call->list, &estimate.work);
    if (!first)
        return ROTARY_OK;
    const struct estimate_call measured = {.config = first->config,
                                           .backend = call->backend,
                                           .work = estimate.work,
                                           .jobs = call->jobs == RUN_LIST_AUTO ? 0
                                                   : call->jobs > 1            ? call->jobs
                                                                               : 1,
                                           .interrupted = call->interrupted};
    rotary_status status = estimate_make(&measured, &estimate.estimate, error);
    if (status != ROTARY_OK)
        return status;
    *jobs = estimate.estimate.jobs;
    if (call->chosen)
        *call->chosen = *jobs;
    if (call->estimated)
        call->estimated(call->argument, &estimate);
    return ROTARY_OK;
}

rotary_status run_list_preview(const struct run_list_call *call, run_list_left *left, rotary_error *error)
{
    int jobs;
    for (int i = 0; i < call->list->count; i++) {
        const struct listed_run *run = &call->list->runs[i];
        const int64_t steps = run_state_steps_left(call->list, run);
        left(call->argument, &(struct run_left){.run = run, .steps = steps < 0 ? 0 : steps});
    }
    return choose_jobs(call, &jobs, error);
}

/* ---- training ---- */

rotary_status run_list_train(const struct run_list_call *call, rotary_error *error)
{
    struct run_training training = {
        .call = call, .backends = call->backend, .lock = PTHREAD_MUTEX_INITIALIZER};
    struct backend *shares = NULL;
    if (call->ranks)
        return rank_runs_train(call, error);
    rotary_status status = choose_jobs(call, &training.jobs, error);
    if (status == ROTARY_OK && training.jobs > 1) {
        status = jobs_backends_create(&shares, call->backend, training.jobs, error);
        training.backends = shares;
    }
    const struct jobs_call jobs = {.jobs = training.jobs,
                                   .count = call->list->count,
                                   .run = run_training_item,
                                   .argument = &training,
                                   .interrupted = call->interrupted};
    if (status == ROTARY_OK)
        status = jobs_run(&jobs, error);
    jobs_backends_destroy(shares, training.jobs);
    pthread_mutex_destroy(&training.lock);
    return status;
}
