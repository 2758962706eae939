/* SPDX-License-Identifier: Apache-2.0
 *
 * The twins of cuda/ptx.h, whose contracts are there. What a lane has of a fragment, where a copy is until it
 * is waited for, and who touches shared memory is as on a device.
 */
#ifndef CUDA_EMULATED_PTX_H
#define CUDA_EMULATED_PTX_H

#include "cuda/device.h"

/* ---- Matrices. ---- */

void emulated_mma(float c[4], const uint32_t a[4], const uint32_t b[2], int line);
/* `row` is 16 bytes of shared memory. */
void emulated_load_matrices(uint32_t m[4], const void *row, bool transposed, int line);

inline void warp_mma(float c[4], const uint32_t a[4], const uint32_t b[2], int line = __builtin_LINE())
{
    emulated_mma(c, a, b, line);
}

inline void warp_load_matrices(uint32_t m[4], shared_array<const bf16> row, int line = __builtin_LINE())
{
    emulated_load_matrices(m, row.address(), false, line);
}

inline void warp_load_transposed(uint32_t m[4], shared_array<const bf16> row, int line = __builtin_LINE())
{
    emulated_load_matrices(m, row.address(), true, line);
}

/* ---- Copies. ---- */

void emulated_copy_async(void *to, const void *from, int bytes, int line);
void emulated_copy_commit(void);
void emulated_copy_wait(int groups);

template <typename T>
inline void copy_async(shared_array<T> to, const T *from, int bytes, int line = __builtin_LINE())
{
    emulated_copy_async(to.address(), from, bytes, line);
}

inline void copy_async_commit(void)
{
    emulated_copy_commit();
}

template <int GROUPS>
inline void copy_async_wait(void)
{
    emulated_copy_wait(GROUPS);
}

inline uint32_t bf16_pair(float low, float high)
{
    return from_float<bf16>(low).bits | (uint32_t)from_float<bf16>(high).bits << 16;
}

#endif
