/* SPDX-License-Identifier: Apache-2.0
 *
 * Backward: queries and keys are cut into blocks, and a work item is a block of queries with a block of keys
 * that they see.
 *
 * Where one block of each holds a full head, its sums are in the worker's scratch. Longer sequences take a
 * band of key blocks at a time, in rounds: in round r, key block k of the band is paired with query block
 * (k + r) mod Q of the Q query blocks. So no two work items of a round add to the same sums, and the order in
 * which sums are added depends on the shape alone.
 */
#include "attention/attention_pass.h"
#include "attention/distance_gradient.h"
#include "attention/piecewise_gradient.h"
#include "attention/vector_gradient.h"

#include "base/fail.h"
#include "base/sized.h"
#include "base/threads.h"

#include <string.h>

/* Rows in a block: queries, over all heads that share keys, or keys. TARGET_WORK_ITEMS is of a round. */
enum { WORK_ITEM_ROWS = 1024, TARGET_WORK_ITEMS = 64, ROW_MULTIPLE = 32 };

struct backward {
    struct attention_pass pass;
    int64_t block_queries, block_keys;
    int64_t query_blocks, key_blocks; /* of a head */
    int64_t band;                     /* key blocks at a time */
    int64_t band_begin, round;
    int64_t batch;
    int64_t query_floats, key_floats;        /* in the sums of a block */
    float *query_sums;                       /* [heads of the pass, query blocks], or one for each worker */
    float *key_sums, *value_sums;            /* [heads of the pass, band], likewise */
    struct distance_gradient distances;      /* items are [heads of the pass, band] */
    struct vector_gradient vectors[VECTORS]; /* likewise */
    struct query_bias_gradient query_bias;
    struct piecewise_gradient piecewise; /* items as those of distances */
    float *unrotated_sums;               /* as query_sums; NULL without distance_keys */
    float *unrotated_key_sums;           /* as key_sums; NULL without distance_queries */
};

/* Cuts `count` rows into even blocks of at most about `rows`. */
static void cut(int64_t count, int64_t rows, int64_t *block_rows, int64_t *blocks)
{
    *blocks = count > 0 ? divide_up(count, rows) : 1;
    *block_rows = round_up(divide_up(count, *blocks), ROW_MULTIPLE);
    *blocks = *block_rows > 0 ? divide_up(count, *block_rows) : 1;
}

static bool has_one_block(const struct backward *backward)
{
    return backward->query_blocks == 1 && backward->key_blocks == 1;
}

static void carve(struct backward *backward, const struct attention_call *call, rotary_attention_shape shape,
                  const struct attention_positions *positions, struct rotary_arena *arena)
{
    const rotary_attention *attention = backward->pass.attention;
    int64_t group = rotary_attention_group(attention), heads = shape.batch * attention->key_value_heads;
    int64_t width = rotary_attention_row(attention->head_dim);
    cut(shape.queries, divide_up(WORK_ITEM_ROWS, group), &backward->block_queries, &backward->query_blocks);
    cut(shape.keys, WORK_ITEM_ROWS, &backward->block_keys, &backward->key_blocks);
    backward->band = divide_up(TARGET_WORK_ITEMS, max_i64(heads, 1));
    backward->band = min_i64(backward->band, min_i64(backward->key_blocks, backward->query_blocks));
    backward->query_floats = group * round_up(backward->block_queries, ROTARY_ATTENTION_ROW_MULTIPLE) * width;
    backward->key_floats = round_up(backward->block_keys, ROTARY_ATTENTION_ROW_MULTIPLE) * width;
    int64_t query_sums = has_one_block(backward) ? attention->threads : heads * backward->query_blocks;
    int64_t key_sums = has_one_block(backward) ? attention->threads : heads * backward->band;
    backward->query_sums =
        rotary_arena_push(arena, query_sums, (size_t)backward->query_floats * sizeof(float));
    backward->key_sums = rotary_arena_push(arena, key_sums, (size_t)backward->key_floats * sizeof(float));
    backward->value_sums = rotary_arena_push(arena, key_sums, (size_t)backward->key_floats * sizeof(float));
    if (call->distance_keys.data)
        backward->unrotated_sums =
            rotary_arena_push(arena, query_sums, (size_t)backward->query_floats * sizeof(float));
    if (call->distance_queries.data)
        backward->unrotated_key_sums =
            rotary_arena_push(arena, key_sums, (size_t)backward->key_floats * sizeof(float));
    rotary_attention_carve_pass(
        &backward->pass, shape, positions,
        attention->kernels->backward_bytes(&backward->pass.problem, backward->block_queries), arena);
    if (call->distance_gradient)
        rotary_attention_carve_distance_gradient(attention, &backward->distances, heads * backward->band,
                                                 backward->block_queries, backward->block_keys, arena);
    for (int i = 0; i < VECTORS; i++)
        rotary_attention_carve_vector_gradient(attention, &backward->vectors[i], heads * backward->band,
                                               backward->block_queries, backward->block_keys, arena);
    if (call->query_bias_gradient)
        rotary_attention_carve_query_bias(attention, &backward->query_bias, heads * backward->query_blocks,
                                          arena);
    if (call->piecewise_gradient)
        rotary_attention_carve_piecewise_gradient(attention, &backward->piecewise, heads * backward->band,
                                                  backward->block_queries, backward->block_keys, arena);
}

