/* SPDX-License-Identifier: Apache-2.0 */
#include "study/comparison_description.h"

#include "base/fail.h"
#include "base/integer.h"
#include "records/comparison/comparison.h"

#include <rotary/version.h>
#include <string.h>

static rotary_status no_memory(rotary_error *error)
{
    return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "compare.json: no memory");
}

/* ---- arms ---- */

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

/* ---- commands ---- */

static bool had_seed(const struct comparison_file *file, int64_t seed)
{
    for (int i = 0; i < file->seed_count; i++)
        if (file->seeds[i] == seed)
            return true;
    return false;
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
        if (!had_seed(file, plan->seeds[i]))
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

static rotary_status add_command(struct comparison_plan *plan, const json_t *added, rotary_error *error)
{
    json_t *command = json_pack("{s:s, s:s, s:O}", "command", plan->call->command, "version",
                                rotary_version(), "added", added);
    const json_t *before = json_object_get(plan->file.object, "commands");
    json_t *commands = before ? json_copy((json_t *)(uintptr_t)before) : json_array();
    if (!command || !commands) {
        json_decref(command);
        json_decref(commands);
        return rotary_fail(error, ROTARY_OUT_OF_MEMORY,
                           "compare.json: no memory, or a command line that is not UTF-8");
    }
    json_array_append_new(commands, command);
    json_object_set_new(plan->object, "commands", commands);
    return ROTARY_OK;
}

/* ---- the whole ---- */

static void add_rules(struct comparison_plan *plan, const json_t *sweep)
{
    if (plan->max_seeds && !json_object_get(plan->object, "until"))
        json_object_set_new(plan->object, "until",
                            json_pack("{s:i, s:I, s:f, s:b}", "max_seeds", plan->max_seeds, "first_seed",
                                      (json_int_t)plan->first_seed, "alpha", comparison_alpha, "all_pairs",
                                      (int)plan->call->all_pairs));
    if (sweep)
        json_object_set(plan->object, "sweep", (json_t *)(uintptr_t)sweep);
}

rotary_status description_create(struct comparison_plan *plan, const json_t *sweep, rotary_error *error)
{
    const struct comparison_file *file = &plan->file;
    plan->object = file->object ? json_copy(file->object) : json_pack("{s:i}", "format", (int)COMPARE_FORMAT);
    json_t *added = added_json(plan, file);
    if (!plan->object || !added) {
        json_decref(added);
        return no_memory(error);
    }
    bool adds = json_object_size(added) > 0;
    plan->changed = adds || plan->seed_count != file->seed_count || plan->arms.count != file->arm_count;
    rotary_status status = ROTARY_OK;
    if (plan->changed) {
        status = describe_arms(plan, plan->object, error);
        add_rules(plan, sweep);
    }
    if (status == ROTARY_OK && adds)
        status = add_command(plan, added, error);
    json_decref(added);
    return status;
}

rotary_status description_add_seed(struct comparison_plan *plan, rotary_error *error)
{
    int64_t seed = plan->seeds[plan->seed_count - 1];
    json_t *seeds = json_copy(json_object_get(plan->object, "seeds"));
    if (!seeds || json_array_append_new(seeds, json_integer(seed)) != 0 ||
        json_object_set_new(plan->object, "seeds", seeds) != 0)
        return no_memory(error);
    plan->changed = true;
    return ROTARY_OK;
}

/* Arms may have steps of their own, which follow from epochs. */
static int64_t max_steps(const struct comparison_plan *plan)
{
    int64_t max = 0;
    for (int i = 0; i < plan->arms.count; i++)
        max = max_i64(max, plan->configs[i].train.steps);
    return max;
}

rotary_status description_add_look(struct comparison_plan *plan, const int64_t *seeds, int count,
                                   rotary_error *error)
{
    json_t *names = json_array(), *looks = json_object_get(plan->object, "looks");
    for (int i = 0; i < plan->arms.count; i++)
        json_array_append_new(names, json_string(plan->arms.items[i].name));
    json_t *look = json_pack("{s:o, s:o, s:I}", "arms", names, "seeds", seeds_json(seeds, count), "steps",
                             (json_int_t)max_steps(plan));
    looks = looks ? json_copy(looks) : json_array();
    if (!look || !looks) {
        json_decref(look);
        json_decref(looks);
        return no_memory(error);
    }
    size_t before = json_array_size(looks);
    plan->changed = count > 0 && (before == 0 || !json_equal(json_array_get(looks, before - 1), look));
    if (plan->changed)
        json_array_append(looks, look);
    json_decref(look);
    json_object_set_new(plan->object, "looks", looks);
    return ROTARY_OK;
}
