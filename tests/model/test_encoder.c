/* SPDX-License-Identifier: Apache-2.0
 *
 * Encoders with a masked-token head: losses and gradients against PyTorch's autograd in double precision
 * (tests/golden), for every encoding, on every backend, in f32 and bf16; sequences alone; targets gathered
 * in parts and not at all; token types; dropout by finite differences; a decoder with the same parts; memory;
 * determinism; refusals.
 */
#include "backend/every_backend.h"
#include "model/encoder_fixture.h"
#include "model/golden_gradients.h"
#include "model/refused_batch.h"
#include "support/check.h"
#include "support/parameter_copy.h"

#include "base/isa.h"
#include "model/generation/generation.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct encoder_case {
    const char *settings; /* JSON */
    double loss;
    const struct golden_probe *probes;
    size_t count;
};

#include "encoder_goldens.h"

enum { CASES = sizeof encoder_cases / sizeof *encoder_cases };

static struct transformer *create_case(const struct backend *backend, int64_t number, bool training)
{
    struct transformer_config config;
    encoder_config(&config, encoder_cases[number].settings);
    struct transformer *transformer = encoder_create(backend, &config, training);
    parameter_fill(transformer_parameters(transformer));
    return transformer;
}

static struct loss_sums run(struct transformer *transformer, struct transformer_call call)
{
    struct masked_batch made;
    masked_batch(&made, transformer_configuration(transformer));
    return encoder_run(transformer, &made.batch, call);
}

static const struct transformer_call with_backward = {.backward = true};

/* As for encoder-decoders (test_encoder_decoder.c). */
static double bound_of(const struct transformer *transformer)
{
    bool grows = transformer->config.norm_position == NORM_POSITION_NONE;
    return transformer->backend->storage == ROTARY_F32 ? (grows ? 1e-4 : 2e-5) : 0.12;
}

static void test_golden(const struct backend *backend, int64_t number)
{
    const struct encoder_case *golden = &encoder_cases[number];
    struct transformer *transformer = create_case(backend, number, true);
    const struct parameters *parameters = transformer_parameters(transformer);
    struct loss_sums loss = run(transformer, with_backward);
    double bound = bound_of(transformer);
    check_about("%s, %s", backend_about(backend), golden->settings);
    CHECK_INT(parameters->count, (int64_t)golden->count);
    CHECK_NEAR(loss.total, golden->loss, bound * golden->loss * 0.1);
    CHECK_INT(loss.counted, 8);
    float *gradients = parameter_copy(parameters, PARAMETER_GRADIENTS);
    for (size_t g = 0; g < golden->count; g++) {
        const char *name = encoder_names[golden->probes[g].name];
        int row = parameters_find(parameters, name);
        check_about("%s, %s, %s", backend_about(backend), golden->settings, name);
        if (CHECK(row >= 0))
            golden_compare(gradients, parameters, row, golden->probes[g].probe, bound);
    }
    free(gradients);
    check_about("%s", "");
    transformer_destroy(transformer);
}

/* Sequences alone have the losses and gradients of all together; so have the targets of a batch, the rest
 * being ignored, in two calls. */
