/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/parameters.h"

#include "base/fail.h"
#include "base/integer.h"
#include "base/random.h"
#include "base/threads.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    OFFSET_MULTIPLE = (int)(ROTARY_ALIGNMENT / sizeof(float)),
    BLOCK_ELEMENTS = 1 << 15,
    MAX_HOST_ELEMENTS = 1 << 20, /* initialised on the host at once */
};

float initial_glorot(int64_t inputs, int64_t outputs)
{
    return (float)sqrt(6.0 / ((double)inputs + (double)outputs));
}

int64_t parameter_elements(const struct parameter *row)
{
    return row->rows * (row->columns ? row->columns : 1);
}

int64_t parameters_total(const struct parameters *parameters)
{
    int64_t total = 0;
    for (int i = 0; i < parameters->count; i++)
        total += parameter_elements(&parameters->rows[i]);
    return total;
}

rotary_status parameters_add(struct parameters *parameters, const struct parameter *row, int *index,
                             rotary_error *error)
{
    for (int i = 0; i < parameters->count; i++)
        if (strcmp(parameters->rows[i].name, row->name) == 0)
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "two parameters are named \"%s\"", row->name);
    if (parameters->count == parameters->capacity) {
        int capacity = parameters->capacity ? 2 * parameters->capacity : 64;
        struct parameter *rows = realloc(parameters->rows, (size_t)capacity * sizeof *rows);
        if (!rows)
            return rotary_fail_memory(error, "for a table of %d parameters", capacity);
        parameters->rows = rows;
        parameters->capacity = capacity;
    }
    struct parameter *added = &parameters->rows[parameters->count];
    *added = *row;
    added->offset = added->gradient_offset = parameters->elements;
    added->version = 0;
    added->is_stored = parameters->stores && added->may_be_stored;
    added->stored = (struct stored_weight){.columns = added->columns};
    int64_t elements = added->is_stored ? 0 : parameter_elements(added);
    parameters->elements += round_up(elements, OFFSET_MULTIPLE);
    *index = parameters->count++;
    return ROTARY_OK;
}

int parameters_find(const struct parameters *parameters, const char *name)
{
    for (int i = 0; i < parameters->count; i++)
        if (strcmp(parameters->rows[i].name, name) == 0)
            return i;
    return -1;
}

static void carve_values(struct parameters *parameters)
{
    parameters->values = rotary_arena_push(&parameters->arena, parameters->elements, sizeof(float));
}

rotary_status parameters_allocate(struct parameters *parameters, bool training, rotary_error *error)
{
    carve_values(parameters);
    rotary_status status =
        backend_arena_allocate(parameters->backend, &parameters->arena, "the parameter table", error);
    if (status != ROTARY_OK)
        return status;
    carve_values(parameters);
    for (int i = 0; i < parameters->count; i++)
        parameters->rows[i].version = 1;
    return training ? parameters_allocate_training(parameters, error) : ROTARY_OK;
}

/* Places the gradients of adapted rows, or of trained ones, from element `first` on; returns where they end.
 */
static int64_t place_gradients(struct parameters *parameters, bool adapted, int64_t first)
{
    for (int i = 0; i < parameters->count; i++) {
        struct parameter *row = &parameters->rows[i];
        if (row->frozen)
            row->gradient_offset = -1;
        if (row->frozen || row->adapted != adapted)
            continue;
        row->gradient_offset = first;
        first += round_up(row->is_stored ? 0 : parameter_elements(row), OFFSET_MULTIPLE);
    }
    return first;
}

static void carve_training(struct parameters *parameters)
{
    struct rotary_arena *arena = &parameters->training_arena;
    parameters->gradients = rotary_arena_push(arena, parameters->gradient_elements, sizeof(float));
    parameters->moment1 = rotary_arena_push(arena, parameters->trained_elements, sizeof(float));
    parameters->moment2 = rotary_arena_push(arena, parameters->trained_elements, sizeof(float));
    parameters->statistics = rotary_arena_push(arena, 1, sizeof *parameters->statistics);
}

