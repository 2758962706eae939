/* SPDX-License-Identifier: Apache-2.0
 *
 * Decoding: new keys and values, if any, are rotated and appended to the caches, then the queries attend to
 * the caches. The caches hold rotated vectors, so cached tokens are not rotated again. Tables hold the rows
 * of the new tokens of each sequence.
 *
 * With few queries, keys and values are read in place, at the speed of memory: each cache is split along its
 * length into parts, which are combined when all are done. More queries use the forward pass's kernels.
 */
#include "attention/attention_tables.h"
#include "attention/cache_checks.h"

#include "base/fail.h"
#include "base/sized.h"
#include "base/threads.h"
#include "kernel/attention/visibility.h"

/* Rows of queries of a work item, over all heads that share keys. Up to FEW_ROWS are few, and those of a single token,
 * however many heads share keys: a block of many has 32 queries of each head, and one worker. */
enum { WORK_ITEM_ROWS = 256, ROW_MULTIPLE = 32, FEW_ROWS = 8 };
/* Bytes of keys in a part: enough that writing the part is little beside reading its keys. Keys that are values
 * have longer parts, since nothing is read from memory during the last block. Parts of a sequence are equal, and
 * 1, 2, 4 or a multiple of SHARED_PARTS, so that threads share them evenly. */
enum {
    PART_BYTES = 1 << 19,
    MIN_PART_BYTES = 1 << 18,
    LONGER_PART = 4, /* times as long */
    MIN_PART_KEYS = 64,
    PART_MULTIPLE = 4, /* of keys */
    SHARED_PARTS = 8
};
/* Where there are so many sequences, and they are no more than so many parts, a sequence is one work item. */
enum { MANY_SEQUENCES = 8, FEW_PARTS = 4 };

struct decode {
    const rotary_attention *attention;
    const rotary_attention_decode_call *call;
    rotary_attention_problem problem;
    int64_t new_keys; /* of a sequence: queries, or 0 */
    int64_t block_queries, query_blocks;
    bool few;
    int64_t parts; /* of a sequence at most */
    int64_t part_floats, query_floats;
    float *part, *query;            /* [batch, parts, part_floats] and [batch, query_floats] */
    struct attention_tables tables; /* [batch, queries] rows */
    struct attention_scratch scratch;
};

/* The parts of a sequence depend on its keys alone: its results do not depend on the sequences beside it. */
static int64_t part_count(const rotary_attention *attention, int64_t keys)
{
    const int64_t bytes = keys * attention->key_value_heads * attention->head_dim *
                          (int64_t)rotary_dtype_size(attention->dtype);
    const int64_t longer = attention->key_is_value ? LONGER_PART : 1;
    int64_t parts = SHARED_PARTS * max_i64(divide_up(bytes, SHARED_PARTS * PART_BYTES * longer), 1);
    while (parts > 1 && bytes < parts * MIN_PART_BYTES * longer)
        parts /= 2;
    return parts;
}

/* carve_few and carve_many return the bytes of scratch of a worker. */
static size_t carve_few(struct decode *decode, int64_t batch, int64_t queries, int64_t capacity,
                        struct rotary_arena *arena)
{
    const rotary_attention *attention = decode->attention;
    decode->problem.queries = queries;
    decode->parts = part_count(attention, capacity);
    decode->part_floats = rotary_attention_part(&decode->problem);
    decode->query_floats = attention->heads * queries * rotary_attention_row(attention->head_dim);
    decode->part =
        rotary_arena_push(arena, batch * decode->parts, (size_t)decode->part_floats * sizeof(float));
    decode->query = rotary_arena_push(arena, batch, (size_t)decode->query_floats * sizeof(float));
    return attention->kernels->decode_bytes(&decode->problem);
}

static size_t carve_many(struct decode *decode, int64_t queries)
{
    const rotary_attention *attention = decode->attention;
    int64_t group = rotary_attention_group(attention);
    decode->block_queries = min_i64(queries, round_up(divide_up(WORK_ITEM_ROWS, group), ROW_MULTIPLE));
    decode->query_blocks = queries > 0 ? divide_up(queries, decode->block_queries) : 0;
    return attention->kernels->forward_bytes(&decode->problem, decode->block_queries);
}

