/* SPDX-License-Identifier: Apache-2.0
 *
 * The forward and backward passes of a transformer, and logits.
 */
#include "base/fail.h"
#include "model/encoding/random_positions.h"
#include "model/transformer_parts.h"

#include <math.h>
#include <string.h>

/* One call: its sequences, and the calls of the stacks, with dropout of probability 0 when not training. */
struct pass {
    struct transformer *transformer;
    struct token_sequences input, source;
    int64_t rows;
    struct stack_call main, encoder;
};

/* No micro-batch has this number, as the steps and micro-batches of a run are fewer. */
enum { EVALUATION_STEP = -1 };

static struct random_positions draw_of(const struct transformer *transformer, uint64_t seed, int64_t step,
                                       uint64_t sequence)
{
    return (struct random_positions){.positions = transformer->config.randomized_positions,
                                     .longest = transformer->config.max_position_embeddings,
                                     .seed = seed,
                                     .step = (uint32_t)step,
                                     .sequence = sequence};
}

void transformer_draw_evaluation(struct transformer *transformer, uint64_t seed)
{
    const struct random_positions draw = draw_of(transformer, seed, EVALUATION_STEP, 0);
    random_positions_draw(&draw, draw.longest, transformer->evaluation_positions);
}

/* The source's sequence has the odd one of two that have equal numbers. */
void transformer_place(const struct transformer *transformer, const struct embedded_stack *part,
                       const struct transformer_call *call, struct token_sequences *sequences)
{
    if (!transformer->evaluation_positions || sequences->positions)
        return;
    uint64_t encodes = part == &transformer->encoder;
    for (int64_t s = 0; s < sequences->batch; s++) {
        const int64_t tokens = sequence_length(sequences, s);
        int32_t *to = part->host_positions + sequence_start(sequences, s);
        if (call) {
            const struct random_positions draw = draw_of(transformer, call->seed, call->micro_step,
                                                         2 * (uint64_t)(call->begin.sequences + s) + encodes);
            random_positions_draw(&draw, tokens, to);
        } else {
            memcpy(to, transformer->evaluation_positions, (size_t)tokens * sizeof *to);
        }
    }
    sequences->positions = part->host_positions;
}

/* call: of a backward pass, or NULL. */
static struct pass pass_of(struct transformer *transformer, const struct batch *batch,
                           const struct transformer_call *call)
{
    struct pass pass = {.transformer = transformer,
                        .input = batch->input,
                        .source = batch->source,
                        .rows = token_rows(&batch->input)};
    transformer_place(transformer, &transformer->main, call, &pass.input);
    pass.main = embedded_stack_call(&pass.input);
    pass.main.watch = call ? call->watch : NULL;
    if (!transformer->encoder.stack)
        return pass;
    transformer_place(transformer, &transformer->encoder, call, &pass.source);
    pass.encoder = embedded_stack_call(&pass.source);
    return pass;
}

struct sublayer_source transformer_source(const struct transformer *transformer,
                                          const struct token_sequences *sources)
{
    const struct sublayer_tokens tokens = embedded_stack_call(sources).tokens;
    return (struct sublayer_source){.rows = stack_output(transformer->encoder.stack, sublayer_rows(&tokens)),
                                    .time = tokens.time,
                                    .starts = tokens.starts,
                                    .sequences = tokens.sequences,
                                    .positions = tokens.positions};
}

static rotary_status forward(struct pass *pass, rotary_error *error)
{
    struct transformer *transformer = pass->transformer;
    const struct parameters *parameters = &transformer->parameters;
    rotary_status status = ROTARY_OK;
    if (transformer->encoder.stack) {
        status =
            embedded_stack_forward(&transformer->encoder, parameters, &pass->source, &pass->encoder, error);
        pass->main.source = transformer_source(transformer, &pass->source);
    }
    if (status != ROTARY_OK)
        return status;
    return embedded_stack_forward(&transformer->main, parameters, &pass->input, &pass->main, error);
}

