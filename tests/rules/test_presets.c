/* SPDX-License-Identifier: Apache-2.0
 *
 * The presets: each is a whole configuration that can be run as it is, and says what its folder says. None
 * sets a value that follows from others, so that one --set changes a model as one would expect.
 */
#include "support/check.h"
#include "support/scratch.h"

#include "file/file.h"
#include "train/run.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A change of one key, and what another key then is; 0: what expected() says. */
static const struct {
    const char *assignment, *follows;
    int64_t value;
} changes[] = {
    {"hidden_size=192", "intermediate_size", 768},
    {"hidden_size=64", "intermediate_size", 256},
    {"hidden_size=256", "num_key_value_heads", 0},
    {"num_attention_heads=8", "num_key_value_heads", 8},
    {"num_attention_heads=2", "num_key_value_heads", 2},
    {"sequence_length=700", "max_position_embeddings", 700},
    {"prefix_letters=7", "vocab_size", 0},
};

/* Keys whose value 0 stands for what follows from other keys, the task's included. */
static const char *const derived[] = {"vocab_size",        "num_key_value_heads",     "head_dim",
                                      "intermediate_size", "max_position_embeddings", "rope_local_base_freq"};

static int64_t value_of(struct run_config *config, const char *key)
{
    struct settings settings[RUN_SETTINGS];
    run_settings(config, settings);
    void *member = NULL;
    CHECK(settings_find(settings, RUN_SETTINGS, key, strlen(key), &member) != NULL);
    return member ? *(int64_t *)member : -1;
}

/* What follows from the sizes of a checked configuration, worked out here. */
static int64_t expected(struct run_config *config, const char *key)
{
    if (strcmp(key, "num_key_value_heads") == 0)
        return config->model.num_attention_heads;
    /* The letters of prefix and the separator; the other tasks have fixed alphabets. */
    if (config->task.task == TASK_PREFIX)
        return value_of(config, "prefix_letters") + 1;
    return config->model.vocab_size;
}

static void check_changes(const struct run_config *preset)
{
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        struct run_config config = *preset;
        struct settings settings[RUN_SETTINGS];
        run_settings(&config, settings);
        rotary_error error = {0};
        check_about("%s, %s", changes[i].assignment, task_names[config.task.task]);
        if (!CHECK_INT(settings_assign(settings, RUN_SETTINGS, changes[i].assignment, &error), ROTARY_OK) ||
            !CHECK_INT(run_config_check(&config, &error), ROTARY_OK)) {
            printf("%s\n", error.message);
            continue;
        }
        int64_t wanted = changes[i].value ? changes[i].value : expected(&config, changes[i].follows);
        CHECK_INT(value_of(&config, changes[i].follows), wanted);
        CHECK_INT(config.model.head_dim * config.model.num_attention_heads, config.model.hidden_size);
    }
}

static void assign(struct run_config *config, const char *key, const char *value)
{
    struct settings settings[RUN_SETTINGS];
    char assignment[600];
    rotary_error error = {0};
    run_settings(config, settings);
    snprintf(assignment, sizeof assignment, "%s=%s", key, value);
    if (!CHECK_INT(settings_assign(settings, RUN_SETTINGS, assignment, &error), ROTARY_OK))
        printf("%s\n", error.message);
}

/* Likewise, presets of the tasks masked and language. */
static void use_small_text(struct run_config *config)
{
    static const char text[] = "the dog calls the cat .\n\nthe cat calls the dog .\n";
    static const char *const rest[][2] = {{"train", "text.txt"},
                                          {"validation", "text.txt"},
                                          {"test", "text.txt"}},
                             *const folders[] = {"data", "cache"};
    const char *task = task_names[config->task.task];
    char key[64];
    scratch_write(scratch_path("text.txt"), text, sizeof text - 1);
    for (size_t i = 0; i < 2; i++) {
        snprintf(key, sizeof key, "%s_%s", task, folders[i]);
        assign(config, key, scratch_folder());
    }
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++) {
        snprintf(key, sizeof key, "%s_%s", task, rest[i][0]);
        assign(config, key, rest[i][1]);
    }
    snprintf(key, sizeof key, "%s_vocab_size", task);
    assign(config, key, config->task.task == TASK_MASKED ? "24" : "280"); /* bytes are pieces too */
}

/* Likewise, presets of the task classification. */
static void use_small_labels(struct run_config *config)
{
    static const char text[] = "label\tone\ttwo\n0\tthe dog calls the cat .\tthe cat calls the dog .\n"
                               "1\ta dog calls .\tthe cat calls .\n";
    scratch_write(scratch_path("train.tsv"), text, sizeof text - 1);
    scratch_write(scratch_path("dev.tsv"), text, sizeof text - 1);
    assign(config, "classification_data", scratch_folder());
    assign(config, "classification_dataset", "table");
    assign(config, "classification_split", "files");
    assign(config, "classification_held_out_share", "0.125");
    assign(config, "classification_train", "train.tsv");
    assign(config, "classification_validation", "dev.tsv");
    assign(config, "classification_header", "true");
    assign(config, "classification_text", "one");
    assign(config, "classification_label", "label");
    if (task_choices(&config->task) > 0)
        assign(config, "classification_choices", "two,one");
    else
        assign(config, "classification_pair", "two");
    assign(config, "classification_vocab_size", "17");
    config->train.checkpoint_every = 1; /* few lines are few steps */
}

