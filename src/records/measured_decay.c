/* SPDX-License-Identifier: Apache-2.0 */
#include "records/measured_decay.h"

#include "base/fail.h"
#include "config/json_fields.h"
#include "file/checksum/json_checksum.h"
#include "file/file.h"
#include "run_folder/folder.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Layers, heads, and means of a file, whose text has about twelve bytes for each. */
enum { MAX_SIDE = 1024, MAX_MEANS = 3 << 20, MAX_FILE_BYTES = 64 << 20, DECAY_FORMAT = 2 };

const char *const decay_axis_names[] = {"distance", "query", NULL};
const char *const decay_counted[] = {"pairs", "queries", NULL};
const char *const decay_measure_names[] = {"score", "weight", "bias", "entropy", "output_norm", NULL};

/* ---- memory ---- */

/* How many means each head of each layer has. */
static int64_t count_means(const struct decay_kind *kind)
{
    int64_t means = 0;
    for (int i = 0; i < DECAY_MEASURES; i++)
        means += decay_points_of(kind, (enum decay_measure)i)->count;
    return means;
}

rotary_status decay_kind_create(struct decay_kind *kind, const struct decay_kind *sizes, rotary_error *error)
{
    const int64_t heads = sizes->layers * sizes->heads;
    *kind = (struct decay_kind){.heads = sizes->heads};
    if (count_means(sizes) > MAX_MEANS / heads)
        return rotary_fail(
            error, ROTARY_INVALID_ARGUMENT,
            "%lld distances and %lld places in %lld layers of %lld heads are %lld means: wanted "
            "at most %d",
            (long long)sizes->axes[DECAY_BY_DISTANCE].count, (long long)sizes->axes[DECAY_BY_QUERY].count,
            (long long)sizes->layers, (long long)sizes->heads, (long long)(count_means(sizes) * heads),
            (int)MAX_MEANS);
    bool complete = true;
    for (int axis = 0; axis < DECAY_AXES; axis++) {
        struct decay_points *points = &kind->axes[axis];
        *points = (struct decay_points){sizes->axes[axis].first, sizes->axes[axis].count, NULL};
        points->counts = calloc((size_t)(sizes->layers * points->count), sizeof *points->counts);
        complete = complete && points->counts;
    }
    for (int i = 0; i < DECAY_MEASURES; i++) {
        const int64_t points = decay_points_of(kind, (enum decay_measure)i)->count;
        kind->means[i] = calloc((size_t)(heads * points), sizeof *kind->means[i]);
        complete = complete && kind->means[i];
    }
    if (!complete)
        return rotary_fail_memory(error, "for scores by distance");
    kind->layers = sizes->layers;
    return ROTARY_OK;
}

void measured_decay_free(struct measured_decay *decay)
{
    for (int kind = 0; kind < ATTENTION_KINDS; kind++) {
        for (int axis = 0; axis < DECAY_AXES; axis++)
            free(decay->kinds[kind].axes[axis].counts);
        for (int i = 0; i < DECAY_MEASURES; i++)
            free(decay->kinds[kind].means[i]);
        decay->kinds[kind] = (struct decay_kind){0};
    }
}

/* ---- writing ---- */

static json_t *mean_json(double mean)
{
    char text[32];
    if (!isfinite(mean))
        return json_null();
    snprintf(text, sizeof text, "%.6e", mean);
    return json_real(strtod(text, NULL));
}

static json_t *means_json(const struct decay_kind *kind, enum decay_measure measure)
{
    json_t *list = json_array();
    for (int64_t layer = 0; layer < kind->layers; layer++) {
        json_t *heads = json_array();
        for (int64_t head = 0; head < kind->heads; head++) {
            json_t *means = json_array();
            for (int64_t i = 0; i < decay_points_of(kind, measure)->count; i++)
                json_array_append_new(means, mean_json(decay_means(kind, measure, layer, head)[i]));
            json_array_append_new(heads, means);
        }
        json_array_append_new(list, heads);
    }
    return list;
}

/* Adds the points of an axis, and what is counted at each, layer by layer. */
static void add_points(json_t *object, const struct decay_kind *kind, enum decay_axis axis)
{
    const struct decay_points *points = &kind->axes[axis];
    json_t *places = json_array(), *counts = json_array();
    for (int64_t i = 0; i < points->count; i++)
        json_array_append_new(places, json_integer(points->first + i));
    for (int64_t layer = 0; layer < kind->layers; layer++) {
        json_t *list = json_array();
        for (int64_t i = 0; i < points->count; i++)
            json_array_append_new(list, json_integer(points->counts[layer * points->count + i]));
        json_array_append_new(counts, list);
    }
    json_object_set_new(object, decay_axis_names[axis], places);
    json_object_set_new(object, decay_counted[axis], counts);
}

