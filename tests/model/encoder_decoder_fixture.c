/* SPDX-License-Identifier: Apache-2.0 */
#include "model/encoder_decoder_fixture.h"

#include "model/model_keys.h"
#include "support/check.h"
#include "support/parameter_copy.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const int32_t target_lengths[PAIRS] = {7, 4, 1}, source_lengths[PAIRS] = {5, 2, 4};

struct transformer_config pair_config(const struct golden_case *golden)
{
    struct transformer_config config;
    transformer_config_default(&config);
    bool shared = strcmp(golden->tying, "all") == 0, tied = strcmp(golden->tying, "none") != 0;
    json_t *object =
        json_pack("{s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:b,s:b,s:b,s:b,s:b,s:i,s:f,s:f}", "architecture",
                  "encoder_decoder", "norm_position", golden->norm_position, "position", golden->position,
                  "norm", golden->norm, "hidden_act", golden->act, "pairing", golden->pairing,
                  "query_key_norm", golden->query_key_norm, "bias", golden->bias, "tie_word_embeddings", tied,
                  "share_encoder_decoder_embeddings", shared, "cross_rotary", golden->cross_rotary,
                  "scale_embedding", golden->scaled, "num_key_value_heads", golden->key_value_heads,
                  "partial_rotary_factor", golden->fraction, "label_smoothing", golden->label_smoothing);
    model_read(&config, object);
    json_decref(object);
    config.vocab_size = VOCABULARY;
    config.source_vocab_size = shared ? 0 : SOURCE_VOCABULARY;
    config.hidden_size = 32;
    config.num_hidden_layers = 2;
    config.num_encoder_layers = 1;
    config.num_attention_heads = 4;
    config.head_dim = 8;
    config.intermediate_size = 40;
    config.max_position_embeddings = 16;
    model_assign(&config, "relative_attention_num_buckets=8");
    config.xpos_scale = 8;
    model_assign(&config, "relative_attention_max_distance=5");
    model_assign(&config, "max_relative_position=3");
    model_assign(&config, "fire_width=6");
    model_assign(&config, "fire_length=8.0");
    return config;
}

struct transformer *pair_transformer(const struct backend *backend, const struct transformer_config *config,
                                     bool training)
{
    const struct transformer_limits limits = {.batch = PAIRS,
                                              .time = TARGET_TIME,
                                              .source_time = SOURCE_TIME,
                                              .training = training,
                                              .packed = true};
    struct transformer *transformer = NULL;
    rotary_error error = {0};
    if (!CHECK_INT(transformer_create(&transformer, backend, config, limits, 1, &error), ROTARY_OK)) {
        printf("%s\n", error.message);
        exit(1);
    }
    return transformer;
}

void pair_fill(struct transformer *transformer, double step)
{
    struct parameters *parameters = transformer_parameters(transformer);
    float *values = parameter_copy(parameters, PARAMETER_VALUES);
    for (int row = 0; row < parameters->count; row++) {
        const char *name = parameters->rows[row].name;
        int64_t offset = parameters->rows[row].offset;
        bool gain = strstr(name, "norm") && strstr(name, "weight");
        for (int64_t i = 0; i < parameter_elements(&parameters->rows[row]); i++) {
            double x = (double)i, filled = 0.3 * sin(0.7 * x + 0.05 * x * x + (double)strlen(name));
            values[offset + i] =
                (float)(filled + (gain ? 1.0 : 0.0) + step * sin(0.37 * (double)(offset + i)));
        }
    }
    parameter_give(parameters, PARAMETER_VALUES, values);
}

static int64_t source_vocabulary(const struct transformer_config *config)
{
    return config->share_encoder_decoder_embeddings ? VOCABULARY : SOURCE_VOCABULARY;
}

static int32_t token(int64_t row)
{
    return (int32_t)((row * 7 + 3) % VOCABULARY);
}

static int32_t target(int64_t row)
{
    return (int32_t)((row * 5 + 1) % VOCABULARY);
}

static int32_t source_token(const struct transformer_config *config, int64_t row)
{
    return (int32_t)((row * 4 + 2) % source_vocabulary(config));
}

/* Appends pair `pair`, which becomes pair `place`. */
static void append(struct pair_batch *made, const struct transformer_config *config, int64_t pair,
                   int64_t place)
{
    int32_t *row = &made->starts[place + 1], *source_row = &made->source_starts[place + 1];
    *row = made->starts[place];
    *source_row = made->source_starts[place];
    for (int64_t t = 0; t < target_lengths[pair]; t++, (*row)++) {
        made->tokens[*row] = token(pair * TARGET_TIME + t);
        made->classes[*row] = target(pair * TARGET_TIME + t);
    }
    for (int64_t t = 0; t < source_lengths[pair]; t++)
        made->source[(*source_row)++] = source_token(config, pair * SOURCE_TIME + t);
}

static void begin(struct pair_batch *made, int64_t batch)
{
    *made = (struct pair_batch){
        .batch = {.input = {.batch = batch, .tokens = made->tokens, .starts = made->starts},
                  .source = {.batch = batch, .tokens = made->source, .starts = made->source_starts},
                  .classes = made->classes}};
}

void pair_alone(struct pair_batch *made, const struct transformer_config *config, int64_t pair)
{
    begin(made, 1);
    append(made, config, pair, 0);
    made->batch.input.starts = made->batch.source.starts = NULL;
    made->batch.input.time = target_lengths[pair];
    made->batch.source.time = source_lengths[pair];
}

void pair_batch(struct pair_batch *made, const struct transformer_config *config)
{
    begin(made, PAIRS);
    for (int64_t pair = 0; pair < PAIRS; pair++)
        append(made, config, pair, pair);
}
