/* SPDX-License-Identifier: Apache-2.0
 *
 * Creation of a decoder: parameters, then memory, which is measured before it is allocated.
 */
#include "model/decoder.h"

#include "base/fail.h"
#include "model/decoder_parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static rotary_status create_position(struct position_attention *position, const struct backend *backend,
                                     const struct decoder_config *config, int64_t table_positions,
                                     rotary_error *error)
{
    struct position_config row = {.position = (enum position)config->position,
                                  .heads = config->num_attention_heads,
                                  .key_value_heads = config->num_key_value_heads,
                                  .head_dim = config->head_dim,
                                  .pairing = (rotary_pairing)config->pairing,
                                  .base = config->rope_theta,
                                  .query_key_fraction = config->partial_rotary_factor,
                                  .value_fraction = config->value_fraction,
                                  .table_positions = table_positions};
    return position_attention_create(position, backend, &row, error);
}

/* The initial distribution of a linear layer. PyTorch draws weight and bias uniformly within 1 /
 * sqrt(inputs). GPT-2 draws the weight from a normal distribution, whose variance is divided by `depth` where
 * the output joins the residual stream, and sets biases to zero. */
struct initializer {
    enum initialisation weight, bias;
    float scale; /* of both */
};

static struct initializer initializer_of(const struct decoder_config *config, int64_t inputs, double depth)
{
    if (config->initialisation == INITIALISE_PYTORCH)
        return (struct initializer){INITIAL_UNIFORM, INITIAL_UNIFORM, (float)(1.0 / sqrt((double)inputs))};
    return (struct initializer){INITIAL_NORMAL, INITIAL_ZERO,
                                (float)(config->initializer_range / sqrt(depth))};
}

/* `out_inputs`: inputs of the sublayer's second linear layer. */
static struct sublayer_config sublayer_config_of(const struct decoder *decoder, const char *name,
                                                 int64_t out_inputs)
{
    const struct decoder_config *config = &decoder->config;
    struct initializer in = initializer_of(config, config->hidden_size, 1.0);
    struct initializer out = initializer_of(config, out_inputs, 2.0 * (double)config->num_hidden_layers);
    return (struct sublayer_config){.name = name,
                                    .width = config->hidden_size,
                                    .rows = decoder_rows(decoder->limits),
                                    .bias = config->bias,
                                    .training = decoder->limits.training,
                                    .initial = in.weight,
                                    .bias_initial = in.bias,
                                    .in_scale = in.scale,
                                    .out_scale = out.scale};
}

static rotary_status add_block(struct decoder *decoder, int64_t layer, rotary_error *error)
{
    const struct decoder_config *config = &decoder->config;
    struct block *block = &decoder->blocks[layer];
    char name[96];
    snprintf(name, sizeof name, "layers.%lld.attention", (long long)layer);
    const struct attention_layer_config attention = {
        .sublayer = sublayer_config_of(decoder, name, config->num_attention_heads * config->head_dim),
        .heads = config->num_attention_heads,
        .key_value_heads = config->num_key_value_heads,
        .head_dim = config->head_dim};
    rotary_status status =
        attention_layer_create(&block->attention, decoder->backend, decoder->position.attention, &attention,
                               &decoder->parameters, error);
    if (status != ROTARY_OK)
        return status;
    snprintf(name, sizeof name, "layers.%lld.feed_forward", (long long)layer);
    const struct feed_forward_config feed_forward = {
        .sublayer = sublayer_config_of(decoder, name, config->intermediate_size),
        .hidden = config->intermediate_size,
        .activation = (enum activation)config->hidden_act};
    return feed_forward_create(&block->feed_forward, decoder->backend, &feed_forward, &decoder->parameters,
                               error);
}

