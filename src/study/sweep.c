/* SPDX-License-Identifier: Apache-2.0 */
#include "study/sweep.h"

#include "base/fail.h"
#include "file/file.h"
#include "records/comparison/comparison.h"
#include "study/run_listing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static json_t *candidates_json(const struct sweep *sweep)
{
    json_t *list = json_array();
    for (int i = 0; i < sweep->candidates.count; i++)
        json_array_append(list, sweep->candidates.items[i].set);
    return list;
}

static json_t *seeds_json(const struct sweep *sweep)
{
    json_t *list = json_array();
    for (int i = 0; i < sweep->runs; i++)
        json_array_append_new(list, json_integer(SWEEP_SEED + i));
    return list;
}

rotary_status sweep_check(const struct sweep *sweep, const json_t *before, const char *path,
                          rotary_error *error)
{
    if (!before)
        return ROTARY_OK;
    json_t *candidates = candidates_json(sweep), *seeds = seeds_json(sweep);
    bool same = json_equal(candidates, json_object_get(before, "candidates")) &&
                json_equal(seeds, json_object_get(before, "seeds"));
    json_decref(candidates);
    json_decref(seeds);
    return same ? ROTARY_OK
                : rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                              "%s has a sweep of other values or runs: wanted the same --sweep, or another "
                              "folder",
                              path);
}

/* The arm with a candidate's values. */
static rotary_status append_tried(struct arms *tried, const struct arm *arm, const struct arm *candidate,
                                  rotary_error *error)
{
    char name[ARM_NAME_BYTES];
    memcpy(name, arm->name, sizeof name);
    const char *key;
    json_t *value;
    json_object_foreach (candidate->set, key, value) {
        if (json_object_get(arm->set, key))
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                               "%s is compared: wanted another key for the sweep", key);
        if (!arm_name_add(name, key, value))
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                               "%.60s...: the name is too long for its folders", name);
    }
    return arms_append(tried, name, json_deep_copy(arm->set), json_deep_copy(candidate->set), error);
}

/* Every arm that has nothing chosen yet, with every candidate. */
static rotary_status list_tried(struct arms *tried, const struct arms *arms, const struct sweep *sweep,
                                rotary_error *error)
{
    rotary_status status = ROTARY_OK;
    tried->given = arms->given;
    for (int i = 0; i < arms->count; i++)
        for (int j = 0; status == ROTARY_OK && !arms->items[i].chosen && j < sweep->candidates.count; j++)
            status = append_tried(tried, &arms->items[i], &sweep->candidates.items[j], error);
    return status;
}

rotary_status sweep_check_arms(const struct sweep *sweep, const struct arms *arms,
                               const struct run_config *config, rotary_error *error)
{
    struct arms tried = {0};
    struct run_config *configs = NULL;
    rotary_status status = list_tried(&tried, arms, sweep, error);
    if (status == ROTARY_OK && tried.count)
        status = arms_configs(&tried, config, SWEEP_SEED, &configs, error);
    arms_configs_free(configs, tried.count);
    arms_free(&tried);
    return status;
}

static rotary_status train_tried(const struct sweep_call *call, const struct arms *tried, const char *folder,
                                 rotary_error *error)
{
    int64_t seeds[SWEEP_MAX_RUNS];
    for (int i = 0; i < call->sweep->runs; i++)
        seeds[i] = SWEEP_SEED + i;
    struct run_config *configs = NULL;
    struct run_list list = {0};
    rotary_status status =
        arms_configs(tried, call->config, SWEEP_SEED + call->sweep->runs - 1, &configs, error);
    if (status == ROTARY_OK)
        status = run_list_create(&list, folder, tried, configs, seeds, call->sweep->runs, error);
    if (status == ROTARY_OK)
        status = run_list_check(&list, call->train.backend, error);
    if (status == ROTARY_OK) {
        struct run_list_call train = call->train;
        train.list = &list;
        train.total = list.count;
        status = run_list_train_or_hand_out(&train, error);
    }
    run_list_free(&list);
    arms_configs_free(configs, tried->count);
    return status;
}

/* Reads the runs of one arm's candidates, which begin at `tried`. The caller destroys *comparison and frees
 * the records. */
