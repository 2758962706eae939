/* SPDX-License-Identifier: Apache-2.0
 *
 * The forward and backward passes, logits and decoding. model/decoder_parts.h has the equations.
 */
#include "backend/profile.h"
#include "base/fail.h"
#include "base/integer.h"
#include "layer/residual.h"
#include "model/decoder_parts.h"

/* One call: its sizes, dropout (of probability 0 when not training), and, when decoding, the cache. */
struct pass {
    struct decoder *decoder;
    struct decoder_cache *cache;
    int64_t batch, time, rows;
    struct dropout dropout;
    rotary_error *error;
};

/* Dropout sites: 0 is the embedding, k the output of sublayer k. */
static struct dropout dropout_at(const struct pass *pass, int64_t site)
{
    struct dropout dropout = pass->dropout;
    dropout.site = (uint32_t)site;
    return dropout;
}

static struct attention_layer_saved attention_rows(const struct block *block, int64_t rows)
{
    struct attention_layer_saved saved = block->attention_saved;
    saved.qkv = first_rows(saved.qkv, rows);
    saved.context = first_rows(saved.context, rows);
    return saved;
}

static struct feed_forward_saved feed_forward_rows(const struct block *block, int64_t rows)
{
    struct feed_forward_saved saved = block->feed_forward_saved;
    saved.pre_activation = first_rows(saved.pre_activation, rows);
    saved.hidden = first_rows(saved.hidden, rows);
    return saved;
}

/* Sublayer k of h_(k-1), k = 1 ... 2 layers. */
static rotary_status sublayer_forward(const struct pass *pass, int64_t k)
{
    struct decoder *decoder = pass->decoder;
    struct block *block = &decoder->blocks[(k - 1) / 2];
    struct matrix in = first_rows(decoder->residual_norms[k - 1].normalised, pass->rows);
    struct matrix out = first_rows(decoder->sublayer_output, pass->rows);
    if (k % 2 == 0)
        return feed_forward_forward(&block->feed_forward, &decoder->parameters, out, in,
                                    feed_forward_rows(block, pass->rows), pass->error);
    struct attention_layer_saved saved = attention_rows(block, pass->rows);
    if (pass->cache) {
        const struct attention_layer_decode_call call = {.batch = pass->batch,
                                                         .time = pass->time,
                                                         .out = out,
                                                         .in = in,
                                                         .cache =
                                                             decoder_cache_layer(pass->cache, (k - 1) / 2),
                                                         .qkv = saved.qkv,
                                                         .context = saved.context,
                                                         .workspace = pass->cache->workspace};
        return attention_layer_decode(&block->attention, &decoder->parameters, &call, pass->error);
    }
    const struct attention_layer_forward_call call = {.batch = pass->batch,
                                                      .time = pass->time,
                                                      .out = out,
                                                      .in = in,
                                                      .saved = saved,
                                                      .workspace = decoder->attention_workspace};
    return attention_layer_forward(&block->attention, &decoder->parameters, &call, pass->error);
}

/* The gradient of h_(k-1) from that of the sublayer's output. */
static rotary_status sublayer_backward(const struct pass *pass, int64_t k)
{
    struct decoder *decoder = pass->decoder;
    struct block *block = &decoder->blocks[(k - 1) / 2];
    struct matrix in = first_rows(decoder->residual_norms[k - 1].normalised, pass->rows);
    struct matrix d_in = first_rows(decoder->d_normalised, pass->rows);
    struct matrix d_out = first_rows(decoder->sublayer_output, pass->rows);
    if (k % 2 == 0) {
        const struct feed_forward_backward_call call = {
            .d_in = d_in,
            .d_out = d_out,
            .in = in,
            .saved = feed_forward_rows(block, pass->rows),
            .d_hidden = first_rows(decoder->d_hidden, pass->rows),
            .d_pre_activation = first_rows(decoder->d_pre_activation, pass->rows)};
        return feed_forward_backward(&block->feed_forward, &decoder->parameters, &call, pass->error);
    }
    const struct attention_layer_backward_call call = {.batch = pass->batch,
                                                       .time = pass->time,
                                                       .d_in = d_in,
                                                       .d_out = d_out,
                                                       .in = in,
                                                       .saved = attention_rows(block, pass->rows),
                                                       .d_qkv = first_rows(decoder->d_qkv, pass->rows),
                                                       .d_context =
                                                           first_rows(decoder->d_context, pass->rows),
                                                       .workspace = decoder->attention_workspace};
    return attention_layer_backward(&block->attention, &decoder->parameters, &call, pass->error);
}

