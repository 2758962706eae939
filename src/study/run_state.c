/* SPDX-License-Identifier: Apache-2.0 */
#include "study/run_state.h"

#include "file/file.h"
#include "records/records.h"
#include "run_folder/folder.h"

/* False: there is none, or it cannot be read. */
static bool read_record(const struct run_list *list, const struct listed_run *run, struct record *record)
{
    char folder[FILE_PATH_BYTES], path[FILE_PATH_BYTES];
    return file_path(folder, list->folder, run->name, NULL) == ROTARY_OK &&
           file_path(path, folder, FOLDER_CONFIG, NULL) == ROTARY_OK && file_exists(path) &&
           record_read(record, folder, NULL) == ROTARY_OK;
}

static int64_t steps_left(const struct record *record, int64_t steps)
{
    const int64_t left = steps - record->done;
    return record->diverged || (left <= 0 && record_finished(record)) ? -1 : left;
}

int64_t run_state_steps_left(const struct run_list *list, const struct listed_run *run)
{
    int64_t left = run->config->train.steps;
    struct record record;
    if (!read_record(list, run, &record))
        return left;
    left = steps_left(&record, left);
    record_free(&record);
    return left;
}

bool run_state_has_records_alone(const struct run_list *list, const struct listed_run *run)
{
    char folder[FILE_PATH_BYTES], weights[FILE_PATH_BYTES];
    struct record record;
    if (file_path(folder, list->folder, run->name, NULL) != ROTARY_OK ||
        file_path(weights, folder, FOLDER_MODEL, NULL) != ROTARY_OK || file_exists(weights) ||
        !read_record(list, run, &record))
        return false;
    const bool alone = !record.diverged && steps_left(&record, run->config->train.steps) < 0;
    record_free(&record);
    return alone;
}
