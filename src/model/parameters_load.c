/* SPDX-License-Identifier: Apache-2.0 */
#include "model/parameters_load.h"

#include "base/element.h"
#include "base/fail.h"
#include "base/integer.h"
#include "file/shape_text.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCK_ELEMENTS = 1 << 18 }; /* converted on the host at once, unless a row has more */

/* A source with its names resolved. */
struct load {
    const struct safetensor *tensor;
    const char *path; /* of its file */
    int index;        /* of the parameter */
    int64_t first, rows, columns;
    int64_t groups, parts;
    float added;
    bool transposed;
};

struct loads {
    struct parameters *parameters;
    const struct parameters_load_call *call;
    struct load *all;
    int count;
    bool *filled;       /* [rows of all parameters] */
    int64_t *filled_at; /* [parameters' count] where a parameter's rows begin in `filled` */
    bool *used;         /* [tensors] */
};

static int64_t columns_of(const struct parameter *row)
{
    return row->columns ? row->columns : 1;
}

/* The rows that a source fills exist, and can be filled as it says. */
static rotary_status check_shape(const struct loads *loads, const struct load *load, rotary_error *error)
{
    const struct parameter *row = &loads->parameters->rows[load->index];
    const struct safetensor *tensor = load->tensor;
    const char *path = load->path;
    if (tensor->other_type)
        return rotary_fail(error, ROTARY_BAD_FILE, "%s: tensor %s is %s, wanted F32, F16 or BF16", path,
                           tensor->name, tensor->other_type);
    if (load->first < 0 || load->rows < 1 || load->first > row->rows - load->rows)
        return rotary_fail(
            error, ROTARY_INVALID_ARGUMENT,
            "%s: tensor %s is to fill %lld rows from row %lld on of parameter %s, which has %lld", path,
            tensor->name, (long long)load->rows, (long long)load->first, row->name, (long long)row->rows);
    if (load->groups > 0 && (load->transposed || load->parts < 1 || load->rows % load->groups != 0 ||
                             load->rows / load->groups % load->parts != 0))
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "%s: tensor %s is to fill %lld rows of parameter %s in %lld groups of %lld parts, "
                           "which do not divide them",
                           path, tensor->name, (long long)load->rows, row->name, (long long)load->groups,
                           (long long)load->parts);
    if (load->transposed && row->columns == 0)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "%s: tensor %s is to fill the vector %s transposed: only a matrix can be", path,
                           tensor->name, row->name);
    int64_t height = load->transposed ? row->columns : load->rows,
            width = load->transposed ? load->rows : row->columns;
    const int64_t wanted[2] = {height, width};
    const int dimensions = row->columns > 0 ? 2 : 1;
    char got[SHAPE_TEXT_BYTES], needed[SHAPE_TEXT_BYTES];
    if (tensor->dimensions == dimensions && tensor->shape[0] == height &&
        (dimensions == 1 || tensor->shape[1] == width))
        return ROTARY_OK;
    return rotary_fail(error, ROTARY_BAD_FILE, "%s: tensor %s has shape %s, wanted %s for parameter %s", path,
                       tensor->name, shape_text(tensor->shape, tensor->dimensions, got),
                       shape_text(wanted, dimensions, needed), row->name);
}

static rotary_status mark_rows(const struct loads *loads, const struct load *load, rotary_error *error)
{
    const struct parameter *row = &loads->parameters->rows[load->index];
    for (int64_t i = 0; i < load->rows; i++) {
        bool *filled = &loads->filled[loads->filled_at[load->index] + load->first + i];
        if (*filled)
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                               "%s: row %lld of parameter %s is filled by two tensors, the second being %s",
                               load->path, (long long)(load->first + i), row->name, load->tensor->name);
        *filled = true;
    }
    return ROTARY_OK;
}

/* The tensor of that name, the path of its file, and its place among the tensors of all files. */
static const struct safetensor *find_tensor(const struct parameters_load_call *call, const char *name,
                                            const char **path, int *place)
{
    *place = 0;
    for (int file = 0; file < call->file_count; file++) {
        const struct safetensor *found = safetensors_find(call->files[file], name);
        if (found) {
            *path = safetensors_path(call->files[file]);
            *place += (int)(found - safetensors_at(call->files[file], 0));
            return found;
        }
        *place += safetensors_count(call->files[file]);
    }
    return NULL;
}

