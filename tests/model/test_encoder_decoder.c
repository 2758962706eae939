/* SPDX-License-Identifier: Apache-2.0
 *
 * Complete encoder-decoders: losses and gradients against PyTorch's autograd in double precision
 * (tests/golden), for every norm position, tying and encoding, on every backend, in f32 and bf16; pairs
 * alone; dropout by finite differences; memory; determinism; refusals.
 */
#include "backend/every_backend.h"
#include "model/encoder_decoder_fixture.h"
#include "model/refused_batch.h"
#include "rope/rope_roles.h"
#include "support/check.h"
#include "support/parameter_copy.h"

#include "layer/encoding/encoding.h"
#include "model/encoding/contradictions.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "transformer_bias_goldens.h"
#include "transformer_fire_goldens.h"
#include "transformer_goldens.h"
#include "transformer_norm_goldens.h"
#include "transformer_vector_goldens.h"

enum {
    FIRST_CASES = sizeof transformer_cases / sizeof *transformer_cases,
    NORM_CASES = sizeof transformer_norm_cases / sizeof *transformer_norm_cases,
    BIAS_CASES = sizeof transformer_bias_cases / sizeof *transformer_bias_cases,
    VECTOR_CASES = sizeof transformer_vector_cases / sizeof *transformer_vector_cases,
    FIRE_CASES = sizeof transformer_fire_cases / sizeof *transformer_fire_cases,
    CASES = FIRST_CASES + NORM_CASES + BIAS_CASES + VECTOR_CASES + FIRE_CASES
};

static const struct golden_case *case_at(int64_t index)
{
    static const struct {
        const struct golden_case *cases;
        int64_t count;
    } files[] = {{transformer_cases, FIRST_CASES},
                 {transformer_norm_cases, NORM_CASES},
                 {transformer_bias_cases, BIAS_CASES},
                 {transformer_vector_cases, VECTOR_CASES},
                 {transformer_fire_cases, FIRE_CASES}};
    int file = 0;
    for (; index >= files[file].count; file++)
        index -= files[file].count;
    return &files[file].cases[index];
}

static void about(const struct backend *backend, const struct golden_case *golden, const char *what)
{
    check_about("%s, %s-norm, tying %s, %s%s, %s", backend_about(backend), golden->norm_position,
                golden->tying, golden->position, golden->cross_rotary ? " across" : "", what);
}

static struct loss_sums run(struct transformer *transformer, struct transformer_call call)
{
    struct pair_batch batch;
    pair_batch(&batch, transformer_configuration(transformer));
    call.batch = &batch.batch;
    struct loss_sums loss = {0};
    rotary_error error = {0};
    if (!CHECK_INT(transformer_run(transformer, &call, &loss, &error), ROTARY_OK))
        printf("%s\n", error.message);
    return loss;
}

/* As for decoders (test_transformer.c), with more layers on the longest path. */
static double bound_of(const struct backend *backend, const struct golden_case *golden)
{
    bool grows = strcmp(golden->norm_position, "none") == 0; /* and small differences with it */
    return backend->storage == ROTARY_F32 ? (grows ? 1e-4 : 2e-5) : 0.12;
}

/* What a watch of gradients is told: rows from `first` on are complete, and `seen` has what they were then. */
struct told {
    const struct parameters *parameters;
    struct parameter_rows sublayers;
    int first;
    float *seen;
};

static void copy_complete(void *argument, int row)
{
    struct told *told = argument;
    float *now = parameter_copy(told->parameters, PARAMETER_GRADIENTS);
    CHECK(row >= told->sublayers.first && row <= told->first);
    for (int i = row; i < told->first; i++) {
        const struct parameter *parameter = &told->parameters->rows[i];
        memcpy(told->seen + parameter->offset, now + parameter->offset,
               (size_t)parameter_elements(parameter) * sizeof *now);
    }
    told->first = row;
    free(now);
}

/* All sublayers were told of, and nothing was added after that. */
static void check_told(const struct told *told, const float *gradients)
{
    CHECK(told->sublayers.end > told->sublayers.first);
    CHECK_INT(told->first, told->sublayers.first);
    for (int i = told->sublayers.first; i < told->sublayers.end; i++) {
        const struct parameter *row = &told->parameters->rows[i];
        check_about("%s is told of too early", row->name);
        CHECK(memcmp(told->seen + row->offset, gradients + row->offset,
                     (size_t)parameter_elements(row) * sizeof *gradients) == 0);
    }
}

