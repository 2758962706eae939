/* SPDX-License-Identifier: Apache-2.0 */
#include "benchmark/operations.h"

static double output_parameters(const struct transformer_config *model)
{
    double width = (double)model->hidden_size, transform = model->output_transform ? width * width : 0.0;
    if (model->num_labels > 0)
        return width * (width + (double)model->num_labels);
    return width * (double)model->vocab_size + transform;
}

double operations_matmul_parameters(const struct transformer_config *model)
{
    double width = (double)model->hidden_size, layers = (double)model->num_hidden_layers,
           context = (double)(model->num_attention_heads * model->head_dim),
           keys = (double)(model->num_key_value_heads * model->head_dim),
           up = transformer_is_gated(model) ? 2.0 : 1.0,
           projections = model->key_is_value == KEY_IS_VALUE_NO ? 2.0 : 1.0; /* of keys, and of values */
    return layers * (width * (2.0 * context + projections * keys) +
                     (up + 1.0) * width * (double)model->intermediate_size) +
           output_parameters(model);
}

double operations_attention(const struct transformer_config *model, double keys)
{
    return (double)model->num_hidden_layers * 4.0 * (double)(model->num_attention_heads * model->head_dim) *
           keys;
}

/* Tokens of all sequences, and pairs of a query and a key. */
struct work {
    double tokens, sources, causal_pairs, all_pairs, source_pairs, cross_pairs;
};

static struct work work_of(const struct batch *batch)
{
    struct work work = {.tokens = 0.0};
    const struct token_sequences *input = &batch->input;
    for (int64_t i = 0; i < input->batch; i++) {
        const double tokens = (double)sequence_length(input, i),
                     sources = batch->source.batch > 0 ? (double)sequence_length(&batch->source, i) : 0;
        work.tokens += tokens;
        work.sources += sources;
        work.causal_pairs += tokens * (tokens + 1.0) / 2.0;
        work.all_pairs += tokens * tokens;
        work.source_pairs += sources * sources;
        work.cross_pairs += tokens * sources;
    }
    return work;
}

/* Tokens that the output projection is computed for. */
static double output_tokens(const struct transformer_config *model, const struct batch *batch)
{
    int64_t count = 0;
    if (model->num_labels > 0)
        return (double)batch->input.batch;
    for (int64_t row = 0; row < token_rows(&batch->input); row++)
        count += batch->classes[row] != BATCH_IGNORED;
    return (double)count;
}

double operations_training(const struct transformer_config *model, const struct batch *batch)
{
    const struct work work = work_of(batch);
    const double decoder = operations_matmul_parameters(model), width = (double)model->hidden_size,
                 context = (double)(model->num_attention_heads * model->head_dim),
                 keys = (double)(model->num_key_value_heads * model->head_dim),
                 layers = (double)model->num_hidden_layers;
    double matmul = work.tokens * decoder, attention = operations_attention(model, work.causal_pairs);
    if (model->architecture == ARCHITECTURE_ENCODER) {
        matmul -= (work.tokens - output_tokens(model, batch)) * output_parameters(model);
        attention = operations_attention(model, work.all_pairs);
    }
    if (transformer_has_encoder(model)) {
        struct transformer_config encoder = *model;
        if (model->num_encoder_layers > 0)
            encoder.num_hidden_layers = model->num_encoder_layers;
        encoder.vocab_size = 0;
        matmul += work.sources * operations_matmul_parameters(&encoder);
        matmul += layers * width * (work.tokens * 2.0 * context + work.sources * 2.0 * keys);
        attention +=
            operations_attention(&encoder, work.source_pairs) + operations_attention(model, work.cross_pairs);
    }
    return 6.0 * matmul + 3.5 * attention;
}