static int64_t few_queries(const rotary_attention *attention)
{
    return max_i64(FEW_ROWS * attention->key_value_heads / attention->heads, 1);
}

static void carve(struct decode *decode, int64_t batch, int64_t queries, int64_t capacity,
                  struct rotary_arena *arena)
{
    const rotary_attention *attention = decode->attention;
    decode->few = queries <= few_queries(attention);
    size_t scratch_bytes =
        decode->few ? carve_few(decode, batch, queries, capacity, arena) : carve_many(decode, queries);
    rotary_attention_carve_tables(attention, &decode->tables, batch * queries, arena);
    rotary_attention_carve_scratch(attention, &decode->scratch, scratch_bytes, arena);
}

size_t rotary_attention_decode_bytes(const rotary_attention *attention, int64_t batch, int64_t queries,
                                     int64_t capacity)
{
    struct decode decode = {.attention = attention, .problem = rotary_attention_problem_of(attention)};
    struct rotary_arena arena = {0}, few = {0};
    if (rotary_attention_check_shape(
            (rotary_attention_shape){.batch = batch, .queries = queries, .keys = capacity}, NULL))
        return 0;
    carve(&decode, batch, queries, capacity, &arena);
    /* A workspace for a step also suffices for a shorter one, which may have few queries. */
    if (!decode.few)
        carve(&decode, batch, few_queries(attention), capacity, &few);
    return arena.used > few.used ? arena.used : few.used;
}

/* The rows of the new tokens of one sequence. */
static struct attention_tables tables_of(const struct decode *decode, int64_t sequence)
{
    struct attention_tables tables = decode->tables;
    int64_t queries = decode->call->queries;
    const int32_t *positions = decode->call->positions;
    struct attention_tokens tokens = {.first = decode->call->lengths[sequence],
                                      .count = queries,
                                      .positions = positions ? positions + sequence * queries : NULL};
    rotary_attention_find_rows(decode->attention, &tables, tokens, sequence * queries);
    return tables;
}

/* The problem of one sequence: query m has position length + m, key n position first + n. */
static rotary_attention_problem problem_of(const struct decode *decode, const struct attention_tables *tables,
                                           int64_t sequence)
{
    const rotary_attention *attention = decode->attention;
    const rotary_attention_decode_call *call = decode->call;
    rotary_attention_problem problem = decode->problem;
    problem.queries = call->queries;
    problem.keys = call->lengths[sequence] + decode->new_keys;
    problem.query_offset = call->lengths[sequence];
    /* Keys are counted from the first that a query sees: those before it may be overwritten. */
    int64_t first = first_key(&problem, 0);
    problem.keys -= first;
    problem.query_offset -= first;
    problem.ring_capacity = call->capacity;
    problem.ring_first = call->capacity > 0 ? first % call->capacity : 0; /* an empty cache has no rows */
    problem.query = call->query;
    problem.key = rotary_attention_as_const(call->key_cache);
    problem.value = rotary_attention_as_const(call->value_cache);
    problem.output = call->output;
    problem.bias = call->bias;
    if (call->bias.data)
        problem.bias.data += first;
    problem.distance_bias = call->distance_bias;
    problem.piecewise_bias = call->piecewise_bias;
    problem.sinks = call->sinks;
    problem.first_query = call->lengths[sequence];
    problem.distance_keys = call->distance_keys;
    problem.query_bias = call->query_bias;
    problem.distance_queries = call->distance_queries;
    problem.distance_values = call->distance_values;
    rotary_attention_use_terms(attention, &problem);
    problem.query_rotation = rotary_attention_rotation_at(attention, tables, ROTARY_ROTATE_QUERY, 0);
    problem.output_rotation = rotary_attention_rotation_at(attention, tables, ROTARY_ROTATE_OUTPUT, 0);
    return problem;
}

/* What the steps of one sequence share. */
struct sequence {
    int64_t index;
    struct attention_tables tables;
    rotary_attention_problem problem;
    int64_t part_keys; /* keys in a part */
};

static struct sequence sequence_of(const struct decode *decode, int64_t index)
{
    struct sequence sequence = {.index = index, .tables = tables_of(decode, index)};
    sequence.problem = problem_of(decode, &sequence.tables, index);
    const int64_t keys = sequence.problem.keys, part = divide_up(keys, part_count(decode->attention, keys));
    sequence.part_keys = max_i64(round_up(part, PART_MULTIPLE), MIN_PART_KEYS);
    return sequence;
}

