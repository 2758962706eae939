/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/ptx.h"
#include "emulated_races.h"

#include <vector>

namespace
{

/* m16n8k16 multiplies matrices of these sizes (cuda/ptx.h has the layout). */
enum { M = 16, N = 8, K = 16 };

struct mma_argument {
    float *c;
    const uint32_t *a, *b;
};

float half_of(uint32_t pair, int which)
{
    bf16 x;
    x.bits = (uint16_t)(which ? pair >> 16 : pair);
    return to_float(x);
}

/* Register and half of a lane's A have this row and column; of its B likewise. */
int row_of_a(int lane, int i)
{
    return lane / 4 + 8 * (i % 2);
}

int column_of_a(int lane, int i, int half)
{
    return 2 * (lane % 4) + 8 * (i / 2) + half;
}

/* Fused multiply-adds, in the order of k. The sums of a device's tensor cores are in another, unknown one. */
void multiply(void *arguments[EMULATED_WARP], unsigned)
{
    float a[M][K], b[K][N];
    for (int lane = 0; lane < EMULATED_WARP; lane++) {
        const mma_argument &own = *static_cast<mma_argument *>(arguments[lane]);
        for (int i = 0; i < 4; i++)
            for (int half = 0; half < 2; half++)
                a[row_of_a(lane, i)][column_of_a(lane, i, half)] = half_of(own.a[i], half);
        for (int i = 0; i < 2; i++)
            for (int half = 0; half < 2; half++)
                b[2 * (lane % 4) + 8 * i + half][lane / 4] = half_of(own.b[i], half);
    }
    for (int lane = 0; lane < EMULATED_WARP; lane++) {
        float *c = static_cast<mma_argument *>(arguments[lane])->c;
        for (int i = 0; i < 4; i++) {
            const int row = lane / 4 + 8 * (i / 2), column = 2 * (lane % 4) + i % 2;
            for (int k = 0; k < K; k++)
                c[i] += a[row][k] * b[k][column]; /* a product of two bf16 is exact */
        }
    }
}

struct matrices_argument {
    uint32_t *m;
    uint16_t row[8];
    bool transposed;
};

uint16_t element_of(void *arguments[EMULATED_WARP], int matrix, int row, int column)
{
    return static_cast<matrices_argument *>(arguments[8 * matrix + row])->row[column];
}

void load(void *arguments[EMULATED_WARP], unsigned)
{
    for (int lane = 0; lane < EMULATED_WARP; lane++) {
        const matrices_argument &own = *static_cast<matrices_argument *>(arguments[lane]);
        const int g = lane / 4, t = lane % 4;
        for (int i = 0; i < 4; i++) {
            uint32_t pair[2];
            for (int half = 0; half < 2; half++)
                pair[half] = own.transposed ? element_of(arguments, i, 2 * t + half, g)
                                            : element_of(arguments, i, g, 2 * t + half);
            own.m[i] = pair[0] | pair[1] << 16;
        }
    }
}

struct copy {
    void *to;
    const void *from;
    int bytes, line;
};

/* The copies of one thread: groups, the oldest first, the last of them not committed yet. */
struct copies {
    std::vector<std::vector<copy>> groups;
};

copies pending[EMULATED_THREADS];

copies &own_copies()
{
    copies &own = pending[emulated_thread()];
    if (own.groups.empty())
        own.groups.resize(1);
    return own;
}

enum { CHUNK = 16 };

void carry_out(const copy &one)
{
    unsigned char bytes[CHUNK] = {0};
    memcpy(bytes, one.from, (size_t)one.bytes);
    memcpy(one.to, bytes, CHUNK);
}

} // namespace

void emulated_mma(float c[4], const uint32_t a[4], const uint32_t b[2], int line)
{
    mma_argument own = {c, a, b};
    emulated_warp_operation(multiply, &own, ~0u, line);
}

void emulated_load_matrices(uint32_t m[4], const void *row, bool transposed, int line)
{
    matrices_argument own = {m, {0}, transposed};
    emulated_shared_read(row, CHUNK, line);
    memcpy(own.row, row, CHUNK);
    emulated_warp_operation(load, &own, ~0u, line);
}

/* The place is written from now on, and is what it was until the wait. */
void emulated_copy_async(void *to, const void *from, int bytes, int line)
{
    if ((uintptr_t)from % CHUNK != 0 || bytes < 0 || bytes > CHUNK)
        emulated_fault("a copy of %d bytes from %p, in line %d: wanted at most 16 from a multiple of 16",
                       bytes, from, line);
    emulated_shared_write(to, CHUNK, line);
    memset(to, 0xff, CHUNK);
    own_copies().groups.back().push_back({to, from, bytes, line});
}

void emulated_copy_commit(void)
{
    own_copies().groups.emplace_back();
}

void emulated_copy_wait(int groups)
{
    copies &own = own_copies();
    while ((int)own.groups.size() - 1 > groups) {
        for (const copy &one : own.groups.front()) {
            emulated_shared_write(one.to, CHUNK, one.line);
            carry_out(one);
        }
        own.groups.erase(own.groups.begin());
    }
}

void emulated_copy_begin_block(void)
{
    for (copies &own : pending)
        own.groups.clear();
}
