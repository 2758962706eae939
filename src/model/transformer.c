/* SPDX-License-Identifier: Apache-2.0
 *
 * Creation of a transformer: parameters, then memory, which is measured before it is allocated.
 */
#include "model/transformer.h"

#include "base/fail.h"
#include "layer/sublayer_parts.h"
#include "model/encoding/model_encoding.h"
#include "model/transformer_parts.h"

#include <math.h>
#include <stdlib.h>

static struct initial_config initial_of(const struct transformer_config *config)
{
    return (struct initial_config){
        .kind = (enum initial_kind)config->initialisation, .range = config->initializer_range, .depth = 1.0};
}

/* Starts the names of a part's parameters. */
static const char *prefix_of(const struct transformer *transformer, const struct embedded_stack *part)
{
    return part == &transformer->encoder ? "encoder." : "";
}

/* What both kinds of attention have. */
static struct sublayer_config attention_config(const struct transformer_config *config)
{
    return (struct sublayer_config){
        .initial = initial_of(config),
        .in_bias = transformer_has_bias(config, config->attention_bias),
        .out_bias = transformer_has_bias(config, config->attention_output_bias),
        .heads = config->num_attention_heads,
        .key_value_heads = config->num_key_value_heads,
        .head_dim = config->head_dim,
        .query_key_norm = (enum query_key_norm)config->query_key_norm,
        .norm = (enum norm_kind)config->norm,
        .norm_epsilon = (float)config->norm_epsilon,
    };
}

/* The vectors by distance of a part's self-attention. */
static struct relative_vectors_config vectors_config_of(const struct transformer *transformer,
                                                        const struct embedded_stack *part)
{
    return (struct relative_vectors_config){.terms = transformer->encoding.terms->distance_vectors,
                                            .clip = model_encoding_clip(&transformer->config),
                                            .causal = part->kind == ATTENTION_DECODER,
                                            .rows = &part->distance_rows};
}

static struct stack_part self_attention_part(const struct transformer *transformer,
                                             const struct embedded_stack *part)
{
    struct stack_part made = {.type = "self_attention",
                              .name = "attention",
                              .plans = part->plans.of_layer,
                              .config = attention_config(&transformer->config)};
    made.config.distance_bias = part->distance_bias.call;
    made.config.learned_distance_bias = part->distance_bias.is_learned;
    made.config.distance_vectors = vectors_config_of(transformer, part);
    made.config.layer_bias = part->layer_bias;
    made.config.key_is_value = (enum key_is_value)transformer->config.key_is_value;
    made.config.sinks = transformer->config.attention_sinks;
    return made;
}