/* Adds a source. Without a map, a parameter that has no tensor is left out. */
static rotary_status resolve(struct loads *loads, const struct parameter_source *source, bool mapped,
                             rotary_error *error)
{
    const char *path = safetensors_path(loads->call->files[0]);
    struct load *load = &loads->all[loads->count];
    int place;
    load->tensor = find_tensor(loads->call, source->tensor, &path, &place);
    load->path = path;
    load->index = parameters_find(loads->parameters, source->parameter);
    if (load->index < 0)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "%s: tensor %s is to fill parameter %s, which the model does not have", path,
                           source->tensor, source->parameter);
    if (!load->tensor && !mapped)
        return ROTARY_OK;
    if (!load->tensor)
        return rotary_fail(error, ROTARY_BAD_FILE, "%s has no tensor %s, for parameter %s", path,
                           source->tensor, source->parameter);
    const struct parameter *row = &loads->parameters->rows[load->index];
    load->first = source->first;
    load->rows = source->rows ? source->rows : row->rows;
    load->columns = columns_of(row);
    load->transposed = source->transposed;
    load->groups = source->groups;
    load->parts = source->parts;
    load->added = source->added;
    loads->used[place] = true;
    loads->count++;
    rotary_status status = check_shape(loads, load, error);
    return status == ROTARY_OK ? mark_rows(loads, load, error) : status;
}

static rotary_status resolve_all(struct loads *loads, rotary_error *error)
{
    const struct parameters *parameters = loads->parameters;
    const struct parameters_load_call *call = loads->call;
    rotary_status status = ROTARY_OK;
    for (int i = 0; call->map && status == ROTARY_OK && i < call->count; i++)
        status = resolve(loads, &call->map[i], true, error);
    for (int i = 0; !call->map && status == ROTARY_OK && i < parameters->count; i++) {
        const char *name = parameters->rows[i].name;
        status = resolve(loads, &(struct parameter_source){.tensor = name, .parameter = name}, false, error);
    }
    return status;
}

/* Reports what was filled and used; with PARAMETERS_ALL refuses the first that was not. */
static rotary_status check_complete(const struct loads *loads, rotary_error *error)
{
    const struct parameters_load_call *call = loads->call;
    const struct parameters *parameters = loads->parameters;
    bool all = call->mode == PARAMETERS_ALL;
    for (int i = 0; i < parameters->count; i++) {
        bool filled = true;
        for (int64_t row = 0; row < parameters->rows[i].rows; row++)
            filled = filled && loads->filled[loads->filled_at[i] + row];
        if (!filled && all)
            return rotary_fail(error, ROTARY_BAD_FILE, "%s: no tensor fills all of parameter %s",
                               safetensors_path(call->files[0]), parameters->rows[i].name);
        if (call->filled)
            call->filled[i] = filled;
    }
    int place = 0;
    for (int file = 0; file < call->file_count; file++)
        for (int i = 0; i < safetensors_count(call->files[file]); i++, place++) {
            if (!loads->used[place] && all)
                return rotary_fail(error, ROTARY_BAD_FILE, "%s: tensor %s is of no parameter",
                                   safetensors_path(call->files[file]),
                                   safetensors_at(call->files[file], i)->name);
            if (call->used)
                call->used[place] = loads->used[place];
        }
    return ROTARY_OK;
}

/* The row of the tensor that fills row `row` of those it is to fill. */
static int64_t source_row(const struct load *load, int64_t row)
{
    if (load->groups == 0)
        return row;
    const int64_t height = load->rows / load->groups / load->parts, part = row / height / load->groups,
                  group = row / height % load->groups;
    return (group * load->parts + part) * height + row % height;
}

