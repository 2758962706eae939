/* SPDX-License-Identifier: Apache-2.0
 *
 * The cpu backend, or another one in its place (backend/tested_backend.h), and the reference backend side by
 * side: tensors that both have, and the comparison of what an operation made of them.
 */
#ifndef BACKEND_PAIR_H
#define BACKEND_PAIR_H

#include "backend/backend.h"
#include "support/check.h"

#include <stdio.h>

enum side { SIDE_CPU, SIDE_REFERENCE, SIDES };
enum { MAX_TENSORS = 24 };

/* [rows, columns] in the memory of each backend; rows are `stride` elements apart. */
struct tensor {
    rotary_dtype dtype;
    int64_t rows, columns, stride;
    void *memory[SIDES];
};

struct pair {
    struct backend backends[SIDES];
    struct tensor tensors[MAX_TENSORS];
    int count;
    uint64_t seed; /* of the next tensor's numbers */
};

/* Calls `test` with a pair of each instruction set and storage type that this machine has. */
void pair_test_all(void (*test)(struct pair *pair));
/* Both of `storage`; the cpu backend on this instruction set. ROTARY_UNSUPPORTED where it cannot. */
rotary_status pair_create(struct pair *pair, rotary_isa isa, rotary_dtype storage, rotary_error *error);
void pair_destroy(struct pair *pair);
/* Releases all tensors. */
void pair_clear(struct pair *pair);

/* Random numbers, signed and of wide range (2^-octaves ... 2^octaves times a normal number); the same on both
 * sides. The gap between rows is filled too. The pointer stays valid until pair_clear. */
struct tensor *pair_tensor(struct pair *pair, rotary_dtype dtype, int64_t rows, int64_t columns, int octaves);
/* Of the storage type, with a gap of some elements behind each row. */
struct tensor *pair_storage(struct pair *pair, int64_t rows, int64_t columns);
/* Contiguous f32. */
struct tensor *pair_floats(struct pair *pair, int64_t rows, int64_t columns);
/* f32 numbers that the storage type has too, of which kernels may make operands of that type. */
struct tensor *pair_rounded_floats(struct pair *pair, int64_t rows, int64_t columns);
/* Bytes of the host, on both sides. */
struct tensor *pair_bytes(struct pair *pair, const void *host, size_t bytes);

struct matrix on(const struct tensor *tensor, enum side side);
float *floats_on(const struct tensor *tensor, enum side side); /* NULL for a NULL tensor */

/* Of an operation, for pair_compare. f32: a few dozen roundings. bf16: the result is rounded, and where the
 * cpu backend and the reference round to different neighbours they are 2^-8 apart. */
double pair_bound(const struct pair *pair);
/* Compares all elements, those of the gaps too: |cpu - reference| <= bound * (the rms of the reference +
 * |reference|). */
void pair_compare(struct pair *pair, const struct tensor *tensor, double bound, const char *what);
void pair_read(struct pair *pair, const struct tensor *tensor, enum side side, void *host, size_t bytes);

/* Runs an operation on a side; the call may name `backend`. */
#define RUN(pair, side, name, ...)                                                                           \
    do {                                                                                                     \
        const struct backend *backend_ = &(pair)->backends[side];                                            \
        const struct backend_##name call_ = __VA_ARGS__;                                                     \
        rotary_error error_ = {0};                                                                           \
        if (!CHECK_INT(backend_->operations->name(backend_, &call_, &error_), ROTARY_OK))                    \
            printf("%s\n", error_.message);                                                                  \
    } while (0)

#endif
