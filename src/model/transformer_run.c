/* SPDX-License-Identifier: Apache-2.0
 *
 * The forward and backward passes of a transformer, and logits.
 */
#include "backend/profile.h"
#include "base/fail.h"
#include "base/integer.h"
#include "model/transformer_parts.h"

static void record_embedding_profile(const struct transformer *transformer, double begin, const char *what,
                                     int64_t rows)
{
    double elements = (double)rows * (double)transformer->config.hidden_size;
    profile_end(transformer->backend->profile, begin, "embedding", what, 0.0, elements * sizeof(float));
}

/* The sequences' tokens and their positions in memory of the transformer. */
static struct embedding_call embedding_call_of(struct transformer *transformer,
                                               const struct token_sequences *input, struct dropout dropout)
{
    struct embedding_call call = {
        .batch = input->batch, .time = input->time, .tokens = transformer->tokens, .dropout = dropout};
    if (input->starts || input->positions)
        call.positions = transformer->positions;
    return call;
}

static rotary_status write_rows(const struct transformer *transformer, int32_t *to, const int32_t *host,
                                int64_t rows, rotary_error *error)
{
    const struct backend *backend = transformer->backend;
    return backend->operations->write(backend, to, host, (size_t)rows * sizeof *to, error);
}

static rotary_status write_tokens(struct transformer *transformer, const struct token_sequences *input,
                                  rotary_error *error)
{
    int64_t rows = token_rows(input);
    rotary_status status = write_rows(transformer, transformer->tokens, input->tokens, rows, error);
    for (int64_t b = 0; input->lengths && b < input->batch; b++)
        transformer->host_lengths[b] = input->lengths[b];
    if (status == ROTARY_OK && input->positions)
        return write_rows(transformer, transformer->positions, input->positions, rows, error);
    if (status != ROTARY_OK || !input->starts)
        return status;
    for (int64_t s = 0; s < input->sequences; s++)
        for (int32_t row = input->starts[s]; row < input->starts[s + 1]; row++)
            transformer->host_positions[row] = row - input->starts[s];
    return write_rows(transformer, transformer->positions, transformer->host_positions, rows, error);
}

/* One call: its sequences and dropout (of probability 0 when not training). */
struct pass {
    struct transformer *transformer;
    const struct token_sequences *input;
    int64_t rows;
    struct stack_call stack;
};

static struct pass pass_of(struct transformer *transformer, const struct token_sequences *input)
{
    return (struct pass){.transformer = transformer,
                         .input = input,
                         .rows = token_rows(input),
                         .stack = {.tokens = {.batch = input->batch,
                                              .time = input->time,
                                              .starts = input->starts,
                                              .sequences = input->sequences,
                                              .lengths = input->lengths ? transformer->host_lengths : NULL,
                                              .positions = input->positions}}};
}

static rotary_status forward(const struct pass *pass, rotary_error *error)
{
    struct transformer *transformer = pass->transformer;
    rotary_status status = write_tokens(transformer, pass->input, error);
    if (status != ROTARY_OK)
        return status;
    const struct embedding_call call = embedding_call_of(transformer, pass->input, pass->stack.dropout);
    double begin = profile_begin(transformer->backend->profile);
    status = embedding_forward(&transformer->embedding, &transformer->parameters, &call,
                               stack_input(transformer->stack), error);
    record_embedding_profile(transformer, begin, "forward", pass->rows);
    if (status != ROTARY_OK)
        return status;
    return stack_forward(transformer->stack, &transformer->parameters, &pass->stack, error);
}

static rotary_status backward(const struct pass *pass, rotary_error *error)
{
    struct transformer *transformer = pass->transformer;
    rotary_status status = stack_backward(transformer->stack, &transformer->parameters, &pass->stack, error);
    if (status != ROTARY_OK)
        return status;
    const struct embedding_call call = embedding_call_of(transformer, pass->input, pass->stack.dropout);
    double begin = profile_begin(transformer->backend->profile);
    status = embedding_backward(&transformer->embedding, &transformer->parameters, &call,
                                stack_input_gradient(transformer->stack), error);
    record_embedding_profile(transformer, begin, "backward", pass->rows);
    return status;
}

static rotary_status check_starts(const struct transformer *transformer, const struct token_sequences *input,
                                  rotary_error *error)
{
    const int32_t *starts = input->starts;
    int64_t longest = 0;
    if (!transformer->limits.packed)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "packed sequences: the model was not created for them");
    if (input->batch != 1 || input->sequences < 1 || starts[0] != 0 ||
        starts[input->sequences] != input->time)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "packed sequences: wanted a batch of 1, and starts of at least 1 sequence from 0 "
                           "to %lld, the number of tokens",
                           (long long)input->time);
    for (int64_t s = 0; s < input->sequences; s++) {
        if (starts[s + 1] < starts[s])
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                               "packed sequence %lld starts at %d and ends at %d: wanted an end that is not "
                               "before the start",
                               (long long)s, (int)starts[s], (int)starts[s + 1]);
        longest = max_i64(longest, starts[s + 1] - starts[s]);
    }
    return input->positions ? ROTARY_OK : transformer_check_position(transformer, longest - 1, error);
}

