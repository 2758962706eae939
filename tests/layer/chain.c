/* SPDX-License-Identifier: Apache-2.0 */
#include "layer/chain.h"

#include "base/batch.h"
#include "support/check.h"
#include "support/parameter_copy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void must(rotary_status status, const rotary_error *error)
{
    if (!CHECK(status == ROTARY_OK))
        check_skip("%s", error->message);
}

static struct linear_config linear_of(const char *name, int64_t inputs, int64_t outputs, int64_t rows,
                                      int tied)
{
    return (struct linear_config){.name = name,
                                  .inputs = inputs,
                                  .outputs = outputs,
                                  .rows = rows,
                                  .bias = true,
                                  .training = true,
                                  .tied_weight = tied};
}

static void create_layers(struct chain *chain)
{
    rotary_error error;
    const struct chain_config *config = &chain->config;
    struct parameters *parameters = &chain->parameters;
    const struct embedding_config embedding = {.name = "embedding",
                                               .vocabulary = CHAIN_VOCABULARY,
                                               .width = CHAIN_WIDTH,
                                               .positions = CHAIN_POSITIONS,
                                               .scale = 1.5f,
                                               .position = config->position};
    must(embedding_create(&chain->embedding, &embedding, parameters, &error), &error);
    const char *const names[] = {"norm1", "norm2", "norm3"};
    for (int i = 0; i < 3; i++)
        must(norm_create(&chain->norm[i],
                         &(struct norm_config){
                             .name = names[i], .kind = config->norm, .width = CHAIN_WIDTH, .epsilon = 1e-5f},
                         parameters, &error),
             &error);
    int64_t wide = CHAIN_HIDDEN * (config->activation == ACTIVATION_SWIGLU ? 2 : 1);
    const struct linear_config first = linear_of("first", CHAIN_WIDTH, wide, chain->rows, -1),
                               second = linear_of("second", CHAIN_HIDDEN, CHAIN_WIDTH, chain->rows, -1),
                               output = linear_of("output", CHAIN_WIDTH, CHAIN_VOCABULARY, chain->rows,
                                                  chain->embedding.table);
    must(linear_create(&chain->first, &chain->backend, &first, parameters, &error), &error);
    must(linear_create(&chain->second, &chain->backend, &second, parameters, &error), &error);
    must(linear_create(&chain->output, &chain->backend, &output, parameters, &error), &error);
    const struct loss_config loss = {
        .rows = chain->rows, .label_smoothing = config->smoothing, .training = true};
    must(loss_create(&chain->loss, &chain->backend, chain->output, &loss, &error), &error);
}

static void carve(struct chain *chain)
{
    struct rotary_arena *arena = &chain->arena;
    int64_t narrow = chain->rows * CHAIN_WIDTH, hidden = chain->rows * CHAIN_HIDDEN;
    size_t size = rotary_dtype_size(chain->backend.storage);
    float **streams[] = {&chain->stream, &chain->residual_sum, &chain->middle, &chain->d_stream};
    for (int i = 0; i < 4; i++)
        *streams[i] = rotary_arena_push(arena, narrow, sizeof(float));
    for (int i = 0; i < 3; i++) {
        chain->mean[i] = rotary_arena_push(arena, chain->rows, sizeof(float));
        chain->rstd[i] = rotary_arena_push(arena, chain->rows, sizeof(float));
        chain->normalised[i] = rotary_arena_push(arena, narrow, size);
    }
    chain->sublayer_output = rotary_arena_push(arena, narrow, size);
    chain->d_narrow = rotary_arena_push(arena, narrow, size);
    chain->up = rotary_arena_push(arena, 2 * hidden, size);
    chain->d_wide = rotary_arena_push(arena, 2 * hidden, size);
    chain->hidden = rotary_arena_push(arena, hidden, size);
    chain->d_hidden = rotary_arena_push(arena, hidden, size);
    chain->tokens = rotary_arena_push(arena, chain->rows, sizeof(int32_t));
    chain->targets = rotary_arena_push(arena, chain->rows, sizeof(int32_t));
}

