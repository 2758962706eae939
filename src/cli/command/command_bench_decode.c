/* SPDX-License-Identifier: Apache-2.0
 *
 * rotary bench decode: attention over a cache beside reading the cache.
 */
#include "benchmark/library.h"
#include "cli/bench.h"

#include <stdio.h>

static const struct setting decode_table[] = {
    BENCH_OPTIONS("B,H,K,L,D", "sequences, heads, key-value heads, tokens in the cache and channels of a "
                               "head (default: 1,32,8,16384,128, 8,8,8,4096,64, 128,8,8,400,64 and "
                               "1,16,16,4096,512)"),
};

/* Keys that are values are half of what is read. */
static double bytes_of(const struct decode_benchmark *row, int kind)
{
    return kind == DECODE_KEY_IS_VALUE ? 0.5 * row->bytes : row->bytes;
}

static void print_row(const void *result, const struct backend *backend)
{
    const struct decode_benchmark *row = result;
    printf("[%lld, %lld/%lld, %lld, %lld] in %s, a cache of %.1f MB, %lld rounds\n", (long long)row->batch,
           (long long)row->heads, (long long)row->key_value_heads, (long long)row->length,
           (long long)row->head_dim, rotary_dtype_name(backend->storage), row->bytes / 1e6,
           (long long)row->rounds);
    bench_print_pass(decode_kind_names[DECODE_PLAIN], &row->decode[DECODE_PLAIN], row->bytes);
    bench_print_pass("read only", &row->read, row->bytes);
    printf("  share %.0f%% (%.0f%%)\n", 100.0 * row->read.best / row->decode[DECODE_PLAIN].best,
           100.0 * row->read.median / row->decode[DECODE_PLAIN].median);
    for (int kind = DECODE_PLAIN + 1; kind < DECODE_KINDS; kind++) {
        bench_print_pass(decode_kind_names[kind], &row->decode[kind], bytes_of(row, kind));
        printf("  times the decode step's: %.2f, medians of pairs %.2f (%.2f to %.2f)\n",
               row->decode[kind].best / row->decode[DECODE_PLAIN].best, row->ratio[kind].median,
               row->ratio[kind].lower, row->ratio[kind].upper);
    }
}

static json_t *row_json(const void *result, const struct backend *backend)
{
    const struct decode_benchmark *row = result;
    const struct timing *plain = &row->decode[DECODE_PLAIN];
    return json_pack(
        "{s:[I, I, I, I, I], s:s, s:o, s:o, s:o, s:o, s:f, s:f, s:f, s:f, s:f, s:I}", "shape",
        (json_int_t)row->batch, (json_int_t)row->heads, (json_int_t)row->key_value_heads,
        (json_int_t)row->length, (json_int_t)row->head_dim, "precision", rotary_dtype_name(backend->storage),
        "decode", bench_timing(plain), "sinks", bench_timing(&row->decode[DECODE_SINKS]), "key_is_value",
        bench_timing(&row->decode[DECODE_KEY_IS_VALUE]), "read", bench_timing(&row->read), "sinks_ratio",
        row->ratio[DECODE_SINKS].median, "key_is_value_ratio", row->ratio[DECODE_KEY_IS_VALUE].median,
        "bytes", row->bytes, "share", row->read.best / plain->best, "median_share",
        row->read.median / plain->median, "rounds", (json_int_t)row->rounds);
}

static rotary_status time_shape(const int64_t *shape, const struct bench_request *request,
                                rotary_error *error)
{
    struct decode_benchmark row = {.batch = shape[0],
                                   .heads = shape[1],
                                   .key_value_heads = shape[2],
                                   .length = shape[3],
                                   .head_dim = shape[4]};
    rotary_status status = benchmark_decode(&row, request->backend, &request->plan, error);
    if (status == ROTARY_OK)
        bench_result(request, &row);
    return status;
}

static const int64_t shapes[] = {1,   32, 8, 16384, 128, 8, 8,  8,  4096, 64,
                                 128, 8,  8, 400,   64,  1, 16, 16, 4096, 512};
static const struct bench bench = {
    .dimensions = 5,
    .names = "sequences, heads, key-value heads, tokens in the cache and channels of a head",
    .shapes = shapes,
    .shape_count = 4,
    .title = "decoding",
    .time = time_shape,
    .print = print_row,
    .to_json = row_json};

const struct command command_bench_decode = {
    .name = "bench decode",
    .operands = "",
    .summary = "times attention over a cache beside reading the cache",
    .more = "A decode step of every sequence, with RoPE, over a full cache, alternating with one with sinks, "
            "with one of RoPER whose keys are its values, which reads half as much, and with a plain read of "
            "the same caches, which is the limit of the first.",
    .example = "rotary bench decode --shape 1,32,8,131072,128\n"
               "times a decode step of one long sequence",
    .options = decode_table,
    .option_count = sizeof decode_table / sizeof decode_table[0],
    .options_size = sizeof(struct bench_options),
    .bench = &bench,
    .run = bench_run,
};
