/* SPDX-License-Identifier: Apache-2.0 */
#include "study/arms.h"

#include "base/fail.h"
#include "train/weights/initial_weights.h"

#include <stdlib.h>
#include <string.h>

/* Keys whose values cannot be compared by training with each. */
static const struct fixed_key {
    const char *key, *reason;
} fixed_keys[] = {
    {"task", "each task has measures of its own"},
    {"seed", "every arm has the same seeds; wanted --seeds or --runs"},
    {"steps", "all runs have the same steps; wanted --steps"},
    {"precision", "all runs compute on one backend; wanted --precision"},
    {"log_every", "it changes no result"},
    {"checkpoint_every", "it changes no result"},
    {"evaluate_every", "it changes what is measured, not what is trained"},
    {"validation_sequences", "it changes what is measured, not what is trained"},
    {"problems", "it changes what is measured, not what is trained; wanted --problems"},
    {"primary_measure", "it decides the comparison"},
};

void arms_free(struct arms *arms)
{
    for (int i = 0; i < arms->count; i++) {
        json_decref(arms->items[i].set);
        json_decref(arms->items[i].chosen);
    }
    free(arms->items);
    *arms = (struct arms){0};
}

int arms_find(const struct arms *arms, const char *name)
{
    for (int i = 0; i < arms->count; i++)
        if (strcmp(arms->items[i].name, name) == 0)
            return i;
    return -1;
}

rotary_status arms_append(struct arms *arms, const char *name, json_t *set, json_t *chosen,
                          rotary_error *error)
{
    rotary_status status = ROTARY_OK;
    if (!set || (!arms->items && !(arms->items = calloc(MAX_ARMS, sizeof *arms->items))))
        status = rotary_fail_memory(error, "for the arms of a comparison");
    else if (arms->count == MAX_ARMS)
        status = rotary_fail(error, ROTARY_INVALID_ARGUMENT, "more than %d arms, wanted fewer values",
                             (int)MAX_ARMS);
    else if (strlen(name) >= ARM_NAME_BYTES)
        status = rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                             "the arm %.60s... has a name of %zu bytes, wanted at most %d", name,
                             strlen(name), ARM_NAME_BYTES - 1);
    else if (arms_find(arms, name) >= 0)
        status = rotary_fail(
            error, ROTARY_INVALID_ARGUMENT,
            "two arms have the name %s: wanted each value once, and folders with different last parts", name);
    if (status != ROTARY_OK) {
        json_decref(set);
        json_decref(chosen);
        return status;
    }
    struct arm *arm = &arms->items[arms->count++];
    *arm = (struct arm){.set = set, .chosen = chosen};
    memcpy(arm->name, name, strlen(name) + 1);
    return ROTARY_OK;
}

rotary_status arms_create(struct arms *arms, rotary_error *error)
{
    *arms = (struct arms){0};
    return arms_append(arms, "", json_object(), NULL, error);
}

/* ---- the values of a key ---- */

/* The bytes up to the next comma that is in no bracket, brace or quote. */
static size_t value_length(const char *text)
{
    int depth = 0;
    bool quoted = false;
    size_t length = 0;
    for (; text[length]; length++) {
        char letter = text[length];
        if (quoted && letter == '\\' && text[length + 1])
            length++;
        else if (letter == '"')
            quoted = !quoted;
        else if (!quoted && (letter == '[' || letter == '{'))
            depth++;
        else if (!quoted && (letter == ']' || letter == '}'))
            depth--;
        else if (!quoted && letter == ',' && depth <= 0)
            break;
    }
    return length;
}

static const struct setting *setting_of(const char *key)
{
    struct run_config config;
    struct settings settings[RUN_SETTINGS];
    void *member;
    run_config_default(&config);
    run_settings(&config, settings);
    return settings_find(settings, RUN_SETTINGS, key, strlen(key), &member);
}

