/* SPDX-License-Identifier: Apache-2.0
 *
 * What a transformer accepts as tokens.
 */
#include "base/fail.h"
#include "base/integer.h"
#include "model/transformer_parts.h"

rotary_status transformer_check_tokens(const struct embedded_stack *part, const int32_t *tokens,
                                       int64_t count, rotary_error *error)
{
    for (int64_t i = 0; i < count; i++)
        if (tokens[i] < 0 || tokens[i] >= part->vocabulary)
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                               "token %lld is %d: wanted 0 ... %lld, the vocabulary", (long long)i,
                               (int)tokens[i], (long long)part->vocabulary - 1);
    return ROTARY_OK;
}

rotary_status transformer_check_position(const struct transformer *transformer, int64_t last,
                                         rotary_error *error)
{
    const struct position_encoding *encoding = transformer->encoding.terms;
    bool table = encoding->embedding != EMBEDDING_POSITION_NONE || encoding->distance_bias ||
                 encoding->distance_vectors.rows == DISTANCE_ROWS_SINUSOIDS;
    int64_t positions = transformer_positions(&transformer->config);
    if ((table || transformer->evaluation_positions) && last >= positions)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "position %lld: the model has positions 0 ... %lld", (long long)last,
                           (long long)positions - 1);
    return ROTARY_OK;
}

rotary_status transformer_check_last(const struct transformer *transformer, int64_t last, rotary_error *error)
{
    int64_t longest = transformer->config.max_position_embeddings;
    if (!transformer->evaluation_positions)
        return transformer_check_position(transformer, last, error);
    if (last >= longest)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "a sequence of %lld tokens: the model has max_position_embeddings %lld, and the "
                           "random positions of as many tokens",
                           (long long)last + 1, (long long)longest);
    return ROTARY_OK;
}

static rotary_status check_starts(const struct transformer *transformer, const struct token_sequences *input,
                                  rotary_error *error)
{
    const int32_t *starts = input->starts;
    int64_t longest = 0;
    if (!transformer->limits.packed)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "packed sequences: the model was not created for them");
    if (starts[0] != 0)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "packed sequences start at %d: wanted 0",
                           (int)starts[0]);
    for (int64_t s = 0; s < input->batch; s++) {
        if (starts[s + 1] < starts[s])
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                               "packed sequence %lld starts at %d and ends at %d: wanted an end that is not "
                               "before the start",
                               (long long)s, (int)starts[s], (int)starts[s + 1]);
        longest = max_i64(longest, starts[s + 1] - starts[s]);
    }
    return input->positions ? ROTARY_OK : transformer_check_last(transformer, longest - 1, error);
}

static rotary_status check_positions(const struct transformer *transformer,
                                     const struct token_sequences *input, rotary_error *error)
{
    rotary_status status = ROTARY_OK;
    if (!input->positions)
        return input->starts ? ROTARY_OK : transformer_check_last(transformer, input->time - 1, error);
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

static rotary_status check_segments(const struct transformer *transformer,
                                    const struct token_sequences *input, rotary_error *error)
{
    const int64_t types = transformer->config.type_vocab_size;
    if (types == 0)
        return rotary_fail(error, ROTARY_UNSUPPORTED,
                           "a batch with segments: a model without a type_vocab_size does not read them");
    for (int64_t row = 0; row < token_rows(input); row++)
        if (input->segments[row] < 0 || input->segments[row] >= types)
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                               "the segment of token %lld is %d: wanted 0 ... %lld, below type_vocab_size",
                               (long long)row, (int)input->segments[row], (long long)types - 1);
    return ROTARY_OK;
}

static rotary_status check_input(const struct transformer *transformer, const struct embedded_stack *part,
                                 const struct token_sequences *input, rotary_error *error)
{
    rotary_status status = ROTARY_OK;
    if (input->batch >= 1 && input->starts)
        status = check_starts(transformer, input, error);
    const bool fits = input->starts ? token_rows(input) <= embedded_stack_rows(part)
                                    : input->batch <= part->batch && input->time <= part->time;
    if (status == ROTARY_OK && (input->batch < 1 || token_rows(input) < 1 || !fits))
        return rotary_fail(
            error, ROTARY_INVALID_ARGUMENT,
            "a batch of %lld sequences of %lld tokens: this model was created for at most %lld of %lld",
            (long long)input->batch, (long long)(input->starts ? token_rows(input) : input->time),
            (long long)part->batch, (long long)part->time);
    if (status == ROTARY_OK && input->segments)
        status = check_segments(transformer, input, error);
    if (status == ROTARY_OK)
        status = check_positions(transformer, input, error);
    return status == ROTARY_OK ? transformer_check_tokens(part, input->tokens, token_rows(input), error)
                               : status;
}

rotary_status transformer_check_sources(const struct transformer *transformer,
                                        const struct token_sequences *sources, rotary_error *error)
{
    rotary_error inner = {0};
    if (!transformer->encoder.stack)
        return rotary_fail(error, ROTARY_UNSUPPORTED, "a batch with a source: %s does not read it",
                           transformer->config.architecture == ARCHITECTURE_ENCODER
                               ? "an encoder without a decoder"
                               : "a decoder without an encoder");
    if (sources->batch == 0)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "a batch without a source: an encoder-decoder wants one");
    rotary_status status = check_input(transformer, &transformer->encoder, sources, &inner);
    return status == ROTARY_OK ? ROTARY_OK : rotary_fail(error, status, "the source: %s", inner.message);
}

/* Every sequence has its source. */
static rotary_status check_pairs(const struct token_sequences *input, const struct token_sequences *sources,
                                 rotary_error *error)
{
    if (!input->starts != !sources->starts)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "starts of %s alone: wanted them of sequences and sources, or of neither",
                           input->starts ? "sequences" : "sources");
    if (input->batch != sources->batch)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "%lld sequences with %lld sources: wanted one for each", (long long)input->batch,
                           (long long)sources->batch);
    return ROTARY_OK;
}

rotary_status transformer_check_sequences(const struct transformer *transformer, const struct batch *batch,
                                          rotary_error *error)
{
    rotary_status status = check_input(transformer, &transformer->main, &batch->input, error);
    if (status == ROTARY_OK && (transformer->encoder.stack || batch->source.batch != 0))
        status = transformer_check_sources(transformer, &batch->source, error);
    if (status == ROTARY_OK && transformer->encoder.stack)
        status = check_pairs(&batch->input, &batch->source, error);
    return status;
}
