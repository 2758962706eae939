/* SPDX-License-Identifier: Apache-2.0
 *
 * Backward: queries and keys are cut into pieces, and every piece of queries meets every piece of keys it
 * sees.
 *
 * Where one piece of each holds a whole head, its sums live in the worker's scratch. Longer sequences take a
 * band of key pieces at a time and go through it in rounds: in round r, piece k of the band meets piece (k +
 * r) mod Q of the Q query pieces, so that no two pieces of work in a round add to the same sums, and the
 * order in which sums are added depends on the shape alone.
 */
#include "attention/packed_sequences.h"

#include "base/fail.h"
#include "base/sized.h"
#include "base/threads.h"

#include <string.h>

/* Queries, over all heads that share keys, and keys in a piece; pieces of work wanted in a round. */
enum { WORK_ITEM_ROWS = 1024, TARGET_WORK_ITEMS = 64, ROW_MULTIPLE = 32 };

struct backward {
    const rotary_attention *attention;
    rotary_attention_problem problem;
    int64_t queries; /* of the sequence; problem.queries is all, which log_sum_exp is laid out by */
    int64_t block_queries, block_keys;
    int64_t query_blocks, key_blocks;
    int64_t band; /* key pieces at a time */
    int64_t band_begin, round;
    int64_t query_floats, key_floats; /* in the sums of a piece */
    float *query_sums;                /* [sequence and key-value head, query piece], or one for each worker */
    float *key_sums, *value_sums;     /* [sequence and key-value head, band], likewise */
    unsigned char *scratch;
    size_t scratch_bytes; /* of a worker */
};

/* Cuts `count` rows into even pieces of at most about `rows`. */
static void cut(int64_t count, int64_t rows, int64_t *block_rows, int64_t *blocks)
{
    *blocks = count > 0 ? (count + rows - 1) / rows : 1;
    *block_rows = rotary_attention_round((count + *blocks - 1) / *blocks, ROW_MULTIPLE);
    *blocks = *block_rows > 0 ? (count + *block_rows - 1) / *block_rows : 1;
}

static void carve(struct backward *backward, struct attention_shape_tables *tables,
                  rotary_attention_shape shape, struct rotary_arena *arena)
{
    const rotary_attention *attention = backward->attention;
    int64_t group = attention->heads / attention->key_value_heads,
            sequence_heads = shape.batch * attention->key_value_heads;
    int64_t width = rotary_attention_row(attention->head_dim);
    cut(shape.queries, (WORK_ITEM_ROWS + group - 1) / group, &backward->block_queries,
        &backward->query_blocks);
    cut(shape.keys, WORK_ITEM_ROWS, &backward->block_keys, &backward->key_blocks);
    backward->band = (TARGET_WORK_ITEMS + sequence_heads - 1) / (sequence_heads > 0 ? sequence_heads : 1);
    if (backward->band > backward->key_blocks)
        backward->band = backward->key_blocks;
    if (backward->band > backward->query_blocks)
        backward->band = backward->query_blocks;
    backward->query_floats =
        group * rotary_attention_round(backward->block_queries, ROTARY_ATTENTION_ROUND) * width;
    backward->key_floats = rotary_attention_round(backward->block_keys, ROTARY_ATTENTION_ROUND) * width;
    bool single_block = backward->query_blocks == 1 && backward->key_blocks == 1;
    int64_t query_sums = single_block ? attention->threads : sequence_heads * backward->query_blocks;
    int64_t key_sums = single_block ? attention->threads : sequence_heads * backward->band;
    backward->scratch_bytes =
        rotary_align(attention->kernels->backward_bytes(&backward->problem, backward->block_queries));
    rotary_attention_carve_shape_tables(attention, tables, shape, arena);
    backward->query_sums =
        rotary_arena_push(arena, query_sums, (size_t)backward->query_floats * sizeof(float));
    backward->key_sums = rotary_arena_push(arena, key_sums, (size_t)backward->key_floats * sizeof(float));
    backward->value_sums = rotary_arena_push(arena, key_sums, (size_t)backward->key_floats * sizeof(float));
    backward->scratch = rotary_arena_push(arena, attention->threads, backward->scratch_bytes);
}

size_t rotary_attention_backward_bytes(const rotary_attention *attention, rotary_attention_shape shape)
{
    struct backward backward = {.attention = attention, .problem = rotary_attention_problem_of(attention)};
    struct attention_shape_tables tables;
    struct rotary_arena arena = {0};
    if (rotary_attention_check_shape(shape, NULL))
        return 0;
    carve(&backward, &tables, shape, &arena);
    return arena.used;
}

