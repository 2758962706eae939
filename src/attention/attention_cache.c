/* SPDX-License-Identifier: Apache-2.0
 *
 * Caches reorder and fork in place. A work item is some rows of one cache and head: the rows of all sequences
 * that get new ones are gathered in the worker's scratch, then written, so that no source is overwritten
 * before it is read.
 */
#include "attention/cache_checks.h"

#include "base/fail.h"
#include "base/sized.h"
#include "base/threads.h"

#include <string.h>

enum { ROWS_PER_WORK_ITEM = 16 };

struct reorder {
    const rotary_attention *attention;
    const rotary_attention_reorder_call *call;
    int64_t row_blocks;  /* of a head */
    size_t vector_bytes; /* of a head */
    struct attention_scratch scratch;
};

static size_t carve(struct reorder *reorder, int64_t batch, struct rotary_arena *arena)
{
    const rotary_attention *attention = reorder->attention;
    reorder->vector_bytes = (size_t)attention->head_dim * rotary_dtype_size(attention->dtype);
    size_t rows = (size_t)batch * ROWS_PER_WORK_ITEM;
    rotary_attention_carve_scratch(attention, &reorder->scratch, rows * reorder->vector_bytes, arena);
    return arena->used;
}

size_t rotary_attention_reorder_bytes(const rotary_attention *attention, int64_t batch)
{
    struct reorder reorder = {.attention = attention};
    struct rotary_arena arena = {0};
    if (rotary_attention_check_shape((rotary_attention_shape){.batch = batch}, NULL))
        return 0;
    return carve(&reorder, batch, &arena);
}

/* The rows of an old sequence's cache that hold tokens: 0 ... rows - 1. */
static int64_t rows_of(const rotary_attention_reorder_call *call, int64_t sequence)
{
    return call->lengths ? min_i64(call->lengths[sequence], call->capacity) : call->capacity;
}

static void reorder_rows(void *argument, int64_t index, int worker)
{
    const struct reorder *reorder = argument;
    const rotary_attention_reorder_call *call = reorder->call;
    rotary_attention_problem problem = rotary_attention_problem_of(reorder->attention);
    int64_t block = index % reorder->row_blocks, head = index / reorder->row_blocks;
    rotary_attention_view cache = call->key_cache;
    if (head >= problem.key_value_heads) {
        head -= problem.key_value_heads;
        cache = call->value_cache;
    }
    rotary_attention_const_view from = rotary_attention_as_const(cache);
    unsigned char *scratch = reorder->scratch.memory + (size_t)worker * reorder->scratch.bytes;
    int64_t begin = block * ROWS_PER_WORK_ITEM, end = begin + ROWS_PER_WORK_ITEM;
    for (int write = 0; write < 2; write++)
        for (int64_t sequence = 0; sequence < call->batch; sequence++) {
            int64_t source = call->source[sequence], last = min_i64(end, rows_of(call, source));
            for (int64_t row = begin; row < last && source != sequence; row++) {
                unsigned char *gathered =
                    scratch + (size_t)(sequence * ROWS_PER_WORK_ITEM + row - begin) * reorder->vector_bytes;
                if (write)
                    memcpy(mutable_vector_at(&problem, cache, sequence, row, head), gathered,
                           reorder->vector_bytes);
                else
                    memcpy(gathered, vector_at(&problem, from, source, row, head), reorder->vector_bytes);
            }
        }
}

static rotary_status check_source(const rotary_attention_reorder_call *call, rotary_error *error)
{
    if (!call->source && call->batch > 0)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "source is missing; wanted one for each of %lld sequences",
                           (long long)call->batch);
    for (int64_t sequence = 0; sequence < call->batch; sequence++) {
        if (call->source[sequence] < 0 || call->source[sequence] >= call->batch)
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                               "source[%lld] is %d; wanted a sequence, 0 ... %lld", (long long)sequence,
                               call->source[sequence], (long long)call->batch - 1);
        if (call->lengths && call->lengths[sequence] < 0)
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "lengths[%lld] is %lld; wanted 0 or more",
                               (long long)sequence, (long long)call->lengths[sequence]);
    }
    return ROTARY_OK;
}

rotary_status rotary_attention_check_reorder(const rotary_attention *attention,
                                             const rotary_attention_reorder_call *call, size_t bytes,
                                             rotary_error *error)
{
    int64_t batch = call->batch, capacity = call->capacity, heads = attention->key_value_heads;
    rotary_status status =
        rotary_attention_check_shape((rotary_attention_shape){.batch = batch, .keys = capacity}, error);
    if (!status)
        status = check_source(call, error);
    if (status)
        return status;
    const struct attention_operand operands[] = {
        {"key_cache", rotary_attention_as_const(call->key_cache), batch, capacity, heads, true},
        {"value_cache", rotary_attention_as_const(call->value_cache), batch, capacity, heads, true},
    };
    status = rotary_attention_check_operands(attention, operands, 2, error);
    return status ? status : rotary_attention_check_workspace(call->workspace, bytes, error);
}

rotary_status rotary_attention_reorder(const rotary_attention *attention,
                                       const rotary_attention_reorder_call *given, rotary_error *error)
{
    rotary_attention_reorder_call known = {0};
    rotary_status status =
        rotary_copy_sized(&known, sizeof known, given, "rotary_attention_reorder_call", error);
    if (!status)
        status = rotary_attention_share_written_keys(attention, "value_cache", known.key_cache,
                                                     &known.value_cache, error);
    if (!status)
        status = rotary_attention_check_reorder(
            attention, &known, rotary_attention_reorder_bytes(attention, known.batch), error);
    if (status)
        return status;
    struct reorder reorder = {.attention = attention, .call = &known};
    struct rotary_arena arena =
        rotary_arena_over(known.workspace, rotary_attention_reorder_bytes(attention, known.batch));
    int64_t rows = 0;
    for (int64_t sequence = 0; sequence < known.batch; sequence++)
        if (known.source[sequence] != sequence)
            rows = max_i64(rows, rows_of(&known, known.source[sequence]));
    carve(&reorder, known.batch, &arena);
    reorder.row_blocks = divide_up(rows, ROWS_PER_WORK_ITEM);
    rotary_parallel_for(attention->threads,
                        rotary_attention_caches(attention) * attention->key_value_heads * reorder.row_blocks,
                        reorder_rows, &reorder);
    return ROTARY_OK;
}