static struct backward backward_of(const rotary_attention *attention, const struct attention_call *call)
{
    struct backward backward = {.pass = rotary_attention_pass_of(attention, call),
                                .piecewise = {.bias = &call->piecewise_bias}};
    for (int i = 0; i < VECTORS; i++)
        backward.vectors[i].table = backward.pass.vectors[i].table;
    return backward;
}

static size_t bytes_of(const rotary_attention *attention, const struct attention_call *call,
                       rotary_attention_shape shape)
{
    const struct attention_sequence sequence = {.shape = shape};
    struct attention_positions positions = rotary_attention_positions_of(call, &sequence);
    struct backward backward = backward_of(attention, call);
    struct rotary_arena arena = {0};
    carve(&backward, call, shape, &positions, &arena);
    return arena.used;
}

static size_t floats_bytes(int64_t count, int64_t floats)
{
    struct rotary_arena arena = {0};
    rotary_arena_push(&arena, count, (size_t)floats * sizeof(float));
    return arena.used;
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* Upper bounds of carve's numbers for all calls of at most this shape. */
struct largest {
    int64_t query_blocks, key_blocks, block_queries, block_keys;
    int64_t items; /* heads of the pass times band, which is larger for fewer heads */
};

static struct largest largest_of(const rotary_attention *attention, rotary_attention_shape shape)
{
    int64_t max_queries = divide_up(WORK_ITEM_ROWS, rotary_attention_group(attention)),
            heads = shape.batch * attention->key_value_heads;
    struct largest largest = {
        .query_blocks = max_i64(divide_up(shape.queries, max_queries), 1),
        .key_blocks = max_i64(divide_up(shape.keys, WORK_ITEM_ROWS), 1),
        .block_queries = round_up(min_i64(shape.queries, max_queries), ROW_MULTIPLE),
        .block_keys = round_up(min_i64(shape.keys, WORK_ITEM_ROWS), ROW_MULTIPLE),
    };
    largest.items =
        min_i64(heads + TARGET_WORK_ITEMS - 1, heads * min_i64(largest.query_blocks, largest.key_blocks));
    return largest;
}

/* Answers as bytes_of, but with enough for fewer sequences, queries and keys too. */
static size_t largest_bytes(const rotary_attention *attention, const struct attention_call *call,
                            rotary_attention_shape shape)
{
    const struct attention_sequence sequence = {.shape = shape};
    struct attention_positions positions = rotary_attention_positions_of(call, &sequence);
    struct attention_pass pass = rotary_attention_pass_of(attention, call);
    struct distance_gradient distances;
    struct rotary_arena arena = {0};
    const struct largest largest = largest_of(attention, shape);
    int64_t group = rotary_attention_group(attention), width = rotary_attention_row(attention->head_dim),
            heads = shape.batch * attention->key_value_heads,
            query_floats = group * round_up(largest.block_queries, ROTARY_ATTENTION_ROW_MULTIPLE) * width,
            key_floats = round_up(largest.block_keys, ROTARY_ATTENTION_ROW_MULTIPLE) * width;
    size_t query_sums = floats_bytes(attention->threads, query_floats),
           key_sums = floats_bytes(attention->threads, key_floats);
    if (largest.query_blocks > 1 || largest.key_blocks > 1) {
        query_sums = larger(query_sums, floats_bytes(heads * largest.query_blocks, query_floats));
        key_sums = larger(key_sums, floats_bytes(largest.items, key_floats));
    }
    rotary_arena_push(&arena, 1, query_sums);
    rotary_arena_push(&arena, 2, key_sums);
    if (call->distance_keys.data)
        rotary_arena_push(&arena, 1, query_sums);
    if (call->distance_queries.data)
        rotary_arena_push(&arena, 1, key_sums);
    rotary_attention_carve_pass(&pass, shape, &positions,
                                attention->kernels->backward_bytes(&pass.problem, largest.block_queries),
                                &arena);
    if (call->distance_gradient)
        rotary_attention_carve_distance_gradient(attention, &distances, largest.items, largest.block_queries,
                                                 largest.block_keys, &arena);
    struct backward backward = backward_of(attention, call);
    for (int i = 0; i < VECTORS; i++)
        rotary_attention_carve_vector_gradient(attention, &backward.vectors[i], largest.items,
                                               largest.block_queries, largest.block_keys, &arena);
    struct query_bias_gradient query_bias;
    if (call->query_bias_gradient)
        rotary_attention_carve_query_bias(attention, &query_bias, heads * largest.query_blocks, &arena);
    struct piecewise_gradient piecewise = {.bias = &call->piecewise_bias};
    if (call->piecewise_gradient)
        rotary_attention_carve_piecewise_gradient(attention, &piecewise, largest.items, largest.block_queries,
                                                  largest.block_keys, &arena);
    return arena.used;
}

size_t rotary_attention_backward_bytes(const rotary_attention *attention, rotary_attention_shape shape)
{
    const struct attention_call call = {.shape = shape, .bytes = largest_bytes};
    return rotary_attention_workspace_bytes(attention, &call);
}

size_t
rotary_attention_packed_sequences_backward_bytes(const rotary_attention *attention,
                                                 rotary_attention_shape shape,
                                                 const rotary_attention_packed_sequences *packed_sequences)
{
    const struct attention_call call = {
        .shape = shape, .packed_sequences = *packed_sequences, .bytes = largest_bytes};
    return rotary_attention_workspace_bytes(attention, &call);
}

static rotary_attention_work work_item(const struct backward *backward, int64_t head, int64_t query_block,
                                       int64_t key_block)
{
    const rotary_attention_problem *problem = &backward->pass.problem;
    rotary_attention_work work = {
        .sequence = head / problem->key_value_heads,
        .key_value_head = head % problem->key_value_heads,
        .query_begin = query_block * backward->block_queries,
        .query_end = (query_block + 1) * backward->block_queries,
        .key_begin = key_block * backward->block_keys,
        .key_end = (key_block + 1) * backward->block_keys,
    };
    if (work.query_end > backward->pass.queries)
        work.query_end = backward->pass.queries;
    if (work.key_end > problem->keys)
        work.key_end = problem->keys;
    return work;
}

static rotary_attention_sums sums_of(const struct backward *backward, int64_t query_index, int64_t key_index)
{
    rotary_attention_sums sums = {
        .query = backward->query_sums + query_index * backward->query_floats,
        .key = backward->key_sums + key_index * backward->key_floats,
        .value = backward->value_sums + key_index * backward->key_floats,
    };
    if (backward->unrotated_sums)
        sums.unrotated_query = backward->unrotated_sums + query_index * backward->query_floats;
    if (backward->unrotated_key_sums)
        sums.unrotated_key = backward->unrotated_key_sums + key_index * backward->key_floats;
    return sums;
}

/* Adds the sums of score terms of a work item, set to zero. */
static void use_term_sums(const struct backward *backward, int64_t item, rotary_attention_sums *sums)
{
    sums->distance_bias = rotary_attention_start_item(&backward->distances.items, item);
    sums->distance_keys = rotary_attention_start_item(&backward->vectors[OF_KEYS].items, item);
    sums->distance_queries = rotary_attention_start_item(&backward->vectors[OF_QUERIES].items, item);
    sums->distance_values = rotary_attention_start_item(&backward->vectors[OF_VALUES].items, item);
    sums->piecewise_bias = rotary_attention_start_item(&backward->piecewise.items, item);
    sums->score_terms =
        sums->distance_bias || sums->piecewise_bias || sums->unrotated_query || sums->unrotated_key;
}

static void add_gradients(const struct backward *backward, const rotary_attention_work *work,
                          const rotary_attention_sums *sums, int worker)
{
    rotary_attention_problem own;
    struct rotary_arena scratch = rotary_attention_scratch_of(&backward->pass.scratch, worker);
    backward->pass.attention->kernels->backward(
        rotary_attention_problem_at(&backward->pass, work->sequence, &own), work, sums, &scratch);
}

/* Write the gradients of a work item's queries, or keys, from complete sums. `index` counts heads of the pass
 * and their blocks of queries. */
static void write_queries(const struct backward *backward, const rotary_attention_work *work,
                          const rotary_attention_sums *sums, int64_t index)
{
    rotary_attention_problem own;
    backward->pass.attention->kernels->finish_queries(
        rotary_attention_problem_at(&backward->pass, work->sequence, &own), work, sums);
    rotary_attention_add_up_queries(backward->pass.attention, &backward->query_bias, sums->unrotated_query,
                                    work, index);
}

static void write_keys(const struct backward *backward, const rotary_attention_work *work,
                       const rotary_attention_sums *sums)
{
    rotary_attention_problem own;
    backward->pass.attention->kernels->finish_keys(
        rotary_attention_problem_at(&backward->pass, work->sequence, &own), work, sums);
}

static void clear(float *sums, int64_t floats)
{
    memset(sums, 0, (size_t)floats * sizeof *sums);
}

/* Clear those sums of a work item that the kernels use. */
static void clear_query_sums(const struct backward *backward, const rotary_attention_work *work,
                             const rotary_attention_sums *sums)
{
    const rotary_attention *attention = backward->pass.attention;
    int64_t queries = work->query_end - work->query_begin, width = rotary_attention_row(attention->head_dim);
    int64_t used = round_up(queries, attention->kernels->sum_rows) * width,
            head = round_up(queries, ROTARY_ATTENTION_ROW_MULTIPLE) * width;
    for (int64_t member = 0; member < rotary_attention_group(attention); member++) {
        clear(sums->query + member * head, used);
        if (sums->unrotated_query)
            clear(sums->unrotated_query + member * head, used);
    }
}

static void clear_key_sums(const struct backward *backward, const rotary_attention_work *work,
                           const rotary_attention_sums *sums)
{
    const rotary_attention *attention = backward->pass.attention;
    int64_t rows = round_up(work->key_end - work->key_begin, attention->kernels->sum_rows),
            floats = rows * rotary_attention_row(attention->head_dim);
    clear(sums->key, floats);
    clear(sums->value, floats);
    if (sums->unrotated_key)
        clear(sums->unrotated_key, floats);
}

/* A full head, in the worker's own memory. */
static void backward_head(void *argument, int64_t index, int worker)
{
    const struct backward *backward = argument;
    rotary_attention_work work = work_item(backward, index, 0, 0);
    rotary_attention_sums sums = sums_of(backward, worker, worker);
    use_term_sums(backward, index, &sums);
    clear_query_sums(backward, &work, &sums);
    clear_key_sums(backward, &work, &sums);
    if (work.query_end > 0 && work.key_end > 0)
        add_gradients(backward, &work, &sums, worker);
    write_queries(backward, &work, &sums, index);
    write_keys(backward, &work, &sums);
}

static void clear_queries(void *argument, int64_t index, int worker)
{
    (void)worker;
    const struct backward *backward = argument;
    rotary_attention_work work =
        work_item(backward, index / backward->query_blocks, index % backward->query_blocks, 0);
    rotary_attention_sums sums = sums_of(backward, index, 0);
    clear_query_sums(backward, &work, &sums);
}

static void clear_keys(void *argument, int64_t index, int worker)
{
    (void)worker;
    const struct backward *backward = argument;
    int64_t key_block = backward->band_begin + index % backward->band;
    if (key_block >= backward->key_blocks)
        return;
    rotary_attention_work work = work_item(backward, index / backward->band, 0, key_block);
    rotary_attention_sums sums = sums_of(backward, 0, index);
    clear_key_sums(backward, &work, &sums);
}

static void backward_round_item(void *argument, int64_t index, int worker)
{
    const struct backward *backward = argument;
    int64_t head = index / backward->band, key_block = backward->band_begin + index % backward->band;
    int64_t query_block = (key_block + backward->round) % backward->query_blocks;
    if (key_block >= backward->key_blocks)
        return;
    rotary_attention_work work = work_item(backward, head, query_block, key_block);
    rotary_attention_sums sums = sums_of(backward, head * backward->query_blocks + query_block, index);
    use_term_sums(backward, index, &sums);
    add_gradients(backward, &work, &sums, worker);
}

static void finish_queries(void *argument, int64_t index, int worker)
{
    (void)worker;
    const struct backward *backward = argument;
    rotary_attention_work work =
        work_item(backward, index / backward->query_blocks, index % backward->query_blocks, 0);
    rotary_attention_sums sums = sums_of(backward, index, 0);
    write_queries(backward, &work, &sums, index);
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
    write_keys(backward, &work, &sums);
}

/* Finds number i of the round's work items that query head `head` is in: *item. False where a band has no
 * such block. */
static bool round_item(const struct backward *backward, int64_t head, int64_t i, rotary_attention_work *work,
                       int64_t *item)
{
    const rotary_attention *attention = backward->pass.attention;
    int64_t slot = i % backward->band, key_block = backward->band_begin + slot;
    int64_t key_value_head =
        i / backward->band * attention->key_value_heads + head / rotary_attention_group(attention);
    if (key_block >= backward->key_blocks)
        return false;
    *work = work_item(backward, key_value_head, (key_block + backward->round) % backward->query_blocks,
                      key_block);
    *item = key_value_head * backward->band + slot;
    return true;
}

/* Adds the distances of the round's work items of one head, in their order. */
static void add_distances(void *argument, int64_t head, int worker)
{
    (void)worker;
    const struct backward *backward = argument;
    rotary_attention_work work;
    int64_t item;
    for (int64_t i = 0; i < backward->batch * backward->band; i++)
        if (round_item(backward, head, i, &work, &item))
            rotary_attention_add_item_distances(backward->pass.attention, &backward->distances, item, &work,
                                                head);
}

struct vector_round {
    const struct backward *backward;
    const struct vector_gradient *gradient;
};

/* Does so for vectors, for some entries of a table. */
static void add_vectors(void *argument, int64_t index, int worker)
{
    (void)worker;
    const struct vector_round *round = argument;
    const struct backward *backward = round->backward;
    struct vector_slice slice = rotary_attention_vector_slice(round->gradient, index);
    rotary_attention_work work;
    int64_t item;
    for (; slice.head < slice.head_end; slice.head++)
        for (int64_t i = 0; i < backward->batch * backward->band; i++)
            if (round_item(backward, slice.head, i, &work, &item))
                rotary_attention_add_item_vectors(backward->pass.attention, round->gradient, item, &work,
                                                  &slice);
}

/* Does so for one part of the gradient of a piecewise bias. */
static void add_piecewise(void *argument, int64_t part, int worker)
{
    (void)worker;
    const struct backward *backward = argument;
    const rotary_attention *attention = backward->pass.attention;
    struct piecewise_part of = rotary_attention_piecewise_part(attention, part);
    rotary_attention_work work;
    int64_t item;
    for (; of.head < of.head_end; of.head += of.step)
        for (int64_t i = 0; i < backward->batch * backward->band; i++)
            if (round_item(backward, of.head, i, &work, &item))
                rotary_attention_add_item_piecewise(attention, &backward->piecewise, item, &work, &of);
}

static void finish_round(struct backward *backward)
{
    const rotary_attention *attention = backward->pass.attention;
    if (backward->pass.queries == 0 || backward->pass.problem.keys == 0)
        return;
    if (backward->distances.items.memory)
        rotary_parallel_for(attention->threads, attention->heads, add_distances, backward);
    if (backward->piecewise.items.memory)
        rotary_parallel_for(attention->threads, rotary_attention_piecewise_parts(attention), add_piecewise,
                            backward);
    for (int i = 0; i < VECTORS; i++) {
        struct vector_round round = {backward, &backward->vectors[i]};
        if (round.gradient->items.memory)
            rotary_parallel_for(attention->threads, round.gradient->slices, add_vectors, &round);
    }
}

static void run_blocks(struct backward *backward, int64_t heads)
{
    int threads = backward->pass.attention->threads;
    if (has_one_block(backward)) {
        rotary_parallel_for(threads, heads, backward_head, backward);
        finish_round(backward);
        return;
    }
    rotary_parallel_for(threads, heads * backward->query_blocks, clear_queries, backward);
    for (int64_t begin = 0; begin < backward->key_blocks; begin += backward->band) {
        backward->band_begin = begin;
        rotary_parallel_for(threads, heads * backward->band, clear_keys, backward);
        for (int64_t round = 0; round < backward->query_blocks; round++) {
            backward->round = round;
            rotary_parallel_for(threads, heads * backward->band, backward_round_item, backward);
            finish_round(backward);
        }
        rotary_parallel_for(threads, heads * backward->band, finish_keys, backward);
    }
    rotary_parallel_for(threads, heads * backward->query_blocks, finish_queries, backward);
}

rotary_status rotary_attention_check_backward(const rotary_attention *attention,
                                              const struct attention_call *call, rotary_error *error)
{
    const rotary_attention_backward_call *given = call->given;
    int64_t batch = call->shape.batch, queries = call->shape.queries, keys = call->shape.keys,
            heads = attention->heads, key_value_heads = attention->key_value_heads;
    const struct attention_operand operands[] = {
        {"query", call->query, batch, queries, heads, false},
        {"key", call->key, batch, keys, key_value_heads, false},
        {"value", call->value, batch, keys, key_value_heads, false},
        {"output", given->output, batch, queries, heads, false},
        {"output_gradient", given->output_gradient, batch, queries, heads, false},
        {"query_gradient", rotary_attention_as_const(given->query_gradient), batch, queries, heads, true},
        {"key_gradient", rotary_attention_as_const(given->key_gradient), batch, keys, key_value_heads, true},
        {"value_gradient", rotary_attention_as_const(given->value_gradient), batch, keys, key_value_heads,
         true},
    };
    rotary_status status = rotary_attention_check_call(attention, call, operands, 8, error);
    if (status)
        return status;
    if (!given->log_sum_exp && batch > 0 && queries > 0)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "log_sum_exp is missing; wanted what the forward pass wrote, [%lld, %lld, %lld]",
                           (long long)batch, (long long)heads, (long long)queries);
    const char *missing = given->query_bias_gradient && !given->query_bias ? "query_bias"
                          : given->sinks_gradient && !given->sinks         ? "sinks"
                                                                           : NULL;
    if (missing)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "%s_gradient is given without %s; wanted both, or no gradient", missing, missing);
    return ROTARY_OK;
}