static json_t *kind_json(const struct decay_kind *kind, enum attention_kind name)
{
    json_t *object = json_pack("{s:s}", "kind", attention_kind_name(name));
    for (int axis = 0; axis < DECAY_AXES; axis++) {
        add_points(object, kind, (enum decay_axis)axis);
        for (int i = 0; i < DECAY_MEASURES; i++)
            if (decay_axis_of((enum decay_measure)i) == (enum decay_axis)axis)
                json_object_set_new(object, decay_measure_names[i], means_json(kind, (enum decay_measure)i));
    }
    return object;
}

json_t *measured_decay_json(const struct measured_decay *decay)
{
    json_t *kinds = json_array();
    for (int kind = 0; kind < ATTENTION_KINDS; kind++)
        if (decay->kinds[kind].layers > 0)
            json_array_append_new(kinds, kind_json(&decay->kinds[kind], (enum attention_kind)kind));
    return json_pack("{s:i, s:s, s:I, s:s, s:I, s:I, s:I, s:s, s:o}", "format", (int)DECAY_FORMAT, "position",
                     decay->position, "step", (json_int_t)decay->step, "checkpoint", decay->checkpoint,
                     "seed", (json_int_t)decay->seed, "sequences", (json_int_t)decay->sequences, "length",
                     (json_int_t)decay->length, "scaling", decay->scaling, "kinds", kinds);
}

rotary_status measured_decay_write(const struct measured_decay *decay, const char *folder,
                                   rotary_error *error)
{
    char path[FILE_PATH_BYTES];
    rotary_status status = file_output_path(path, folder, FOLDER_DECAY, error);
    if (status != ROTARY_OK)
        return status;
    json_t *object = measured_decay_json(decay);
    json_checksum_set(object);
    status = file_replace_json(path, object, error);
    json_decref(object);
    return status;
}

/* ---- reading ---- */

static rotary_status read_name(const struct json_source *source, const json_t *object, const char *key,
                               char name[DECAY_NAME_BYTES], rotary_error *error)
{
    const char *value = json_string_value(json_object_get(object, key));
    if (!value || strlen(value) >= DECAY_NAME_BYTES)
        return json_field_fail(source, key, json_object_get(object, key), "a name", error);
    memcpy(name, value, strlen(value) + 1);
    return ROTARY_OK;
}

/* The items of a list of `count` numbers: means, or null. */
static bool read_means(const json_t *list, int64_t count, double *means)
{
    if (!json_is_array(list) || json_array_size(list) != (size_t)count)
        return false;
    for (int64_t i = 0; i < count; i++) {
        const json_t *value = json_array_get(list, (size_t)i);
        if (!json_is_number(value) && !json_is_null(value))
            return false;
        means[i] = json_is_number(value) ? json_number_value(value) : (double)NAN;
    }
    return true;
}

static bool read_measure(const json_t *layers, const struct decay_kind *kind, enum decay_measure measure)
{
    const int64_t points = decay_points_of(kind, measure)->count;
    if (!json_is_array(layers) || json_array_size(layers) != (size_t)kind->layers)
        return false;
    for (int64_t layer = 0; layer < kind->layers; layer++) {
        const json_t *heads = json_array_get(layers, (size_t)layer);
        if (!json_is_array(heads) || json_array_size(heads) != (size_t)kind->heads)
            return false;
        for (int64_t head = 0; head < kind->heads; head++)
            if (!read_means(json_array_get(heads, (size_t)head), points,
                            kind->means[measure] + (layer * kind->heads + head) * points))
                return false;
    }
    return true;
}

static bool read_counts(const json_t *layers, const struct decay_kind *kind,
                        const struct decay_points *points)
{
    if (!json_is_array(layers) || json_array_size(layers) != (size_t)kind->layers)
        return false;
    for (int64_t i = 0; i < kind->layers * points->count; i++) {
        const json_t *list = json_array_get(layers, (size_t)(i / points->count)),
                     *value = json_array_get(list, (size_t)(i % points->count));
        if (json_array_size(list) != (size_t)points->count || !json_is_integer(value) ||
            json_integer_value(value) < 0)
            return false;
        points->counts[i] = json_integer_value(value);
    }
    return true;
}

/* Whole numbers, each one more than the one before; the first, of sequences. */
static bool are_points(const json_t *list)
{
    const json_t *first = json_array_get(list, 0);
    const json_int_t begin = json_integer_value(first);
    if (!json_is_integer(first) || begin < -MAX_MEANS || begin > MAX_MEANS)
        return false;
    for (size_t i = 0; i < json_array_size(list); i++)
        if (!json_is_integer(json_array_get(list, i)) ||
            json_integer_value(json_array_get(list, i)) != begin + (json_int_t)i)
            return false;
    return true;
}

static rotary_status read_points(const struct json_source *source, const json_t *object,
                                 struct decay_points axes[DECAY_AXES], rotary_error *error)
{
    for (int axis = 0; axis < DECAY_AXES; axis++) {
        const json_t *list = json_object_get(object, decay_axis_names[axis]);
        if (!are_points(list))
            return json_field_fail(source, decay_axis_names[axis], list, "consecutive whole numbers", error);
        axes[axis] = (struct decay_points){.first = json_integer_value(json_array_get(list, 0)),
                                           .count = (int64_t)json_array_size(list)};
    }
    return ROTARY_OK;
}

