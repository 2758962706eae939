/* SPDX-License-Identifier: Apache-2.0 */
#include "study/comparison_plan.h"

#include "base/fail.h"
#include "base/integer.h"
#include "records/comparison/comparison.h"
#include "records/comparison/comparison_description.h"
#include "run_folder/folder.h"
#include "run_folder/run_archive.h"
#include "statistics/sequential.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whether the run's first step may have been taken. One that comparison_list() made ready lacks metrics. */
static bool has_begun(const struct comparison_plan *plan, const char *arm, int64_t seed)
{
    char name[RUN_NAME_BYTES], folder[FILE_PATH_BYTES];
    return file_path(folder, plan->call->folder, run_name(name, arm, seed), NULL) == ROTARY_OK &&
           file_exists_in(folder, FOLDER_METRICS);
}

/* ---- seeds ---- */

static bool has_seed(const int64_t *seeds, int count, int64_t seed)
{
    for (int i = 0; i < count; i++)
        if (seeds[i] == seed)
            return true;
    return false;
}

/* The folder's seeds, but for those that nobody has begun and the call does not have. */
static void keep_seeds(struct comparison_plan *plan, bool all)
{
    const struct comparison_plan_call *call = plan->call;
    const struct comparison_file *file = &plan->file;
    for (int i = 0; i < file->seed_count; i++) {
        int64_t seed = file->seeds[i];
        bool wanted = all || has_seed(call->seeds, call->seed_count, seed);
        for (int arm = 0; !wanted && arm < file->arm_count; arm++)
            wanted = has_begun(plan, file->arms[arm].name, seed);
        if (wanted)
            plan->seeds[plan->seed_count++] = seed;
    }
}

/* The rule of a comparison that goes on until a verdict is that with which it began. */
static rotary_status read_until(struct comparison_plan *plan, rotary_error *error)
{
    const struct comparison_plan_call *call = plan->call;
    const json_t *until = json_object_get(plan->file.object, "until");
    if (!until && call->until && plan->file.object)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "%s was begun with fixed seeds: wanted no --until, or another folder by --out",
                           plan->path);
    if (until && (call->until || call->keep_seeds)) {
        plan->max_seeds = (int)json_integer_value(json_object_get(until, "max_seeds"));
        plan->first_seed = json_integer_value(json_object_get(until, "first_seed"));
        bool all_pairs = json_is_true(json_object_get(until, "all_pairs"));
        if (plan->arms.count != plan->file.arm_count || all_pairs != call->all_pairs ||
            (call->until && (plan->max_seeds != call->seed_count || plan->first_seed != call->seeds[0])))
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                               "%s goes on until at most %d seeds from %lld on%s: wanted the same arms and "
                               "rule, or another folder by --out",
                               plan->path, plan->max_seeds, (long long)plan->first_seed,
                               all_pairs ? ", with all pairs" : "");
    } else if (call->until) {
        plan->max_seeds = call->seed_count;
        plan->first_seed = call->seeds[0];
    }
    return ROTARY_OK;
}

/* The seeds before which there can be no verdict. */
static rotary_status begin_until(struct comparison_plan *plan, rotary_error *error)
{
    int arms = plan->arms.count, contrasts = plan->call->all_pairs ? arms * (arms - 1) / 2 : arms - 1,
        seeds = 0;
    if (contrasts)
        seeds = sequential_first_look(plan->max_seeds, comparison_alpha / contrasts);
    if (seeds == 0)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           contrasts ? "%d seeds cannot give a verdict on %d arms at any time: wanted more"
                                     : "%d seeds and %d arm give no verdict: wanted two arms or more",
                           plan->max_seeds, arms);
    while (plan->seed_count < seeds) {
        plan->seeds[plan->seed_count] = plan->first_seed + plan->seed_count;
        plan->seed_count++;
    }
    return ROTARY_OK;
}

static rotary_status merge_seeds(struct comparison_plan *plan, rotary_error *error)
{
    const struct comparison_plan_call *call = plan->call;
    rotary_status status = read_until(plan, error);
    if (status != ROTARY_OK)
        return status;
    size_t room = (size_t)plan->file.seed_count + (size_t)call->seed_count + (size_t)plan->max_seeds;
    plan->seeds = calloc(room, sizeof *plan->seeds);
    if (!plan->seeds)
        return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "compare.json: no memory");
    bool until = plan->max_seeds > 0, keep = until || (call->keep_seeds && plan->file.object);
    keep_seeds(plan, keep);
    for (int i = 0; !keep && i < call->seed_count; i++)
        if (!has_seed(plan->seeds, plan->seed_count, call->seeds[i]))
            plan->seeds[plan->seed_count++] = call->seeds[i];
    return until && !plan->file.object ? begin_until(plan, error) : ROTARY_OK;
}

/* ---- arms ---- */