static void test_golden(const struct backend *backend, const struct golden_case *golden)
{
    const struct transformer_config config = pair_config(golden);
    struct transformer *transformer = pair_transformer(backend, &config, true);
    pair_fill(transformer, 0.0);
    struct parameters *parameters = transformer_parameters(transformer);
    struct told told = {.parameters = parameters, .sublayers = transformer_sublayer_rows(transformer)};
    const struct gradient_watch watch = {copy_complete, &told};
    const struct transformer_call call = {.backward = true, .gradient_scale = 1.0f, .watch = &watch};
    told.first = told.sublayers.end;
    told.seen = calloc((size_t)parameters->elements, sizeof *told.seen);
    struct loss_sums loss = run(transformer, call);
    double bound = bound_of(backend, golden);
    about(backend, golden, "loss");
    CHECK_INT(parameters->count, (int64_t)golden->count);
    CHECK_NEAR(loss.total, golden->loss, bound * golden->loss * 0.1);
    CHECK_INT(loss.counted, target_lengths[0] + target_lengths[1] + target_lengths[2]);
    float *gradients = parameter_copy(parameters, PARAMETER_GRADIENTS);
    for (size_t g = 0; g < golden->count; g++) {
        const char *name = golden->names[golden->probes[g].name];
        int row = parameters_find(parameters, name);
        about(backend, golden, name);
        if (CHECK(row >= 0))
            golden_compare(gradients, parameters, row, golden->probes[g].probe, bound);
    }
    check_told(&told, gradients);
    free(told.seen);
    free(gradients);
    check_about("%s", "");
    transformer_destroy(transformer);
}

/* Pairs alone have the losses and gradients of all together. */
static void test_alone(const struct backend *backend, const struct golden_case *golden)
{
    const struct transformer_config config = pair_config(golden);
    const struct transformer_call call = {.backward = true, .gradient_scale = 1.0f};
    struct transformer *transformer = pair_transformer(backend, &config, true);
    pair_fill(transformer, 0.0);
    struct parameters *parameters = transformer_parameters(transformer);
    double together = run(transformer, call).total;
    float *gradients = parameter_copy(parameters, PARAMETER_GRADIENTS);
    parameter_clear(parameters, PARAMETER_GRADIENTS);
    double alone = 0.0, bound = backend->storage == ROTARY_F32 ? 2e-6 : 2e-2;
    for (int64_t pair = 0; pair < PAIRS; pair++) {
        struct pair_batch batch;
        struct transformer_call one = call;
        struct loss_sums loss = {0};
        pair_alone(&batch, &config, pair);
        one.batch = &batch.batch;
        CHECK_INT(transformer_run(transformer, &one, &loss, NULL), ROTARY_OK);
        alone += loss.total;
    }
    float *summed = parameter_copy(parameters, PARAMETER_GRADIENTS);
    about(backend, golden, "alone");
    CHECK_NEAR(alone, together, 1e-6 * together);
    double scale = golden_norm(gradients, parameters->elements);
    for (int64_t i = 0; i < parameters->elements; i++)
        summed[i] -= gradients[i];
    CHECK_NEAR(golden_norm(summed, parameters->elements), 0.0, bound * scale);
    free(gradients);
    free(summed);
    transformer_destroy(transformer);
    check_about("%s", "");
}

