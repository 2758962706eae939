/* SPDX-License-Identifier: Apache-2.0
 *
 * The rotation of a tensor [4096, 32, 128] in place beside what merely scaling it takes: bench_rope
 * [threads]. Turns alternate, so that whatever else the machine does is shared; the shortest and the median
 * time of each are printed.
 */
#include "base/threads.h"
#include "scale.h"

#include <rotary/rope.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { TIME = 4096, HEADS = 32, HEAD_DIM = 128, ROUNDS = 60, PIECE = 32768 };
static const int64_t COUNT = (int64_t)TIME * HEADS * HEAD_DIM;

struct scaling {
    scale_kernel *kernel;
    char *data;
    size_t size;
};

static scale_kernel *const *scale_kernels(rotary_isa isa)
{
#if defined(ROTARY_HAVE_X86)
    if (isa == ROTARY_ISA_AMX)
        return scale_kernels_amx;
    if (isa == ROTARY_ISA_AVX512)
        return scale_kernels_avx512;
    if (isa == ROTARY_ISA_AVX2)
        return scale_kernels_avx2;
#elif defined(ROTARY_HAVE_NEON)
    if (isa == ROTARY_ISA_NEON)
        return scale_kernels_neon;
#endif
    return scale_kernels_scalar;
}

static void scale_piece(void *argument, int64_t index, int worker)
{
    (void)worker;
    const struct scaling *scaling = argument;
    scaling->kernel(scaling->data + (size_t)index * PIECE * scaling->size, PIECE, 1.0f);
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static rotary_status measure(rotary_isa isa, rotary_dtype dtype, rotary_pairing pairing, int threads,
                             void *data, rotary_error *error)
{
    rotary_rope_config config;
    rotary_rope_config_default(&config);
    config.head_dim = HEAD_DIM;
    config.pairing = pairing;
    config.table_positions = TIME;
    config.threads = threads;
    config.isa = isa;
    rotary_rope *rope;
    rotary_status status = rotary_rope_create(&rope, &config, error);
    if (status)
        return status;
    rotary_rope_apply_call call = {.struct_size = sizeof call, .batch = 1, .time = TIME};
    call.query.heads = HEADS;
    call.query.input = (rotary_rope_const_view){data, dtype, 0, HEADS * HEAD_DIM, HEAD_DIM};
    call.query.output = (rotary_rope_view){data, dtype, 0, HEADS * HEAD_DIM, HEAD_DIM};
    struct scaling scaling = {scale_kernels(isa)[dtype], data, rotary_dtype_size(dtype)};
    double apply[ROUNDS], scale[ROUNDS];
    for (int round = 0; round < ROUNDS && !status; round++) {
        double start = seconds();
        rotary_parallel_for(threads, COUNT / PIECE, scale_piece, &scaling);
        double middle = seconds();
        status = rotary_rope_apply(rope, &call, error);
        apply[round] = seconds() - middle;
        scale[round] = middle - start;
    }
    rotary_rope_destroy(rope);
    if (status)
        return status;
    qsort(apply, ROUNDS, sizeof *apply, ascending);
    qsort(scale, ROUNDS, sizeof *scale, ascending);
    double moved = 2.0 * (double)COUNT * (double)scaling.size;
    printf("%-7s %-5s %-12s turn %7.3f (%7.3f) ms %6.1f GB/s   scale %7.3f (%7.3f) ms   ratio %.2f (%.2f)\n",
           rotary_isa_name(isa), rotary_dtype_name(dtype),
           pairing == ROTARY_PAIRING_HALF ? "half" : "interleaved", apply[0] * 1e3, apply[ROUNDS / 2] * 1e3,
           moved / apply[0] * 1e-9, scale[0] * 1e3, scale[ROUNDS / 2] * 1e3, apply[0] / scale[0],
           apply[ROUNDS / 2] / scale[ROUNDS / 2]);
    return ROTARY_OK;
}

int main(int argc, char **argv)
{
    int threads = argc > 1 ? atoi(argv[1]) : 2;
    void *data = aligned_alloc(64, (size_t)COUNT * sizeof(float));
    if (!data)
        return 1;
    for (int64_t i = 0; i < COUNT; i++)
        ((float *)data)[i] = 0.0f;
    printf("[%d, %d, %d] in place, %d threads: shortest (median) of %d\n", TIME, HEADS, HEAD_DIM, threads,
           ROUNDS);
    rotary_error error = {0};
    for (rotary_isa isa = ROTARY_ISA_NEON; isa <= ROTARY_ISA_AMX; isa++)
        for (int dtype = 0; dtype < 3 && rotary_isa_available(isa); dtype++)
            for (int pairing = 0; pairing < 2; pairing++)
                if (measure(isa, (rotary_dtype)dtype, (rotary_pairing)pairing, threads, data, &error)) {
                    fprintf(stderr, "bench_rope: %s\n", error.message);
                    return 1;
                }
    free(data);
    return 0;
}
