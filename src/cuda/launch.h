/* SPDX-License-Identifier: Apache-2.0
 *
 * Launches of kernels, written so that nvcc and a compiler of C++ with an emulated runtime read the same.
 */
#ifndef ROTARY_CUDA_LAUNCH_H
#define ROTARY_CUDA_LAUNCH_H

#include "cuda/cuda.h"

#include <cuda_runtime.h>

struct cuda_launch {
    const char *name; /* of the kernel, for messages */
    dim3 grid;
    unsigned threads; /* of a block */
    size_t shared;    /* bytes of dynamic shared memory */
};

/* Puts kernel(arguments...) into the backend's stream. A grid without blocks is nothing to do. */
template <typename... Expected, typename... Given>
rotary_status cuda_run(const struct backend *backend, const cuda_launch &launch, rotary_error *error,
                       void (*kernel)(Expected...), Given... arguments)
{
    enum { WITHOUT_ASKING = 48 << 10 };
    if (launch.grid.x == 0 || launch.grid.y == 0 || launch.grid.z == 0)
        return ROTARY_OK;
#ifndef __CUDACC__
    emulated_kernel_name(launch.name);
#endif
    cudaLaunchConfig_t config = {};
    config.gridDim = launch.grid;
    config.blockDim = dim3(launch.threads, 1, 1);
    config.dynamicSmemBytes = launch.shared;
    config.stream = cuda_of(backend)->stream;
    cudaError_t status = cudaSuccess;
    if (launch.shared > WITHOUT_ASKING)
        status =
            cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)launch.shared);
    if (status == cudaSuccess)
        status = cudaLaunchKernelEx(&config, kernel, static_cast<Expected>(arguments)...);
    return cuda_check(status, launch.name, error);
}

/* Blocks that have `count` items, `size` each; the grid's first side has at most 2^31 - 1. */
static inline unsigned cuda_blocks(int64_t count, int64_t size)
{
    return (unsigned)((count + size - 1) / size);
}

#endif
