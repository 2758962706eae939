/* SPDX-License-Identifier: Apache-2.0
 *
 * rotary bench attention: causal attention beside a large matmul.
 */
#include "base/fail.h"
#include "benchmark/library.h"
#include "cli/bench.h"
#include "config/comma_list.h"

#include <stdio.h>
#include <string.h>

static const struct setting attention_table[] = {
    BENCH_OPTIONS("B,H,T,D[,S]",
                  "batch, heads, tokens and channels of a head; with S, packed sequences of S to T tokens "
                  "(default: 4,8,640,64, 1,8,2048,128, 16,4,512,32, 1,4,1024,512 and 256,8,32,64,8; on a "
                  "device 4,16,4096,128)"),
    {"--encodings", SETTING_TEXT, offsetof(struct bench_options, encodings), .metavar = "LIST",
     .help = "of none, rope, roper, bias, shaw, transformer-xl, deberta, fire, sinks, scales, key-is-value; "
             "rope is always there (default: all)"},
};

static const double forward_backward_operations = 3.5; /* forward and backward, in forward passes */

static void print_pass(const char *name, const struct timing *timing, double operations, double limit)
{
    double rate = operations / timing->best;
    printf("  %s %8.3f (%8.3f) ms %7.1f GFLOP/s %3.0f%%", name, 1e3 * timing->best, 1e3 * timing->median,
           rate / 1e9, 100.0 * rate / limit);
}

static void print_ratio(const char *name, const struct timing *ratio)
{
    printf("  %s %5.2f (%.2f to %.2f)", name, ratio->median, ratio->lower, ratio->upper);
}

static void print_row(const void *result, const struct backend *backend)
{
    const struct attention_benchmark *row = result;
    char tokens[64] = "";
    if (row->shortest)
        snprintf(tokens, sizeof tokens, "packed, %lld to ", (long long)row->shortest);
    printf("[%lld, %lld, %s%lld, %lld] in %s: matmul alone %.1f GFLOP/s, %lld rounds\n",
           (long long)row->batch, (long long)row->heads, tokens, (long long)row->time,
           (long long)row->head_dim, rotary_dtype_name(backend->storage), row->matmul_rate / 1e9,
           (long long)row->rounds);
    for (int i = 0; i < ATTENTION_ENCODINGS; i++) {
        const struct attention_result *of = &row->results[i];
        if (!row->wanted[i])
            continue;
        printf("  %-14s", attention_encoding_names[i]);
        print_pass("forward", &of->forward, row->operations, row->matmul_rate);
        print_pass("with backward", &of->forward_backward, forward_backward_operations * row->operations,
                   row->matmul_rate);
        printf("\n");
    }
    printf("  times RoPE's, medians of pairs with their quartiles, and the workspace:\n");
    for (int i = 0; i < ATTENTION_ENCODINGS; i++) {
        const struct attention_result *of = &row->results[i];
        if (!row->wanted[i] || i == ATTENTION_ROPE)
            continue;
        printf("  %-14s", attention_encoding_names[i]);
        print_ratio("forward", &of->forward_ratio);
        print_ratio("with backward", &of->forward_backward_ratio);
        printf("  %8.2f MB\n", (double)of->workspace_bytes / 1e6);
    }
}

static json_t *ratio_json(const struct timing *ratio)
{
    return json_pack("{s:f, s:f, s:f}", "median", ratio->median, "lower", ratio->lower, "upper",
                     ratio->upper);
}

static json_t *row_json(const void *result, const struct backend *backend)
{
    const struct attention_benchmark *row = result;
    json_t *object = json_pack("{s:[I, I, I, I], s:I, s:s, s:I, s:f, s:f}", "shape", (json_int_t)row->batch,
                               (json_int_t)row->heads, (json_int_t)row->time, (json_int_t)row->head_dim,
                               "shortest", (json_int_t)row->shortest, "precision",
                               rotary_dtype_name(backend->storage), "rounds", (json_int_t)row->rounds,
                               "forward_operations", row->operations, "matmul_rate", row->matmul_rate);
    for (int i = 0; i < ATTENTION_ENCODINGS; i++) {
        const struct attention_result *one = &row->results[i];
        if (row->wanted[i])
            json_object_set_new(object, attention_encoding_names[i],
                                json_pack("{s:o, s:o, s:o, s:o, s:I}", "forward", bench_timing(&one->forward),
                                          "forward_and_backward", bench_timing(&one->forward_backward),
                                          "forward_ratio", ratio_json(&one->forward_ratio),
                                          "forward_and_backward_ratio",
                                          ratio_json(&one->forward_backward_ratio), "workspace_bytes",
                                          (json_int_t)one->workspace_bytes));
    }
    return object;
}

