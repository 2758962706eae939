/* SPDX-License-Identifier: Apache-2.0
 *
 * Complete transformers: losses and gradients against PyTorch's autograd in double precision (tests/golden),
 * on every backend, in f32 and bf16; dropout by finite differences; memory; determinism; refusals.
 */
#include "backend/every_backend.h"
#include "model/model_keys.h"
#include "support/check.h"
#include "support/parameter_copy.h"

#include "model/transformer_parts.h"
#include "rope/rope_roles.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct golden_gradient {
    const char *name;
    double probe, norm;
};

struct golden_case {
    const char *position, *norm_position, *norm, *act;
    int bias, tied, key_value_heads;
    double fraction, value_fraction;
    const char *pairing;
    int scaled;
    const char *others; /* other settings, JSON */
    double loss;
    const struct golden_gradient *gradients;
    size_t count;
};

#include "decoder_goldens.h"

enum { VOCABULARY = 13, BATCH = 3, TIME = 7, ROWS = BATCH * TIME };

static const struct transformer_limits limits = {.batch = BATCH, .time = TIME, .training = true};

static void configure(struct transformer_config *config, const struct golden_case *golden)
{
    transformer_config_default(config);
    json_t *object = json_pack(
        "{s:s,s:s,s:s,s:s,s:b,s:b,s:i,s:f,s:f,s:s,s:b,s:i,s:i,s:i,s:i,s:i,s:i,s:i}", "position",
        golden->position, "norm_position", golden->norm_position, "norm", golden->norm, "hidden_act",
        golden->act, "bias", golden->bias, "tie_word_embeddings", golden->tied, "num_key_value_heads",
        golden->key_value_heads, "partial_rotary_factor", golden->fraction, "value_fraction",
        golden->value_fraction, "pairing", golden->pairing, "scale_embedding", golden->scaled, "vocab_size",
        VOCABULARY, "hidden_size", 32, "num_hidden_layers", 2, "num_attention_heads", 4, "head_dim", 8,
        "intermediate_size", 40, "max_position_embeddings", 16);
    json_t *others = json_loads(golden->others, 0, NULL);
    CHECK_INT(json_object_update(object, others), 0);
    json_decref(others);
    model_read(config, object);
    json_decref(object);
}

static struct transformer *create(const struct backend *backend, const struct transformer_config *config,
                                  uint64_t seed)
{
    rotary_error error = {0};
    struct transformer *transformer = NULL;
    if (!CHECK_INT(transformer_create(&transformer, backend, config, limits, seed, &error), ROTARY_OK)) {
        printf("%s\n", error.message);
        exit(1);
    }
    return transformer;
}

static struct loss_sums run(struct transformer *transformer, struct transformer_call call)
{
    int32_t tokens[ROWS], targets[ROWS];
    for (int i = 0; i < ROWS; i++) {
        tokens[i] = (i * 7 + 3) % VOCABULARY;
        targets[i] = (i * 5 + 1) % VOCABULARY;
    }
    const struct batch batch = {.input = {.batch = BATCH, .time = TIME, .tokens = tokens},
                                .classes = targets};
    call.batch = &batch;
    struct loss_sums loss = {0};
    rotary_error error = {0};
    if (!CHECK_INT(transformer_run(transformer, &call, &loss, &error), ROTARY_OK))
        printf("%s\n", error.message);
    return loss;
}

/* f32: a few hundred roundings of 6e-8 each, through two layers. bf16 keeps 8 bits: half a unit is 2e-3 of a
 * number, and some dozens of stored activations and their gradients are rounded along the longest path. ReLU
 * has a kink: of a few hundred hidden channels some are so near to it that bf16 moves them across. Each takes
 * or adds a complete row to some gradients, up to a third of their norm here, on all backends alike. */
static double bound_of(const struct backend *backend, const char *act)
{
    if (backend->storage == ROTARY_F32)
        return 2e-5;
    return strcmp(act, "relu") == 0 ? 0.4 : 6e-2;
}