/* With dropout the loss is a function of the parameters too, as seed and step fix the masks. */
static void test_dropout(const struct backend *backend, const struct golden_case *golden)
{
    struct transformer_config config = pair_config(golden);
    config.dropout = 0.2;
    config.attention_dropout = 0.1;
    config.activation_dropout = 0.3;
    config.label_smoothing = 0.0;
    struct transformer *transformer = pair_transformer(backend, &config, true);
    pair_fill(transformer, 0.0);
    struct parameters *parameters = transformer_parameters(transformer);
    struct transformer_call call = {.backward = true, .gradient_scale = 1.0f, .seed = 5, .micro_step = 9};
    double first = run(transformer, call).total, slope = 0.0, at[2];
    float *gradients = parameter_copy(parameters, PARAMETER_GRADIENTS);
    for (int64_t i = 0; i < parameters->elements; i++)
        slope += (double)gradients[i] * sin(0.37 * (double)i);
    free(gradients);
    const double step = 2e-4;
    for (int side = 0; side < 2; side++) {
        pair_fill(transformer, side ? step : -step);
        at[side] = run(transformer, call).total;
    }
    about(backend, golden, "dropout");
    CHECK_NEAR((at[1] - at[0]) / (2.0 * step), slope, 1e-2 * (fabs(slope) + 10.0));
    pair_fill(transformer, 0.0);
    call.micro_step = 10;
    CHECK(run(transformer, call).total != first);
    call.backward = false;
    CHECK_NEAR(run(transformer, call).total, golden->loss, 1e-4 * golden->loss);
    check_about("%s", "");
    transformer_destroy(transformer);
}

/* The share of elements without a gradient, in the rows of an embedding that have one. */
static double dropped_share(const struct parameters *parameters, const float *gradients, const char *name)
{
    const struct parameter *table = &parameters->rows[parameters_find(parameters, name)];
    int64_t zeros = 0, elements = 0;
    for (int64_t row = 0; row < table->rows; row++) {
        const float *gradient = gradients + table->offset + row * table->columns;
        if (!(golden_norm(gradient, table->columns) > 0.0))
            continue;
        elements += table->columns;
        for (int64_t i = 0; i < table->columns; i++)
            zeros += gradient[i] == 0.0f;
    }
    return (double)zeros / (double)elements;
}

/* Both embeddings are dropped out, and the masks of the encoder are not those of the decoder: their sites
 * differ. */
static void test_sites(const struct backend *backend)
{
    struct transformer_config config = pair_config(case_at(0));
    config.dropout = 0.5;
    struct transformer *transformer = pair_transformer(backend, &config, true);
    run(transformer, (struct transformer_call){.backward = true, .gradient_scale = 1.0f});
    const struct parameters *parameters = transformer_parameters(transformer);
    float *gradients = parameter_copy(parameters, PARAMETER_GRADIENTS);
    CHECK(dropped_share(parameters, gradients, "embedding.weight") > 0.1);
    CHECK(dropped_share(parameters, gradients, "encoder.embedding.weight") > 0.1);
    free(gradients);
    const struct embedded_stack *encoder = &transformer->encoder, *decoder = &transformer->main;
    uint32_t last = decoder->dropout_site + 3 * (uint32_t)config.num_hidden_layers;
    CHECK(encoder->dropout_site > last);
    transformer_destroy(transformer);
}

static void test_threads(enum precision precision)
{
    float *wanted = NULL;
    for (int threads = 1; threads <= 3; threads++) {
        rotary_error error = {0};
        struct backend backend;
        CHECK_INT(backend_create(&backend, threads, ROTARY_ISA_AUTO, precision, &error), ROTARY_OK);
        struct transformer_config config = pair_config(case_at(13));
        config.dropout = config.attention_dropout = config.activation_dropout = 0.1;
        struct transformer *transformer = pair_transformer(&backend, &config, true);
        const struct parameters *parameters = transformer_parameters(transformer);
        run(transformer, (struct transformer_call){.backward = true, .gradient_scale = 1.0f, .seed = 5});
        float *got = parameter_copy(parameters, PARAMETER_GRADIENTS);
        check_about("%d threads", threads);
        CHECK(!wanted || memcmp(wanted, got, (size_t)parameters->elements * sizeof *got) == 0);
        free(wanted);
        wanted = got;
        transformer_destroy(transformer);
        backend_destroy(&backend);
    }
    check_about("%s", "");
    free(wanted);
}