static void run(const rotary_attention *attention, const struct attention_call *call,
                const struct attention_sequence *sequence, struct rotary_arena *workspace)
{
    const rotary_attention_backward_call *given = call->given;
    rotary_attention_shape shape = sequence->shape;
    int64_t query = sequence->query, key = sequence->key;
    if (shape.batch == 0)
        return;
    struct backward backward = backward_of(attention, call);
    struct attention_positions positions = rotary_attention_positions_of(call, sequence);
    carve(&backward, call, shape, &positions, workspace);
    rotary_attention_start_pass(&backward.pass, call, sequence, shape);
    rotary_attention_problem *problem = &backward.pass.problem;
    problem->saved_output = rotary_attention_skip(attention, given->output, query);
    problem->output_gradient = rotary_attention_skip(attention, given->output_gradient, query);
    problem->saved_log_sum_exp = given->log_sum_exp ? given->log_sum_exp + query : NULL;
    problem->query_gradient = rotary_attention_skip_written(attention, given->query_gradient, query);
    problem->key_gradient = rotary_attention_skip_written(attention, given->key_gradient, key);
    problem->value_gradient = rotary_attention_skip_written(attention, given->value_gradient, key);
    backward.batch = shape.batch;
    if (call->distance_gradient)
        rotary_attention_start_distance_gradient(attention, &backward.distances, call, sequence);
    for (int i = 0; i < VECTORS; i++)
        rotary_attention_start_vector_gradient(attention, &backward.vectors[i], shape);
    backward.piecewise.query = shape.first_query;
    backward.piecewise.key = shape.first_key;
    run_blocks(&backward, shape.batch * attention->key_value_heads);
    rotary_attention_finish_query_bias(attention, &backward.query_bias, call->query_bias_gradient,
                                       shape.batch, backward.query_blocks);
}