static void test_parts(const struct backend *backend, int64_t number)
{
    struct transformer *transformer = create_case(backend, number, true);
    struct parameters *parameters = transformer_parameters(transformer);
    struct masked_batch all, part;
    float *gradients[3];
    double losses[3] = {0}, bound = backend->storage == ROTARY_F32 ? 3e-6 : 3e-2;
    losses[0] = run(transformer, with_backward).total;
    gradients[0] = parameter_copy(parameters, PARAMETER_GRADIENTS);
    parameter_clear(parameters, PARAMETER_GRADIENTS);
    masked_batch(&all, transformer_configuration(transformer));
    for (int s = 0; s < BATCH; s++) {
        const int32_t start = all.starts[s];
        const struct batch alone = {
            .input = {.batch = 1,
                      .time = encoder_lengths[s],
                      .tokens = all.tokens + start,
                      .segments = all.batch.input.segments ? all.segments + start : NULL},
            .classes = all.classes + start};
        losses[1] += encoder_run(transformer, &alone, with_backward).total;
    }
    gradients[1] = parameter_copy(parameters, PARAMETER_GRADIENTS);
    parameter_clear(parameters, PARAMETER_GRADIENTS);
    for (int half = 0; half < 2; half++) {
        masked_batch(&part, transformer_configuration(transformer));
        for (int row = 0; row < ROWS; row++)
            if ((row >= TIME / 2) == half)
                part.classes[row] = BATCH_IGNORED;
        losses[2] += encoder_run(transformer, &part.batch, with_backward).total;
    }
    gradients[2] = parameter_copy(parameters, PARAMETER_GRADIENTS);
    check_about("%s, %s", backend_about(backend), encoder_cases[number].settings);
    for (int i = 1; i < 3; i++) {
        CHECK_NEAR(losses[i], losses[0], 1e-6 * losses[0]);
        CHECK_NEAR(encoder_difference(gradients[i], gradients[0], parameters->elements), 0.0, bound);
    }
    for (int i = 0; i < 3; i++)
        free(gradients[i]);
    check_about("%s", "");
    transformer_destroy(transformer);
}

/* A batch without a target is one without a loss and without gradients. */
static void test_no_targets(const struct backend *backend)
{
    struct transformer *transformer = create_case(backend, 3, true);
    struct parameters *parameters = transformer_parameters(transformer);
    struct masked_batch made;
    masked_batch(&made, transformer_configuration(transformer));
    encoder_run(transformer, &made.batch, with_backward); /* leaves numbers in all memory */
    parameter_clear(parameters, PARAMETER_GRADIENTS);
    for (int row = 0; row < ROWS; row++)
        made.classes[row] = BATCH_IGNORED;
    struct loss_sums loss = encoder_run(transformer, &made.batch, with_backward);
    float *gradients = parameter_copy(parameters, PARAMETER_GRADIENTS);
    CHECK_INT(loss.counted, 0);
    CHECK_NEAR(loss.total, 0.0, 0.0);
    CHECK_NEAR(golden_norm(gradients, parameters->elements), 0.0, 0.0);
    free(gradients);
    transformer_destroy(transformer);
}

/* Logits of some tokens are those tokens' among all; a later token changes those of an earlier one, and the
 * types of tokens change them too. */
static void test_logits(const struct backend *backend)
{
    static const int64_t rows[] = {0, 5, 6, 10};
    enum { COUNT = sizeof rows / sizeof *rows };
    static float all[ROWS * VOCABULARY], some[COUNT * VOCABULARY], other[ROWS * VOCABULARY];
    struct transformer *transformer = create_case(backend, 3, false);
    struct masked_batch made;
    rotary_error error = {0};
    masked_batch(&made, transformer_configuration(transformer));
    CHECK_INT(transformer_logits(transformer, &made.batch, all, &error), ROTARY_OK);
    CHECK_INT(transformer_row_logits(transformer, &made.batch, rows, COUNT, some, &error), ROTARY_OK);
    for (int64_t i = 0; i < COUNT * VOCABULARY; i++)
        CHECK_NEAR(some[i], all[rows[i / VOCABULARY] * VOCABULARY + i % VOCABULARY],
                   backend->storage == ROTARY_F32 ? 1e-5 : 0.1);
    made.tokens[TIME - 1] = (made.tokens[TIME - 1] + 1) % VOCABULARY;
    CHECK_INT(transformer_logits(transformer, &made.batch, other, &error), ROTARY_OK);
    CHECK(memcmp(other, all, sizeof *all * VOCABULARY) != 0);
    CHECK(memcmp(other + TIME * VOCABULARY, all + TIME * VOCABULARY, sizeof *all * 4 * VOCABULARY) == 0);
    masked_batch(&made, transformer_configuration(transformer));
    made.batch.input.segments = NULL;
    CHECK_INT(transformer_logits(transformer, &made.batch, other, &error), ROTARY_OK);
    CHECK(memcmp(other, all, sizeof *all * VOCABULARY) != 0);
    memset(made.segments, 0, sizeof made.segments);
    made.batch.input.segments = made.segments;
    CHECK_INT(transformer_logits(transformer, &made.batch, all, &error), ROTARY_OK);
    CHECK(memcmp(other, all, sizeof *all * TIME * VOCABULARY) == 0);
    transformer_destroy(transformer);
}