/* The kind has its sizes. */
static rotary_status read_numbers(const struct json_source *source, const json_t *object,
                                  const struct decay_kind *kind, rotary_error *error)
{
    for (int axis = 0; axis < DECAY_AXES; axis++)
        if (!read_counts(json_object_get(object, decay_counted[axis]), kind, &kind->axes[axis]))
            return json_field_fail(source, decay_counted[axis], json_object_get(object, decay_counted[axis]),
                                   "a count for each of its places in each layer", error);
    for (int i = 0; i < DECAY_MEASURES; i++) {
        const json_t *layers = json_object_get(object, decay_measure_names[i]);
        if (!read_measure(layers, kind, (enum decay_measure)i))
            return json_field_fail(source, decay_measure_names[i], layers,
                                   "a number for each place, head and layer", error);
    }
    return ROTARY_OK;
}

static rotary_status read_kind(const struct json_source *source, const json_t *object,
                               struct measured_decay *decay, rotary_error *error)
{
    const char *name = json_string_value(json_object_get(object, "kind"));
    const json_t *score = json_object_get(object, "score");
    const size_t layers = json_array_size(score), heads = json_array_size(json_array_get(score, 0));
    struct decay_kind sizes = {.layers = (int64_t)layers, .heads = (int64_t)heads};
    int index = 0;
    while (index < ATTENTION_CROSS &&
           (!name || strcmp(name, attention_kind_name((enum attention_kind)index))))
        index++;
    if (index == ATTENTION_CROSS || decay->kinds[index].layers > 0)
        return json_field_fail(source, "kind", json_object_get(object, "kind"),
                               "encoder and decoder, each once", error);
    rotary_status status = read_points(source, object, sizes.axes, error);
    if (status != ROTARY_OK)
        return status;
    if (layers < 1 || layers > MAX_SIDE || heads < 1 || heads > MAX_SIDE)
        return json_field_fail(source, "score", json_object_get(object, "score"),
                               "a list of numbers for each head of each layer", error);
    rotary_error inner = {0};
    status = decay_kind_create(&decay->kinds[index], &sizes, &inner);
    if (status != ROTARY_OK)
        return rotary_fail(error, status == ROTARY_INVALID_ARGUMENT ? ROTARY_BAD_FILE : status, "%s: %s",
                           source->path, inner.message);
    return read_numbers(source, object, &decay->kinds[index], error);
}

static rotary_status read_object(struct measured_decay *decay, const json_t *object, const char *path,
                                 rotary_error *error)
{
    const struct json_source whole = {.path = path}, *source = &whole;
    const json_t *kinds = json_object_get(object, "kinds");
    rotary_status status = file_check_format(path, object, DECAY_FORMAT, error);
    if (status == ROTARY_OK)
        status = read_name(source, object, "position", decay->position, error);
    if (status == ROTARY_OK)
        status = read_name(source, object, "checkpoint", decay->checkpoint, error);
    if (status == ROTARY_OK)
        status = json_field_count(source, object, "step", &decay->step, error);
    if (status == ROTARY_OK)
        status = json_field_count(source, object, "seed", &decay->seed, error);
    if (status == ROTARY_OK)
        status = json_field_count(source, object, "sequences", &decay->sequences, error);
    if (status == ROTARY_OK)
        status = json_field_count(source, object, "length", &decay->length, error);
    if (status == ROTARY_OK)
        status = read_name(source, object, "scaling", decay->scaling, error);
    if (status == ROTARY_OK && json_array_size(kinds) == 0)
        status = json_field_fail(source, "kinds", json_object_get(object, "kinds"),
                                 "a list of encoder, decoder or both", error);
    for (size_t i = 0; status == ROTARY_OK && i < json_array_size(kinds); i++)
        status = read_kind(source, json_array_get(kinds, i), decay, error);
    return status;
}

rotary_status measured_decay_parse(struct measured_decay *decay, const json_t *object, const char *path,
                                   rotary_error *error)
{
    struct measured_decay made = {.kinds = {{0}}};
    rotary_status status = read_object(&made, object, path, error);
    if (status == ROTARY_OK)
        *decay = made;
    else
        measured_decay_free(&made);
    return status;
}

rotary_status measured_decay_read(struct measured_decay *decay, const char *folder, rotary_error *error)
{
    char path[FILE_PATH_BYTES];
    json_t *object = NULL;
    *decay = (struct measured_decay){.kinds = {{0}}};
    rotary_status status = file_path(path, folder, FOLDER_DECAY, error);
    if (status != ROTARY_OK || !file_exists(path))
        return status;
    status = file_read_long_json(path, MAX_FILE_BYTES, &object, error);
    if (status == ROTARY_OK)
        status = json_checksum_take(object, path, error);
    if (status == ROTARY_OK)
        status = measured_decay_parse(decay, object, path, error);
    json_decref(object);
    return status;
}