static struct stack_part cross_attention_part(const struct transformer *transformer)
{
    struct stack_part part = {.type = "cross_attention",
                              .name = "cross_attention",
                              .plans = transformer->cross_plans.of_layer,
                              .config = attention_config(&transformer->config)};
    part.config.source_time = transformer->limits.source_time;
    part.config.source_width = transformer->config.hidden_size;
    return part;
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

static int64_t list_parts(const struct transformer *transformer, const struct embedded_stack *part,
                          struct stack_part block[TRANSFORMER_MAX_PARTS])
{
    const struct transformer_config *config = &transformer->config;
    int64_t parts = 0;
    block[parts++] = self_attention_part(transformer, part);
    if (transformer_has_encoder(config) && part == &transformer->main)
        block[parts++] = cross_attention_part(transformer);
    block[parts++] = feed_forward_part(transformer);
    for (int64_t i = 0; i < parts; i++)
        block[i].wiring = wirings[config->norm_position];
    block[parts - 1].wiring.parallel = config->parallel_residual != PARALLEL_RESIDUAL_NO;
    block[parts - 1].wiring.shared_norm = config->parallel_residual == PARALLEL_RESIDUAL_ONE_NORM;
    return parts;
}

static rotary_status add_stack(struct transformer *transformer, struct embedded_stack *part, bool measured,
                               rotary_error *error)
{
    const struct transformer_config *config = &transformer->config;
    struct stack_part block[TRANSFORMER_MAX_PARTS];
    const struct stack_config stack = {.prefix = prefix_of(transformer, part),
                                       .layers = part->plans.layers,
                                       .parts = list_parts(transformer, part, block),
                                       .block = block,
                                       .width = config->hidden_size,
                                       .norm = (enum norm_kind)config->norm,
                                       .norm_epsilon = (float)config->norm_epsilon,
                                       .final_norm = config->norm_position != NORM_POSITION_POST,
                                       .first_site = part->dropout_site,
                                       .batch = part->batch,
                                       .time = part->time,
                                       .training = transformer->limits.training,
                                       .packed = transformer->limits.packed,
                                       .positions = transformer->limits.positions,
                                       .measured = measured};
    return stack_create(&part->stack, transformer->backend, &stack, &transformer->parameters, error);
}

static struct loss_config loss_config_of(const struct transformer *transformer)
{
    return (struct loss_config){.rows = transformer_rows(transformer->limits),
                                .label_smoothing = (float)transformer->config.label_smoothing,
                                .softcap = (float)transformer->config.final_logit_softcapping,
                                .training = transformer->limits.training,
                                .gathers = transformer->config.architecture == ARCHITECTURE_ENCODER,
                                .width = transformer->config.hidden_size,
                                .transform = transformer->transform};
}

/* A classifier's pooler, or the transform before the projection to tokens. */
static rotary_status add_transform(struct transformer *transformer, bool measured, rotary_error *error)
{
    static const enum activation activations[] = {[CLASSIFIER_TANH] = ACTIVATION_TANH,
                                                  [CLASSIFIER_GELU] = ACTIVATION_GELU,
                                                  [CLASSIFIER_RELU] = ACTIVATION_RELU};
    const struct transformer_config *config = &transformer->config;
    const bool classifies = config->num_labels > 0;
    struct output_transform_config transform = {.name = classifies ? "pooler" : "transform",
                                                .width = config->hidden_size,
                                                .rows = transformer_rows(transformer->limits),
                                                .bias = config->bias,
                                                .training = transformer->limits.training,
                                                .measured = measured,
                                                .initial = initial_of(config),
                                                .has_norm = !classifies,
                                                .norm = (enum norm_kind)config->norm,
                                                .norm_epsilon = (float)config->norm_epsilon};
    transform.activation = config->hidden_act == ACTIVATION_RELU ? ACTIVATION_RELU : ACTIVATION_GELU;
    if (classifies)
        transform.activation = activations[config->classifier_activation];
    if (!classifies && !config->output_transform)
        return ROTARY_OK;
    return output_transform_create(&transformer->transform, transformer->backend, &transform,
                                   &transformer->parameters, error);
}

static rotary_status add_output(struct transformer *transformer, bool measured, rotary_error *error)
{
    const struct transformer_config *config = &transformer->config;
    const struct sublayer_config shared = {.batch = transformer->limits.batch,
                                           .time = transformer->limits.time,
                                           .training = transformer->limits.training,
                                           .measured = measured,
                                           .initial = initial_of(config)};
    const bool classifies = config->num_labels > 0;
    const struct sublayer_linear output = {
        .name = classifies ? "classifier" : "output",
        .inputs = config->hidden_size,
        .outputs = transformer_outputs(config),
        .bias = classifies ? config->bias : transformer_has_bias(config, config->output_bias),
        .tied = config->tie_word_embeddings && !classifies,
        .tied_weight = transformer->main.embedding.table};
    return sublayer_add_linear(&transformer->output, transformer->backend, &shared, &output,
                               &transformer->parameters, error);
}

/* `measured`: only sizes are wanted. Tables of sinusoids are then left out. */
static rotary_status add_embedding(struct transformer *transformer, struct embedded_stack *part,
                                   bool measured, rotary_error *error)
{
    const struct transformer_config *config = &transformer->config;
    bool normal = initial_is_normal((enum initial_kind)config->initialisation),
         is_source = part == &transformer->encoder;
    enum embedding_position position = transformer->encoding.terms->embedding;
    if (measured && position == EMBEDDING_POSITION_SINUSOIDAL)
        position = EMBEDDING_POSITION_NONE;
    const struct embedding_config embedding = {
        .name = is_source ? "encoder.embedding" : "embedding",
        .vocabulary = part->vocabulary,
        .width = config->hidden_size,
        .positions = transformer_positions(config),
        .scale = config->scale_embedding ? (float)sqrt((double)config->hidden_size) : 1.0f,
        .position = position,
        .shared = is_source && config->share_encoder_decoder_embeddings,
        .shared_table = transformer->main.embedding.table,
        .types = config->type_vocab_size,
        .has_norm = config->embedding_norm,
        .norm = (enum norm_kind)config->norm,
        .norm_epsilon = (float)config->norm_epsilon,
        .initial_scale = normal ? (float)config->initializer_range : 1.0f,
        .glorot = config->initialisation == INITIALISE_GLOROT};
    return embedding_create(&part->embedding, &embedding, &transformer->parameters, error);
}

/* The bias by distance of a part's self-attention, for sequences of at most `positions` tokens. (Keys and
 * queries of cross-attention have no distance.) */
static struct distance_bias_config bias_config_of(const struct transformer *transformer,
                                                  const struct embedded_stack *part, int64_t positions)
{
    const struct transformer_config *config = &transformer->config;
    return (struct distance_bias_config){.function = transformer->encoding.terms->distance_bias,
                                         .prefix = prefix_of(transformer, part),
                                         .heads = config->num_attention_heads,
                                         .positions = positions,
                                         .causal = part->kind == ATTENTION_DECODER,
                                         .training = transformer->limits.training,
                                         .settings =
                                             model_encoding_bias_settings(config, &transformer->encoding)};
}

static rotary_status add_distance_bias(struct transformer *transformer, struct embedded_stack *part,
                                       int64_t positions, rotary_error *error)
{
    const struct distance_bias_config config = bias_config_of(transformer, part, positions);
    if (distance_bias_segments(&config) > 0) {
        part->layer_bias = config;
        return ROTARY_OK;
    }
    return distance_bias_create(&part->distance_bias, transformer->backend, &config, &transformer->parameters,
                                error);
}

/* What the layers of a part share of their vectors by distance. */
static struct distance_rows_config rows_config_of(const struct transformer *transformer,
                                                  const struct embedded_stack *part, bool measured)
{
    const struct transformer_config *config = &transformer->config;
    return (struct distance_rows_config){.terms = transformer->encoding.terms->distance_vectors,
                                         .prefix = prefix_of(transformer, part),
                                         .width = config->hidden_size,
                                         .heads = config->num_attention_heads,
                                         .head_dim = config->head_dim,
                                         .positions = config->max_position_embeddings,
                                         .clip = model_encoding_clip(config),
                                         .causal = part->kind == ATTENTION_DECODER,
                                         .training = transformer->limits.training,
                                         .measured = measured};
}

static rotary_status add_distance_rows(struct transformer *transformer, struct embedded_stack *part,
                                       bool measured, rotary_error *error)
{
    const struct distance_rows_config config = rows_config_of(transformer, part, measured);
    return distance_rows_create(&part->distance_rows, transformer->backend, &config, &transformer->parameters,
                                error);
}

/* A part with the parameters of its embedding and its stack. Its rotation tables have table_positions
 * positions. */
static rotary_status add_part(struct transformer *transformer, struct embedded_stack *part,
                              int64_t table_positions, bool measured, rotary_error *error)
{
    const struct transformer_config *config = &transformer->config;
    bool is_source = part == &transformer->encoder;
    part->backend = transformer->backend;
    part->kind =
        is_source || config->architecture == ARCHITECTURE_ENCODER ? ATTENTION_ENCODER : ATTENTION_DECODER;
    part->batch = transformer->limits.batch;
    part->time = is_source ? transformer->limits.source_time : transformer->limits.time;
    part->vocabulary = is_source ? config->source_vocab_size : config->vocab_size;
    if (is_source) /* after the sites of the decoder's embedding and sublayers */
        part->dropout_site = transformer_head_site(config);
    rotary_status status =
        attention_plans_create(&part->plans, part->backend, config, part->kind, table_positions, error);
    if (status == ROTARY_OK)
        status = add_embedding(transformer, part, measured, error);
    if (status == ROTARY_OK)
        status = add_distance_bias(transformer, part, table_positions, error);
    if (status == ROTARY_OK)
        status = add_distance_rows(transformer, part, measured, error);
    return status == ROTARY_OK ? add_stack(transformer, part, measured, error) : status;
}

/* The order is that of the parameters in the table: the encoder, which may share the decoder's embedding,
 * comes after the decoder. */
static rotary_status add_parts(struct transformer *transformer, int64_t table_positions, bool measured,
                               rotary_error *error)
{
    const struct transformer_config *config = &transformer->config;
    bool encodes = transformer_has_encoder(config);
    rotary_status status = ROTARY_OK;
    if (encodes)
        status = attention_plans_create(&transformer->cross_plans, transformer->backend, config,
                                        ATTENTION_CROSS, table_positions, error);
    if (status == ROTARY_OK)
        status = add_part(transformer, &transformer->main, table_positions, measured, error);
    if (status == ROTARY_OK && encodes)
        status = add_part(transformer, &transformer->encoder, table_positions, measured, error);
    if (status == ROTARY_OK)
        status = add_transform(transformer, measured, error);
    return status == ROTARY_OK ? add_output(transformer, measured, error) : status;
}

/* Called twice: first to measure, then to assign memory (base/arena.h). */
static void carve(struct transformer *transformer)
{
    struct rotary_arena *arena = &transformer->arena;
    const struct embedded_stack *encoder = &transformer->encoder;
    int64_t source_elements = embedded_stack_rows(encoder) * transformer->config.hidden_size;
    bool training = transformer->limits.training;
    embedded_stack_carve(&transformer->main, training, arena, &transformer->host_arena);
    embedded_stack_carve(&transformer->encoder, training, arena, &transformer->host_arena);
    if (transformer->config.randomized_positions > 0)
        transformer->evaluation_positions =
            rotary_arena_push(&transformer->host_arena, transformer->config.max_position_embeddings,
                              sizeof *transformer->evaluation_positions);
    int64_t rows = transformer_rows(transformer->limits);
    transformer->targets = rotary_arena_push(arena, rows, sizeof *transformer->targets);
    if (transformer->config.num_labels == 1)
        transformer->values = rotary_arena_push(arena, rows, sizeof *transformer->values);
    if (transformer->config.architecture == ARCHITECTURE_ENCODER) {
        struct rotary_arena *host = &transformer->host_arena;
        transformer->target_rows = rotary_arena_push(host, rows, sizeof *transformer->target_rows);
        transformer->host_targets = rotary_arena_push(host, rows, sizeof *transformer->host_targets);
        if (transformer->config.num_labels > 0 && transformer->config.classifier_pooling == POOLING_MEAN)
            transformer->target_means = rotary_arena_push(host, rows, sizeof *transformer->target_means);
    }
    if (encoder->stack && training)
        transformer->d_source = rotary_arena_push(arena, source_elements, sizeof *transformer->d_source);
}

static rotary_status check_limits(const struct transformer *transformer, rotary_error *error)
{
    struct transformer_limits limits = transformer->limits;
    if (limits.batch < 1 || limits.time < 1 || limits.batch > INT32_MAX / limits.time)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "a batch of %lld sequences of %lld tokens: both must be at least 1 and their "
                           "product below 2^31",
                           (long long)limits.batch, (long long)limits.time);
    if (limits.stored && limits.training)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "weights that stay in their file cannot be trained: wanted one of the two");
    bool encodes = transformer_has_encoder(&transformer->config);
    if (encodes != (limits.source_time > 0) || (encodes && limits.batch > INT32_MAX / limits.source_time))
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "a batch of %lld sources of %lld tokens: wanted %s", (long long)limits.batch,
                           (long long)limits.source_time,
                           encodes ? "at least 1 token, as the model has an encoder, and a product below 2^31"
                                   : "0 tokens, as the model has no encoder of a source");
    return ROTARY_OK;
}

