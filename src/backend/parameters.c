/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/parameters.h"

#include "base/fail.h"
#include "base/integer.h"
#include "base/random.h"
#include "base/threads.h"

#include <stdlib.h>
#include <string.h>

enum { OFFSET_MULTIPLE = (int)(ROTARY_ALIGNMENT / sizeof(float)), BLOCK_ELEMENTS = 1 << 15 };

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
            return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory for a table of %d parameters",
                               capacity);
        parameters->rows = rows;
        parameters->capacity = capacity;
    }
    struct parameter *added = &parameters->rows[parameters->count];
    *added = *row;
    added->offset = parameters->elements;
    int64_t elements = parameter_elements(added);
    parameters->elements += round_up(elements, OFFSET_MULTIPLE);
    *index = parameters->count++;
    return ROTARY_OK;
}

static void carve(struct parameters *parameters, bool training)
{
    parameters->values = rotary_arena_push(&parameters->arena, parameters->elements, sizeof(float));
    if (training) {
        parameters->gradients = rotary_arena_push(&parameters->arena, parameters->elements, sizeof(float));
        parameters->moment1 = rotary_arena_push(&parameters->arena, parameters->elements, sizeof(float));
        parameters->moment2 = rotary_arena_push(&parameters->arena, parameters->elements, sizeof(float));
    }
}

rotary_status parameters_allocate(struct parameters *parameters, bool training, rotary_error *error)
{
    carve(parameters, training);
    rotary_status status = rotary_arena_allocate(&parameters->arena, "the parameter table", error);
    if (status == ROTARY_OK)
        carve(parameters, training);
    return status;
}

/* The initialisation of one parameter, in blocks. */
struct initialise_work {
    const struct parameter *row;
    float *value;
    struct rotary_random_key key;
};

static void initialise_block(void *argument, int64_t index, int worker)
{
    (void)worker;
    const struct initialise_work *work = argument;
    const struct parameter *row = work->row;
    int64_t elements = parameter_elements(row), begin = index * BLOCK_ELEMENTS,
            end = min_i64(begin + BLOCK_ELEMENTS, elements);
    float *value = work->value;
    if (row->initial == INITIAL_UNIFORM)
        rotary_random_uniforms(work->key, (uint64_t)begin, end - begin, value + begin);
    for (int64_t j = begin; j < end; j++)
        switch (row->initial) {
        case INITIAL_ZERO:
            value[j] = 0.0f;
            break;
        case INITIAL_ONE:
            value[j] = 1.0f;
            break;
        case INITIAL_NORMAL:
            value[j] = row->scale * rotary_random_normal(work->key, (uint64_t)j);
            break;
        case INITIAL_UNIFORM:
            value[j] = row->scale * (2.0f * value[j] - 1.0f);
            break;
        }
}

void parameters_initialise(struct parameters *parameters, int threads, uint64_t seed)
{
    for (int i = 0; i < parameters->count; i++) {
        const struct parameter *row = &parameters->rows[i];
        uint64_t hash = rotary_hash(row->name, strlen(row->name));
        struct initialise_work work = {
            .row = row,
            .value = parameter_value(parameters, i),
            .key = {.seed = seed, .stream = ROTARY_STREAM_INITIAL, .step = (uint32_t)(hash ^ hash >> 32)}};
        rotary_parallel_for(threads, divide_up(parameter_elements(row), BLOCK_ELEMENTS), initialise_block,
                            &work);
    }
}

void parameters_free(struct parameters *parameters)
{
    rotary_arena_free(&parameters->arena);
    free(parameters->rows);
    *parameters = (struct parameters){0};
}
