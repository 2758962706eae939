/* SPDX-License-Identifier: Apache-2.0 */
#include "study/heatmap_sides.h"

#include "base/fail.h"
#include "study/collection.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static rotary_status fail_memory(rotary_error *error)
{
    return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory for the runs of a heatmap");
}

static rotary_status begin_side(struct heatmaps *maps, const char *name, int runs, rotary_error *error)
{
    struct heatmap_side *side = &maps->sides[maps->side_count++];
    side->name = strdup(name);
    side->runs = calloc((size_t)runs, sizeof *side->runs);
    return side->name && side->runs ? ROTARY_OK : fail_memory(error);
}

static rotary_status add_run(struct heatmap_side *side, const struct record *record, rotary_error *error)
{
    struct heatmap_run *run = &side->runs[side->run_count++];
    *run = (struct heatmap_run){.folder = strdup(record->folder), .seed = record->seed};
    return run->folder ? ROTARY_OK : fail_memory(error);
}

static rotary_status set_task(struct heatmaps *maps, const char *task, const char *folder,
                              rotary_error *error)
{
    if (maps->task && strcmp(maps->task, task) != 0)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "%s has task %s, wanted %s, as the first run has",
                           folder, task, maps->task);
    if (!maps->task)
        maps->task = strdup(task);
    return maps->task ? ROTARY_OK : fail_memory(error);
}

/* ---- runs ---- */

static rotary_status read_run(struct heatmaps *maps, const char *folder, rotary_error *error)
{
    struct record record;
    rotary_status status = record_read(&record, folder, error);
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

/* Two sides of one name are numbered. */
static rotary_status tell_apart(struct heatmaps *maps, rotary_error *error)
{
    if (maps->side_count < 2 || strcmp(maps->sides[0].name, maps->sides[1].name) != 0)
        return ROTARY_OK;
    for (int i = 0; i < maps->side_count; i++) {
        size_t bytes = strlen(maps->sides[i].name) + 3;
        char *name = malloc(bytes);
        if (!name)
            return fail_memory(error);
        snprintf(name, bytes, "%s %d", maps->sides[i].name, i + 1);
        free(maps->sides[i].name);
        maps->sides[i].name = name;
    }
    return ROTARY_OK;
}

/* ---- arms of a comparison ---- */

/* The arms that "sinusoidal,rope" names, or the first two of two. */
static rotary_status find_arms(const struct comparison *comparison, const char *names,
                               int arms[HEATMAP_SIDES], rotary_error *error)
{
    if (!names && comparison->arm_count != HEATMAP_SIDES)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "the comparison has %d arms, wanted 2: name two of them with --arms",
                           comparison->arm_count);
    for (int i = 0; i < HEATMAP_SIDES; i++)
        arms[i] = i;
    if (!names)
        return ROTARY_OK;
    const char *rest = names;
    for (int i = 0; i < HEATMAP_SIDES; i++) {
        arms[i] = -1;
        for (int arm = 0; arm < comparison->arm_count; arm++) {
            const char *name = comparison->arms[arm].name;
            size_t length = strlen(name);
            char end = i + 1 < HEATMAP_SIDES ? ',' : 0;
            if (strncmp(rest, name, length) == 0 && rest[length] == end)
                arms[i] = arm;
        }
        if (arms[i] < 0)
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                               "--arms is \"%.100s\", wanted two arms of the comparison, such as \"%s,%s\"",
                               names, comparison->arms[0].name,
                               comparison->arms[comparison->arm_count > 1].name);
        rest += strlen(comparison->arms[arms[i]].name) + (i + 1 < HEATMAP_SIDES);
    }
    if (arms[0] == arms[1])
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "--arms names %s twice",
                           comparison->arms[arms[0]].name);
    return ROTARY_OK;
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

static rotary_status pair_runs(struct heatmaps *maps, const struct comparison *comparison,
                               const int arms[HEATMAP_SIDES], rotary_error *error)
{
    const struct comparison_arm *first = &comparison->arms[arms[0]];
    rotary_status status = ROTARY_OK;
    for (int i = 0; status == ROTARY_OK && i < HEATMAP_SIDES; i++)
        status = begin_side(maps, comparison->arms[arms[i]].name, first->run_count + 1, error);
    for (int i = 0; status == ROTARY_OK && i < first->run_count; i++) {
        const struct record *record = &comparison->records[first->runs[i]],
                            *other = run_of_seed(comparison, arms[1], record->seed);
        if (!other)
            continue;
        status = add_run(&maps->sides[0], record, error);
        if (status == ROTARY_OK)
            status = add_run(&maps->sides[1], other, error);
    }
    if (status == ROTARY_OK && maps->sides[0].run_count == 0)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "%s and %s have no seed that both have finished, wanted at least one",
                           maps->sides[0].name, maps->sides[1].name);
    return status;
}

static rotary_status read_comparison(struct heatmaps *maps, const char *folder, const char *names,
                                     rotary_error *error)
{
    struct collection collection;
    int arms[HEATMAP_SIDES];
    rotary_status status = collection_read(&collection, &folder, 1, error);
    if (status != ROTARY_OK)
        return status;
    status = find_arms(collection.comparison, names, arms, error);
    if (status == ROTARY_OK)
        status = pair_runs(maps, collection.comparison, arms, error);
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
