/* SPDX-License-Identifier: Apache-2.0
 *
 * The example of an encoding: its bias is that of the paper, attention adds it, forward, backward and in
 * decoding, and a model with it trains.
 */
#include "backend/reference_backend.h"
#include "support/check.h"

#include "base/random.h"
#include "model/attention_weights.h"
#include "model/transformer_parts.h"
#include "support/parameter_copy.h"
#include "train/optimizer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEADS = 3, DIM = 8, TIME = 9, BATCH = 2, VOCABULARY = 11, ROWS = BATCH * TIME };

static const double widths[HEADS] = {1, 2, 4};

static struct transformer *create(const struct backend *backend, const char *position)
{
    struct transformer_config config;
    transformer_config_default(&config);
    json_t *object =
        json_pack("{s:s, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:s, s:f}", "position", position, "vocab_size",
                  VOCABULARY, "hidden_size", HEADS * DIM, "num_hidden_layers", 2, "num_attention_heads",
                  HEADS, "num_key_value_heads", 1, "intermediate_size", 32, "max_position_embeddings", TIME,
                  "initialisation", "normal", "initializer_range", 0.4);
    struct settings settings[TRANSFORMER_SETTINGS];
    transformer_settings(&config, settings);
    struct transformer *transformer = NULL;
    const struct transformer_limits limits = {.batch = BATCH, .time = TIME, .training = true};
    rotary_error error = {0};
    if (!CHECK_INT(settings_read(settings, TRANSFORMER_SETTINGS, object, "test", &error), ROTARY_OK) ||
        !CHECK_INT(transformer_create(&transformer, backend, &config, limits, 5, &error), ROTARY_OK)) {
        printf("%s\n", error.message);
        exit(1);
    }
    json_decref(object);
    return transformer;
}

/* The list has one name more, and configurations know it. */
static void test_name(void)
{
    CHECK_INT(POSITIONS, POSITION_GAUSSIAN + 1);
    CHECK_TEXT(position_names[POSITION_GAUSSIAN], "gaussian");
    CHECK(!position_names[POSITIONS]);
    CHECK_TEXT(position_names[POSITION_ROPER], "roper");
}

/* Its key is one of configurations, where it says what it does and what it may be. */
static void test_key(void)
{
    struct transformer_config config;
    struct settings settings[TRANSFORMER_SETTINGS];
    rotary_error error = {0};
    char names[SETTINGS_NAMES_BYTES];
    transformer_config_default(&config);
    transformer_settings(&config, settings);
    CHECK_INT(settings_assign(settings, TRANSFORMER_SETTINGS, "position=gaussian", &error), ROTARY_OK);
    CHECK_INT(settings_assign(settings, TRANSFORMER_SETTINGS, "gaussian_width=4", &error), ROTARY_OK);
    CHECK_INT(model_encoding_check(&config, &error), ROTARY_OK);
    json_t *object = json_object();
    CHECK_INT(settings_write(settings, TRANSFORMER_SETTINGS, object, &error), ROTARY_OK);
    CHECK_INT(json_integer_value(json_object_get(object, "gaussian_width")), 4);
    json_decref(object);
    CHECK_INT(settings_assign(settings, TRANSFORMER_SETTINGS, "gaussian_width=0", &error),
              ROTARY_INVALID_ARGUMENT);
    CHECK(strstr(error.message, "\"gaussian_width\" is 0, wanted a whole number from 1 to"));
    CHECK_INT(settings_assign(settings, TRANSFORMER_SETTINGS, "gaussian_width=3", &error), ROTARY_OK);
    CHECK_INT(model_encoding_check(&config, &error), ROTARY_INVALID_ARGUMENT);
    CHECK_TEXT(error.message, "gaussian_width is 3: wanted a power of two");
    CHECK_TEXT(encoding_names_with_key("gaussian_width", names), "gaussian");
}

/* ---- attention ---- */

static struct {
    float query[ROWS * HEADS * DIM], key[ROWS * DIM], value[ROWS * DIM], output[ROWS * HEADS * DIM];
} tensors;

static void fill_tensors(void)
{
    const struct rotary_random_key key = {.seed = 7, .stream = ROTARY_STREAM_TEST};
    float *numbers = (float *)&tensors;
    for (size_t i = 0; i < sizeof tensors / sizeof(float); i++)
        numbers[i] = 2.0f * (float)rotary_random_normal(key, i);
}

