/* SPDX-License-Identifier: Apache-2.0 */
#include "records/comparison/arm_name.h"

#include "file/file.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool append(char name[ARM_NAME_BYTES], const char *text)
{
    size_t length = strlen(name);
    for (; *text; text++) {
        if (*text == '"')
            continue;
        if (length + 1 >= ARM_NAME_BYTES)
            return false;
        name[length++] = isalnum((unsigned char)*text) || strchr("._+-=,:{}[]", *text) ? *text : '_';
        name[length] = 0;
    }
    return true;
}

/* "masked-rope" of "runs/masked-rope/". */
static bool append_last_part(char name[ARM_NAME_BYTES], const char *folder)
{
    size_t end = strlen(folder), begin;
    while (end > 1 && folder[end - 1] == '/')
        end--;
    for (begin = end; begin > 0 && folder[begin - 1] != '/';)
        begin--;
    char *part = strndup(folder + begin, end - begin);
    const bool added = part && append(name, part[0] ? part : "scratch");
    free(part);
    return added;
}

bool arm_name_add(char name[ARM_NAME_BYTES], const char *key, const json_t *value)
{
    const bool position = strcmp(key, "position") == 0, init = strcmp(key, "init") == 0;
    const char *given = position ? file_json_name(value) : json_string_value(value);
    if (name[0] && !append(name, ","))
        return false;
    if (init && given)
        return append_last_part(name, given);
    if (!position && (!append(name, key) || !append(name, "=")))
        return false;
    if (given)
        return append(name, given);
    char *text = file_json_text(value, JSON_ENCODE_ANY | JSON_COMPACT);
    bool added = text && append(name, text);
    free(text);
    return added;
}

const char *run_name(char name[RUN_NAME_BYTES], const char *arm, int64_t seed)
{
    snprintf(name, RUN_NAME_BYTES, "%s-%lld", arm, (long long)seed);
    return name;
}
