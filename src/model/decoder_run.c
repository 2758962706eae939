/* SPDX-License-Identifier: Apache-2.0
 *
 * The forward pass and, beside it, the backward pass. model/decoder_parts.h has the equations.
 */
#include "base/fail.h"
#include "layer/residual.h"
#include "model/decoder_parts.h"
#include "tensor/profile.h"

/* Dropout sites are numbered: 0 the embedding, k the output of sublayer k. */
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

/* branch = sublayer k of h_(k-1), k = 1 ... 2 layers. */
static rotary_status sublayer_forward(const struct pass *pass, int64_t k)
{
    struct decoder *decoder = pass->decoder;
    struct block *block = &decoder->blocks[(k - 1) / 2];
    struct matrix in = first_rows(decoder->residual_norms[k - 1].normalised, pass->rows);
    struct matrix out = first_rows(decoder->sublayer_output, pass->rows);
    if (k % 2 == 1 && pass->cache) {
        struct attention_layer_saved saved = attention_rows(block, pass->rows);
        return attention_layer_decode(&block->attention, &decoder->parameters, out, in, pass->batch,
                                      pass->time, decoder_cache_layer(pass->cache, (k - 1) / 2), saved.qkv,
                                      saved.context, pass->cache->workspace, pass->error);
    }
    if (k % 2 == 1)
        return attention_layer_forward(&block->attention, &decoder->parameters, out, in, pass->batch,
                                       pass->time, attention_rows(block, pass->rows),
                                       decoder->attention_workspace, pass->error);
    return feed_forward_forward(&block->feed_forward, &decoder->parameters, out, in,
                                feed_forward_rows(block, pass->rows), pass->error);
}

/* d h_(k-1) from d branch. */
static rotary_status sublayer_backward(const struct pass *pass, int64_t k)
{
    struct decoder *decoder = pass->decoder;
    struct block *block = &decoder->blocks[(k - 1) / 2];
    struct matrix in = first_rows(decoder->residual_norms[k - 1].normalised, pass->rows);
    struct matrix d_in = first_rows(decoder->d_normalised, pass->rows);
    struct matrix d_out = first_rows(decoder->sublayer_output, pass->rows);
    if (k % 2 == 1)
        return attention_layer_backward(
            &block->attention, &decoder->parameters, d_in, d_out, in, pass->batch, pass->time,
            attention_rows(block, pass->rows), first_rows(decoder->d_qkv, pass->rows),
            first_rows(decoder->d_context, pass->rows), decoder->attention_workspace, pass->error);
    return feed_forward_backward(&block->feed_forward, &decoder->parameters, d_in, d_out, in,
                                 feed_forward_rows(block, pass->rows),
                                 first_rows(decoder->d_hidden, pass->rows),
                                 first_rows(decoder->d_pre_activation, pass->rows), pass->error);
}

static bool is_pre_norm(const struct decoder *decoder)
{
    return decoder->config.norm_position == NORM_PRE;
}

/* Forward and backward alike three passes over f32 rows (residual, sum; sum, gradient in, gradient out) and
 * two over rows of the storage type. */
static void record_norm_profile(const struct pass *pass, double begin, const char *what)
{
    const struct compute *compute = pass->decoder->compute;
    double elements = (double)pass->rows * (double)pass->decoder->config.hidden_size;
    profile_end(compute->profile, begin, "residual sum and norm", what, 0.0,
                elements * (3.0 * sizeof(float) + 2.0 * (double)rotary_dtype_size(compute->storage)));
}

/* sum_k and h_k (and, of post-norm, x_k) from the branch and what the residual stream held. */
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
    double begin = profile_begin(decoder->compute->profile);
    norm_forward(&residual_norm->norm, decoder->compute, &decoder->parameters, &call);
    record_norm_profile(pass, begin, "forward");
}

