/* SPDX-License-Identifier: Apache-2.0 */
#include "attention/attention_pass.h"

struct attention_pass rotary_attention_pass_of(const rotary_attention *attention)
{
    return (struct attention_pass){.attention = attention, .problem = rotary_attention_problem_of(attention)};
}

void rotary_attention_carve_pass(struct attention_pass *pass, rotary_attention_shape shape,
                                 size_t scratch_bytes, struct rotary_arena *arena)
{
    rotary_attention_carve_shape_tables(pass->attention, &pass->tables, shape, arena);
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
    problem->queries = call->shape.queries;
    pass->queries = shape.queries;
    rotary_attention_use_tables(pass->attention, &pass->tables, shape, problem);
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
        status = rotary_attention_check_packed_sequences(call->shape, &call->packed_sequences, error);
    return status;
}

rotary_status rotary_attention_run_call(const rotary_attention *attention, const struct attention_call *call,
                                        rotary_error *error)
{
    size_t bytes =
        rotary_attention_packed_sequences_bytes(attention, call->shape, &call->packed_sequences, call->bytes);
    rotary_status status = rotary_attention_check_workspace(call->workspace, bytes, error);
    if (!status)
        rotary_attention_run_packed_sequences(attention, call);
    return status;
}
