/* SPDX-License-Identifier: Apache-2.0 */
#include "model/embedded_stack.h"

#include "backend/profile.h"

void embedded_stack_carve(struct embedded_stack *part, bool training, struct rotary_arena *arena,
                          struct rotary_arena *host)
{
    int64_t rows = embedded_stack_rows(part);
    if (!part->stack)
        return;
    stack_carve(part->stack, arena);
    part->tokens = rotary_arena_push(arena, rows, sizeof *part->tokens);
    part->positions = rotary_arena_push(arena, rows, sizeof *part->positions);
    if (part->embedding.type_table >= 0)
        part->types = rotary_arena_push(arena, rows, sizeof *part->types);
    embedding_carve(&part->embedding, rows, training, arena);
    part->host_positions = rotary_arena_push(host, rows, sizeof *part->host_positions);
}

void embedded_stack_destroy(struct embedded_stack *part)
{
    stack_destroy(part->stack);
    embedding_destroy(&part->embedding);
    distance_bias_destroy(&part->distance_bias);
    distance_rows_destroy(&part->distance_rows);
    attention_plans_destroy(&part->plans);
    *part = (struct embedded_stack){0};
}

struct stack_call embedded_stack_call(const struct token_sequences *input)
{
    const bool packed = input->starts != NULL;
    return (struct stack_call){.tokens = {.batch = packed ? 1 : input->batch,
                                          .time = packed ? token_rows(input) : input->time,
                                          .starts = input->starts,
                                          .sequences = packed ? input->batch : 0,
                                          .positions = input->positions}};
}

static void record_profile(const struct embedded_stack *part, double begin, const char *what,
                           const struct embedding_call *call)
{
    double elements = (double)(call->batch * call->time) * (double)part->embedding.width;
    profile_end(part->backend->profile, begin, "embedding", what, 0.0, elements * sizeof(float));
}

/* The sequences' tokens and their positions in the part's memory. */
static struct embedding_call embedding_call_of(const struct embedded_stack *part,
                                               const struct token_sequences *input,
                                               const struct stack_call *call)
{
    struct dropout dropout = call->dropout;
    dropout.site = part->dropout_site;
    return (struct embedding_call){.batch = call->tokens.batch,
                                   .time = call->tokens.time,
                                   .tokens = part->tokens,
                                   .positions = input->starts || input->positions ? part->positions : NULL,
                                   .types = input->segments ? part->types : NULL,
                                   .dropout = dropout};
}

static rotary_status write_rows(const struct embedded_stack *part, int32_t *to, const int32_t *host,
                                int64_t rows, rotary_error *error)
{
    return part->backend->operations->write(part->backend, to, host, (size_t)rows * sizeof *to, error);
}

static rotary_status write_tokens(const struct embedded_stack *part, const struct token_sequences *input,
                                  rotary_error *error)
{
    int64_t rows = token_rows(input);
    rotary_status status = write_rows(part, part->tokens, input->tokens, rows, error);
    if (status == ROTARY_OK && input->segments)
        status = write_rows(part, part->types, input->segments, rows, error);
    if (status == ROTARY_OK && input->positions)
        return write_rows(part, part->positions, input->positions, rows, error);
    if (status != ROTARY_OK || !input->starts)
        return status;
    for (int64_t s = 0; s < input->batch; s++)
        for (int32_t row = input->starts[s]; row < input->starts[s + 1]; row++)
            part->host_positions[row] = row - input->starts[s];
    return write_rows(part, part->positions, part->host_positions, rows, error);
}

rotary_status embedded_stack_embed(struct embedded_stack *part, const struct parameters *parameters,
                                   const struct embedding_call *call, rotary_error *error)
{
    double begin = profile_begin(part->backend->profile);
    rotary_status status =
        embedding_forward(&part->embedding, parameters, call, stack_input(part->stack), error);
    record_profile(part, begin, "forward", call);
    return status;
}

rotary_status embedded_stack_update(struct embedded_stack *part, const struct parameters *parameters,
                                    rotary_error *error)
{
    rotary_status status = distance_bias_update(&part->distance_bias, parameters, error);
    return status == ROTARY_OK ? distance_rows_update(&part->distance_rows, parameters, error) : status;
}

rotary_status embedded_stack_forward(struct embedded_stack *part, const struct parameters *parameters,
                                     const struct token_sequences *input, const struct stack_call *call,
                                     rotary_error *error)
{
    rotary_status status = write_tokens(part, input, error);
    if (status != ROTARY_OK)
        return status;
    const struct embedding_call embedding = embedding_call_of(part, input, call);
    status = embedded_stack_update(part, parameters, error);
    if (status == ROTARY_OK)
        status = embedded_stack_embed(part, parameters, &embedding, error);
    return status == ROTARY_OK ? stack_forward(part->stack, parameters, call, error) : status;
}

rotary_status embedded_stack_backward(struct embedded_stack *part, struct parameters *parameters,
                                      const struct token_sequences *input, const struct stack_call *call,
                                      rotary_error *error)
{
    rotary_status status = distance_bias_clear_gradient(&part->distance_bias, error);
    if (status == ROTARY_OK)
        status = distance_rows_clear_gradient(&part->distance_rows, error);
    if (status == ROTARY_OK)
        status = stack_backward(part->stack, parameters, call, error);
    if (status == ROTARY_OK)
        status = distance_bias_backward(&part->distance_bias, parameters, error);
    if (status == ROTARY_OK)
        status = distance_rows_backward(&part->distance_rows, parameters, error);
    if (status != ROTARY_OK)
        return status;
    const struct embedding_call embedding = embedding_call_of(part, input, call);
    double begin = profile_begin(part->backend->profile);
    status = embedding_backward(&part->embedding, parameters, &embedding, stack_input_gradient(part->stack),
                                error);
    record_profile(part, begin, "backward", &embedding);
    return status;
}