static rotary_status check_lengths(const struct token_sequences *input, rotary_error *error)
{
    if (input->lengths && input->starts)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "packed sequences with lengths: wanted starts alone, or padded sequences");
    for (int64_t b = 0; input->lengths && b < input->batch; b++)
        if (input->lengths[b] < 0 || input->lengths[b] > input->time)
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                               "the length of sequence %lld is %d: wanted 0 to %lld, the tokens it has",
                               (long long)b, (int)input->lengths[b], (long long)input->time);
    return ROTARY_OK;
}

static rotary_status check_positions(const struct transformer *transformer,
                                     const struct token_sequences *input, rotary_error *error)
{
    rotary_status status = ROTARY_OK;
    if (!input->positions)
        return input->starts ? ROTARY_OK : transformer_check_position(transformer, input->time - 1, error);
    if (!transformer->limits.positions)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "positions of tokens: the model was not created for them");
    for (int64_t row = 0; status == ROTARY_OK && row < token_rows(input); row++) {
        if (input->positions[row] < 0)
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                               "the position of token %lld is %d: wanted 0 or more", (long long)row,
                               (int)input->positions[row]);
        status = transformer_check_position(transformer, input->positions[row], error);
    }
    return status;
}

static rotary_status check_input(const struct transformer *transformer, const struct token_sequences *input,
                                 rotary_error *error)
{
    struct transformer_limits limits = transformer->limits;
    bool fits = input->starts ? input->time <= transformer_rows(limits)
                              : input->batch <= limits.batch && input->time <= limits.time;
    if (input->batch < 1 || input->time < 1 || !fits)
        return rotary_fail(
            error, ROTARY_INVALID_ARGUMENT,
            "a batch of %lld sequences of %lld tokens: this model was created for at most %lld of %lld",
            (long long)input->batch, (long long)input->time, (long long)limits.batch, (long long)limits.time);
    if (input->segments)
        return rotary_fail(error, ROTARY_UNSUPPORTED,
                           "a batch with segments: a transformer does not read them");
    rotary_status status = input->starts ? check_starts(transformer, input, error) : ROTARY_OK;
    if (status == ROTARY_OK)
        status = check_lengths(input, error);
    if (status == ROTARY_OK)
        status = check_positions(transformer, input, error);
    return status == ROTARY_OK
               ? transformer_check_tokens(transformer, input->tokens, token_rows(input), error)
               : status;
}

static rotary_status check_call(const struct transformer *transformer, const struct transformer_call *call,
                                rotary_error *error)
{
    const struct batch *batch = call->batch;
    if (call->backward && !transformer->limits.training)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "a model created for inference has no backward pass");
    if (batch->source.batch != 0 || batch->values || !batch->classes)
        return rotary_fail(error, ROTARY_UNSUPPORTED, "a batch with %s: a transformer wants classes alone",
                           batch->source.batch != 0 ? "a source"
                           : batch->values          ? "real targets"
                                                    : "no classes");
    rotary_status status = check_input(transformer, &batch->input, error);
    for (int64_t i = 0; status == ROTARY_OK && i < token_rows(&batch->input); i++)
        if (batch->classes[i] < BATCH_IGNORED || batch->classes[i] >= transformer->config.vocab_size)
            status = rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                                 "target %lld is %d: wanted 0 ... %lld, the vocabulary, or -1", (long long)i,
                                 (int)batch->classes[i], (long long)transformer->config.vocab_size - 1);
    return status;
}

static struct dropout dropout_of(const struct transformer_call *call, double probability)
{
    return (struct dropout){.probability = (float)probability, .seed = call->seed, .step = call->micro_step};
}

rotary_status transformer_run(struct transformer *transformer, const struct transformer_call *call,
                              struct loss_sums *loss, rotary_error *error)
{
    rotary_status status = check_call(transformer, call, error);
    if (status != ROTARY_OK)
        return status;
    struct pass pass = pass_of(transformer, &call->batch->input);
    if (call->backward) {
        pass.stack.dropout = dropout_of(call, transformer->config.dropout);
        pass.stack.attention_dropout = dropout_of(call, transformer->config.attention_dropout);
    }
    status = forward(&pass, error);
    if (status == ROTARY_OK)
        status = write_rows(transformer, transformer->targets, call->batch->classes, pass.rows, error);
    if (status != ROTARY_OK)
        return status;
    struct loss_call loss_call = {.hidden = stack_output(transformer->stack, pass.rows),
                                  .targets = transformer->targets,
                                  .gradient_scale = call->gradient_scale};
    if (call->backward)
        loss_call.d_hidden = stack_output_gradient(transformer->stack, pass.rows);
    status = loss_run(transformer->loss, &transformer->parameters, &loss_call, loss, error);
    if (status != ROTARY_OK || !call->backward)
        return status;
    return backward(&pass, error);
}

rotary_status transformer_logits(struct transformer *transformer, const struct token_sequences *input,
                                 float *logits, rotary_error *error)
{
    rotary_status status = check_input(transformer, input, error);
    if (status != ROTARY_OK)
        return status;
    const struct pass pass = pass_of(transformer, input);
    status = forward(&pass, error);
    if (status != ROTARY_OK)
        return status;
    return loss_logits(transformer->loss, &transformer->parameters,
                       stack_output(transformer->stack, pass.rows), logits, error);
}

rotary_status transformer_observe(struct transformer *transformer, const struct token_sequences *input,
                                  const struct attention_observer *observer, rotary_error *error)
{
    rotary_status status = check_input(transformer, input, error);
    if (status != ROTARY_OK)
        return status;
    struct pass pass = pass_of(transformer, input);
    pass.stack.observer = observer;
    return forward(&pass, error);
}