/* The decoder's layers add to the gradient of the encoder's output, from the last to the first. */
static rotary_status backward(struct pass *pass, rotary_error *error)
{
    struct transformer *transformer = pass->transformer;
    const struct backend *backend = transformer->backend;
    struct parameters *parameters = &transformer->parameters;
    rotary_status status = ROTARY_OK;
    if (transformer->encoder.stack) {
        int64_t elements = token_rows(&pass->source) * transformer->config.hidden_size;
        status = backend->operations->clear(backend, transformer->d_source,
                                            (size_t)elements * sizeof *transformer->d_source, error);
        pass->main.d_source = transformer->d_source;
        pass->encoder.d_output = transformer->d_source;
    }
    if (status == ROTARY_OK)
        status = embedded_stack_backward(&transformer->main, parameters, &pass->input, &pass->main, error);
    if (status != ROTARY_OK || !transformer->encoder.stack)
        return status;
    return embedded_stack_backward(&transformer->encoder, parameters, &pass->source, &pass->encoder, error);
}

/* The number of targets of a classifier. */
static int64_t count_targets(const struct batch *batch)
{
    return batch->choices > 0 ? batch->input.batch / batch->choices : batch->input.batch;
}

static rotary_status check_classes(const struct transformer *transformer, const struct batch *batch,
                                   rotary_error *error)
{
    const bool classifies = transformer->config.num_labels > 0;
    const int64_t targets = classifies ? count_targets(batch) : token_rows(&batch->input),
                  classes = batch->choices > 0 ? batch->choices : transformer_outputs(&transformer->config);
    for (int64_t i = 0; i < targets; i++)
        if (batch->classes[i] < BATCH_IGNORED || batch->classes[i] >= classes)
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                               "target %lld is %d: wanted 0 ... %lld, the %s, or -1", (long long)i,
                               (int)batch->classes[i], (long long)classes - 1,
                               batch->choices > 0 ? "choices"
                               : classifies       ? "labels"
                                                  : "vocabulary");
    return ROTARY_OK;
}

static rotary_status check_values(const struct batch *batch, rotary_error *error)
{
    for (int64_t i = 0; i < batch->input.batch; i++)
        if (!isfinite(batch->values[i]))
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                               "the target of sequence %lld is %g: wanted a finite number", (long long)i,
                               (double)batch->values[i]);
    return ROTARY_OK;
}

/* A classifier reads the first token of each sequence, or the mean of all. */
static rotary_status check_lengths(const struct token_sequences *input, rotary_error *error)
{
    for (int64_t s = 0; s < input->batch; s++)
        if (sequence_length(input, s) == 0)
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                               "sequence %lld has no tokens: wanted at least one, which a classifier reads",
                               (long long)s);
    return ROTARY_OK;
}

static rotary_status check_choices(const struct transformer *transformer, const struct batch *batch,
                                   rotary_error *error)
{
    if (transformer->config.num_labels != 1 || batch->choices < 2 || batch->values || !batch->classes)
        return rotary_fail(
            error, ROTARY_UNSUPPORTED,
            "a batch with %d choices for a model of num_labels %lld: wanted 2 or more, a class "
            "for each example, and num_labels 1",
            batch->choices, (long long)transformer->config.num_labels);
    if (batch->input.batch % batch->choices == 0)
        return ROTARY_OK;
    return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                       "a batch of %lld sequences with %d choices for each example: wanted a multiple",
                       (long long)batch->input.batch, batch->choices);
}

/* Whether the model wants what the batch has as targets. */
static rotary_status check_targets(const struct transformer *transformer, const struct batch *batch,
                                   rotary_error *error)
{
    const bool numbers = transformer->config.num_labels == 1;
    if (batch->choices != 0)
        return check_choices(transformer, batch, error);
    if (!numbers && (batch->values || !batch->classes))
        return rotary_fail(error, ROTARY_UNSUPPORTED, "a batch with %s: a transformer wants classes alone",
                           batch->values ? "real targets" : "no classes");
    if (numbers && (batch->classes || !batch->values))
        return rotary_fail(error, ROTARY_UNSUPPORTED,
                           "a batch with %s: a model of num_labels 1 wants real targets alone, or choices",
                           batch->classes ? "classes" : "no real targets");
    return ROTARY_OK;
}

