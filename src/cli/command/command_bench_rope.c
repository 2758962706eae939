/* SPDX-License-Identifier: Apache-2.0
 *
 * rotary bench rope: rotation in place beside scaling in place.
 */
#include "benchmark/library.h"
#include "cli/bench.h"
#include "rope_config/rope_config.h"

#include <stdio.h>

static const struct setting rope_table[] = {
    BENCH_OPTIONS("T,H,D", "tokens, heads and channels of a head (default: 4096,32,128)"),
};

static void print_row(const void *result, const struct backend *backend)
{
    (void)backend;
    const struct rope_benchmark *row = result;
    printf("  %-4s %-11s", rotary_dtype_name(row->dtype), rope_config_pairings[row->pairing]);
    bench_print_pass("rotated", &row->rotate, row->bytes);
    bench_print_pass("scaled", &row->scale, row->bytes);
    printf("  ratio %.2f (%.2f)  %lld rounds\n", row->rotate.best / row->scale.best,
           row->rotate.median / row->scale.median, (long long)row->rounds);
}

static json_t *row_json(const void *result, const struct backend *backend)
{
    (void)backend;
    const struct rope_benchmark *row = result;
    return json_pack("{s:[I, I, I], s:s, s:s, s:o, s:o, s:f, s:f, s:f, s:I}", "shape", (json_int_t)row->time,
                     (json_int_t)row->heads, (json_int_t)row->head_dim, "precision",
                     rotary_dtype_name(row->dtype), "pairing", rope_config_pairings[row->pairing], "rotated",
                     bench_timing(&row->rotate), "scaled", bench_timing(&row->scale), "bytes", row->bytes,
                     "ratio", row->rotate.best / row->scale.best, "median_ratio",
                     row->rotate.median / row->scale.median, "rounds", (json_int_t)row->rounds);
}

static rotary_status time_one(struct rope_benchmark row, const struct bench_request *request,
                              rotary_error *error)
{
    rotary_status status = benchmark_rope(&row, request->backend, &request->plan, error);
    if (status == ROTARY_OK)
        bench_result(request, &row);
    return status;
}

static rotary_status time_shape(const int64_t *shape, const struct bench_request *request,
                                rotary_error *error)
{
    struct rope_benchmark row = {.time = shape[0], .heads = shape[1], .head_dim = shape[2]};
    if (!request->results)
        printf("[%lld, %lld, %lld]\n", (long long)shape[0], (long long)shape[1], (long long)shape[2]);
    rotary_status status = ROTARY_OK;
    for (int dtype = ROTARY_F32; dtype <= (int)ROTARY_BF16; dtype++)
        for (int pairing = 0; pairing < 2 && status == ROTARY_OK; pairing++) {
            row.dtype = (rotary_dtype)dtype;
            row.pairing = (rotary_pairing)pairing;
            if (!request->one_type || row.dtype == request->backend->storage)
                status = time_one(row, request, error);
        }
    return status;
}

static const int64_t shapes[] = {4096, 32, 128};
static const struct bench bench = {.dimensions = 3,
                                   .names = "tokens, heads and channels of a head",
                                   .shapes = shapes,
                                   .shape_count = 1,
                                   .title = "rotation in place",
                                   .time = time_shape,
                                   .print = print_row,
                                   .to_json = row_json};

const struct command command_bench_rope = {
    .name = "bench rope",
    .operands = "",
    .summary = "times rotation in place beside scaling in place",
    .more = "Rotates a tensor, alternating with multiplying all of it by one number, which shows the limit "
            "of a pass over it; in f32, f16 and bf16, or in --precision alone, and in both pairings.",
    .example = "rotary bench rope --isa avx2 --precision f32\n"
               "times rotation with AVX2 in f32",
    .options = rope_table,
    .option_count = sizeof rope_table / sizeof rope_table[0],
    .options_size = sizeof(struct bench_options),
    .bench = &bench,
    .run = bench_run,
};
