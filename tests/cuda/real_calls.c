/* SPDX-License-Identifier: Apache-2.0
 *
 * The device that there is. A test is skipped where there is none, or where it reaches too little: tests of
 * attention leave their tensors in the host's memory.
 */
#include "cuda/cuda.h"
#include "cuda/cuda_backend.h"
#include "cuda/device_calls.h"

#include <stdio.h>
#include <unistd.h>

void device_order(bool descending)
{
    (void)descending;
}

rotary_status device_wait(const struct backend *backend, rotary_error *error)
{
    return cuda_check(cudaStreamSynchronize(cuda_of(backend)->stream), "what a test calls", error);
}

static void skip(const char *why)
{
    printf("skipped: %s\n", why);
    fflush(stdout);
    _exit(77);
}

__attribute__((constructor)) static void need_device(void)
{
    rotary_error error = {0};
    if (cuda_device_check(&error) != ROTARY_OK)
        skip(error.message);
#ifdef TESTS_USE_HOST_MEMORY
    int reaches = 0;
    if (cudaDeviceGetAttribute(&reaches, cudaDevAttrPageableMemoryAccess, 0) != cudaSuccess || !reaches)
        skip("this device cannot reach the host's memory, where the test's tensors are");
#endif
}