static bool is_pre_norm(const struct decoder *decoder)
{
    return decoder->config.norm_position == PRE_NORM;
}

/* Forward and backward each move about three f32 matrices and two of the storage type. */
static void record_norm_profile(const struct pass *pass, double begin, const char *what)
{
    const struct backend *backend = pass->decoder->backend;
    double elements = (double)pass->rows * (double)pass->decoder->config.hidden_size;
    profile_end(backend->profile, begin, "residual sum and norm", what, 0.0,
                elements * (3.0 * sizeof(float) + 2.0 * (double)rotary_dtype_size(backend->storage)));
}

/* sum_k and h_k (with post-norm also x_k) from the sublayer's output and the residual stream. */
static void residual_norm_forward(const struct pass *pass, int64_t k)
{
    struct decoder *decoder = pass->decoder;
    struct residual_norm *residual_norm = &decoder->residual_norms[k];
    struct norm_forward_call call = {
        .rows = pass->rows,
        .sublayer_output = first_rows(decoder->sublayer_output, pass->rows),
        .dropout = dropout_at(pass, k),
        .residual_sum = residual_norm->residual_sum,
        .normalised = first_rows(residual_norm->normalised, pass->rows),
        .mean = residual_norm->mean,
        .rstd = residual_norm->rstd,
    };
    if (is_pre_norm(decoder)) {
        call.residual = decoder->residual_norms[k - 1].residual_sum;
    } else {
        call.residual = decoder->residual[(k - 1) % 2];
        call.normalised_f32 = decoder->residual[k % 2];
    }
    double begin = profile_begin(decoder->backend->profile);
    norm_forward(&residual_norm->norm, decoder->backend, &decoder->parameters, &call);
    record_norm_profile(pass, begin, "forward");
}

/* The gradients of sum_k and of the output of sublayer k, from the gradient of h_k. decoder->d_residual holds
 * the gradient along the residual stream. With pre-norm it is the gradient of sum_k, and this adds to it;
 * with post-norm it is the gradient of x_k. `last`: k is 2L, the first in the backward pass: d_residual is
 * unset. */
static void residual_norm_backward(const struct pass *pass, int64_t k, bool last)
{
    struct decoder *decoder = pass->decoder;
    struct residual_norm *residual_norm = &decoder->residual_norms[k];
    struct norm_backward_call call = {
        .rows = pass->rows,
        .residual_sum = residual_norm->residual_sum,
        .mean = residual_norm->mean,
        .rstd = residual_norm->rstd,
        .d_normalised = first_rows(decoder->d_normalised, pass->rows),
        .accumulate = is_pre_norm(decoder) && !last,
        .d_normalised_f32 = !is_pre_norm(decoder) && !last ? decoder->d_residual : NULL,
        .d_residual = decoder->d_residual,
        .dropout = dropout_at(pass, k),
        .scratch = decoder->norm_scratch,
    };
    if (k > 0)
        call.d_sublayer_output = first_rows(decoder->sublayer_output, pass->rows);
    double begin = profile_begin(decoder->backend->profile);
    norm_backward(&residual_norm->norm, decoder->backend, &decoder->parameters, &call);
    record_norm_profile(pass, begin, "backward");
}

static void record_embedding_profile(const struct pass *pass, double begin, const char *what)
{
    double elements = (double)pass->rows * (double)pass->decoder->config.hidden_size;
    profile_end(pass->decoder->backend->profile, begin, "embedding", what, 0.0, elements * sizeof(float));
}

