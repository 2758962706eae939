/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda_runtime.h"
#include "emulated_fiber.h"
#include "emulated_memory.h"
#include "emulated_races.h"

#include <mutex>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unordered_map>

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

namespace
{

enum thread_state { THREAD_RUNS, THREAD_AT_BLOCK, THREAD_AT_WARP, THREAD_ENDED };

typedef void combine_function(void *arguments[EMULATED_WARP], unsigned mask);

struct thread {
    struct fiber fiber;
    thread_state state;
    uint3 index;
    int line;                  /* of what it waits for */
    unsigned mask;             /* of lanes it waits for */
    combine_function *combine; /* NULL: a barrier of the warp */
    void *argument;
    uint32_t warp_epoch; /* counts its barriers of the warp */
};

struct device {
    thread threads[EMULATED_THREADS];
    int count; /* of a block */
    int current;
    bool descending;
    struct fiber scheduler;
    const emulated_kernel *running;
    void *const *parameters;
    const char *kernel;
    size_t shared_bytes;
    int pending_or, result_or;
};

struct device device;
std::recursive_mutex device_mutex;
std::unordered_map<const void *, int> allowed_shared;

thread &self()
{
    return device.threads[device.current];
}

void run_thread()
{
    fiber_begin();
    for (;;) {
        device.running->call(device.running->kernel, device.parameters);
        self().state = THREAD_ENDED;
        fiber_switch(&self().fiber, &device.scheduler);
    }
}

void wait_as(thread_state state, int line)
{
    thread &waits = self();
    waits.state = state;
    waits.line = line;
    fiber_switch(&waits.fiber, &device.scheduler);
}

void resume(int index)
{
    device.current = index;
    threadIdx = device.threads[index].index;
    fiber_switch(&device.scheduler, &device.threads[index].fiber);
}

/* ---- A warp. ---- */

/* Lets the lanes go on that wait for each other and are all there; whether there are any. */
bool release_lanes(int first, int lanes)
{
    for (int i = 0; i < lanes; i++) {
        thread &leader = device.threads[first + i];
        if (leader.state != THREAD_AT_WARP)
            continue;
        void *arguments[EMULATED_WARP] = {};
        bool complete = leader.mask >> i & 1u;
        for (int j = 0; j < lanes && complete; j++) {
            thread &other = device.threads[first + j];
            if (!(leader.mask >> j & 1u))
                continue;
            complete = other.state == THREAD_AT_WARP && other.mask == leader.mask &&
                       other.line == leader.line && other.combine == leader.combine;
            arguments[j] = other.argument;
        }
        if (!complete)
            continue;
        if (leader.combine)
            leader.combine(arguments, leader.mask);
        for (int j = 0; j < lanes; j++)
            if (leader.mask >> j & 1u) {
                device.threads[first + j].state = THREAD_RUNS;
                device.threads[first + j].warp_epoch += leader.combine == NULL;
            }
        return true;
    }
    return false;
}

/* Runs a warp until each of its threads is at a barrier of the block, or has ended. */
void run_warp(int warp)
{
    const int first = warp * EMULATED_WARP;
    const int lanes = device.count - first < EMULATED_WARP ? device.count - first : EMULATED_WARP;
    do {
        for (int i = 0; i < lanes; i++) {
            int index = first + (device.descending ? lanes - 1 - i : i);
            if (device.threads[index].state == THREAD_RUNS)
                resume(index);
        }
    } while (release_lanes(first, lanes));
    for (int i = 0; i < lanes; i++) {
        device.current = first + i;
        threadIdx = self().index;
        if (self().state == THREAD_AT_WARP)
            emulated_fault("lanes %08x wait for each other in line %d, and some never come", self().mask,
                           self().line);
    }
}

/* ---- A block. ---- */

/* Whether all threads were at one barrier, and go on. */
bool release_block()
{
    int waiting = 0, line = 0;
    for (int i = 0; i < device.count; i++)
        if (device.threads[i].state == THREAD_AT_BLOCK) {
            if (waiting++ && device.threads[i].line != line) {
                device.current = i;
                threadIdx = self().index;
                emulated_fault("threads wait at the barriers of lines %d and %d", line, self().line);
            }
            line = device.threads[i].line;
        }
    if (waiting > 0 && waiting < device.count)
        emulated_fault("%d of %d threads ended, the others wait at the barrier of line %d",
                       device.count - waiting, device.count, line);
    for (int i = 0; i < device.count; i++)
        device.threads[i].state = waiting ? THREAD_RUNS : THREAD_ENDED;
    device.result_or = device.pending_or;
    device.pending_or = 0;
    races_next_epoch();
    return waiting > 0;
}

void begin_threads()
{
    const dim3 shape = blockDim;
    device.count = (int)(shape.x * shape.y * shape.z);
    for (unsigned i = 0; i < (unsigned)device.count; i++) {
        thread &begins = device.threads[i];
        if (!begins.fiber.stack)
            fiber_allocate(&begins.fiber);
        fiber_prepare(&begins.fiber, run_thread);
        begins.state = THREAD_RUNS;
        begins.warp_epoch = 0;
        begins.index = {i % shape.x, i / shape.x % shape.y, i / shape.x / shape.y};
    }
}

void run_block(uint3 index)
{
    const int warps = (int)(blockDim.x * blockDim.y * blockDim.z + EMULATED_WARP - 1) / EMULATED_WARP;
    blockIdx = index;
    begin_threads();
    races_begin_block(device.shared_bytes, warps);
    do {
        for (int i = 0; i < warps; i++)
            run_warp(device.descending ? warps - 1 - i : i);
    } while (release_block());
}

void run_grid(bool descending)
{
    device.descending = descending;
    const uint64_t blocks = (uint64_t)gridDim.x * gridDim.y * gridDim.z;
    for (uint64_t i = 0; i < blocks; i++) {
        uint64_t at = descending ? blocks - 1 - i : i;
        run_block({(unsigned)(at % gridDim.x), (unsigned)(at / gridDim.x % gridDim.y),
                   (unsigned)(at / gridDim.x / gridDim.y)});
    }
}

} // namespace

