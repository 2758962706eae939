// SPDX-License-Identifier: Apache-2.0
//
// cuda/ptx.h, which has twins for the emulated device, against what the PTX manual says of each lane: fragments are filled and read by the manual's
// own formulas, with its names, and products are sums in double.
#include "cuda/ptx.h"

extern "C" {
#include "base/half.h"
#include "support/check.h"
}

#include <stdlib.h>
#include <vector>

enum { LANES = 32, SHARED_BYTES = 2048 };

// Runs a kernel of one warp on the device's copy of `bytes` bytes, and brings them back.
static void run(void (*kernel)(unsigned char *), void *host, size_t bytes)
{
    void *memory = NULL;
    cudaLaunchConfig_t config = {};
    config.blockDim = dim3(LANES);
    config.dynamicSmemBytes = SHARED_BYTES;
    CHECK_INT(cudaMalloc(&memory, bytes), cudaSuccess);
    CHECK_INT(cudaMemcpyAsync(memory, host, bytes, cudaMemcpyHostToDevice, NULL), cudaSuccess);
    CHECK_INT(cudaLaunchKernelEx(&config, kernel, (unsigned char *)memory), cudaSuccess);
    CHECK_INT(cudaMemcpyAsync(host, memory, bytes, cudaMemcpyDeviceToHost, NULL), cudaSuccess);
    CHECK_INT(cudaFree(memory), cudaSuccess);
}

/* ---- mma.sync.aligned.m16n8k16 with bf16. ---- */

struct product {
    float a[16][16], b[16][8], c[16][8], d[16][8];
};

static __global__ void multiply_kernel(unsigned char *memory)
{
    product &p = *(product *)(void *)memory;
    const int lane = (int)threadIdx.x, groupID = lane >> 2, threadID_in_group = lane % 4;
    float a[8], b[4], c[4];
    for (int i = 0; i < 8; i++) {
        int row = (i >= 0 && i < 2) || (i >= 4 && i < 6) ? groupID : groupID + 8;
        int col = i < 4 ? threadID_in_group * 2 + (i & 1) : threadID_in_group * 2 + (i & 1) + 8;
        a[i] = p.a[row][col];
    }
    for (int i = 0; i < 4; i++) {
        int row = i < 2 ? threadID_in_group * 2 + (i & 1) : threadID_in_group * 2 + (i & 1) + 8;
        b[i] = p.b[row][groupID];
    }
    for (int i = 0; i < 4; i++)
        c[i] = p.c[i < 2 ? groupID : groupID + 8][threadID_in_group * 2 + (i & 1)];
    const uint32_t a_pairs[4] = {bf16_pair(a[0], a[1]), bf16_pair(a[2], a[3]), bf16_pair(a[4], a[5]),
                                 bf16_pair(a[6], a[7])},
                   b_pairs[2] = {bf16_pair(b[0], b[1]), bf16_pair(b[2], b[3])};
    warp_mma(c, a_pairs, b_pairs);
    for (int i = 0; i < 4; i++)
        p.d[i < 2 ? groupID : groupID + 8][threadID_in_group * 2 + (i & 1)] = c[i];
}

static float rounded(uint64_t seed, uint64_t index)
{
    return rotary_bf16_to_float(rotary_bf16_from_float(check_random(seed, index, 3)));
}

static void try_products()
{
    for (uint64_t seed = 0; seed < 8; seed++) {
        product p;
        for (int i = 0; i < 16; i++) {
            for (int k = 0; k < 16; k++)
                p.a[i][k] = rounded(seed, (uint64_t)(16 * i + k));
            for (int j = 0; j < 8; j++) {
                p.b[i][j] = rounded(seed + 100, (uint64_t)(8 * i + j));
                p.c[i][j] = check_random(seed + 200, (uint64_t)(8 * i + j), 1);
            }
        }
        run(multiply_kernel, &p, sizeof p);
        for (int i = 0; i < 16; i++)
            for (int j = 0; j < 8; j++) {
                double wanted = (double)p.c[i][j], size = fabs(wanted);
                for (int k = 0; k < 16; k++) {
                    wanted += (double)p.a[i][k] * (double)p.b[k][j];
                    size += fabs((double)p.a[i][k] * (double)p.b[k][j]);
                }
                CHECK_NEAR((double)p.d[i][j], wanted, 17 * 0x1p-24 * size);
            }
    }
}

/* ---- ldmatrix.sync.aligned.m8n8.x4.shared.b16, and .trans. ---- */

/* An element says where it is: matrix, row and column. */
static __host__ __device__ uint16_t name_of(int matrix, int row, int column)
{
    return (uint16_t)(matrix * 256 + row * 16 + column);
}

struct fragments {
    uint32_t plain[LANES][4], transposed[LANES][4];
};

