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
#include <utility>

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

struct cudaKernelNodeParams {
    void *func;
    dim3 gridDim, blockDim;
    unsigned sharedMemBytes;
    void **kernelParams, **extra;
};

/* A kernel with the sizes of its parameters; call(kernel, parameters) is what each thread does. */
struct emulated_kernel {
    const void *kernel;
    void (*call)(const void *kernel, void *const *parameters);
    const size_t *sizes;
    size_t count;
};
cudaError_t emulated_launch(const cudaLaunchConfig_t *config, const emulated_kernel &kernel,
                            void *const *parameters);
cudaError_t emulated_set_shared(const void *kernel, int bytes);

template <typename... Expected, size_t... I>
void emulated_call(void (*kernel)(Expected...), void *const *parameters, std::index_sequence<I...>)
{
    kernel(*static_cast<Expected *>(parameters[I])...);
}

template <typename... Expected>
cudaError_t emulated_launch_of(const cudaLaunchConfig_t *config, void (*kernel)(Expected...),
                               Expected... arguments)
{
    static const size_t sizes[] = {sizeof(Expected)...};
    void *const parameters[] = {&arguments...};
    const auto call = [](const void *called, void *const *given) {
        emulated_call(reinterpret_cast<void (*)(Expected...)>(reinterpret_cast<uintptr_t>(called)), given,
                      std::index_sequence_for<Expected...>());
    };
    return emulated_launch(config, {reinterpret_cast<const void *>(kernel), call, sizes, sizeof...(Expected)},
                           parameters);
}

template <typename... Expected, typename... Given>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t *config, void (*kernel)(Expected...),
                               Given... arguments)
{
    return emulated_launch_of<Expected...>(config, kernel, static_cast<Expected>(arguments)...);
}

template <typename T>
cudaError_t cudaFuncSetAttribute(T *kernel, cudaFuncAttribute, int bytes)
{
    return emulated_set_shared(reinterpret_cast<const void *>(kernel), bytes);
}

#endif