/* ---- What a thread calls. ---- */

void emulated_block_barrier(int line)
{
    wait_as(THREAD_AT_BLOCK, line);
}

int emulated_block_or(int predicate, int line)
{
    device.pending_or |= predicate != 0;
    wait_as(THREAD_AT_BLOCK, line);
    return device.result_or;
}

void emulated_warp_operation(combine_function *combine, void *argument, unsigned mask, int line)
{
    const int first = device.current - emulated_lane(), lanes = device.count - first;
    thread &waits = self();
    waits.mask = lanes < EMULATED_WARP ? mask & ((1u << lanes) - 1) : mask;
    waits.combine = combine;
    waits.argument = argument;
    if (!(waits.mask >> emulated_lane() & 1u))
        emulated_fault("lane %d is not in its own mask %08x, in line %d", emulated_lane(), mask, line);
    wait_as(THREAD_AT_WARP, line);
}

void emulated_warp_barrier(unsigned mask, int line)
{
    emulated_warp_operation(NULL, NULL, mask, line);
}

void emulated_exchange_values(void *arguments[EMULATED_WARP], unsigned mask)
{
    uint64_t before[EMULATED_WARP];
    for (int i = 0; i < EMULATED_WARP; i++)
        if (arguments[i])
            before[i] = static_cast<emulated_exchange *>(arguments[i])->value;
    for (int i = 0; i < EMULATED_WARP; i++) {
        if (!arguments[i])
            continue;
        emulated_exchange *exchange = static_cast<emulated_exchange *>(arguments[i]);
        if (!(mask >> exchange->source & 1u))
            emulated_fault("lane %d reads a value of lane %d, which gives none", i, exchange->source);
        exchange->value = before[exchange->source];
    }
}

static void vote(void *arguments[EMULATED_WARP], unsigned mask)
{
    unsigned result = 0;
    (void)mask;
    for (int i = 0; i < EMULATED_WARP; i++)
        if (arguments[i] && *static_cast<unsigned *>(arguments[i]))
            result |= 1u << i;
    for (int i = 0; i < EMULATED_WARP; i++)
        if (arguments[i])
            *static_cast<unsigned *>(arguments[i]) = result;
}

unsigned emulated_ballot(unsigned mask, int predicate, int line)
{
    unsigned value = predicate != 0;
    emulated_warp_operation(vote, &value, mask, line);
    return value;
}

int emulated_lane(void)
{
    return device.current % EMULATED_WARP;
}

int emulated_thread(void)
{
    return device.current;
}

size_t emulated_shared_bytes(void)
{
    return device.shared_bytes;
}

uint32_t emulated_warp_epoch(void)
{
    return self().warp_epoch;
}

void emulated_kernel_name(const char *name)
{
    device.kernel = name;
}

const char *emulated_kernel_named(void)
{
    return device.kernel;
}

void emulated_fault(const char *format, ...)
{
    va_list arguments;
    fflush(stdout);
    fprintf(stderr, "emulated device: kernel %s, block (%u, %u, %u), thread (%u, %u, %u): ",
            device.kernel ? device.kernel : "without a name", blockIdx.x, blockIdx.y, blockIdx.z, threadIdx.x,
            threadIdx.y, threadIdx.z);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    abort();
}

/* ---- A launch. ---- */

static bool fits(const cudaLaunchConfig_t *config, const void *kernel)
{
    enum { WITHOUT_ASKING = 48 << 10, MAX_SIDE = 65535 };
    const dim3 grid = config->gridDim, block = config->blockDim;
    const auto found = allowed_shared.find(kernel);
    const size_t allowed = found == allowed_shared.end() ? (size_t)WITHOUT_ASKING : (size_t)found->second;
    const uint64_t threads = (uint64_t)block.x * block.y * block.z;
    return grid.x >= 1 && grid.x <= 0x7fffffffu && grid.y >= 1 && grid.y <= MAX_SIDE && grid.z >= 1 &&
           grid.z <= MAX_SIDE && threads >= 1 && threads <= EMULATED_THREADS && block.z <= 64 &&
           config->dynamicSmemBytes <= allowed;
}

cudaError_t emulated_set_shared(const void *kernel, int bytes)
{
    std::lock_guard<std::recursive_mutex> lock(device_mutex);
    if (bytes < 0 || bytes > EMULATED_SHARED)
        return cudaErrorInvalidValue;
    allowed_shared[kernel] = bytes;
    return cudaSuccess;
}

bool emulated_fits(const cudaLaunchConfig_t *config, const void *kernel)
{
    std::lock_guard<std::recursive_mutex> lock(device_mutex);
    return fits(config, kernel);
}

void emulated_run(const cudaLaunchConfig_t *config, const emulated_kernel &kernel, void *const *parameters)
{
    std::lock_guard<std::recursive_mutex> lock(device_mutex);
    gridDim = config->gridDim;
    blockDim = config->blockDim;
    device.running = &kernel;
    device.parameters = parameters;
    device.shared_bytes = config->dynamicSmemBytes;
    emulated_memory_open();
    if (emulated_memory_save())
        run_grid(false), emulated_memory_restore();
    run_grid(emulated_memory_saved());
    emulated_memory_compare(device.kernel);
    emulated_memory_close();
}