size_t rotary_attention_packed_sequences_backward_bytes(const rotary_attention *attention,
                                                        rotary_attention_shape shape,
                                                        const rotary_attention_packed_sequences *packing)
{
    return rotary_attention_packed_sequences_bytes(attention, shape, packing,
                                                   rotary_attention_backward_bytes);
}

static rotary_attention_work work_item(const struct backward *backward, int64_t sequence_head,
                                       int64_t query_block, int64_t key_block)
{
    const rotary_attention_problem *problem = &backward->problem;
    rotary_attention_work work = {
        .sequence = sequence_head / problem->key_value_heads,
        .key_value_head = sequence_head % problem->key_value_heads,
        .query_begin = query_block * backward->block_queries,
        .query_end = (query_block + 1) * backward->block_queries,
        .key_begin = key_block * backward->block_keys,
        .key_end = (key_block + 1) * backward->block_keys,
    };
    if (work.query_end > backward->queries)
        work.query_end = backward->queries;
    if (work.key_end > problem->keys)
        work.key_end = problem->keys;
    return work;
}

static rotary_attention_sums sums_of(const struct backward *backward, int64_t query_index, int64_t key_index)
{
    return (rotary_attention_sums){
        .query = backward->query_sums + query_index * backward->query_floats,
        .key = backward->key_sums + key_index * backward->key_floats,
        .value = backward->value_sums + key_index * backward->key_floats,
    };
}

static void backward_block_pair(const struct backward *backward, const rotary_attention_work *work,
                                const rotary_attention_sums *sums, int worker)
{
    backward->attention->kernels->backward(&backward->problem, work, sums,
                                           backward->scratch + (size_t)worker * backward->scratch_bytes);
}

static void clear(float *sums, int64_t floats)
{
    memset(sums, 0, (size_t)floats * sizeof *sums);
}

/* A whole head, in the worker's own memory. */
static void backward_head(void *argument, int64_t index, int worker)
{
    const struct backward *backward = argument;
    const struct rotary_attention_kernels *kernels = backward->attention->kernels;
    rotary_attention_work work = work_item(backward, index, 0, 0);
    rotary_attention_sums sums = sums_of(backward, worker, worker);
    clear(sums.query, backward->query_floats);
    clear(sums.key, backward->key_floats);
    clear(sums.value, backward->key_floats);
    if (work.query_end > 0 && work.key_end > 0)
        backward_block_pair(backward, &work, &sums, worker);
    kernels->finish_queries(&backward->problem, &work, &sums);
    kernels->finish_keys(&backward->problem, &work, &sums);
}

static void clear_queries(void *argument, int64_t index, int worker)
{
    (void)worker;
    const struct backward *backward = argument;
    clear(sums_of(backward, index, 0).query, backward->query_floats);
}

static void clear_keys(void *argument, int64_t index, int worker)
{
    (void)worker;
    const struct backward *backward = argument;
    clear(sums_of(backward, 0, index).key, backward->key_floats);
    clear(sums_of(backward, 0, index).value, backward->key_floats);
}

static void backward_round_item(void *argument, int64_t index, int worker)
{
    const struct backward *backward = argument;
    int64_t sequence_head = index / backward->band, key_block = backward->band_begin + index % backward->band;
    int64_t query_block = (key_block + backward->round) % backward->query_blocks;
    if (key_block >= backward->key_blocks)
        return;
    rotary_attention_work work = work_item(backward, sequence_head, query_block, key_block);
    rotary_attention_sums sums =
        sums_of(backward, sequence_head * backward->query_blocks + query_block, index);
    backward_block_pair(backward, &work, &sums, worker);
}

static void finish_queries(void *argument, int64_t index, int worker)
{
    (void)worker;
    const struct backward *backward = argument;
    rotary_attention_work work =
        work_item(backward, index / backward->query_blocks, index % backward->query_blocks, 0);
    rotary_attention_sums sums = sums_of(backward, index, 0);
    backward->attention->kernels->finish_queries(&backward->problem, &work, &sums);
}

static void finish_keys(void *argument, int64_t index, int worker)
{
    (void)worker;
    const struct backward *backward = argument;
    int64_t key_block = backward->band_begin + index % backward->band;
    if (key_block >= backward->key_blocks)
        return;
    rotary_attention_work work = work_item(backward, index / backward->band, 0, key_block);
    rotary_attention_sums sums = sums_of(backward, 0, index);
    backward->attention->kernels->finish_keys(&backward->problem, &work, &sums);
}

