/* SPDX-License-Identifier: Apache-2.0
 *
 * The cuda backend: creation, memory, and the table.
 */
#include "cuda/cuda_backend.h"

#include "cuda/cuda.h"
#include "cuda/products.h"
#include "cuda/staged.h"
#include "cuda/steps.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- Memory. ---- */

struct cleared {
    void *memory;
    size_t bytes;
};

static cudaError_t run_clear(const struct cuda *cuda, const void *arguments)
{
    const struct cleared *cleared = arguments;
    return cudaMemsetAsync(cleared->memory, 0, cleared->bytes, cuda->stream);
}

static rotary_status cuda_clear(const struct backend *backend, void *memory, size_t bytes,
                                rotary_error *error)
{
    struct cleared cleared;
    if (bytes == 0)
        return ROTARY_OK;
    memset(&cleared, 0, sizeof cleared);
    cleared.memory = memory;
    cleared.bytes = bytes;
    const struct cuda_item item = {.run = run_clear, .arguments = &cleared, .bytes = sizeof cleared};
    return cuda_submit(backend, &item, "clearing memory", error);
}

static void cuda_release(const struct backend *backend, void *memory)
{
    if (!memory)
        return;
    if (cuda_steps_interrupt(backend, NULL) != ROTARY_OK || cudaFree(memory) != cudaSuccess)
        (void)cudaGetLastError(); /* what failed before is the status of the call that finds it */
}

/* No bytes have an address too. */
static rotary_status cuda_allocate(const struct backend *backend, void **memory, size_t bytes,
                                   const char *what, rotary_error *error)
{
    void *made = NULL;
    cudaError_t failed = cudaMalloc(&made, bytes ? bytes : 1);
    if (failed == cudaErrorMemoryAllocation) {
        (void)cudaGetLastError();
        return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory on the device for %s: %zu bytes", what,
                           bytes);
    }
    rotary_status status = cuda_check(failed, what, error);
    if (status == ROTARY_OK)
        status = cuda_clear(backend, made, bytes, error);
    if (status == ROTARY_OK)
        *memory = made;
    else
        cuda_release(backend, made);
    return status;
}

struct copy {
    void *to;
    const void *from;
    size_t bytes;
};

static cudaError_t run_copy(const struct cuda *cuda, const void *arguments)
{
    const struct copy *copy = arguments;
    return cudaMemcpyAsync(copy->to, copy->from, copy->bytes, cudaMemcpyDeviceToDevice, cuda->stream);
}

static cudaError_t update_copy(cudaGraphExec_t graph, cudaGraphNode_t node, const void *arguments)
{
    const struct copy *copy = arguments;
    return cudaGraphExecMemcpyNodeSetParams1D(graph, node, copy->to, copy->from, copy->bytes,
                                              cudaMemcpyDeviceToDevice);
}

static rotary_status cuda_copy(const struct backend *backend, void *to, const void *from, size_t bytes,
                               rotary_error *error)
{
    struct copy copy;
    if (bytes == 0)
        return ROTARY_OK;
    memset(&copy, 0, sizeof copy);
    copy.to = to;
    copy.from = from;
    copy.bytes = bytes;
    const struct cuda_item item = {
        .run = run_copy, .update = update_copy, .arguments = &copy, .bytes = sizeof copy};
    return cuda_submit(backend, &item, "a copy", error);
}

static rotary_status cuda_write(const struct backend *backend, void *to, const void *host, size_t bytes,
                                rotary_error *error)
{
    const struct cuda *cuda = cuda_of(backend);
    const void *staged = cuda_staged_find(cuda, host, bytes);
    if (bytes == 0)
        return ROTARY_OK;
    if (!staged)
        return cuda_submit_upload(backend, to, host, bytes, error);
    rotary_status status = cuda_check(cuda_staged_wait(cuda), "the copy of a batch", error);
    if (status == ROTARY_OK)
        status = cuda_copy(backend, to, staged, bytes, error);
    return status == ROTARY_OK ? cuda_check(cuda_staged_read(cuda), "the copy of a batch", error) : status;
}

static rotary_status cuda_read(const struct backend *backend, void *host, const void *from, size_t bytes,
                               rotary_error *error)
{
    rotary_status status = cuda_steps_interrupt(backend, error);
    if (status == ROTARY_OK && bytes > 0)
        status =
            cuda_check(cudaMemcpyAsync(host, from, bytes, cudaMemcpyDeviceToHost, cuda_of(backend)->stream),
                       "a copy", error);
    if (status == ROTARY_OK)
        status = cuda_check(cudaStreamSynchronize(cuda_of(backend)->stream), "what was computed", error);
    return status;
}

/* ---- The table. ---- */

