/* SPDX-License-Identifier: Apache-2.0
 *
 * Forward: a work item is a block of queries with all the keys that it sees. Where few heads have many blocks
 * of queries, keys and values are rotated and packed once for all blocks. Otherwise each work item packs them
 * itself, into memory that stays in its processor's cache.
 */
#include "attention/attention_pass.h"

#include "base/sized.h"
#include "base/threads.h"
#include "kernel/attention/visibility.h"

/* Rows of queries of a work item, over all heads that share keys: few enough to stay in a second-level cache,
 * fewer where there would not be enough work items. */
enum { WORK_ITEM_ROWS = 1024, MIN_WORK_ITEM_ROWS = 256, TARGET_WORK_ITEMS = 32, ROW_MULTIPLE = 32 };

struct forward {
    struct attention_pass pass;
    int64_t block_queries, query_blocks; /* queries in a block, blocks of a head */
    int64_t key_blocks;
    unsigned char *packed_keys; /* [heads of the pass, key blocks] */
    size_t packed_keys_bytes;   /* of a block; 0: each work item packs the keys itself */
};

static int64_t query_blocks_of(const rotary_attention *attention, rotary_attention_shape shape)
{
    int64_t all_rows = shape.queries * rotary_attention_group(attention);
    int64_t rows = WORK_ITEM_ROWS, heads = shape.batch * attention->key_value_heads;
    while (rows > MIN_WORK_ITEM_ROWS && heads * divide_up(all_rows, rows) < TARGET_WORK_ITEMS)
        rows /= 2;
    return divide_up(all_rows, rows);
}

static void carve(struct forward *forward, rotary_attention_shape shape,
                  const struct attention_positions *positions, struct rotary_arena *arena)
{
    const rotary_attention *attention = forward->pass.attention;
    const struct rotary_attention_kernels *kernels = attention->kernels;
    forward->query_blocks = query_blocks_of(attention, shape);
    if (forward->query_blocks > 0) {
        int64_t queries = (shape.queries + forward->query_blocks - 1) / forward->query_blocks;
        forward->block_queries = round_up(queries, ROW_MULTIPLE);
        forward->query_blocks = (shape.queries + forward->block_queries - 1) / forward->block_queries;
    }
    int64_t heads = shape.batch * attention->key_value_heads;
    forward->key_blocks = (shape.keys + kernels->key_block - 1) / kernels->key_block;
    if (forward->query_blocks > 1 && heads < TARGET_WORK_ITEMS)
        forward->packed_keys_bytes = kernels->packed_keys_bytes(&forward->pass.problem);
    forward->packed_keys = rotary_arena_push(arena, heads * forward->key_blocks, forward->packed_keys_bytes);
    rotary_attention_carve_pass(&forward->pass, shape, positions,
                                kernels->forward_bytes(&forward->pass.problem, forward->block_queries),
                                arena);
}

static size_t bytes_of(const rotary_attention *attention, const struct attention_call *call,
                       rotary_attention_shape shape)
{
    const struct attention_sequence sequence = {.shape = shape};
    struct attention_positions positions = rotary_attention_positions_of(call, &sequence);
    struct forward forward = {.pass = rotary_attention_pass_of(attention, call)};
    struct rotary_arena arena = {0};
    carve(&forward, shape, &positions, &arena);
    return arena.used;
}

/* Answers as bytes_of, but with enough for fewer sequences, queries and keys too. Those may be cut into more
 * items that share packed keys, and into larger blocks. */