/* The output of query m of a head, in double. */
static void attend(int64_t sequence, int64_t head, int64_t m, double output[DIM])
{
    double scores[TIME], max = -INFINITY, sum = 0;
    for (int64_t n = 0; n <= m; n++) {
        double dot = 0;
        for (int i = 0; i < DIM; i++)
            dot += (double)tensors.query[((sequence * TIME + m) * HEADS + head) * DIM + i] *
                   (double)tensors.key[(sequence * TIME + n) * DIM + i];
        scores[n] = dot / sqrt(DIM) - pow((double)(m - n) / widths[head], 2) / 2;
        max = fmax(max, scores[n]);
    }
    memset(output, 0, DIM * sizeof *output);
    for (int64_t n = 0; n <= m; n++)
        sum += scores[n] = exp(scores[n] - max);
    for (int64_t n = 0; n <= m; n++)
        for (int i = 0; i < DIM; i++)
            output[i] += scores[n] / sum * (double)tensors.value[(sequence * TIME + n) * DIM + i];
}

/* The plans and the bias of a model compute the formula. */
static void test_formula(const struct backend *backend)
{
    struct transformer *transformer = create(backend, "gaussian");
    const struct attention_plans *plans = &transformer->main.plans;
    fill_tensors();
    const rotary_attention_shape shape = {.batch = BATCH, .queries = TIME, .keys = TIME};
    void *workspace = NULL;
    rotary_error error = {0};
    rotary_attention_forward_call call = {.struct_size = sizeof call,
                                          .shape = shape,
                                          .query = {tensors.query, TIME * HEADS * DIM, HEADS * DIM, DIM},
                                          .key = {tensors.key, TIME * DIM, DIM, DIM},
                                          .value = {tensors.value, TIME * DIM, DIM, DIM},
                                          .output = {tensors.output, TIME * HEADS * DIM, HEADS * DIM, DIM},
                                          .distance_bias = transformer->main.distance_bias.call};
    size_t bytes = backend->operations->attention_forward_bytes(plans->of_layer[0], &call);
    CHECK_INT(backend->operations->allocate(backend, &workspace, bytes, "a test", &error), ROTARY_OK);
    call.workspace = workspace;
    const struct backend_attention_forward forward = {plans->of_layer[0], &call};
    CHECK_INT(backend->operations->attention_forward(backend, &forward, &error), ROTARY_OK);
    for (int64_t row = 0; row < ROWS; row++)
        for (int64_t head = 0; head < HEADS; head++) {
            double wanted[DIM];
            attend(row / TIME, head, row % TIME, wanted);
            for (int i = 0; i < DIM; i++)
                CHECK_NEAR((double)tensors.output[(row * HEADS + head) * DIM + i], wanted[i], 1e-5);
        }
    backend->operations->release(backend, workspace);
    transformer_destroy(transformer);
}

/* ---- models ---- */

static const int32_t tokens[ROWS + 1] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3, 2, 3, 8};

static double run(struct transformer *transformer, bool backward)
{
    const struct batch batch = {.input = {.batch = BATCH, .time = TIME, .tokens = tokens},
                                .classes = tokens + 1};
    const struct transformer_call call = {
        .batch = &batch, .backward = backward, .gradient_scale = 1.0f / ROWS};
    struct loss_sums loss = {0};
    rotary_error error = {0};
    if (!CHECK_INT(transformer_run(transformer, &call, &loss, &error), ROTARY_OK))
        printf("%s\n", error.message);
    return loss.total / ROWS;
}

/* Along the gradient the loss rises by the gradient's length. */
static void test_gradient(const struct backend *backend)
{
    struct transformer *transformer = create(backend, "gaussian");
    struct parameters *parameters = transformer_parameters(transformer);
    rotary_error error = {0};
    CHECK_INT(parameters_clear_statistics(parameters, &error), ROTARY_OK);
    run(transformer, true);
    float *values = parameter_copy(parameters, PARAMETER_VALUES),
          *gradients = parameter_copy(parameters, PARAMETER_GRADIENTS),
          *moved = parameter_copy(parameters, PARAMETER_VALUES);
    double square = 0, losses[2];
    for (int64_t i = 0; i < parameters->elements; i++)
        square += (double)gradients[i] * (double)gradients[i];
    double norm = sqrt(square), step = 2e-3;
    for (int side = 0; side < 2; side++) {
        for (int64_t i = 0; i < parameters->elements; i++)
            moved[i] = (float)((double)values[i] + (side ? step : -step) * (double)gradients[i] / norm);
        parameter_replace(parameters, PARAMETER_VALUES, moved);
        losses[side] = run(transformer, false);
    }
    CHECK_NEAR((losses[1] - losses[0]) / (2 * step), norm, 2e-3 * norm);
    free(values);
    free(gradients);
    free(moved);
    transformer_destroy(transformer);
}

