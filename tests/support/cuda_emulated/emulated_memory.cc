/* SPDX-License-Identifier: Apache-2.0 */
#include "emulated_memory.h"

#include "cuda_runtime.h"
#include "emulated_streams.h"

#include <mutex>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace
{

enum { ALIGNMENT = 256 };

struct region {
    unsigned char *data;
    size_t bytes;
    unsigned char *mapped; /* without the page behind it */
    size_t mapped_bytes;
    std::vector<unsigned char> before, after; /* of a launch, and of its first run */
};

struct memory {
    std::recursive_mutex mutex;
    std::vector<region> regions;
    size_t used, limit;
    int open;
    bool no_driver;
    int orders; /* 0: not yet known */
    bool descending;
    bool saved;
};

/* It outlives all that may be released at the end of the program. */
memory &all()
{
    static memory *made = new memory();
    return *made;
}

void protect(const region &of, bool accessible)
{
    if (mprotect(of.mapped, of.mapped_bytes, accessible ? PROT_READ | PROT_WRITE : PROT_NONE) != 0) {
        perror("emulated device: mprotect");
        abort();
    }
}

int orders()
{
    memory &memory = all();
    if (memory.orders == 0) {
        const char *text = getenv("ROTARY_CUDA_EMULATED_ORDERS");
        memory.orders = text && strcmp(text, "1") == 0 ? 1 : 2;
    }
    return memory.orders;
}

/* What lies between an allocation and the page behind it is poisoned; a kernel may not write there. */
void check_slack(const region &of, const char *kernel)
{
    for (const unsigned char *at = of.data + of.bytes; at < of.mapped + of.mapped_bytes; at++)
        if (*at != 0xff)
            emulated_fault("%s wrote %td bytes behind an allocation of %zu bytes",
                           kernel ? kernel : "a kernel", at - of.data - (ptrdiff_t)of.bytes, of.bytes);
}

} // namespace

void emulated_memory_open(void)
{
    memory &memory = all();
    memory.mutex.lock();
    if (memory.open++ == 0)
        for (const region &of : memory.regions)
            protect(of, true);
}

void emulated_memory_close(void)
{
    memory &memory = all();
    if (--memory.open == 0)
        for (const region &of : memory.regions)
            protect(of, false);
    memory.mutex.unlock();
}

void emulated_memory_check(const void *address, size_t bytes, const char *what)
{
    const unsigned char *first = static_cast<const unsigned char *>(address);
    for (const region &of : all().regions)
        if (first >= of.data && first <= of.data + of.bytes && bytes <= (size_t)(of.data + of.bytes - first))
            return;
    if (bytes > 0)
        emulated_fault("%zu bytes at %p, the %s, are not in the memory of the device", bytes, address, what);
}

/* ---- Two orders. ---- */

void emulated_orders(int count, bool descending)
{
    all().orders = count;
    all().descending = descending;
}

bool emulated_memory_save(void)
{
    memory &memory = all();
    memory.saved = orders() == 2;
    for (region &of : memory.regions)
        if (memory.saved)
            of.before.assign(of.data, of.data + of.bytes);
    return memory.saved;
}

void emulated_memory_restore(void)
{
    for (region &of : all().regions) {
        of.after.assign(of.data, of.data + of.bytes);
        if (of.bytes)
            memcpy(of.data, of.before.data(), of.bytes);
    }
}

bool emulated_memory_saved(void)
{
    return all().saved || all().descending;
}

void emulated_memory_compare(const char *kernel)
{
    memory &memory = all();
    for (const region &of : memory.regions) {
        check_slack(of, kernel);
        if (!memory.saved || !of.bytes || memcmp(of.data, of.after.data(), of.bytes) == 0)
            continue;
        size_t at = 0;
        while (of.data[at] == of.after[at])
            at++;
        emulated_fault("byte %zu of an allocation of %zu bytes depends on the order of threads", at,
                       of.bytes);
    }
}

