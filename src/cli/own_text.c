/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/own_text.h"

#include "base/fail.h"
#include "task/task.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

const struct setting own_text_option[1] = {
    {"--text", SETTING_TEXT, 0, .metavar = "FILE",
     .help = "of the task language: the text to train on, in one file, of which the last tenth is held out "
             "for validation"},
};

static rotary_status check(const char *task, const char *file, rotary_error *error)
{
    struct stat about;
    const bool found = stat(file, &about) == 0;
    if (strcmp(task, task_names[TASK_LANGUAGE]) != 0)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "--text is read by the task language, not by %.80s: wanted language --text %.200s",
                           task, file);
    if (!found && errno == ENOENT)
        return rotary_fail(error, ROTARY_IO_ERROR, "--text %.200s: there is no such file", file);
    if (found && S_ISDIR(about.st_mode))
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "--text %.200s is a folder, wanted one file; for the train.txt and valid.txt of a "
                           "folder: --set language_data=%.200s",
                           file, file);
    if (strchr(file_name_of(file), ','))
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "--text %.200s: wanted a name without commas, which stand between names in "
                           "language_train",
                           file);
    return ROTARY_OK;
}

static bool sets(const struct option_list *given, const char *key)
{
    const size_t length = strlen(key);
    for (int i = 0; i < given->count; i++)
        if (strncmp(given->items[i], key, length) == 0 && given->items[i][length] == '=')
            return true;
    return false;
}

rotary_status own_text_read(struct own_text *text, const char *task, const char *file,
                            const struct option_list *given, rotary_error *error)
{
    text->assignments = *given;
    text->name[0] = 0;
    text->is_split = false;
    if (!file)
        return ROTARY_OK;
    rotary_status status = check(task, file, error);
    char folder[FILE_PATH_BYTES];
    if (status == ROTARY_OK)
        status = file_folder_of(file, folder, error);
    if (status == ROTARY_OK && given->count + OWN_TEXT_SETTINGS > OPTION_LIST_ITEMS)
        status = rotary_fail(error, ROTARY_INVALID_ARGUMENT, "--text with %d of --set, wanted at most %d",
                             given->count, OPTION_LIST_ITEMS - OWN_TEXT_SETTINGS);
    if (status != ROTARY_OK)
        return status;
    const char *const name = file_name_of(file);
    const char *const values[OWN_TEXT_SETTINGS][2] = {{"language_data", folder},
                                                      {"language_train", name},
                                                      {"language_validation", ""},
                                                      {"language_test", ""},
                                                      {"language_windows", "random"}};
    for (int i = 0; i < OWN_TEXT_SETTINGS; i++) {
        snprintf(text->settings[i], sizeof text->settings[i], "%s=%.4000s", values[i][0], values[i][1]);
        text->assignments.items[i] = text->settings[i];
    }
    memcpy(text->assignments.items + OWN_TEXT_SETTINGS, given->items,
           (size_t)given->count * sizeof *given->items);
    text->assignments.count = OWN_TEXT_SETTINGS + given->count;
    text->is_split = !sets(given, "language_data") && !sets(given, "language_train") &&
                     !sets(given, "language_validation");
    snprintf(text->name, sizeof text->name, "%.*s", (int)strcspn(name, "."), name);
    return ROTARY_OK;
}

void own_text_say(const struct own_text *text, const char *file)
{
    if (text->is_split)
        fprintf(stderr, "%s: nine tenths are trained on, the last tenth is held out for validation\n", file);
}
