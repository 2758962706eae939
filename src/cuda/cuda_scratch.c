/* SPDX-License-Identifier: Apache-2.0
 *
 * The device memory for what an operation needs while it runs. It grows to the largest need, so that no step
 * allocates after the first. Operations are in one stream, so that the next one that writes there comes after
 * the last one that reads.
 */
#include "cuda/cuda.h"
#include "cuda/steps.h"

rotary_status cuda_check(cudaError_t status, const char *what, rotary_error *error)
{
    if (status == cudaSuccess)
        return ROTARY_OK;
    if (status == cudaErrorMemoryAllocation)
        return rotary_fail_memory(error, "on the device for %s", what);
    return rotary_fail(error, ROTARY_UNSUPPORTED, "the device failed in %s: %s", what,
                       cudaGetErrorString(status));
}

rotary_status cuda_scratch(const struct backend *backend, enum cuda_scratch_use use, size_t bytes,
                           void **memory, rotary_error *error)
{
    struct cuda_scratch *scratch = &cuda_of(backend)->scratch[use];
    if (bytes > scratch->bytes) {
        /* cudaFree waits for the device, so that nothing reads the old memory. */
        rotary_status status = cuda_steps_interrupt(backend, error);
        if (status == ROTARY_OK)
            status = cuda_check(cudaFree(scratch->memory), "the end of scratch memory", error);
        *scratch = (struct cuda_scratch){0};
        if (status == ROTARY_OK)
            status =
                cuda_check(cudaMalloc(&scratch->memory, bytes), "the scratch memory of an operation", error);
        if (status != ROTARY_OK)
            return status;
        scratch->bytes = bytes;
    }
    *memory = scratch->memory;
    return ROTARY_OK;
}

rotary_status cuda_upload(const struct backend *backend, enum cuda_scratch_use use, const void *host,
                          size_t bytes, void **memory, rotary_error *error)
{
    rotary_status status = cuda_scratch(backend, use, bytes, memory, error);
    if (status != ROTARY_OK || bytes == 0)
        return status;
    return cuda_submit_upload(backend, *memory, host, bytes, error);
}