/* With dropout the loss is a function of the parameters too, as seed and step fix the masks. */
static void test_dropout(const struct backend *backend, int64_t number)
{
    struct transformer_config config;
    encoder_config(&config, encoder_cases[number].settings);
    config.dropout = 0.2;
    config.attention_dropout = 0.1;
    config.activation_dropout = 0.3;
    config.label_smoothing = 0.0;
    struct transformer *transformer = encoder_create(backend, &config, true);
    struct transformer_call call = {.backward = true, .seed = 5, .micro_step = 9};
    const double step = 2e-4;
    double at[2];
    parameter_fill(transformer_parameters(transformer));
    double first = run(transformer, call).total;
    double slope = encoder_slope(transformer);
    for (int side = 0; side < 2; side++) {
        encoder_fill(transformer, side ? step : -step);
        at[side] = run(transformer, call).total;
    }
    check_about("%s", encoder_cases[number].settings);
    CHECK_NEAR((at[1] - at[0]) / (2.0 * step), slope, 1e-2 * (fabs(slope) + 10.0));
    parameter_fill(transformer_parameters(transformer));
    call.micro_step = 10;
    CHECK(run(transformer, call).total != first);
    call.backward = false;
    CHECK_NEAR(run(transformer, call).total, encoder_cases[number].loss, 1e-4 * encoder_cases[number].loss);
    check_about("%s", "");
    transformer_destroy(transformer);
}

/* A norm after the sum of embeddings comes before their dropout: dropped elements are 0, and the mean square
 * of the others is that of the norm's gain, 1, times the square of what dropout multiplies them with. */
static void test_dropped_embedding(const struct backend *backend)
{
    struct transformer_config config;
    encoder_config(&config, encoder_cases[3].settings);
    struct transformer *transformer = encoder_create(backend, &config, true);
    const struct embedded_stack *part = &transformer->main;
    float *out = stack_input(part->stack);
    static float stream[ROWS * 32];
    double square = 0.0;
    int zeros = 0;
    run(transformer, with_backward); /* writes the tokens */
    const struct embedding_call call = {
        .batch = BATCH, .time = TIME, .tokens = part->tokens, .dropout = {.probability = 0.5f, .seed = 3}};
    CHECK_INT(embedding_forward(&part->embedding, &transformer->parameters, &call, out, NULL), ROTARY_OK);
    CHECK_INT(backend->operations->read(backend, stream, out, sizeof stream, NULL), ROTARY_OK);
    for (int i = 0; i < ROWS * 32; i++) {
        zeros += stream[i] == 0.0f;
        square += (double)stream[i] * (double)stream[i];
    }
    CHECK_NEAR((double)zeros, ROWS * 32 * 0.5, 60.0);
    CHECK_NEAR(square / (ROWS * 32 - zeros), 4.0, 0.5);
    transformer_destroy(transformer);
}

