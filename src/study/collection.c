/* SPDX-License-Identifier: Apache-2.0 */
#include "study/collection.h"

#include "base/fail.h"
#include "file/file.h"
#include "train/folder.h"

#include <stdio.h>
#include <stdlib.h>

enum { MAX_RUNS = 10000, MAX_POSITIONS = 100 };

bool collection_is_comparison(const char *folder)
{
    char path[FILE_PATH_BYTES];
    return file_path(path, folder, "compare.json", NULL) == ROTARY_OK && file_exists(path);
}

/* The contents of compare.json. `positions` point into the JSON object. */
struct description {
    const char **positions;
    int position_count, runs;
    int64_t first_seed, steps; /* steps: of a run; 0: not given */
};

static rotary_status read_description(struct description *description, const json_t *object, const char *path,
                                      rotary_error *error)
{
    rotary_status status = file_check_format(path, object, COMPARE_FORMAT, error);
    if (status != ROTARY_OK)
        return status;
    const json_t *positions = json_object_get(object, "positions"), *runs = json_object_get(object, "runs"),
                 *seed = json_object_get(json_object_get(object, "config"), "seed");
    size_t count = json_array_size(positions);
    if (count == 0 || count > MAX_POSITIONS || !json_is_integer(runs) || json_integer_value(runs) < 1 ||
        json_integer_value(runs) > MAX_RUNS || !json_is_integer(seed) ||
        json_integer_value(seed) > INT64_MAX - MAX_RUNS ||
        !json_is_string(json_object_get(object, "command")))
        return rotary_fail(
            error, ROTARY_BAD_FILE,
            "%s: wanted positions (names), runs (1 to %d), command (text), and a config with its seed", path,
            (int)MAX_RUNS);
    description->positions = calloc(count, sizeof *description->positions);
    if (!description->positions)
        return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory for %s", path);
    for (size_t i = 0; i < count; i++) {
        description->positions[i] = json_string_value(json_array_get(positions, i));
        if (!description->positions[i])
            return rotary_fail(error, ROTARY_BAD_FILE, "%s: positions: wanted names of position encodings",
                               path);
    }
    description->position_count = (int)count;
    description->runs = (int)json_integer_value(runs);
    description->first_seed = json_integer_value(seed);
    description->steps = json_integer_value(json_object_get(json_object_get(object, "config"), "steps"));
    return ROTARY_OK;
}

/* Appends the record of a run's folder. */
static rotary_status add_record(struct collection *collection, const char *folder, rotary_error *error)
{
    rotary_status status = record_read(&collection->records[collection->record_count], folder, error);
    collection->record_count += status == ROTARY_OK;
    return status;
}

static rotary_status make_room(struct collection *collection, int planned, rotary_error *error)
{
    collection->planned = planned;
    collection->records = calloc((size_t)planned, sizeof *collection->records);
    return collection->records
               ? ROTARY_OK
               : rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory for the records of %d runs", planned);
}

/* compare.json may have more steps than the runs were made with: these are then unfinished. */
static void raise_steps(struct record *record, int64_t steps)
{
    if (record->steps < steps)
        record->steps = steps;
}

static rotary_status read_runs(struct collection *collection, const struct description *description,
                               const char *folder, rotary_error *error)
{
    rotary_status status = make_room(collection, description->runs * description->position_count, error);
    for (int i = 0; status == ROTARY_OK && i < collection->planned; i++) {
        char name[FILE_PATH_BYTES], path[FILE_PATH_BYTES], config[FILE_PATH_BYTES];
        snprintf(name, sizeof name, "%s-%lld", description->positions[i % description->position_count],
                 (long long)(description->first_seed + i / description->position_count));
        status = file_path(path, folder, name, error);
        if (status == ROTARY_OK)
            status = file_path(config, path, FOLDER_CONFIG, error);
        bool found = false;
        if (status == ROTARY_OK)
            status = file_find(config, &found, error);
        if (!found)
            continue;
        status = add_record(collection, path, error);
        if (status == ROTARY_OK)
            raise_steps(&collection->records[collection->record_count - 1], description->steps);
    }
    if (status == ROTARY_OK)
        status = comparison_create(&collection->comparison,
                                   &(struct comparison_request){.records = collection->records,
                                                                .record_count = collection->record_count,
                                                                .arms = description->positions,
                                                                .arm_count = description->position_count},
                                   error);
    if (status == ROTARY_OK && collection->record_count == 0) /* no run has steps yet */
        collection->comparison->steps = description->steps;
    return status;
}

static rotary_status read_comparison(struct collection *collection, const char *folder, rotary_error *error)
{
    char path[FILE_PATH_BYTES];
    rotary_status status = file_path(path, folder, "compare.json", error);
    if (status == ROTARY_OK)
        status = file_read_json(path, &collection->description, error);
    if (status != ROTARY_OK)
        return status;
    struct description description = {0};
    status = read_description(&description, collection->description, path, error);
    if (status == ROTARY_OK)
        status = read_runs(collection, &description, folder, error);
    free(description.positions);
    return status;
}

static rotary_status read_plain_runs(struct collection *collection, const char *const *folders, int count,
                                     rotary_error *error)
{
    rotary_status status = make_room(collection, count, error);
    for (int i = 0; status == ROTARY_OK && i < count; i++) {
        char config[FILE_PATH_BYTES];
        status = file_path(config, folders[i], FOLDER_CONFIG, error);
        bool found = true;
        if (status == ROTARY_OK)
            status = file_find(config, &found, error);
        if (status == ROTARY_OK && !found)
            return rotary_fail(error, ROTARY_IO_ERROR,
                               "%s holds neither a run nor a comparison: wanted a " FOLDER_CONFIG
                               " or a compare.json",
                               folders[i]);
        if (status == ROTARY_OK)
            status = add_record(collection, folders[i], error);
    }
    if (status == ROTARY_OK)
        status = comparison_create(&collection->comparison,
                                   &(struct comparison_request){.records = collection->records,
                                                                .record_count = collection->record_count},
                                   error);
    return status;
}

rotary_status collection_read(struct collection *collection, const char *const *folders, int count,
                              rotary_error *error)
{
    *collection = (struct collection){0};
    if (count < 1)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "no folder was given: wanted a run or a comparison");
    for (int i = 0; i < count && count > 1; i++)
        if (collection_is_comparison(folders[i]))
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                               "%s is a comparison: wanted no other folder beside it, or the folders of runs",
                               folders[i]);
    rotary_status status = collection_is_comparison(folders[0])
                               ? read_comparison(collection, folders[0], error)
                               : read_plain_runs(collection, folders, count, error);
    if (status != ROTARY_OK)
        collection_free(collection);
    return status;
}

void collection_free(struct collection *collection)
{
    comparison_destroy(collection->comparison);
    for (int i = 0; i < collection->record_count; i++)
        record_free(&collection->records[i]);
    free(collection->records);
    json_decref(collection->description);
    *collection = (struct collection){0};
}
