/* SPDX-License-Identifier: Apache-2.0
 *
 * What other programs' names stand for must be the name of something here.
 */
#include "config/synonyms.h"

#include "cli/command.h"
#include "layer/encoding/encoding.h"
#include "support/check.h"
#include "task/task.h"
#include "train/run.h"

#include <string.h>

static const struct command *const commands[] = {
    &command_compare,  &command_train,    &command_data,        &command_evaluate,
    &command_generate, &command_classify, &command_bleu,        &command_translate,
    &command_report,   &command_heatmap,  &command_export,      &command_tokenize,
    &command_info,     &command_help,     &command_frequencies, NULL};

static bool has_value(const struct setting *row, const char *name)
{
    for (int i = 0; row->type == SETTING_CHOICE && row->choices[i]; i++)
        if (strcmp(row->choices[i], name) == 0)
            return true;
    return false;
}

/* A row of the tables, or a value that a row may have. */
static bool in_tables(const struct settings *sets, int count, const char *name)
{
    for (int i = 0; i < count; i++)
        for (int j = 0; j < sets[i].count; j++)
            if (synonym_same(name, sets[i].table[j].name) || has_value(&sets[i].table[j], name))
                return true;
    return false;
}

static bool is_in_list(const char *const *names, const char *name)
{
    for (int i = 0; names[i]; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

static bool is_known(const char *name)
{
    static const char *const topics[] = {"settings", "presets", NULL};
    struct run_config config;
    struct settings sets[RUN_SETTINGS];
    run_config_default(&config);
    run_settings(&config, sets);
    bool known = in_tables(sets, RUN_SETTINGS, name) || is_in_list(task_names, name) ||
                 is_in_list(position_names, name) || is_in_list(topics, name);
    for (int i = 0; commands[i] && !known; i++) {
        struct settings options[COMMAND_MAX_SETS];
        const int count = command_option_sets(commands[i], NULL, NULL, options);
        known = strcmp(commands[i]->name, name) == 0 || in_tables(options, count, name);
    }
    for (int i = 0; i < common_option_count && !known; i++)
        known = synonym_same(name, common_options[i].name);
    return known;
}

int main(void)
{
    int count = 0;
    for (const struct synonym *synonym = synonyms; synonym->ours; synonym++, count++) {
        check_about("%s", synonym->ours);
        CHECK(is_known(synonym->ours));
    }
    CHECK(count > 80);
    CHECK(synonym_same("--batch-size", "Batch_Size"));
    CHECK(!synonym_same("batch", "batch_size"));
    CHECK(!synonym_same("", "steps"));
    CHECK(synonym_listed("--LR", "alpha lr eta"));
    CHECK(!synonym_listed("l", "alpha lr eta"));
    CHECK(!synonym_listed("alpha lr", "alpha lr eta"));
    CHECK(synonym_of("--n-layers", "num_hidden_layers"));
    CHECK(!synonym_of("n_layers", "hidden_size"));
    return check_report();
}