/* Rows are 3 * 8 elements apart, so that no other element has the place of a wanted one. */
static __global__ void matrices_kernel(unsigned char *memory)
{
    enum { STRIDE = 24 };
    fragments &made = *(fragments *)(void *)memory;
    const int lane = (int)threadIdx.x;
    const shared_array<bf16> rows = shared_at<bf16>(0, LANES * STRIDE);
    for (int column = 0; column < 8; column++) {
        bf16 x;
        x.bits = name_of(lane / 8, lane % 8, column);
        rows[lane * STRIDE + column] = x;
    }
    __syncwarp();
    warp_load_matrices(made.plain[lane], rows + lane * STRIDE);
    warp_load_transposed(made.transposed[lane], rows + lane * STRIDE);
}

static void try_matrices()
{
    fragments made;
    run(matrices_kernel, &made, sizeof made);
    for (int lane = 0; lane < LANES; lane++)
        for (int matrix = 0; matrix < 4; matrix++)
            for (int half = 0; half < 2; half++) {
                const int row = lane / 4, column = lane % 4 * 2 + half, shift = 16 * half;
                CHECK_INT(made.plain[lane][matrix] >> shift & 0xffffu, name_of(matrix, row, column));
                CHECK_INT(made.transposed[lane][matrix] >> shift & 0xffffu, name_of(matrix, column, row));
            }
}

/* ---- cp.async. ---- */

struct copies {
    alignas(16) float from[LANES][4];
    float before[LANES][4], first[LANES][4], second[LANES][4], other[LANES][4];
};

static __device__ void read_copy(float (&to)[4], shared_array<const float> at)
{
    for (int i = 0; i < 4; i++)
        to[i] = at[i];
}

/* Two groups: the first has all of a row, the second as many bytes as the lane's number, up to 16. */
static __global__ void copy_kernel(unsigned char *memory)
{
    copies &made = *(copies *)(void *)memory;
    const int lane = (int)threadIdx.x, bytes = lane < 16 ? lane : 16;
    const shared_array<float> rows = shared_at<float>(0, 2 * LANES * 4);
    const shared_array<float> first = rows + 4 * lane, second = rows + 4 * (LANES + lane);
    copy_async(first, (const float *)made.from[lane], 16);
    copy_async_commit();
    copy_async(second, (const float *)made.from[lane], bytes);
    copy_async_commit();
    read_copy(made.before[lane], first);
    copy_async_wait<1>();
    read_copy(made.first[lane], first);
    copy_async_wait<0>();
    read_copy(made.second[lane], second);
    __syncwarp();
    read_copy(made.other[lane], rows + 4 * (LANES - 1 - lane));
}

static void try_copies()
{
    static copies made;
    for (int lane = 0; lane < LANES; lane++)
        for (int i = 0; i < 4; i++)
            made.from[lane][i] = (float)(4 * lane + i + 1);
    run(copy_kernel, &made, sizeof made);
    for (int lane = 0; lane < LANES; lane++)
        for (int i = 0; i < 4; i++) {
            unsigned char wanted[16] = {0};
            memcpy(wanted, made.from[lane], (size_t)(lane < 16 ? lane : 16));
#ifndef __CUDACC__
            CHECK(made.before[lane][i] != made.from[lane][i]); /* not there before it is waited for */
#endif
            CHECK(made.first[lane][i] == made.from[lane][i]);
            CHECK(memcmp(wanted, made.second[lane], sizeof wanted) == 0);
            CHECK(made.other[lane][i] == made.from[LANES - 1 - lane][i]);
        }
}

/* ---- cvt.rn.bf16x2.f32. ---- */

struct pairs {
    float from[3][2];
    uint32_t made[3];
};

static __global__ void round_kernel(unsigned char *memory)
{
    pairs &rounded = *(pairs *)(void *)memory;
    if (threadIdx.x < 3)
        rounded.made[threadIdx.x] = bf16_pair(rounded.from[threadIdx.x][0], rounded.from[threadIdx.x][1]);
}

static void try_rounding()
{
    /* 1 + 2^-8 and 1 + 3 * 2^-8 lie between two numbers. */
    pairs rounded = {{{1.0f + 0x1p-8f, 1.0f + 3 * 0x1p-8f}, {-2.0f, 0x1p127f}, {3.4e38f, -INFINITY}},
                     {0, 0, 0}};
    run(round_kernel, &rounded, sizeof rounded);
    CHECK_INT(rounded.made[0], 0x3f823f80u);
    CHECK_INT(rounded.made[1], 0x7f00c000u);
    CHECK_INT(rounded.made[2], 0xff807f80u);
}

int main(void)
{
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0)
        check_skip("there is no CUDA device");
    try_products();
    try_matrices();
    try_copies();
    try_rounding();
    return check_report();
}