static struct embedding_call embedding_call_of(const struct pass *pass, const int32_t *tokens)
{
    return (struct embedding_call){.batch = pass->batch,
                                   .time = pass->time,
                                   .tokens = tokens,
                                   .first = pass->cache ? pass->cache->lengths : NULL,
                                   .dropout = dropout_at(pass, 0)};
}

static void embed(const struct pass *pass, const int32_t *tokens)
{
    struct decoder *decoder = pass->decoder;
    struct residual_norm *first = &decoder->residual_norms[0];
    float *stream = is_pre_norm(decoder) ? first->residual_sum : decoder->residual[0];
    const struct embedding_call embedding = embedding_call_of(pass, tokens);
    double begin = profile_begin(decoder->backend->profile);
    embedding_forward(&decoder->embedding, decoder->backend, &decoder->parameters, &embedding, stream);
    record_embedding_profile(pass, begin, "forward");
    struct matrix normalised = first_rows(first->normalised, pass->rows);
    if (!is_pre_norm(decoder)) {
        residual_cast(decoder->backend, normalised, stream);
        return;
    }
    struct norm_forward_call call = {.rows = pass->rows,
                                     .residual = stream,
                                     .normalised = normalised,
                                     .mean = first->mean,
                                     .rstd = first->rstd};
    norm_forward(&first->norm, decoder->backend, &decoder->parameters, &call);
}

static void embed_backward(const struct pass *pass, const int32_t *tokens)
{
    struct decoder *decoder = pass->decoder;
    if (is_pre_norm(decoder))
        residual_norm_backward(pass, 0, false);
    else
        residual_add(decoder->backend, decoder->d_residual, first_rows(decoder->d_normalised, pass->rows));
    double begin = profile_begin(decoder->backend->profile);
    const struct embedding_call call = embedding_call_of(pass, tokens);
    embedding_backward(&decoder->embedding, decoder->backend, &decoder->parameters, &call,
                       decoder->d_residual);
    record_embedding_profile(pass, begin, "backward");
}

static rotary_status forward(const struct pass *pass, const int32_t *tokens)
{
    embed(pass, tokens);
    int64_t sublayers = 2 * pass->decoder->config.num_hidden_layers;
    for (int64_t k = 1; k <= sublayers; k++) {
        rotary_status status = sublayer_forward(pass, k);
        if (status != ROTARY_OK)
            return status;
        residual_norm_forward(pass, k);
    }
    return ROTARY_OK;
}

/* h_2L of the pass, [rows, width]. */
static struct matrix last_hidden(const struct pass *pass)
{
    int64_t sublayers = 2 * pass->decoder->config.num_hidden_layers;
    return first_rows(pass->decoder->residual_norms[sublayers].normalised, pass->rows);
}

static rotary_status backward(const struct pass *pass, const int32_t *tokens)
{
    int64_t sublayers = 2 * pass->decoder->config.num_hidden_layers;
    for (int64_t k = sublayers; k >= 1; k--) {
        residual_norm_backward(pass, k, k == sublayers);
        rotary_status status = sublayer_backward(pass, k);
        if (status != ROTARY_OK)
            return status;
    }
    embed_backward(pass, tokens);
    return ROTARY_OK;
}

static rotary_status start_pass(struct pass *pass, int64_t batch, int64_t time, const int32_t *tokens)
{
    struct decoder *decoder = pass->decoder;
    if (batch < 1 || time < 1 || batch > decoder->limits.batch || time > decoder->limits.time)
        return rotary_fail(
            pass->error, ROTARY_INVALID_ARGUMENT,
            "a batch of %lld sequences of %lld tokens: this model was created for at most %lld of %lld",
            (long long)batch, (long long)time, (long long)decoder->limits.batch,
            (long long)decoder->limits.time);
    pass->batch = batch;
    pass->time = time;
    pass->rows = batch * time;
    return decoder_check_tokens(decoder, tokens, pass->rows, time - 1, pass->error);
}