static void test_golden(const struct backend *backend, const struct golden_case *golden)
{
    struct transformer_config config;
    configure(&config, golden);
    struct transformer *transformer = create(backend, &config, 1);
    parameter_fill(transformer_parameters(transformer));
    struct parameters *parameters = transformer_parameters(transformer);
    CHECK_INT(parameters->count, (int64_t)golden->count);
    struct loss_sums loss =
        run(transformer, (struct transformer_call){.backward = true, .gradient_scale = 1.0f});
    double bound = bound_of(backend, golden->act);
    CHECK_NEAR(loss.total, golden->loss, bound * golden->loss * 0.1);
    CHECK_INT(loss.counted, ROWS);
    float *gradients = parameter_copy(parameters, PARAMETER_GRADIENTS);
    for (size_t g = 0; g < golden->count; g++) {
        int row = parameters_find(parameters, golden->gradients[g].name);
        if (!CHECK(row >= 0))
            continue;
        const float *gradient = gradients + parameters->rows[row].offset;
        double probe = 0.0, square = 0.0, norm = golden->gradients[g].norm;
        int64_t count = parameter_elements(&parameters->rows[row]);
        /* A single number (of fire) gets a part of every score, and these cancel. What is added to all scores
         * of a query has no gradient but rounding. */
        double allowed = (count == 1 ? 3.0 : 1.0) * bound, size = norm > 1e-12 ? norm : 1.0;
        for (int64_t i = 0; i < count; i++) {
            probe += (double)gradient[i] * cos(0.9 * (double)i + 0.5);
            square += (double)gradient[i] * (double)gradient[i];
        }
        check_about("%s, %s %s-norm %s, %s", backend_about(backend), golden->position, golden->norm_position,
                    golden->act, golden->gradients[g].name);
        CHECK_NEAR(probe, golden->gradients[g].probe, allowed * (size + fabs(golden->gradients[g].probe)));
        CHECK_NEAR(sqrt(square), norm, allowed * size);
    }
    free(gradients);
    check_about("%s", "");
    transformer_destroy(transformer);
}

/* Of the distance, in scores or values. */
static bool has_learned_terms(const struct golden_case *golden)
{
    static const char *const positions[] = {"t5", "kerple", "shaw", "transformer-xl", "deberta", "fire"};
    for (size_t i = 0; i < sizeof positions / sizeof *positions; i++)
        if (strcmp(golden->position, positions[i]) == 0)
            return true;
    if (strstr(golden->others, "randomized_positions")) /* another step has other positions, and loss */
        return false;
    return strstr(golden->others, "attention_sinks") || strstr(golden->others, "key_is_value");
}

/* With dropout the loss is a function of the parameters too, as seed and step fix the mask. */
static void test_dropout(const struct backend *backend, double dropout, double attention_dropout)
{
    for (size_t c = 8; c < sizeof cases / sizeof *cases; c++) {
        if (strcmp(cases[c].act, "relu") == 0 || (c >= 10 && !has_learned_terms(&cases[c])))
            continue; /* ReLU's kink would spoil finite differences */
        struct transformer_config config;
        configure(&config, &cases[c]);
        config.dropout = dropout;
        config.attention_dropout = attention_dropout;
        struct transformer *transformer = create(backend, &config, 1);
        parameter_fill(transformer_parameters(transformer));
        struct parameters *parameters = transformer_parameters(transformer);
        struct transformer_call batch = {
            .backward = true, .gradient_scale = 1.0f, .seed = 5, .micro_step = 9};
        double slope = 0.0;
        struct loss_sums first = run(transformer, batch);
        float *gradients = parameter_copy(parameters, PARAMETER_GRADIENTS);
        for (int64_t i = 0; i < parameters->elements; i++)
            slope += (double)gradients[i] * sin(0.37 * (double)i);
        free(gradients);
        double at[2];
        const double step = 2e-4;
        for (int side = 0; side < 2; side++) {
            parameter_fill(transformer_parameters(transformer));
            float *values = parameter_copy(parameters, PARAMETER_VALUES);
            for (int64_t i = 0; i < parameters->elements; i++)
                values[i] += (float)((side ? step : -step) * sin(0.37 * (double)i));
            parameter_give(parameters, PARAMETER_VALUES, values);
            at[side] = run(transformer, batch).total;
        }
        double difference = (at[1] - at[0]) / (2.0 * step);
        check_about("%s-norm, dropout %g, of attention weights %g", cases[c].norm_position, dropout,
                    attention_dropout);
        CHECK_NEAR(difference, slope, 1e-2 * (fabs(slope) + 10.0));
        parameter_fill(transformer_parameters(transformer));
        batch.micro_step = 10;
        CHECK(run(transformer, batch).total != first.total);
        batch.backward = false;
        CHECK_NEAR(run(transformer, batch).total, cases[c].loss, 1e-4 * cases[c].loss);
        transformer_destroy(transformer);
    }
    check_about("%s", "");
}