static void fill(void *argument, int64_t sequence, int worker)
{
    (void)worker;
    const struct decode *decode = argument;
    struct attention_tables tables = tables_of(decode, sequence);
    rotary_attention_fill_rows(decode->attention, &tables, 0, decode->call->queries);
}

/* Appends the new keys and values of heads begin ... end - 1 of one sequence, rotated, to the caches. */
static void append_heads(const struct decode *decode, const struct attention_tables *tables, int64_t sequence,
                         int64_t begin, int64_t end)
{
    const rotary_attention *attention = decode->attention;
    const rotary_attention_decode_call *call = decode->call;
    const rotary_attention_problem *problem = &decode->problem;
    struct rotary_attention_rotation key_rotation =
        rotary_attention_rotation_at(attention, tables, ROTARY_ROTATE_KEY, 0);
    struct rotary_attention_rotation value_rotation =
        rotary_attention_rotation_at(attention, tables, ROTARY_ROTATE_VALUE, 0);
    for (int64_t token = 0; token < decode->new_keys; token++) {
        int64_t row = (call->lengths[sequence] + token) % call->capacity;
        for (int64_t head = begin; head < end; head++) {
            attention->kernels->rotate(problem, &key_rotation, token,
                                       mutable_vector_at(problem, call->key_cache, sequence, row, head),
                                       vector_at(problem, call->key, sequence, token, head));
            if (attention->key_is_value)
                continue;
            attention->kernels->rotate(problem, &value_rotation, token,
                                       mutable_vector_at(problem, call->value_cache, sequence, row, head),
                                       vector_at(problem, call->value, sequence, token, head));
        }
    }
}

static void append(void *argument, int64_t index, int worker)
{
    (void)worker;
    const struct decode *decode = argument;
    int64_t heads = decode->attention->key_value_heads, sequence = index / heads, head = index % heads;
    struct attention_tables tables = tables_of(decode, sequence);
    append_heads(decode, &tables, sequence, head, head + 1);
}

/* Prepares the attention of the few queries of one sequence: tables, caches, rotated queries. */
static void prepare_sequence(const struct decode *decode, const struct sequence *sequence)
{
    const rotary_attention *attention = decode->attention;
    rotary_attention_fill_rows(attention, &sequence->tables, 0, decode->call->queries);
    append_heads(decode, &sequence->tables, sequence->index, 0, attention->key_value_heads);
    rotary_attention_work work = {.sequence = sequence->index};
    for (; work.key_value_head < attention->key_value_heads; work.key_value_head++)
        attention->kernels->decode_queries(&sequence->problem, &work,
                                           decode->query + sequence->index * decode->query_floats);
}

static void prepare(void *argument, int64_t index, int worker)
{
    (void)worker;
    const struct decode *decode = argument;
    struct sequence sequence = sequence_of(decode, index);
    prepare_sequence(decode, &sequence);
}

static float *part_of(const struct decode *decode, int64_t sequence, int64_t part)
{
    return decode->part + (sequence * decode->parts + part) * decode->part_floats;
}

static void attend_keys(const struct decode *decode, const struct sequence *sequence, int64_t part,
                        int worker)
{
    const rotary_attention_problem *problem = &sequence->problem;
    rotary_attention_work work = {.sequence = sequence->index,
                                  .key_begin = part * sequence->part_keys,
                                  .key_end = min_i64((part + 1) * sequence->part_keys, problem->keys)};
    if (work.key_begin >= problem->keys)
        return;
    struct rotary_arena scratch = rotary_attention_scratch_of(&decode->scratch, worker);
    decode->attention->kernels->decode(problem, &work, decode->query + work.sequence * decode->query_floats,
                                       part_of(decode, work.sequence, part), &scratch);
}

static void attend_part(void *argument, int64_t index, int worker)
{
    const struct decode *decode = argument;
    struct sequence sequence = sequence_of(decode, index / decode->parts);
    attend_keys(decode, &sequence, index % decode->parts, worker);
}

