/* SPDX-License-Identifier: Apache-2.0
 *
 * The parameter table. It drives allocation, initialisation, the optimizer, checkpoints and the gradient
 * tests. Layers add rows while a model is created; parameters_allocate then allocates four flat f32 arrays in
 * backend memory, in which every row has its range: values, gradients and Adam's two moments.
 *
 * Every write of values raises the versions of the rows it writes, and only functions of this header write
 * them: what was made from a value (packed weights) is stale exactly if its version is older.
 */
#ifndef ROTARY_BACKEND_PARAMETERS_H
#define ROTARY_BACKEND_PARAMETERS_H

#include "backend/backend.h"

enum initialisation {
    INITIAL_ZERO,
    INITIAL_ONE,
    INITIAL_CONSTANT,    /* `scale` */
    INITIAL_NORMAL,      /* standard deviation `scale` */
    INITIAL_UNIFORM,     /* -scale ... scale */
    INITIAL_LOG_UNIFORM, /* the logarithm of a number in 0 ... scale, of at least scale / 256 */
    INITIAL_VALUES,      /* `values` */
};

/* Glorot and Bengio 2010: the bound of a uniform distribution of the elements of a matrix of these sides. */
float initial_glorot(int64_t inputs, int64_t outputs);

struct parameter {
    char name[96]; /* "layers.0.attention.output.weight": unique, and the tensor's name in a checkpoint */
    int64_t rows, columns; /* columns is 0 for a vector */
    enum initialisation initial;
    float scale;
    const float *values; /* of INITIAL_VALUES: of all its elements; borrowed, read by parameters_initialise */
    int64_t tail_rows;   /* the last of its rows: INITIAL_UNIFORM takes tail_scale for them */
    float tail_scale;
    bool decay;         /* whether weight decay applies: to matrices, not to biases and gains */
    bool may_be_stored; /* a matrix that its layer can compute with as a file has it */
    bool is_stored;     /* it has no values in the flat arrays, but `stored`, once parameters_store gave it */
    struct stored_weight stored; /* its parts are owned */
    bool frozen;  /* not trained: gets no gradient and no update; set before gradients are added, and before
                   * their memory is allocated it has none there */
    bool adapted; /* gets a gradient, but no update: trained in its place are rows of the table `adapter`; set
                   * before the memory of gradients is allocated */
    int64_t offset; /* of its first element in `values`; a multiple of 16 */
    int64_t
        gradient_offset; /* in `gradients` and the moments: the same where every row is trained; -1: none */
    uint64_t version;    /* of its values: 1 after parameters_allocate */
};

/* A packed weight that all rows of one shape use, one after another: for uses so far apart, and so seldom,
 * that a copy for each row costs more in memory than packing costs in time. */
struct shared_weight {
    struct packed_weight_config config;
    struct packed_weight *weight; /* NULL: only its size is wanted */
    int index;                    /* of the row that it has */
    uint64_t version;             /* of that row when it was packed; 0: it has none */
};

struct parameters {
    const struct backend *backend; /* borrowed; to be set before rows are added, all else being zero */
    struct parameter *rows;
    int count, capacity;
    /* Counts the floats of `values`; of the moments; of `gradients`, whose last are those of adapted rows.
     * With the gaps for alignment, which stay zero. */
    int64_t elements, trained_elements, gradient_elements;
    float *values, *gradients;          /* gradients is NULL without training */
    float *moment1, *moment2;           /* Adam's first and second moments; NULL without training */
    struct step_statistics *statistics; /* NULL without training */
    bool stores;                        /* rows that may be stored are; set before any is added */
    void *source;                       /* what stored rows lie in, and who releases it; NULL: nothing */
    void (*release)(void *source);
    struct parameters *adapter; /* borrowed: rows that are trained together with these; NULL: none */
    struct update_share *share; /* borrowed: of a backend whose memory is the host's; NULL: all */
    struct shared_weight *shared;
    int shared_count;
    struct rotary_arena arena, training_arena;
};

/* Adds a copy of `row`, whose offset and version are not read, and writes its index to `index`. */
ROTARY_CHECKED rotary_status parameters_add(struct parameters *parameters, const struct parameter *row,
                                            int *index, rotary_error *error);
/* Allocates the flat arrays, zeroed; without training the values alone. */
ROTARY_CHECKED rotary_status parameters_allocate(struct parameters *parameters, bool training,
                                                 rotary_error *error);
/* Allocates gradients, moments and statistics of a table that has values alone. Which rows are frozen or
 * adapted is decided by now. */
ROTARY_CHECKED rotary_status parameters_allocate_training(struct parameters *parameters, rotary_error *error);
/* Initialises every value from the seed and the parameter's name alone: models with a parameter of the same
 * name and shape initialise it equally. The number of threads does not matter. */
ROTARY_CHECKED rotary_status parameters_initialise(struct parameters *parameters, uint64_t seed,
                                                   rotary_error *error);
void parameters_free(struct parameters *parameters);

/* Adds the next rows of a stored parameter; first and copy are not read. They stay where they are, unless
 * their numbers are not aligned, and must outlive the table, as what parameters_keep is given does.
 * ROTARY_INVALID_ARGUMENT for more rows than it has. */
