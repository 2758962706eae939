/* SPDX-License-Identifier: Apache-2.0
 *
 * Making a plan: what the caller asked for is checked here, once, so that nothing behind it need be.
 */
#include "rope/plan.h"

#include "base/fail.h"
#include "kernel/rope/rope.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST_HEAD = 1 << 20, LARGEST_TABLE = 1 << 28 };

void rotary_rope_config_default(rotary_rope_config *config)
{
    *config = (rotary_rope_config){
        .struct_size = sizeof *config,
        .pairing = ROTARY_PAIRING_HALF,
        .base = 10000.0,
        .table_positions = 2048,
    };
}

static rotary_status check_span(const rotary_rope_config *config, rotary_error *error)
{
    long long head = config->head_dim, dim = config->rotary_dim, start = config->rotary_start;
    if (head < 2 || head > LARGEST_HEAD)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "head_dim is %lld; wanted 2 ... %d", head,
                           LARGEST_HEAD);
    if (dim < 0 || dim > head)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "rotary_dim is %lld; wanted at most head_dim, %lld", dim, head);
    if ((dim ? dim : head) % 2 != 0)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "rotary_dim is %lld%s; wanted an even number, because channels turn in pairs",
                           dim ? dim : head, dim ? "" : " (the whole head)");
    if (start < 0 || start > head - (dim ? dim : head))
        return rotary_fail(
            error, ROTARY_INVALID_ARGUMENT,
            "the rotary span, channels %lld ... %lld, leaves the head, whose channels are 0 ... %lld", start,
            start + (dim ? dim : head) - 1, head - 1);
    if (config->pairing != ROTARY_PAIRING_HALF && config->pairing != ROTARY_PAIRING_INTERLEAVED)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "pairing is %d; wanted ROTARY_PAIRING_HALF or ROTARY_PAIRING_INTERLEAVED",
                           (int)config->pairing);
    return ROTARY_OK;
}

static rotary_status check_config(const rotary_rope_config *config, rotary_error *error)
{
    rotary_status status = check_span(config, error);
    if (status)
        return status;
    if (!(config->base > 0) || !isfinite(config->base))
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "base is %g; wanted a finite number above 0",
                           config->base);
    if (config->table_positions < 0 || config->table_positions > LARGEST_TABLE)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "table_positions is %lld; wanted 0 ... %d",
                           (long long)config->table_positions, LARGEST_TABLE);
    if (config->threads < 0)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "threads is %d; wanted 1 or more, or 0 for all processors", config->threads);
    if (!rotary_isa_available(config->isa))
        return rotary_fail(error, ROTARY_UNSUPPORTED,
                           "this machine cannot run the instruction set %s; its best is %s",
                           rotary_isa_name(config->isa), rotary_isa_name(rotary_isa_best()));
    return ROTARY_OK;
}

/* Run twice, over a measuring and over an allocated arena (base/arena.h). */
static void carve(rotary_rope *rope)
{
    int64_t table = rope->table_positions * rope->pairs;
    rope->inverse_frequency = rotary_arena_push(&rope->memory, rope->pairs, sizeof(double));
    rope->cosine = rotary_arena_push(&rope->memory, table, sizeof(float));
    rope->sine = rotary_arena_push(&rope->memory, table, sizeof(float));
}

rotary_status rotary_rope_create(rotary_rope **created, const rotary_rope_config *given, rotary_error *error)
{
    /* A caller built against an older header has a shorter struct; what it does not know keeps its default.
     */
    rotary_rope_config config;
    rotary_rope_config_default(&config);
    if (given->struct_size < sizeof given->struct_size || given->struct_size > sizeof config)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "struct_size is %zu; wanted what rotary_rope_config_default sets, at most %zu",
                           given->struct_size, sizeof config);
    memcpy(&config, given, given->struct_size);
    rotary_status status = check_config(&config, error);
    if (status)
        return status;

    rotary_rope *rope = calloc(1, sizeof *rope);
    if (!rope)
        return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory for a rotary plan");
    rope->span = (struct rotary_span){.head_dim = config.head_dim,
                                      .start = config.rotary_start,
                                      .dim = config.rotary_dim ? config.rotary_dim : config.head_dim,
                                      .pairing = config.pairing};
    rope->pairs = rope->span.dim / 2;
    rope->angles_f32 = config.angles_f32;
    rope->table_positions = config.table_positions;
    rope->threads = config.threads;
    rope->kernels = rotary_rope_kernels(config.isa == ROTARY_ISA_AUTO ? rotary_isa_best() : config.isa);
    carve(rope);
    status = rotary_arena_allocate(&rope->memory, "the table of a rotary plan", error);
    if (status) {
        free(rope);
        return status;
    }
    carve(rope);
    rotary_rope_set_frequencies(rope, &config);
    rotary_rope_fill_table(rope);
    *created = rope;
    return ROTARY_OK;
}

void rotary_rope_destroy(rotary_rope *rope)
{
    if (!rope)
        return;
    rotary_arena_free(&rope->memory);
    free(rope);
}

struct rotary_span rotary_rope_span(const rotary_rope *rope)
{
    return rope->span;
}