static void test_training(const struct backend *backend)
{
    struct transformer *transformer = create(backend, "gaussian"), *none = create(backend, "none");
    struct parameters *parameters = transformer_parameters(transformer);
    const struct optimizer optimizer = {
        .kind = OPTIMIZER_ADAM, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8, .max_grad_norm = 1.0};
    double first = run(transformer, false), last = first;
    CHECK(fabs(first - run(none, false)) > 1e-3); /* from the same weights: only the bias differs */
    for (int64_t step = 1; step <= 40; step++) {
        rotary_error error = {0};
        CHECK_INT(parameters_clear_statistics(parameters, &error), ROTARY_OK);
        last = run(transformer, true);
        CHECK_INT(optimizer_step(&optimizer, parameters, step, 1e-2, &error), ROTARY_OK);
    }
    check_about("the loss falls from %g to %g", first, last);
    CHECK(last < 0.5 * first);
    check_about("%s", "");
    transformer_destroy(none);
    transformer_destroy(transformer);
}

/* Decoding gives the logits of the forward pass, and there is no bias beyond the model's positions. */
static void test_decode(const struct backend *backend)
{
    struct transformer *transformer = create(backend, "gaussian");
    static float logits[ROWS * VOCABULARY];
    const struct batch batch = {.input = {.batch = BATCH, .time = TIME, .tokens = tokens}};
    struct transformer_cache *cache = NULL;
    const struct transformer_cache_shape shape = {.batch = BATCH, .capacity = 2 * TIME};
    rotary_error error = {0};
    CHECK_INT(transformer_logits(transformer, &batch, logits, &error), ROTARY_OK);
    CHECK_INT(transformer_cache_create(&cache, transformer, &shape, &error), ROTARY_OK);
    float last[BATCH * VOCABULARY];
    int32_t next[BATCH] = {0};
    const struct transformer_decode_call call = {.time = 1, .tokens = next, .logits = last};
    for (int t = 0; t < TIME; t++) {
        for (int b = 0; b < BATCH; b++)
            next[b] = tokens[b * TIME + t];
        CHECK_INT(transformer_decode(transformer, cache, &call, &error), ROTARY_OK);
        for (int i = 0; i < BATCH * VOCABULARY; i++) {
            double wanted = (double)logits[(i / VOCABULARY * TIME + t) * VOCABULARY + i % VOCABULARY];
            check_about("token %d", t);
            CHECK_NEAR((double)last[i], wanted, 1e-4 * (1 + fabs(wanted)));
        }
    }
    check_about("%s", "");
    CHECK_INT(transformer_decode(transformer, cache, &call, &error), ROTARY_INVALID_ARGUMENT);
    CHECK(strstr(error.message, "position 9: the model has positions 0 ... 8"));
    transformer_cache_destroy(cache);
    transformer_destroy(transformer);
}

/* The bias is in the weights that are shown of a model too: attention's own output is what they give. */
static void test_weights(const struct backend *backend)
{
    struct transformer *transformer = create(backend, "gaussian");
    struct attention_weights weights[ATTENTION_KINDS];
    const struct attention_weights_call call = {.tokens = tokens, .count = TIME};
    rotary_error error = {0};
    if (CHECK_INT(attention_weights_create(weights, transformer, &call, &error), ROTARY_OK)) {
        CHECK(weights[ATTENTION_DECODER].difference > 0);
        CHECK_NEAR(weights[ATTENTION_DECODER].difference, 0, backend->storage == ROTARY_F32 ? 4e-6 : 1.5e-2);
        attention_weights_free(weights);
    }
    transformer_destroy(transformer);
}

int main(void)
{
    struct backend backend;
    rotary_error error = {0};
    CHECK_INT(backend_create(&backend, 2, ROTARY_ISA_AUTO, PRECISION_F32, &error), ROTARY_OK);
    test_name();
    test_key();
    test_formula(&backend);
    test_weights(&backend);
    test_gradient(&backend);
    test_training(&backend);
    test_decode(&backend);
    backend_destroy(&backend);
    CHECK_INT(reference_backend_create(&backend, ROTARY_F32, &error), ROTARY_OK);
    test_gradient(&backend);
    test_training(&backend);
    test_decode(&backend);
    backend_destroy(&backend);
    return check_report();
}