/* "shaw,fire"; NULL: all. */
static rotary_status read_encodings(const char *list, bool wanted[ATTENTION_ENCODINGS], rotary_error *error)
{
    for (int i = 0; i < ATTENTION_ENCODINGS; i++)
        wanted[i] = !list;
    struct comma_item item;
    while (comma_list_next(&list, &item)) {
        const int found = comma_item_find(&item, attention_encoding_names);
        char names[SETTINGS_NAMES_BYTES];
        if (found < 0)
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "--encodings has \"%.*s\", wanted %s",
                               item.length < 80 ? item.length : 80, item.text,
                               settings_names(attention_encoding_names, names));
        wanted[found] = true;
    }
    return ROTARY_OK;
}

static rotary_status check_options(const struct bench_options *options, rotary_error *error)
{
    bool wanted[ATTENTION_ENCODINGS];
    return read_encodings(options->encodings, wanted, error);
}

static rotary_status time_shape(const int64_t *shape, const struct bench_request *request,
                                rotary_error *error)
{
    struct attention_benchmark row = {
        .batch = shape[0], .heads = shape[1], .time = shape[2], .head_dim = shape[3], .shortest = shape[4]};
    if (row.shortest > row.time)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "packed sequences have %lld to %lld tokens; wanted the shortest first",
                           (long long)row.shortest, (long long)row.time);
    rotary_status status = read_encodings(request->encodings, row.wanted, error);
    if (status == ROTARY_OK)
        status = benchmark_attention(&row, request->backend, &request->plan, error);
    if (status == ROTARY_OK)
        bench_result(request, &row);
    return status;
}

static const int64_t shapes[] = {4,  8, 640, 64, 0,    1,   8, 2048, 128, 0,  16, 4, 512,
                                 32, 0, 1,   4,  1024, 512, 0, 256,  8,   32, 64, 8};
static const int64_t device_shape[] = {4, 16, 4096, 128, 0};
static const struct bench bench = {.dimensions = 5,
                                   .optional = 1,
                                   .names =
                                       "batch, heads, tokens and channels of a head, and the tokens of the "
                                       "shortest sequence where they are packed",
                                   .shapes = shapes,
                                   .shape_count = 5,
                                   .device_shape = device_shape,
                                   .title = "causal attention",
                                   .check = check_options,
                                   .time = time_shape,
                                   .print = print_row,
                                   .to_json = row_json};

const struct command command_bench_attention = {
    .name = "bench attention",
    .operands = "",
    .summary = "times causal attention beside a large matmul",
    .more = "Forward, and forward with backward, with the terms of encodings, alternating with a large "
            "matmul; the share of its rate is printed, and the time as a multiple of RoPE's. bias is one by "
            "distance, as of T5, ALiBi, KERPLE and Sandwich; sinks and scales (of queries, by their "
            "position) are beside RoPE, and key-is-value is RoPER whose keys are its values. All gradients "
            "of learned terms are computed, but not those of what a model computes them from. Packed "
            "sequences have each length about as often. "
            "Operations count visible keys only, and no terms: 2 B H T (T + 1) D forward, 3.5 times as many "
            "with the backward pass. On a device the matmul is the largest that takes about a millisecond.",
    .example = "rotary bench attention --shape 1,1,131072,128 --encodings rope\n"
               "times one head of a long sequence",
    .options = attention_table,
    .option_count = sizeof attention_table / sizeof attention_table[0],
    .options_size = sizeof(struct bench_options),
    .on_device = true,
    .bench = &bench,
    .run = bench_run,
};
