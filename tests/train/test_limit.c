/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory limits of control groups: a group's limit applies to the groups below it too.
 */
#include "support/check.h"
#include "support/scratch.h"

#include "file/file.h"
#include "file/memory.h"

#include <stdio.h>
#include <string.h>

static void write_limit(const char *root, const char *group, const char *text)
{
    char folder[1024], path[FILE_PATH_BYTES];
    snprintf(folder, sizeof folder, "%s%s", root, group);
    CHECK(file_make_folder(folder, NULL) == ROTARY_OK);
    CHECK(file_path(path, folder, "memory.max", NULL) == ROTARY_OK);
    CHECK(file_replace(path, text, strlen(text), NULL) == ROTARY_OK);
}

int main(void)
{
    const char *root = scratch_path("groups");
    write_limit(root, "/job/step/task", "max\n");
    CHECK(memory_group_limit(root, "/job/step/task", "memory.max") == SIZE_MAX);
    write_limit(root, "/job", "4096\n");
    CHECK(memory_group_limit(root, "/job/step/task", "memory.max") == 4096);
    CHECK(memory_group_limit(root, "/other", "memory.max") == SIZE_MAX);
    write_limit(root, "/job/step/task", "8192\n");
    CHECK(memory_group_limit(root, "/job/step/task", "memory.max") == 4096);
    write_limit(root, "", "1024\n");
    CHECK(memory_group_limit(root, "/job/step/task", "memory.max") == 1024);
    CHECK(memory_group_limit(root, "/", "memory.max") == 1024);
    CHECK(memory_group_limit(root, "/named/elsewhere", "memory.max") == 1024);
    return check_report();
}
