/* SPDX-License-Identifier: Apache-2.0
 *
 * Creation of a decoder: parameters, then memory, which is measured before it is allocated.
 */
#include "model/decoder.h"

#include "base/fail.h"
#include "model/decoder_parts.h"

#include <math.h>
#include <stdlib.h>

static struct initial_config initial_of(const struct decoder_config *config)
{
    return (struct initial_config){
        .kind = (enum initial_kind)config->initialisation, .range = config->initializer_range, .depth = 1.0};
}

static struct stack_part attention_part(const struct decoder *decoder)
{
    const struct decoder_config *config = &decoder->config;
    return (struct stack_part){.type = "self_attention",
                               .name = "attention",
                               .plans = decoder->plans.of_layer,
                               .config = {.initial = initial_of(config),
                                          .in_bias = decoder_has_bias(config, config->attention_bias),
                                          .out_bias = decoder_has_bias(config, config->attention_output_bias),
                                          .distance_bias = decoder->plans.distance_bias.call,
                                          .heads = config->num_attention_heads,
                                          .key_value_heads = config->num_key_value_heads,
                                          .head_dim = config->head_dim,
                                          .query_key_norm = (enum query_key_norm)config->query_key_norm,
                                          .norm = (enum norm_kind)config->norm,
                                          .norm_epsilon = (float)config->norm_epsilon}};
}

static struct stack_part feed_forward_part(const struct decoder *decoder)
{
    const struct decoder_config *config = &decoder->config;
    return (struct stack_part){.type = "feed_forward",
                               .name = "feed_forward",
                               .config = {.initial = initial_of(config),
                                          .in_bias = decoder_has_bias(config, config->mlp_bias),
                                          .out_bias = decoder_has_bias(config, config->mlp_bias),
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

static rotary_status add_stack(struct decoder *decoder, bool measured, rotary_error *error)
{
    const struct decoder_config *config = &decoder->config;
    struct stack_part block[] = {attention_part(decoder), feed_forward_part(decoder)};
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
                                       .batch = decoder->limits.batch,
                                       .time = decoder->limits.time,
                                       .training = decoder->limits.training,
                                       .packed = decoder->limits.packed,
                                       .positions = decoder->limits.positions,
                                       .measured = measured};
    return stack_create(&decoder->stack, decoder->backend, &stack, &decoder->parameters, error);
}

static struct loss_config loss_config_of(const struct decoder *decoder)
{
    return (struct loss_config){.rows = decoder_rows(decoder->limits),
                                .label_smoothing = (float)decoder->config.label_smoothing,
                                .training = decoder->limits.training};
}

static rotary_status add_output(struct decoder *decoder, bool measured, rotary_error *error)
{
    const struct decoder_config *config = &decoder->config;
    const struct sublayer_config shared = {.batch = decoder->limits.batch,
                                           .time = decoder->limits.time,
                                           .training = decoder->limits.training,
                                           .measured = measured,
                                           .initial = initial_of(config)};
    const struct sublayer_linear output = {.name = "output",
                                           .inputs = config->hidden_size,
                                           .outputs = config->vocab_size,
                                           .bias = decoder_has_bias(config, config->output_bias),
                                           .tied = config->tie_word_embeddings,
                                           .tied_weight = decoder->embedding.table};
    return sublayer_add_linear(&decoder->output, decoder->backend, &shared, &output, &decoder->parameters,
                               error);
}

/* `measured`: only sizes are wanted. Tables of sinusoids are then left out. */
static rotary_status add_embedding(struct decoder *decoder, bool measured, rotary_error *error)
{
    const struct decoder_config *config = &decoder->config;
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
    return embedding_create(&decoder->embedding, &embedding, &decoder->parameters, error);
}

/* The order is that of the parameters in the table. */
static rotary_status add_layers(struct decoder *decoder, bool measured, rotary_error *error)
{
    rotary_status status = add_embedding(decoder, measured, error);
    if (status == ROTARY_OK)
        status = add_stack(decoder, measured, error);
    return status == ROTARY_OK ? add_output(decoder, measured, error) : status;
}

/* Called twice: first to measure, then to assign memory (base/arena.h). */
static void carve(struct decoder *decoder)
{
    int64_t rows = decoder_rows(decoder->limits);
    stack_carve(decoder->stack, &decoder->arena);
    decoder->tokens = rotary_arena_push(&decoder->arena, rows, sizeof *decoder->tokens);
    decoder->positions = rotary_arena_push(&decoder->arena, rows, sizeof *decoder->positions);
    decoder->targets = rotary_arena_push(&decoder->arena, rows, sizeof *decoder->targets);
    decoder->host_positions = rotary_arena_push(&decoder->host_arena, rows, sizeof *decoder->host_positions);
    decoder->host_lengths =
        rotary_arena_push(&decoder->host_arena, decoder->limits.batch, sizeof *decoder->host_lengths);
}

static rotary_status check_limits(struct decoder_limits limits, rotary_error *error)
{
    if (limits.batch >= 1 && limits.time >= 1 && limits.batch <= INT32_MAX / limits.time)
        return ROTARY_OK;
    return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                       "a batch of %lld sequences of %lld tokens: both must be at least 1 and their product "
                       "below 2^31",
                       (long long)limits.batch, (long long)limits.time);
}

/* A decoder with neither values of parameters nor memory: enough for carve() to measure. Its rotation tables
 * have table_positions positions. */
static rotary_status create_without_memory(struct decoder **decoder, const struct decoder *given,
                                           int64_t table_positions, bool measured, rotary_error *error)
{
    struct decoder *made = calloc(1, sizeof *made);
    if (!made)
        return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory for a model of %lld layers",
                           (long long)given->config.num_hidden_layers);
    *made = *given;
    rotary_status status = decoder_config_check(&made->config, error);
    if (status == ROTARY_OK)
        status = check_limits(made->limits, error);
    if (status == ROTARY_OK)
        status =
            attention_plans_create(&made->plans, made->backend, &made->config, true, table_positions, error);
    if (status == ROTARY_OK)
        status = add_layers(made, measured, error);
    if (status == ROTARY_OK)
        *decoder = made;
    else
        decoder_destroy(made);
    return status;
}

