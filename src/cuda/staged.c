/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/staged.h"

#include <stdlib.h>

enum { SLOTS = 2 };

struct slot {
    const unsigned char *host; /* what is staged, NULL: nothing; only its addresses are read */
    size_t bytes, capacity;
    void *locked, *memory;    /* [capacity], of the host and of the device */
    cudaEvent_t copied, read; /* of the copy, and of what reads it */
};

struct cuda_staged {
    cudaStream_t stream;
    struct slot slots[SLOTS];
};

rotary_status cuda_staged_create(struct cuda_staged **staged, rotary_error *error)
{
    *staged = calloc(1, sizeof **staged); /* whoever destroys the backend destroys it */
    if (!*staged)
        return rotary_fail_memory(error, "for batches on the device");
    cudaError_t status = cudaStreamCreateWithFlags(&(*staged)->stream, cudaStreamNonBlocking);
    for (int i = 0; i < SLOTS && status == cudaSuccess; i++) {
        status = cudaEventCreateWithFlags(&(*staged)->slots[i].copied, cudaEventDisableTiming);
        if (status == cudaSuccess)
            status = cudaEventCreateWithFlags(&(*staged)->slots[i].read, cudaEventDisableTiming);
    }
    return cuda_check(status, "creating a stream", error);
}

static void free_memory(struct slot *slot)
{
    (void)cudaFree(slot->memory);
    (void)cudaFreeHost(slot->locked);
    slot->memory = slot->locked = NULL;
    slot->capacity = 0;
}

void cuda_staged_destroy(struct cuda_staged *staged)
{
    if (!staged)
        return;
    if (staged->stream) {
        (void)cudaStreamSynchronize(staged->stream);
        (void)cudaStreamDestroy(staged->stream);
    }
    for (int i = 0; i < SLOTS; i++) {
        free_memory(&staged->slots[i]);
        if (staged->slots[i].copied)
            (void)cudaEventDestroy(staged->slots[i].copied);
        if (staged->slots[i].read)
            (void)cudaEventDestroy(staged->slots[i].read);
    }
    free(staged);
}

/* cudaFree waits for the device. */
static cudaError_t reserve(struct slot *slot, size_t bytes)
{
    if (bytes <= slot->capacity)
        return cudaSuccess;
    free_memory(slot);
    cudaError_t status = cudaMalloc(&slot->memory, bytes);
    if (status == cudaSuccess)
        status = cudaMallocHost(&slot->locked, bytes);
    if (status == cudaSuccess)
        slot->capacity = bytes;
    return status;
}

rotary_status cuda_stage(const struct backend *backend, int slot, const void *host, size_t bytes,
                         rotary_error *error)
{
    struct cuda_staged *staged = cuda_of(backend)->staged;
    struct slot *to = &staged->slots[slot];
    to->host = NULL;
    if (!host || bytes == 0)
        return ROTARY_OK;
    cudaError_t status = reserve(to, bytes);
    if (status == cudaSuccess)
        status =
            cudaEventSynchronize(to->copied); /* what was staged before has left the page-locked memory */
    if (status == cudaSuccess)
        memcpy(to->locked, host, bytes);
    if (status == cudaSuccess)
        status = cudaStreamWaitEvent(staged->stream, to->read, 0);
    if (status == cudaSuccess)
        status = cudaMemcpyAsync(to->memory, to->locked, bytes, cudaMemcpyHostToDevice, staged->stream);
    if (status == cudaSuccess)
        status = cudaEventRecord(to->copied, staged->stream);
    if (status == cudaSuccess) {
        to->host = host;
        to->bytes = bytes;
    }
    return cuda_check(status, "the copy of a batch", error);
}

const void *cuda_staged_find(const struct cuda *cuda, const void *host, size_t bytes)
{
    for (int i = 0; i < SLOTS; i++) {
        const struct slot *slot = &cuda->staged->slots[i];
        const uintptr_t begin = (uintptr_t)slot->host, at = (uintptr_t)host;
        if (slot->host && at >= begin && at - begin <= slot->bytes && bytes <= slot->bytes - (at - begin))
            return (const unsigned char *)slot->memory + (at - begin);
    }
    return NULL;
}

cudaError_t cuda_staged_wait(const struct cuda *cuda)
{
    cudaError_t status = cudaSuccess;
    for (int i = 0; i < SLOTS && status == cudaSuccess; i++)
        if (cuda->staged->slots[i].host)
            status = cudaStreamWaitEvent(cuda->stream, cuda->staged->slots[i].copied, 0);
    return status;
}

cudaError_t cuda_staged_read(const struct cuda *cuda)
{
    cudaError_t status = cudaSuccess;
    for (int i = 0; i < SLOTS && status == cudaSuccess; i++)
        if (cuda->staged->slots[i].host)
            status = cudaEventRecord(cuda->staged->slots[i].read, cuda->stream);
    return status;
}