static rotary_status check_call(const struct transformer *transformer, const struct transformer_call *call,
                                rotary_error *error)
{
    const struct batch *batch = call->batch;
    if (call->backward && !transformer->limits.training)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "a model created for inference has no backward pass");
    rotary_status status = check_targets(transformer, batch, error);
    if (status == ROTARY_OK)
        status = transformer_check_sequences(transformer, batch, error);
    if (status == ROTARY_OK && transformer->config.num_labels > 0)
        status = check_lengths(&batch->input, error);
    if (status == ROTARY_OK)
        status = batch->values ? check_values(batch, error) : check_classes(transformer, batch, error);
    return status;
}

static struct dropout dropout_of(const struct transformer_call *call, double probability, int64_t first_row)
{
    return (struct dropout){.probability = (float)probability,
                            .first_row = (uint32_t)first_row,
                            .seed = call->seed,
                            .step = call->micro_step};
}

/* first_token: of a part of a micro-batch. */
static void set_dropout(struct stack_call *stack, const struct transformer_call *call, int64_t first_token,
                        const struct transformer_config *config)
{
    const int64_t first_sequence = stack->tokens.starts ? first_token : call->begin.sequences;
    stack->dropout = dropout_of(call, config->dropout, first_token);
    stack->attention_dropout = dropout_of(call, config->attention_dropout, first_sequence);
    stack->activation_dropout = dropout_of(call, config->activation_dropout, first_token);
}

static rotary_status write_targets(const struct backend *backend, void *to, const void *host, int64_t count,
                                   rotary_error *error)
{
    return backend->operations->write(backend, to, host, (size_t)count * sizeof(int32_t), error);
}

/* The first token of each sequence, with the length of these where a classifier reads the mean. */
static void choose_sequences(const struct transformer *transformer, const struct token_sequences *input,
                             struct loss_rows *rows)
{
    rows->index = transformer->target_rows;
    rows->means = transformer->target_means;
    rows->count = input->batch;
    for (int64_t s = 0; s < rows->count; s++) {
        transformer->target_rows[s] = sequence_start(input, s);
        if (transformer->target_means)
            transformer->target_means[s] = sequence_length(input, s);
    }
}

/* The tokens that have a target, and these. */
static int64_t choose_targets(const int32_t *classes, int64_t tokens, int64_t *rows, int32_t *targets)
{
    int64_t count = 0;
    for (int64_t row = 0; row < tokens; row++) {
        if (classes[row] == BATCH_IGNORED)
            continue;
        rows[count] = row;
        targets[count++] = classes[row];
    }
    return count;
}

/* The rows of a call that the loss reads: all of a decoder, those with a target of an encoder, the first or
 * the mean of each sequence of a classifier. Writes their targets to the backend. */
static rotary_status choose_rows(const struct pass *pass, const struct batch *batch, struct loss_rows *rows,
                                 rotary_error *error)
{
    struct transformer *transformer = pass->transformer;
    const struct backend *backend = transformer->backend;
    *rows = (struct loss_rows){.hidden = stack_output(transformer->main.stack, pass->rows),
                               .index = transformer->target_rows};
    if (!rows->index)
        return write_targets(backend, transformer->targets, batch->classes, pass->rows, error);
    if (transformer->config.num_labels == 0) {
        rows->count =
            choose_targets(batch->classes, pass->rows, transformer->target_rows, transformer->host_targets);
        return write_targets(backend, transformer->targets, transformer->host_targets, rows->count, error);
    }
    choose_sequences(transformer, &batch->input, rows);
    if (batch->values)
        return write_targets(backend, transformer->values, batch->values, rows->count, error);
    return write_targets(backend, transformer->targets, batch->classes, count_targets(batch), error);
}

/* Losses of the rows that were read, in their order, go to these rows. The rows ascend, and none is before
 * its place in the order. */
static void place_losses(const struct loss_rows *rows, float *losses)
{
    for (int64_t i = rows->count - 1; i >= 0; i--)
        losses[rows->index[i]] = losses[i];
}

/* Dropout of a classifier has the site after those of the stack. */
static struct dropout head_dropout(const struct transformer *transformer, const struct transformer_call *call)
{
    const struct dropout none = {0};
    if (!call->backward || transformer->config.num_labels == 0)
        return none;
    struct dropout dropout = dropout_of(call, transformer->config.dropout, call->begin.sequences);
    dropout.site = transformer_head_site(&transformer->config);
    return dropout;
}

