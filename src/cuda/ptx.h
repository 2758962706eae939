/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations that are one instruction of a warp or thread each: on a device PTX, in emulation twins that do of
 * each lane what the PTX manual says ("Warp-level matrix instructions", "Data movement and conversion").
 *
 * A matrix fragment is spread over the lanes of a warp. With g = lane / 4 and t = lane % 4 a lane has, of
 * m16n8k16, in registers of two bf16, the lower one first,
 *
 *     A [16, 16]  a[0]  row g,         columns 2t, 2t + 1     a[2]  row g,           columns 2t + 8, 2t + 9
 *                 a[1]  row g + 8,     columns 2t, 2t + 1     a[3]  row g + 8,       columns 2t + 8, 2t + 9
 *     B [16, 8]   b[0]  rows 2t, 2t + 1,         column g     b[1]  rows 2t + 8, 2t + 9,           column g
 *     C [16, 8]   c[0], c[1]  row g, columns 2t, 2t + 1       c[2], c[3]  row g + 8, columns 2t, 2t + 1
 */
#ifndef ROTARY_CUDA_PTX_H
#define ROTARY_CUDA_PTX_H

#include "cuda/device.h"

#ifdef __CUDACC__

static __device__ __forceinline__ uint32_t shared_address(const void *shared)
{
    return (uint32_t)__cvta_generic_to_shared(shared);
}

/* c += A B. */
static __device__ __forceinline__ void warp_mma(float c[4], const uint32_t a[4], const uint32_t b[2])
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/* Loads four matrices of 8 rows of 8 bf16: lane l gives row l % 8 of matrix l / 8, at a multiple of 16 bytes,
 * and gets in m[i] elements 2t and 2t + 1 of row g of matrix i. */
static __device__ __forceinline__ void warp_load_matrices(uint32_t m[4], shared_array<const bf16> row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3])
                 : "r"(shared_address(row))
                 : "memory");
}

/* Likewise, transposed: m[i] has element g of rows 2t and 2t + 1 of matrix i. */
static __device__ __forceinline__ void warp_load_transposed(uint32_t m[4], shared_array<const bf16> row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3])
                 : "r"(shared_address(row))
                 : "memory");
}

/* Begins to copy 16 bytes, from and to multiples of 16: the first `bytes` from global memory, the others are 0.
 * The copy is complete when this thread has waited for its group, and for other threads after a barrier. */
template <typename T>
static __device__ __forceinline__ void copy_async(shared_array<T> to, const T *from, int bytes)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from),
                 "r"(bytes)
                 : "memory");
}

/* What was begun since the last commit is a group. */
static __device__ __forceinline__ void copy_async_commit(void)
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

/* Waits until at most the last GROUPS groups are incomplete. */
template <int GROUPS>
static __device__ __forceinline__ void copy_async_wait(void)
{
    asm volatile("cp.async.wait_group %0;" ::"n"(GROUPS) : "memory");
}

/* Two numbers rounded to bf16, to nearest even, `low` in the lower half. */
static __device__ __forceinline__ uint32_t bf16_pair(float low, float high)
{
    uint32_t pair;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
}

#else
#include <emulated_ptx.h> /* the same names */
#endif

#endif
