/* SPDX-License-Identifier: Apache-2.0 */
#include "study/rank_runs.h"

#include "base/clock.h"
#include "base/fail.h"
#include "file/file.h"
#include "study/run_training.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- the list ---- */

/* A list of rank 0, on another rank. */
struct told_list {
    json_t *object; /* has the texts */
    char folder[FILE_PATH_BYTES];
    struct run_list list;
    struct run_config *configs; /* [list.count] */
    int before, total;
};

static rotary_status list_to_json(const struct run_list_call *call, json_t **object, rotary_error *error)
{
    json_t *runs = json_array();
    rotary_status status = ROTARY_OK;
    for (int i = 0; status == ROTARY_OK && i < call->list->count; i++) {
        const struct listed_run *run = &call->list->runs[i];
        json_t *config = NULL;
        status = run_config_to_json(run->config, &config, error);
        json_array_append_new(runs, json_pack("{s:s, s:s, s:I, s:o?}", "name", run->name, "arm", run->arm,
                                              "seed", (json_int_t)run->seed, "config", config));
    }
    *object = json_pack("{s:s, s:i, s:i, s:o}", "folder", call->list->folder, "before", call->before, "total",
                        call->total, "runs", runs);
    return status;
}

/* Tells the others a text; "" ends their work. */
static rotary_status tell(const struct ranks *ranks, const char *text, rotary_error *error)
{
    int64_t bytes = (int64_t)strlen(text) + 1;
    rotary_status status = ranks_share(ranks, &bytes, sizeof bytes, error);
    char *copy = strdup(text); /* ranks_share writes on other ranks */
    if (!copy)
        return rotary_fail_memory(error, "for a list of runs");
    if (status == ROTARY_OK)
        status = ranks_share(ranks, copy, (size_t)bytes, error);
    free(copy);
    return status;
}

static rotary_status hear(const struct ranks *ranks, char **text, rotary_error *error)
{
    int64_t bytes;
    rotary_status status = ranks_share(ranks, &bytes, sizeof bytes, error);
    if (status != ROTARY_OK)
        return status;
    *text = malloc((size_t)bytes);
    if (!*text)
        return rotary_fail_memory(error, "for a list of runs");
    status = ranks_share(ranks, *text, (size_t)bytes, error);
    if (status != ROTARY_OK)
        free(*text);
    return status;
}

static void free_told(struct told_list *told)
{
    for (int i = 0; told->configs && i < told->list.count; i++)
        run_config_free(&told->configs[i]);
    free(told->configs);
    free(told->list.runs);
    json_decref(told->object);
    *told = (struct told_list){.object = NULL};
}

static rotary_status read_run(struct told_list *told, json_t *object, rotary_error *error)
{
    struct listed_run *run = &told->list.runs[told->list.count];
    const char *name = "", *arm = "";
    json_t *config = NULL;
    json_int_t seed = 0;
    if (json_unpack(object, "{s:s, s:s, s:I, s:o}", "name", &name, "arm", &arm, "seed", &seed, "config",
                    &config) != 0)
        return rotary_fail(error, ROTARY_BAD_FILE, "a run of the list of rank 0 has no name, arm or seed");
    *run = (struct listed_run){.arm = arm, .seed = seed, .config = &told->configs[told->list.count]};
    snprintf(run->name, sizeof run->name, "%s", name);
    rotary_status status =
        run_config_from_json(&told->configs[told->list.count], config, "the list of rank 0", error);
    told->list.count += status == ROTARY_OK;
    return status;
}

static rotary_status read_told(struct told_list *told, const char *text, rotary_error *error)
{
    const char *folder = "";
    json_t *runs = NULL, *run;
    size_t i;
    *told = (struct told_list){.object = json_loads(text, 0, NULL)};
    if (json_unpack(told->object, "{s:s, s:i, s:i, s:o}", "folder", &folder, "before", &told->before, "total",
                    &told->total, "runs", &runs) != 0)
        return rotary_fail(error, ROTARY_BAD_FILE, "the list of rank 0 cannot be read");
    snprintf(told->folder, sizeof told->folder, "%s", folder);
    told->list.folder = told->folder;
    told->list.runs = calloc(json_array_size(runs) + 1, sizeof *told->list.runs);
    told->configs = calloc(json_array_size(runs) + 1, sizeof *told->configs);
    if (!told->list.runs || !told->configs)
        return rotary_fail_memory(error, "for a list of runs");
    rotary_status status = ROTARY_OK;
    json_array_foreach (runs, i, run)
        if (status == ROTARY_OK)
            status = read_run(told, run, error);
    return status;
}