static void write_batch(struct chain *chain)
{
    rotary_error error;
    size_t bytes = (size_t)chain->rows * sizeof(int32_t);
    int32_t *tokens = malloc(bytes), *targets = malloc(bytes);
    for (int64_t i = 0; i < chain->rows; i++) {
        tokens[i] = (int32_t)((3 * i + i * i / 4) % CHAIN_VOCABULARY);
        targets[i] = i % 5 == 3 ? BATCH_IGNORED : (int32_t)((5 * i + i / 3) % CHAIN_VOCABULARY);
    }
    const struct backend *backend = &chain->backend;
    must(backend->operations->write(backend, chain->tokens, tokens, bytes, &error), &error);
    must(backend->operations->write(backend, chain->targets, targets, bytes, &error), &error);
    free(tokens);
    free(targets);
}

void chain_create(struct chain *chain, const struct chain_config *config, int threads, rotary_isa isa,
                  enum precision precision)
{
    rotary_error error;
    struct backend backend;
    must(backend_create(&backend, threads, isa, precision, &error), &error);
    chain_create_on(chain, config, backend);
}

void chain_create_on(struct chain *chain, const struct chain_config *config, struct backend backend)
{
    rotary_error error;
    *chain = (struct chain){.config = *config, .rows = config->batch * config->time, .backend = backend};
    chain->parameters.backend = &chain->backend;
    create_layers(chain);
    must(parameters_allocate(&chain->parameters, true, &error), &error);
    float *values = parameter_copy(&chain->parameters, PARAMETER_VALUES);
    for (int i = 0; i < chain->parameters.count; i++) {
        const struct parameter *row = &chain->parameters.rows[i];
        bool gain = strncmp(row->name, "norm", 4) == 0 && strstr(row->name, "weight");
        for (int64_t j = 0; j < parameter_elements(row); j++) {
            double angle = 0.7 * (double)j + 0.05 * (double)(j * j) + (double)strlen(row->name);
            values[row->offset + j] = (float)(0.3 * sin(angle) + (gain ? 1.0 : 0.0));
        }
    }
    parameter_give(&chain->parameters, PARAMETER_VALUES, values);
    carve(chain);
    must(backend_arena_allocate(&chain->backend, &chain->arena, "the chain", &error), &error);
    carve(chain);
    write_batch(chain);
}

void chain_destroy(struct chain *chain)
{
    embedding_destroy(&chain->embedding);
    linear_destroy(chain->first);
    linear_destroy(chain->second);
    linear_destroy(chain->output);
    loss_destroy(chain->loss);
    parameters_free(&chain->parameters);
    backend_arena_free(&chain->backend, &chain->arena);
    backend_destroy(&chain->backend);
}

static struct matrix storage(const struct chain *chain, void *data, int64_t columns)
{
    return matrix_of(data, chain->backend.storage, chain->rows, columns);
}

static struct dropout dropout_at(const struct chain *chain, uint32_t site)
{
    return (struct dropout){.probability = chain->config.dropout, .seed = 5, .step = 2, .site = site};
}

static struct embedding_call embedding_call_of(const struct chain *chain)
{
    return (struct embedding_call){.batch = chain->config.batch,
                                   .time = chain->config.time,
                                   .tokens = chain->tokens,
                                   .dropout = dropout_at(chain, 0)};
}

static int64_t wide_of(const struct chain *chain)
{
    return chain->config.activation == ACTIVATION_SWIGLU ? 2 * CHAIN_HIDDEN : CHAIN_HIDDEN;
}

static void forward(struct chain *chain, const float *residual, int which, void *sublayer_output,
                    float *residual_sum, float *f32)
{
    rotary_error error;
    struct backend_norm_forward call = {.rows = chain->rows,
                                        .residual = residual,
                                        .residual_sum = residual_sum,
                                        .normalised = storage(chain, chain->normalised[which], CHAIN_WIDTH),
                                        .normalised_f32 = f32,
                                        .mean = chain->mean[which],
                                        .rstd = chain->rstd[which]};
    if (sublayer_output) {
        call.sublayer_output = storage(chain, sublayer_output, CHAIN_WIDTH);
        call.dropout = dropout_at(chain, 1);
    }
    must(norm_forward(&chain->norm[which], &chain->parameters, &call, &error), &error);
}