/* A batch with fewer sequences than the model was created for, whose attention is cut into other work items:
 * the logits are those of these sequences in the largest batch. */
static void test_smaller_batch(const struct backend *backend)
{
    enum { SEQUENCES = 4, TOKENS = 288, WORDS = 7, LOGITS = SEQUENCES * TOKENS * WORDS };
    struct transformer_config config;
    transformer_config_default(&config);
    config.vocab_size = WORDS;
    config.hidden_size = 32;
    config.num_hidden_layers = 1;
    config.num_attention_heads = 8;
    config.max_position_embeddings = TOKENS;
    const struct transformer_limits largest = {.batch = SEQUENCES, .time = TOKENS};
    struct transformer *transformer = NULL;
    rotary_error error = {0};
    if (!CHECK_INT(transformer_create(&transformer, backend, &config, largest, 3, &error), ROTARY_OK))
        return;
    static int32_t words[SEQUENCES * TOKENS];
    static float wanted[LOGITS], got[LOGITS];
    for (int i = 0; i < SEQUENCES * TOKENS; i++)
        words[i] = (i * 5 + i * i / 3) % WORDS;
    struct batch batch = {.input = {.batch = SEQUENCES, .time = TOKENS, .tokens = words}};
    CHECK_INT(transformer_logits(transformer, &batch, wanted, &error), ROTARY_OK);
    for (batch.input.batch = 1; batch.input.batch < SEQUENCES; batch.input.batch++) {
        CHECK_INT(transformer_logits(transformer, &batch, got, &error), ROTARY_OK);
        check_about("%d sequences", (int)batch.input.batch);
        for (int64_t i = 0; i < batch.input.batch * TOKENS * WORDS; i++)
            CHECK_NEAR(got[i], wanted[i], 1e-5 * (1.0 + fabs((double)wanted[i])));
    }
    check_about("%s", "");
    transformer_destroy(transformer);
}

static void test_threads(enum precision precision, const struct golden_case *golden)
{
    float *wanted = NULL;
    for (int threads = 1; threads <= 3; threads++) {
        rotary_error error = {0};
        struct backend backend;
        CHECK_INT(backend_create(&backend, threads, ROTARY_ISA_AUTO, precision, &error), ROTARY_OK);
        struct transformer_config config;
        configure(&config, golden);
        config.dropout = config.attention_dropout = 0.1;
        struct transformer *transformer = create(&backend, &config, 3);
        struct parameters *parameters = transformer_parameters(transformer);
        run(transformer, (struct transformer_call){.backward = true, .gradient_scale = 1.0f, .seed = 5});
        size_t bytes = (size_t)parameters->elements * sizeof(float);
        float *got = parameter_copy(parameters, PARAMETER_GRADIENTS);
        check_about("%d threads", threads);
        CHECK(!wanted || memcmp(wanted, got, bytes) == 0);
        free(wanted);
        wanted = got;
        transformer_destroy(transformer);
        backend_destroy(&backend);
    }
    check_about("%s", "");
    free(wanted);
}