/* Rows first ... first + rows - 1 of what a tensor fills, in f32. */
static void convert(const struct load *load, int64_t first, int64_t rows, float *to)
{
    for (int64_t row = first; row < first + rows; row++) {
        const int64_t from = source_row(load, row);
        for (int64_t column = 0; column < load->columns; column++) {
            int64_t at = load->transposed ? column * load->rows + from : from * load->columns + column;
            const float element = rotary_unaligned_element(load->tensor->data, at, load->tensor->dtype);
            *to++ = load->added > 0.0f ? element + load->added : element; /* -0 stays -0 */
        }
    }
}

/* Gives a stored parameter the rows of a tensor, in as many parts as lie apart in it. */
static rotary_status store_rows(const struct loads *loads, const struct load *load, rotary_error *error)
{
    const struct safetensor *tensor = load->tensor;
    const size_t size = rotary_dtype_size(tensor->dtype);
    const int64_t height = load->groups > 0 ? load->rows / load->groups / load->parts : load->rows;
    rotary_status status = ROTARY_OK;
    if (load->transposed || load->added > 0.0f)
        return rotary_fail(error, ROTARY_UNSUPPORTED, "%s: tensor %s cannot stay in its file: it is %s",
                           load->path, tensor->name, load->transposed ? "transposed" : "added to");
    for (int64_t row = 0; status == ROTARY_OK && row < load->rows; row += height) {
        const struct stored_rows part = {.data = (const char *)tensor->data +
                                                 (size_t)(source_row(load, row) * load->columns) * size,
                                         .dtype = tensor->dtype,
                                         .rows = height};
        status = parameters_store(loads->parameters, load->index, &part, error);
    }
    return status;
}

static rotary_status write_values(const struct loads *loads, const struct load *load, rotary_error *error)
{
    int64_t block = min_i64(max_i64(BLOCK_ELEMENTS / load->columns, 1), load->rows);
    float *host = malloc((size_t)(block * load->columns) * sizeof *host);
    if (!host)
        return rotary_fail_memory(error, "to convert tensor %s", load->tensor->name);
    rotary_status status = ROTARY_OK;
    for (int64_t first = 0; first < load->rows && status == ROTARY_OK; first += block) {
        int64_t rows = min_i64(block, load->rows - first);
        convert(load, first, rows, host);
        const struct parameter_range range = {.array = PARAMETER_VALUES,
                                              .index = load->index,
                                              .first = (load->first + first) * load->columns,
                                              .count = rows * load->columns};
        status = parameters_write(loads->parameters, range, host, error);
    }
    free(host);
    return status;
}

static bool allocate(struct loads *loads)
{
    const struct parameters *parameters = loads->parameters;
    size_t tensors = 0, rows = 0,
           sources = (size_t)(loads->call->map ? loads->call->count : parameters->count);
    for (int file = 0; file < loads->call->file_count; file++)
        tensors += (size_t)safetensors_count(loads->call->files[file]);
    loads->filled_at = calloc((size_t)parameters->count + 1, sizeof *loads->filled_at);
    for (int i = 0; loads->filled_at && i < parameters->count; i++) {
        loads->filled_at[i] = (int64_t)rows;
        rows += (size_t)parameters->rows[i].rows;
    }
    loads->all = calloc(sources + 1, sizeof *loads->all);
    loads->filled = calloc(rows + 1, sizeof *loads->filled);
    loads->used = calloc(tensors + 1, sizeof *loads->used);
    return loads->filled_at && loads->all && loads->filled && loads->used;
}

rotary_status parameters_load(struct parameters *parameters, const struct parameters_load_call *call,
                              rotary_error *error)
{
    struct loads loads = {.parameters = parameters, .call = call};
    rotary_status status = ROTARY_OK;
    if (!allocate(&loads))
        status = rotary_fail_memory(error, "to list the tensors of %s", safetensors_path(call->files[0]));
    if (status == ROTARY_OK)
        status = resolve_all(&loads, error);
    if (status == ROTARY_OK)
        status = check_complete(&loads, error);
    for (int i = 0; status == ROTARY_OK && i < loads.count; i++)
        status = parameters->rows[loads.all[i].index].is_stored ? store_rows(&loads, &loads.all[i], error)
                                                                : write_values(&loads, &loads.all[i], error);
    free(loads.filled_at);
    free(loads.all);
    free(loads.filled);
    free(loads.used);
    return status;
}
