/* SPDX-License-Identifier: Apache-2.0 */
#include "task/corpus_folder.h"

#include "base/fail.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

rotary_status corpus_folder_check(const char *task, const char *folder, rotary_error *error)
{
    struct stat about;
    if (stat(folder, &about) == 0) {
        if (S_ISDIR(about.st_mode))
            return ROTARY_OK;
        const bool takes_text = strcmp(task, "language") == 0;
        return rotary_fail(error, ROTARY_IO_ERROR,
                           "%s_data is %s, which is a file: wanted the folder that has it, and its name in "
                           "%s_train%s%s",
                           task, folder, task, takes_text ? ", or --text " : "", takes_text ? folder : "");
    }
    if (errno != ENOENT)
        return ROTARY_OK;
    return rotary_fail(error, ROTARY_IO_ERROR,
                       "there is no folder %s, which %s_data names: texts do not come with the program, and "
                       "docs/reference/data.md says where those of presets are; wanted --set %s_data=DIR",
                       folder, task, task);
}
