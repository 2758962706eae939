/* SPDX-License-Identifier: Apache-2.0 */
#include "train/corpus_record.h"

#include "base/fail.h"
#include "file/file.h"
#include "train/folder.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { HASH_BYTES = 17 };

/* The hash of a split as config.json has it; empty: there is no text. */
static rotary_status hash_text(const struct task_config *config, enum task_split split, char text[HASH_BYTES],
                               rotary_error *error)
{
    uint64_t hash;
    rotary_status status = task_text_hash(config, split, &hash, error);
    text[0] = '\0';
    if (status == ROTARY_OK && hash != 0)
        snprintf(text, HASH_BYTES, "%016" PRIx64, hash);
    return status;
}

rotary_status corpus_write(json_t *object, const struct task_config *config, rotary_error *error)
{
    json_t *hashes = json_object();
    rotary_status status = ROTARY_OK;
    bool complete = hashes != NULL;
    for (int split = 0; split < TASK_SPLITS && status == ROTARY_OK; split++) {
        char text[HASH_BYTES];
        status = hash_text(config, (enum task_split)split, text, error);
        if (status == ROTARY_OK && text[0])
            complete &= json_object_set_new(hashes, task_split_names[split], json_string(text)) == 0;
    }
    if (json_object_size(hashes) > 0)
        complete &= json_object_set(object, RUN_CORPUS, hashes) == 0;
    json_decref(hashes);
    if (status == ROTARY_OK && !complete)
        status = rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory for the hashes of a corpus");
    return status;
}

static rotary_status check_split(const struct task_config *config, enum task_split split,
                                 const json_t *recorded, const char *path, rotary_error *error)
{
    char text[HASH_BYTES];
    rotary_status status = hash_text(config, split, text, error);
    const char *name = task_split_names[split], *before = json_string_value(json_object_get(recorded, name));
    if (status != ROTARY_OK || (before && strcmp(before, text) == 0))
        return status;
    return rotary_fail(
        error, ROTARY_INVALID_ARGUMENT,
        "the %s text of the task %s has the hash %s, and %.16s in %s: wanted the lines that the "
        "run began with",
        name, task_names[config->task], text, before ? before : "none", path);
}

rotary_status corpus_check(const char *folder, const struct task_config *config, bool training,
                           rotary_error *error)
{
    char path[FILE_PATH_BYTES];
    json_t *object;
    rotary_status status = file_path(path, folder, FOLDER_CONFIG, error);
    if (status == ROTARY_OK)
        status = file_read_json(path, &object, error);
    if (status != ROTARY_OK)
        return status;
    const json_t *recorded = json_object_get(object, RUN_CORPUS);
    for (int split = training ? TASK_TRAINING : TASK_VALIDATION; split < TASK_SPLITS; split++)
        if (recorded && status == ROTARY_OK)
            status = check_split(config, (enum task_split)split, recorded, path, error);
    json_decref(object);
    return status;
}
