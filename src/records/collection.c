/* SPDX-License-Identifier: Apache-2.0 */
#include "records/collection.h"

#include "base/fail.h"
#include "config/comma_list.h"
#include "file/file.h"
#include "records/comparison/arm_name.h"
#include "records/comparison/comparable_runs.h"
#include "records/places.h"
#include "run_folder/folder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Appends the record of a run's folder. */
static rotary_status add_record(struct collection *collection, const char *folder, rotary_error *error)
{
    struct record *record = &collection->records[collection->record_count];
    rotary_status status = record_read(record, folder, error);
    if (status != ROTARY_OK)
        return status;
    collection->record_count++;
    char *shown = run_archives_shown(&collection->archives, folder);
    if (shown) {
        record->unpacked = record->folder;
        record->folder = shown;
    }
    return ROTARY_OK;
}

static rotary_status rename_arm(struct record *record, const char *name, rotary_error *error)
{
    char *copy = strdup(name);
    if (!copy)
        return rotary_fail_memory(error, "for the records of a comparison");
    free(record->arm);
    record->arm = copy;
    return ROTARY_OK;
}

static rotary_status make_room(struct collection *collection, size_t planned, rotary_error *error)
{
    collection->planned = (int)planned;
    collection->records = calloc(planned, sizeof *collection->records);
    return collection->records ? ROTARY_OK : rotary_fail_memory(error, "for the records of a comparison");
}

/* ---- a comparison ---- */

/* compare.json may have more steps than the runs were made with: these are then unfinished. */
static void raise_steps(struct record *record, int64_t steps)
{
    if (record->steps < steps)
        record->steps = steps;
}

/* Reads the run of the arm and seed if it has begun. */
static rotary_status read_run(struct collection *collection, const char *folder, int index, int64_t seed,
                              rotary_error *error)
{
    char name[RUN_NAME_BYTES], path[FILE_PATH_BYTES], config[FILE_PATH_BYTES];
    const char *arm = collection->file.arms[index].name;
    rotary_status status = file_path(path, folder, run_name(name, arm, seed), error);
    if (status == ROTARY_OK)
        status = file_path(config, path, FOLDER_CONFIG, error);
    bool found = false;
    if (status == ROTARY_OK)
        status = file_find(config, &found, error);
    if (!found)
        return status;
    status = add_record(collection, path, error);
    if (status != ROTARY_OK)
        return status;
    struct record *record = &collection->records[collection->record_count - 1];
    raise_steps(record, comparison_file_steps(&collection->file, index));
    if (record->seed != seed)
        return rotary_fail(error, ROTARY_BAD_FILE, "%s has seed %lld, wanted %lld, as its name says", config,
                           (long long)record->seed, (long long)seed);
    return rename_arm(record, arm, error);
}

/* *arms: the arm of each record, which the caller frees. */
static rotary_status read_runs(struct collection *collection, const char *folder, int **arms,
                               rotary_error *error)
{
    const struct comparison_file *file = &collection->file;
    size_t planned = (size_t)file->seed_count * (size_t)file->arm_count;
    rotary_status status = make_room(collection, planned, error);
    *arms = calloc(planned + 1, sizeof **arms);
    if (status == ROTARY_OK && !*arms)
        status = rotary_fail_memory(error, "for the records of a comparison");
    for (int i = 0; status == ROTARY_OK && i < collection->planned; i++) {
        int arm = i % file->arm_count, before = collection->record_count;
        status = read_run(collection, folder, arm, file->seeds[i / file->arm_count], error);
        if (collection->record_count > before)
            (*arms)[before] = arm;
    }
    return status;
}

static rotary_status read_looks(struct collection *collection, rotary_error *error)
{
    const json_t *looks = json_object_get(collection->description, "looks");
    size_t count = json_array_size(looks);
    collection->looks = malloc(sizeof *collection->looks + count * (sizeof(int64_t) + sizeof(int)));
    if (!collection->looks)
        return rotary_fail_memory(error, "for the records of a comparison");
    int64_t *steps = (int64_t *)(collection->looks + 1);
    int *seeds = (int *)(steps + count);
    for (size_t i = 0; i < count; i++) {
        const json_t *look = json_array_get(looks, i);
        seeds[i] = (int)json_array_size(json_object_get(look, "seeds"));
        steps[i] = json_integer_value(json_object_get(look, "steps"));
    }
    *collection->looks = (struct looks){.seeds = seeds, .steps = steps, .count = (int)count};
    return ROTARY_OK;
}

