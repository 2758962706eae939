/* SPDX-License-Identifier: Apache-2.0 */
#include "train/folder/corpus_record.h"

#include "base/fail.h"
#include "file/file.h"
#include "run_folder/folder.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

rotary_status corpus_read(struct corpus *corpus, const struct task_config *config, enum task_split first,
                          rotary_error *error)
{
    *corpus = (struct corpus){.task = task_names[config->task], .first = first};
    for (int split = first; split < TASK_SPLITS; split++) {
        uint64_t hash;
        rotary_status status = task_text_hash(config, (enum task_split)split, &hash, error);
        if (status != ROTARY_OK)
            return status;
        if (hash != 0)
            snprintf(corpus->hashes[split], CORPUS_HASH_BYTES, "%016" PRIx64, hash);
    }
    corpus->read = true;
    return ROTARY_OK;
}

void corpus_write(json_t *object, const struct corpus *corpus)
{
    json_t *hashes = json_object();
    for (int split = 0; split < TASK_SPLITS; split++)
        if (corpus->hashes[split][0])
            json_object_set_new(hashes, task_split_names[split], json_string(corpus->hashes[split]));
    if (json_object_size(hashes) > 0)
        json_object_set(object, RUN_CORPUS, hashes);
    json_decref(hashes);
}

static rotary_status check_split(const struct corpus *corpus, int split, const json_t *recorded,
                                 const char *path, rotary_error *error)
{
    const char *name = task_split_names[split], *hash = corpus->hashes[split],
               *before = json_string_value(json_object_get(recorded, name));
    if (before ? strcmp(before, hash) == 0 : hash[0] == '\0')
        return ROTARY_OK;
    return rotary_fail(
        error, ROTARY_INVALID_ARGUMENT,
        "the %s text of the task %s has the hash %s, and %.16s in %s: wanted the lines that the "
        "run began with",
        name, corpus->task, hash, before ? before : "none", path);
}

rotary_status corpus_check(const struct corpus *corpus, const char *folder, rotary_error *error)
{
    char path[FILE_PATH_BYTES];
    json_t *object;
    rotary_status status = file_path(path, folder, FOLDER_CONFIG, error);
    if (status == ROTARY_OK)
        status = file_read_json(path, &object, error);
    if (status != ROTARY_OK)
        return status;
    const json_t *recorded = json_object_get(object, RUN_CORPUS);
    for (int split = corpus->first; recorded && split < TASK_SPLITS && status == ROTARY_OK; split++)
        status = check_split(corpus, split, recorded, path, error);
    json_decref(object);
    return status;
}

rotary_status corpus_check_config(const struct task_config *config, enum task_split first, const char *folder,
                                  rotary_error *error)
{
    struct corpus corpus;
    rotary_status status = corpus_read(&corpus, config, first, error);
    return status == ROTARY_OK ? corpus_check(&corpus, folder, error) : status;
}
