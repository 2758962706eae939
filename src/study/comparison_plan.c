/* SPDX-License-Identifier: Apache-2.0 */
#include "study/comparison_plan.h"

#include "base/fail.h"
#include "file/file.h"
#include "study/comparison_file.h"
#include "train/folder.h"

#include <rotary/version.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The folder's compare.json; its object is NULL where there is none. */
struct planning {
    const struct comparison_plan_call *call;
    struct comparison_file file;
    char path[FILE_PATH_BYTES];
};

static rotary_status no_memory(rotary_error *error)
{
    return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "compare.json: no memory");
}

/* Whether the run's folder is there. */
static bool has_begun(const struct planning *planning, const char *arm, int64_t seed)
{
    char name[FILE_PATH_BYTES / 2], folder[FILE_PATH_BYTES], path[FILE_PATH_BYTES];
    snprintf(name, sizeof name, "%s-%lld", arm, (long long)seed);
    return file_path(folder, planning->call->folder, name, NULL) == ROTARY_OK &&
           file_path(path, folder, FOLDER_CONFIG, NULL) == ROTARY_OK && file_exists(path);
}

/* ---- seeds ---- */

static bool has_seed(const int64_t *seeds, int count, int64_t seed)
{
    for (int i = 0; i < count; i++)
        if (seeds[i] == seed)
            return true;
    return false;
}

static rotary_status merge_seeds(struct comparison_plan *plan, const struct planning *planning,
                                 rotary_error *error)
{
    const struct comparison_plan_call *call = planning->call;
    const struct comparison_file *file = &planning->file;
    plan->seeds = calloc((size_t)file->seed_count + (size_t)call->seed_count, sizeof *plan->seeds);
    if (!plan->seeds)
        return no_memory(error);
    bool keep = call->keep_seeds && file->object;
    for (int i = 0; i < file->seed_count; i++) {
        int64_t seed = file->seeds[i];
        bool wanted = keep || has_seed(call->seeds, call->seed_count, seed);
        for (int arm = 0; !wanted && arm < file->arm_count; arm++)
            wanted = has_begun(planning, file->arms[arm].name, seed);
        if (wanted)
            plan->seeds[plan->seed_count++] = seed;
    }
    for (int i = 0; !keep && i < call->seed_count; i++)
        if (!has_seed(plan->seeds, plan->seed_count, call->seeds[i]))
            plan->seeds[plan->seed_count++] = call->seeds[i];
    return ROTARY_OK;
}

/* ---- arms ---- */

static rotary_status check_keys(const struct planning *planning, rotary_error *error)
{
    const json_t *now = planning->call->arms->items[0].set, *before = planning->file.arms[0].set;
    bool same = json_object_size(now) == json_object_size(before);
    const char *key;
    json_t *value;
    json_object_foreach ((json_t *)(uintptr_t)now, key, value)
        same = same && json_object_get(before, key);
    return same ? ROTARY_OK
                : rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                              "%s compares values of %s: wanted the same keys, or another folder",
                              planning->path, planning->file.varied);
}

static const struct arm *find_set(const struct arms *arms, const json_t *set)
{
    for (int i = 0; i < arms->count; i++)
        if (json_equal(arms->items[i].set, set))
            return &arms->items[i];
    return NULL;
}

static rotary_status append_copy(struct arms *arms, const char *name, const json_t *set, const json_t *chosen,
                                 rotary_error *error)
{
    return arms_append(arms, name, json_deep_copy(set), chosen ? json_deep_copy(chosen) : NULL, error);
}

