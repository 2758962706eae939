/* SPDX-License-Identifier: Apache-2.0 */
#include "model/encoder_fixture.h"

#include "model/golden_gradients.h"
#include "model/model_keys.h"
#include "support/check.h"
#include "support/parameter_copy.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

const int32_t encoder_lengths[BATCH] = {7, 4, 1};

void encoder_config(struct transformer_config *config, const char *text)
{
    transformer_config_default(config);
    json_t *object = json_loads(text, 0, NULL);
    model_read(config, object);
    json_decref(object);
    config->architecture = ARCHITECTURE_ENCODER;
    config->vocab_size = VOCABULARY;
    config->hidden_size = 32;
    config->num_hidden_layers = 2;
    config->num_attention_heads = 4;
    config->head_dim = 8;
    config->intermediate_size = 40;
    config->max_position_embeddings = 16;
    model_assign(config, "relative_attention_num_buckets=8");
    model_assign(config, "relative_attention_max_distance=5");
    model_assign(config, "max_relative_position=3");
    model_assign(config, "fire_width=6");
    model_assign(config, "fire_length=8.0");
}

struct transformer *encoder_create(const struct backend *backend, const struct transformer_config *config,
                                   bool training)
{
    const struct transformer_limits limits = {
        .batch = BATCH, .time = TIME, .training = training, .packed = true};
    struct transformer *transformer = NULL;
    rotary_error error = {0};
    if (!CHECK_INT(transformer_create(&transformer, backend, config, limits, 1, &error), ROTARY_OK)) {
        printf("%s\n", error.message);
        exit(1);
    }
    return transformer;
}

void masked_batch_level(struct masked_batch *made, const struct transformer_config *config)
{
    int64_t types = config->type_vocab_size;
    for (int row = 0; row < ROWS; row++) {
        bool is_target = row % TIME < encoder_lengths[row / TIME] && row % 3 != 1;
        made->tokens[row] = (row * 7 + 3) % VOCABULARY;
        made->segments[row] = types > 0 ? (int32_t)(row * row % types) : 0;
        made->classes[row] = is_target ? (row * 5 + 1) % VOCABULARY : BATCH_IGNORED;
    }
    made->batch = (struct batch){.input = {.batch = BATCH,
                                           .time = TIME,
                                           .tokens = made->tokens,
                                           .segments = types > 0 ? made->segments : NULL},
                                 .classes = made->classes};
}

void masked_batch_cut(struct masked_batch *made)
{
    int32_t rows = 0;
    for (int row = 0; row < ROWS; row++) {
        if (row % TIME == 0)
            made->starts[row / TIME] = rows;
        if (row % TIME >= encoder_lengths[row / TIME])
            continue;
        made->tokens[rows] = made->tokens[row];
        made->segments[rows] = made->segments[row];
        made->classes[rows++] = made->classes[row];
    }
    made->starts[BATCH] = rows;
    made->batch.input.starts = made->starts;
}

void masked_batch(struct masked_batch *made, const struct transformer_config *config)
{
    masked_batch_level(made, config);
    masked_batch_cut(made);
}

struct loss_sums encoder_run(struct transformer *transformer, const struct batch *batch,
                             struct transformer_call call)
{
    struct loss_sums loss = {0};
    rotary_error error = {0};
    call.batch = batch;
    call.gradient_scale = 1.0f;
    if (!CHECK_INT(transformer_run(transformer, &call, &loss, &error), ROTARY_OK))
        printf("%s\n", error.message);
    return loss;
}

void encoder_fill(struct transformer *transformer, double step)
{
    struct parameters *parameters = transformer_parameters(transformer);
    parameter_fill(parameters);
    float *values = parameter_copy(parameters, PARAMETER_VALUES);
    for (int64_t i = 0; i < parameters->elements; i++)
        values[i] += (float)(step * sin(0.37 * (double)i));
    parameter_give(parameters, PARAMETER_VALUES, values);
}

double encoder_slope(struct transformer *transformer)
{
    const struct parameters *parameters = transformer_parameters(transformer);
    float *gradients = parameter_copy(parameters, PARAMETER_GRADIENTS);
    double slope = 0.0;
    for (int64_t i = 0; i < parameters->elements; i++)
        slope += (double)gradients[i] * sin(0.37 * (double)i);
    free(gradients);
    return slope;
}

double encoder_difference(const float *a, const float *b, int64_t count)
{
    float *rest = malloc((size_t)count * sizeof *rest);
    for (int64_t i = 0; i < count; i++)
        rest[i] = a[i] - b[i];
    double relative = golden_norm(rest, count) / golden_norm(b, count);
    free(rest);
    return relative;
}