/* The value as the configuration writes it, so that 1 and 1.0 are one value. */
static rotary_status read_value(const struct arm_axis *axis, const char *text, json_t **value,
                                rotary_error *error)
{
    struct run_config config RUN_CONFIG_LOCAL = {0};
    run_config_default(&config);
    struct settings settings[RUN_SETTINGS];
    run_settings(&config, settings);
    json_t *object = NULL;
    rotary_status status = settings_set(settings, RUN_SETTINGS, axis->option, axis->key, text, error);
    if (status == ROTARY_OK)
        status = run_config_to_json(&config, &object, error);
    if (status != ROTARY_OK)
        return status;
    *value = json_incref(json_object_get(object, axis->key));
    json_decref(object);
    return ROTARY_OK;
}

static bool has_value(const json_t *values, const json_t *value)
{
    for (size_t i = 0; i < json_array_size(values); i++)
        if (json_equal(json_array_get(values, i), value))
            return true;
    return false;
}

/* Adds a value; one that is there already is refused or, if `known` is allowed, left. */
static rotary_status add_value(const struct arm_axis *axis, const char *text, bool known, json_t *values,
                               rotary_error *error)
{
    json_t *value = NULL;
    rotary_status status = read_value(axis, text, &value, error);
    if (status != ROTARY_OK)
        return status;
    if (!has_value(values, value)) {
        json_array_append_new(values, value);
        return ROTARY_OK;
    }
    json_decref(value);
    return known ? ROTARY_OK
                 : rotary_fail(error, ROTARY_INVALID_ARGUMENT, "%s names %.80s twice", axis->option, text);
}

static rotary_status add_values(const struct arm_axis *axis, const char *text, json_t *values,
                                rotary_error *error)
{
    const struct setting *setting = setting_of(axis->key);
    rotary_status status = ROTARY_OK;
    if (!setting || setting->type != SETTING_CHOICE || strcmp(text, "all") != 0)
        return add_value(axis, text, false, values, error);
    for (int i = setting->chooses; setting->choices[i] && status == ROTARY_OK; i++)
        status = add_value(axis, setting->choices[i], true, values, error);
    return status;
}

static rotary_status read_values(const struct arm_axis *axis, json_t *values, rotary_error *error)
{
    for (const char *next = axis->values;; next++) {
        size_t length = value_length(next);
        char *text = strndup(next, length);
        if (!text)
            return rotary_fail_memory(error, "for the arms of a comparison");
        rotary_status status = add_values(axis, text, values, error);
        free(text);
        if (status != ROTARY_OK)
            return status;
        next += length;
        if (*next == 0)
            return ROTARY_OK;
    }
}

static rotary_status check_key(const struct arms *arms, const struct arm_axis *axis, rotary_error *error)
{
    for (size_t i = 0; i < sizeof fixed_keys / sizeof fixed_keys[0]; i++)
        if (strcmp(axis->key, fixed_keys[i].key) == 0)
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "%s: %s cannot be varied: %s", axis->option,
                               axis->key, fixed_keys[i].reason);
    if (arms->count && json_object_get(arms->items[0].set, axis->key))
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "%s: %s is varied already; wanted all its values in one list", axis->option,
                           axis->key);
    return ROTARY_OK;
}

/* Appends the arm with one more key. */
static rotary_status append_with(struct arms *arms, const struct arm *arm, const char *key, json_t *value,
                                 rotary_error *error)
{
    char name[ARM_NAME_BYTES];
    memcpy(name, arm->name, sizeof name);
    if (!arm_name_add(name, key, value))
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "the arm %.60s... has a name of more than %d bytes, too long for its folders",
                           name, ARM_NAME_BYTES - 1);
    json_t *set = json_copy(arm->set);
    json_object_set(set, key, value);
    return arms_append(arms, name, set, NULL, error);
}

rotary_status arms_vary(struct arms *arms, const struct arm_axis *axis, rotary_error *error)
{
    rotary_status status = check_key(arms, axis, error);
    if (status != ROTARY_OK)
        return status;
    struct arms varied = {0};
    json_t *values = json_array();
    status = read_values(axis, values, error);
    for (int i = 0; i < arms->count; i++)
        for (size_t j = 0; status == ROTARY_OK && j < json_array_size(values); j++)
            status = append_with(&varied, &arms->items[i], axis->key, json_array_get(values, j), error);
    json_decref(values);
    if (status != ROTARY_OK) {
        arms_free(&varied);
        return status;
    }
    varied.given = arms->given;
    arms_free(arms);
    *arms = varied;
    return ROTARY_OK;
}

