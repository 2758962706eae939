/* SPDX-License-Identifier: Apache-2.0
 *
 * Forward: queries are cut into pieces, each of which meets all the keys it sees. Where few heads are cut
 * into many pieces, keys and values are turned and packed once for all of them; else each piece packs for
 * itself, into memory that stays in its processor's cache.
 */
#include "attention/packed_sequences.h"

#include "base/sized.h"
#include "base/threads.h"

/* Rows of queries in a piece, over all heads that share keys: few enough to stay in a second-level cache,
 * fewer where there would not be enough pieces to go round. */
enum { WORK_ITEM_ROWS = 1024, MIN_WORK_ITEM_ROWS = 256, TARGET_WORK_ITEMS = 32, ROW_MULTIPLE = 32 };

struct forward {
    const rotary_attention *attention;
    rotary_attention_problem problem;
    int64_t queries; /* of the sequence; problem.queries is all, which log_sum_exp is laid out by */
    int64_t block_queries, query_blocks; /* queries in a piece, pieces of a sequence and key-value head */
    int64_t key_blocks;
    unsigned char *packed_keys; /* [sequence and key-value head, key block] */
    size_t packed_keys_bytes;   /* of a block; 0: pieces pack for themselves */
    unsigned char *scratch;
    size_t scratch_bytes; /* of a worker */
};

static int64_t query_blocks_of(const rotary_attention *attention, rotary_attention_shape shape)
{
    int64_t all_rows = shape.queries * (attention->heads / attention->key_value_heads);
    int64_t rows = WORK_ITEM_ROWS, sequence_heads = shape.batch * attention->key_value_heads;
    while (rows > MIN_WORK_ITEM_ROWS && sequence_heads * ((all_rows + rows - 1) / rows) < TARGET_WORK_ITEMS)
        rows /= 2;
    return (all_rows + rows - 1) / rows;
}

static void carve(struct forward *forward, struct attention_shape_tables *tables,
                  rotary_attention_shape shape, struct rotary_arena *arena)
{
    const rotary_attention *attention = forward->attention;
    forward->query_blocks = query_blocks_of(attention, shape);
    if (forward->query_blocks > 0) {
        int64_t queries = (shape.queries + forward->query_blocks - 1) / forward->query_blocks;
        forward->block_queries = rotary_attention_round(queries, ROW_MULTIPLE);
        forward->query_blocks = (shape.queries + forward->block_queries - 1) / forward->block_queries;
    }
    int64_t sequence_heads = shape.batch * attention->key_value_heads,
            key_block = attention->kernels->key_block;
    forward->key_blocks = (shape.keys + key_block - 1) / key_block;
    if (forward->query_blocks > 1 && sequence_heads < TARGET_WORK_ITEMS)
        forward->packed_keys_bytes = attention->kernels->packed_keys_bytes(&forward->problem);
    forward->packed_keys =
        rotary_arena_push(arena, sequence_heads * forward->key_blocks, forward->packed_keys_bytes);
    forward->scratch_bytes =
        rotary_align(attention->kernels->forward_bytes(&forward->problem, forward->block_queries));
    rotary_attention_carve_shape_tables(attention, tables, shape, arena);
    forward->scratch = rotary_arena_push(arena, attention->threads, forward->scratch_bytes);
}

size_t rotary_attention_forward_bytes(const rotary_attention *attention, rotary_attention_shape shape)
{
    struct forward forward = {.attention = attention, .problem = rotary_attention_problem_of(attention)};
    struct attention_shape_tables tables;
    struct rotary_arena arena = {0};
    if (rotary_attention_check_shape(shape, NULL))
        return 0;
    carve(&forward, &tables, shape, &arena);
    return arena.used;
}

size_t rotary_attention_packed_sequences_forward_bytes(const rotary_attention *attention,
                                                       rotary_attention_shape shape,
                                                       const rotary_attention_packed_sequences *packing)
{
    return rotary_attention_packed_sequences_bytes(attention, shape, packing, rotary_attention_forward_bytes);
}

static void pack_key_block(void *argument, int64_t index, int worker)
{
    (void)worker;
    const struct forward *forward = argument;
    const rotary_attention_problem *problem = &forward->problem;
    const struct rotary_attention_kernels *kernels = forward->attention->kernels;
    int64_t sequence_head = index / forward->key_blocks, block = index % forward->key_blocks;
    rotary_attention_work work = {
        .sequence = sequence_head / problem->key_value_heads,
        .key_value_head = sequence_head % problem->key_value_heads,
        .key_begin = block * kernels->key_block,
        .key_end = (block + 1) * kernels->key_block,
    };
    if (work.key_end > problem->keys)
        work.key_end = problem->keys;
    kernels->pack_keys(problem, &work, forward->packed_keys + (size_t)index * forward->packed_keys_bytes);
}