/* The norm of residual sum k, named after the sublayer after it (pre-norm) or before it (post-norm). */
static rotary_status add_norm(struct decoder *decoder, int64_t k, rotary_error *error)
{
    const struct decoder_config *config = &decoder->config;
    bool pre_norm = config->norm_position == PRE_NORM;
    int64_t sublayer = pre_norm ? k : k - 1;
    if (sublayer < 0)
        return ROTARY_OK;
    char name[96];
    if (sublayer == 2 * config->num_hidden_layers)
        snprintf(name, sizeof name, "norm");
    else
        snprintf(name, sizeof name, "layers.%lld.%s_norm", (long long)(sublayer / 2),
                 sublayer % 2 == 0 ? "attention" : "feed_forward");
    const struct norm_config norm = {.name = name,
                                     .kind = (enum norm_kind)config->norm,
                                     .width = config->hidden_size,
                                     .epsilon = (float)config->norm_epsilon};
    return norm_create(&decoder->residual_norms[k].norm, &norm, &decoder->parameters, error);
}

static struct loss_config loss_config_of(const struct decoder *decoder)
{
    return (struct loss_config){.rows = decoder_rows(decoder->limits),
                                .label_smoothing = (float)decoder->config.label_smoothing,
                                .training = decoder->limits.training};
}

static rotary_status add_output(struct decoder *decoder, rotary_error *error)
{
    const struct decoder_config *config = &decoder->config;
    struct initializer initializer = initializer_of(config, config->hidden_size, 1.0);
    struct linear_config linear = {.name = "output",
                                   .inputs = config->hidden_size,
                                   .outputs = config->vocab_size,
                                   .rows = decoder_rows(decoder->limits),
                                   .bias = config->bias,
                                   .training = decoder->limits.training,
                                   .tied_weight = config->tie_word_embeddings ? decoder->embedding.table : -1,
                                   .initial = initializer.weight,
                                   .bias_initial = initializer.bias,
                                   .scale = initializer.scale};
    rotary_status status =
        linear_create(&decoder->output, decoder->backend, &linear, &decoder->parameters, error);
    if (status != ROTARY_OK)
        return status;
    struct loss_config loss = loss_config_of(decoder);
    return loss_create(&decoder->loss, decoder->backend, decoder->output, &loss, error);
}

static rotary_status add_layers(struct decoder *decoder, rotary_error *error)
{
    const struct decoder_config *config = &decoder->config;
    bool normal = config->initialisation == INITIALISE_NORMAL;
    struct embedding_config embedding = {
        .name = "embedding",
        .vocabulary = config->vocab_size,
        .width = config->hidden_size,
        .positions = config->max_position_embeddings,
        .scale = config->scale_embedding ? (float)sqrt((double)config->hidden_size) : 1.0f,
        .position = position_encoding((enum position)config->position)->embedding,
        .initial_scale = normal ? (float)config->initializer_range : 1.0f};
    rotary_status status = embedding_create(&decoder->embedding, &embedding, &decoder->parameters, error);
    for (int64_t layer = 0; status == ROTARY_OK && layer < config->num_hidden_layers; layer++)
        status = add_block(decoder, layer, error);
    for (int64_t k = 0; status == ROTARY_OK && k <= 2 * config->num_hidden_layers; k++)
        status = add_norm(decoder, k, error);
    return status == ROTARY_OK ? add_output(decoder, error) : status;
}

static struct matrix push_matrix(struct rotary_arena *arena, rotary_dtype dtype, int64_t rows,
                                 int64_t columns)
{
    return matrix_of(columns ? rotary_arena_push(arena, rows * columns, rotary_dtype_size(dtype)) : NULL,
                     dtype, rows, columns);
}

static float *push_floats(struct rotary_arena *arena, int64_t count)
{
    return rotary_arena_push(arena, count, sizeof(float));
}

