/* SPDX-License-Identifier: Apache-2.0
 *
 * Creation of a transformer: parameters, then memory, which is measured before it is allocated.
 */
#include "model/transformer.h"

#include "base/fail.h"
#include "model/transformer_parts.h"

#include <math.h>
#include <stdlib.h>

static struct initial_config initial_of(const struct transformer_config *config)
{
    return (struct initial_config){
        .kind = (enum initial_kind)config->initialisation, .range = config->initializer_range, .depth = 1.0};
}

static struct stack_part attention_part(const struct transformer *transformer)
{
    const struct transformer_config *config = &transformer->config;
    return (struct stack_part){
        .type = "self_attention",
        .name = "attention",
        .plans = transformer->plans.of_layer,
        .config = {.initial = initial_of(config),
                   .in_bias = transformer_has_bias(config, config->attention_bias),
                   .out_bias = transformer_has_bias(config, config->attention_output_bias),
                   .distance_bias = transformer->plans.distance_bias.call,
                   .heads = config->num_attention_heads,
                   .key_value_heads = config->num_key_value_heads,
                   .head_dim = config->head_dim,
                   .query_key_norm = (enum query_key_norm)config->query_key_norm,
                   .norm = (enum norm_kind)config->norm,
                   .norm_epsilon = (float)config->norm_epsilon}};
}

static struct stack_part feed_forward_part(const struct transformer *transformer)
{
    const struct transformer_config *config = &transformer->config;
    return (struct stack_part){.type = "feed_forward",
                               .name = "feed_forward",
                               .config = {.initial = initial_of(config),
                                          .in_bias = transformer_has_bias(config, config->mlp_bias),
                                          .out_bias = transformer_has_bias(config, config->mlp_bias),
                                          .hidden = config->intermediate_size,
                                          .activation = (enum activation)config->hidden_act}};
}

static const struct sublayer_wiring wirings[] = {
    [NORM_POSITION_PRE] = {.norm_input = true},
    [NORM_POSITION_POST] = {.norm_sum = true},
    [NORM_POSITION_BOTH] = {.norm_input = true, .norm_output = true},
    [NORM_POSITION_OUTPUT] = {.norm_output = true},
    [NORM_POSITION_NONE] = {0},
};

static rotary_status add_stack(struct transformer *transformer, bool measured, rotary_error *error)
{
    const struct transformer_config *config = &transformer->config;
    struct stack_part block[] = {attention_part(transformer), feed_forward_part(transformer)};
    for (int i = 0; i < 2; i++)
        block[i].wiring = wirings[config->norm_position];
    block[1].wiring.parallel = config->parallel_residual != PARALLEL_RESIDUAL_NO;
    block[1].wiring.shared_norm = config->parallel_residual == PARALLEL_RESIDUAL_ONE_NORM;
    const struct stack_config stack = {.prefix = "",
                                       .layers = config->num_hidden_layers,
                                       .parts = 2,
                                       .block = block,
                                       .width = config->hidden_size,
                                       .norm = (enum norm_kind)config->norm,
                                       .norm_epsilon = (float)config->norm_epsilon,
                                       .final_norm = config->norm_position != NORM_POSITION_POST,
                                       .batch = transformer->limits.batch,
                                       .time = transformer->limits.time,
                                       .training = transformer->limits.training,
                                       .packed = transformer->limits.packed,
                                       .positions = transformer->limits.positions,
                                       .measured = measured};
    return stack_create(&transformer->stack, transformer->backend, &stack, &transformer->parameters, error);
}

static struct loss_config loss_config_of(const struct transformer *transformer)
{
    return (struct loss_config){.rows = transformer_rows(transformer->limits),
                                .label_smoothing = (float)transformer->config.label_smoothing,
                                .training = transformer->limits.training};
}

static rotary_status add_output(struct transformer *transformer, bool measured, rotary_error *error)
{
    const struct transformer_config *config = &transformer->config;
    const struct sublayer_config shared = {.batch = transformer->limits.batch,
                                           .time = transformer->limits.time,
                                           .training = transformer->limits.training,
                                           .measured = measured,
                                           .initial = initial_of(config)};
    const struct sublayer_linear output = {.name = "output",
                                           .inputs = config->hidden_size,
                                           .outputs = config->vocab_size,
                                           .bias = transformer_has_bias(config, config->output_bias),
                                           .tied = config->tie_word_embeddings,
                                           .tied_weight = transformer->embedding.table};
    return sublayer_add_linear(&transformer->output, transformer->backend, &shared, &output,
                               &transformer->parameters, error);
}