static size_t largest_bytes(const rotary_attention *attention, const struct attention_call *call,
                            rotary_attention_shape shape)
{
    const struct attention_sequence sequence = {.shape = shape};
    const struct rotary_attention_kernels *kernels = attention->kernels;
    struct attention_positions positions = rotary_attention_positions_of(call, &sequence);
    struct attention_pass pass = rotary_attention_pass_of(attention, call);
    struct rotary_arena arena = {0};
    int64_t group = rotary_attention_group(attention);
    int64_t heads = min_i64(shape.batch * attention->key_value_heads, TARGET_WORK_ITEMS - 1);
    if (shape.queries * group > MIN_WORK_ITEM_ROWS)
        rotary_arena_push(&arena, heads * divide_up(shape.keys, kernels->key_block),
                          kernels->packed_keys_bytes(&pass.problem));
    int64_t queries = round_up(min_i64(shape.queries, divide_up(WORK_ITEM_ROWS, group)), ROW_MULTIPLE);
    rotary_attention_carve_pass(&pass, shape, &positions, kernels->forward_bytes(&pass.problem, queries),
                                &arena);
    return arena.used;
}

size_t rotary_attention_forward_bytes(const rotary_attention *attention, rotary_attention_shape shape)
{
    const struct attention_call call = {.shape = shape, .bytes = largest_bytes};
    return rotary_attention_workspace_bytes(attention, &call);
}

size_t
rotary_attention_packed_sequences_forward_bytes(const rotary_attention *attention,
                                                rotary_attention_shape shape,
                                                const rotary_attention_packed_sequences *packed_sequences)
{
    const struct attention_call call = {
        .shape = shape, .packed_sequences = *packed_sequences, .bytes = largest_bytes};
    return rotary_attention_workspace_bytes(attention, &call);
}

static void pack_key_block(void *argument, int64_t index, int worker)
{
    (void)worker;
    const struct forward *forward = argument;
    const struct rotary_attention_kernels *kernels = forward->pass.attention->kernels;
    int64_t head = index / forward->key_blocks, block = index % forward->key_blocks;
    rotary_attention_problem own;
    const rotary_attention_problem *problem =
        rotary_attention_problem_at(&forward->pass, head / forward->pass.problem.key_value_heads, &own);
    rotary_attention_work work = {
        .sequence = head / problem->key_value_heads,
        .key_value_head = head % problem->key_value_heads,
        .key_begin = block * kernels->key_block,
        .key_end = (block + 1) * kernels->key_block,
    };
    if (work.key_end > problem->keys)
        work.key_end = problem->keys;
    if (work.key_begin < work.key_end)
        kernels->pack_keys(problem, &work, forward->packed_keys + (size_t)index * forward->packed_keys_bytes);
}

static void forward_query_block(void *argument, int64_t index, int worker)
{
    const struct forward *forward = argument;
    /* The last queries first: under a causal mask they see the most keys, and long work items should not be
     * left to the end. */
    int64_t head = index / forward->query_blocks;
    int64_t block = forward->query_blocks - 1 - index % forward->query_blocks;
    rotary_attention_problem own;
    const rotary_attention_problem *problem =
        rotary_attention_problem_at(&forward->pass, head / forward->pass.problem.key_value_heads, &own);
    rotary_attention_work work = {
        .sequence = head / problem->key_value_heads,
        .key_value_head = head % problem->key_value_heads,
        .query_begin = block * forward->block_queries,
        .query_end = (block + 1) * forward->block_queries,
        .key_end = problem->keys,
    };
    if (work.query_end > forward->pass.queries)
        work.query_end = forward->pass.queries;
    size_t packed_keys = (size_t)(head * forward->key_blocks) * forward->packed_keys_bytes;
    struct rotary_arena scratch = rotary_attention_scratch_of(&forward->pass.scratch, worker);
    forward->pass.attention->kernels->forward(
        problem, &work, forward->packed_keys_bytes ? forward->packed_keys + packed_keys : NULL, &scratch);
}