static void carve_block(struct decoder *decoder, struct block *block)
{
    const struct decoder_config *config = &decoder->config;
    struct rotary_arena *arena = &decoder->arena;
    rotary_dtype storage = decoder->backend->storage;
    int64_t rows = decoder_rows(decoder->limits), heads = config->num_attention_heads;
    block->attention_saved.qkv =
        push_matrix(arena, storage, rows, (heads + 2 * config->num_key_value_heads) * config->head_dim);
    block->attention_saved.context = push_matrix(arena, storage, rows, heads * config->head_dim);
    block->attention_saved.log_sum_exp = push_floats(arena, rows * heads);
    block->feed_forward_saved.pre_activation = push_matrix(
        arena, storage, rows,
        feed_forward_pre_activation_columns((enum activation)config->hidden_act, config->intermediate_size));
    block->feed_forward_saved.hidden = push_matrix(arena, storage, rows, config->intermediate_size);
}

static void carve_residual_norm(struct decoder *decoder, struct residual_norm *residual_norm)
{
    int64_t rows = decoder_rows(decoder->limits);
    residual_norm->residual_sum = push_floats(&decoder->arena, rows * decoder->config.hidden_size);
    residual_norm->mean = push_floats(&decoder->arena, rows);
    residual_norm->rstd = push_floats(&decoder->arena, rows);
    residual_norm->normalised =
        push_matrix(&decoder->arena, decoder->backend->storage, rows, decoder->config.hidden_size);
}

static size_t attention_workspace_bytes(const struct decoder *decoder)
{
    rotary_attention_shape shape = {
        .batch = decoder->limits.batch, .queries = decoder->limits.time, .keys = decoder->limits.time};
    size_t forward = rotary_attention_forward_bytes(decoder->position.attention, shape);
    size_t backward =
        decoder->limits.training ? rotary_attention_backward_bytes(decoder->position.attention, shape) : 0;
    return forward > backward ? forward : backward;
}

/* Without training all blocks and all residual norms share the memory of the first: nothing outlives the next
 * sublayer. */
static void carve_blocks(struct decoder *decoder)
{
    bool training = decoder->limits.training;
    int64_t layers = decoder->config.num_hidden_layers;
    for (int64_t layer = 0; layer < layers; layer++) {
        struct block *block = &decoder->blocks[layer];
        if (training || layer == 0) {
            carve_block(decoder, block);
        } else {
            block->attention_saved = decoder->blocks[0].attention_saved;
            block->feed_forward_saved = decoder->blocks[0].feed_forward_saved;
        }
    }
    for (int64_t k = 0; k <= 2 * layers; k++) {
        struct norm norm = decoder->residual_norms[k].norm;
        if (training || k == 0)
            carve_residual_norm(decoder, &decoder->residual_norms[k]);
        else
            decoder->residual_norms[k] = decoder->residual_norms[0];
        decoder->residual_norms[k].norm = norm;
    }
}

static void carve_gradients(struct decoder *decoder)
{
    struct rotary_arena *arena = &decoder->arena;
    rotary_dtype storage = decoder->backend->storage;
    const struct block *block = &decoder->blocks[0];
    int64_t rows = decoder_rows(decoder->limits), width = decoder->config.hidden_size;
    bool gated = decoder_is_gated(&decoder->config);
    decoder->d_normalised = push_matrix(arena, storage, rows, width);
    decoder->d_residual = push_floats(arena, rows * width);
    decoder->d_hidden = push_matrix(arena, storage, rows, decoder->config.intermediate_size);
    decoder->d_pre_activation =
        push_matrix(arena, storage, rows, gated ? block->feed_forward_saved.pre_activation.columns : 0);
    decoder->d_qkv = push_matrix(arena, storage, rows, block->attention_saved.qkv.columns);
    decoder->d_context = push_matrix(arena, storage, rows, block->attention_saved.context.columns);
    const struct norm *last = &decoder->residual_norms[2 * decoder->config.num_hidden_layers].norm;
    decoder->norm_scratch = push_floats(arena, norm_scratch(last, rows));
}

/* Called twice: first to measure, then to assign memory (base/arena.h). */
static void carve(struct decoder *decoder)
{
    struct rotary_arena *arena = &decoder->arena;
    int64_t rows = decoder_rows(decoder->limits), width = decoder->config.hidden_size;
    carve_blocks(decoder);
    for (int i = 0; i < 2; i++)
        decoder->residual[i] = push_floats(arena, rows * width);
    decoder->sublayer_output = push_matrix(arena, decoder->backend->storage, rows, width);
    decoder->attention_workspace = rotary_arena_push(arena, (int64_t)attention_workspace_bytes(decoder), 1);
    if (decoder->limits.training)
        carve_gradients(decoder);
}

