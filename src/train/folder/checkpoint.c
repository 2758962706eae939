/* SPDX-License-Identifier: Apache-2.0 */
#include "train/folder/checkpoint.h"

#include "base/fail.h"
#include "file/file.h"
#include "file/safetensors.h"
#include "file/shape_text.h"
#include "run_folder/folder.h"
#include "train/folder/checkpoint_metadata.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *const checkpoint_names[] = {"last", "best", "average", NULL};

static const char *const file_names[] = {FOLDER_MODEL, FOLDER_BEST, FOLDER_AVERAGE};
/* Metadata that a file of this kind alone has. */
static const char *const marks[] = {NULL, "validation_loss", "averaged_checkpoints"};
#define BEST_LOSS marks[CHECKPOINT_BEST]

/* An array of the table of parameters, and the prefix of its tensors' names in a file. */
struct array {
    const char *prefix;
    enum parameter_array array;
};
enum { MOMENTS = 2, TENSOR_NAME_BYTES = 128, TENSOR_TEXT_BYTES = 32 + SHAPE_TEXT_BYTES };

static const struct array values_array = {"", PARAMETER_VALUES},
                          moment_arrays[MOMENTS] = {{"moment1.", PARAMETER_MOMENT1},
                                                    {"moment2.", PARAMETER_MOMENT2}};

static void tensor_name(char name[TENSOR_NAME_BYTES], const char *prefix, const struct parameter *row)
{
    snprintf(name, TENSOR_NAME_BYTES, "%s%s", prefix, row->name);
}

static struct safetensor tensor_of(const struct parameter *row, const char *name)
{
    return (struct safetensor){
        .name = name,
        .dtype = ROTARY_F32,
        .dimensions = row->columns ? 2 : 1,
        .shape = {row->rows, row->columns},
    };
}

/* A tensor of a file: a row of the table or of its adapter, in one of its arrays. */
struct source {
    const struct parameters *parameters;
    struct parameter_range range;
    char name[TENSOR_NAME_BYTES];
};

enum checkpoint_part { PART_MODEL, PART_OPTIMIZER };

/* Lists the rows that an array has; returns their number. sources NULL: only counts them. */
static int list_array(struct source *sources, const struct parameters *parameters, const struct array *array)
{
    int count = 0;
    for (int i = 0; i < parameters->count; i++) {
        if (array->array != PARAMETER_VALUES && !parameter_is_trained(&parameters->rows[i]))
            continue;
        struct source source = {.parameters = parameters,
                                .range = parameter_range(parameters, array->array, i)};
        tensor_name(source.name, array->prefix, &parameters->rows[i]);
        if (sources)
            sources[count] = source;
        count++;
    }
    return count;
}

static int list_moments(struct source *sources, const struct parameters *parameters)
{
    int count = 0;
    for (int i = 0; i < MOMENTS; i++)
        count += list_array(sources ? sources + count : NULL, parameters, &moment_arrays[i]);
    return count;
}

/* A checkpoint has the values of the model; of the optimizer the moments, and all of an adapter. */
static int list_part(struct source *sources, const struct parameters *parameters, enum checkpoint_part part)
{
    const struct parameters *adapter = parameters->adapter;
    if (part == PART_MODEL)
        return list_array(sources, parameters, &values_array);
    int count = list_moments(sources, parameters);
    if (adapter)
        count += list_array(sources ? sources + count : NULL, adapter, &values_array);
    return adapter ? count + list_moments(sources ? sources + count : NULL, adapter) : count;
}

/* The tensors of a file, which the caller frees. */
static rotary_status make_sources(struct source **sources, int *count, const struct parameters *parameters,
                                  enum checkpoint_part part, rotary_error *error)
{
    *count = list_part(NULL, parameters, part);
    *sources = malloc((size_t)(*count > 0 ? *count : 1) * sizeof **sources);
    if (!*sources)
        return rotary_fail_memory(error, "for the names of %d tensors", *count);
    list_part(*sources, parameters, part);
    return ROTARY_OK;
}

static rotary_status fetch_values(void *context, size_t first, void *to, size_t count, rotary_error *error)
{
    const struct source *source = context;
    struct parameter_range range = source->range;
    range.first = (int64_t)(first / sizeof(float));
    range.count = (int64_t)(count / sizeof(float));
    return parameters_read(source->parameters, range, to, error);
}