static rotary_status compare_records(struct collection *collection, const struct collection_options *options,
                                     rotary_error *error)
{
    const struct comparison_file *file = &collection->file;
    const char **names = calloc((size_t)file->arm_count + 1, sizeof *names);
    if (!names)
        return rotary_fail_memory(error, "for the records of a comparison");
    for (int i = 0; i < file->arm_count; i++)
        names[i] = file->arms[i].name;
    /* The rule with which a comparison goes on until a verdict is the one that all its verdicts have. */
    const json_t *until = json_object_get(collection->description, "until");
    const bool until_pairs = json_is_true(json_object_get(until, "all_pairs"));
    if (until && options->all_pairs && !until_pairs) {
        free(names);
        return rotary_fail(
            error, ROTARY_INVALID_ARGUMENT,
            "the comparison was begun with --until and without --all-pairs, which would change its "
            "verdicts: wanted no --all-pairs");
    }
    const struct comparison_request request = {
        .records = collection->records,
        .record_count = collection->record_count,
        .planned = collection->planned,
        .arms = names,
        .arm_count = file->arm_count,
        .all_pairs = options->all_pairs || until_pairs,
        .varied = collection->varied,
        .unlike = collection->unlike,
        .looks = collection->looks,
        .max_pairs = (int)json_integer_value(json_object_get(until, "max_seeds"))};
    rotary_status status = comparison_create(&collection->comparison, &request, error);
    free(names);
    return status;
}

static rotary_status read_comparison(struct collection *collection, const char *folder,
                                     const struct collection_options *options, rotary_error *error)
{
    if (options->vary)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "%s is a comparison, which says what it varies: wanted no --vary, or the folders "
                           "of runs",
                           folder);
    rotary_status status = comparison_file_read(&collection->file, folder, error);
    if (status != ROTARY_OK)
        return status;
    collection->description = collection->file.object;
    collection->varied = strdup(collection->file.varied);
    int *arms = NULL;
    status = collection->varied ? read_runs(collection, folder, &arms, error)
                                : rotary_fail_memory(error, "for the records of a comparison");
    if (status == ROTARY_OK)
        status = comparable_with_comparison(&collection->unlike, &collection->file, collection->records, arms,
                                            collection->record_count, error);
    free(arms);
    if (status == ROTARY_OK)
        status = read_looks(collection, error);
    if (status == ROTARY_OK)
        status = compare_records(collection, options, error);
    if (status == ROTARY_OK && collection->record_count == 0) /* no run has steps yet */
        collection->comparison->steps = collection->file.steps;
    return status;
}

/* ---- plain runs ---- */

static rotary_status add_key(json_t *keys, const struct comma_item *item, rotary_error *error)
{
    json_t *key = json_stringn(item->text, (size_t)item->length);
    if (!key)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "--vary names a key that is not UTF-8");
    bool seed = strcmp(json_string_value(key), "seed") == 0, again = false;
    for (size_t i = 0; i < json_array_size(keys); i++)
        again = again || json_equal(json_array_get(keys, i), key);
    if (!seed && !again) {
        json_array_append_new(keys, key);
        return ROTARY_OK;
    }
    json_decref(key);
    return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "--vary names %.*s%s", item->length, item->text,
                       seed ? ", by which runs are paired: wanted another key" : " twice");
}

