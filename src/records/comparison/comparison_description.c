/* SPDX-License-Identifier: Apache-2.0 */
#include "records/comparison/comparison_description.h"

#include "base/fail.h"
#include "records/comparison/comparison.h"

#include <rotary/version.h>
#include <stdlib.h>
#include <string.h>

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
static json_t *arm_json(const struct described_arm *arm, json_t *own)
{
    json_t *object = json_pack("{s:s, s:O}", "name", arm->name, "set", arm->set);
    if (arm->chosen)
        json_object_set(object, "chosen", (json_t *)(uintptr_t)arm->chosen);
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

/* Sets "arms", "varied", "seeds" and "config". */
static rotary_status describe_arms(const struct comparison_description *description, json_t *object,
                                   rotary_error *error)
{
    const int count = description->arm_count;
    json_t **configs = calloc((size_t)count, sizeof *configs), *arms = json_array(), *common = json_object(),
           *varied = json_array();
    if (!configs)
        return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "compare.json: no memory");
    for (int i = 0; i < count; i++) {
        const struct described_arm *arm = &description->arms[i];
        configs[i] = json_copy((json_t *)(uintptr_t)arm->config);
        json_object_del(configs[i], "seed");
        delete_keys(configs[i], arm->set);
        delete_keys(configs[i], arm->chosen);
    }
    split_common(configs, count, common);
    for (int i = 0; i < count; i++)
        json_array_append_new(arms, arm_json(&description->arms[i], configs[i]));
    const char *key;
    json_t *value;
    json_object_foreach ((json_t *)(uintptr_t)description->arms[0].set, key, value)
        json_array_append_new(varied, json_string(key));
    json_object_set_new(object, "varied", varied);
    json_object_set_new(object, "arms", arms);
    json_object_set_new(object, "seeds", seeds_json(description->seeds, description->seed_count));
    json_object_set_new(object, "config", common);
    for (int i = 0; i < count; i++)
        json_decref(configs[i]);
    free(configs);
    return ROTARY_OK;
}

/* ---- commands ---- */

static bool had_seed(const struct comparison_file *file, int64_t seed)
{
    for (int i = 0; i < file->seed_count; i++)
        if (file->seeds[i] == seed)
            return true;
    return false;
}

/* What is planned and the folder does not: {"arms", "seeds", "steps"}. */
static json_t *added_json(const struct comparison_description *description)
{
    const struct comparison_file *file = description->before;
    const json_t *steps = json_object_get(description->arms[0].config, "steps");
    json_t *added = json_object(), *arms = json_array(), *seeds = json_array();
    for (int i = 0; i < description->arm_count; i++) {
        bool old = false;
        for (int j = 0; j < file->arm_count; j++)
            old = old || strcmp(file->arms[j].name, description->arms[i].name) == 0;
        if (!old)
            json_array_append_new(arms, json_string(description->arms[i].name));
    }
    for (int i = 0; i < description->seed_count; i++)
        if (!had_seed(file, description->seeds[i]))
            json_array_append_new(seeds, json_integer(description->seeds[i]));
    if (json_array_size(arms))
        json_object_set(added, "arms", arms);
    if (json_array_size(seeds))
        json_object_set(added, "seeds", seeds);
    if (json_integer_value(steps) != file->steps)
        json_object_set(added, "steps", (json_t *)(uintptr_t)steps);
    json_decref(arms);
    json_decref(seeds);
    return added;
}

static rotary_status add_command(const struct comparison_description *description, json_t *object,
                                 json_t *added, rotary_error *error)
{
    json_t *command = json_pack("{s:s, s:s, s:O}", "command", description->command, "version",
                                rotary_version(), "added", added);
    json_t *before = json_object_get(object, "commands");
    json_t *commands = before ? json_copy(before) : json_array();
    if (!command) {
        json_decref(commands);
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "compare.json has no place for a command line that is not UTF-8");
    }
    json_array_append_new(commands, command);
    json_object_set_new(object, "commands", commands);
    return ROTARY_OK;
}

/* ---- the whole ---- */

static void add_rules(const struct comparison_description *description, json_t *object)
{
    if (description->max_seeds && !json_object_get(object, "until"))
        json_object_set_new(object, "until",
                            json_pack("{s:i, s:I, s:f, s:b}", "max_seeds", description->max_seeds,
                                      "first_seed", (json_int_t)description->first_seed, "alpha",
                                      comparison_alpha, "all_pairs", (int)description->all_pairs));
    if (description->sweep)
        json_object_set(object, "sweep", (json_t *)(uintptr_t)description->sweep);
}

rotary_status description_create(const struct comparison_description *description, json_t **object,
                                 bool *changed, rotary_error *error)
{
    const struct comparison_file *before = description->before;
    *object = before->object ? json_copy(before->object) : json_pack("{s:i}", "format", (int)COMPARE_FORMAT);
    json_t *added = added_json(description);
    const bool adds = json_object_size(added) > 0;
    *changed =
        adds || description->seed_count != before->seed_count || description->arm_count != before->arm_count;
    rotary_status status = ROTARY_OK;
    if (*changed) {
        status = describe_arms(description, *object, error);
        add_rules(description, *object);
    }
    if (status == ROTARY_OK && adds)
        status = add_command(description, *object, added, error);
    json_decref(added);
    return status;
}

void description_add_seed(json_t *object, int64_t seed)
{
    json_t *seeds = json_copy(json_object_get(object, "seeds"));
    json_array_append_new(seeds, json_integer(seed));
    json_object_set_new(object, "seeds", seeds);
}

void description_add_look(json_t *object, const struct description_look *look, bool *changed)
{
    json_t *names = json_array(), *looks = json_object_get(object, "looks");
    for (int i = 0; i < look->arm_count; i++)
        json_array_append_new(names, json_string(look->arms[i]));
    json_t *added = json_pack("{s:o, s:o, s:I}", "arms", names, "seeds",
                              seeds_json(look->seeds, look->seed_count), "steps", (json_int_t)look->steps);
    looks = looks ? json_copy(looks) : json_array();
    size_t before = json_array_size(looks);
    *changed = look->seed_count > 0 && (before == 0 || !json_equal(json_array_get(looks, before - 1), added));
    if (*changed)
        json_array_append(looks, added);
    json_decref(added);
    json_object_set_new(object, "looks", looks);
}