/* ---- what the ranks are at ---- */

/* The numbers of a board. */
enum { DONE, ENDED, RUN, STEP, PLANNED_STEPS, MILLISECONDS_LEFT };

/* One rank's work on a list. */
struct rank_work {
    const struct run_list_call *call; /* with its list */
    struct ranks_board own, *boards;  /* of all, on rank 0 */
    double shown;                     /* when */
};

static int done_of_all(const struct rank_work *work)
{
    int done = 0;
    for (int i = 0; i < ranks_count(work->call->ranks); i++)
        done += (int)work->boards[i].numbers[DONE];
    return done;
}

/* Reports what another rank is at, as the progress of its run. */
static void report_other(const struct rank_work *work, int rank)
{
    const struct run_list_call *call = work->call;
    const struct ranks_board *board = &work->boards[rank];
    const int64_t run = board->numbers[RUN];
    if (run < 1 || run > call->list->count || board->numbers[PLANNED_STEPS] < 1 || board->numbers[STEP] < 1)
        return;
    const struct listed_run *listed = &call->list->runs[run - 1];
    const struct train_progress train = {.step = board->numbers[STEP],
                                         .steps = board->numbers[PLANNED_STEPS],
                                         .seconds_left = (double)board->numbers[MILLISECONDS_LEFT] / 1000.0};
    const struct run_progress progress = {.run = call->before + (int)run,
                                          .runs = call->total,
                                          .arm = listed->arm,
                                          .seed = listed->seed,
                                          .train = &train,
                                          .job = rank,
                                          .jobs = ranks_count(call->ranks),
                                          .done = call->before + done_of_all(work)};
    call->progress(call->argument, &progress);
}

/* Shows the own board; rank 0 looks at all others, and reports what has changed. */
static rotary_status exchange_boards(struct rank_work *work, rotary_error *error)
{
    const struct ranks *ranks = work->call->ranks;
    struct ranks_board *now = calloc((size_t)ranks_count(ranks), sizeof *now);
    if (!now)
        return rotary_fail_memory(error, "for the work of ranks");
    rotary_status status = ranks_work_show(ranks, &work->own, error);
    if (status == ROTARY_OK && ranks_index(ranks) == 0)
        status = ranks_work_look(ranks, now, error);
    for (int i = 0; status == ROTARY_OK && ranks_index(ranks) == 0 && i < ranks_count(ranks); i++) {
        const bool changed = memcmp(&work->boards[i], &now[i], sizeof now[i]) != 0;
        work->boards[i] = now[i];
        if (i > 0 && changed && work->call->progress)
            report_other(work, i);
    }
    free(now);
    work->shown = rotary_clock();
    return status;
}

/* The progress of this rank's own run: once a second the others hear of it. */
static void note_progress(void *argument, const struct run_progress *progress)
{
    enum { SECONDS = 1 };
    struct rank_work *work = argument;
    const struct run_list_call *call = work->call;
    if (progress->train) {
        work->own.numbers[STEP] = progress->train->step;
        work->own.numbers[PLANNED_STEPS] = progress->train->steps;
        work->own.numbers[MILLISECONDS_LEFT] = (int64_t)(1000.0 * progress->train->seconds_left);
    }
    if (rotary_clock() - work->shown >= SECONDS)
        (void)!exchange_boards(work, NULL);
    if (ranks_index(call->ranks) > 0 || !call->progress)
        return;
    struct run_progress shown = *progress;
    shown.jobs = ranks_count(call->ranks);
    shown.done = call->before + done_of_all(work);
    call->progress(call->argument, &shown);
}

/* ---- work ---- */

