/* SPDX-License-Identifier: Apache-2.0
 *
 * The parameter table. It drives allocation, initialisation, the optimizer, checkpoints and the gradient
 * tests. Layers add rows while a model is created; parameters_allocate then allocates four flat f32 arrays in
 * which every row has its range: values, gradients and Adam's two moments.
 */
#ifndef ROTARY_BACKEND_PARAMETERS_H
#define ROTARY_BACKEND_PARAMETERS_H

#include "base/arena.h"

enum initialisation {
    INITIAL_ZERO,
    INITIAL_ONE,
    INITIAL_NORMAL,  /* standard deviation `scale` */
    INITIAL_UNIFORM, /* -scale ... scale */
};

struct parameter {
    char name[96]; /* "layers.0.attention.output.weight": unique, and the tensor's name in a checkpoint */
    int64_t rows, columns; /* columns is 0 for a vector */
    enum initialisation initial;
    float scale;
    bool decay;     /* whether weight decay applies: to matrices, not to biases and gains */
    int64_t offset; /* of its first element in the flat arrays; a multiple of 16 */
};

struct parameters {
    struct parameter *rows;
    int count, capacity;
    int64_t elements;          /* of each flat array, with the gaps for alignment, which stay zero */
    float *values, *gradients; /* gradients is NULL without training */
    float *moment1, *moment2;  /* Adam's first and second moments; NULL without training */
    struct rotary_arena arena;
};

/* Adds a copy of `row`, whose offset is not read, and writes its index to `index`. */
ROTARY_CHECKED rotary_status parameters_add(struct parameters *parameters, const struct parameter *row,
                                            int *index, rotary_error *error);
/* Allocates the flat arrays, zeroed. */
ROTARY_CHECKED rotary_status parameters_allocate(struct parameters *parameters, bool training,
                                                 rotary_error *error);
/* Initialises every value from the seed and the parameter's name alone: models with a parameter of the same
 * name and shape initialise it equally. The number of threads does not matter. */
void parameters_initialise(struct parameters *parameters, int threads, uint64_t seed);
void parameters_free(struct parameters *parameters);

/* Number of elements of a row, and of all rows without the gaps. */
int64_t parameter_elements(const struct parameter *row);
int64_t parameters_total(const struct parameters *parameters);

static inline float *parameter_value(const struct parameters *parameters, int index)
{
    return index < 0 ? NULL : parameters->values + parameters->rows[index].offset;
}

static inline float *parameter_gradient(const struct parameters *parameters, int index)
{
    return index < 0 ? NULL : parameters->gradients + parameters->rows[index].offset;
}

#endif
