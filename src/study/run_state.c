/* SPDX-License-Identifier: Apache-2.0 */
#include "study/run_state.h"

#include "file/file.h"
#include "records/records.h"
#include "run_folder/folder.h"

/* False: there is none, or it cannot be read. */
static bool read_record(const char *folder, struct record *record)
{
    return file_exists_in(folder, FOLDER_CONFIG) && record_read(record, folder, NULL) == ROTARY_OK;
}

static int64_t steps_left(const struct record *record, int64_t steps)
{
    const int64_t left = steps - record->done;
    return record->diverged || (left <= 0 && record_finished(record)) ? -1 : left;
}

int64_t run_state_steps_left(const struct run_list *list, const struct listed_run *run)
{
    char folder[FILE_PATH_BYTES];
    int64_t left = run->config->train.steps;
    struct record record;
    if (file_path(folder, list->folder, run->name, NULL) != ROTARY_OK || !read_record(folder, &record))
        return left;
    left = steps_left(&record, left);
    record_free(&record);
    return left;
}

bool run_state_has_records_alone(const char *folder, int64_t steps)
{
    struct record record;
    if (file_exists_in(folder, FOLDER_MODEL) || !read_record(folder, &record))
        return false;
    const bool alone = !record.diverged && steps_left(&record, steps) < 0;
    record_free(&record);
    return alone;
}