rotary_status rotary_attention_check_forward(const rotary_attention *attention,
                                             const struct attention_call *call, rotary_error *error)
{
    const rotary_attention_forward_call *given = call->given;
    rotary_attention_shape shape = call->shape;
    int64_t heads = attention->heads, key_value_heads = attention->key_value_heads;
    const struct attention_operand operands[] = {
        {"query", call->query, shape.batch, shape.queries, heads, false},
        {"key", call->key, shape.batch, shape.keys, key_value_heads, false},
        {"value", call->value, shape.batch, shape.keys, key_value_heads, false},
        {"output", rotary_attention_as_const(given->output), shape.batch, shape.queries, heads, true},
    };
    return rotary_attention_check_call(attention, call, operands, 4, error);
}

static void run(const rotary_attention *attention, const struct attention_call *call,
                const struct attention_sequence *sequence, struct rotary_arena *workspace)
{
    const rotary_attention_forward_call *given = call->given;
    rotary_attention_shape shape = sequence->shape;
    if (shape.batch == 0 || shape.queries == 0)
        return;
    struct forward forward = {.pass = rotary_attention_pass_of(attention, call)};
    rotary_attention_problem *problem = &forward.pass.problem;
    struct attention_positions positions = rotary_attention_positions_of(call, sequence);
    /* Keys that no query sees may be uninitialised. */
    problem->keys = shape.keys;
    problem->query_offset = shape.first_query - shape.first_key;
    shape.keys = end_key(problem, shape.queries - 1);
    carve(&forward, shape, &positions, workspace);
    rotary_attention_start_pass(&forward.pass, call, sequence, shape);
    problem->output = rotary_attention_skip_written(attention, given->output, sequence->query);
    problem->log_sum_exp = given->log_sum_exp ? given->log_sum_exp + sequence->query : NULL;
    int64_t heads = shape.batch * attention->key_value_heads;
    if (forward.packed_keys_bytes)
        rotary_parallel_for(attention->threads, heads * forward.key_blocks, pack_key_block, &forward);
    rotary_parallel_for(attention->threads, heads * forward.query_blocks, forward_query_block, &forward);
}

rotary_status rotary_attention_read_forward(const rotary_attention_forward_call *given,
                                            rotary_attention_forward_call *known, struct attention_call *call,
                                            rotary_error *error)
{
    rotary_status status =
        rotary_copy_sized(known, sizeof *known, given, "rotary_attention_forward_call", error);
    *call = (struct attention_call){
        .shape = known->shape,
        .query = known->query,
        .key = known->key,
        .value = known->value,
        .bias = known->bias,
        .distance_bias = known->distance_bias,
        .distance_keys = known->distance_keys,
        .query_bias = known->query_bias,
        .distance_queries = known->distance_queries,
        .distance_values = known->distance_values,
        .piecewise_bias = known->piecewise_bias,
        .dropout = known->dropout,
        .sinks = known->sinks,
        .packed_sequences = known->packed_sequences,
        .keys_rotated = known->keys_rotated,
        .key_lengths = known->key_lengths,
        .query_positions = known->query_positions,
        .key_positions = known->key_positions,
        .workspace = known->workspace,
        .bytes = bytes_of,
        .run = run,
        .given = known,
    };
    return status;
}

size_t rotary_attention_forward_call_bytes(const rotary_attention *attention,
                                           const rotary_attention_forward_call *given)
{
    rotary_attention_forward_call known = {0};
    struct attention_call call;
    if (rotary_attention_read_forward(given, &known, &call, NULL))
        return 0;
    call.bytes = largest_bytes;
    return rotary_attention_workspace_bytes(attention, &call);
}

rotary_status rotary_attention_forward(const rotary_attention *attention,
                                       const rotary_attention_forward_call *given, rotary_error *error)
{
    rotary_attention_forward_call known = {0};
    struct attention_call call;
    rotary_status status = rotary_attention_read_forward(given, &known, &call, error);
    if (!status)
        status = rotary_attention_share_keys(attention, "value", call.key, &call.value, error);
    if (status)
        return status;
    status = rotary_attention_check_forward(attention, &call, error);
    return status ? status : rotary_attention_run_call(attention, &call, error);
}