static rotary_status write_part(const char *path, const struct parameters *parameters,
                                enum checkpoint_part part, const json_t *metadata, rotary_error *error)
{
    struct source *sources;
    int count;
    rotary_status status = make_sources(&sources, &count, parameters, part, error);
    if (status != ROTARY_OK)
        return status;
    struct safetensor *tensors = malloc((size_t)(count > 0 ? count : 1) * sizeof *tensors);
    if (!tensors)
        status = rotary_fail_memory(error, "for %d tensors", count);
    for (int i = 0; status == ROTARY_OK && i < count; i++) {
        tensors[i] = tensor_of(&sources[i].parameters->rows[sources[i].range.index], sources[i].name);
        tensors[i].fetch = fetch_values;
        tensors[i].context = &sources[i];
    }
    if (status == ROTARY_OK)
        status = safetensors_write(path, tensors, count, metadata, error);
    free(tensors);
    free(sources);
    return status;
}

static void describe_state(json_t *metadata, const struct checkpoint_state *state)
{
    char total[64], counted[32], steps[32], norm[64]; /* hexadecimal keeps every bit */
    snprintf(total, sizeof total, "%a", state->loss_total);
    snprintf(counted, sizeof counted, "%lld", (long long)state->loss_counted);
    snprintf(steps, sizeof steps, "%lld", (long long)state->loss_steps);
    snprintf(norm, sizeof norm, "%a", state->gradient_norm);
    json_object_set_new(metadata, "loss_total", json_string(total));
    json_object_set_new(metadata, "loss_counted", json_string(counted));
    json_object_set_new(metadata, "loss_steps", json_string(steps));
    json_object_set_new(metadata, "gradient_norm", json_string(norm));
    json_object_set_new(metadata, "isa", json_string(rotary_isa_name(state->isa)));
    if (state->cuda)
        json_object_set_new(metadata, "device", json_string("cuda"));
}

struct paths {
    char model[FILE_PATH_BYTES], model_next[FILE_PATH_BYTES];
    char optimizer[FILE_PATH_BYTES], optimizer_next[FILE_PATH_BYTES];
};

static rotary_status find_paths(struct paths *paths, const char *folder, rotary_error *error)
{
    rotary_status status = file_path(paths->model, folder, FOLDER_MODEL, error);
    if (status == ROTARY_OK)
        status = file_path(paths->model_next, folder, FOLDER_MODEL FOLDER_NEXT, error);
    if (status == ROTARY_OK)
        status = file_path(paths->optimizer, folder, FOLDER_OPTIMIZER, error);
    if (status == ROTARY_OK)
        status = file_path(paths->optimizer_next, folder, FOLDER_OPTIMIZER FOLDER_NEXT, error);
    return status;
}

rotary_status checkpoint_write(const char *folder, const struct run_config *config,
                               const struct parameters *parameters, const struct checkpoint_state *state,
                               rotary_error *error)
{
    struct paths paths;
    rotary_status status = find_paths(&paths, folder, error);
    if (status != ROTARY_OK)
        return status;
    json_t *metadata;
    status = checkpoint_describe(&metadata, folder, config, state->step, error);
    if (status != ROTARY_OK)
        return status;
    status = write_part(paths.model_next, parameters, PART_MODEL, metadata, error);
    describe_state(metadata, state);
    if (status == ROTARY_OK)
        status = write_part(paths.optimizer_next, parameters, PART_OPTIMIZER, metadata, error);
    /* A model alone is no checkpoint; if the disk is full, its space is needed. */
    if (status != ROTARY_OK)
        unlink(paths.model_next);
    json_decref(metadata);
    if (status == ROTARY_OK)
        status = file_rename(paths.optimizer_next, paths.optimizer, error);
    if (status == ROTARY_OK)
        status = file_rename(paths.model_next, paths.model, error);
    return status;
}

/* Reads an integer of at least `min` from the metadata. */
static rotary_status read_number(const struct safetensors *file, const char *path, const char *key,
                                 int64_t min, int64_t *number, rotary_error *error)
{
    const char *text = safetensors_metadata(file, key);
    char *end = NULL;
    long long read = text ? strtoll(text, &end, 10) : 0;
    if (!text || end == text || *end || read < min)
        return checkpoint_fail_metadata(path, key, error);
    *number = read;
    return ROTARY_OK;
}