rotary_status parameters_allocate_training(struct parameters *parameters, rotary_error *error)
{
    parameters->trained_elements = place_gradients(parameters, false, 0);
    parameters->gradient_elements = place_gradients(parameters, true, parameters->trained_elements);
    carve_training(parameters);
    rotary_status status = backend_arena_allocate(parameters->backend, &parameters->training_arena,
                                                  "the gradients and moments of parameters", error);
    if (status == ROTARY_OK)
        carve_training(parameters);
    return status;
}

/* The initialisation of elements first ... first + count - 1 of a parameter, in blocks. */
struct initialise_work {
    const struct parameter *row;
    int64_t first, count;
    float *host; /* [count] */
    struct rotary_random_key key;
};

/* The bound of element i of a uniform distribution. */
static float scale_of(const struct parameter *row, int64_t i)
{
    int64_t tail = (row->rows - row->tail_rows) * (row->columns ? row->columns : 1);
    return i < tail ? row->scale : row->tail_scale;
}

static void initialise_block(void *argument, int64_t index, int worker)
{
    (void)worker;
    const struct initialise_work *work = argument;
    const struct parameter *row = work->row;
    int64_t begin = index * BLOCK_ELEMENTS, end = min_i64(begin + BLOCK_ELEMENTS, work->count);
    float *value = work->host;
    if (row->initial == INITIAL_UNIFORM || row->initial == INITIAL_LOG_UNIFORM)
        rotary_random_uniforms(work->key, (uint64_t)(work->first + begin), end - begin, value + begin);
    for (int64_t j = begin; j < end; j++)
        switch (row->initial) {
        case INITIAL_ZERO:
            value[j] = 0.0f;
            break;
        case INITIAL_ONE:
            value[j] = 1.0f;
            break;
        case INITIAL_CONSTANT:
            value[j] = row->scale;
            break;
        case INITIAL_NORMAL:
            value[j] = row->scale * rotary_random_normal(work->key, (uint64_t)(work->first + j));
            break;
        case INITIAL_UNIFORM:
            value[j] = scale_of(row, work->first + j) * (2.0f * value[j] - 1.0f);
            break;
        case INITIAL_LOG_UNIFORM:
            value[j] = (float)log((double)row->scale * fmax((double)value[j], 0x1p-8));
            break;
        case INITIAL_VALUES:
            value[j] = row->values[work->first + j];
            break;
        }
}

static rotary_status initialise_row(struct parameters *parameters, int index, float *host, uint64_t seed,
                                    rotary_error *error)
{
    const struct parameter *row = &parameters->rows[index];
    uint64_t hash = rotary_hash(row->name, strlen(row->name));
    int64_t elements = parameter_elements(row);
    rotary_status status = ROTARY_OK;
    for (int64_t first = 0; first < elements && status == ROTARY_OK; first += MAX_HOST_ELEMENTS) {
        struct initialise_work work = {
            .row = row,
            .first = first,
            .count = min_i64(elements - first, MAX_HOST_ELEMENTS),
            .host = host,
            .key = {.seed = seed, .stream = ROTARY_STREAM_INITIAL, .step = (uint32_t)(hash ^ hash >> 32)}};
        rotary_parallel_for(parameters->backend->threads, divide_up(work.count, BLOCK_ELEMENTS),
                            initialise_block, &work);
        const struct parameter_range range = {
            .array = PARAMETER_VALUES, .index = index, .first = first, .count = work.count};
        status = parameters_write(parameters, range, host, error);
    }
    return status;
}

rotary_status parameters_initialise(struct parameters *parameters, uint64_t seed, rotary_error *error)
{
    float *host = malloc(MAX_HOST_ELEMENTS * sizeof *host);
    if (!host)
        return rotary_fail_memory(error, "to initialise parameters");
    rotary_status status = ROTARY_OK;
    for (int i = 0; i < parameters->count && status == ROTARY_OK; i++)
        if (!parameters->rows[i].is_stored)
            status = initialise_row(parameters, i, host, seed, error);
    free(host);
    return status;
}

