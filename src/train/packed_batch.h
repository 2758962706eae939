/* SPDX-License-Identifier: Apache-2.0
 *
 * Packed batches of a finite corpus: a number of the next examples, or as many as have a number of tokens at
 * most, without padding. Which examples are the next follows from the corpus, the seed and how many came
 * before.
 */
#ifndef ROTARY_TRAIN_PACKED_BATCH_H
#define ROTARY_TRAIN_PACKED_BATCH_H

#include "base/arena.h"
#include "task/task.h"

/* The examples of a split in the order in which they are read. */
struct example_order {
    const struct task *task; /* borrowed; it has examples of the split */
    enum task_split split;   /* training data are permuted anew in every epoch and have no end */
    uint64_t seed;           /* of the permutations */
    bool in_order;           /* training data once, in the corpus's own order, as the other splits are */
};
/* The example at place `ordinal`, counted from 0. */
struct task_example example_at(const struct example_order *order, int64_t ordinal);

/* How many examples a batch has. */
struct batch_size {
    int64_t examples; /* so many, fewer where the split ends; 0: as many as have at most `tokens` */
    int64_t tokens;   /* of source, and as many of target. With `examples`, no batch has more */
};
/* How many examples a batch from `ordinal` on has: 0 where the split ends, or the first has more tokens. */
int64_t examples_within(const struct example_order *order, struct batch_size size, int64_t ordinal);
/* The training example with the most tokens of source or of target: its index, and that number. */
struct longest_example {
    int64_t index, tokens;
};
struct longest_example examples_longest(const struct task *task);
/* The number of batches that examples 0, 1, ... are cut into, of an order with an end. */
int64_t examples_batches(const struct example_order *order, struct batch_size size);

/* Where micro-batch `batch` of the training data begins. All zero: the first one. */
struct example_cursor {
    int64_t batch, ordinal;
};
/* Moves a cursor of permuted training data to a batch, on from where it is, or from the beginning for a batch
 * before that. From the beginning this takes about a second for a million examples, and no time if batches
 * have a number of them.
 */
void example_cursor_move(struct example_cursor *cursor, const struct example_order *order,
                         struct batch_size size, int64_t batch);

/* The memory of a batch of at most `tokens` tokens of source and as many of target. */
struct packed_batch {
    int32_t *tokens, *classes;       /* [tokens] */
    int32_t *segments;               /* [tokens]; NULL: there are none, as of the next two */
    float *values;                   /* [tokens], of which each sequence has one */
    int32_t *source;                 /* [tokens] */
    int32_t *starts, *source_starts; /* [tokens + 1] */
};
/* Pushes the memory onto an arena. Called twice: to measure, then to assign memory (base/arena.h). */
void packed_batch_carve(struct packed_batch *batch, const struct task *task, int64_t tokens,
                        struct rotary_arena *arena);
/* Fills it with `count` examples from `ordinal` on, which must fit. The batch points into the memory. */
struct batch packed_batch_fill(const struct packed_batch *memory, const struct example_order *order,
                               int64_t ordinal, int64_t count);
/* How many targets a packed batch has: values, or classes that are not BATCH_IGNORED. */
int64_t packed_batch_targets(const struct task *task, const struct batch *batch);

#endif