/* Opens a file whose step is at least `min_step`. */
static rotary_status open_part(struct safetensors **file, const char *path, int64_t min_step, int64_t *step,
                               rotary_error *error)
{
    struct safetensors *opened;
    rotary_status status = safetensors_open(&opened, path, error);
    if (status != ROTARY_OK)
        return status;
    int64_t format = 0;
    if (!safetensors_verified(opened))
        status = rotary_fail(error, ROTARY_BAD_FILE, "%s carries no checksum: it is not a checkpoint", path);
    if (status == ROTARY_OK)
        status = read_number(opened, path, "format", 0, &format, error);
    if (status == ROTARY_OK && format != RUN_FORMAT)
        status =
            rotary_fail(error, ROTARY_BAD_FILE,
                        "%s has format %lld, of another version of this program; this one reads format %d",
                        path, (long long)format, RUN_FORMAT);
    if (status == ROTARY_OK)
        status = read_number(opened, path, "step", min_step, step, error);
    if (status == ROTARY_OK)
        *file = opened;
    else
        safetensors_close(opened);
    return status;
}

static rotary_status read_real(const struct safetensors *file, const char *path, const char *key,
                               double *number, rotary_error *error)
{
    const char *text = safetensors_metadata(file, key);
    char *end = NULL;
    double read = text ? strtod(text, &end) : 0.0;
    if (!text || end == text || *end)
        return checkpoint_fail_metadata(path, key, error);
    *number = read;
    return ROTARY_OK;
}

static enum checkpoint_kind kind_of(const struct safetensors *file)
{
    if (safetensors_metadata(file, marks[CHECKPOINT_BEST]))
        return CHECKPOINT_BEST;
    return safetensors_metadata(file, marks[CHECKPOINT_AVERAGE]) ? CHECKPOINT_AVERAGE : CHECKPOINT_LAST;
}

/* Checks that the file is not of another kind: a copy of the best model under the name of the last would be
 * taken for it. */
static rotary_status check_kind(const struct safetensors *file, const char *path, enum checkpoint_kind kind,
                                rotary_error *error)
{
    enum checkpoint_kind found = kind_of(file);
    if (found == kind)
        return ROTARY_OK;
    return rotary_fail(error, ROTARY_BAD_FILE, "%s is the %s checkpoint of a run, wanted the %s one", path,
                       checkpoint_names[found], checkpoint_names[kind]);
}

static rotary_status read_isa(struct checkpoint *checkpoint, const char *path, rotary_error *error)
{
    const char *name = safetensors_metadata(checkpoint->optimizer, "isa");
    return name && rotary_isa_from_name(&checkpoint->state.isa, name, NULL) == ROTARY_OK
               ? ROTARY_OK
               : checkpoint_fail_metadata(path, "isa", error);
}

/* Nothing is written of the cpu. */
static rotary_status read_device(struct checkpoint *checkpoint, const char *path, rotary_error *error)
{
    const char *name = safetensors_metadata(checkpoint->optimizer, "device");
    checkpoint->state.cuda = name && strcmp(name, "cuda") == 0;
    return !name || checkpoint->state.cuda ? ROTARY_OK : checkpoint_fail_metadata(path, "device", error);
}

static rotary_status read_state(struct checkpoint *checkpoint, const char *path, rotary_error *error)
{
    struct checkpoint_state *state = &checkpoint->state;
    rotary_status status = read_real(checkpoint->optimizer, path, "loss_total", &state->loss_total, error);
    if (status == ROTARY_OK)
        status = read_real(checkpoint->optimizer, path, "gradient_norm", &state->gradient_norm, error);
    if (status == ROTARY_OK)
        status = read_number(checkpoint->optimizer, path, "loss_counted", 0, &state->loss_counted, error);
    if (status == ROTARY_OK)
        status = read_number(checkpoint->optimizer, path, "loss_steps", 0, &state->loss_steps, error);
    if (status == ROTARY_OK)
        status = read_isa(checkpoint, path, error);
    return status == ROTARY_OK ? read_device(checkpoint, path, error) : status;
}