rotary_status transformer_run(struct transformer *transformer, const struct transformer_call *call,
                              struct loss_sums *loss, rotary_error *error)
{
    rotary_status status = check_call(transformer, call, error);
    if (status != ROTARY_OK)
        return status;
    struct pass pass = pass_of(transformer, call->batch, call->backward ? call : NULL);
    if (call->backward) {
        set_dropout(&pass.main, call, call->begin.tokens, &transformer->config);
        set_dropout(&pass.encoder, call, call->begin.source_tokens, &transformer->config);
    }
    struct loss_call loss_call = {.targets = transformer->targets,
                                  .values = call->batch->values ? transformer->values : NULL,
                                  .choices = call->batch->choices,
                                  .gradient_scale = call->gradient_scale,
                                  .dropout = head_dropout(transformer, call),
                                  .losses = call->losses};
    status = forward(&pass, error);
    if (status == ROTARY_OK)
        status = choose_rows(&pass, call->batch, &loss_call.rows, error);
    if (status != ROTARY_OK)
        return status;
    if (call->backward)
        loss_call.d_hidden = stack_output_gradient(transformer->main.stack, pass.rows);
    status = loss_run(transformer->loss, &transformer->parameters, &loss_call, loss, error);
    if (status == ROTARY_OK && call->losses && loss_call.rows.index)
        place_losses(&loss_call.rows, call->losses);
    if (status != ROTARY_OK || !call->backward)
        return status;
    return backward(&pass, error);
}

/* Logits of the rows that are read, whose `hidden` follows here, after a forward pass. */
static rotary_status logits_of(struct transformer *transformer, const struct batch *batch,
                               struct loss_rows rows, float *logits, rotary_error *error)
{
    struct pass pass = pass_of(transformer, batch, NULL);
    rotary_status status = forward(&pass, error);
    if (status != ROTARY_OK)
        return status;
    rows.hidden = stack_output(transformer->main.stack, pass.rows);
    return loss_logits(transformer->loss, &transformer->parameters, &rows, logits, error);
}

rotary_status transformer_logits(struct transformer *transformer, const struct batch *batch, float *logits,
                                 rotary_error *error)
{
    rotary_status status = transformer_check_sequences(transformer, batch, error);
    if (status == ROTARY_OK && transformer->config.num_labels > 0)
        status = check_lengths(&batch->input, error);
    if (status != ROTARY_OK)
        return status;
    struct loss_rows read = {0};
    if (transformer->config.num_labels > 0)
        choose_sequences(transformer, &batch->input, &read);
    return logits_of(transformer, batch, read, logits, error);
}

static rotary_status check_rows(const struct transformer *transformer, const struct batch *batch,
                                const int64_t *rows, int64_t count, rotary_error *error)
{
    const int64_t tokens = token_rows(&batch->input);
    if (transformer->config.architecture != ARCHITECTURE_ENCODER || transformer->config.num_labels > 0)
        return rotary_fail(error, ROTARY_UNSUPPORTED,
                           "logits of some tokens of a batch: wanted an encoder that names tokens");
    for (int64_t i = 0; i < count; i++)
        if (rows[i] < (i > 0 ? rows[i - 1] + 1 : 0) || rows[i] >= tokens)
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                               "logits of token %lld: wanted tokens of a batch of %lld, in ascending order",
                               (long long)rows[i], (long long)tokens);
    return ROTARY_OK;
}

rotary_status transformer_row_logits(struct transformer *transformer, const struct batch *batch,
                                     const int64_t *rows, int64_t count, float *logits, rotary_error *error)
{
    rotary_status status = transformer_check_sequences(transformer, batch, error);
    if (status == ROTARY_OK)
        status = check_rows(transformer, batch, rows, count, error);
    const struct loss_rows read = {.index = rows, .count = count};
    return status == ROTARY_OK ? logits_of(transformer, batch, read, logits, error) : status;
}

rotary_status transformer_observe(struct transformer *transformer, const struct batch *batch,
                                  const struct attention_observer *observer, rotary_error *error)
{
    rotary_status status = transformer_check_sequences(transformer, batch, error);
    if (status != ROTARY_OK)
        return status;
    struct pass pass = pass_of(transformer, batch, NULL);
    pass.encoder.observer = pass.main.observer = observer;
    return forward(&pass, error);
}
