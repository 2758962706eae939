/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a configuration of tasks has the settings of each.
 */
#include "support/check.h"

#include "task/task_type.h"

#include <stdint.h>

/* The settings of all tasks have room, not much more than they need, and none are another's. */
static void test_options(void)
{
    struct task_config config;
    struct settings settings[TASK_SETTINGS];
    const char *last = (const char *)&config.options;
    size_t bytes = 0;
    task_config_default(&config);
    task_settings(&config, settings);
#define OPTIONS_FIT(NAME, name)                                                                              \
    check_about("%s", #name);                                                                                \
    CHECK((const char *)settings[1 + TASK_##NAME].structure >= last);                                        \
    CHECK(task_options(&config, TASK_##NAME) == settings[1 + TASK_##NAME].structure);                        \
    CHECK((uintptr_t)task_options(&config, TASK_##NAME) % sizeof(double) == 0);                              \
    last = (const char *)settings[1 + TASK_##NAME].structure + task_type_##name.options_bytes;               \
    bytes = (size_t)(last - (const char *)&config.options);
    ROTARY_TASKS(OPTIONS_FIT)
    check_about("%zu bytes", bytes);
    CHECK(bytes <= TASK_OPTIONS_BYTES && 2 * bytes > TASK_OPTIONS_BYTES);
}

int main(void)
{
    test_options();
    return check_report();
}