/* transformer_bytes estimates what transformer_create allocates. */
static void test_bytes(const struct backend *backend)
{
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct transformer_config config;
        configure(&config, &cases[c]);
        config.hidden_size = 128;
        config.head_dim = 32;
        config.intermediate_size = 512;
        config.max_position_embeddings = 50000; /* position tables dominate */
        config.xpos_scale = 1024;
        if (config.randomized_positions > 0)
            config.randomized_positions = config.max_position_embeddings;
        size_t estimate = 0;
        rotary_error error = {0};
        CHECK_INT(transformer_bytes(backend, &config, limits, &estimate, &error), ROTARY_OK);
        struct transformer *transformer = create(backend, &config, 1);
        double allocated = (double)transformer->parameters.arena.capacity +
                           (double)transformer->parameters.training_arena.capacity +
                           (double)transformer->arena.capacity + (double)linear_bytes(transformer->output) +
                           (double)parameters_shared_bytes(&transformer->parameters) +
                           (double)stack_weight_bytes(transformer->main.stack);
        double positions = (double)config.max_position_embeddings;
        const struct position_attention *plans = transformer->main.plans.plans;
        for (int i = 0; i < 2 * MAX_ATTENTION_PLANS; i++) {
            const rotary_rope *rope = i % 2 ? plans[i / 2].value_rope : plans[i / 2].rope;
            if (!rope)
                continue;
            int64_t tables = rotary_rope_queries_differ(rope) ? 3 : 1;
            allocated += positions * (double)(rotary_rope_span(rope).dim * tables) * sizeof(float);
        }
        const rotary_attention_distance_bias *bias = &transformer->main.distance_bias.call;
        if (bias->data)
            allocated += (double)(config.num_attention_heads * bias->distances) * sizeof(float) *
                         (bias->gradient ? 2.0 : 1.0);
        if (transformer->main.embedding.sinusoids)
            allocated += positions * (double)config.hidden_size * sizeof(float);
        const struct matrix *rows = &transformer->main.distance_rows.rows;
        allocated += (double)(rows->rows * rows->columns) * (double)rotary_dtype_size(rows->dtype);
        check_about("%s", cases[c].position);
        CHECK_NEAR((double)estimate, allocated, 0.2 * allocated);
        transformer_destroy(transformer);
    }
    check_about("%s", "");
}

/* Of the estimate, only logits and their gradients depend on rows times vocabulary; in f32 these are one. */
static void test_logit_bytes(const struct backend *backend)
{
    double estimate = 0;
    for (int i = 0; i < 4; i++) {
        struct transformer_config config;
        configure(&config, &cases[0]);
        config.vocab_size = i % 2 ? 320 : 64;
        struct transformer_limits larger = {.batch = i / 2 ? 4 : 1, .time = 256, .training = true};
        size_t bytes = 0;
        CHECK_INT(transformer_bytes(backend, &config, larger, &bytes, NULL), ROTARY_OK);
        estimate += (i % 2 == i / 2 ? 1 : -1) * (double)bytes;
    }
    double rows = 3 * 256, columns = 256,
           element_bytes = sizeof(float) + (backend->storage == ROTARY_F32 ? 0.0 : sizeof(uint16_t));
    CHECK_NEAR(estimate, rows * columns * element_bytes, 0);
}

/* The same seed initialises parameters of the same name and shape equally, whatever the encoding. */
static void test_same_initialisation(const struct backend *backend)
{
    struct transformer_config config[2];
    configure(&config[0], &cases[3]);
    configure(&config[1], &cases[6]);
    struct transformer *rope = create(backend, &config[0], 11), *roper = create(backend, &config[1], 11),
                       *other = create(backend, &config[0], 12);
    CHECK_INT(rope->parameters.elements, roper->parameters.elements);
    CHECK(parameter_same(&rope->parameters, &roper->parameters, PARAMETER_VALUES));
    CHECK(!parameter_same(&rope->parameters, &other->parameters, PARAMETER_VALUES));
    struct transformer_call batch = {.gradient_scale = 1.0f};
    CHECK(run(rope, batch).total != run(roper, batch).total);
    transformer_destroy(rope);
    transformer_destroy(roper);
    transformer_destroy(other);
}

/* A fraction of a head below one channel rotates nothing. */
static void test_small_fractions(const struct backend *backend)
{
    double losses[2];
    for (int i = 0; i < 2; i++) {
        struct transformer_config config;
        configure(&config, &cases[6]);
        config.position = i ? POSITION_ROPER : POSITION_NONE;
        config.partial_rotary_factor = config.value_fraction = 0.1; /* of 8 channels */
        struct transformer *transformer = create(backend, &config, 1);
        parameter_fill(transformer_parameters(transformer));
        losses[i] = run(transformer, (struct transformer_call){.gradient_scale = 1.0f}).total;
        transformer_destroy(transformer);
    }
    CHECK_NEAR(losses[1], losses[0], 0.0);
}

