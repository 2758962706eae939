/* SPDX-License-Identifier: Apache-2.0 */
#include "task/permutation.h"

#include "base/integer.h"

#include <math.h>

enum { ROUNDS = 16 }; /* with fewer, orders of five examples are not equally frequent */

/* A rectangle of at least `count` numbers, which are (row, column). */
struct rectangle {
    uint64_t rows, columns;
};

/* Nearly a square. The number of rows is even: a shift of a column by an odd number of rows is then an odd
 * permutation. Without any, half of all orders would never occur. */
static struct rectangle rectangle_of(int64_t count)
{
    int64_t rows = (int64_t)sqrt((double)count);
    while (rows * rows < count) /* also where the root was rounded down */
        rows++;
    rows = round_up(rows, 2);
    return (struct rectangle){(uint64_t)rows, (uint64_t)divide_up(count, rows)};
}

/* Below `bound`, which is far below 2^64, so that the remainder's bias is too. */
static uint64_t random_shift(struct rotary_random_key key, uint64_t round, uint64_t half, uint64_t bound)
{
    uint32_t words[4];
    rotary_random_block(key, round << 32 | half, words);
    return ((uint64_t)words[1] << 32 | words[0]) % bound;
}

/* Shifts every column by a random number of rows and every row by a random number of columns, alternately. */
static uint64_t permute(struct rotary_random_key key, struct rectangle rectangle, uint64_t number)
{
    uint64_t row = number / rectangle.columns, column = number % rectangle.columns;
    for (uint64_t round = 0; round < ROUNDS; round += 2) {
        row = (row + random_shift(key, round, column, rectangle.rows)) % rectangle.rows;
        column = (column + random_shift(key, round + 1, row, rectangle.columns)) % rectangle.columns;
    }
    return row * rectangle.columns + column;
}

int64_t permutation_at(uint64_t seed, uint64_t epoch, int64_t count, int64_t index)
{
    const struct rotary_random_key key = {
        .seed = seed, .stream = ROTARY_STREAM_PERMUTATION, .step = (uint32_t)epoch};
    const struct rectangle rectangle = rectangle_of(count);
    uint64_t number = (uint64_t)index;
    do
        number = permute(key, rectangle, number);
    while (number >= (uint64_t)count);
    return (int64_t)number;
}

struct corpus_example corpus_training_example(const struct task_place *place, int64_t count)
{
    struct corpus_example example = {.epoch = (uint64_t)(place->ordinal / count)};
    example.index = permutation_at(place->seed, example.epoch, count, place->ordinal % count);
    return example;
}