static rotary_status check_keys(const struct comparison_plan *plan, rotary_error *error)
{
    const json_t *now = plan->call->arms->items[0].set, *before = plan->file.arms[0].set;
    bool same = json_object_size(now) == json_object_size(before);
    const char *key;
    json_t *value;
    json_object_foreach ((json_t *)(uintptr_t)now, key, value)
        same = same && json_object_get(before, key);
    return same ? ROTARY_OK
                : rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                              "%s compares values of %s: wanted the same keys, or another folder by --out",
                              plan->path, plan->file.varied);
}

static const struct arm *find_set(const struct arms *arms, const json_t *set)
{
    for (int i = 0; i < arms->count; i++)
        if (json_equal(arms->items[i].set, set))
            return &arms->items[i];
    return NULL;
}

/* Refuses arms among which that of the folder with which all are compared is not the first. */
static rotary_status check_baseline(const struct comparison_plan *plan, rotary_error *error)
{
    const struct file_arm *baseline = &plan->file.arms[0];
    const struct arm *found = find_set(plan->call->arms, baseline->set);
    if (!found || found == &plan->call->arms->items[0])
        return ROTARY_OK;
    return rotary_fail(
        error, ROTARY_INVALID_ARGUMENT,
        "%s compares every arm with %s, and %s is named first: wanted %s first, or another folder by "
        "--out",
        plan->path, baseline->name, plan->call->arms->items[0].name, baseline->name);
}

static rotary_status append_copy(struct arms *arms, const char *name, const json_t *set, const json_t *chosen,
                                 rotary_error *error)
{
    return arms_append(arms, name, json_deep_copy(set), chosen ? json_deep_copy(chosen) : NULL, error);
}

static rotary_status merge_arms(struct comparison_plan *plan, rotary_error *error)
{
    const struct comparison_plan_call *call = plan->call;
    const struct comparison_file *file = &plan->file;
    bool keep = call->keep_arms && file->object;
    if (!keep && !call->arms->items[0].name[0])
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "there is nothing to compare: wanted arms that set a key");
    rotary_status status = file->object && !keep ? check_keys(plan, error) : ROTARY_OK;
    if (status == ROTARY_OK && file->object && !keep)
        status = check_baseline(plan, error);
    plan->arms.given = call->arms->given;
    for (int i = 0; status == ROTARY_OK && i < file->arm_count; i++) {
        const struct file_arm *arm = &file->arms[i];
        bool wanted = keep || find_set(call->arms, arm->set);
        for (int seed = 0; !wanted && seed < file->seed_count; seed++)
            wanted = has_begun(plan, arm->name, file->seeds[seed]);
        if (wanted)
            status = append_copy(&plan->arms, arm->name, arm->set, arm->chosen, error);
    }
    for (int i = 0; !keep && status == ROTARY_OK && i < call->arms->count; i++)
        if (!find_set(&plan->arms, call->arms->items[i].set))
            status =
                append_copy(&plan->arms, call->arms->items[i].name, call->arms->items[i].set, NULL, error);
    return status;
}

/* ---- what the folder has ---- */

/* Checks that an arm's configuration is the one that its runs have. */
static rotary_status check_arm(const struct comparison_plan *plan, int index, const struct run_config *config,
                               rotary_error *error)
{
    json_t *object = comparison_file_config(&plan->file, index);
    struct run_config recorded RUN_CONFIG_LOCAL = {0};
    const char *path = plan->path;
    rotary_status status = run_config_from_json(&recorded, object, path, error);
    json_decref(object);
    if (status == ROTARY_OK)
        status = run_config_check_recorded(&recorded, NULL, error);
    recorded.train.seed = config->train.seed;
    if (status == ROTARY_OK)
        status = run_config_check_same(config, &recorded, path, error);
    if (status == ROTARY_OK)
        status = run_config_check_steps(config, &recorded, path, error);
    if (status == ROTARY_OK && config->train.steps < recorded.train.steps)
        return rotary_fail(
            error, ROTARY_INVALID_ARGUMENT,
            "%s compares runs of %lld steps, got %lld: wanted as many or more, or another folder by --out",
            path, (long long)recorded.train.steps, (long long)config->train.steps);
    if (status == ROTARY_OK && config->train.evaluate_every != recorded.train.evaluate_every)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "evaluate_every is %lld in %s and %lld now: runs that are compared are evaluated "
                           "at the same steps",
                           (long long)recorded.train.evaluate_every, path,
                           (long long)config->train.evaluate_every);
    return status;
}

static rotary_status check_arms(const struct comparison_plan *plan, rotary_error *error)
{
    rotary_status status = ROTARY_OK;
    for (int i = 0; status == ROTARY_OK && i < plan->file.arm_count; i++) {
        int found = arms_find(&plan->arms, plan->file.arms[i].name);
        if (found >= 0)
            status = check_arm(plan, i, &plan->configs[found], error);
    }
    return status;
}

/* ---- the sweep ---- */