static void forward_query_block(void *argument, int64_t index, int worker)
{
    const struct forward *forward = argument;
    const rotary_attention_problem *problem = &forward->problem;
    /* The last queries first: under a causal mask they see most, and long pieces should not be left to the
     * end. */
    int64_t sequence_head = index / forward->query_blocks,
            query_block = forward->query_blocks - 1 - index % forward->query_blocks;
    rotary_attention_work work = {
        .sequence = sequence_head / problem->key_value_heads,
        .key_value_head = sequence_head % problem->key_value_heads,
        .query_begin = query_block * forward->block_queries,
        .query_end = (query_block + 1) * forward->block_queries,
        .key_end = problem->keys,
    };
    if (work.query_end > forward->queries)
        work.query_end = forward->queries;
    size_t packed_keys = (size_t)(sequence_head * forward->key_blocks) * forward->packed_keys_bytes;
    forward->attention->kernels->forward(
        problem, &work, forward->packed_keys_bytes ? forward->packed_keys + packed_keys : NULL,
        forward->scratch + (size_t)worker * forward->scratch_bytes);
}

static rotary_status check(const rotary_attention *attention, const rotary_attention_forward_call *call,
                           rotary_error *error)
{
    rotary_attention_shape shape = call->shape;
    rotary_status status = rotary_attention_check_shape(shape, error);
    if (status)
        return status;
    int64_t heads = attention->heads, key_value_heads = attention->key_value_heads;
    const struct attention_operand operands[] = {
        {"query", call->query, shape.batch, shape.queries, heads, false},
        {"key", call->key, shape.batch, shape.keys, key_value_heads, false},
        {"value", call->value, shape.batch, shape.keys, key_value_heads, false},
        {"output", rotary_attention_as_const(call->output), shape.batch, shape.queries, heads, true},
    };
    status = rotary_attention_check_operands(attention, operands, 4, error);
    if (!status)
        status = rotary_attention_check_bias(attention, &call->bias, shape, error);
    if (!status)
        status = rotary_attention_check_packing(shape, &call->packed_sequences, error);
    if (status)
        return status;
    return rotary_attention_check_workspace(
        call->workspace,
        rotary_attention_packed_sequences_forward_bytes(attention, shape, &call->packed_sequences), error);
}

static void run(const rotary_attention *attention, const void *argument,
                const struct attention_sequence *sequence, void *workspace)
{
    const rotary_attention_forward_call *call = argument;
    rotary_attention_shape shape = sequence->shape;
    if (shape.batch == 0 || shape.queries == 0)
        return;
    /* Keys behind the last query may be what nobody has set. */
    int64_t visible_keys = shape.first_query + shape.queries - shape.first_key;
    if (attention->causal && shape.keys > visible_keys)
        shape.keys = visible_keys > 0 ? visible_keys : 0;
    struct forward forward = {.attention = attention, .problem = rotary_attention_problem_of(attention)};
    struct attention_shape_tables tables;
    struct rotary_arena arena = rotary_arena_over(workspace);
    carve(&forward, &tables, shape, &arena);
    rotary_attention_problem *problem = &forward.problem;
    problem->query = rotary_attention_skip(attention, call->query, sequence->query);
    problem->key = rotary_attention_skip(attention, call->key, sequence->key);
    problem->value = rotary_attention_skip(attention, call->value, sequence->key);
    problem->output = rotary_attention_skip_written(attention, call->output, sequence->query);
    problem->log_sum_exp = call->log_sum_exp ? call->log_sum_exp + sequence->query : NULL;
    problem->bias = rotary_attention_skip_bias(call->bias, sequence);
    rotary_attention_use_tables(attention, &tables, shape, problem);
    forward.queries = shape.queries;
    problem->queries = call->shape.queries;
    int64_t sequence_heads = shape.batch * attention->key_value_heads;
    if (forward.packed_keys_bytes)
        rotary_parallel_for(attention->threads, sequence_heads * forward.key_blocks, pack_key_block,
                            &forward);
    rotary_parallel_for(attention->threads, sequence_heads * forward.query_blocks, forward_query_block,
                        &forward);
}

rotary_status rotary_attention_forward(const rotary_attention *attention,
                                       const rotary_attention_forward_call *given, rotary_error *error)
{
    rotary_attention_forward_call known = {0}, *call = &known;
    rotary_status status =
        rotary_take_sized(&known, sizeof known, given, "rotary_attention_forward_call", error);
    if (status)
        return status;
    status = check(attention, call, error);
    if (status)
        return status;
    rotary_attention_run_packed_sequences(attention, call->shape, &call->packing,
                                          rotary_attention_forward_bytes, run, call, call->workspace);
    return ROTARY_OK;
}
