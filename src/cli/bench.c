/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/bench.h"

#include "base/fail.h"
#include "cli/output/result.h"
#include "cli/run_plan.h"
#include "config/comma_list.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { MIN_ROUNDS = 5, MAX_ROUNDS = 10000 };

#define MAX_ELEMENTS 0x1p40 /* so that no count of bytes overflows */

static rotary_status refuse_shape(const char *text, const struct bench *bench, rotary_error *error)
{
    char more[24] = "";
    if (bench->optional > 0)
        snprintf(more, sizeof more, " or %d", bench->dimensions);
    return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                       "--shape is \"%.80s\", wanted %d%s whole numbers from 1 to 2^31: %s", text,
                       bench->dimensions - bench->optional, more, bench->names);
}

/* "4096,32,128" */
static rotary_status read_shape(const char *text, const struct bench *bench, int64_t *shape,
                                rotary_error *error)
{
    const int required = bench->dimensions - bench->optional, given = comma_list_count(text);
    double elements = 1.0;
    const char *rest = text;
    struct comma_item item;
    if (given < required || given > bench->dimensions)
        return refuse_shape(text, bench, error);
    for (int i = 0; i < bench->dimensions; i++) {
        shape[i] = 0;
        if (!comma_list_next(&rest, &item))
            continue;
        if (!comma_item_number(&item, &shape[i]) || shape[i] < 1 || shape[i] > (1LL << 31))
            return refuse_shape(text, bench, error);
        elements *= i < required ? (double)shape[i] : 1.0;
    }
    if (elements > MAX_ELEMENTS)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "--shape is \"%.80s\", %g elements, wanted at most 2^40", text, elements);
    return ROTARY_OK;
}

static rotary_status print_results(json_t *results, const struct backend *backend, rotary_error *error)
{
    return result_print_json(json_pack("{s:s, s:s, s:i, s:o}", "backend", backend->operations->name, "isa",
                                       rotary_isa_name(backend->isa), "threads", backend->threads, "results",
                                       results),
                             error);
}

void bench_result(const struct bench_request *request, const void *result)
{
    if (request->results)
        json_array_append_new(request->results, request->bench->to_json(result, request->backend));
    else
        request->bench->print(result, request->backend);
}

/* asked: the shape of --shape; NULL: all of the benchmark's. */
static rotary_status time_all(const struct invocation *invocation, const struct backend *backend,
                              const int64_t *asked, rotary_error *error)
{
    const struct bench *bench = invocation->command->bench;
    const struct bench_options *options = invocation->options;
    const struct common_options *common = &invocation->common;
    const bool on_device = !backend->operations->on_host;
    const int64_t *shapes = asked ? asked : on_device ? bench->device_shape : bench->shapes;
    int count = asked || on_device ? 1 : bench->shape_count;
    struct bench_request request = {
        .bench = bench,
        .backend = backend,
        .one_type = common->precision.given && common->precision.value != PRECISION_AUTO,
        .plan = {.seconds = options->seconds.given ? options->seconds.value : 1.0,
                 .min = MIN_ROUNDS,
                 .max = MAX_ROUNDS},
        .encodings = options->encodings,
        .results = common->json ? json_array() : NULL,
    };
    if (!common->json)
        printf("%s, %s, threads: %d; best (median) of alternating rounds\n", bench->title,
               plan_backend_text(backend), backend->threads);
    rotary_status status = ROTARY_OK;
    for (int i = 0; i < count && status == ROTARY_OK; i++)
        status = bench->time(shapes + i * bench->dimensions, &request, error);
    if (status == ROTARY_OK && common->json)
        return print_results(request.results, backend, error);
    json_decref(request.results);
    return status;
}

enum exit_status bench_run(const struct invocation *invocation)
{
    const struct bench *bench = invocation->command->bench;
    const struct bench_options *options = invocation->options;
    int64_t asked[BENCH_MAX_DIMENSIONS];
    struct backend backend;
    rotary_error error = {0};
    rotary_status status = ROTARY_OK;
    if (options->shape)
        status = read_shape(options->shape, bench, asked, &error);
    if (status == ROTARY_OK && bench->check)
        status = bench->check(options, &error);
    if (status == ROTARY_OK)
        status = plan_backend(&invocation->common, (int)invocation->common.precision.value, &backend, &error);
    if (status != ROTARY_OK)
        return command_refuse(invocation, &error);
    status = time_all(invocation, &backend, options->shape ? asked : NULL, &error);
    backend_destroy(&backend);
    return status == ROTARY_OK ? EXIT_DONE : command_fail(&error);
}

void bench_print_pass(const char *name, const struct timing *timing, double bytes)
{
    printf("  %s %8.3f (%8.3f) ms %6.1f GB/s", name, 1e3 * timing->best, 1e3 * timing->median,
           bytes / timing->best / 1e9);
}

json_t *bench_timing(const struct timing *timing)
{
    return json_pack("{s:f, s:f}", "best_seconds", timing->best, "median_seconds", timing->median);
}