static void run_forward(struct chain *chain)
{
    rotary_error error;
    const struct backend *backend = &chain->backend;
    struct parameters *parameters = &chain->parameters;
    const struct embedding_call embedding = embedding_call_of(chain);
    must(embedding_forward(&chain->embedding, parameters, &embedding, chain->stream, &error), &error);
    forward(chain, chain->stream, 0, NULL, NULL, NULL);
    struct matrix in = storage(chain, chain->normalised[0], CHAIN_WIDTH);
    struct matrix up = storage(chain, chain->up, wide_of(chain)),
                  hidden = storage(chain, chain->hidden, CHAIN_HIDDEN);
    if (chain->config.activation == ACTIVATION_RELU) {
        must(linear_forward(chain->first, parameters, hidden, in, MATMUL_EPILOGUE_RELU, &error), &error);
    } else {
        must(linear_forward(chain->first, parameters, up, in, MATMUL_EPILOGUE_NONE, &error), &error);
        const struct backend_activation_forward call = {
            .kind = chain->config.activation, .out = hidden, .pre = up};
        must(backend->operations->activation_forward(backend, &call, &error), &error);
    }
    must(linear_forward(chain->second, parameters, storage(chain, chain->sublayer_output, CHAIN_WIDTH),
                        hidden, MATMUL_EPILOGUE_NONE, &error),
         &error);
    forward(chain, chain->stream, 1, chain->sublayer_output, chain->residual_sum, chain->middle);
    forward(chain, chain->middle, 2, NULL, NULL, NULL);
}

static void backward(struct chain *chain, int which, const float *residual_sum, void *d_normalised,
                     const float *d_f32, bool accumulate, void *d_sublayer_output)
{
    rotary_error error;
    struct backend_norm_backward call = {.rows = chain->rows,
                                         .residual_sum = residual_sum,
                                         .mean = chain->mean[which],
                                         .rstd = chain->rstd[which],
                                         .d_normalised_f32 = d_f32,
                                         .accumulate = accumulate,
                                         .d_residual = chain->d_stream};
    if (d_normalised)
        call.d_normalised = storage(chain, d_normalised, CHAIN_WIDTH);
    if (d_sublayer_output) {
        call.d_sublayer_output = storage(chain, d_sublayer_output, CHAIN_WIDTH);
        call.dropout = dropout_at(chain, 1);
    }
    must(norm_backward(&chain->norm[which], &chain->parameters, &call, &error), &error);
}

static void run_backward(struct chain *chain)
{
    rotary_error error;
    struct parameters *parameters = &chain->parameters;
    struct matrix narrow = storage(chain, chain->d_narrow, CHAIN_WIDTH),
                  d_hidden = storage(chain, chain->d_hidden, CHAIN_HIDDEN),
                  d_wide = storage(chain, chain->d_wide, wide_of(chain)),
                  up = storage(chain, chain->up, wide_of(chain)),
                  hidden = storage(chain, chain->hidden, CHAIN_HIDDEN);
    backward(chain, 2, chain->middle, chain->d_narrow, NULL, false, NULL);
    backward(chain, 1, chain->residual_sum, NULL, chain->d_stream, false, chain->d_narrow);
    must(linear_backward(chain->second, parameters, d_hidden, narrow, hidden, &error), &error);
    enum activation kind = chain->config.activation;
    const struct backend_activation_backward activation = {
        .kind = kind, .d_pre = d_wide, .d_out = d_hidden, .saved = kind == ACTIVATION_RELU ? hidden : up};
    must(chain->backend.operations->activation_backward(&chain->backend, &activation, &error), &error);
    must(linear_backward(chain->first, parameters, narrow, d_wide,
                         storage(chain, chain->normalised[0], CHAIN_WIDTH), &error),
         &error);
    backward(chain, 0, chain->stream, chain->d_narrow, NULL, true, NULL);
    const struct embedding_call embedding = embedding_call_of(chain);
    must(embedding_backward(&chain->embedding, parameters, &embedding, chain->d_stream, &error), &error);
}

void chain_run(struct chain *chain, bool with_backward)
{
    rotary_error error;
    run_forward(chain);
    struct loss_call call = {.rows.hidden = storage(chain, chain->normalised[2], CHAIN_WIDTH),
                             .targets = chain->targets,
                             .gradient_scale = 1.0f};
    if (with_backward)
        call.d_hidden = storage(chain, chain->d_narrow, CHAIN_WIDTH);
    must(loss_run(chain->loss, &chain->parameters, &call, &chain->sums, &error), &error);
    if (with_backward)
        run_backward(chain);
}