/* Presets of translations name files that are not here, or a vocabulary larger than a few lines have. */
static void use_small_corpus(struct run_config *config)
{
    static const char text[] = "der Hund ruft die Katze .\ndie Katze ruft den Hund .\n";
    static const char *const names[] = {"train.de", "train.en", "val.de", "val.en", "test.de", "test.en"};
    static const char *const fitting[] = {"translation_train=train", "translation_validation=val",
                                          "translation_test=test", "translation_vocab_size=32"};
    struct settings settings[RUN_SETTINGS];
    char data[600];
    run_settings(config, settings);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        scratch_write(scratch_path(names[i]), text, sizeof text - 1);
    config->train.checkpoint_every = 1; /* few lines are few steps */
    snprintf(data, sizeof data, "translation_data=%s", scratch_folder());
    CHECK_INT(settings_assign(settings, RUN_SETTINGS, data, NULL), ROTARY_OK);
    for (size_t i = 0; i < sizeof fitting / sizeof *fitting; i++)
        CHECK_INT(settings_assign(settings, RUN_SETTINGS, fitting[i], NULL), ROTARY_OK);
}

/* Pieces of words need a library that not every build has. */
static bool is_supported(const struct run_config *config)
{
    struct run_config checked = *config;
    return run_config_check(&checked, NULL) != ROTARY_UNSUPPORTED;
}

/* Whether a paper has an experiment on the task that a preset repeats. */
static bool is_published(enum task_id task)
{
    return task != TASK_COPY && task != TASK_PASSKEY && task != TASK_REVERSE;
}

/* presets/<task>/<name>.json */
static void check_preset(const char *path, const char *task)
{
    rotary_error error = {0};
    json_t *object = NULL;
    if (!CHECK_INT(file_read_json(path, &object, &error), ROTARY_OK)) {
        printf("%s\n", error.message);
        return;
    }
    struct run_config config;
    struct settings settings[RUN_SETTINGS];
    run_config_default(&config);
    run_settings(&config, settings);
    if (!CHECK_INT(settings_read(settings, RUN_SETTINGS, object, path, &error), ROTARY_OK))
        printf("%s\n", error.message);
    const bool translates = config.task.task == TASK_TRANSLATION;
    /* Llama's feed-forward layer has no width that follows from others. */
    const bool own_width = translates || config.model.hidden_act == ACTIVATION_SWIGLU;
    for (size_t i = 0; i < sizeof derived / sizeof *derived; i++)
        CHECK((own_width && strcmp(derived[i], "intermediate_size") == 0) ||
              json_integer_value(json_object_get(object, derived[i])) == 0);
    /* What a comparison varies is not a preset's to say. */
    CHECK(!json_object_get(object, "position"));
    CHECK(!json_object_get(object, "seed"));
    const bool has_text = json_is_string(json_object_get(object, "masked_data")) ||
                          json_is_string(json_object_get(object, "language_data")),
               has_labels = json_is_string(json_object_get(object, "classification_data"));
    json_decref(object);
    CHECK_TEXT(task_names[config.task.task], task);
    if (translates)
        use_small_corpus(&config);
    else if (has_text)
        use_small_text(&config);
    else if (has_labels)
        use_small_labels(&config);
    else
        check_changes(&config);
    if (!is_supported(&config)) {
        printf("%s: not supported by this build\n", path);
        return;
    }
    check_about("%s", path);
    if (!CHECK_INT(run_config_check(&config, &error), ROTARY_OK))
        printf("%s\n", error.message);
    CHECK(translates || has_labels || config.train.warmup_steps < config.train.steps);
    CHECK(own_width || config.model.intermediate_size == 4 * config.model.hidden_size);
    CHECK(!translates || config.train.epochs > 0);
}

int main(void)
{
    for (int task = 0; task < TASK_COUNT; task++) {
        char pattern[512];
        snprintf(pattern, sizeof pattern, "%s/presets/%s/*.json", getenv("ROTARY_SOURCE_DIR"),
                 task_names[task]);
        glob_t found;
        check_about("%s", pattern);
        if (!CHECK_INT(glob(pattern, 0, NULL, &found), 0))
            continue;
        bool quick = false, paper = false;
        for (size_t i = 0; i < found.gl_pathc; i++) {
            const char *name = strrchr(found.gl_pathv[i], '/');
            quick = quick || strcmp(name, "/quick.json") == 0;
            paper = paper || strcmp(name, "/paper.json") == 0;
            check_about("%s", found.gl_pathv[i]);
            check_preset(found.gl_pathv[i], task_names[task]);
        }
        CHECK(quick && paper == is_published((enum task_id)task));
        globfree(&found);
    }
    return check_report();
}
