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
enum { PIECE_ROWS = 1024, WANTED_PIECES = 64, BLOCK = 32 };

struct backward {
    const rotary_attention *attention;
    rotary_attention_problem problem;
    int64_t queries; /* of the sequence; problem.queries is all, which log_sum_exp is laid out by */
    int64_t piece_queries, piece_keys;
    int64_t query_pieces, key_pieces;
    int64_t band; /* key pieces at a time */
    int64_t band_begin, round;
    int64_t query_floats, key_floats; /* in the sums of a piece */
    float *query_sums;                /* [sequence and key-value head, query piece], or one for each worker */
    float *key_sums, *value_sums;     /* [sequence and key-value head, band], likewise */
    unsigned char *scratch;
    size_t scratch_bytes; /* of a worker */
};

/* Cuts `count` rows into even pieces of at most about `rows`. */
static void cut(int64_t count, int64_t rows, int64_t *work, int64_t *pieces)
{
    *pieces = count > 0 ? (count + rows - 1) / rows : 1;
    *work = rotary_attention_round((count + *pieces - 1) / *pieces, BLOCK);
    *pieces = *work > 0 ? (count + *work - 1) / *work : 1;
}

static void carve(struct backward *backward, struct attention_shape_tables *tables,
                  rotary_attention_shape shape, struct rotary_arena *arena)
{
    const rotary_attention *attention = backward->attention;
    int64_t group = attention->heads / attention->key_value_heads,
            whole = shape.batch * attention->key_value_heads;
    int64_t width = rotary_attention_row(attention->head_dim);
    cut(shape.queries, (PIECE_ROWS + group - 1) / group, &backward->piece_queries, &backward->query_pieces);
    cut(shape.keys, PIECE_ROWS, &backward->piece_keys, &backward->key_pieces);
    backward->band = (WANTED_PIECES + whole - 1) / (whole > 0 ? whole : 1);
    if (backward->band > backward->key_pieces)
        backward->band = backward->key_pieces;
    if (backward->band > backward->query_pieces)
        backward->band = backward->query_pieces;
    backward->query_floats =
        group * rotary_attention_round(backward->piece_queries, ROTARY_ATTENTION_ROUND) * width;
    backward->key_floats = rotary_attention_round(backward->piece_keys, ROTARY_ATTENTION_ROUND) * width;
    bool alone = backward->query_pieces == 1 && backward->key_pieces == 1;
    int64_t query_sums = alone ? attention->threads : whole * backward->query_pieces;
    int64_t key_sums = alone ? attention->threads : whole * backward->band;
    backward->scratch_bytes =
        rotary_align(attention->kernels->backward_bytes(&backward->problem, backward->piece_queries));
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
    return rotary_attention_packed_bytes(attention, shape, packing, rotary_attention_backward_bytes);
}

static rotary_attention_work piece_of(const struct backward *backward, int64_t whole, int64_t query_piece,
                                      int64_t key_piece)
{
    const rotary_attention_problem *problem = &backward->problem;
    rotary_attention_work work = {
        .sequence = whole / problem->key_value_heads,
        .key_value_head = whole % problem->key_value_heads,
        .query_begin = query_piece * backward->piece_queries,
        .query_end = (query_piece + 1) * backward->piece_queries,
        .key_begin = key_piece * backward->piece_keys,
        .key_end = (key_piece + 1) * backward->piece_keys,
    };
    if (work.query_end > backward->queries)
        work.query_end = backward->queries;
    if (work.key_end > problem->keys)
        work.key_end = problem->keys;
    return work;
}

static rotary_attention_sums sums_of(const struct backward *backward, int64_t query_place, int64_t key_place)
{
    return (rotary_attention_sums){
        .query = backward->query_sums + query_place * backward->query_floats,
        .key = backward->key_sums + key_place * backward->key_floats,
        .value = backward->value_sums + key_place * backward->key_floats,
    };
}

static void meet(const struct backward *backward, const rotary_attention_work *work,
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
static void do_alone(void *argument, int64_t index, int worker)
{
    const struct backward *backward = argument;
    const struct rotary_attention_kernels *kernels = backward->attention->kernels;
    rotary_attention_work work = piece_of(backward, index, 0, 0);
    rotary_attention_sums sums = sums_of(backward, worker, worker);
    clear(sums.query, backward->query_floats);
    clear(sums.key, backward->key_floats);
    clear(sums.value, backward->key_floats);
    if (work.query_end > 0 && work.key_end > 0)
        meet(backward, &work, &sums, worker);
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

static void do_round(void *argument, int64_t index, int worker)
{
    const struct backward *backward = argument;
    int64_t whole = index / backward->band, key_piece = backward->band_begin + index % backward->band;
    int64_t query_piece = (key_piece + backward->round) % backward->query_pieces;
    if (key_piece >= backward->key_pieces)
        return;
    rotary_attention_work work = piece_of(backward, whole, query_piece, key_piece);
    rotary_attention_sums sums = sums_of(backward, whole * backward->query_pieces + query_piece, index);
    meet(backward, &work, &sums, worker);
}

static void finish_queries(void *argument, int64_t index, int worker)
{
    (void)worker;
    const struct backward *backward = argument;
    rotary_attention_work work =
        piece_of(backward, index / backward->query_pieces, index % backward->query_pieces, 0);
    rotary_attention_sums sums = sums_of(backward, index, 0);
    backward->attention->kernels->finish_queries(&backward->problem, &work, &sums);
}

static void finish_keys(void *argument, int64_t index, int worker)
{
    (void)worker;
    const struct backward *backward = argument;
    int64_t key_piece = backward->band_begin + index % backward->band;
    if (key_piece >= backward->key_pieces)
        return;
    rotary_attention_work work = piece_of(backward, index / backward->band, 0, key_piece);
    rotary_attention_sums sums = sums_of(backward, 0, index);
    backward->attention->kernels->finish_keys(&backward->problem, &work, &sums);
}

static void run_pieces(struct backward *backward, int64_t whole)
{
    int threads = backward->attention->threads;
    if (backward->query_pieces == 1 && backward->key_pieces == 1) {
        rotary_parallel_for(threads, whole, do_alone, backward);
        return;
    }
    rotary_parallel_for(threads, whole * backward->query_pieces, clear_queries, backward);
    for (int64_t begin = 0; begin < backward->key_pieces; begin += backward->band) {
        backward->band_begin = begin;
        rotary_parallel_for(threads, whole * backward->band, clear_keys, backward);
        for (int64_t round = 0; round < backward->query_pieces; round++) {
            backward->round = round;
            rotary_parallel_for(threads, whole * backward->band, do_round, backward);
        }
        rotary_parallel_for(threads, whole * backward->band, finish_keys, backward);
    }
    rotary_parallel_for(threads, whole * backward->query_pieces, finish_queries, backward);
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
    run_pieces(&backward, shape.batch * attention->key_value_heads);
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
    rotary_attention_run_packed(attention, call->shape, &call->packed_sequences,
                                rotary_attention_backward_bytes, run, call, call->workspace);
    return ROTARY_OK;
}
