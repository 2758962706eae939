/* SPDX-License-Identifier: Apache-2.0
 *
 * The batches of a task: a number of the next rows, or as many as have a number of tokens at most, one behind
 * another without padding. Which rows are the next follows from the task, the seed and how many came before.
 */
#ifndef ROTARY_TRAIN_BATCHES_H
#define ROTARY_TRAIN_BATCHES_H

#include "base/arena.h"
#include "task/task.h"

/* The rows of a split in the order in which they are read. */
struct row_order {
    const struct task *task; /* borrowed; a finite corpus has examples of the split */
    enum task_split split;   /* of training, examples are permuted anew in every epoch; it has no end */
    uint64_t seed;
    bool in_order; /* a corpus's training examples once, in its own order, as the other splits are */
    int64_t rows;  /* of a task without a corpus: those of a step of training, or all of another split */
};
/* The place of row `ordinal`, counted from 0. After the last example of a split its first one follows. */
struct task_place place_at(const struct row_order *order, int64_t ordinal);
/* The numbers of its tokens, and of a corpus the example. */
struct task_example example_at(const struct row_order *order, int64_t ordinal);

/* How many rows a batch has. */
struct batch_size {
    int64_t rows;   /* so many, fewer where the split ends; 0: as many as have at most `tokens` */
    int64_t tokens; /* of source, and as many of target. With `rows`, no batch has more */
};
/* How many rows a batch from `ordinal` on has: 0 where the split ends, or the first has more tokens. */
int64_t rows_within(const struct row_order *order, struct batch_size size, int64_t ordinal);
/* The training example with the most tokens of source or of target: its index, and that number. */
struct longest_example {
    int64_t index, tokens;
};
struct longest_example examples_longest(const struct task *task);
/* The number of batches that rows 0, 1, ... are cut into, of an order with an end. */
int64_t batches_count(const struct row_order *order, struct batch_size size);

/* Where micro-batch `batch` of the training data begins. All zero: the first one. */
struct row_cursor {
    int64_t batch, ordinal;
};
/* Moves a cursor of training data to a batch, on from where it is, or from the beginning for a batch before
 * that. From the beginning this takes about a second for a million examples, and no time if batches have a
 * number of them. */
void row_cursor_move(struct row_cursor *cursor, const struct row_order *order, struct batch_size size,
                     int64_t batch);

/* The memory of a batch of at most `tokens` tokens of source and as many of target. */
struct batch_memory {
    int32_t *tokens, *classes;       /* [tokens] */
    int32_t *segments;               /* [tokens]; NULL: there are none, as of the next members */
    float *values;                   /* [tokens], of which each sequence has one */
    int32_t *source;                 /* [tokens] */
    int32_t *starts, *source_starts; /* [tokens + 1]; of rows of one length NULL */
    int32_t *scratch;                /* of each of these rows */
};
/* Pushes the memory onto an arena. Called twice: to measure, then to assign memory (base/arena.h). */
void batch_carve(struct batch_memory *memory, const struct task *task, int64_t tokens,
                 struct rotary_arena *arena);
/* Fills it on `threads` threads with `count` rows from `ordinal` on, which must fit. The batch points into
 * the memory. Allocates nothing. */
struct batch batch_fill(const struct batch_memory *memory, const struct row_order *order, int64_t ordinal,
                        int64_t count, int threads);
/* How many targets a batch has: values, or classes that are not BATCH_IGNORED. */
int64_t batch_targets(const struct task *task, const struct batch *batch);

#endif
