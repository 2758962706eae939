/* SPDX-License-Identifier: Apache-2.0 */
#include "study/comparison_run.h"

#include "base/fail.h"
#include "file/file.h"
#include "records/collection.h"
#include "run_folder/folder.h"
#include "study/run_listing.h"
#include "train/folder/corpus_record.h"

#include <stdio.h>
#include <stdlib.h>

static rotary_status check_call(const struct compare_call *call, rotary_error *error)
{
    if (call->plan.arms->count < 1)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "there is nothing to compare: wanted an arm");
    if (call->plan.seed_count < 1)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "there are no seeds: wanted one or more");
    char path[FILE_PATH_BYTES];
    rotary_status status = file_path(path, call->plan.folder, FOLDER_CONFIG, error);
    if (status == ROTARY_OK && file_exists(path))
        status =
            rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                        "%s holds a single run: wanted a comparison to resume, or another folder by --out",
                        call->plan.folder);
    return status;
}

static rotary_status write_description(struct comparison_plan *plan, rotary_error *error)
{
    rotary_status status = plan->changed ? file_replace_json(plan->path, plan->object, error) : ROTARY_OK;
    plan->changed = plan->changed && status != ROTARY_OK;
    return status;
}

static struct run_list_call train_call_of(const struct compare_call *call)
{
    return (struct run_list_call){.backend = call->backend,
                                  .ranks = call->ranks,
                                  .jobs = call->jobs,
                                  .estimated = call->estimated,
                                  .progress = call->progress,
                                  .argument = call->argument,
                                  .interrupted = call->interrupted,
                                  .tensorboard = call->tensorboard,
                                  .commit = call->commit,
                                  .left = call->left};
}

/* Trains every arm with the seeds from `first` on. compare.json is written first, after the runs that are
 * there were found to be those of the plan. jobs: as `chosen` of run_list_call. */
static rotary_status train_seeds(const struct compare_call *call, struct comparison_plan *plan, int first,
                                 int *jobs, rotary_error *error)
{
    struct run_list list;
    rotary_status status = run_list_create(&list, call->plan.folder, &plan->arms, plan->configs,
                                           plan->seeds + first, plan->seed_count - first, error);
    if (status != ROTARY_OK)
        return status;
    struct run_list_call train = train_call_of(call);
    train.list = &list;
    train.chosen = jobs;
    train.before = first * plan->arms.count;
    train.total = (plan->max_seeds ? plan->max_seeds : plan->seed_count) * plan->arms.count;
    status = run_list_check(&list, call->backend, error);
    if (status == ROTARY_OK)
        status = write_description(plan, error);
    if (status == ROTARY_OK)
        status = run_list_train_or_hand_out(&train, error);
    run_list_free(&list);
    return status;
}

/* ---- until there is a verdict ---- */

static rotary_status is_decided(const struct compare_call *call, bool *decided, rotary_error *error)
{
    struct collection collection;
    rotary_status status =
        collection_read_with(&collection, &call->plan.folder, 1,
                             &(struct collection_options){.all_pairs = call->plan.all_pairs}, error);
    if (status != ROTARY_OK)
        return status;
    const struct comparison *comparison = collection.comparison;
    *decided = comparison->max_pairs > 0;
    for (int i = 0; i < comparison->contrast_count; i++) {
        enum verdict verdict = comparison_decide(comparison, &comparison->contrasts[i]);
        *decided = *decided && (verdict == VERDICT_BETTER || verdict == VERDICT_WORSE);
    }
    collection_free(&collection);
    return ROTARY_OK;
}

static rotary_status train_until(const struct compare_call *call, struct comparison_plan *plan,
                                 rotary_error *error)
{
    bool decided = false;
    int jobs = 0;
    struct compare_call each = *call; /* is measured and estimated once, not for every seed */
    rotary_status status = train_seeds(&each, plan, 0, &jobs, error);
    if (status == ROTARY_OK)
        status = is_decided(call, &decided, error);
    while (status == ROTARY_OK && !decided && plan->seed_count < plan->max_seeds) {
        if (jobs) {
            each.jobs = jobs < plan->arms.count ? jobs : plan->arms.count;
            each.estimated = NULL;
        }
        comparison_plan_add_seed(plan);
        status = train_seeds(&each, plan, plan->seed_count - 1, &jobs, error);
        if (status == ROTARY_OK)
            status = is_decided(call, &decided, error);
    }
    return status;
}

/* ---- the whole ---- */

/* Whether every arm has finished the seed. */
static bool has_finished(const struct collection *collection, int64_t seed)
{
    int finished = 0;
    for (int i = 0; i < collection->record_count; i++)
        finished += collection->records[i].seed == seed && record_finished(&collection->records[i]);
    return finished == collection->file.arm_count;
}

/* The caller is about to show the results. */
static rotary_status record_look(const struct compare_call *call, struct comparison_plan *plan,
                                 rotary_error *error)
{
    struct collection collection;
    rotary_status status = collection_read(&collection, &call->plan.folder, 1, error);
    if (status != ROTARY_OK)
        return status;
    int64_t *seeds = calloc((size_t)collection.file.seed_count, sizeof *seeds);
    int count = 0;
    for (int i = 0; seeds && i < collection.file.seed_count; i++)
        if (has_finished(&collection, collection.file.seeds[i]))
            seeds[count++] = collection.file.seeds[i];
    collection_free(&collection);
    if (!seeds)
        return rotary_fail_memory(error, "for seeds");
    comparison_plan_add_look(plan, seeds, count);
    free(seeds);
    return write_description(plan, error);
}

