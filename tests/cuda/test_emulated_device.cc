// SPDX-License-Identifier: Apache-2.0
//
// The emulated device itself: what threads exchange, and that each mistake a kernel can make in waiting, in
// shared memory and in the order of threads ends the program with a line that says where it is.
#include "cuda/device.h"
#include "emulated_memory.h"

extern "C" {
#include "support/check.h"
}

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 96, BLOCKS = 3, SHARED_BYTES = 512 * 4 };

typedef void kernel_function(float *out, int argument);

static cudaError_t run(kernel_function *kernel, float *out, int argument, unsigned threads = THREADS)
{
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(BLOCKS, 1, 1);
    config.blockDim = dim3(threads, 1, 1);
    config.dynamicSmemBytes = SHARED_BYTES;
    emulated_kernel_name("tested");
    return cudaLaunchKernelEx(&config, kernel, out, argument);
}

/* Runs a kernel, and returns the element of what it wrote. */
static float *made(kernel_function *kernel, int argument)
{
    static float host[BLOCKS * THREADS];
    void *memory = NULL;
    CHECK_INT(cudaMalloc(&memory, sizeof host), cudaSuccess);
    CHECK_INT(cudaMemsetAsync(memory, 0, sizeof host, NULL), cudaSuccess);
    CHECK_INT(run(kernel, (float *)memory, argument), cudaSuccess);
    CHECK_INT(cudaMemcpyAsync(host, memory, sizeof host, cudaMemcpyDeviceToHost, NULL), cudaSuccess);
    CHECK_INT(cudaFree(memory), cudaSuccess);
    return host;
}

/* Whether the kernel ends the program, with `words` in what it says. */
static void expect_fault(kernel_function *kernel, int argument, const char *words)
{
    int ends[2];
    char said[2048] = "";
    if (pipe(ends) != 0)
        abort();
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        made(kernel, argument);
        _exit(0);
    }
    close(ends[1]);
    size_t count = 0;
    for (ssize_t got;
         count < sizeof said - 1 && (got = read(ends[0], said + count, sizeof said - 1 - count)) > 0;)
        count += (size_t)got;
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    CHECK(WIFSIGNALED(status));
    if (!CHECK(strstr(said, words) != NULL))
        printf("wanted: %s\ngot: %s\n", words, said);
}

/* ---- What works. ---- */

static __global__ void sum_kernel(float *out, int argument)
{
    shared_array<float> scratch = shared_at<float>(0, MAX_WARPS);
    float x = (float)(threadIdx.x + (unsigned)argument);
    float sum = block_sum(x, scratch), max = block_max(x, scratch);
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum + 1000000.0f * (float)blockIdx.x + max / 1024.0f;
}

static __global__ void shuffle_kernel(float *out, int argument)
{
    const int lane = (int)(threadIdx.x % WARP);
    int down = __shfl_down_sync(WHOLE_WARP, lane, 3), up = __shfl_up_sync(WHOLE_WARP, lane, 5),
        one = __shfl_sync(WHOLE_WARP, lane, argument), part = __shfl_xor_sync(WHOLE_WARP, lane, 1, 2);
    unsigned odd = __ballot_sync(WHOLE_WARP, lane & 1);
    int any = __syncthreads_or(threadIdx.x == 70);
    out[blockIdx.x * blockDim.x + threadIdx.x] =
        (float)(down + 100 * up + 10000 * one + (odd == 0xaaaaaaaau) * 500000 +
                (part == (lane ^ 1)) * 1000000 + any * 2000000);
}

static void test_exchange(void)
{
    const float *sums = made(sum_kernel, 7);
    for (int i = 0; i < BLOCKS * THREADS; i++)
        CHECK_NEAR((double)sums[i],
                   (double)(THREADS * (THREADS - 1) / 2 + 7 * THREADS) + 1e6 * (i / THREADS) + 102.0 / 1024,
                   0.2);
    const float *shuffled = made(shuffle_kernel, 9);
    for (int i = 0; i < BLOCKS * THREADS; i++) {
        int lane = i % WARP, down = lane + 3 < WARP ? lane + 3 : lane, up = lane >= 5 ? lane - 5 : lane;
        CHECK_NEAR((double)shuffled[i], (double)(down + 100 * up + 90000 + 3500000), 0.0);
    }
}

static __global__ void convert_kernel(float *out, int argument)
{
    (void)argument;
    const float x = 1.0f + (float)threadIdx.x * 0x1p-9f;
    out[blockIdx.x * blockDim.x + threadIdx.x] = to_float(from_float<bf16>(x));
}

/* bf16 has 7 bits behind the first: of two neighbours equally near the even one is taken. */
static void test_bf16(void)
{
    const float *rounded = made(convert_kernel, 0);
    CHECK(rounded[1] == 1.0f && rounded[2] == 1.0f && rounded[3] == 1.0f + 0x1p-7f &&
          rounded[6] == 1.0f + 0x1p-6f);
}

/* ---- What is a fault. ---- */

