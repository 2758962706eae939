/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/help_settings.h"

#include "base/fail.h"
#include "cli/help.h"
#include "cli/presets.h"
#include "config/synonyms.h"
#include "file/file.h"
#include "train/run.h"

#include <stdlib.h>
#include <string.h>

/* ---- keys ---- */

/* What a setting may be: "1 ... 64", "relu, gelu, swiglu". */
static void describe_values(const struct setting *setting, char *text, size_t bytes)
{
    switch (setting->type) {
    case SETTING_INTEGER:
        snprintf(text, bytes, "%.0f ... %.0f", setting->min, setting->max);
        return;
    case SETTING_REAL:
        snprintf(text, bytes, "%.10g ... %.10g", setting->min, setting->max);
        return;
    case SETTING_BOOLEAN:
        snprintf(text, bytes, "true, false");
        return;
    case SETTING_CHOICE: {
        size_t used = 0;
        for (int i = 0; setting->choices[i] && used < bytes; i++) {
            int added = snprintf(text + used, bytes - used, "%s%s", i > 0 ? ", " : "", setting->choices[i]);
            used += added > 0 ? (size_t)added : 0;
        }
        return;
    }
    case SETTING_TEXT:
    case SETTING_LIST:
        snprintf(text, bytes, "text");
        return;
    case SETTING_OBJECT:
        snprintf(text, bytes, "object, null");
        return;
    case SETTING_ARRAY:
        snprintf(text, bytes, "list, null");
        return;
    }
}

/* A value as --set takes it: names without quotes. The caller frees it. */
static char *text_of(const json_t *value)
{
    return json_is_string(value) ? strdup(json_string_value(value)) : file_json_text(value, JSON_ENCODE_ANY);
}

static void write_setting(const struct setting *setting, const json_t *defaults)
{
    char values[256], right[768];
    describe_values(setting, values, sizeof values);
    char *text = text_of(json_object_get(defaults, setting->name));
    snprintf(right, sizeof right, "%s [%s] (default: %s)", setting->help, values, text ? text : "");
    free(text);
    help_row(stdout, setting->name, right, HELP_OPTION_COLUMN);
}

/* The tables of all keys, and their defaults, which the caller releases. */
struct all_settings {
    struct run_config config;
    struct settings settings[RUN_SETTINGS];
    json_t *defaults;
};

static rotary_status create(struct all_settings **all, rotary_error *error)
{
    struct all_settings *made = malloc(sizeof *made);
    if (!made)
        return rotary_fail_memory(error, "for the keys of a configuration");
    run_config_default(&made->config);
    run_settings(&made->config, made->settings);
    rotary_status status = run_config_to_json(&made->config, &made->defaults, error);
    if (status == ROTARY_OK)
        *all = made;
    else
        free(made);
    return status;
}

static void destroy(struct all_settings *all)
{
    json_decref(all->defaults);
    run_config_free(&all->config);
    free(all);
}

rotary_status help_settings(rotary_error *error)
{
    static const char *const titles[RUN_SETTINGS] = {
        [0] = "the task", [TASK_SETTINGS] = "the model", [RUN_SETTINGS - 1] = "training"};
    struct all_settings *all = NULL;
    rotary_status status = create(&all, error);
    if (status != ROTARY_OK)
        return status;
    help_text(stdout,
              "Keys of a configuration, for --set KEY=VALUE. Presets set most of them; a default holds where "
              "the preset says nothing. A default of 0 where that makes no sense means that the value "
              "follows from other keys.",
              0);
    for (int i = 0; i < RUN_SETTINGS; i++) {
        if (titles[i])
            printf("\n%s:\n", titles[i]);
        for (int j = 0; j < all->settings[i].count; j++)
            write_setting(&all->settings[i].table[j], all->defaults);
    }
    destroy(all);
    return ROTARY_OK;
}

/* ---- presets ---- */

static rotary_status write_preset_values(const char *key, rotary_error *error)
{
    rotary_status status = ROTARY_OK;
    bool titled = false;
    for (const struct preset *preset = presets; preset->task && status == ROTARY_OK; preset++) {
        json_t *object;
        char where[PRESET_WHERE_BYTES];
        status = preset_parse(preset, where, &object, error);
        if (status != ROTARY_OK)
            return status;
        const json_t *value = json_object_get(object, key);
        if (value) {
            char left[128], *text = text_of(value);
            snprintf(left, sizeof left, "%s/%s", preset->task, preset->name);
            if (!titled)
                fputs("\nof the presets:\n", stdout);
            titled = true;
            help_row(stdout, left, text ? text : "", HELP_OPTION_COLUMN);
            free(text);
        }
        json_decref(object);
    }
    return status;
}

rotary_status help_key(const char *key, bool *found, const char **nearest, rotary_error *error)
{
    struct all_settings *all = NULL;
    rotary_status status = create(&all, error);
    if (status != ROTARY_OK)
        return status;
    const struct setting *near = settings_suggest(all->settings, RUN_SETTINGS, key);
    const struct setting *setting = near && synonym_of(key, near->name) ? near : NULL;
    *found = setting != NULL;
    *nearest = near ? near->name : NULL;
    if (setting) {
        write_setting(setting, all->defaults);
        status = write_preset_values(setting->name, error);
    }
    destroy(all);
    return status;
}

static long long integer_of(const json_t *object, const char *key)
{
    return (long long)json_integer_value(json_object_get(object, key));
}

/* "400 steps; 3 layers of 128; sequences of 256 tokens", and the folder of its data if it has one. */
static void describe_preset(const struct preset *preset, const json_t *object, char *text, size_t bytes)
{
    char key[64];
    snprintf(key, sizeof key, "%s_data", preset->task);
    const char *data = json_string_value(json_object_get(object, key));
    const char *unit = integer_of(object, "steps") > 0 ? "steps" : "epochs";
    snprintf(text, bytes, "%lld layers of %lld, sequences of %lld tokens, %lld %s%s%s%s",
             integer_of(object, "num_hidden_layers"), integer_of(object, "hidden_size"),
             integer_of(object, "sequence_length"), integer_of(object, unit), unit,
             data ? "; its data are not part of the program, --set " : "", data ? key : "",
             data ? "=DIR" : "");
}

static rotary_status write_preset(const struct preset *preset, rotary_error *error)
{
    json_t *object;
    char where[PRESET_WHERE_BYTES], text[256];
    rotary_status status = preset_parse(preset, where, &object, error);
    if (status != ROTARY_OK)
        return status;
    describe_preset(preset, object, text, sizeof text);
    help_row(stdout, preset->name, text, HELP_OPTION_COLUMN);
    json_decref(object);
    return ROTARY_OK;
}

rotary_status help_presets(rotary_error *error)
{
    help_text(stdout, "Presets, for rotary compare TASK --preset NAME and other commands that train.", 0);
    rotary_status status = ROTARY_OK;
    const char *task = "";
    for (const struct preset *preset = presets; preset->task && status == ROTARY_OK; preset++) {
        if (strcmp(task, preset->task) != 0)
            printf("\n%s:\n", preset->task);
        task = preset->task;
        status = write_preset(preset, error);
    }
    return status;
}

rotary_status help_preset(const char *name, bool *found, rotary_error *error)
{
    char own[128];
    *found = false;
    for (const struct preset *preset = presets; preset->task; preset++) {
        snprintf(own, sizeof own, "%s/%s", preset->task, preset->name);
        if (strcmp(own, name) == 0) {
            *found = true;
            printf("%s:\n", preset->task);
            return write_preset(preset, error);
        }
    }
    return ROTARY_OK;
}