struct sinks {
    const rotary_attention_backward_call *call;
    const rotary_attention *attention;
    rotary_attention_problem problem; /* of all queries of the call, packed sequences too */
};

static void add_sink_gradient(void *argument, int64_t head, int worker)
{
    (void)worker;
    const struct sinks *sinks = argument;
    double gradient = 0;
    for (int64_t sequence = 0; sequence < sinks->call->shape.batch; sequence++)
        gradient += sinks->attention->kernels->sink_gradient(&sinks->problem, sequence, head);
    sinks->call->sinks_gradient[head] += (float)gradient;
}

/* A head's sum is in one order, whatever threads there are. */
static void add_sinks_gradient(const rotary_attention *attention, const rotary_attention_backward_call *call)
{
    struct sinks sinks = {call, attention, rotary_attention_problem_of(attention)};
    sinks.problem.queries = call->shape.queries;
    sinks.problem.sinks = call->sinks;
    sinks.problem.saved_output = call->output;
    sinks.problem.output_gradient = call->output_gradient;
    sinks.problem.saved_log_sum_exp = call->log_sum_exp;
    rotary_parallel_for(attention->threads, attention->heads, add_sink_gradient, &sinks);
}

rotary_status rotary_attention_read_backward(const rotary_attention_backward_call *given,
                                             rotary_attention_backward_call *known,
                                             struct attention_call *call, rotary_error *error)
{
    rotary_status status =
        rotary_copy_sized(known, sizeof *known, given, "rotary_attention_backward_call", error);
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
        .key_lengths = known->key_lengths,
        .query_positions = known->query_positions,
        .key_positions = known->key_positions,
        .workspace = known->workspace,
        .bytes = bytes_of,
        .run = run,
        .given = known,
        .distance_gradient = known->distance_bias.data && known->distance_bias.gradient,
        .query_bias_gradient = known->query_bias_gradient,
        .vector_gradient = known->distance_keys.gradient || known->query_bias_gradient ||
                           known->distance_queries.gradient || known->distance_values.gradient,
        .piecewise_gradient = rotary_attention_wants_piecewise_gradient(&known->piecewise_bias),
    };
    return status;
}