static double part_bytes(const struct transformer_config *config, const struct embedded_stack *part)
{
    double positions = (double)config->max_position_embeddings,
           bytes = (double)stack_weight_bytes(part->stack);
    const struct position_attention *plans = part->plans.plans;
    for (int i = 0; i < 2 * MAX_ATTENTION_PLANS; i++) {
        const rotary_rope *rope = i % 2 ? plans[i / 2].value_rope : plans[i / 2].rope;
        double tables =
            rope && rotary_rope_queries_differ(rope) ? 3.0 : 1.0; /* of values, queries and keys */
        bytes += rope ? positions * 2.0 * tables * (double)rotary_rope_pairs(rope) * sizeof(float) : 0.0;
    }
    const rotary_attention_distance_bias *bias = &part->distance_bias.call;
    if (bias->data)
        bytes += (double)(config->num_attention_heads * bias->distances) * sizeof(float) *
                 (bias->gradient ? 2.0 : 1.0);
    const struct matrix *rows = &part->distance_rows.rows;
    bytes += (double)(rows->rows * rows->columns) * (double)rotary_dtype_size(rows->dtype);
    return bytes +
           (part->embedding.sinusoids ? positions * (double)config->hidden_size * sizeof(float) : 0.0);
}

/* transformer_bytes estimates what transformer_create allocates. */
static void test_bytes(const struct backend *backend, const struct golden_case *golden)
{
    struct transformer_config config = pair_config(golden);
    config.hidden_size = 128; /* packed weights of narrow layers are rounded up to blocks */
    config.head_dim = 32;
    config.intermediate_size = 512;
    config.max_position_embeddings = 4000; /* position tables are a good part */
    config.xpos_scale = 512;
    const struct transformer_limits limits = {
        .batch = PAIRS, .time = TARGET_TIME, .source_time = SOURCE_TIME, .training = true, .packed = true};
    size_t estimate = 0;
    CHECK_INT(transformer_bytes(backend, &config, limits, &estimate, NULL), ROTARY_OK);
    struct transformer *transformer = pair_transformer(backend, &config, true);
    const rotary_rope *cross = transformer->cross_plans.plans[1].rope;
    const struct loss_config loss = {
        .rows = TARGET_ROWS, .label_smoothing = (float)config.label_smoothing, .training = true};
    double allocated = (double)loss_bytes(backend, VOCABULARY, &loss) +
                       (double)transformer->parameters.arena.capacity +
                       (double)transformer->parameters.training_arena.capacity +
                       (double)transformer->arena.capacity + (double)linear_bytes(transformer->output) +
                       (double)parameters_shared_bytes(&transformer->parameters) +
                       part_bytes(&config, &transformer->main) + part_bytes(&config, &transformer->encoder) +
                       (cross ? 4000.0 * 2.0 * (double)rotary_rope_pairs(cross) * sizeof(float) : 0.0);
    about(backend, golden, "bytes");
    CHECK_NEAR((double)estimate, allocated, 0.02 * allocated);
    CHECK_INT(cross != NULL, golden->cross_rotary);
    check_about("%s", "");
    transformer_destroy(transformer);
}

static void refuse(const struct backend *backend, struct transformer_config config, const char *message)
{
    const struct transformer_limits limits = {.batch = 1, .time = 4, .source_time = 4};
    struct transformer *transformer = NULL;
    rotary_error error = {0};
    CHECK_INT(transformer_create(&transformer, backend, &config, limits, 1, &error), ROTARY_INVALID_ARGUMENT);
    CHECK(!transformer);
    check_about("%s", error.message);
    CHECK(strstr(error.message, message));
    check_about("%s", "");
}

static void test_refused_configurations(const struct backend *backend)
{
    const struct transformer_config good = pair_config(case_at(0));
    struct transformer_config bad = good;
    bad.source_vocab_size = 0;
    refuse(backend, bad, "source_vocab_size is 0: an encoder needs at least 1 token");
    bad.share_encoder_decoder_embeddings = true;
    bad.source_vocab_size = 11;
    refuse(backend, bad, "source_vocab_size is 11 and vocab_size 13 with share_encoder_decoder_embeddings");
    bad = good;
    bad.parallel_residual = PARALLEL_RESIDUAL_TWO_NORMS;
    refuse(backend, bad, "parallel_residual with architecture encoder_decoder");
    bad = good;
    bad.architecture = ARCHITECTURE_DECODER;
    refuse(backend, bad, "a batch of 1 sources of 4 tokens: wanted 0 tokens, as the model has no encoder");
}