static void refuse(const struct backend *backend, struct transformer_config config, const char *message)
{
    rotary_error error = {0};
    struct transformer *transformer = NULL;
    CHECK_INT(transformer_create(&transformer, backend, &config, limits, 1, &error), ROTARY_INVALID_ARGUMENT);
    CHECK(!transformer);
    check_about("%s", error.message);
    CHECK(strstr(error.message, message));
    check_about("%s", "");
}

static void test_refusals(const struct backend *backend)
{
    struct transformer_config good, bad;
    configure(&good, &cases[1]);
    bad = good;
    bad.head_dim = 0;
    bad.num_attention_heads = 5;
    refuse(backend, bad, "hidden_size 32 is not a multiple of num_attention_heads 5");
    bad = good;
    bad.head_dim = 0;
    bad.hidden_size = 1 << 16;
    refuse(backend, bad, "makes heads of 16384 channels");
    bad = good;
    bad.num_key_value_heads = 3;
    refuse(backend, bad, "num_key_value_heads 3");
    bad = good;
    bad.position = POSITION_ROPER;
    bad.head_dim = 9;
    refuse(backend, bad, "9 of a head's 9 channels would rotate, wanted an even number");
    bad = good;
    bad.norm_position = NORM_POSITION_POST;
    bad.parallel_residual = PARALLEL_RESIDUAL_ONE_NORM;
    refuse(backend, bad, "post with a parallel_residual");
    bad.norm_position = NORM_POSITION_OUTPUT;
    bad.parallel_residual = PARALLEL_RESIDUAL_TWO_NORMS;
    refuse(backend, bad, "two_norms without a norm before the layers");
    bad = good;
    bad.position = POSITION_T5;
    model_assign(&bad, "relative_attention_num_buckets=9");
    refuse(backend, bad, "relative_attention_num_buckets is 9: wanted an even number");
    model_assign(&bad, "relative_attention_num_buckets=32");
    model_assign(&bad, "relative_attention_max_distance=16");
    refuse(backend, bad, "relative_attention_max_distance is 16 with relative_attention_num_buckets 32");
    bad = good;
    bad.position = POSITION_SANDWICH;
    model_assign(&bad, "sandwich_channels=3");
    refuse(backend, bad, "sandwich_channels is 3: wanted an even number");
    bad = good;
    bad.vocab_size = 0;
    refuse(backend, bad, "vocab_size is 0");

    struct transformer *transformer = create(backend, &good, 1);
    rotary_error error = {0};
    struct loss_sums loss;
    int32_t tokens[ROWS + TIME] = {0};
    struct batch batch = {.input = {.batch = BATCH + 1, .time = TIME, .tokens = tokens}, .classes = tokens};
    struct transformer_call call = {.batch = &batch};
    CHECK_INT(transformer_run(transformer, &call, &loss, &error), ROTARY_INVALID_ARGUMENT);
    CHECK(strstr(error.message, "created for at most 3 of 7"));
    batch.input.batch = BATCH;
    tokens[4] = VOCABULARY;
    CHECK_INT(transformer_run(transformer, &call, &loss, &error), ROTARY_INVALID_ARGUMENT);
    CHECK(strstr(error.message, "token 4 is 13"));
    transformer_destroy(transformer);
}

static void test_goldens(const struct backend *backend)
{
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        test_golden(backend, &cases[c]);
}

int main(void)
{
    rotary_error error = {0};
    struct backend backend;
    on_every_backend(test_goldens);
    CHECK_INT(backend_create(&backend, 2, ROTARY_ISA_AUTO, PRECISION_F32, &error), ROTARY_OK);
    test_dropout(&backend, 0.3, 0.0);
    test_dropout(&backend, 0.0, 0.3);
    test_smaller_batch(&backend);
    for (size_t c = 8; c < sizeof cases / sizeof *cases; c++) {
        if (c > 8 && !has_learned_terms(&cases[c]))
            continue;
        test_threads(PRECISION_F32, &cases[c]);
        test_threads(backend_native_precision(), &cases[c]);
    }
    test_bytes(&backend);
    test_logit_bytes(&backend);
    test_same_initialisation(&backend);
    test_small_fractions(&backend);
    test_refusals(&backend);
    backend_destroy(&backend);
    return check_report();
}
