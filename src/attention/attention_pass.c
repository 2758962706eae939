/* SPDX-License-Identifier: Apache-2.0 */
#include "attention/attention_pass.h"

#include "base/fail.h"

struct attention_pass rotary_attention_pass_of(const rotary_attention *attention,
                                               const struct attention_call *call)
{
    int64_t offset = call->shape.first_query - call->shape.first_key;
    struct attention_pass pass = {.attention = attention, .problem = rotary_attention_problem_of(attention)};
    pass.vectors[OF_KEYS].table = rotary_attention_table_of(&call->distance_keys, offset, false);
    pass.vectors[OF_QUERIES].table = rotary_attention_table_of(&call->distance_queries, offset, true);
    pass.vectors[OF_VALUES].table = rotary_attention_table_of(&call->distance_values, offset, false);
    return pass;
}

struct attention_positions rotary_attention_positions_of(const struct attention_call *call,
                                                         const struct attention_sequence *sequence)
{
    return (struct attention_positions){
        .keys_rotated = call->keys_rotated,
        .queries = call->query_positions ? call->query_positions + sequence->query : NULL,
        .keys = call->key_positions ? call->key_positions + sequence->key : NULL,
        .query_stride = sequence->shape.queries,
        .key_stride = sequence->shape.keys,
    };
}

void rotary_attention_carve_pass(struct attention_pass *pass, rotary_attention_shape shape,
                                 const struct attention_positions *positions, size_t scratch_bytes,
                                 struct rotary_arena *arena)
{
    rotary_attention_carve_shape_tables(pass->attention, &pass->tables, shape, positions, arena);
    for (int i = 0; i < VECTORS; i++)
        rotary_attention_carve_columns(pass->attention, &pass->vectors[i], shape, arena);
    rotary_attention_carve_scratch(pass->attention, &pass->scratch, scratch_bytes, arena);
}

void rotary_attention_start_pass(struct attention_pass *pass, const struct attention_call *call,
                                 const struct attention_sequence *sequence, rotary_attention_shape shape)
{
    rotary_attention_problem *problem = &pass->problem;
    problem->query = rotary_attention_skip(pass->attention, call->query, sequence->query);
    problem->key = rotary_attention_skip(pass->attention, call->key, sequence->key);
    problem->value = rotary_attention_skip(pass->attention, call->value, sequence->key);
    problem->bias = rotary_attention_skip_bias(call->bias, sequence);
    problem->distance_bias = call->distance_bias;
    problem->piecewise_bias = call->piecewise_bias;
    problem->sinks = call->sinks;
    problem->first_query = shape.first_query;
    problem->distance_keys = call->distance_keys;
    problem->query_bias = call->query_bias;
    problem->distance_queries = call->distance_queries;
    problem->distance_values = call->distance_values;
    for (int i = 0; i < VECTORS; i++)
        rotary_attention_pack_vectors(pass->attention, &pass->vectors[i], shape);
    problem->packed_keys = pass->vectors[OF_KEYS].columns;
    problem->packed_queries = pass->vectors[OF_QUERIES].columns;
    problem->packed_values = pass->vectors[OF_VALUES].columns;
    problem->dropout = rotary_attention_dropout_mask_of(&call->dropout, sequence->query);
    rotary_attention_use_terms(pass->attention, problem);
    problem->queries = call->shape.queries;
    pass->queries = shape.queries;
    pass->key_lengths = call->key_lengths;
    rotary_attention_use_tables(pass->attention, &pass->tables, shape, problem);
}

const rotary_attention_problem *rotary_attention_problem_at(const struct attention_pass *pass,
                                                            int64_t sequence, rotary_attention_problem *own)
{
    if (!pass->key_lengths && !pass->tables.positions.queries && !pass->tables.positions.keys)
        return &pass->problem;
    *own = pass->problem;
    if (pass->key_lengths)
        own->keys = min_i64(own->keys, pass->key_lengths[sequence]);
    rotary_attention_use_sequence(&pass->tables, sequence, own);
    return own;
}

rotary_status rotary_attention_check_call(const rotary_attention *attention,
                                          const struct attention_call *call,
                                          const struct attention_operand *operands, int count,
                                          rotary_error *error)
{
    rotary_status status = rotary_attention_check_shape(call->shape, error);
    if (!status)
        status = rotary_attention_check_operands(attention, operands, count, error);
    if (!status)
        status = rotary_attention_check_bias(attention, &call->bias, call->shape, error);
    if (!status)
        status = rotary_attention_check_distance_bias(attention, &call->distance_bias, error);
    if (!status)
        status = rotary_attention_check_piecewise_bias(&call->piecewise_bias, error);
    if (!status)
        status = rotary_attention_check_vectors(
            attention,
            &(struct attention_vectors){&call->distance_keys, &call->distance_queries, &call->distance_values,
                                        call->query_bias, call->keys_rotated},
            error);
    if (!status)
        status = rotary_attention_check_dropout(&call->dropout, error);
    if (!status)
        status = rotary_attention_check_packed_sequences(call->shape, &call->packed_sequences, error);
    if (!status && call->key_lengths && call->packed_sequences.query_starts)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "key_lengths are given for packed sequences; wanted their key_starts instead");
    if (!status && call->key_positions && call->keys_rotated)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "key_positions are given with keys_rotated; wanted one of them");
    return status ? status : rotary_attention_check_key_lengths(call->key_lengths, call->shape, error);
}

rotary_status rotary_attention_run_call(const rotary_attention *attention, struct attention_call *call,
                                        rotary_error *error)
{
    rotary_attention_see_vectors(attention, &call->distance_keys);
    rotary_attention_see_vectors(attention, &call->distance_queries);
    rotary_attention_see_vectors(attention, &call->distance_values);
    size_t bytes = rotary_attention_workspace_bytes(attention, call);
    rotary_status status = rotary_attention_check_workspace(call->workspace, bytes, error);
    if (status)
        return status;
    if (call->distance_gradient)
        call->distance_sums = rotary_attention_distance_sums_of(attention, call);
    rotary_attention_run_packed_sequences(attention, call);
    return ROTARY_OK;
}