static void run_blocks(struct backward *backward, int64_t sequence_heads)
{
    int threads = backward->attention->threads;
    if (backward->query_blocks == 1 && backward->key_blocks == 1) {
        rotary_parallel_for(threads, sequence_heads, backward_head, backward);
        return;
    }
    rotary_parallel_for(threads, sequence_heads * backward->query_blocks, clear_queries, backward);
    for (int64_t begin = 0; begin < backward->key_blocks; begin += backward->band) {
        backward->band_begin = begin;
        rotary_parallel_for(threads, sequence_heads * backward->band, clear_keys, backward);
        for (int64_t round = 0; round < backward->query_blocks; round++) {
            backward->round = round;
            rotary_parallel_for(threads, sequence_heads * backward->band, backward_round_item, backward);
        }
        rotary_parallel_for(threads, sequence_heads * backward->band, finish_keys, backward);
    }
    rotary_parallel_for(threads, sequence_heads * backward->query_blocks, finish_queries, backward);
}

static rotary_status check(const rotary_attention *attention, const rotary_attention_backward_call *call,
                           rotary_error *error)
{
    rotary_attention_shape shape = call->shape;
    rotary_status status = rotary_attention_check_shape(shape, error);
    if (status)
        return status;
    int64_t batch = shape.batch, queries = shape.queries, keys = shape.keys, heads = attention->heads,
            key_value_heads = attention->key_value_heads;
    const struct attention_operand operands[] = {
        {"query", call->query, batch, queries, heads, false},
        {"key", call->key, batch, keys, key_value_heads, false},
        {"value", call->value, batch, keys, key_value_heads, false},
        {"output", call->output, batch, queries, heads, false},
        {"output_gradient", call->output_gradient, batch, queries, heads, false},
        {"query_gradient", rotary_attention_as_const(call->query_gradient), batch, queries, heads, true},
        {"key_gradient", rotary_attention_as_const(call->key_gradient), batch, keys, key_value_heads, true},
        {"value_gradient", rotary_attention_as_const(call->value_gradient), batch, keys, key_value_heads,
         true},
    };
    status = rotary_attention_check_operands(attention, operands, 8, error);
    if (!status)
        status = rotary_attention_check_bias(attention, &call->bias, shape, error);
    if (!status)
        status = rotary_attention_check_packing(shape, &call->packed_sequences, error);
    if (status)
        return status;
    if (!call->log_sum_exp && batch > 0 && queries > 0)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "log_sum_exp is missing; wanted what the forward pass wrote, [%lld, %lld, %lld]",
                           (long long)batch, (long long)heads, (long long)queries);
    return rotary_attention_check_workspace(
        call->workspace,
        rotary_attention_packed_sequences_backward_bytes(attention, shape, &call->packed_sequences), error);
}

static void run(const rotary_attention *attention, const void *argument,
                const struct attention_sequence *sequence, void *workspace)
{
    const rotary_attention_backward_call *call = argument;
    rotary_attention_shape shape = sequence->shape;
    int64_t query = sequence->query, key = sequence->key;
    if (shape.batch == 0)
        return;
    struct backward backward = {.attention = attention, .problem = rotary_attention_problem_of(attention)};
    struct attention_shape_tables tables;
    struct rotary_arena arena = rotary_arena_over(workspace);
    carve(&backward, &tables, shape, &arena);
    rotary_attention_problem *problem = &backward.problem;
    problem->query = rotary_attention_skip(attention, call->query, query);
    problem->key = rotary_attention_skip(attention, call->key, key);
    problem->value = rotary_attention_skip(attention, call->value, key);
    problem->saved_output = rotary_attention_skip(attention, call->output, query);
    problem->output_gradient = rotary_attention_skip(attention, call->output_gradient, query);
    problem->saved_log_sum_exp = call->log_sum_exp ? call->log_sum_exp + query : NULL;
    problem->query_gradient = rotary_attention_skip_written(attention, call->query_gradient, query);
    problem->key_gradient = rotary_attention_skip_written(attention, call->key_gradient, key);
    problem->value_gradient = rotary_attention_skip_written(attention, call->value_gradient, key);
    problem->bias = rotary_attention_skip_bias(call->bias, sequence);
    rotary_attention_use_tables(attention, &tables, shape, problem);
    backward.queries = shape.queries;
    problem->queries = call->shape.queries;
    run_blocks(&backward, shape.batch * attention->key_value_heads);
}

rotary_status rotary_attention_backward(const rotary_attention *attention,
                                        const rotary_attention_backward_call *given, rotary_error *error)
{
    rotary_attention_backward_call known = {0}, *call = &known;
    rotary_status status =
        rotary_take_sized(&known, sizeof known, given, "rotary_attention_backward_call", error);
    if (status)
        return status;
    status = check(attention, call, error);
    if (status)
        return status;
    rotary_attention_run_packed_sequences(attention, call->shape, &call->packing,
                                          rotary_attention_backward_bytes, run, call, call->workspace);
    return ROTARY_OK;
}