/* `measured`: only sizes are wanted. Tables of sinusoids are then left out. */
static rotary_status add_embedding(struct transformer *transformer, bool measured, rotary_error *error)
{
    const struct transformer_config *config = &transformer->config;
    bool normal = config->initialisation == INITIALISE_NORMAL;
    enum embedding_position position = position_encoding((enum position)config->position)->embedding;
    if (measured && position == EMBEDDING_POSITION_SINUSOIDAL)
        position = EMBEDDING_POSITION_NONE;
    const struct embedding_config embedding = {
        .name = "embedding",
        .vocabulary = config->vocab_size,
        .width = config->hidden_size,
        .positions = config->max_position_embeddings,
        .scale = config->scale_embedding ? (float)sqrt((double)config->hidden_size) : 1.0f,
        .position = position,
        .initial_scale = normal ? (float)config->initializer_range : 1.0f};
    return embedding_create(&transformer->embedding, &embedding, &transformer->parameters, error);
}

/* The order is that of the parameters in the table. */
static rotary_status add_layers(struct transformer *transformer, bool measured, rotary_error *error)
{
    rotary_status status = add_embedding(transformer, measured, error);
    if (status == ROTARY_OK)
        status = add_stack(transformer, measured, error);
    return status == ROTARY_OK ? add_output(transformer, measured, error) : status;
}

/* Called twice: first to measure, then to assign memory (base/arena.h). */
static void carve(struct transformer *transformer)
{
    int64_t rows = transformer_rows(transformer->limits);
    stack_carve(transformer->stack, &transformer->arena);
    transformer->tokens = rotary_arena_push(&transformer->arena, rows, sizeof *transformer->tokens);
    transformer->positions = rotary_arena_push(&transformer->arena, rows, sizeof *transformer->positions);
    transformer->targets = rotary_arena_push(&transformer->arena, rows, sizeof *transformer->targets);
    transformer->host_positions =
        rotary_arena_push(&transformer->host_arena, rows, sizeof *transformer->host_positions);
    transformer->host_lengths = rotary_arena_push(&transformer->host_arena, transformer->limits.batch,
                                                  sizeof *transformer->host_lengths);
}

static rotary_status check_limits(struct transformer_limits limits, rotary_error *error)
{
    if (limits.batch >= 1 && limits.time >= 1 && limits.batch <= INT32_MAX / limits.time)
        return ROTARY_OK;
    return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                       "a batch of %lld sequences of %lld tokens: both must be at least 1 and their product "
                       "below 2^31",
                       (long long)limits.batch, (long long)limits.time);
}

/* A transformer with neither values of parameters nor memory: enough for carve() to measure. Its rotation
 * tables have table_positions positions. */
static rotary_status create_without_memory(struct transformer **transformer, const struct transformer *given,
                                           int64_t table_positions, bool measured, rotary_error *error)
{
    struct transformer *made = calloc(1, sizeof *made);
    if (!made)
        return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory for a model of %lld layers",
                           (long long)given->config.num_hidden_layers);
    *made = *given;
    rotary_status status = transformer_config_check(&made->config, error);
    if (status == ROTARY_OK)
        status = check_limits(made->limits, error);
    if (status == ROTARY_OK)
        status =
            attention_plans_create(&made->plans, made->backend, &made->config, true, table_positions, error);
    if (status == ROTARY_OK)
        status = add_layers(made, measured, error);
    if (status == ROTARY_OK)
        *transformer = made;
    else
        transformer_destroy(made);
    return status;
}

/* Bytes of the position tables: cosines and sines of rotated channels, or the embedding's sinusoids. */
static double count_tables(const struct transformer *transformer)
{
    const struct transformer_config *config = &transformer->config;
    const struct position_encoding *encoding = position_encoding((enum position)config->position);
    double positions = (double)config->max_position_embeddings, bytes = 0;
    if (encoding->embedding == EMBEDDING_POSITION_SINUSOIDAL)
        bytes = positions * (double)config->hidden_size * sizeof(float);
    return bytes + attention_plans_table_bytes(&transformer->plans, config, true);
}

