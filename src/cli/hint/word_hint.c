/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/hint/word_hint.h"

#include "cli/presets.h"
#include "file/file.h"
#include "layer/encoding/encoding.h"
#include "model/encoding/shipped_encodings.h"
#include "run_folder/folder.h"
#include "task/task.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static bool is_one_of(const char *word, const char *const *names)
{
    for (int i = 0; names[i]; i++)
        if (strcmp(word, names[i]) == 0)
            return true;
    return false;
}

/* The first task that has a preset of this name; NULL: none has. */
static const char *task_of_preset(const char *name)
{
    for (const struct preset *preset = presets; preset->task; preset++)
        if (strcmp(preset->name, name) == 0)
            return preset->task;
    return NULL;
}

static void hint_path(const char *word, mode_t mode, char text[WORD_HINT_BYTES])
{
    if (S_ISREG(mode))
        snprintf(text, WORD_HINT_BYTES,
                 "; it is a file: a text of your own is read by rotary compare language --text %.80s", word);
    else if (S_ISDIR(mode) && file_exists_in(word, FOLDER_CONFIG))
        snprintf(text, WORD_HINT_BYTES, "; it is a folder: rotary evaluate %.80s scores a run or a model",
                 word);
    else if (S_ISDIR(mode))
        snprintf(text, WORD_HINT_BYTES,
                 "; it is a folder: rotary report %.80s shows a comparison, and --set language_data=%.80s "
                 "names texts",
                 word, word);
}

const char *word_hint(const char *word, char text[WORD_HINT_BYTES])
{
    struct stat about;
    const char *task = task_of_preset(word);
    text[0] = 0;
    if (is_one_of(word, task_names))
        snprintf(text, WORD_HINT_BYTES, "; it is a task: rotary compare %s", word);
    else if (is_one_of(word, position_names) || is_one_of(word, shipped_encoding_names))
        snprintf(text, WORD_HINT_BYTES, "; it is a position encoding: rotary train prefix --position %s",
                 word);
    else if (task)
        snprintf(text, WORD_HINT_BYTES, "; it is a preset: rotary compare %s --preset %s", task, word);
    else if (stat(word, &about) == 0)
        hint_path(word, about.st_mode, text);
    return text;
}