static void test_threads(enum precision precision)
{
    float *wanted = NULL;
    for (int threads = 1; threads <= 3; threads++) {
        struct backend backend;
        struct transformer_config config;
        CHECK_INT(backend_create(&backend, threads, ROTARY_ISA_AUTO, precision, NULL), ROTARY_OK);
        encoder_config(&config, encoder_cases[6].settings);
        config.dropout = config.attention_dropout = config.activation_dropout = 0.1;
        struct transformer *transformer = encoder_create(&backend, &config, true);
        const struct parameters *parameters = transformer_parameters(transformer);
        run(transformer, with_backward);
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

/* transformer_bytes counts what transformer_create allocates. */
static void test_bytes(const struct backend *backend)
{
    struct transformer_config config;
    encoder_config(&config, encoder_cases[1].settings);
    config.hidden_size = 128; /* packed weights of narrow layers are rounded up to blocks */
    config.head_dim = 32;
    config.intermediate_size = 512;
    const struct transformer_limits limits = {.batch = BATCH, .time = TIME, .training = true, .packed = true};
    size_t estimate = 0;
    CHECK_INT(transformer_bytes(backend, &config, limits, &estimate, NULL), ROTARY_OK);
    struct transformer *transformer = encoder_create(backend, &config, true);
    const struct loss_config loss = {
        .rows = ROWS, .training = true, .gathers = true, .width = 128, .transform = transformer->transform};
    double allocated = (double)loss_bytes(backend, VOCABULARY, &loss) +
                       (double)transformer->parameters.arena.capacity +
                       (double)transformer->parameters.training_arena.capacity +
                       (double)transformer->arena.capacity + (double)linear_bytes(transformer->output) +
                       (double)parameters_shared_bytes(&transformer->parameters) +
                       (double)output_transform_weight_bytes(transformer->transform) +
                       (double)stack_weight_bytes(transformer->main.stack);
    CHECK_NEAR((double)estimate, allocated, 0.02 * allocated);
    transformer_destroy(transformer);
}

/* Types, the norm of embeddings and the output transform in a decoder: decoding with a cache gives the logits
 * of a forward pass, and the most probable class is their argmax. */
static void test_decoder(const struct backend *backend)
{
    struct transformer_config config;
    encoder_config(&config, encoder_cases[3].settings);
    config.architecture = ARCHITECTURE_DECODER;
    struct transformer *transformer = encoder_create(backend, &config, false);
    static float all[ROWS * VOCABULARY];
    float some[BATCH * VOCABULARY], best[BATCH];
    int32_t chosen[BATCH];
    struct masked_batch made;
    rotary_error error = {0};
    parameter_fill(transformer_parameters(transformer));
    masked_batch_level(&made, &config);
    made.batch.input.segments = NULL;
    CHECK_INT(transformer_logits(transformer, &made.batch, all, &error), ROTARY_OK);
    const struct backend_top_classes top = {.count = 1, .log_probabilities = best, .chosen = chosen};
    for (int with_top = 0; with_top < 2; with_top++) {
        const struct transformer_cache_shape shape = {.batch = BATCH, .capacity = TIME};
        struct transformer_cache *cache = NULL;
        CHECK_INT(transformer_cache_create(&cache, transformer, &shape, &error), ROTARY_OK);
        const struct transformer_decode_call call = {.time = TIME,
                                                     .tokens = made.tokens,
                                                     .logits = with_top ? NULL : some,
                                                     .top_classes = with_top ? &top : NULL};
        CHECK_INT(transformer_decode(transformer, cache, &call, &error), ROTARY_OK);
        transformer_cache_destroy(cache);
    }
    double bound = backend->storage == ROTARY_F32 ? 1e-4 : 0.2;
    for (int64_t i = 0; i < BATCH; i++) {
        const float *wanted = all + (i * TIME + TIME - 1) * VOCABULARY;
        for (int64_t class = 0; class < VOCABULARY; class ++) {
            CHECK_NEAR(some[i * VOCABULARY + class], wanted[class], bound);
            CHECK(wanted[class] <= wanted[chosen[i]] + (float)bound);
        }
    }
    transformer_destroy(transformer);
}

static void refuse(const struct backend *backend, struct transformer_config config, const char *message)
{
    const struct transformer_limits limits = {.batch = 1, .time = 4};
    struct transformer *transformer = NULL;
    rotary_error error = {0};
    CHECK_INT(transformer_create(&transformer, backend, &config, limits, 1, &error), ROTARY_INVALID_ARGUMENT);
    CHECK(!transformer);
    check_about("%s", error.message);
    CHECK(strstr(error.message, message));
    check_about("%s", "");
}

static void test_refused_batches(struct transformer *transformer)
{
    struct masked_batch made;
    static float logits[2 * VOCABULARY];
    rotary_error error = {0};
    masked_batch(&made, transformer_configuration(transformer));
    struct batch bad = made.batch;
    bad.source = bad.input;
    refuse_batch(transformer, &bad, "a batch with a source: an encoder without a decoder does not read it");
    made.segments[5] = 2;
    refuse_batch(transformer, &made.batch, "the segment of token 5 is 2: wanted 0 ... 1");
    made.segments[5] = -1;
    refuse_batch(transformer, &made.batch, "the segment of token 5 is -1");
    made.segments[5] = 0;
    static const int64_t rows[][2] = {{3, 3}, {0, ROWS}, {-1, 2}};
    for (int i = 0; i < 3; i++) {
        CHECK_INT(transformer_row_logits(transformer, &made.batch, rows[i], 2, logits, &error),
                  ROTARY_INVALID_ARGUMENT);
        CHECK(strstr(error.message, "wanted tokens of a batch of 12, in ascending order"));
    }
}

static void test_refusals(const struct backend *backend)
{
    struct transformer_config good, bad;
    rotary_error error = {0};
    encoder_config(&good, encoder_cases[3].settings);
    bad = good;
    bad.sliding_window = 4;
    refuse(backend, bad, "sliding_window is 4 with architecture encoder");
    bad = good;
    bad.layer_types = json_pack("[s, s]", "full_attention", "sliding_attention");
    refuse(backend, bad, "layer_types has sliding_attention with architecture encoder");
    json_decref(bad.layer_types);
    struct transformer *transformer = encoder_create(backend, &good, false);
    test_refused_batches(transformer);
    struct transformer_cache *cache = NULL;
    const struct transformer_cache_shape shape = {.batch = 1, .capacity = 4};
    CHECK_INT(transformer_cache_create(&cache, transformer, &shape, &error), ROTARY_UNSUPPORTED);
    CHECK(strstr(error.message, "the model is an encoder, which generates no tokens"));
    static const int32_t prompt[] = {1, 2};
    const int32_t *prompts = prompt;
    int32_t output[2], *outputs = output;
    int64_t length = 2, generated = 0;
    const struct generate_config generation = {.max_new_tokens = 2, .stop = -1, .without_cache = true};
    const struct generate_call call = {
        .count = 1, .prompts = &prompts, .lengths = &length, .outputs = &outputs, .generated = &generated};
    CHECK_INT(generation_run(transformer, &generation, &call, &error), ROTARY_INVALID_ARGUMENT);
    CHECK(strstr(error.message, "the model is an encoder, which continues no prompt"));
    transformer_destroy(transformer);
    good.type_vocab_size = 0;
    good.architecture = ARCHITECTURE_DECODER;
    transformer = encoder_create(backend, &good, false);
    struct masked_batch made;
    masked_batch(&made, &good);
    const int64_t row = 0;
    float logits[VOCABULARY];
    CHECK_INT(transformer_row_logits(transformer, &made.batch, &row, 1, logits, &error), ROTARY_UNSUPPORTED);
    made.batch.input.segments = made.segments;
    refuse_batch(transformer, &made.batch, "a model without a type_vocab_size does not read them");
    transformer_destroy(transformer);
}

static void test_backend(const struct backend *backend)
{
    const bool fully = backend_is_tried_fully(backend);
    for (int64_t c = 0; c < CASES; c += fully ? 1 : 3)
        test_golden(backend, c);
    for (int64_t c = 1; c < CASES; c += fully ? 2 : 5)
        test_parts(backend, c);
    test_no_targets(backend);
    test_logits(backend);
    test_decoder(backend);
}

int main(void)
{
    struct backend backend;
    on_every_backend(test_backend);
    CHECK_INT(backend_create(&backend, 2, ROTARY_ISA_AUTO, PRECISION_F32, NULL), ROTARY_OK);
    for (int64_t c = 0; c < CASES; c += 5)
        test_dropout(&backend, c);
    test_dropped_embedding(&backend);
    test_bytes(&backend);
    test_refusals(&backend);
    backend_destroy(&backend);
    test_threads(PRECISION_F32);
    test_threads(backend_native_precision());
    return check_report();
}