/* What is defined, and contradicts itself. */
static void test_contradictions(void)
{
    rotary_error error = {0};
    struct transformer_config config = pair_config(case_at(3)), bad;
    CHECK_INT(config.cross_rotary, 1);
    CHECK_INT(transformer_config_check(&config, &error), ROTARY_OK);
    CHECK_INT(config.num_encoder_layers, 1);
    CHECK_INT(contradictions_check(&config, &error), ROTARY_OK);
    bad = config;
    bad.partial_rotary_factor = 0.0;
    CHECK_INT(contradictions_check(&bad, &error), ROTARY_INVALID_ARGUMENT);
    CHECK(strstr(error.message, "cross_rotary is true, and full_attention rotates no channels"));
    bad = config;
    bad.no_rope_layers = json_pack("[i, i]", 0, 0); /* the encoder rotates */
    CHECK_INT(contradictions_check(&bad, &error), ROTARY_OK);
    bad.architecture = ARCHITECTURE_DECODER;
    CHECK_INT(contradictions_check(&bad, &error), ROTARY_INVALID_ARGUMENT);
    json_decref(bad.no_rope_layers);
    bad = config;
    bad.num_encoder_layers = 0;
    CHECK_INT(transformer_config_check(&bad, &error), ROTARY_OK);
    CHECK_INT(bad.num_encoder_layers, bad.num_hidden_layers);
}

static void test_refused_batches(const struct backend *backend)
{
    const struct transformer_config config = pair_config(case_at(0));
    struct transformer *transformer = pair_transformer(backend, &config, false);
    struct pair_batch packed;
    int32_t source[SOURCE_ROWS] = {0};
    pair_batch(&packed, &config);
    const struct batch level = {
        .input = {.batch = PAIRS, .time = TARGET_TIME, .tokens = (const int32_t[TARGET_ROWS]){0}},
        .source = {.batch = PAIRS, .time = SOURCE_TIME, .tokens = source},
        .classes = (const int32_t[TARGET_ROWS]){0}};
    struct batch bad = level;
    bad.source = (struct token_sequences){0};
    refuse_batch(transformer, &bad, "a batch without a source: an encoder-decoder wants one");
    bad = level;
    bad.source.batch = PAIRS - 1;
    refuse_batch(transformer, &bad, "3 sequences with 2 sources: wanted one for each");
    bad = level;
    bad.source.time = SOURCE_TIME + 1;
    refuse_batch(transformer, &bad,
                 "the source: a batch of 3 sequences of 6 tokens: this model was created for at most 3 of 5");
    bad = level;
    bad.source = packed.batch.source;
    refuse_batch(transformer, &bad,
                 "starts of sources alone: wanted them of sequences and sources, or of neither");
    source[4] = SOURCE_VOCABULARY;
    refuse_batch(transformer, &level, "the source: token 4 is 11: wanted 0 ... 10, the vocabulary");
    packed.source_starts[1] = 8;
    refuse_batch(transformer, &packed.batch, "the source: packed sequence");
    transformer_destroy(transformer);
}

/* Of every fourth case, and of every eighth, every encoding, norm position and tying is one. */
static void test_goldens(const struct backend *backend)
{
    bool fully = backend_is_tried_fully(backend);
    for (int64_t c = 0; c < CASES; c += fully ? 1 : 4)
        test_golden(backend, case_at(c));
    for (int64_t c = 1; c < CASES; c += fully ? 4 : 8)
        test_alone(backend, case_at(c));
}

int main(void)
{
    rotary_error error = {0};
    struct backend backend;
    on_every_backend(test_goldens);
    CHECK_INT(backend_create(&backend, 2, ROTARY_ISA_AUTO, PRECISION_F32, &error), ROTARY_OK);
    for (int64_t c = 0; c < CASES; c += 7)
        test_dropout(&backend, case_at(c));
    for (int64_t c = 0; c < CASES; c += 4)
        test_bytes(&backend, case_at(c));
    test_sites(&backend);
    test_refused_configurations(&backend);
    test_contradictions();
    test_refused_batches(&backend);
    backend_destroy(&backend);
    test_threads(PRECISION_F32);
    test_threads(backend_native_precision());
    return check_report();
}
