/* SPDX-License-Identifier: Apache-2.0
 *
 * rotary bench attention: causal attention beside a large matmul.
 */
#include "benchmark/library.h"
#include "cli/bench.h"

#include <stdio.h>

static const struct setting attention_table[] = {
    BENCH_OPTIONS(
        "B,H,T,D",
        "batch, heads, tokens and channels of a head (default: 4,8,640,64, 1,8,2048,128 and 16,4,512,32)"),
};

static const double forward_backward_operations = 3.5; /* forward and backward, in forward passes */

static void print_pass(const char *name, const struct timing *timing, double operations, double limit)
{
    double rate = operations / timing->best;
    printf("  %s %8.3f (%8.3f) ms %7.1f GFLOP/s %3.0f%%", name, 1e3 * timing->best, 1e3 * timing->median,
           rate / 1e9, 100.0 * rate / limit);
}

static void print_row(const void *result, const struct backend *backend)
{
    const struct attention_benchmark *row = result;
    printf("[%lld, %lld, %lld, %lld] in %s: matmul alone %.1f GFLOP/s, %lld rounds\n", (long long)row->batch,
           (long long)row->heads, (long long)row->time, (long long)row->head_dim,
           rotary_dtype_name(backend->storage), row->matmul_rate / 1e9, (long long)row->rounds);
    for (int i = 0; i < ATTENTION_ROTATIONS; i++) {
        printf("  %-6s", attention_rotation_names[i]);
        print_pass("forward", &row->forward[i], row->operations, row->matmul_rate);
        print_pass("with backward", &row->forward_backward[i], forward_backward_operations * row->operations,
                   row->matmul_rate);
        printf("\n");
    }
    printf("  RoPER / RoPE, median of paired times: forward %.3f, with backward %.3f\n", row->forward_ratio,
           row->forward_backward_ratio);
}

static json_t *row_json(const void *result, const struct backend *backend)
{
    const struct attention_benchmark *row = result;
    json_t *object = json_pack("{s:[I, I, I, I], s:s, s:I, s:f, s:f, s:f, s:f}", "shape",
                               (json_int_t)row->batch, (json_int_t)row->heads, (json_int_t)row->time,
                               (json_int_t)row->head_dim, "precision", rotary_dtype_name(backend->storage),
                               "rounds", (json_int_t)row->rounds, "roper_forward_ratio", row->forward_ratio,
                               "roper_forward_backward_ratio", row->forward_backward_ratio,
                               "forward_operations", row->operations, "matmul_rate", row->matmul_rate);
    for (int i = 0; i < ATTENTION_ROTATIONS && object; i++)
        json_object_set_new(object, attention_rotation_names[i],
                            json_pack("{s:o, s:o}", "forward", bench_timing(&row->forward[i]),
                                      "forward_and_backward", bench_timing(&row->forward_backward[i])));
    return object;
}

static rotary_status time_shape(const int64_t *shape, const struct bench_request *request,
                                rotary_error *error)
{
    struct attention_benchmark row = {
        .batch = shape[0], .heads = shape[1], .time = shape[2], .head_dim = shape[3]};
    rotary_status status = benchmark_attention(&row, request->backend, &request->plan, error);
    if (status == ROTARY_OK)
        bench_result(request, &row);
    return status;
}

static const int64_t shapes[] = {4, 8, 640, 64, 1, 8, 2048, 128, 16, 4, 512, 32};
static const struct bench bench = {.dimensions = 4,
                                   .names = "batch, heads, tokens and channels of a head",
                                   .shapes = shapes,
                                   .shape_count = 3,
                                   .title = "causal attention",
                                   .time = time_shape,
                                   .print = print_row,
                                   .to_json = row_json};

const struct command command_bench_attention = {
    .name = "bench attention",
    .operands = "",
    .summary = "times causal attention beside a large matmul",
    .more = "Forward, and forward with backward, without rotation, with RoPE and with RoPER, alternating "
            "with a large matmul; the share of its rate is printed. Operations count visible keys only: 2 B "
            "H T (T + 1) D forward, 3.5 times as many with the backward pass.",
    .example = "rotary bench attention --shape 1,1,131072,128\n"
               "times one head of a long sequence",
    .options = attention_table,
    .option_count = sizeof attention_table / sizeof attention_table[0],
    .options_size = sizeof(struct bench_options),
    .bench = &bench,
    .run = bench_run,
};