/* A decoder with neither parameters nor memory: enough for carve() to measure. Its rotation tables have
 * table_positions positions. */
static rotary_status create_without_memory(struct decoder **decoder, const struct backend *backend,
                                           const struct decoder_config *config, struct decoder_limits limits,
                                           int64_t table_positions, rotary_error *error)
{
    struct decoder *made = calloc(1, sizeof *made);
    if (made) {
        made->blocks = calloc((size_t)config->num_hidden_layers, sizeof *made->blocks);
        made->residual_norms =
            calloc((size_t)(2 * config->num_hidden_layers + 1), sizeof *made->residual_norms);
    }
    if (!made || !made->blocks || !made->residual_norms) {
        decoder_destroy(made);
        return rotary_fail(error, ROTARY_OUT_OF_MEMORY, "no memory for a model of %lld layers",
                           (long long)config->num_hidden_layers);
    }
    made->config = *config;
    made->limits = limits;
    made->backend = backend;
    rotary_status status = decoder_config_check(&made->config, error);
    if (status == ROTARY_OK &&
        (limits.batch < 1 || limits.time < 1 || limits.batch > INT32_MAX / limits.time))
        status =
            rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                        "a batch of %lld sequences of %lld tokens: both must be at least 1 and their product "
                        "below 2^31",
                        (long long)limits.batch, (long long)limits.time);
    if (status == ROTARY_OK)
        status = create_position(&made->position, backend, &made->config, table_positions, error);
    if (status == ROTARY_OK)
        *decoder = made;
    else
        decoder_destroy(made);
    return status;
}

/* Elements of all parameters, and of the weights of linear layers. */
static void count_parameters(const struct decoder_config *config, double *all, double *linear)
{
    double width = (double)config->hidden_size, vocabulary = (double)config->vocab_size,
           layers = (double)config->num_hidden_layers, hidden = (double)config->intermediate_size,
           context = (double)(config->num_attention_heads * config->head_dim),
           keys = (double)(config->num_key_value_heads * config->head_dim);
    double gates = decoder_is_gated(config) ? 2.0 : 1.0;
    double block = width * (context + 2.0 * keys) + context * width + (gates + 1.0) * width * hidden;
    *linear = layers * block + width * vocabulary;
    double biases = layers * (context + 2.0 * keys + 2.0 * width + gates * hidden) + vocabulary;
    double norms = 2.0 * layers + (config->norm_position == PRE_NORM ? 1.0 : 0.0);
    *all = layers * block + vocabulary * width * (config->tie_word_embeddings ? 1.0 : 2.0) +
           (config->bias ? biases : 0.0) + norms * width * (config->norm == NORM_LAYER ? 2.0 : 1.0);
    if (position_encoding((enum position)config->position)->embedding == EMBEDDING_POSITION_LEARNED)
        *all += (double)config->max_position_embeddings * width;
}

/* Elements of the position tables: cosines and sines of rotated channels, or the embedding's sinusoids. */
static double count_table(const struct decoder_config *config)
{
    const struct position_encoding *encoding = position_encoding((enum position)config->position);
    int64_t columns = encoding->embedding == EMBEDDING_POSITION_SINUSOIDAL ? config->hidden_size : 0;
    if (encoding->rotate_query_key)
        columns += position_rotary_dim(config->head_dim, config->partial_rotary_factor);
    if (encoding->rotate_value)
        columns += position_rotary_dim(config->head_dim, config->value_fraction);
    return (double)config->max_position_embeddings * (double)columns;
}

