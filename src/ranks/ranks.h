/* SPDX-License-Identifier: Apache-2.0
 *
 * Ranks: processes that work together, as mpirun starts them. All of them call the functions below that take an
 * error, in the same order. NULL is one process alone, for which each of them does nothing.
 *
 * What is summed is summed in one binary tree of the ranks, 0 with 1, 2 with 3, then these: so that sums of equal
 * shares of a tree of shards are the sums of that tree, whatever the number of ranks. (No order is promised by the
 * reductions of MPI, which is why these are made of messages between pairs.)
 */
#ifndef ROTARY_RANKS_RANKS_H
#define ROTARY_RANKS_RANKS_H

#include <rotary/status.h>
#include <stdatomic.h>

struct ranks;

/* What a rank calls with one line of text before it ends the processes of all ranks: it has lost one of them.
 * May be called on any thread. */
typedef void ranks_lost(void *argument, const char *message);

/* Begins to work with the other ranks, of which there are some where mpirun or a scheduler has started several
 * processes: else *ranks is NULL. ROTARY_UNSUPPORTED if this program cannot talk to those that were started. */
ROTARY_CHECKED rotary_status ranks_begin(struct ranks **ranks, ranks_lost *lost, void *argument,
                                         rotary_error *error);
/* Waits for all other ranks to call it too, and ends. NULL is allowed. */
void ranks_end(struct ranks *ranks);
/* How many processes whoever started this one says there are; 1 without such a word. */
int ranks_started(void);
/* The name and version of what ranks talk by; NULL: it is not in this program. */
enum { RANKS_LIBRARY_BYTES = 128 };
const char *ranks_library(char text[RANKS_LIBRARY_BYTES]);

int ranks_count(const struct ranks *ranks);
int ranks_index(const struct ranks *ranks); /* 0 ... ranks_count - 1 */
/* The threads that a rank may use: its share of the processors that the ranks of its host have. */
int ranks_threads(const struct ranks *ranks);
/* The name of the host of this rank. */
const char *ranks_host(const struct ranks *ranks);

/* Makes every rank's status that of the first rank, in their order, that failed, or if none did, was interrupted:
 * with its message, which says which rank it was, unless it was rank 0. */
ROTARY_CHECKED rotary_status ranks_agree(const struct ranks *ranks, rotary_status status,
                                         rotary_error *error);
/* Copies what rank 0 has to all others. */
ROTARY_CHECKED rotary_status ranks_share(const struct ranks *ranks, void *data, size_t bytes,
                                         rotary_error *error);
/* Copies what rank `from` has to rank `to`. The two alone need call it. */
ROTARY_CHECKED rotary_status ranks_give(const struct ranks *ranks, int from, int to, void *data, size_t bytes,
                                        rotary_error *error);
/* Sums up: of a power of two of ranks, each of which gets the same. combine: *lower becomes the sum of both. At most
 * 4096 bytes. */
typedef void ranks_combine(void *lower, const void *upper);
ROTARY_CHECKED rotary_status ranks_reduce(const struct ranks *ranks, void *value, size_t bytes,
                                          ranks_combine *combine, rotary_error *error);
/* The same of each of `count` numbers. scratch: [RANKS_PIECE]. */
enum { RANKS_PIECE = 1 << 18 }; /* numbers that are added at a time: a cache has them */
ROTARY_CHECKED rotary_status ranks_sum(const struct ranks *ranks, float *values, int64_t count,
                                       float *scratch, rotary_error *error);

/* Numbers of which each rank, of a power of two of them, has a part: whole blocks, as evenly as it goes. */
struct ranks_parts {
    int64_t count, block; /* of a block, of which the last may have fewer */
};
struct ranks_part {
    int64_t first, count;
};
struct ranks_part ranks_part_of(const struct ranks *ranks, struct ranks_parts parts, int rank);
/* The sums of ranks_sum, of which each rank gets its part alone. All other numbers become zero. */
ROTARY_CHECKED rotary_status ranks_sum_parts(const struct ranks *ranks, struct ranks_parts parts,
                                             float *values, float *scratch, rotary_error *error);
/* Copies what each rank has of its part, of numbers of `size` bytes, to all others. */
ROTARY_CHECKED rotary_status ranks_gather_parts(const struct ranks *ranks, struct ranks_parts parts,
                                                void *values, size_t size, rotary_error *error);

/* ---- work that each rank takes for itself ----
 *
 * All ranks begin and end it together. Between these each calls what it needs, with two ranks or more. */

/* *stop, which lives until the end, becomes true once *interrupted is, on any rank, or one called ranks_work_stop;
 * within seconds. interrupted may be NULL. */
ROTARY_CHECKED rotary_status ranks_work_begin(const struct ranks *ranks, const atomic_bool *interrupted,
                                              const atomic_bool **stop, rotary_error *error);
void ranks_work_stop(const struct ranks *ranks);
/* 0, 1, 2, ... for whoever asks first: no two get the same. */
ROTARY_CHECKED rotary_status ranks_work_next(const struct ranks *ranks, int64_t *number, rotary_error *error);
/* What a rank shows the others of its work, of which rank 0 alone looks at that of all, [ranks_count]; all zero at
 * the beginning. */
struct ranks_board {
    int64_t numbers[6];
};
ROTARY_CHECKED rotary_status ranks_work_show(const struct ranks *ranks, const struct ranks_board *own,
                                             rotary_error *error);
ROTARY_CHECKED rotary_status ranks_work_look(const struct ranks *ranks, struct ranks_board *boards,
                                             rotary_error *error);
/* Waits for all, who then have the status of ranks_agree. */
ROTARY_CHECKED rotary_status ranks_work_end(const struct ranks *ranks, rotary_status status,
                                            rotary_error *error);

#endif
