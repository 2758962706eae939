/* SPDX-License-Identifier: Apache-2.0
 *
 * Random numbers from a counter: Philox-4x32-10 (Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as
 * easy as 1, 2, 3", SC 2011).
 *
 * A number is a pure function of (seed, stream, step, index). There is no state to save, any thread can
 * compute any number, and a resumed run draws the same numbers as an uninterrupted one.
 */
#ifndef ROTARY_BASE_RANDOM_H
#define ROTARY_BASE_RANDOM_H

#include <stdint.h>

struct rotary_random_key {
    uint64_t seed;
    uint32_t stream; /* one of rotary_random_stream */
    uint32_t step;   /* the training step; 0 for numbers that are drawn once */
};

/* One stream per use, so that no two uses of a seed draw the same numbers. Results of a seed depend on these
 * values: they never change. */
enum rotary_random_stream {
    ROTARY_STREAM_INITIAL = 1, /* initial parameters; step is a hash of the parameter's name */
    ROTARY_STREAM_DROPOUT = 2,
    ROTARY_STREAM_TASK = 3,        /* training data */
    ROTARY_STREAM_EVALUATE = 4,    /* validation data */
    ROTARY_STREAM_SAMPLE = 5,      /* sampling in generation */
    ROTARY_STREAM_PERMUTATION = 6, /* the order of a finite corpus; step is the epoch */
    ROTARY_STREAM_ATTENTION_DROPOUT = 7,
    ROTARY_STREAM_TEST = 8,
    ROTARY_STREAM_SIGN_FLIP = 9,   /* sign patterns of tests of paired differences */
    ROTARY_STREAM_RESAMPLING = 10, /* of segments; step is the sample */
    ROTARY_STREAM_CORPUS = 11,     /* synthetic sentences; step is the split */
    ROTARY_STREAM_POSITIONS = 12,  /* randomised ones; step is the micro-batch */
    ROTARY_STREAM_DOCUMENT = 13,   /* lengths of synthetic documents; step is the split */
    ROTARY_STREAM_MASK = 14,       /* masked tokens; step is the split */
    ROTARY_STREAM_SPLIT = 16,      /* of a labelled corpus; the seed is a hash of a text */
    ROTARY_STREAM_LABEL = 17,      /* labels of synthetic sentences; step is the split */
    ROTARY_STREAM_SUBSPACE = 19,   /* that the search for eigenvectors begins with */
    ROTARY_STREAM_WINDOW = 20,     /* where windows of a text begin */
    ROTARY_STREAM_POWER = 21,      /* scores that are made up; step is the experiment */
};

/* The four words of a block. */
void rotary_random_block(struct rotary_random_key key, uint64_t block, uint32_t words[4]);

/* Word `index`: word index % 4 of block index / 4. */
uint32_t rotary_random_u32(struct rotary_random_key key, uint64_t index);

/* Uniform in [0, 1), a multiple of 2^-24. */
float rotary_random_uniform(struct rotary_random_key key, uint64_t index);
/* rotary_random_uniform of indices first ... first + count - 1, several times as fast. */
void rotary_random_uniforms(struct rotary_random_key key, uint64_t first, int64_t count, float *values);

/* Standard normal (Box-Muller on block `index` / 2, whose two numbers are independent). */
float rotary_random_normal(struct rotary_random_key key, uint64_t index);

/* Draws the numbers of one key in order. Copying the struct saves its state. */
struct rotary_random {
    struct rotary_random_key key;
    uint64_t next;
};
uint32_t rotary_random_next(struct rotary_random *random);
/* Uniform over 0 ... bound - 1 without bias (Lemire's rejection); bound must be at least 1. */
uint32_t rotary_random_below(struct rotary_random *random, uint32_t bound);

/* FNV-1a hash of bytes, for keys made from names. */
uint64_t rotary_hash(const void *bytes, uint64_t count);

#endif