/* *keys: "norm,position" as an array of texts, which the caller releases. Sets collection->varied. */
static rotary_status split_keys(struct collection *collection, const char *vary, json_t **keys,
                                rotary_error *error)
{
    rotary_status status = ROTARY_OK;
    *keys = json_array();
    collection->varied = calloc(2 * strlen(vary) + 1, 1);
    if (!collection->varied)
        return rotary_fail_memory(error, "for the records of a comparison");
    struct comma_item item;
    for (const char *rest = vary; status == ROTARY_OK && comma_list_next(&rest, &item);) {
        if (item.length == 0)
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                               "--vary is \"%.80s\", wanted keys with commas between them", vary);
        strncat(collection->varied, item.text, (size_t)item.length);
        strcat(collection->varied, rest ? ", " : "");
        status = add_key(*keys, &item, error);
    }
    return status;
}

static rotary_status name_arm(struct record *record, const json_t *keys, rotary_error *error)
{
    char name[ARM_NAME_BYTES] = "";
    for (size_t i = 0; i < json_array_size(keys); i++) {
        const char *key = json_string_value(json_array_get(keys, i));
        const json_t *value = json_object_get(record->config, key);
        if (!value)
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "%s/" FOLDER_CONFIG " has no key \"%.80s\"",
                               record->folder, key);
        if (!arm_name_add(name, key, value))
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                               "%s: its values of --vary are too long to name it by", record->folder);
    }
    return rename_arm(record, name, error);
}

/* A name leaves out what no folder's name may have: two values must not become one arm. */
static rotary_status check_arms(const struct record *records, int count, const json_t *keys,
                                rotary_error *error)
{
    for (int i = 0; i < count; i++)
        for (int j = 0; j < i; j++)
            for (size_t k = 0; k < json_array_size(keys); k++) {
                const char *key = json_string_value(json_array_get(keys, k));
                if (strcmp(records[i].arm, records[j].arm) == 0 &&
                    !json_equal(json_object_get(records[i].config, key),
                                json_object_get(records[j].config, key)))
                    return rotary_fail(
                        error, ROTARY_INVALID_ARGUMENT,
                        "%s and %s differ in %s, by which both are named %s: wanted other runs",
                        records[j].folder, records[i].folder, key, records[i].arm);
            }
    return ROTARY_OK;
}

/* Runs that are not alike have the keys that they differ in in their names, too, so that none shares an arm
 * with one that it does not compare with. Where that makes too long a name, it is the folder. */
static rotary_status name_apart(struct record *record, const json_t *found, rotary_error *error)
{
    char name[ARM_NAME_BYTES];
    bool fits = snprintf(name, sizeof name, "%s", record->arm) < (int)sizeof name;
    for (size_t i = 0; fits && i < json_array_size(found); i++) {
        const char *key = json_string_value(json_array_get(found, i));
        const json_t *value = json_object_get(record->config, key);
        fits = !value || arm_name_add(name, key, value);
    }
    return rename_arm(record, fits ? name : record->folder, error);
}

static rotary_status read_folders(struct collection *collection, const char *const *folders, int count,
                                  rotary_error *error)
{
    rotary_status status = make_room(collection, (size_t)count, error);
    for (int i = 0; status == ROTARY_OK && i < count; i++) {
        char config[FILE_PATH_BYTES];
        status = file_path(config, folders[i], FOLDER_CONFIG, error);
        bool found = true;
        if (status == ROTARY_OK)
            status = file_find(config, &found, error);
        if (status == ROTARY_OK && !found)
            return rotary_fail(error, ROTARY_IO_ERROR, "%s holds neither a run nor a comparison: %s",
                               folders[i],
                               access(folders[i], F_OK) != 0 && errno == ENOENT ? "there is no such folder"
                                                                                : "wanted a " FOLDER_CONFIG
                                                                                  " or a compare.json");
        if (status == ROTARY_OK)
            status = add_record(collection, folders[i], error);
    }
    return status;
}

static rotary_status name_arms(struct collection *collection, const json_t *keys, bool varied,
                               rotary_error *error)
{
    struct record *records = collection->records;
    int count = collection->record_count;
    json_t *found = json_array();
    rotary_status status = ROTARY_OK;
    for (int i = 0; varied && status == ROTARY_OK && i < count; i++)
        status = name_arm(&records[i], keys, error);
    if (varied && status == ROTARY_OK)
        status = check_arms(records, count, keys, error);
    if (status == ROTARY_OK)
        status = comparable_runs(&collection->unlike, records, count, keys, found, error);
    for (int i = 0; status == ROTARY_OK && collection->unlike && i < count; i++)
        status = name_apart(&records[i], found, error);
    json_decref(found);
    return status;
}

