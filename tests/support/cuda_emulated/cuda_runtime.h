/* SPDX-License-Identifier: Apache-2.0
 *
 * The part of CUDA C++ that kernels of src/cuda are written in, for a compiler of C++: the words of the
 * language, and what a thread calls. A launch is a call of cudaLaunchKernelEx, as it is on a device.
 */
#ifndef CUDA_EMULATED_RUNTIME_H
#define CUDA_EMULATED_RUNTIME_H

#include "cuda_runtime_api.h"
#include "emulated_block.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __noinline__
#define __grid_constant__
#define __launch_bounds__(...)
#define __align__(bytes) alignas(bytes)

struct dim3 {
    unsigned x, y, z;
    dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};
struct uint3 {
    unsigned x, y, z;
};
struct alignas(8) float2 {
    float x, y;
};
struct alignas(16) float4 {
    float x, y, z, w;
};
struct alignas(16) uint4 {
    unsigned x, y, z, w;
};
struct alignas(8) uint2 {
    unsigned x, y;
};

extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;
enum { warpSize = EMULATED_WARP };

/* ---- What threads wait for. Lines say which barrier it is: threads of a block wait at the same one. ---- */

inline void __syncthreads(int line = __builtin_LINE())
{
    emulated_block_barrier(line);
}

inline void __syncwarp(unsigned mask = ~0u, int line = __builtin_LINE())
{
    emulated_warp_barrier(mask, line);
}

inline int __syncthreads_or(int predicate, int line = __builtin_LINE())
{
    return emulated_block_or(predicate, line);
}

struct emulated_exchange {
    uint64_t value;
    int source; /* a lane */
};
void emulated_exchange_values(void *arguments[EMULATED_WARP], unsigned mask);

/* Of a lane that is none, or is not among those that exchange, a thread gets its own value. */
template <typename T>
T emulated_shuffle(unsigned mask, T value, int source, int line)
{
    static_assert(sizeof(T) <= sizeof(uint64_t), "a shuffle of at most 8 bytes");
    emulated_exchange exchange = {0, source};
    memcpy(&exchange.value, &value, sizeof value);
    emulated_warp_operation(emulated_exchange_values, &exchange, mask, line);
    memcpy(&value, &exchange.value, sizeof value);
    return value;
}

template <typename T>
T __shfl_sync(unsigned mask, T value, int source, int width = 32, int line = __builtin_LINE())
{
    int lane = emulated_lane();
    return emulated_shuffle(mask, value, (lane & ~(width - 1)) | (source & (width - 1)), line);
}

template <typename T>
T __shfl_xor_sync(unsigned mask, T value, int bits, int width = 32, int line = __builtin_LINE())
{
    int lane = emulated_lane(), source = lane ^ bits;
    return emulated_shuffle(mask, value, (source & ~(width - 1)) > (lane & ~(width - 1)) ? lane : source,
                            line);
}

template <typename T>
T __shfl_down_sync(unsigned mask, T value, unsigned by, int width = 32, int line = __builtin_LINE())
{
    int lane = emulated_lane(), within = lane & (width - 1);
    return emulated_shuffle(mask, value, within + (int)by < width ? lane + (int)by : lane, line);
}

template <typename T>
T __shfl_up_sync(unsigned mask, T value, unsigned by, int width = 32, int line = __builtin_LINE())
{
    int lane = emulated_lane(), within = lane & (width - 1);
    return emulated_shuffle(mask, value, within >= (int)by ? lane - (int)by : lane, line);
}

inline unsigned __ballot_sync(unsigned mask, int predicate, int line = __builtin_LINE())
{
    return emulated_ballot(mask, predicate, line);
}

inline int __any_sync(unsigned mask, int predicate, int line = __builtin_LINE())
{
    return emulated_ballot(mask, predicate, line) != 0;
}

inline int __all_sync(unsigned mask, int predicate, int line = __builtin_LINE())
{
    return emulated_ballot(mask, !predicate, line) == 0;
}

/* ---- Numbers. ---- */

inline uint32_t __umulhi(uint32_t a, uint32_t b)
{
    return (uint32_t)((uint64_t)a * b >> 32);
}

inline unsigned __float_as_uint(float x)
{
    unsigned bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

inline float __uint_as_float(unsigned bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* ---- Launches. ---- */

struct cudaLaunchConfig_t {
    dim3 gridDim, blockDim;
    size_t dynamicSmemBytes;
    cudaStream_t stream;
    void *attrs;
    unsigned numAttrs;
};

/* Runs `call(argument)` in every thread. */
cudaError_t emulated_launch(const cudaLaunchConfig_t *config, const void *kernel, void (*call)(void *),
                            void *argument);
cudaError_t emulated_set_shared(const void *kernel, int bytes);

template <typename... Expected, typename... Given>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t *config, void (*kernel)(Expected...),
                               Given... arguments)
{
    auto thread = [=]() { kernel(static_cast<Expected>(arguments)...); };
    auto call = [](void *closure) { (*static_cast<decltype(thread) *>(closure))(); };
    return emulated_launch(config, reinterpret_cast<const void *>(kernel), call, &thread);
}

template <typename T>
cudaError_t cudaFuncSetAttribute(T *kernel, cudaFuncAttribute, int bytes)
{
    return emulated_set_shared(reinterpret_cast<const void *>(kernel), bytes);
}

#endif