/* Opens the model of the optimizer's step: model.safetensors, or model.safetensors.next if it was not renamed
 * yet. */
static rotary_status open_model(struct checkpoint *checkpoint, const struct paths *paths, rotary_error *error)
{
    int64_t wanted = checkpoint->state.step, step = -1; /* -1: no file */
    if (file_exists(paths->model)) {
        rotary_status status = open_part(&checkpoint->model, paths->model, 0, &step, error);
        if (status != ROTARY_OK || step == wanted)
            return status;
        safetensors_close(checkpoint->model);
        checkpoint->model = NULL;
    }
    if (step < wanted && file_exists(paths->model_next)) {
        int64_t next;
        rotary_status status = open_part(&checkpoint->model, paths->model_next, 0, &next, error);
        if (status != ROTARY_OK)
            return status;
        if (next == wanted)
            return file_rename(paths->model_next, paths->model, error);
        safetensors_close(checkpoint->model);
        checkpoint->model = NULL;
    }
    if (step < 0)
        return rotary_fail(error, ROTARY_BAD_FILE, "%s is of step %lld, and there is no %s", paths->optimizer,
                           (long long)wanted, paths->model);
    return rotary_fail(error, ROTARY_BAD_FILE,
                       "%s is of step %lld, and %s of step %lld: they do not belong together",
                       paths->optimizer, (long long)wanted, paths->model, (long long)step);
}

static rotary_status open_both(struct checkpoint *checkpoint, const struct paths *paths,
                               const struct run_config *config, rotary_error *error)
{
    rotary_status status =
        open_part(&checkpoint->optimizer, paths->optimizer, 0, &checkpoint->state.step, error);
    if (status == ROTARY_OK)
        status = read_state(checkpoint, paths->optimizer, error);
    if (status == ROTARY_OK)
        status = checkpoint_check_run(checkpoint->optimizer, paths->optimizer, config, error);
    if (status == ROTARY_OK)
        status = open_model(checkpoint, paths, error);
    if (status == ROTARY_OK)
        status = check_kind(checkpoint->model, paths->model, CHECKPOINT_LAST, error);
    if (status == ROTARY_OK)
        status = checkpoint_check_run(checkpoint->model, paths->model, config, error);
    return status;
}

rotary_status checkpoint_open(struct checkpoint *checkpoint, const char *folder,
                              const struct run_config *config, rotary_error *error)
{
    *checkpoint = (struct checkpoint){0};
    struct paths paths;
    rotary_status status = find_paths(&paths, folder, error);
    if (status != ROTARY_OK)
        return status;
    if (file_exists(paths.optimizer)) {
        status = open_both(checkpoint, &paths, config, error);
        if (status != ROTARY_OK)
            checkpoint_close(checkpoint);
        return status;
    }
    if (file_exists(paths.model))
        return rotary_fail(error, ROTARY_BAD_FILE, "there is %s, but no %s to resume from", paths.model,
                           paths.optimizer);
    return ROTARY_OK;
}

void checkpoint_close(struct checkpoint *checkpoint)
{
    safetensors_close(checkpoint->model);
    safetensors_close(checkpoint->optimizer);
    *checkpoint = (struct checkpoint){0};
}

/* "F32 [3, 4]". */
static void describe_tensor(const struct safetensor *tensor, char text[TENSOR_TEXT_BYTES])
{
    char shape[SHAPE_TEXT_BYTES];
    snprintf(text, TENSOR_TEXT_BYTES, "%s %s", safetensors_type(tensor),
             shape_text(tensor->shape, tensor->dimensions, shape));
}

static rotary_status fail_tensor(const char *path, const struct safetensor *tensor,
                                 const struct safetensor *wanted, rotary_error *error)
{
    char got[TENSOR_TEXT_BYTES], needed[TENSOR_TEXT_BYTES];
    describe_tensor(tensor, got);
    describe_tensor(wanted, needed);
    return rotary_fail(error, ROTARY_BAD_FILE, "%s: tensor %s is %s, wanted %s", path, wanted->name, got,
                       needed);
}

