/* SPDX-License-Identifier: Apache-2.0
 *
 * The presets: each is a whole configuration that can be run as it is, and says what its folder says.
 */
#include "support/check.h"

#include "file/file.h"
#include "train/run.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    if (!CHECK_INT(settings_read(settings, RUN_SETTINGS, object, path, &error), ROTARY_OK) ||
        !CHECK_INT(run_config_check(&config, &error), ROTARY_OK))
        printf("%s\n", error.message);
    CHECK_TEXT(task_names[config.task.task], task);
    /* What a comparison varies is not a preset's to say. */
    CHECK(!json_object_get(object, "position"));
    CHECK(!json_object_get(object, "seed"));
    json_decref(object);
}

int main(void)
{
    for (int task = 0; task < TASK_KINDS; task++) {
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
        CHECK(quick && paper);
        globfree(&found);
    }
    return check_report();
}