static void destroy_cuda(struct cuda *cuda)
{
    if (!cuda)
        return;
    cuda_steps_destroy(cuda->steps);
    cuda_staged_destroy(cuda->staged);
    cuda_products_destroy(cuda->products);
    for (int i = 0; i < CUDA_SCRATCH_USES; i++)
        (void)cudaFree(cuda->scratch[i].memory);
    if (cuda->stream)
        (void)cudaStreamDestroy(cuda->stream);
    free(cuda);
}

static void cuda_destroy(struct backend *backend)
{
    destroy_cuda(cuda_of(backend));
}

static const struct backend_operations cuda_operations = {
    .name = "cuda",
    .destroy = cuda_destroy,
    .allocate = cuda_allocate,
    .release = cuda_release,
    .write = cuda_write,
    .read = cuda_read,
    .copy = cuda_copy,
    .clear = cuda_clear,
    .step_begin = cuda_step_begin,
    .step_end = cuda_step_end,
    .stage = cuda_stage,
    .packed_weight_create = cuda_packed_weight_create,
    .packed_weight_destroy = cuda_packed_weight_destroy,
    .packed_weight_bytes = cuda_packed_weight_bytes,
    .attention_create = cuda_attention_create,
    .attention_destroy = cuda_attention_destroy,
    .attention_config = cuda_attention_config,
    .attention_forward_bytes = cuda_attention_forward_bytes,
    .attention_backward_bytes = cuda_attention_backward_bytes,
    .attention_decode_bytes = cuda_attention_decode_bytes,
    .attention_append_bytes = cuda_attention_append_bytes,
    .attention_reorder_bytes = cuda_attention_reorder_bytes,
#define CUDA_OPERATION(name) .name = cuda_##name,
    BACKEND_OPERATIONS(CUDA_OPERATION)
#undef CUDA_OPERATION
};

/* ---- Creation. ---- */

rotary_status cuda_device_check(rotary_error *error)
{
    int count = 0, major = 0;
    cudaError_t status = cudaGetDeviceCount(&count);
    if (status == cudaErrorInsufficientDriver)
        return rotary_fail(error, ROTARY_UNSUPPORTED,
                           "no CUDA driver, or one that is too old for CUDA %d.%d: use --device cpu",
                           CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
    if (status != cudaSuccess || count == 0)
        return rotary_fail(error, ROTARY_UNSUPPORTED, "no CUDA device (%s): use --device cpu",
                           status == cudaSuccess ? "there is none" : cudaGetErrorString(status));
    status = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0);
    if (status == cudaSuccess && major < 8)
        return rotary_fail(
            error, ROTARY_UNSUPPORTED,
            "the CUDA device has compute capability %d: 8.0 or higher is needed; use --device cpu", major);
    return cuda_check(status, "asking for the device", error);
}

rotary_status cuda_device_name(char *name, size_t bytes, rotary_error *error)
{
    struct cudaDeviceProp properties;
    rotary_status status = cuda_device_check(error);
    if (status == ROTARY_OK)
        status = cuda_check(cudaGetDeviceProperties(&properties, 0), "asking for the device", error);
    if (status == ROTARY_OK)
        snprintf(name, bytes, "%s", properties.name);
    return status;
}

#define TEXT_OF(number) TEXT(number)
#define TEXT(number)    #number

const char *cuda_version(void)
{
    return TEXT_OF(CUDART_VERSION);
}

static rotary_status begin(struct cuda *cuda, rotary_error *error)
{
    rotary_status status = cuda_device_check(error);
    if (status == ROTARY_OK)
        status = cuda_check(cudaSetDevice(cuda->device), "selecting the device", error);
    if (status == ROTARY_OK)
        status = cuda_check(cudaStreamCreateWithFlags(&cuda->stream, cudaStreamNonBlocking),
                            "creating a stream", error);
    if (status == ROTARY_OK)
        status = cuda_products_create(&cuda->products, error);
    if (status == ROTARY_OK)
        status = cuda_steps_create(&cuda->steps, error);
    if (status == ROTARY_OK)
        status = cuda_staged_create(&cuda->staged, error);
    return status;
}

rotary_status cuda_backend_create(struct backend *backend, int threads, rotary_isa isa,
                                  enum precision precision, rotary_error *error)
{
    struct cuda *cuda = calloc(1, sizeof *cuda);
    if (!cuda)
        return rotary_fail_memory(error, "for a backend");
    rotary_status status = begin(cuda, error);
    if (status != ROTARY_OK) {
        destroy_cuda(cuda);
        return status;
    }
    *backend = (struct backend){.operations = &cuda_operations,
                                .state = cuda,
                                .threads = threads,
                                .isa = isa,
                                .storage = precision == PRECISION_F32 ? ROTARY_F32 : ROTARY_BF16};
    return ROTARY_OK;
}
