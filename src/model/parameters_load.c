/* SPDX-License-Identifier: Apache-2.0 */
#include "model/parameters_load.h"

#include "base/element.h"
#include "base/fail.h"
#include "base/integer.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCK_ELEMENTS = 1 << 18 }; /* converted on the host at once, unless a row has more */

/* A source with its names resolved. */
struct load {
    const struct safetensor *tensor;
    int index; /* of the parameter */
    int64_t first, rows, columns;
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
    const char *path = safetensors_path(loads->call->file);
    if (tensor->other_type)
        return rotary_fail(error, ROTARY_BAD_FILE, "%s: tensor %s is %s, wanted F32, F16 or BF16", path,
                           tensor->name, tensor->other_type);
    if (load->first < 0 || load->rows < 1 || load->first > row->rows - load->rows)
        return rotary_fail(
            error, ROTARY_INVALID_ARGUMENT,
            "%s: tensor %s is to fill %lld rows from row %lld on of parameter %s, which has %lld", path,
            tensor->name, (long long)load->rows, (long long)load->first, row->name, (long long)row->rows);
    if (load->transposed && row->columns == 0)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "%s: tensor %s is to fill the vector %s transposed: only a matrix can be", path,
                           tensor->name, row->name);
    int64_t height = load->transposed ? row->columns : load->rows,
            width = load->transposed ? load->rows : row->columns;
    if (row->columns == 0 && (tensor->dimensions != 1 || tensor->shape[0] != height))
        return rotary_fail(
            error, ROTARY_BAD_FILE,
            "%s: tensor %s has %d dimensions and %lld elements, wanted [%lld] for parameter %s", path,
            tensor->name, tensor->dimensions, (long long)safetensors_elements(tensor), (long long)height,
            row->name);
    if (row->columns > 0 &&
        (tensor->dimensions != 2 || tensor->shape[0] != height || tensor->shape[1] != width))
        return rotary_fail(
            error, ROTARY_BAD_FILE,
            "%s: tensor %s has %d dimensions and %lld elements, wanted [%lld, %lld] for parameter %s", path,
            tensor->name, tensor->dimensions, (long long)safetensors_elements(tensor), (long long)height,
            (long long)width, row->name);
    return ROTARY_OK;
}

static rotary_status mark_rows(const struct loads *loads, const struct load *load, rotary_error *error)
{
    const struct parameter *row = &loads->parameters->rows[load->index];
    for (int64_t i = 0; i < load->rows; i++) {
        bool *filled = &loads->filled[loads->filled_at[load->index] + load->first + i];
        if (*filled)
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                               "%s: row %lld of parameter %s is filled by two tensors, the second being %s",
                               safetensors_path(loads->call->file), (long long)(load->first + i), row->name,
                               load->tensor->name);
        *filled = true;
    }
    for (int i = 0; i < safetensors_count(loads->call->file); i++)
        if (safetensors_at(loads->call->file, i) == load->tensor)
            loads->used[i] = true;
    return ROTARY_OK;
}

/* Adds a source. Without a map, a parameter that has no tensor is left out. */
static rotary_status resolve(struct loads *loads, const struct parameter_source *source, bool mapped,
                             rotary_error *error)
{
    const struct safetensors *file = loads->call->file;
    struct load *load = &loads->all[loads->count];
    load->tensor = safetensors_find(file, source->tensor);
    load->index = parameters_find(loads->parameters, source->parameter);
    if (load->index < 0)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "%s: tensor %s is to fill parameter %s, which the model does not have",
                           safetensors_path(file), source->tensor, source->parameter);
    if (!load->tensor && !mapped)
        return ROTARY_OK;
    if (!load->tensor)
        return rotary_fail(error, ROTARY_BAD_FILE, "%s has no tensor %s, for parameter %s",
                           safetensors_path(file), source->tensor, source->parameter);
    const struct parameter *row = &loads->parameters->rows[load->index];
    load->first = source->first;
    load->rows = source->rows ? source->rows : row->rows;
    load->columns = columns_of(row);
    load->transposed = source->transposed;
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
                               safetensors_path(call->file), parameters->rows[i].name);
        if (call->filled)
            call->filled[i] = filled;
    }
    for (int i = 0; i < safetensors_count(call->file); i++) {
        if (!loads->used[i] && all)
            return rotary_fail(error, ROTARY_BAD_FILE, "%s: tensor %s is of no parameter",
                               safetensors_path(call->file), safetensors_at(call->file, i)->name);
        if (call->used)
            call->used[i] = loads->used[i];
    }
    return ROTARY_OK;
}

/* The data of other programs' files need not be aligned. */
static float element_of(const struct safetensor *tensor, int64_t at)
{
    size_t size = rotary_dtype_size(tensor->dtype);
    float element = 0.0f;
    memcpy(&element, (const char *)tensor->data + (size_t)at * size, size);
    return rotary_element(&element, 0, tensor->dtype);
}

/* Rows first ... first + rows - 1 of what a tensor fills, in f32. */
static void convert(const struct load *load, int64_t first, int64_t rows, float *to)
{
    for (int64_t row = first; row < first + rows; row++)
        for (int64_t column = 0; column < load->columns; column++) {
            int64_t at = load->transposed ? column * load->rows + row : row * load->columns + column;
            *to++ = element_of(load->tensor, at);
        }
}

static rotary_status write_values(const struct loads *loads, const struct load *load, rotary_error *error)
{
    int64_t block = min_i64(max_i64(BLOCK_ELEMENTS / load->columns, 1), load->rows);
    float *host = malloc((size_t)(block * load->columns) * sizeof *host);
    if (!host)
        return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory to convert tensor %s", load->tensor->name);
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
    size_t tensors = (size_t)safetensors_count(loads->call->file), rows = 0,
           sources = (size_t)(loads->call->map ? loads->call->count : parameters->count);
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
        status = rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory to list the tensors of %s",
                             safetensors_path(call->file));
    if (status == ROTARY_OK)
        status = resolve_all(&loads, error);
    if (status == ROTARY_OK)
        status = check_complete(&loads, error);
    for (int i = 0; status == ROTARY_OK && i < loads.count; i++)
        status = write_values(&loads, &loads.all[i], error);
    free(loads.filled_at);
    free(loads.all);
    free(loads.filled);
    free(loads.used);
    return status;
}