static void join_head(const struct decode *decode, const struct sequence *sequence, int64_t head)
{
    rotary_attention_work work = {.sequence = sequence->index, .key_value_head = head};
    decode->attention->kernels->decode_join(&sequence->problem, &work, part_of(decode, work.sequence, 0),
                                            divide_up(sequence->problem.keys, sequence->part_keys));
}

static void join_parts(void *argument, int64_t index, int worker)
{
    (void)worker;
    const struct decode *decode = argument;
    int64_t heads = decode->attention->key_value_heads;
    struct sequence sequence = sequence_of(decode, index / heads);
    join_head(decode, &sequence, index % heads);
}

/* A sequence as one work item: no step waits for other sequences. */
static void attend_sequence(void *argument, int64_t index, int worker)
{
    const struct decode *decode = argument;
    struct sequence sequence = sequence_of(decode, index);
    prepare_sequence(decode, &sequence);
    for (int64_t part = 0; part < decode->parts; part++)
        attend_keys(decode, &sequence, part, worker);
    for (int64_t head = 0; head < decode->attention->key_value_heads; head++)
        join_head(decode, &sequence, head);
}

static void attend_query_block(void *argument, int64_t index, int worker)
{
    const struct decode *decode = argument;
    int64_t key_value_heads = decode->attention->key_value_heads, head = index / decode->query_blocks;
    const struct sequence sequence = sequence_of(decode, head / key_value_heads);
    const rotary_attention_problem problem = sequence.problem;
    rotary_attention_work work = {
        .sequence = head / key_value_heads,
        .key_value_head = head % key_value_heads,
        .query_begin = index % decode->query_blocks * decode->block_queries,
        .key_end = problem.keys,
    };
    work.query_end = work.query_begin + decode->block_queries;
    if (work.query_end > problem.queries)
        work.query_end = problem.queries;
    struct rotary_arena scratch = rotary_attention_scratch_of(&decode->scratch, worker);
    decode->attention->kernels->forward(&problem, &work, NULL, &scratch);
}

/* The keys of the longest sequence. */
static int64_t max_keys(const struct decode *decode)
{
    const rotary_attention_decode_call *call = decode->call;
    int64_t keys = 0;
    for (int64_t sequence = 0; sequence < call->batch; sequence++)
        keys = max_i64(keys, call->lengths[sequence] + decode->new_keys);
    return min_i64(keys, call->capacity);
}

static void attend_few(struct decode *decode)
{
    const int threads = decode->attention->threads;
    const int64_t batch = decode->call->batch;
    decode->parts = part_count(decode->attention, max_keys(decode));
    if (decode->parts == 1 || (batch >= MANY_SEQUENCES && decode->parts <= FEW_PARTS)) {
        rotary_parallel_for(threads, batch, attend_sequence, decode);
        return;
    }
    rotary_parallel_for(threads, batch, prepare, decode);
    rotary_parallel_for(threads, batch * decode->parts, attend_part, decode);
    rotary_parallel_for(threads, batch * decode->attention->key_value_heads, join_parts, decode);
}

/* Whether a call has new keys and values. */
static bool has_new_keys(const rotary_attention_decode_call *call)
{
    return call->key.data || call->value.data;
}

/* `tokens` new tokens of each sequence must fit into the caches. */
static rotary_status check_lengths(const rotary_attention *attention,
                                   const rotary_attention_decode_call *call, int64_t tokens,
                                   rotary_error *error)
{
    if (!call->lengths && call->batch > 0)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "lengths is missing; wanted one for each of %lld sequences",
                           (long long)call->batch);
    for (int64_t sequence = 0; sequence < call->batch; sequence++) {
        int64_t length = call->lengths[sequence];
        if (length < 0 || length > ROTARY_ATTENTION_MAX_POSITION)
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "lengths[%lld] is %lld; wanted 0 ... %lld",
                               (long long)sequence, (long long)length,
                               (long long)ROTARY_ATTENTION_MAX_POSITION);
        if (length + tokens <= call->capacity)
            continue;
        if (attention->window == 0)
            return rotary_fail(
                error, ROTARY_INVALID_ARGUMENT,
                "sequence %lld has %lld tokens in a cache of %lld, and %lld more do not fit; wanted a larger "
                "cache, or a window, with which new tokens overwrite old ones",
                (long long)sequence, (long long)length, (long long)call->capacity, (long long)tokens);
        if (call->capacity < attention->window + tokens - 1)
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                               "a cache of %lld is too small to be a ring buffer; wanted at least window + "
                               "queries - 1, %lld",
                               (long long)call->capacity, (long long)(attention->window + tokens - 1));
    }
    return ROTARY_OK;
}