rotary_status transformer_bytes(const struct backend *backend, const struct transformer_config *config,
                                struct transformer_limits limits, size_t *bytes, rotary_error *error)
{
    const struct transformer given = {
        .config = *config, .limits = limits, .backend = backend, .parameters.backend = backend};
    struct transformer *transformer;
    rotary_status status = create_without_memory(&transformer, &given, 0, true, error);
    if (status != ROTARY_OK)
        return status;
    carve(transformer);
    double copies = limits.training ? 4.0 : 1.0; /* values, gradients, two moments */
    struct loss_config loss = loss_config_of(transformer);
    double total =
        (double)transformer->arena.used + (double)loss_bytes(backend, transformer->config.vocab_size, &loss) +
        (double)transformer->parameters.elements * copies * sizeof(float) + count_tables(transformer) +
        (double)stack_weight_bytes(transformer->stack) + (double)linear_bytes(transformer->output);
    *bytes = total < (double)SIZE_MAX ? (size_t)total : SIZE_MAX;
    transformer_destroy(transformer);
    return ROTARY_OK;
}

static rotary_status allocate(struct transformer *transformer, rotary_error *error)
{
    const struct loss_config loss = loss_config_of(transformer);
    rotary_status status =
        loss_create(&transformer->loss, transformer->backend, transformer->output, &loss, error);
    if (status == ROTARY_OK)
        status = parameters_allocate(&transformer->parameters, transformer->limits.training, error);
    if (status != ROTARY_OK)
        return status;
    carve(transformer);
    status = backend_arena_allocate(transformer->backend, &transformer->arena, "the activations of the model",
                                    error);
    if (status == ROTARY_OK)
        status = rotary_arena_allocate(&transformer->host_arena, "the positions of a batch", error);
    if (status == ROTARY_OK)
        carve(transformer);
    return status;
}

rotary_status transformer_create(struct transformer **transformer, const struct backend *backend,
                                 const struct transformer_config *config, struct transformer_limits limits,
                                 uint64_t seed, rotary_error *error)
{
    const struct transformer given = {
        .config = *config, .limits = limits, .backend = backend, .parameters.backend = backend};
    struct transformer *made;
    rotary_status status =
        create_without_memory(&made, &given, config->max_position_embeddings, false, error);
    if (status != ROTARY_OK)
        return status;
    status = allocate(made, error);
    if (status == ROTARY_OK)
        status = parameters_initialise(&made->parameters, seed, error);
    if (status == ROTARY_OK)
        *transformer = made;
    else
        transformer_destroy(made);
    return status;
}

void transformer_destroy(struct transformer *transformer)
{
    if (!transformer)
        return;
    stack_destroy(transformer->stack);
    loss_destroy(transformer->loss);
    linear_destroy(transformer->output);
    embedding_destroy(&transformer->embedding);
    attention_plans_destroy(&transformer->plans);
    parameters_free(&transformer->parameters);
    backend_arena_free(transformer->backend, &transformer->arena);
    rotary_arena_free(&transformer->host_arena);
    free(transformer);
}

const struct transformer_config *transformer_configuration(const struct transformer *transformer)
{
    return &transformer->config;
}

int64_t transformer_max_batch(const struct transformer *transformer)
{
    return transformer->limits.batch;
}

struct parameters *transformer_parameters(struct transformer *transformer)
{
    return &transformer->parameters;
}

rotary_status transformer_check_tokens(const struct transformer *transformer, const int32_t *tokens,
                                       int64_t count, rotary_error *error)
{
    for (int64_t i = 0; i < count; i++)
        if (tokens[i] < 0 || tokens[i] >= transformer->config.vocab_size)
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                               "token %lld is %d: wanted 0 ... %lld, the vocabulary", (long long)i,
                               (int)tokens[i], (long long)transformer->config.vocab_size - 1);
    return ROTARY_OK;
}

rotary_status transformer_check_position(const struct transformer *transformer, int64_t last,
                                         rotary_error *error)
{
    const struct position_encoding *encoding = position_encoding((enum position)transformer->config.position);
    bool table = encoding->embedding != EMBEDDING_POSITION_NONE || encoding->fill_distance_bias;
    if (table && last >= transformer->config.max_position_embeddings)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "position %lld: the model has positions 0 ... %lld", (long long)last,
                           (long long)transformer->config.max_position_embeddings - 1);
    return ROTARY_OK;
}