/* Bytes of the position tables: cosines and sines of rotated channels, or the embedding's sinusoids. */
static double count_tables(const struct decoder *decoder)
{
    const struct decoder_config *config = &decoder->config;
    const struct position_encoding *encoding = position_encoding((enum position)config->position);
    double positions = (double)config->max_position_embeddings, bytes = 0;
    if (encoding->embedding == EMBEDDING_POSITION_SINUSOIDAL)
        bytes = positions * (double)config->hidden_size * sizeof(float);
    return bytes + attention_plans_table_bytes(&decoder->plans, config, true);
}

rotary_status decoder_bytes(const struct backend *backend, const struct decoder_config *config,
                            struct decoder_limits limits, size_t *bytes, rotary_error *error)
{
    const struct decoder given = {
        .config = *config, .limits = limits, .backend = backend, .parameters.backend = backend};
    struct decoder *decoder;
    rotary_status status = create_without_memory(&decoder, &given, 0, true, error);
    if (status != ROTARY_OK)
        return status;
    carve(decoder);
    double copies = limits.training ? 4.0 : 1.0; /* values, gradients, two moments */
    struct loss_config loss = loss_config_of(decoder);
    double total = (double)decoder->arena.used +
                   (double)loss_bytes(backend, decoder->config.vocab_size, &loss) +
                   (double)decoder->parameters.elements * copies * sizeof(float) + count_tables(decoder) +
                   (double)stack_weight_bytes(decoder->stack) + (double)linear_bytes(decoder->output);
    *bytes = total < (double)SIZE_MAX ? (size_t)total : SIZE_MAX;
    decoder_destroy(decoder);
    return ROTARY_OK;
}

static rotary_status allocate(struct decoder *decoder, rotary_error *error)
{
    const struct loss_config loss = loss_config_of(decoder);
    rotary_status status = loss_create(&decoder->loss, decoder->backend, decoder->output, &loss, error);
    if (status == ROTARY_OK)
        status = parameters_allocate(&decoder->parameters, decoder->limits.training, error);
    if (status != ROTARY_OK)
        return status;
    carve(decoder);
    status = backend_arena_allocate(decoder->backend, &decoder->arena, "the activations of the model", error);
    if (status == ROTARY_OK)
        status = rotary_arena_allocate(&decoder->host_arena, "the positions of a batch", error);
    if (status == ROTARY_OK)
        carve(decoder);
    return status;
}

rotary_status decoder_create(struct decoder **decoder, const struct backend *backend,
                             const struct decoder_config *config, struct decoder_limits limits, uint64_t seed,
                             rotary_error *error)
{
    const struct decoder given = {
        .config = *config, .limits = limits, .backend = backend, .parameters.backend = backend};
    struct decoder *made;
    rotary_status status =
        create_without_memory(&made, &given, config->max_position_embeddings, false, error);
    if (status != ROTARY_OK)
        return status;
    status = allocate(made, error);
    if (status == ROTARY_OK)
        status = parameters_initialise(&made->parameters, seed, error);
    if (status == ROTARY_OK)
        *decoder = made;
    else
        decoder_destroy(made);
    return status;
}

void decoder_destroy(struct decoder *decoder)
{
    if (!decoder)
        return;
    stack_destroy(decoder->stack);
    loss_destroy(decoder->loss);
    linear_destroy(decoder->output);
    embedding_destroy(&decoder->embedding);
    attention_plans_destroy(&decoder->plans);
    parameters_free(&decoder->parameters);
    backend_arena_free(decoder->backend, &decoder->arena);
    rotary_arena_free(&decoder->host_arena);
    free(decoder);
}

const struct decoder_config *decoder_configuration(const struct decoder *decoder)
{
    return &decoder->config;
}

int64_t decoder_max_batch(const struct decoder *decoder)
{
    return decoder->limits.batch;
}

struct parameters *decoder_parameters(struct decoder *decoder)
{
    return &decoder->parameters;
}

rotary_status decoder_check_tokens(const struct decoder *decoder, const int32_t *tokens, int64_t count,
                                   rotary_error *error)
{
    for (int64_t i = 0; i < count; i++)
        if (tokens[i] < 0 || tokens[i] >= decoder->config.vocab_size)
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                               "token %lld is %d: wanted 0 ... %lld, the vocabulary", (long long)i,
                               (int)tokens[i], (long long)decoder->config.vocab_size - 1);
    return ROTARY_OK;
}

rotary_status decoder_check_position(const struct decoder *decoder, int64_t last, rotary_error *error)
{
    const struct position_encoding *encoding = position_encoding((enum position)decoder->config.position);
    bool table = encoding->embedding != EMBEDDING_POSITION_NONE || encoding->fill_distance_bias;
    if (table && last >= decoder->config.max_position_embeddings)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "position %lld: the model has positions 0 ... %lld", (long long)last,
                           (long long)decoder->config.max_position_embeddings - 1);
    return ROTARY_OK;
}