static rotary_status find_tensor(const struct safetensors *file, const struct parameter *row,
                                 const char *name, const float **values, rotary_error *error)
{
    const struct safetensor *tensor = safetensors_find(file, name);
    if (!tensor)
        return rotary_fail(error, ROTARY_BAD_FILE, "%s has no tensor %s", safetensors_path(file), name);
    struct safetensor wanted = tensor_of(row, name);
    bool same = tensor->dtype == wanted.dtype && tensor->dimensions == wanted.dimensions;
    for (int i = 0; same && i < wanted.dimensions; i++)
        same = tensor->shape[i] == wanted.shape[i];
    if (!same)
        return fail_tensor(safetensors_path(file), tensor, &wanted, error);
    *values = tensor->data;
    return ROTARY_OK;
}

rotary_status checkpoint_values(const struct safetensors *file, const struct parameter *row,
                                const float **values, rotary_error *error)
{
    return find_tensor(file, row, row->name, values, error);
}

bool checkpoint_has_moments(const struct checkpoint *checkpoint, const struct parameter *row)
{
    char name[TENSOR_NAME_BYTES];
    tensor_name(name, moment_arrays[0].prefix, row);
    return safetensors_find(checkpoint->optimizer, name) != NULL;
}

static rotary_status check_tensor_count(const struct safetensors *file, int wanted, rotary_error *error)
{
    if (safetensors_count(file) == wanted)
        return ROTARY_OK;
    return rotary_fail(error, ROTARY_BAD_FILE, "%s has %d tensors, wanted the model's %d",
                       safetensors_path(file), safetensors_count(file), wanted);
}

static rotary_status load_part(const struct safetensors *file, struct parameters *parameters,
                               enum checkpoint_part part, rotary_error *error)
{
    struct source *sources;
    int count;
    rotary_status status = make_sources(&sources, &count, parameters, part, error);
    if (status == ROTARY_OK)
        status = check_tensor_count(file, count, error);
    for (int i = 0; status == ROTARY_OK && i < count; i++) {
        struct parameters *table = sources[i].parameters == parameters ? parameters : parameters->adapter;
        const float *values;
        status = find_tensor(file, &table->rows[sources[i].range.index], sources[i].name, &values, error);
        if (status == ROTARY_OK)
            status = parameters_write(table, sources[i].range, values, error);
    }
    free(sources);
    return status;
}

rotary_status checkpoint_load(const struct checkpoint *checkpoint, struct parameters *parameters,
                              rotary_error *error)
{
    rotary_status status = load_part(checkpoint->model, parameters, PART_MODEL, error);
    return status == ROTARY_OK ? load_part(checkpoint->optimizer, parameters, PART_OPTIMIZER, error) : status;
}

/* ---- weights alone: the best checkpoint, those that are averaged, and their mean ---- */

rotary_status checkpoint_write_weights(const struct checkpoint_weights *weights, rotary_error *error)
{
    char path[FILE_PATH_BYTES], next[FILE_PATH_BYTES], name[FILE_PATH_BYTES];
    snprintf(name, sizeof name, "%s" FOLDER_NEXT, weights->name);
    rotary_status status = file_path(path, weights->folder, weights->name, error);
    if (status == ROTARY_OK)
        status = file_path(next, weights->folder, name, error);
    json_t *metadata = NULL;
    if (status == ROTARY_OK)
        status = checkpoint_describe(&metadata, weights->folder, weights->config, weights->step, error);
    if (status != ROTARY_OK)
        return status;
    const char *mark = marks[weights->kind];
    if (mark)
        json_object_set_new(metadata, mark, json_string(weights->mark));
    status = write_part(next, weights->parameters, PART_MODEL, metadata, error);
    json_decref(metadata);
    return status == ROTARY_OK ? file_rename(next, path, error) : status;
}

rotary_status checkpoint_write_best(const char *folder, const struct run_config *config,
                                    const struct parameters *parameters, const struct checkpoint_best *best,
                                    rotary_error *error)
{
    char loss[64];
    snprintf(loss, sizeof loss, "%.17g", best->loss); /* 17 digits keep every bit */
    const struct checkpoint_weights weights = {.folder = folder,
                                               .name = FOLDER_BEST,
                                               .kind = CHECKPOINT_BEST,
                                               .mark = loss,
                                               .config = config,
                                               .parameters = parameters,
                                               .step = best->step};
    return checkpoint_write_weights(&weights, error);
}