static rotary_status read_plain_runs(struct collection *collection, const char *const *folders, int count,
                                     const struct collection_options *options, rotary_error *error)
{
    json_t *keys = NULL;
    rotary_status status = read_folders(collection, folders, count, error);
    if (status == ROTARY_OK)
        status = split_keys(collection, options->vary ? options->vary : "position", &keys, error);
    if (status == ROTARY_OK)
        status = name_arms(collection, keys, options->vary != NULL, error);
    json_decref(keys);
    return status == ROTARY_OK ? compare_records(collection, options, error) : status;
}

static rotary_status read_places(struct collection *collection, const struct folder_list *places,
                                 const struct collection_options *options, rotary_error *error)
{
    const char *const *folders = (const char *const *)places->items;
    for (int i = 0; i < places->count && places->count > 1; i++)
        if (comparison_file_exists(folders[i]))
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                               "%s is a comparison: wanted no other folder beside it, or the folders of runs",
                               folders[i]);
    return comparison_file_exists(folders[0])
               ? read_comparison(collection, folders[0], options, error)
               : read_plain_runs(collection, folders, places->count, options, error);
}

rotary_status collection_read_with(struct collection *collection, const char *const *folders, int count,
                                   const struct collection_options *options, rotary_error *error)
{
    struct folder_list places = {0};
    rotary_status status = ROTARY_OK;
    *collection = (struct collection){0};
    if (count < 1)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "no folder was given: wanted a run or a comparison");
    for (int i = 0; status == ROTARY_OK && i < count; i++)
        status = places_add(&places, &collection->archives, folders[i], error);
    if (status == ROTARY_OK)
        status = read_places(collection, &places, options, error);
    folder_list_free(&places);
    if (status == ROTARY_OK)
        return ROTARY_OK;
    run_archives_name(&collection->archives, error);
    collection_free(collection);
    return status;
}

rotary_status collection_read(struct collection *collection, const char *const *folders, int count,
                              rotary_error *error)
{
    return collection_read_with(collection, folders, count, &(struct collection_options){0}, error);
}

/* Why there are no scores of sentences or examples names files, too. */
static void name_fault(const struct collection *collection, char **fault)
{
    rotary_error named;
    (void)rotary_fail(&named, ROTARY_BAD_FILE, "%s", *fault ? *fault : "");
    run_archives_name(&collection->archives, &named);
    char *copy = *fault ? strdup(named.message) : NULL;
    if (!copy)
        return;
    free(*fault);
    *fault = copy;
}

rotary_status collection_read_answers(struct collection *collection, rotary_error *error)
{
    struct comparison *comparison = collection->comparison;
    rotary_status status = ROTARY_OK;
    if (comparison->scoring == SCORING_BLEU)
        status = sentence_scores_create(&collection->sentences, comparison, error);
    else if (comparison->examples > 0)
        status = example_scores_create(&collection->predictions, comparison, error);
    if (status != ROTARY_OK)
        run_archives_name(&collection->archives, error);
    if (collection->sentences)
        name_fault(collection, &collection->sentences->fault);
    if (collection->predictions)
        name_fault(collection, &collection->predictions->fault);
    comparison->sentences = collection->sentences;
    comparison->predictions = collection->predictions;
    return status;
}

void collection_free(struct collection *collection)
{
    sentence_scores_destroy(collection->sentences);
    example_scores_destroy(collection->predictions);
    comparison_destroy(collection->comparison);
    for (int i = 0; i < collection->record_count; i++)
        record_free(&collection->records[i]);
    free(collection->records);
    free(collection->varied);
    free(collection->unlike);
    free(collection->looks);
    comparison_file_free(&collection->file);
    run_archives_close(&collection->archives);
    *collection = (struct collection){0};
}