/* What a step without new keys and values must not have. */
static rotary_status check_cross(const rotary_attention *attention, const rotary_attention_decode_call *call,
                                 rotary_error *error)
{
    if (has_new_keys(call) || call->batch == 0 || call->queries == 0)
        return ROTARY_OK;
    if (attention->causal)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "key and value have no data in a step with causal attention; wanted new keys and "
                           "values, or a plan without causal");
    if (!call->positions && (attention->rotated & (ROTARY_ROTATE_QUERY | ROTARY_ROTATE_OUTPUT)))
        return rotary_fail(
            error, ROTARY_INVALID_ARGUMENT,
            "positions are missing in a step without new keys; wanted those of %lld queries of "
            "each sequence",
            (long long)call->queries);
    const char *by_distance = call->distance_bias.data          ? "distance_bias"
                              : call->distance_keys.data        ? "distance_keys"
                              : call->distance_queries.data     ? "distance_queries"
                              : call->distance_values.data      ? "distance_values"
                              : call->piecewise_bias.intercepts ? "piecewise_bias"
                                                                : NULL;
    if (by_distance)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "%s is given in a step without new keys, whose queries have no distance from the "
                           "keys; wanted none",
                           by_distance);
    return ROTARY_OK;
}

rotary_status rotary_attention_check_decode(const rotary_attention *attention,
                                            const rotary_attention_decode_call *call, size_t bytes,
                                            rotary_error *error)
{
    int64_t batch = call->batch, queries = call->queries, capacity = call->capacity, heads = attention->heads,
            key_value_heads = attention->key_value_heads;
    rotary_status status = rotary_attention_check_shape(
        (rotary_attention_shape){.batch = batch, .queries = queries, .keys = capacity}, error);
    int64_t new_keys = has_new_keys(call) ? queries : 0;
    if (!status)
        status = check_cross(attention, call, error);
    if (!status)
        status = check_lengths(attention, call, new_keys, error);
    if (status)
        return status;
    const struct attention_operand operands[] = {
        {"query", call->query, batch, queries, heads, false},
        {"key", call->key, batch, new_keys, key_value_heads, false},
        {"value", call->value, batch, new_keys, key_value_heads, false},
        {"key_cache", rotary_attention_as_const(call->key_cache), batch, capacity, key_value_heads, true},
        {"value_cache", rotary_attention_as_const(call->value_cache), batch, capacity, key_value_heads, true},
        {"output", rotary_attention_as_const(call->output), batch, queries, heads, true},
    };
    status = rotary_attention_check_operands(attention, operands, 6, error);
    if (!status)
        status = rotary_attention_check_bias(
            attention, &call->bias, (rotary_attention_shape){.batch = batch, .queries = queries}, error);
    if (!status)
        status = rotary_attention_check_distance_bias(attention, &call->distance_bias, error);
    if (!status)
        status = rotary_attention_check_vectors(
            attention,
            &(struct attention_vectors){&call->distance_keys, &call->distance_queries, &call->distance_values,
                                        call->query_bias, true},
            error);
    return status ? status : rotary_attention_check_workspace(call->workspace, bytes, error);
}

rotary_status rotary_attention_decode(const rotary_attention *attention,
                                      const rotary_attention_decode_call *given, rotary_error *error)
{
    rotary_attention_decode_call known = {0}, *call = &known;
    rotary_status status =
        rotary_copy_sized(&known, sizeof known, given, "rotary_attention_decode_call", error);
    if (!status)
        status = rotary_attention_share_keys(attention, "value", known.key, &known.value, error);
    if (!status)
        status = rotary_attention_share_written_keys(attention, "value_cache", known.key_cache,
                                                     &known.value_cache, error);
    if (status)
        return status;
    status = rotary_attention_check_decode(
        attention, call, rotary_attention_decode_bytes(attention, call->batch, call->queries, call->capacity),
        error);
    if (!status)
        status = rotary_attention_check_piecewise_bias(&call->piecewise_bias, error);
    if (status)
        return status;
    if (call->batch == 0 || call->queries == 0)
        return ROTARY_OK;
    struct decode decode = {.attention = attention,
                            .call = call,
                            .problem = rotary_attention_problem_of(attention),
                            .new_keys = has_new_keys(call) ? call->queries : 0};
    struct rotary_arena arena =
        rotary_arena_over(call->workspace, rotary_attention_decode_bytes(attention, call->batch,
                                                                         call->queries, call->capacity));
    carve(&decode, call->batch, call->queries, call->capacity, &arena);
    int64_t heads = call->batch * attention->key_value_heads;
    if (decode.few) {
        attend_few(&decode);
    } else {
        rotary_parallel_for(attention->threads, call->batch, fill, &decode);
        rotary_parallel_for(attention->threads, heads, append, &decode);
        rotary_parallel_for(attention->threads, heads * decode.query_blocks, attend_query_block, &decode);
    }
    return ROTARY_OK;
}

