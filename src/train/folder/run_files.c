/* SPDX-License-Identifier: Apache-2.0 */
#include "train/folder/run_files.h"

#include "base/fail.h"
#include "file/checksum/file_checksum.h"
#include "file/file.h"
#include "run_folder/folder.h"
#include "task/classification/label_names.h"
#include "task/vocabulary_files.h"

#include <string.h>

enum { NAMES = VOCABULARY_KINDS * VOCABULARY_FILES + 1 };

static const char *name_of(int index)
{
    return index < NAMES - 1 ? vocabulary_files[index / VOCABULARY_FILES][index % VOCABULARY_FILES]
                             : FOLDER_LABELS;
}

/* The checksum of a file; "": there is none. */
static rotary_status read_one(const char *folder, const char *name, char digits[CHECKSUM_TEXT_BYTES],
                              rotary_error *error)
{
    char path[FILE_PATH_BYTES];
    bool found;
    digits[0] = 0;
    rotary_status status = file_path(path, folder, name, error);
    if (status == ROTARY_OK)
        status = file_find(path, &found, error);
    return status == ROTARY_OK && found ? file_checksum(path, digits, error) : status;
}

rotary_status run_files_read(const char *folder, json_t **files, rotary_error *error)
{
    json_t *read = json_object();
    rotary_status status = ROTARY_OK;
    for (int i = 0; i < NAMES && status == ROTARY_OK; i++) {
        char digits[CHECKSUM_TEXT_BYTES];
        status = read_one(folder, name_of(i), digits, error);
        if (status == ROTARY_OK && digits[0])
            json_object_set_new(read, name_of(i), json_string(digits));
    }
    if (status == ROTARY_OK)
        *files = read;
    else
        json_decref(read);
    return status;
}

static rotary_status check_one(const char *folder, const char *name, const char *wanted, const char *owner,
                               rotary_error *error)
{
    char digits[CHECKSUM_TEXT_BYTES];
    rotary_status status = read_one(folder, name, digits, error);
    if (status != ROTARY_OK || strcmp(digits, wanted ? wanted : "") == 0)
        return status;
    if (!wanted)
        return rotary_fail(
            error, ROTARY_BAD_FILE,
            "%.150s/%s was not there when %.150s was written: wanted the files of that run alone", folder,
            name, owner);
    if (!digits[0])
        return rotary_fail(error, ROTARY_BAD_FILE,
                           "%.150s/%s is gone, with which %.150s was written: wanted that file", folder, name,
                           owner);
    return rotary_fail(
        error, ROTARY_BAD_FILE,
        "%.150s/%s is not the file with which %.150s was written: its checksum is %s, wanted %.16s", folder,
        name, owner, digits, wanted);
}

rotary_status run_files_check(const char *folder, const json_t *files, const char *owner, rotary_error *error)
{
    rotary_status status = ROTARY_OK;
    for (int i = 0; i < NAMES && status == ROTARY_OK; i++)
        status = check_one(folder, name_of(i), json_string_value(json_object_get(files, name_of(i))), owner,
                           error);
    return status;
}
