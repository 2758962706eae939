/* SPDX-License-Identifier: Apache-2.0 */
#include "study/heatmap_sides.h"

#include "base/fail.h"
#include "model/encoding/model_encoding.h"
#include "records/collection.h"
#include "run_folder/run_archive.h"
#include "train/run.h"
#include "train/weights/huggingface_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static rotary_status begin_side(struct heatmaps *maps, const char *name, int runs, rotary_error *error)
{
    struct heatmap_side *side = &maps->sides[maps->side_count++];
    side->name = strdup(name);
    side->runs = calloc((size_t)runs, sizeof *side->runs);
    return side->name && side->runs ? ROTARY_OK : rotary_fail_memory(error, "for the runs of a heatmap");
}

static rotary_status add_run(struct heatmap_side *side, const struct record *record, rotary_error *error)
{
    struct heatmap_run *run = &side->runs[side->run_count++];
    *run = (struct heatmap_run){.folder = strdup(record->folder), .seed = record->seed};
    return run->folder ? ROTARY_OK : rotary_fail_memory(error, "for the runs of a heatmap");
}

static rotary_status set_task(struct heatmaps *maps, const char *task, const char *folder,
                              rotary_error *error)
{
    if (maps->task && strcmp(maps->task, task) != 0)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "%s has task %s, wanted %s, as the first run has",
                           folder, task, maps->task);
    if (!maps->task)
        maps->task = strdup(task);
    return maps->task ? ROTARY_OK : rotary_fail_memory(error, "for the runs of a heatmap");
}

/* ---- runs ---- */

/* A Hugging Face model has no records. */
static rotary_status read_model(struct heatmaps *maps, const char *folder, rotary_error *error)
{
    struct run_config config RUN_CONFIG_LOCAL = {0};
    rotary_status status = run_read_config(folder, &config, error);
    if (status == ROTARY_OK)
        status = set_task(maps, task_names[config.task.task], folder, error);
    if (status != ROTARY_OK)
        return status;
    char *path = strdup(folder);
    struct record record = {.folder = path, .seed = config.train.seed};
    status = path ? begin_side(maps, model_encoding_name(&config.model), 1, error)
                  : rotary_fail_memory(error, "for the runs of a heatmap");
    if (status == ROTARY_OK)
        status = add_run(&maps->sides[maps->side_count - 1], &record, error);
    free(path);
    return status;
}

static rotary_status read_run(struct heatmaps *maps, const char *folder, rotary_error *error)
{
    struct record record;
    bool transformers;
    rotary_status status = run_archive_refuse(folder, error);
    if (status == ROTARY_OK)
        status = huggingface_run_find(folder, &transformers, error);
    if (status == ROTARY_OK && transformers)
        return read_model(maps, folder, error);
    if (status == ROTARY_OK)
        status = record_read(&record, folder, error);
    if (status != ROTARY_OK)
        return status;
    status = set_task(maps, record.task, folder, error);
    if (status == ROTARY_OK)
        status = begin_side(maps, record.arm, 1, error);
    if (status == ROTARY_OK)
        status = add_run(&maps->sides[maps->side_count - 1], &record, error);
    record_free(&record);
    return status;
}

/* The last `components` parts of a path, without a slash at its end: length bytes from the result on. */
static const char *path_tail(const char *path, int components, size_t *length)
{
    size_t end = strlen(path);
    while (end > 1 && path[end - 1] == '/')
        end--;
    size_t begin = end;
    for (; components > 0 && begin > 0; components--) {
        while (begin > 0 && path[begin - 1] == '/')
            begin--;
        while (begin > 0 && path[begin - 1] != '/')
            begin--;
    }
    *length = end - begin;
    return path + begin;
}

/* How many parts at the end of two paths tell them apart; 0: they are one. */
static int telling_parts(const char *first, const char *second)
{
    size_t length = 0, other_length = 0, before, other_before;
    for (int parts = 1;; parts++) {
        before = length;
        other_before = other_length;
        const char *tail = path_tail(first, parts, &length), *other = path_tail(second, parts, &other_length);
        if (length != other_length || strncmp(tail, other, length) != 0)
            return parts;
        if (length == before && other_length == other_before)
            return 0;
    }
}

/* Two sides of one name are named by their folders, too; the same run twice is numbered. */
static rotary_status tell_apart(struct heatmaps *maps, rotary_error *error)
{
    if (maps->side_count != 2 || strcmp(maps->sides[0].name, maps->sides[1].name) != 0)
        return ROTARY_OK;
    const int parts = telling_parts(maps->sides[0].runs[0].folder, maps->sides[1].runs[0].folder);
    for (int i = 0; i < maps->side_count; i++) {
        size_t length;
        const char *tail = path_tail(maps->sides[i].runs[0].folder, parts, &length);
        size_t bytes = strlen(maps->sides[i].name) + length + 16;
        char *name = malloc(bytes);
        if (!name)
            return rotary_fail_memory(error, "for the runs of a heatmap");
        if (parts > 0)
            snprintf(name, bytes, "%s (%.*s)", maps->sides[i].name, (int)length, tail);
        else
            snprintf(name, bytes, "%s %d", maps->sides[i].name, i + 1);
        free(maps->sides[i].name);
        maps->sides[i].name = name;
    }
    return ROTARY_OK;
}

/* ---- arms of a comparison ---- */

/* Which arms of a comparison are the sides. */
struct chosen_arms {
    int arms[HEATMAP_SIDES], count;
};

/* The arm that a list of names begins with, of several the one with the longest name, since names may have
 * commas; -1: it begins with none. */
