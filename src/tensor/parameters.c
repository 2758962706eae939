/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor/parameters.h"

#include "base/fail.h"
#include "base/random.h"

#include <stdlib.h>
#include <string.h>

enum { OFFSET_MULTIPLE = (int)(ROTARY_ALIGNMENT / sizeof(float)) };

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
    parameters->elements += (elements + OFFSET_MULTIPLE - 1) / OFFSET_MULTIPLE * OFFSET_MULTIPLE;
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
    rotary_status status = rotary_arena_allocate(&parameters->arena, "the table of parameters", error);
    if (status == ROTARY_OK)
        carve(parameters, training);
    return status;
}

void parameters_initialise(struct parameters *parameters, uint64_t seed)
{
    for (int i = 0; i < parameters->count; i++) {
        const struct parameter *row = &parameters->rows[i];
        float *value = parameter_value(parameters, i);
        uint64_t hash = rotary_hash(row->name, strlen(row->name));
        struct rotary_random_key key = {
            .seed = seed, .stream = ROTARY_STREAM_INITIAL, .step = (uint32_t)(hash ^ hash >> 32)};
        int64_t elements = parameter_elements(row);
        for (int64_t j = 0; j < elements; j++)
            switch (row->initial) {
            case INITIAL_ZERO:
                value[j] = 0.0f;
                break;
            case INITIAL_ONE:
                value[j] = 1.0f;
                break;
            case INITIAL_NORMAL:
                value[j] = row->scale * rotary_random_normal(key, (uint64_t)j);
                break;
            case INITIAL_UNIFORM:
                value[j] = row->scale * (2.0f * rotary_random_uniform(key, (uint64_t)j) - 1.0f);
                break;
            }
    }
}

void parameters_free(struct parameters *parameters)
{
    rotary_arena_free(&parameters->arena);
    free(parameters->rows);
    *parameters = (struct parameters){0};
}