static rotary_status choose_values(const struct compare_call *call, struct comparison_plan *plan,
                                   json_t **chosen, rotary_error *error)
{
    if (!call->plan.sweep)
        return ROTARY_OK;
    const struct sweep_call sweep = {.sweep = call->plan.sweep,
                                     .config = call->plan.config,
                                     .folder = call->plan.folder,
                                     .before = json_object_get(plan->file.object, "sweep"),
                                     .train = train_call_of(call)};
    return sweep_choose(&plan->arms, &sweep, chosen, error);
}

/* *stage: that which was begun last. */
static rotary_status train_plan(const struct compare_call *call, struct comparison_plan *plan,
                                enum comparison_stage *stage, rotary_error *error)
{
    json_t *chosen = NULL;
    *stage = COMPARISON_SWEEP;
    rotary_status status = choose_values(call, plan, &chosen, error);
    if (status == ROTARY_OK)
        status = comparison_plan_settle(plan, error);
    if (status == ROTARY_OK)
        status = comparison_plan_describe(plan, chosen, error);
    json_decref(chosen);
    if (status != ROTARY_OK)
        return status;
    *stage = plan->max_seeds ? COMPARISON_UNTIL : COMPARISON_RUNS;
    status = plan->max_seeds ? train_until(call, plan, error) : train_seeds(call, plan, 0, NULL, error);
    if (status == ROTARY_OK)
        *stage = COMPARISON_FINISHED;
    return status == ROTARY_OK && !call->left ? record_look(call, plan, error) : status;
}

/* Checks the corpus of a run that is there. `corpus` is that of its arm, read with the first run: it can take
 * a second. */
static rotary_status check_corpus(struct corpus *corpus, const char *folder, const char *arm, int64_t seed,
                                  rotary_error *error)
{
    char name[RUN_NAME_BYTES], run[FILE_PATH_BYTES], config[FILE_PATH_BYTES];
    rotary_status status = file_path(run, folder, run_name(name, arm, seed), error);
    if (status == ROTARY_OK)
        status = file_path(config, run, FOLDER_CONFIG, error);
    if (status != ROTARY_OK || !file_exists(config))
        return status;
    struct run_config recorded RUN_CONFIG_LOCAL = {0};
    if (!corpus->read) {
        status = run_read_config(run, &recorded, error);
        if (status == ROTARY_OK)
            status = corpus_read(corpus, &recorded.task, TASK_TRAINING, error);
    }
    return status == ROTARY_OK ? corpus_check(corpus, run, error) : status;
}

/* Checks that the runs that are there were trained on the corpus of today. */
static rotary_status check_corpora(const struct comparison_file *file, const char *folder,
                                   rotary_error *error)
{
    rotary_status status = ROTARY_OK;
    for (int arm = 0; arm < file->arm_count; arm++) {
        struct corpus corpus = {0};
        for (int i = 0; i < file->seed_count && status == ROTARY_OK; i++)
            status = check_corpus(&corpus, folder, file->arms[arm].name, file->seeds[i], error);
    }
    return status;
}

/* Plans without a folder, and refuses what it can. Free the plan, which may be zeroed, whatever it returns.
 */
static rotary_status plan_ahead(const struct compare_call *call, struct comparison_plan *plan,
                                rotary_error *error)
{
    rotary_status status = check_call(call, error);
    if (status == ROTARY_OK)
        status = comparison_plan_create(plan, &call->plan, error);
    if (status == ROTARY_OK)
        status = check_corpora(&plan->file, call->plan.folder, error);
    return status == ROTARY_OK ? comparison_plan_settle(plan, error) : status;
}

static rotary_status lock_and_train(const struct compare_call *call, enum comparison_stage *stage,
                                    rotary_error *error)
{
    int lock = -1;
    struct comparison_plan plan = {0};
    rotary_status status = plan_ahead(call, &plan, error);
    comparison_plan_free(&plan);
    plan = (struct comparison_plan){0};
    if (status == ROTARY_OK)
        status = file_make_folder(call->plan.folder, error);
    if (status == ROTARY_OK)
        status = folder_lock(call->plan.folder, &lock, error);
    if (status == ROTARY_OK) /* anew: nobody else can write compare.json now */
        status = comparison_plan_create(&plan, &call->plan, error);
    if (status == ROTARY_OK)
        status = train_plan(call, &plan, stage, error);
    comparison_plan_free(&plan);
    folder_unlock(lock);
    return status;
}

rotary_status comparison_run(const struct compare_call *call, rotary_error *error)
{
    enum comparison_stage stage;
    return lock_and_train(call, &stage, error);
}

rotary_status comparison_list(const struct compare_call *call, enum comparison_stage *stage,
                              rotary_error *error)
{
    rotary_status status = lock_and_train(call, stage, error);
    const bool stopped = call->interrupted && atomic_load(call->interrupted);
    return status == ROTARY_INTERRUPTED && !stopped ? ROTARY_OK : status; /* runs were handed out */
}

rotary_status comparison_preview(const struct compare_call *call, run_list_left *left, rotary_error *error)
{
    struct comparison_plan plan = {0};
    struct run_list list = {0};
    rotary_status status = plan_ahead(call, &plan, error);
    if (status == ROTARY_OK)
        status = run_list_create(&list, call->plan.folder, &plan.arms, plan.configs, plan.seeds,
                                 plan.seed_count, error);
    if (status == ROTARY_OK)
        status = run_list_check(&list, call->backend, error);
    if (status == ROTARY_OK) {
        struct run_list_call train = train_call_of(call);
        train.list = &list;
        status = run_list_preview(&train, left, error);
    }
    run_list_free(&list);
    comparison_plan_free(&plan);
    return status;
}