static int first_arm(const struct comparison *comparison, const char *names)
{
    int found = -1;
    for (int arm = 0; arm < comparison->arm_count; arm++) {
        const char *name = comparison->arms[arm].name;
        const size_t length = strlen(name);
        if (strncmp(names, name, length) == 0 && (names[length] == ',' || names[length] == '\0') &&
            (found < 0 || length > strlen(comparison->arms[found].name)))
            found = arm;
    }
    return found;
}

static rotary_status fail_arms(const struct comparison *comparison, const char *names, rotary_error *error)
{
    return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                       "--arms is \"%.100s\", wanted arms of the comparison, such as \"%s,%s\"", names,
                       comparison->arms[0].name, comparison->arms[comparison->arm_count > 1].name);
}

static rotary_status add_arm(struct chosen_arms *chosen, const struct comparison *comparison, int arm,
                             rotary_error *error)
{
    for (int i = 0; i < chosen->count; i++)
        if (chosen->arms[i] == arm)
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "--arms names %s twice",
                               comparison->arms[arm].name);
    if (chosen->count == HEATMAP_SIDES)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "more than %d arms side by side: name fewer of them with --arms",
                           (int)HEATMAP_SIDES);
    chosen->arms[chosen->count++] = arm;
    return ROTARY_OK;
}

/* The arms that "sinusoidal,rope" names; NULL: all. */
static rotary_status find_arms(const struct comparison *comparison, const char *names,
                               struct chosen_arms *chosen, rotary_error *error)
{
    rotary_status status = ROTARY_OK;
    *chosen = (struct chosen_arms){0};
    for (int i = 0; !names && status == ROTARY_OK && i < comparison->arm_count; i++)
        status = add_arm(chosen, comparison, i, error);
    for (const char *rest = names; rest && status == ROTARY_OK;) {
        const int arm = first_arm(comparison, rest);
        if (arm < 0)
            return fail_arms(comparison, names, error);
        status = add_arm(chosen, comparison, arm, error);
        rest += strlen(comparison->arms[arm].name);
        rest = *rest == ',' ? rest + 1 : NULL;
    }
    return status;
}

/* The finished run of an arm with this seed; NULL: there is none. */
static const struct record *run_of_seed(const struct comparison *comparison, int arm, int64_t seed)
{
    for (int i = 0; i < comparison->arms[arm].run_count; i++) {
        const struct record *record = &comparison->records[comparison->arms[arm].runs[i]];
        if (record->seed == seed)
            return record;
    }
    return NULL;
}

/* Adds the runs of a seed to the sides, unless an arm has none. */
static rotary_status add_seed(struct heatmaps *maps, const struct comparison *comparison,
                              const struct chosen_arms *chosen, int64_t seed, rotary_error *error)
{
    const struct record *records[HEATMAP_SIDES];
    for (int i = 0; i < chosen->count; i++) {
        records[i] = run_of_seed(comparison, chosen->arms[i], seed);
        if (!records[i])
            return ROTARY_OK;
    }
    rotary_status status = ROTARY_OK;
    for (int i = 0; status == ROTARY_OK && i < chosen->count; i++)
        status = add_run(&maps->sides[i], records[i], error);
    return status;
}

static rotary_status pair_runs(struct heatmaps *maps, const struct comparison *comparison,
                               const struct chosen_arms *chosen, rotary_error *error)
{
    const struct comparison_arm *first = &comparison->arms[chosen->arms[0]];
    rotary_status status = ROTARY_OK;
    for (int i = 0; status == ROTARY_OK && i < chosen->count; i++)
        status = begin_side(maps, comparison->arms[chosen->arms[i]].name, first->run_count + 1, error);
    for (int i = 0; status == ROTARY_OK && i < first->run_count; i++)
        status = add_seed(maps, comparison, chosen, comparison->records[first->runs[i]].seed, error);
    if (status == ROTARY_OK && maps->sides[0].run_count == 0)
        return rotary_fail(
            error, ROTARY_INVALID_ARGUMENT,
            "there is no seed that all %d arms have finished, wanted at least one: name fewer of "
            "them with --arms",
            chosen->count);
    return status;
}

static rotary_status read_comparison(struct heatmaps *maps, const char *folder, const char *names,
                                     rotary_error *error)
{
    struct collection collection;
    struct chosen_arms arms;
    rotary_status status = collection_read(&collection, &folder, 1, error);
    if (status != ROTARY_OK)
        return status;
    status = find_arms(collection.comparison, names, &arms, error);
    if (status == ROTARY_OK)
        status = pair_runs(maps, collection.comparison, &arms, error);
    if (status == ROTARY_OK)
        status = set_task(maps, collection.records[0].task, folder, error);
    collection_free(&collection);
    return status;
}

rotary_status heatmap_sides_read(struct heatmaps *maps, const char *const *folders, int count,
                                 const char *arms, rotary_error *error)
{
    struct heatmaps made = {0};
    rotary_status status = ROTARY_OK;
    bool comparison = comparison_file_exists(folders[0]);
    if (count > 1 && (comparison || comparison_file_exists(folders[1])))
        status = rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                             "two folders, one of a comparison: wanted one comparison, or two runs");
    else if (comparison)
        status = read_comparison(&made, folders[0], arms, error);
    else if (arms)
        status = rotary_fail(error, ROTARY_INVALID_ARGUMENT, "--arms: %s is a run, wanted a comparison",
                             folders[0]);
    for (int i = 0; !comparison && status == ROTARY_OK && i < count; i++)
        status = read_run(&made, folders[i], error);
    if (status == ROTARY_OK)
        status = tell_apart(&made, error);
    if (status == ROTARY_OK)
        *maps = made;
    else
        heatmaps_free(&made);
    return status;
}
