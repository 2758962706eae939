/* SPDX-License-Identifier: Apache-2.0
 *
 * Launches of kernels, written so that nvcc and a compiler of C++ with an emulated runtime read the same.
 */
#ifndef ROTARY_CUDA_LAUNCH_H
#define ROTARY_CUDA_LAUNCH_H

#include "cuda/steps.h"

#include <cuda_runtime.h>
#include <new>
#include <tuple>

struct cuda_launch {
    const char *name; /* of the kernel, for messages */
    dim3 grid;
    unsigned threads; /* of a block */
    size_t shared;    /* bytes of dynamic shared memory */
};

/* A launch as an item of a step (cuda/steps.h). */
template <typename... Expected>
struct cuda_kernel_item {
    void (*kernel)(Expected...);
    cuda_launch launch;
    std::tuple<Expected...> arguments;

    static cudaError_t run(const struct cuda *cuda, const void *given)
    {
        const auto &item = *static_cast<const cuda_kernel_item *>(given);
        cudaLaunchConfig_t config = {};
        config.gridDim = item.launch.grid;
        config.blockDim = dim3(item.launch.threads, 1, 1);
        config.dynamicSmemBytes = item.launch.shared;
        config.stream = cuda->stream;
#ifndef __CUDACC__
        emulated_kernel_name(item.launch.name);
#endif
        return std::apply(
            [&](const Expected &...argument) {
                return cudaLaunchKernelEx(&config, item.kernel, argument...);
            },
            item.arguments);
    }

    static cudaError_t update(cudaGraphExec_t graph, cudaGraphNode_t node, const void *given)
    {
        const auto &item = *static_cast<const cuda_kernel_item *>(given);
        return std::apply(
            [&](const Expected &...argument) {
                void *parameters[] = {const_cast<void *>(static_cast<const void *>(&argument))...};
                cudaKernelNodeParams made = {};
                made.func = reinterpret_cast<void *>(item.kernel);
                made.gridDim = item.launch.grid;
                made.blockDim = dim3(item.launch.threads, 1, 1);
                made.sharedMemBytes = (unsigned)item.launch.shared;
                made.kernelParams = parameters;
                return cudaGraphExecKernelNodeSetParams(graph, node, &made);
            },
            item.arguments);
    }
};

/* Puts kernel(arguments...) into the backend's stream. A grid without blocks is nothing to do. */
template <typename... Expected, typename... Given>
rotary_status cuda_run(const struct backend *backend, const cuda_launch &launch, rotary_error *error,
                       void (*kernel)(Expected...), Given... arguments)
{
    enum { WITHOUT_ASKING = 48 << 10 };
    if (launch.grid.x == 0 || launch.grid.y == 0 || launch.grid.z == 0)
        return ROTARY_OK;
    typedef cuda_kernel_item<Expected...> kernel_item;
    alignas(kernel_item) unsigned char made[sizeof(kernel_item)] = {};
    new (made) kernel_item{kernel, launch, std::tuple<Expected...>(static_cast<Expected>(arguments)...)};
    cuda_item item = {};
    item.identity = reinterpret_cast<const void *>(kernel);
    item.run = kernel_item::run;
    item.update = kernel_item::update;
    item.arguments = made;
    item.bytes = sizeof made;
    cudaError_t status = cudaSuccess;
    if (launch.shared > WITHOUT_ASKING)
        status =
            cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)launch.shared);
    return status == cudaSuccess ? cuda_submit(backend, &item, launch.name, error)
                                 : cuda_check(status, launch.name, error);
}

/* Blocks that have `count` items, `size` each; the grid's first side has at most 2^31 - 1. */
static inline unsigned cuda_blocks(int64_t count, int64_t size)
{
    return (unsigned)((count + size - 1) / size);
}

#endif