void parameters_keep(struct parameters *parameters, void *source, void (*release)(void *source))
{
    parameters->source = source;
    parameters->release = release;
}

/* Copies rows whose numbers are not aligned, which a file may have. */
static rotary_status align_part(struct stored_rows *part, const struct parameter *row, rotary_error *error)
{
    const size_t size = rotary_dtype_size(part->dtype), bytes = (size_t)(part->rows * row->columns) * size;
    if ((uintptr_t)part->data % size == 0)
        return ROTARY_OK;
    part->copy = malloc(bytes);
    if (!part->copy)
        return rotary_fail_memory(error, "for the rows of parameter %s", row->name);
    memcpy(part->copy, part->data, bytes);
    part->data = part->copy;
    return ROTARY_OK;
}

rotary_status parameters_store(struct parameters *parameters, int index, const struct stored_rows *part,
                               rotary_error *error)
{
    struct parameter *row = &parameters->rows[index];
    struct stored_weight *stored = &row->stored;
    if (!row->is_stored || part->rows < 1 || part->rows > row->rows - stored->rows)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "%lld rows for parameter %s, which has %lld, of which %lld are there",
                           (long long)part->rows, row->name, (long long)row->rows, (long long)stored->rows);
    struct stored_rows *parts =
        realloc((void *)(uintptr_t)stored->parts, (size_t)(stored->count + 1) * sizeof *parts);
    if (!parts)
        return rotary_fail_memory(error, "for the rows of parameter %s", row->name);
    parts[stored->count] = *part;
    parts[stored->count].first = stored->rows;
    parts[stored->count].copy = NULL;
    stored->parts = parts;
    rotary_status status = align_part(&parts[stored->count], row, error);
    if (status != ROTARY_OK)
        return status;
    stored->count++;
    stored->rows += part->rows;
    return ROTARY_OK;
}

static void free_stored(struct stored_weight *stored)
{
    for (int64_t i = 0; i < stored->count; i++)
        free(stored->parts[i].copy);
    free((void *)(uintptr_t)stored->parts);
}

void parameters_free(struct parameters *parameters)
{
    for (int i = 0; i < parameters->count; i++)
        free_stored(&parameters->rows[i].stored);
    if (parameters->release)
        parameters->release(parameters->source);
    for (int i = 0; i < parameters->shared_count; i++)
        parameters->backend->operations->packed_weight_destroy(parameters->backend,
                                                               parameters->shared[i].weight);
    free(parameters->shared);
    backend_arena_free(parameters->backend, &parameters->training_arena);
    backend_arena_free(parameters->backend, &parameters->arena);
    free(parameters->rows);
    *parameters = (struct parameters){0};
}

struct parameter_range parameter_range(const struct parameters *parameters, enum parameter_array array,
                                       int index)
{
    return (struct parameter_range){
        .array = array, .index = index, .count = parameter_elements(&parameters->rows[index])};
}

static float *range_start(const struct parameters *parameters, struct parameter_range range)
{
    float *const arrays[PARAMETER_ARRAYS] = {[PARAMETER_VALUES] = parameters->values,
                                             [PARAMETER_GRADIENTS] = parameters->gradients,
                                             [PARAMETER_MOMENT1] = parameters->moment1,
                                             [PARAMETER_MOMENT2] = parameters->moment2};
    const struct parameter *row = &parameters->rows[range.index];
    return arrays[range.array] + range.first +
           (range.array == PARAMETER_VALUES ? row->offset : row->gradient_offset);
}

/* What a row has of an array. */
static int64_t elements_in(const struct parameter *row, enum parameter_array array)
{
    const bool none = row->is_stored || (array != PARAMETER_VALUES && row->gradient_offset < 0) ||
                      (array >= PARAMETER_MOMENT1 && row->adapted);
    return none ? 0 : parameter_elements(row);
}