/* A transformer with neither values of parameters nor memory: enough for carve() to measure. Its rotation
 * tables have table_positions positions. */
static rotary_status create_without_memory(struct transformer **transformer, const struct transformer *given,
                                           int64_t table_positions, bool measured, rotary_error *error)
{
    struct transformer *made = calloc(1, sizeof *made);
    if (!made)
        return rotary_fail_memory(error, "for a model of %lld layers",
                                  (long long)given->config.num_hidden_layers);
    *made = *given;
    transformer_config_copy(&made->config, &given->config);
    rotary_status status = transformer_config_check(&made->config, error);
    if (made->config.randomized_positions > 0)
        made->limits.positions = true;
    if (status == ROTARY_OK)
        status = check_limits(made, error);
    if (status == ROTARY_OK)
        status = model_encoding_create(&made->config, &made->encoding, error);
    if (status == ROTARY_OK)
        status = add_parts(made, table_positions, measured, error);
    if (status == ROTARY_OK)
        *transformer = made;
    else
        transformer_destroy(made);
    return status;
}

/* Bytes of the position tables of a part: cosines and sines of rotated channels, the embedding's sinusoids,
 * the bias by distance, and rows of vectors by distance. */
static double count_tables(const struct transformer *transformer, const struct embedded_stack *part)
{
    const struct transformer_config *config = &transformer->config;
    const struct distance_bias_config bias = bias_config_of(transformer, part, transformer_positions(config));
    const struct distance_rows_config rows = rows_config_of(transformer, part, false);
    double positions = (double)transformer_positions(config),
           biases = distance_bias_segments(&bias) > 0 ? (double)part->plans.layers : 1.0,
           bytes = biases * distance_bias_bytes(&bias) + distance_rows_bytes(transformer->backend, &rows);
    if (transformer->encoding.terms->embedding == EMBEDDING_POSITION_SINUSOIDAL)
        bytes += positions * (double)config->hidden_size * sizeof(float);
    return bytes + attention_plans_table_bytes(&part->plans, config);
}