ROTARY_CHECKED rotary_status parameters_store(struct parameters *parameters, int index,
                                              const struct stored_rows *part, rotary_error *error);
/* Hands over what stored rows lie in: parameters_free calls release(source). Once for a table. */
void parameters_keep(struct parameters *parameters, void *source, void (*release)(void *source));

/* Packs the values of row `index`, which has the shape of `weight`. */
ROTARY_CHECKED rotary_status parameters_pack(const struct parameters *parameters, int index,
                                             struct packed_weight *weight, rotary_error *error);
/* Writes to `shared` which of the shared weights has this configuration; adds it if none has. With `measured`
 * it gets no memory. */
ROTARY_CHECKED rotary_status parameters_share(struct parameters *parameters,
                                              const struct packed_weight_config *config, bool measured,
                                              int *shared, rotary_error *error);
/* Packs the values of row `index` into a shared weight, unless it has them, and writes it to `weight`: until
 * the next call for the same one. */
ROTARY_CHECKED rotary_status parameters_pack_shared(struct parameters *parameters, int shared, int index,
                                                    struct packed_weight **weight, rotary_error *error);
/* Bytes of all shared weights. */
size_t parameters_shared_bytes(const struct parameters *parameters);

/* The flat arrays, for parameters_write and parameters_read. */
enum parameter_array {
    PARAMETER_VALUES,
    PARAMETER_GRADIENTS,
    PARAMETER_MOMENT1,
    PARAMETER_MOMENT2,
    PARAMETER_ARRAYS
};

/* Copies elements first ... first + count - 1 of row `index` of an array from and to the host. */
struct parameter_range {
    enum parameter_array array;
    int index;
    int64_t first, count;
};
ROTARY_CHECKED rotary_status parameters_write(struct parameters *parameters, struct parameter_range range,
                                              const float *host, rotary_error *error);
ROTARY_CHECKED rotary_status parameters_read(const struct parameters *parameters,
                                             struct parameter_range range, float *host, rotary_error *error);
/* Backend memory of the values of row `index`, all of which an operation is about to write: raises its
 * version. */
float *parameters_overwrite(struct parameters *parameters, int index);
/* All of row `index` of an array. */
struct parameter_range parameter_range(const struct parameters *parameters, enum parameter_array array,
                                       int index);

/* The elements of a block of the trained ones: the norm is that of the blocks' sums of squares, in their order. It
 * depends on their number alone. */
int64_t parameters_block(const struct parameters *parameters);
enum { PARAMETER_BLOCKS = 1024 }; /* at most */
/* One step of the optimizer (struct backend_update) of this table and its adapter, after which the versions
 * of all trained rows are raised. This and the statistics are ROTARY_INVALID_ARGUMENT without training. */
ROTARY_CHECKED rotary_status parameters_update(struct parameters *parameters, const struct adam *adam,
                                               double max_grad_norm, rotary_error *error);
/* The statistics of a step, in backend memory: set to zero before its first micro-batch; losses add to them
 * (layer/loss.h), parameters_update completes them, and this is the step's one read. */
ROTARY_CHECKED rotary_status parameters_clear_statistics(struct parameters *parameters, rotary_error *error);
ROTARY_CHECKED rotary_status parameters_read_statistics(const struct parameters *parameters,
                                                        struct step_statistics *statistics,
                                                        rotary_error *error);

/* Replaces the losses of the statistics: by those of parts of a step that were summed elsewhere. */
ROTARY_CHECKED rotary_status parameters_write_losses(struct parameters *parameters,
                                                     const struct loss_sums *losses, rotary_error *error);
/* Exchanges the memory of the gradients for other memory of the backend, of gradient_elements floats. */
void parameters_swap_gradients(struct parameters *parameters, float **gradients);

/* Rows first ... end - 1 of a table. */
struct parameter_rows {
    int first, end;
};
/* Number of elements of a row, and of all rows without the gaps. */
int64_t parameter_elements(const struct parameter *row);
int64_t parameters_total(const struct parameters *parameters);

/* Whether the optimizer changes the values of a row: it alone has moments. */
static inline bool parameter_is_trained(const struct parameter *row)
{
    return !row->frozen && !row->adapted;
}

/* The index of the row of that name; -1: none. */
int parameters_find(const struct parameters *parameters, const char *name);

/* Backend memory of the values of row `index`; NULL for index -1 and for stored rows. Not for writing. */
static inline const float *parameter_value(const struct parameters *parameters, int index)
{
    return index < 0 || parameters->rows[index].is_stored
               ? NULL
               : parameters->values + parameters->rows[index].offset;
}

/* The weight of row `index` as a file has it; NULL where it is not stored so. */
static inline const struct stored_weight *parameter_stored(const struct parameters *parameters, int index)
{
    return index >= 0 && parameters->rows[index].is_stored ? &parameters->rows[index].stored : NULL;
}

/* Backend memory to which the gradient of row `index` is added; NULL for index -1 and for frozen rows. */
static inline float *parameter_gradient(const struct parameters *parameters, int index)
{
    return index < 0 || parameters->rows[index].frozen
               ? NULL
               : parameters->gradients + parameters->rows[index].gradient_offset;
}

#endif