static rotary_status check_range(const struct parameters *parameters, struct parameter_range range,
                                 rotary_error *error)
{
    if (range.index < 0 || range.index >= parameters->count)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "parameter %d: the table has %d", range.index,
                           parameters->count);
    const struct parameter *row = &parameters->rows[range.index];
    int64_t elements = elements_in(row, range.array);
    if (range.first < 0 || range.count < 0 || range.first > elements || range.count > elements - range.first)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "elements %lld ... %lld of parameter %s, which has %lld", (long long)range.first,
                           (long long)range.first + range.count - 1, row->name, (long long)elements);
    if (range.array != PARAMETER_VALUES && !parameters->gradients)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "parameter %s has values only: the model was created for inference", row->name);
    if (range.array >= PARAMETER_MOMENT1 && parameters->share && parameters->share->scattered)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "the moments of parameter %s are other processes'",
                           row->name);
    return ROTARY_OK;
}

rotary_status parameters_write(struct parameters *parameters, struct parameter_range range, const float *host,
                               rotary_error *error)
{
    rotary_status status = check_range(parameters, range, error);
    if (status != ROTARY_OK)
        return status;
    if (range.array == PARAMETER_VALUES)
        parameters->rows[range.index].version++;
    return parameters->backend->operations->write(parameters->backend, range_start(parameters, range), host,
                                                  (size_t)range.count * sizeof *host, error);
}

rotary_status parameters_read(const struct parameters *parameters, struct parameter_range range, float *host,
                              rotary_error *error)
{
    rotary_status status = check_range(parameters, range, error);
    if (status != ROTARY_OK)
        return status;
    return parameters->backend->operations->read(parameters->backend, host, range_start(parameters, range),
                                                 (size_t)range.count * sizeof *host, error);
}

float *parameters_overwrite(struct parameters *parameters, int index)
{
    parameters->rows[index].version++;
    return parameters->values + parameters->rows[index].offset;
}

static rotary_status check_training(const struct parameters *parameters, rotary_error *error)
{
    if (parameters->gradients)
        return ROTARY_OK;
    return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                       "parameters without gradients cannot be trained: the model was created for inference");
}

int64_t parameters_block(const struct parameters *parameters)
{
    enum { MIN_ELEMENTS = 1 << 14 };
    return max_i64(divide_up(parameters->trained_elements, PARAMETER_BLOCKS), MIN_ELEMENTS);
}

rotary_status parameters_update(struct parameters *parameters, const struct adam *adam, double max_grad_norm,
                                rotary_error *error)
{
    rotary_status status = check_training(parameters, error);
    if (status != ROTARY_OK)
        return status;
    const struct backend_update call = {
        .parameters = parameters, .adam = *adam, .max_grad_norm = max_grad_norm};
    if (parameters->share)
        parameters->share->scattered = true;
    for (struct parameters *table = parameters; table; table = table->adapter)
        for (int i = 0; i < table->count; i++)
            if (parameter_is_trained(&table->rows[i]))
                table->rows[i].version++;
    return parameters->backend->operations->update(parameters->backend, &call, error);
}

rotary_status parameters_clear_statistics(struct parameters *parameters, rotary_error *error)
{
    rotary_status status = check_training(parameters, error);
    if (status != ROTARY_OK)
        return status;
    return parameters->backend->operations->clear(parameters->backend, parameters->statistics,
                                                  sizeof *parameters->statistics, error);
}

rotary_status parameters_read_statistics(const struct parameters *parameters,
                                         struct step_statistics *statistics, rotary_error *error)
{
    rotary_status status = check_training(parameters, error);
    if (status != ROTARY_OK)
        return status;
    return parameters->backend->operations->read(parameters->backend, statistics, parameters->statistics,
                                                 sizeof *statistics, error);
}

rotary_status parameters_write_losses(struct parameters *parameters, const struct loss_sums *losses,
                                      rotary_error *error)
{
    rotary_status status = check_training(parameters, error);
    if (status != ROTARY_OK)
        return status;
    return parameters->backend->operations->write(parameters->backend, &parameters->statistics->loss, losses,
                                                  sizeof *losses, error);
}

void parameters_swap_gradients(struct parameters *parameters, float **gradients)
{
    float *const before = parameters->gradients;
    parameters->gradients = *gradients;
    *gradients = before;
}