rotary_status decoder_run(struct decoder *decoder, const struct decoder_batch *batch, struct loss_sums *loss,
                          rotary_error *error)
{
    struct pass pass = {.decoder = decoder, .error = error};
    if (batch->backward && !decoder->limits.training)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "a model created for inference has no backward pass");
    rotary_status status = start_pass(&pass, batch->batch, batch->time, batch->tokens);
    for (int64_t i = 0; status == ROTARY_OK && i < pass.rows; i++)
        if (batch->targets[i] < LOSS_IGNORED || batch->targets[i] >= decoder->config.vocab_size)
            status = rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                                 "target %lld is %d: wanted 0 ... %lld, the vocabulary, or -1", (long long)i,
                                 (int)batch->targets[i], (long long)decoder->config.vocab_size - 1);
    if (status != ROTARY_OK)
        return status;
    if (batch->backward)
        pass.dropout = (struct dropout){
            .probability = (float)decoder->config.dropout, .seed = batch->seed, .step = batch->micro_step};
    status = forward(&pass, batch->tokens);
    if (status != ROTARY_OK)
        return status;
    struct loss_call call = {
        .hidden = last_hidden(&pass), .targets = batch->targets, .gradient_scale = batch->gradient_scale};
    if (batch->backward)
        call.d_hidden = first_rows(decoder->d_normalised, pass.rows);
    status = loss_run(decoder->loss, &decoder->parameters, &call, loss, error);
    if (status != ROTARY_OK || !batch->backward)
        return status;
    return backward(&pass, batch->tokens);
}

rotary_status decoder_logits(struct decoder *decoder, int64_t batch, int64_t time, const int32_t *tokens,
                             float *logits, rotary_error *error)
{
    struct pass pass = {.decoder = decoder, .error = error};
    rotary_status status = start_pass(&pass, batch, time, tokens);
    if (status == ROTARY_OK)
        status = forward(&pass, tokens);
    if (status != ROTARY_OK)
        return status;
    return linear_forward(decoder->output, &decoder->parameters,
                          matrix_of(logits, ROTARY_F32, pass.rows, decoder->config.vocab_size),
                          last_hidden(&pass), MATMUL_EPILOGUE_NONE, error);
}

rotary_status decoder_decode(struct decoder *decoder, struct decoder_cache *cache, int64_t time,
                             const int32_t *tokens, float *logits, rotary_error *error)
{
    int64_t batch = cache->batch, width = decoder->config.hidden_size, longest = 0;
    for (int64_t b = 0; b < batch; b++)
        longest = max_i64(longest, cache->lengths[b]);
    if (time < 1 || time > decoder_rows(decoder->limits) / batch)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "%lld new tokens in each of %lld sequences: the model decodes 1 to %lld at once",
                           (long long)time, (long long)batch,
                           (long long)(decoder_rows(decoder->limits) / batch));
    if (longest + time > cache->capacity)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "%lld new tokens after %lld: the cache holds %lld",
                           (long long)time, (long long)longest, (long long)cache->capacity);
    rotary_status status = decoder_check_tokens(decoder, tokens, batch * time, longest + time - 1, error);
    if (status != ROTARY_OK)
        return status;
    struct pass pass = {.decoder = decoder,
                        .cache = cache,
                        .batch = batch,
                        .time = time,
                        .rows = batch * time,
                        .error = error};
    status = forward(&pass, tokens);
    if (status != ROTARY_OK)
        return status;
    for (int64_t b = 0; b < batch; b++)
        cache->lengths[b] += time;
    /* The last token of every sequence: rows time - 1, 2 time - 1, ... */
    struct matrix last = matrix_rows(last_hidden(&pass), time - 1, batch);
    last.stride = time * width;
    return linear_forward(decoder->output, &decoder->parameters,
                          matrix_of(logits, ROTARY_F32, batch, decoder->config.vocab_size), last,
                          MATMUL_EPILOGUE_NONE, error);
}