static __global__ void divergent_kernel(float *out, int argument)
{
    if ((int)threadIdx.x < argument)
        __syncthreads();
    out[threadIdx.x] = 0.0f;
}

static __global__ void two_barriers_kernel(float *out, int argument)
{
    if ((int)threadIdx.x < argument)
        __syncthreads();
    else
        __syncthreads();
    out[threadIdx.x] = 0.0f;
}

static __global__ void lonely_lane_kernel(float *out, int argument)
{
    float x = 1.0f;
    if (threadIdx.x % WARP != (unsigned)argument)
        x = warp_sum(x);
    out[threadIdx.x] = x;
}

/* Each thread reads what its neighbour wrote: with a barrier between (argument 0), with one of the warp (1) and
 * with none (2). */
static __global__ void neighbour_kernel(float *out, int argument)
{
    shared_array<float> x = shared_at<float>(0, THREADS);
    x[threadIdx.x] = (float)threadIdx.x;
    if (argument == 0)
        __syncthreads();
    if (argument == 1)
        __syncwarp();
    out[blockIdx.x * blockDim.x + threadIdx.x] = x[(threadIdx.x + 1) % blockDim.x];
}

/* The same within a warp, which may wait for itself alone. */
static __global__ void neighbour_lane_kernel(float *out, int argument)
{
    shared_array<float> x = shared_at<float>(0, THREADS);
    const unsigned first = threadIdx.x / WARP * WARP;
    x[threadIdx.x] = (float)threadIdx.x;
    if (argument == 0)
        __syncwarp();
    out[blockIdx.x * blockDim.x + threadIdx.x] = x[first + (threadIdx.x + 1) % WARP];
}

static __global__ void rewrite_kernel(float *out, int argument)
{
    shared_array<float> x = shared_at<float>(0, THREADS);
    x[threadIdx.x] = 1.0f;
    __syncthreads();
    out[blockIdx.x * blockDim.x + threadIdx.x] = x[(threadIdx.x + 40) % blockDim.x];
    if (argument)
        x[threadIdx.x] = 2.0f;
}

static __global__ void beyond_shared_kernel(float *out, int argument)
{
    shared_array<float> x = shared_at<float>(0, 512);
    x[argument] = 1.0f;
    out[0] = 0.0f;
}

/* Bits: poison is a number that is none. */
static __global__ void poison_kernel(float *out, int argument)
{
    shared_array<float> x = shared_at<float>(0, 512);
    out[blockIdx.x * blockDim.x + threadIdx.x] = x[argument];
}

static __global__ void last_writes_kernel(float *out, int argument)
{
    if ((int)threadIdx.x >= argument)
        out[blockIdx.x * blockDim.x] = (float)threadIdx.x;
}

static __global__ void beyond_memory_kernel(float *out, int argument)
{
    out[BLOCKS * THREADS + argument] = 1.0f;
}

static void test_faults(void)
{
    expect_fault(divergent_kernel, 40, "56 of 96 threads ended, the others wait at the barrier");
    expect_fault(two_barriers_kernel, 40, "threads wait at the barriers of lines");
    expect_fault(lonely_lane_kernel, 3, "some never come");
    expect_fault(neighbour_kernel, 2, "no barrier is between them");
    expect_fault(neighbour_kernel, 1, "no barrier is between them");
    expect_fault(neighbour_lane_kernel, 1, "no barrier is between them");
    expect_fault(rewrite_kernel, 1, "no barrier is between them");
    expect_fault(beyond_shared_kernel, 512, "of 2048 bytes of shared memory");
    expect_fault(last_writes_kernel, 0, "depends on the order of threads");
    expect_fault(beyond_memory_kernel, 0, "");
    made(neighbour_kernel, 0);
    made(neighbour_lane_kernel, 0);
    made(rewrite_kernel, 0);
    made(last_writes_kernel, THREADS - 1);
    CHECK(isnan(made(poison_kernel, 5)[0]));
}

/* ---- The runtime. ---- */

static void test_runtime(void)
{
    float *memory = (float *)1;
    CHECK_INT(run(sum_kernel, NULL, 0, EMULATED_THREADS + 1), cudaErrorInvalidConfiguration);
    emulated_memory_limit(1000);
    CHECK_INT(cudaMalloc((void **)&memory, 2000), cudaErrorMemoryAllocation);
    emulated_memory_limit(0);
    CHECK_INT(cudaMalloc((void **)&memory, 2000), cudaSuccess);
    CHECK((uintptr_t)memory % 256 == 0);
    CHECK_INT(cudaFree(memory), cudaSuccess);
    CHECK_INT((int64_t)emulated_memory_used(), 0);
    int count = 1;
    emulated_driver(false);
    CHECK_INT(cudaGetDeviceCount(&count), cudaErrorInsufficientDriver);
    emulated_driver(true);
    CHECK_INT(cudaGetDeviceCount(&count), cudaSuccess);
    CHECK_INT(count, 1);
}

int main(void)
{
    test_exchange();
    test_bf16();
    test_faults();
    test_runtime();
    return check_report();
}