static double count_part(const struct transformer *transformer, const struct embedded_stack *part)
{
    return part->stack ? count_tables(transformer, part) + (double)stack_weight_bytes(part->stack) : 0.0;
}

static double cross_table_bytes(const struct transformer *transformer)
{
    if (!transformer_has_encoder(&transformer->config))
        return 0.0;
    return attention_plans_table_bytes(&transformer->cross_plans, &transformer->config);
}

rotary_status transformer_bytes(const struct backend *backend, const struct transformer_config *config,
                                struct transformer_limits limits, size_t *bytes, rotary_error *error)
{
    const struct transformer given = {.config = *config,
                                      .limits = limits,
                                      .backend = backend,
                                      .parameters = {.backend = backend, .stores = limits.stored}};
    struct transformer *transformer;
    rotary_status status = create_without_memory(&transformer, &given, 0, true, error);
    if (status != ROTARY_OK)
        return status;
    carve(transformer);
    double copies =
        limits.training && !limits.gradients_later ? 4.0 : 1.0; /* values, gradients, two moments */
    struct loss_config loss = loss_config_of(transformer);
    double total = (double)transformer->arena.used +
                   (double)loss_bytes(backend, transformer_outputs(&transformer->config), &loss) +
                   (double)transformer->parameters.elements * copies * sizeof(float) +
                   count_part(transformer, &transformer->main) +
                   count_part(transformer, &transformer->encoder) + cross_table_bytes(transformer) +
                   (double)linear_bytes(transformer->output) +
                   (double)parameters_shared_bytes(&transformer->parameters);
    if (transformer->transform)
        total += (double)output_transform_weight_bytes(transformer->transform);
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
        status =
            parameters_allocate(&transformer->parameters,
                                transformer->limits.training && !transformer->limits.gradients_later, error);
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
    const struct transformer given = {.config = *config,
                                      .limits = limits,
                                      .backend = backend,
                                      .parameters = {.backend = backend, .stores = limits.stored}};
    struct transformer *made;
    rotary_status status = create_without_memory(&made, &given, transformer_positions(config), false, error);
    if (status != ROTARY_OK)
        return status;
    status = allocate(made, error);
    if (status == ROTARY_OK && config->randomized_positions > 0)
        transformer_draw_evaluation(made, seed);
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
    embedded_stack_destroy(&transformer->main);
    embedded_stack_destroy(&transformer->encoder);
    attention_plans_destroy(&transformer->cross_plans);
    loss_destroy(transformer->loss);
    linear_destroy(transformer->output);
    output_transform_destroy(transformer->transform);
    parameters_free(&transformer->parameters);
    transformer_config_free(&transformer->config);
    model_encoding_free(&transformer->encoding);
    backend_arena_free(transformer->backend, &transformer->arena);
    rotary_arena_free(&transformer->host_arena);
    free(transformer);
}

const struct transformer_config *transformer_configuration(const struct transformer *transformer)
{
    return &transformer->config;
}

int64_t transformer_max_tokens(const struct transformer *transformer)
{
    return transformer_rows(transformer->limits);
}

int64_t transformer_max_batch(const struct transformer *transformer)
{
    return transformer->limits.batch;
}

struct parameters *transformer_parameters(struct transformer *transformer)
{
    return &transformer->parameters;
}

struct parameter_rows transformer_sublayer_rows(const struct transformer *transformer)
{
    return stack_sublayer_rows(transformer->main.stack);
}