/* ---- For tests. ---- */

void emulated_memory_limit(size_t bytes)
{
    all().limit = bytes;
}

size_t emulated_memory_used(void)
{
    return all().used;
}

void emulated_driver(bool there)
{
    all().no_driver = !there;
}

/* ---- The runtime's functions. ---- */

extern "C" {

cudaError_t cudaGetDeviceCount(int *count)
{
    *count = all().no_driver ? 0 : 1;
    return all().no_driver ? cudaErrorInsufficientDriver : cudaSuccess;
}

cudaError_t cudaSetDevice(int device)
{
    return device == 0 && !all().no_driver ? cudaSuccess : cudaErrorNoDevice;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int device)
{
    if (cudaSetDevice(device) != cudaSuccess)
        return cudaErrorNoDevice;
    *properties = cudaDeviceProp();
    snprintf(properties->name, sizeof properties->name, "emulated device");
    properties->totalGlobalMem = (size_t)1 << 30;
    properties->major = 8;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int device)
{
    *value = attribute == cudaDevAttrMultiProcessorCount      ? 4
             : attribute == cudaDevAttrComputeCapabilityMajor ? 8
                                                              : 0;
    return cudaSetDevice(device);
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    *version = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int *version)
{
    *version = all().no_driver ? 0 : CUDART_VERSION;
    return cudaSuccess;
}

/* What is allocated is poisoned: a device gives no zeros. */
cudaError_t cudaMalloc(void **memory_, size_t bytes)
{
    memory &memory = all();
    std::lock_guard<std::recursive_mutex> lock(memory.mutex);
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (bytes == 0)
        return *memory_ = NULL, cudaSuccess;
    if (bytes > SIZE_MAX / 2 || (memory.limit && bytes > memory.limit - memory.used))
        return cudaErrorMemoryAllocation;
    const size_t aligned = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT,
                 mapped_bytes = (aligned + page - 1) / page * page;
    void *mapped = mmap(NULL, mapped_bytes + page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED)
        return cudaErrorMemoryAllocation;
    region made = {};
    made.mapped = static_cast<unsigned char *>(mapped);
    made.mapped_bytes = mapped_bytes;
    made.bytes = bytes;
    made.data = made.mapped + mapped_bytes - aligned;
    protect(made, true);
    memset(made.mapped, 0xff, mapped_bytes);
    protect(made, memory.open > 0);
    memory.used += bytes;
    *memory_ = made.data;
    memory.regions.push_back(made);
    return cudaSuccess;
}

cudaError_t cudaFree(void *data)
{
    emulated_finish(); /* a device waits too */
    memory &memory = all();
    std::lock_guard<std::recursive_mutex> lock(memory.mutex);
    if (!data)
        return cudaSuccess;
    for (size_t i = 0; i < memory.regions.size(); i++)
        if (memory.regions[i].data == data) {
            memory.used -= memory.regions[i].bytes;
            munmap(memory.regions[i].mapped, memory.regions[i].mapped_bytes + (size_t)sysconf(_SC_PAGESIZE));
            memory.regions.erase(memory.regions.begin() + (ptrdiff_t)i);
            return cudaSuccess;
        }
    emulated_fault("%p is freed, but was not allocated", data);
}

cudaError_t cudaGetLastError(void)
{
    return cudaSuccess;
}

cudaError_t cudaPeekAtLastError(void)
{
    return cudaSuccess;
}

const char *cudaGetErrorString(cudaError_t error)
{
    switch (error) {
    case cudaSuccess:
        return "no error";
    case cudaErrorMemoryAllocation:
        return "out of memory";
    case cudaErrorInvalidConfiguration:
        return "invalid configuration argument";
    case cudaErrorInsufficientDriver:
        return "CUDA driver version is insufficient for CUDA runtime version";
    case cudaErrorNoDevice:
        return "no CUDA-capable device is detected";
    default:
        return "an error";
    }
}
}