/* What the folder chose by a sweep stays. */
static rotary_status check_sweep(const struct comparison_plan *plan, rotary_error *error)
{
    const struct sweep *sweep = plan->call->sweep;
    const json_t *before = json_object_get(plan->file.object, "sweep");
    if (sweep && plan->file.object && !before)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "%s was begun without a sweep: wanted no --sweep, or another folder by --out",
                           plan->path);
    for (int i = 0; i < plan->arms.count && before && !sweep; i++)
        if (!plan->arms.items[i].chosen)
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                               "%s chose values by a sweep, and %s has none yet: wanted the same --sweep",
                               plan->path, plan->arms.items[i].name);
    for (int i = 0; i < plan->seed_count && (before || sweep); i++)
        if (plan->seeds[i] >= SWEEP_SEED || plan->first_seed + plan->max_seeds > SWEEP_SEED)
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                               "seeds from %d on are those of the sweep: wanted smaller ones", SWEEP_SEED);
    rotary_status status = sweep ? sweep_check(sweep, before, plan->path, error) : ROTARY_OK;
    if (status == ROTARY_OK && sweep)
        status = sweep_check_arms(sweep, &plan->arms, plan->call->config, error);
    return status;
}

/* ---- the plan ---- */

static rotary_status merge(struct comparison_plan *plan, rotary_error *error)
{
    rotary_status status = run_archive_refuse(plan->call->folder, error);
    if (status == ROTARY_OK)
        status = file_output_path(plan->path, plan->call->folder, "compare.json", error);
    bool found = false;
    if (status == ROTARY_OK)
        status = file_find(plan->path, &found, error);
    if (found)
        status = comparison_file_read(&plan->file, plan->call->folder, error);
    if (status == ROTARY_OK)
        status = merge_arms(plan, error);
    if (status == ROTARY_OK)
        status = merge_seeds(plan, error);
    return status == ROTARY_OK ? check_sweep(plan, error) : status;
}

rotary_status comparison_plan_create(struct comparison_plan *plan, const struct comparison_plan_call *call,
                                     rotary_error *error)
{
    *plan = (struct comparison_plan){.call = call};
    rotary_status status = merge(plan, error);
    if (status != ROTARY_OK)
        comparison_plan_free(plan);
    return status;
}

rotary_status comparison_plan_settle(struct comparison_plan *plan, rotary_error *error)
{
    int64_t largest = plan->max_seeds ? plan->first_seed + plan->max_seeds - 1 : 0;
    for (int i = 0; i < plan->seed_count; i++)
        largest = plan->seeds[i] > largest ? plan->seeds[i] : largest;
    /* Every arm, with the largest seed, is checked before any is trained. */
    rotary_status status = arms_configs(&plan->arms, plan->call->config, largest, &plan->configs, error);
    if (status == ROTARY_OK)
        status = check_arms(plan, error);
    return status;
}

/* ---- compare.json ---- */

rotary_status comparison_plan_describe(struct comparison_plan *plan, const json_t *sweep, rotary_error *error)
{
    struct described_arm arms[MAX_ARMS] = {{NULL}};
    json_t *configs[MAX_ARMS] = {NULL};
    const int count = plan->arms.count;
    rotary_status status = ROTARY_OK;
    for (int i = 0; status == ROTARY_OK && i < count; i++) {
        const struct arm *arm = &plan->arms.items[i];
        status = run_config_to_json(&plan->configs[i], &configs[i], error);
        arms[i] = (struct described_arm){arm->name, arm->set, arm->chosen, configs[i]};
    }
    const struct comparison_description description = {.before = &plan->file,
                                                       .arms = arms,
                                                       .arm_count = count,
                                                       .seeds = plan->seeds,
                                                       .seed_count = plan->seed_count,
                                                       .command = plan->call->command,
                                                       .max_seeds = plan->max_seeds,
                                                       .first_seed = plan->first_seed,
                                                       .all_pairs = plan->call->all_pairs,
                                                       .sweep = sweep};
    if (status == ROTARY_OK)
        status = description_create(&description, &plan->object, &plan->changed, error);
    for (int i = 0; i < count; i++)
        json_decref(configs[i]);
    return status;
}

void comparison_plan_add_seed(struct comparison_plan *plan)
{
    int64_t seed = plan->first_seed;
    while (has_seed(plan->seeds, plan->seed_count, seed))
        seed++;
    plan->seeds[plan->seed_count++] = seed;
    plan->changed = true;
    description_add_seed(plan->object, seed);
}

void comparison_plan_add_look(struct comparison_plan *plan, const int64_t *seeds, int count)
{
    const char *names[MAX_ARMS] = {NULL};
    struct description_look look = {
        .arms = names, .arm_count = plan->arms.count, .seeds = seeds, .seed_count = count};
    for (int i = 0; i < plan->arms.count; i++) {
        names[i] = plan->arms.items[i].name;
        /* Arms may have steps of their own, which follow from epochs. */
        look.steps = max_i64(look.steps, plan->configs[i].train.steps);
    }
    description_add_look(plan->object, &look, &plan->changed);
}

void comparison_plan_free(struct comparison_plan *plan)
{
    comparison_file_free(&plan->file);
    arms_configs_free(plan->configs, plan->arms.count);
    arms_free(&plan->arms);
    free(plan->seeds);
    json_decref(plan->object);
    *plan = (struct comparison_plan){0};
}