/* ---- configurations ---- */

/* The run that the arm begins with, or all arms; "": none. */
static const char *init_of(const struct arms *arms, const struct arm *arm)
{
    const json_t *places[] = {arm->set, arm->chosen, arms->given}, *init = NULL;
    for (int i = 0; i < 3 && !init; i++)
        init = json_object_get(places[i], "init");
    const char *folder = json_string_value(init);
    return folder ? folder : "";
}

/* Takes the model of the run that the arm begins with, then other settings. */
static rotary_status take_model(const struct arms *arms, const struct arm *arm, struct run_config *config,
                                struct transformer_config *taken, rotary_error *error)
{
    struct settings settings[RUN_SETTINGS];
    run_settings(config, settings);
    rotary_status status = settings_set(settings, RUN_SETTINGS, arm->name, "init", init_of(arms, arm), error);
    if (status == ROTARY_OK)
        status = initial_weights_model(config, error);
    transformer_config_copy(taken, &config->model);
    if (status == ROTARY_OK && arms->given)
        status = settings_read(settings, RUN_SETTINGS, arms->given, "--set", error);
    return status;
}

rotary_status arm_config(const struct arms *arms, int index, const struct run_config *base, int64_t seed,
                         struct run_config *config, rotary_error *error)
{
    const struct arm *arm = &arms->items[index];
    struct run_config made;
    run_config_copy(&made, base);
    struct settings settings[RUN_SETTINGS];
    run_settings(&made, settings);
    struct transformer_config taken = {0};
    const bool takes = init_of(arms, arm)[0] != 0;
    rotary_status status = takes ? take_model(arms, arm, &made, &taken, error) : ROTARY_OK;
    if (status == ROTARY_OK)
        status = settings_read(settings, RUN_SETTINGS, arm->set, arm->name, error);
    if (status == ROTARY_OK && arm->chosen)
        status = settings_read(settings, RUN_SETTINGS, arm->chosen, arm->name, error);
    if (status == ROTARY_OK && takes)
        status = initial_weights_fit(&taken, &made, error);
    made.train.seed = seed;
    transformer_config_free(&taken);
    if (status == ROTARY_OK && made.train.steps == 0)
        status = rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                             "steps is 0, wanted at least 1: a run of no steps has no results");
    if (status == ROTARY_OK)
        status = run_config_check(&made, error);
    if (status == ROTARY_OK)
        *config = made;
    else
        run_config_free(&made);
    return status;
}

static rotary_status check_distinct(const struct arms *arms, const struct run_config *configs,
                                    rotary_error *error)
{
    json_t *texts[MAX_ARMS] = {NULL};
    rotary_status status = ROTARY_OK;
    for (int i = 0; status == ROTARY_OK && i < arms->count; i++) {
        status = run_config_to_json(&configs[i], &texts[i], error);
        for (int j = 0; status == ROTARY_OK && j < i; j++)
            if (json_equal(texts[i], texts[j]))
                status = rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                                     "%s and %s are the same configuration: wanted arms that differ",
                                     arms->items[j].name, arms->items[i].name);
    }
    for (int i = 0; i < arms->count; i++)
        json_decref(texts[i]);
    return status;
}

rotary_status arms_configs(const struct arms *arms, const struct run_config *base, int64_t seed,
                           struct run_config **configs, rotary_error *error)
{
    struct run_config *made = calloc((size_t)arms->count + 1, sizeof *made);
    if (!made)
        return rotary_fail_memory(error, "for the arms of a comparison");
    rotary_status status = ROTARY_OK;
    for (int i = 0; status == ROTARY_OK && i < arms->count; i++)
        status = arm_config(arms, i, base, seed, &made[i], error);
    if (status == ROTARY_OK)
        status = check_distinct(arms, made, error);
    if (status == ROTARY_OK)
        *configs = made;
    else
        arms_configs_free(made, arms->count);
    return status;
}

void arms_configs_free(struct run_config *configs, int count)
{
    for (int i = 0; configs && i < count; i++)
        run_config_free(&configs[i]);
    free(configs);
}