/* d sum_k, and the gradient of the branch that was added there, from d h_k. In decoder->d_residual stands
 * what came down the residual stream: for pre-norm the gradient of sum_k, to be added to; for post-norm that
 * of x_k = h_k. */
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
    double begin = profile_begin(decoder->compute->profile);
    norm_backward(&residual_norm->norm, decoder->compute, &decoder->parameters, &call);
    record_norm_profile(pass, begin, "backward");
}

static void record_embedding_profile(const struct pass *pass, double begin, const char *what)
{
    double elements = (double)pass->rows * (double)pass->decoder->config.hidden_size;
    profile_end(pass->decoder->compute->profile, begin, "embedding", what, 0.0, elements * sizeof(float));
}

static void embed(const struct pass *pass, const int32_t *tokens)
{
    struct decoder *decoder = pass->decoder;
    struct residual_norm *first = &decoder->residual_norms[0];
    float *stream = is_pre_norm(decoder) ? first->residual_sum : decoder->residual[0];
    double begin = profile_begin(decoder->compute->profile);
    embedding_forward(&decoder->embedding, decoder->compute, &decoder->parameters, stream, tokens,
                      pass->cache ? pass->cache->lengths : NULL, pass->batch, pass->time,
                      dropout_at(pass, 0));
    record_embedding_profile(pass, begin, "forward");
    struct matrix normalised = first_rows(first->normalised, pass->rows);
    if (!is_pre_norm(decoder)) {
        residual_cast(decoder->compute, normalised, stream);
        return;
    }
    struct norm_forward_call call = {.rows = pass->rows,
                                     .residual = stream,
                                     .normalised = normalised,
                                     .mean = first->mean,
                                     .rstd = first->rstd};
    norm_forward(&first->norm, decoder->compute, &decoder->parameters, &call);
}

static void embed_backward(const struct pass *pass, const int32_t *tokens)
{
    struct decoder *decoder = pass->decoder;
    if (is_pre_norm(decoder))
        residual_norm_backward(pass, 0, false);
    else
        residual_add(decoder->compute, decoder->d_residual, first_rows(decoder->d_normalised, pass->rows));
    double begin = profile_begin(decoder->compute->profile);
    embedding_backward(&decoder->embedding, decoder->compute, &decoder->parameters, decoder->d_residual,
                       tokens, pass->batch, pass->time, dropout_at(pass, 0));
    record_embedding_profile(pass, begin, "backward");
}

rotary_status decoder_forward(const struct pass *pass, const int32_t *tokens)
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

struct matrix decoder_hidden(const struct pass *pass)
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
            "a batch of %lld sequences of %lld tokens: this model was made for at most %lld of %lld",
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
                           "gradients were asked of a model made for inference");
    rotary_status status = start_pass(&pass, batch->batch, batch->time, batch->tokens);
    for (int64_t i = 0; status == ROTARY_OK && i < pass.rows; i++)
        if (batch->targets[i] < LOSS_IGNORED || batch->targets[i] >= decoder->config.vocab_size)
            status = rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                                 "target %lld is %d: the vocabulary has 0 ... %lld", (long long)i,
                                 (int)batch->targets[i], (long long)decoder->config.vocab_size - 1);
    if (status != ROTARY_OK)
        return status;
    if (batch->backward)
        pass.dropout = (struct dropout){
            .probability = (float)decoder->config.dropout, .seed = batch->seed, .step = batch->micro_step};
    status = decoder_forward(&pass, batch->tokens);
    if (status != ROTARY_OK)
        return status;
    struct loss_call call = {
        .hidden = decoder_hidden(&pass), .targets = batch->targets, .gradient_scale = batch->gradient_scale};
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
        status = decoder_forward(&pass, tokens);
    if (status != ROTARY_OK)
        return status;
    return linear_forward(decoder->output, &decoder->parameters,
                          matrix_of(logits, ROTARY_F32, pass.rows, decoder->config.vocab_size),
                          decoder_hidden(&pass), MATMUL_EPILOGUE_NONE, error);
}