size_t rotary_attention_append_bytes(const rotary_attention *attention, int64_t batch, int64_t tokens)
{
    struct attention_tables tables;
    struct rotary_arena arena = {0};
    if (rotary_attention_check_shape((rotary_attention_shape){.batch = batch, .queries = tokens}, NULL))
        return 0;
    rotary_attention_carve_tables(attention, &tables, batch * tokens, &arena);
    return arena.used;
}

rotary_status rotary_attention_check_append(const rotary_attention *attention,
                                            const rotary_attention_decode_call *call, size_t bytes,
                                            rotary_error *error)
{
    int64_t batch = call->batch, tokens = call->queries, capacity = call->capacity,
            heads = attention->key_value_heads;
    rotary_status status = rotary_attention_check_shape(
        (rotary_attention_shape){.batch = batch, .queries = tokens, .keys = capacity}, error);
    if (!status)
        status = check_lengths(attention, call, tokens, error);
    if (status)
        return status;
    const struct attention_operand operands[] = {
        {"key", call->key, batch, tokens, heads, false},
        {"value", call->value, batch, tokens, heads, false},
        {"key_cache", rotary_attention_as_const(call->key_cache), batch, capacity, heads, true},
        {"value_cache", rotary_attention_as_const(call->value_cache), batch, capacity, heads, true},
    };
    status = rotary_attention_check_operands(attention, operands, 4, error);
    return status ? status : rotary_attention_check_workspace(call->workspace, bytes, error);
}

rotary_attention_decode_call rotary_attention_decode_of_append(const rotary_attention_append_call *append)
{
    return (rotary_attention_decode_call){
        .batch = append->batch,
        .queries = append->tokens,
        .capacity = append->capacity,
        .lengths = append->lengths,
        .key = append->key,
        .value = append->value,
        .key_cache = append->key_cache,
        .value_cache = append->value_cache,
        .positions = append->positions,
        .workspace = append->workspace,
    };
}

rotary_status rotary_attention_append(const rotary_attention *attention,
                                      const rotary_attention_append_call *given, rotary_error *error)
{
    rotary_attention_append_call known = {0};
    rotary_status status =
        rotary_copy_sized(&known, sizeof known, given, "rotary_attention_append_call", error);
    if (!status)
        status = rotary_attention_share_keys(attention, "value", known.key, &known.value, error);
    if (!status)
        status = rotary_attention_share_written_keys(attention, "value_cache", known.key_cache,
                                                     &known.value_cache, error);
    if (status)
        return status;
    const rotary_attention_decode_call call = rotary_attention_decode_of_append(&known);
    status = rotary_attention_check_append(
        attention, &call, rotary_attention_append_bytes(attention, call.batch, call.queries), error);
    if (status || call.batch == 0 || call.queries == 0)
        return status;
    struct decode decode = {.attention = attention,
                            .call = &call,
                            .problem = rotary_attention_problem_of(attention),
                            .new_keys = call.queries};
    struct rotary_arena arena =
        rotary_arena_over(call.workspace, rotary_attention_append_bytes(attention, call.batch, call.queries));
    rotary_attention_carve_tables(attention, &decode.tables, call.batch * call.queries, &arena);
    rotary_parallel_for(attention->threads, call.batch, fill, &decode);
    rotary_parallel_for(attention->threads, call.batch * attention->key_value_heads, append, &decode);
    return ROTARY_OK;
}