size_t rotary_attention_backward_call_bytes(const rotary_attention *attention,
                                            const rotary_attention_backward_call *given)
{
    rotary_attention_backward_call known = {0};
    struct attention_call call;
    if (rotary_attention_read_backward(given, &known, &call, NULL))
        return 0;
    call.bytes = largest_bytes;
    return rotary_attention_workspace_bytes(attention, &call);
}

rotary_status rotary_attention_backward(const rotary_attention *attention,
                                        const rotary_attention_backward_call *given, rotary_error *error)
{
    rotary_attention_backward_call known = {0};
    struct attention_call call;
    rotary_status status = rotary_attention_read_backward(given, &known, &call, error);
    if (!status)
        status = rotary_attention_share_keys(attention, "value", call.key, &call.value, error);
    if (!status)
        status = rotary_attention_share_written_keys(attention, "value_gradient", known.key_gradient,
                                                     &known.value_gradient, error);
    if (status)
        return status;
    status = rotary_attention_check_backward(attention, &call, error);
    if (!status)
        status = rotary_attention_run_call(attention, &call, error);
    if (!status && call.distance_gradient)
        rotary_attention_finish_distance_gradient(attention, &call);
    if (!status && known.sinks_gradient)
        add_sinks_gradient(attention, &known);
    return status;
}