static rotary_status take_runs(struct rank_work *work, const atomic_bool *stop, rotary_error *error)
{
    const struct run_list_call *call = work->call;
    struct run_list_call noted = *call;
    noted.progress = note_progress;
    noted.argument = work;
    struct run_training training = {
        .call = &noted, .backends = call->backend, .jobs = 1, .lock = PTHREAD_MUTEX_INITIALIZER};
    rotary_status status = ROTARY_OK;
    int64_t next = 0;
    while (status == ROTARY_OK && !atomic_load(stop)) {
        status = ranks_work_next(call->ranks, &next, error);
        if (status != ROTARY_OK || next >= call->list->count)
            break;
        work->own.numbers[RUN] = next + 1;
        work->own.numbers[STEP] = 0;
        status = run_training_item(&training, &(struct jobs_item){.index = (int)next, .stop = stop}, error);
        work->own.numbers[DONE] = training.done;
        work->own.numbers[RUN] = 0;
    }
    if (status == ROTARY_OK && next < call->list->count)
        status = rotary_fail(error, ROTARY_INTERRUPTED, "interrupted before the last run");
    pthread_mutex_destroy(&training.lock);
    return status;
}

/* Rank 0 shows the progress of those that are not done. */
static rotary_status wait_for_others(struct rank_work *work, rotary_error *error)
{
    const struct timespec moment = {.tv_nsec = 200000000};
    rotary_status status = ROTARY_OK;
    for (int left = 1; status == ROTARY_OK && left > 0;) {
        status = exchange_boards(work, error);
        left = 0;
        for (int i = 0; i < ranks_count(work->call->ranks); i++)
            left += work->boards[i].numbers[ENDED] == 0;
        if (left > 0)
            nanosleep(&moment, NULL);
    }
    return status;
}

/* Works on a list that all ranks have, until all of it is done, or one of them fails or is to stop. */
static rotary_status work_on(const struct run_list_call *call, rotary_error *error)
{
    const atomic_bool *stop;
    struct rank_work work = {.call = call};
    rotary_status status = ranks_work_begin(call->ranks, call->interrupted, &stop, error);
    if (status != ROTARY_OK)
        return status;
    work.boards = calloc((size_t)ranks_count(call->ranks), sizeof *work.boards);
    status = work.boards ? take_runs(&work, stop, error) : rotary_fail_memory(error, "for the work of ranks");
    if (status != ROTARY_OK)
        ranks_work_stop(call->ranks);
    work.own.numbers[ENDED] = 1;
    rotary_error ignored = {0};
    rotary_status shown = ROTARY_OK;
    if (work.boards && ranks_index(call->ranks) == 0)
        shown = wait_for_others(&work, &ignored);
    else if (work.boards)
        shown = exchange_boards(&work, &ignored);
    if (status == ROTARY_OK && shown != ROTARY_OK) {
        status = shown;
        *error = ignored;
    }
    status = ranks_work_end(call->ranks, status, error);
    free(work.boards);
    return status;
}

rotary_status rank_runs_train(const struct run_list_call *call, rotary_error *error)
{
    json_t *object;
    rotary_status status = list_to_json(call, &object, error);
    char *text = status == ROTARY_OK ? file_json_text(object, JSON_COMPACT) : NULL;
    json_decref(object);
    if (status == ROTARY_OK && !text)
        status = rotary_fail_memory(error, "for a list of runs");
    if (status == ROTARY_OK)
        status = tell(call->ranks, text, error);
    if (status == ROTARY_OK) /* whether all have understood */
        status = ranks_agree(call->ranks, ROTARY_OK, error);
    free(text);
    return status == ROTARY_OK ? work_on(call, error) : status;
}

/* Works on a list that rank 0 has told. */
static rotary_status follow_list(const struct run_list_call *call, const char *text, rotary_error *error)
{
    struct told_list told;
    struct run_list_call own = *call;
    rotary_status status = ranks_agree(call->ranks, read_told(&told, text, error), error);
    own.list = &told.list;
    own.before = told.before;
    own.total = told.total;
    if (status == ROTARY_OK)
        status = work_on(&own, error);
    free_told(&told);
    return status;
}

/* All ranks have failed when one has: rank 0 then says that there is no other list. */
rotary_status rank_runs_follow(const struct run_list_call *call, rotary_error *error)
{
    rotary_status status = ROTARY_OK;
    for (bool ends = false; !ends;) {
        char *text;
        rotary_error deaf = {0};
        const rotary_status heard = hear(call->ranks, &text, &deaf);
        if (heard != ROTARY_OK) {
            *error = deaf;
            return heard;
        }
        ends = text[0] == 0;
        if (!ends && status == ROTARY_OK)
            status = follow_list(call, text, error);
        free(text);
    }
    return status;
}

rotary_status rank_runs_end(const struct ranks *ranks, rotary_error *error)
{
    return ranks ? tell(ranks, "", error) : ROTARY_OK;
}