static rotary_status merge_arms(struct comparison_plan *plan, const struct planning *planning,
                                rotary_error *error)
{
    const struct comparison_plan_call *call = planning->call;
    const struct comparison_file *file = &planning->file;
    bool keep = call->keep_arms && file->object;
    rotary_status status = file->object && !keep ? check_keys(planning, error) : ROTARY_OK;
    for (int i = 0; status == ROTARY_OK && i < file->arm_count; i++) {
        const struct file_arm *arm = &file->arms[i];
        bool wanted = keep || find_set(call->arms, arm->set);
        for (int seed = 0; !wanted && seed < file->seed_count; seed++)
            wanted = has_begun(planning, arm->name, file->seeds[seed]);
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
static rotary_status check_arm(const struct planning *planning, int index, const struct run_config *config,
                               rotary_error *error)
{
    json_t *object = comparison_file_config(&planning->file, index);
    if (!object)
        return no_memory(error);
    struct run_config recorded;
    const char *path = planning->path;
    rotary_status status = run_config_from_json(&recorded, object, path, error);
    json_decref(object);
    if (status == ROTARY_OK)
        status = run_config_check(&recorded, error);
    recorded.train.seed = config->train.seed;
    if (status == ROTARY_OK)
        status = run_config_check_same(config, &recorded, path, error);
    if (status == ROTARY_OK)
        status = run_config_check_steps(config, &recorded, path, error);
    if (status == ROTARY_OK && config->train.steps < recorded.train.steps)
        return rotary_fail(
            error, ROTARY_INVALID_ARGUMENT,
            "%s compares runs of %lld steps, got %lld: wanted as many or more, or another folder", path,
            (long long)recorded.train.steps, (long long)config->train.steps);
    if (status == ROTARY_OK && config->train.evaluate_every != recorded.train.evaluate_every)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "evaluate_every is %lld in %s and %lld now: runs that are compared are evaluated "
                           "at the same steps",
                           (long long)recorded.train.evaluate_every, path,
                           (long long)config->train.evaluate_every);
    return status;
}

static rotary_status check_arms(const struct comparison_plan *plan, const struct planning *planning,
                                rotary_error *error)
{
    rotary_status status = ROTARY_OK;
    for (int i = 0; status == ROTARY_OK && i < planning->file.arm_count; i++) {
        int found = arms_find(&plan->arms, planning->file.arms[i].name);
        if (found >= 0)
            status = check_arm(planning, i, &plan->configs[found], error);
    }
    return status;
}

/* ---- compare.json ---- */

static json_t *seeds_json(const int64_t *seeds, int count)
{
    json_t *list = json_array();
    for (int i = 0; i < count; i++)
        json_array_append_new(list, json_integer(seeds[i]));
    return list;
}

/* Moves what all arms have in common from their configurations to *common. */
static void split_common(json_t *const *configs, int count, json_t *common)
{
    const char *key;
    json_t *value;
    json_object_foreach (configs[0], key, value) {
        bool same = true;
        for (int i = 1; i < count; i++)
            same = same && json_equal(value, json_object_get(configs[i], key));
        if (same)
            json_object_set(common, key, value);
    }
    json_object_foreach (common, key, value)
        for (int i = 0; i < count; i++)
            json_object_del(configs[i], key);
}

/* What an arm has of its own: `own` are the keys that are not common to all. */
static json_t *arm_json(const struct arm *arm, json_t *own)
{
    json_t *object = json_pack("{s:s, s:O}", "name", arm->name, "set", arm->set);
    if (arm->chosen)
        json_object_set(object, "chosen", arm->chosen);
    if (json_object_size(own))
        json_object_set(object, "derived", own);
    return object;
}

static void delete_keys(json_t *object, const json_t *keys)
{
    const char *key;
    json_t *value;
    json_object_foreach ((json_t *)(uintptr_t)keys, key, value)
        json_object_del(object, key);
}

/* Sets "arms", "varied" and "config". */
static rotary_status describe_arms(const struct comparison_plan *plan, json_t *object, rotary_error *error)
{
    json_t *configs[MAX_ARMS] = {NULL}, *arms = json_array(), *common = json_object(), *varied = json_array();
    rotary_status status = ROTARY_OK;
    int count = plan->arms.count;
    for (int i = 0; status == ROTARY_OK && i < count; i++) {
        const struct arm *arm = &plan->arms.items[i];
        status = run_config_to_json(&plan->configs[i], &configs[i], error);
        if (status != ROTARY_OK)
            break;
        json_object_del(configs[i], "seed");
        delete_keys(configs[i], arm->set);
        if (arm->chosen)
            delete_keys(configs[i], arm->chosen);
    }
    if (status == ROTARY_OK) {
        split_common(configs, count, common);
        for (int i = 0; i < count; i++)
            json_array_append_new(arms, arm_json(&plan->arms.items[i], configs[i]));
        const char *key;
        json_t *value;
        json_object_foreach (plan->arms.items[0].set, key, value)
            json_array_append_new(varied, json_string(key));
    }
    json_object_set_new(object, "varied", varied);
    json_object_set_new(object, "arms", arms);
    json_object_set_new(object, "seeds", seeds_json(plan->seeds, plan->seed_count));
    json_object_set_new(object, "config", common);
    for (int i = 0; i < count; i++)
        json_decref(configs[i]);
    return status;
}

/* What the plan has and the folder does not: {"arms", "seeds", "steps"}. */
static json_t *added_json(const struct comparison_plan *plan, const struct comparison_file *file)
{
    json_t *added = json_object(), *arms = json_array(), *seeds = json_array();
    for (int i = 0; i < plan->arms.count; i++) {
        bool old = false;
        for (int j = 0; j < file->arm_count; j++)
            old = old || strcmp(file->arms[j].name, plan->arms.items[i].name) == 0;
        if (!old)
            json_array_append_new(arms, json_string(plan->arms.items[i].name));
    }
    for (int i = 0; i < plan->seed_count; i++)
        if (!has_seed(file->seeds, file->seed_count, plan->seeds[i]))
            json_array_append_new(seeds, json_integer(plan->seeds[i]));
    if (json_array_size(arms))
        json_object_set(added, "arms", arms);
    if (json_array_size(seeds))
        json_object_set(added, "seeds", seeds);
    if (plan->configs[0].train.steps != file->steps)
        json_object_set_new(added, "steps", json_integer(plan->configs[0].train.steps));
    json_decref(arms);
    json_decref(seeds);
    return added;
}

static rotary_status describe(struct comparison_plan *plan, const struct planning *planning,
                              rotary_error *error)
{
    const struct comparison_file *file = &planning->file;
    json_t *added = added_json(plan, file);
    bool adds = json_object_size(added) > 0;
    plan->changed = adds || plan->seed_count != file->seed_count || plan->arms.count != file->arm_count;
    plan->object = file->object ? json_copy(file->object) : json_pack("{s:i}", "format", (int)COMPARE_FORMAT);
    json_t *command = json_pack("{s:s, s:s, s:O}", "command", planning->call->command, "version",
                                rotary_version(), "added", added);
    json_decref(added);
    const json_t *before = json_object_get(file->object, "commands");
    json_t *commands = before ? json_copy((json_t *)(uintptr_t)before) : json_array();
    if (!plan->object || !command || !commands) {
        json_decref(command);
        json_decref(commands);
        return rotary_fail(error, ROTARY_OUT_OF_MEMORY,
                           "compare.json: no memory, or a command line that is not UTF-8");
    }
    rotary_status status = plan->changed ? describe_arms(plan, plan->object, error) : ROTARY_OK;
    if (adds)
        json_array_append(commands, command);
    json_decref(command);
    json_object_set_new(plan->object, "commands", commands);
    return status;
}

static rotary_status fill(struct comparison_plan *plan, struct planning *planning, rotary_error *error)
{
    const struct comparison_plan_call *call = planning->call;
    rotary_status status = file_path(planning->path, call->folder, "compare.json", error);
    if (status == ROTARY_OK && file_exists(planning->path))
        status = comparison_file_read(&planning->file, call->folder, error);
    if (status == ROTARY_OK)
        status = merge_arms(plan, planning, error);
    if (status == ROTARY_OK)
        status = merge_seeds(plan, planning, error);
    int64_t largest = 0;
    for (int i = 0; i < plan->seed_count; i++)
        largest = plan->seeds[i] > largest ? plan->seeds[i] : largest;
    if (status == ROTARY_OK) /* every arm, with the largest seed, is checked before any is trained */
        status = arms_configs(&plan->arms, call->config, largest, &plan->configs, error);
    if (status == ROTARY_OK)
        status = check_arms(plan, planning, error);
    if (status == ROTARY_OK)
        status = describe(plan, planning, error);
    return status;
}

rotary_status comparison_plan_create(struct comparison_plan *plan, const struct comparison_plan_call *call,
                                     rotary_error *error)
{
    *plan = (struct comparison_plan){0};
    struct planning planning = {.call = call};
    rotary_status status = fill(plan, &planning, error);
    comparison_file_free(&planning.file);
    if (status != ROTARY_OK)
        comparison_plan_free(plan);
    return status;
}

void comparison_plan_free(struct comparison_plan *plan)
{
    arms_free(&plan->arms);
    free(plan->configs);
    free(plan->seeds);
    json_decref(plan->object);
    *plan = (struct comparison_plan){0};
}