static rotary_status read_tried(const struct sweep_call *call, const struct arm *tried, const char *folder,
                                struct record *records, struct comparison **comparison, rotary_error *error)
{
    int runs = call->sweep->runs, candidates = call->sweep->candidates.count;
    const char *names[MAX_ARMS];
    rotary_status status = ROTARY_OK;
    for (int i = 0; status == ROTARY_OK && i < candidates * runs; i++) {
        char name[RUN_NAME_BYTES], path[FILE_PATH_BYTES];
        names[i / runs] = tried[i / runs].name;
        status = file_path(path, folder, run_name(name, names[i / runs], SWEEP_SEED + i % runs), error);
        if (status == ROTARY_OK)
            status = record_read(&records[i], path, error);
        if (status != ROTARY_OK)
            break;
        /* Arms are judged by the test set, so nothing is chosen by it. */
        for (int64_t j = 0; j < records[i].evaluation_count; j++) {
            records[i].evaluations[j].test_translated = 0;
            records[i].evaluations[j].test_labels.examples = 0;
        }
        free(records[i].arm);
        records[i].arm = strdup(names[i / runs]);
        if (!records[i].arm)
            status = rotary_fail_memory(error, "for a sweep");
    }
    if (status != ROTARY_OK)
        return status;
    const struct comparison_request request = {
        .records = records, .record_count = candidates * runs, .arms = names, .arm_count = candidates};
    return comparison_create(comparison, &request, error);
}

/* Adds the scores of an arm and returns the index of its best candidate; -1 if all have runs that diverged.
 */
static int score(const struct comparison *comparison, const struct arm *tried, const char *arm,
                 json_t *scores)
{
    enum measure measure = comparison->measures[0];
    bool higher = measure_descriptions[measure].better == HIGHER_IS_BETTER;
    int best = -1;
    double best_mean = 0;
    for (int i = 0; i < comparison->arm_count; i++) {
        double mean = comparison->arms[i].statistics[measure].mean;
        int diverged = comparison->arms[i].diverged_count;
        bool scored = diverged == 0 && isfinite(mean);
        json_array_append_new(scores,
                              json_pack("{s:s, s:O, s:o, s:i}", "arm", arm, "set", tried[i].chosen, "mean",
                                        scored ? json_real(mean) : json_null(), "diverged", diverged));
        if (scored && (best < 0 || (higher ? mean > best_mean : mean < best_mean))) {
            best = i;
            best_mean = mean;
        }
    }
    return best;
}

static rotary_status choose(struct arm *arm, const struct sweep_call *call, const struct arm *tried,
                            const char *folder, json_t *record, rotary_error *error)
{
    struct comparison *comparison = NULL;
    size_t count = (size_t)call->sweep->candidates.count * (size_t)call->sweep->runs;
    struct record *records = calloc(count + 1, sizeof *records);
    if (!records)
        return rotary_fail_memory(error, "for a sweep");
    rotary_status status = read_tried(call, tried, folder, records, &comparison, error);
    if (status == ROTARY_OK && comparison->incomparable)
        status = rotary_fail(error, ROTARY_INVALID_ARGUMENT, "nothing can be chosen by the sweep: %s",
                             comparison->incomparable);
    if (status == ROTARY_OK) {
        int best = score(comparison, tried, arm->name, json_object_get(record, "scores"));
        json_object_set_new(record, "measure", json_string(measure_names[comparison->measures[0]]));
        if (best >= 0)
            arm->chosen = json_deep_copy(tried[best].chosen);
        else
            status = rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                                 "%s diverged, or has no score, with every value of the sweep: wanted others",
                                 arm->name);
    }
    comparison_destroy(comparison);
    for (size_t i = 0; i < count; i++)
        record_free(&records[i]);
    free(records);
    return status;
}

static rotary_status choose_all(struct arms *arms, const struct sweep_call *call, json_t *record,
                                rotary_error *error)
{
    char folder[FILE_PATH_BYTES];
    struct arms tried = {0};
    rotary_status status = file_path(folder, call->folder, "sweep", error);
    if (status == ROTARY_OK)
        status = list_tried(&tried, arms, call->sweep, error);
    if (status == ROTARY_OK && tried.count)
        status = train_tried(call, &tried, folder, error);
    const struct arm *next = tried.items;
    for (int i = 0; status == ROTARY_OK && i < arms->count; i++) {
        if (arms->items[i].chosen)
            continue;
        status = choose(&arms->items[i], call, next, folder, record, error);
        next += call->sweep->candidates.count;
    }
    arms_free(&tried);
    return status;
}

rotary_status sweep_choose(struct arms *arms, const struct sweep_call *call, json_t **record,
                           rotary_error *error)
{
    json_t *made = call->before ? json_deep_copy(call->before)
                                : json_pack("{s:o, s:o, s:[]}", "candidates", candidates_json(call->sweep),
                                            "seeds", seeds_json(call->sweep), "scores");
    rotary_status status = choose_all(arms, call, made, error);
    if (status == ROTARY_OK)
        *record = made;
    else
        json_decref(made);
    return status;
}