rotary_status decoder_bytes(const struct backend *backend, const struct decoder_config *config,
                            struct decoder_limits limits, size_t *bytes, rotary_error *error)
{
    struct decoder *decoder;
    rotary_status status = create_without_memory(&decoder, backend, config, limits, 0, error);
    if (status != ROTARY_OK)
        return status;
    double all, linear;
    count_parameters(&decoder->config, &all, &linear);
    decoder->residual_norms[2 * decoder->config.num_hidden_layers].norm.width = decoder->config.hidden_size;
    carve(decoder);
    /* values, gradients, two moments; and the packed weights of the forward and backward matmuls */
    double copies = limits.training ? 4.0 : 1.0, packed_weights = limits.training ? 2.0 : 1.0;
    struct loss_config loss = loss_config_of(decoder);
    double total = (double)decoder->arena.used +
                   (double)loss_bytes(backend, decoder->config.vocab_size, &loss) +
                   (all * copies + count_table(&decoder->config)) * sizeof(float) +
                   linear * packed_weights * (double)rotary_dtype_size(backend->storage);
    *bytes = total < (double)SIZE_MAX ? (size_t)total : SIZE_MAX;
    decoder_destroy(decoder);
    return ROTARY_OK;
}

rotary_status decoder_create(struct decoder **decoder, const struct backend *backend,
                             const struct decoder_config *config, struct decoder_limits limits, uint64_t seed,
                             rotary_error *error)
{
    struct decoder *made;
    rotary_status status =
        create_without_memory(&made, backend, config, limits, config->max_position_embeddings, error);
    if (status != ROTARY_OK)
        return status;
    status = add_layers(made, error);
    if (status == ROTARY_OK)
        status = parameters_allocate(&made->parameters, limits.training, error);
    if (status == ROTARY_OK) {
        carve(made);
        status = rotary_arena_allocate(&made->arena, "the activations of the model", error);
    }
    if (status == ROTARY_OK) {
        carve(made);
        parameters_initialise(&made->parameters, backend->threads, seed);
        status = decoder_prepare(made, error);
    }
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
    for (int64_t layer = 0; decoder->blocks && layer < decoder->config.num_hidden_layers; layer++) {
        attention_layer_destroy(&decoder->blocks[layer].attention);
        feed_forward_destroy(&decoder->blocks[layer].feed_forward);
    }
    loss_destroy(decoder->loss);
    linear_destroy(decoder->output);
    embedding_destroy(&decoder->embedding);
    position_attention_destroy(&decoder->position);
    parameters_free(&decoder->parameters);
    rotary_arena_free(&decoder->arena);
    free(decoder->blocks);
    free(decoder->residual_norms);
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

rotary_status decoder_prepare(struct decoder *decoder, rotary_error *error)
{
    rotary_status status = linear_prepare(decoder->output, &decoder->parameters, error);
    for (int64_t layer = 0; status == ROTARY_OK && layer < decoder->config.num_hidden_layers; layer++) {
        struct block *block = &decoder->blocks[layer];
        status = linear_pair_prepare(&block->attention.projections, &decoder->parameters, error);
        if (status == ROTARY_OK)
            status = linear_pair_prepare(&block->feed_forward.projections, &decoder->parameters, error);
    }
    return status;
}

rotary_status decoder_check_tokens(const struct decoder *decoder, const int32_t *tokens, int64_t count,
                                   int64_t last, rotary_error *error)
{
    for (int64_t i = 0; i < count; i++)
        if (tokens[i] < 0 || tokens[i] >= decoder->config.vocab_size)
            return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                               "token %lld is %d: wanted 0 ... %lld, the vocabulary", (long long)i,
                               (int)tokens[i], (long long)decoder->config.vocab_size - 1);
    if (last >= decoder->config.max_position_embeddings &&
        position_encoding((enum position)decoder->config.position)->embedding != EMBEDDING_POSITION_NONE)
        return rotary_fail(error, ROTARY_INVALID_ARGUMENT,
                           "position %lld: the model has positions 0 ... %lld", (long long)last,
                           (long long)decoder->config.max_position_embeddings - 1);
    return ROTARY_OK;
}