/* Opens a model for inference and checks that it is of this kind and of this configuration. */
static rotary_status open_kind(struct safetensors **file, const char *path, enum checkpoint_kind kind,
                               const struct run_config *config, struct checkpoint_best *best,
                               rotary_error *error)
{
    struct safetensors *opened;
    rotary_status status = open_part(&opened, path, kind != CHECKPOINT_LAST, &best->step, error);
    if (status != ROTARY_OK)
        return status;
    status = check_kind(opened, path, kind, error);
    if (status == ROTARY_OK && kind == CHECKPOINT_BEST)
        status = read_real(opened, path, BEST_LOSS, &best->loss, error);
    if (status == ROTARY_OK && kind == CHECKPOINT_BEST && !isfinite(best->loss))
        status = checkpoint_fail_metadata(path, BEST_LOSS, error);
    if (status == ROTARY_OK)
        status = checkpoint_check_run(opened, path, config, error);
    if (status == ROTARY_OK)
        *file = opened;
    else
        safetensors_close(opened);
    return status;
}

rotary_status checkpoint_read_best(const char *folder, const struct run_config *config,
                                   struct checkpoint_best *best, rotary_error *error)
{
    *best = (struct checkpoint_best){.loss = INFINITY};
    char path[FILE_PATH_BYTES];
    rotary_status status = file_path(path, folder, FOLDER_BEST, error);
    if (status != ROTARY_OK || !file_exists(path))
        return status;
    struct safetensors *file;
    struct checkpoint_best read;
    status = open_kind(&file, path, CHECKPOINT_BEST, config, &read, error);
    if (status != ROTARY_OK)
        return status;
    safetensors_close(file);
    *best = read;
    return ROTARY_OK;
}

rotary_status checkpoint_open_weights(const struct checkpoint_weights *weights, struct safetensors **file,
                                      int64_t *step, rotary_error *error)
{
    char path[FILE_PATH_BYTES];
    rotary_status status = file_path(path, weights->folder, weights->name, error);
    if (status != ROTARY_OK)
        return status;
    struct checkpoint_best read;
    status = open_kind(file, path, weights->kind, weights->config, &read, error);
    if (status == ROTARY_OK)
        *step = read.step;
    return status;
}

static rotary_status fail_absent(const char *folder, enum checkpoint_kind kind, rotary_error *error)
{
    if (kind == CHECKPOINT_BEST)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "%s holds no best checkpoint: there is no " FOLDER_BEST
                           ", which the first evaluation writes",
                           folder);
    if (kind == CHECKPOINT_AVERAGE)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "%s holds no average of checkpoints: there is no " FOLDER_AVERAGE
                           ", which a run with average_checkpoints writes at its end",
                           folder);
    return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                       "%s holds no trained model yet: there is no " FOLDER_MODEL, folder);
}

rotary_status checkpoint_load_model(const char *folder, enum checkpoint_kind kind,
                                    const struct run_config *config, struct parameters *parameters,
                                    int64_t *step, rotary_error *error)
{
    char path[FILE_PATH_BYTES];
    rotary_status status = file_path(path, folder, file_names[kind], error);
    if (status != ROTARY_OK)
        return status;
    if (!file_exists(path))
        return fail_absent(folder, kind, error);
    struct safetensors *file;
    struct checkpoint_best read;
    status = open_kind(&file, path, kind, config, &read, error);
    if (status != ROTARY_OK)
        return status;
    status = load_part(file, parameters, PART_MODEL, error);
    safetensors_close(file);
    if (status == ROTARY_OK)
        *step = read.step;
    return status;
}

rotary_status checkpoint_check(const char *folder, const struct run_config *config, rotary_error *error)
{
    char path[FILE_PATH_BYTES];
    bool found = false;
    struct safetensors *file = NULL;
    struct checkpoint_best read;
    rotary_status status = file_path(path, folder, FOLDER_MODEL, error);
    if (status == ROTARY_OK)
        status = file_find(path, &found, error);
    if (status == ROTARY_OK && found)
        status = open_kind(&file, path, CHECKPOINT_LAST, config, &read, error);
    safetensors_close(file);
    return status;
}
