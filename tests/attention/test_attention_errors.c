/* SPDX-License-Identifier: Apache-2.0
 *
 * Invalid calls are refused with one sentence that names the error, and nothing is written.
 */
#include "attention/trial.h"
#include "support/check.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void refused(rotary_status status, const rotary_error *error, const char *fragment)
{
    CHECK_INT(status, ROTARY_INVALID_ARGUMENT);
    CHECK_INT(error->status, status);
    if (!CHECK(strstr(error->message, fragment) != NULL))
        printf("  got \"%s\", wanted \"%s\" in it\n", error->message, fragment);
}

static rotary_attention_config good_config(void)
{
    rotary_attention_config config;
    rotary_attention_config_default(&config);
    config.heads = 4;
    config.key_value_heads = 2;
    config.head_dim = 16;
    config.causal = true;
    config.threads = 1;
    return config;
}

static void refuse_config(rotary_attention_config config, const char *fragment)
{
    rotary_attention *attention = NULL;
    rotary_error error = {0};
    refused(rotary_attention_create(&attention, &config, &error), &error, fragment);
    CHECK(attention == NULL);
    CHECK_INT(rotary_attention_create(&attention, &config, NULL), ROTARY_INVALID_ARGUMENT);
}

static void try_configs(void)
{
    rotary_attention_config config = good_config();
    config.heads = 0;
    refuse_config(config, "heads is 0; wanted 1 ...");
    config = good_config();
    config.key_value_heads = 3;
    refuse_config(config, "key_value_heads is 3; wanted a number that divides heads, 4");
    config.key_value_heads = 8;
    refuse_config(config, "key_value_heads is 8; wanted a number that divides heads, 4");
    config = good_config();
    config.head_dim = -1;
    refuse_config(config, "head_dim is -1; wanted 1 ...");
    config = good_config();
    config.dtype = (rotary_dtype)3;
    refuse_config(config, "dtype is 3; wanted f32, f16 or bf16");
    config = good_config();
    config.scale = NAN;
    refuse_config(config, "scale is nan");
    config = good_config();
    config.softcap = -1;
    refuse_config(config, "softcap is -1");
    config = good_config();
    config.window = -2;
    refuse_config(config, "window is -2; wanted 1 or more");
    config.window = 5;
    config.causal = false;
    refuse_config(config, "window is 5 without causal");
    config = good_config();
    config.threads = -1;
    refuse_config(config, "threads is -1");
    config = good_config();
    config.struct_size = 4;
    refuse_config(config, "struct_size is 4");

    rotary_rope_config rope_config;
    rotary_rope *rope = NULL;
    rotary_rope_config_default(&rope_config);
    rope_config.head_dim = 32;
    CHECK_INT(rotary_rope_create(&rope, &rope_config, NULL), ROTARY_OK);
    config = good_config();
    config.rope = rope;
    refuse_config(config, "rope was made for heads of 32 channels; wanted head_dim, 16");
    config.rope = NULL;
    config.value_rope = rope;
    refuse_config(config, "value_rope was made for heads of 32 channels; wanted head_dim, 16");
    rotary_rope_destroy(rope);

    rotary_attention_destroy(NULL);
}

enum { TIME = 6, QUERY_TOKEN = 64, KEY_TOKEN = 32 };

/* Tensors for TIME tokens of two sequences. */
struct buffers {
    float query[2 * TIME * QUERY_TOKEN], key[2 * TIME * KEY_TOKEN], value[2 * TIME * KEY_TOKEN];
    float output[2 * TIME * QUERY_TOKEN], output_gradient[2 * TIME * QUERY_TOKEN];
    float query_gradient[2 * TIME * QUERY_TOKEN], key_gradient[2 * TIME * KEY_TOKEN],
        value_gradient[2 * TIME * KEY_TOKEN];
    float log_sum_exp[2 * 4 * TIME];
    void *workspace;
};

static rotary_attention_const_view given(const float *data, int64_t token)
{
    return (rotary_attention_const_view){data, TIME * token, token, 16};
}

static rotary_attention_view taken(float *data, int64_t token)
{
    return (rotary_attention_view){data, TIME * token, token, 16};
}

static rotary_attention_forward_call forward_call(struct buffers *b)
{
    return (rotary_attention_forward_call){
        .struct_size = sizeof(rotary_attention_forward_call),
        .shape = {.batch = 2, .queries = TIME, .keys = TIME},
        .query = given(b->query, QUERY_TOKEN),
        .key = given(b->key, KEY_TOKEN),
        .value = given(b->value, KEY_TOKEN),
        .output = taken(b->output, QUERY_TOKEN),
        .log_sum_exp = b->log_sum_exp,
        .workspace = b->workspace,
    };
}

static void refuse_forward(const rotary_attention *attention, rotary_attention_forward_call call,
                           const char *fragment)
{
    rotary_error error = {0};
    refused(rotary_attention_forward(attention, &call, &error), &error, fragment);
}

static void try_distance_keys(const rotary_attention *attention, struct buffers *b)
{
    const rotary_attention_distance_vectors keys[] = {
        {b->query, 0, 0, 0, 16, NULL},  {b->query, 2, INT64_MAX, 0, 16, NULL}, {b->query, 2, 0, 0, 15, NULL},
        {b->query, 2, 0, 8, 64, NULL},  {b->query, 2, 0, 16, 16, NULL},        {NULL, 2, 0, 0, 16, b->output},
        {b->query, 2, 0, 0, -15, NULL}, {b->query, 2, 0, 0, INT64_MIN, NULL}};
    const char *const messages[] = {"distance_keys has 0 distances; wanted 1 ... 4294967296",
                                    "distance_keys has 9223372036854775807 as its first distance",
                                    "distance_keys has a distance_stride of 15; wanted at least 16",
                                    "distance_keys has a head_stride of 8; wanted 0 (shared), or at least 16",
                                    "so vectors overlap",
                                    "distance_keys has a gradient but no data",
                                    "distance_keys has a distance_stride of -15; wanted at least 16, or as "
                                    "much backwards",
                                    "distance_keys has a distance_stride of -9223372036854775808"};
    for (int i = 0; i < 8; i++) {
        rotary_attention_forward_call call = forward_call(b);
        call.distance_keys = keys[i];
        refuse_forward(attention, call, messages[i]);
    }
    rotary_attention_forward_call call = forward_call(b);
    call.query_bias = b->query;
    refuse_forward(attention, call, "query_bias is given without distance_keys");
    call = forward_call(b);
    call.distance_values = keys[2];
    refuse_forward(attention, call, "distance_values has a distance_stride of 15; wanted at least 16");
}

static void try_piecewise_bias(const rotary_attention *attention, struct buffers *b)
{
    static const float functions[8] = {0}, rising[3] = {0, 1, 2}, falling[3] = {2, 1, 0},
                       valley[3] = {1, 0, 1}, scales[2] = {1, 0}, knots[2] = {0.5f, 0.25f};
    const rotary_attention_piecewise_bias good = {.intercepts = functions,
                                                  .slopes = functions,
                                                  .segments = 1,
                                                  .distance_inputs = valley,
                                                  .distances = 3,
                                                  .first = -1,
                                                  .query_scales = rising + 1,
                                                  .positions = 2};
    struct {
        rotary_attention_piecewise_bias bias;
        const char *message;
    } cases[] = {{good, "piecewise_bias has 0 segments; wanted 1 ... 1024"},
                 {good, "piecewise_bias has 1025 segments"},
                 {good, "piecewise_bias has query_scales of 0 positions; wanted at least 1"},
                 {good, "piecewise_bias has intercepts but no slopes"},
                 {good, "piecewise_bias has intercepts but no knots"},
                 {good, "piecewise_bias has intercepts but no distance_inputs"},
                 {good, "piecewise_bias has intercepts but no query_scales"},
                 {good, "piecewise_bias has 0 distances; wanted 1 ... 4294967296"},
                 {good, "piecewise_bias has a knot below the one before; wanted ascending knots"},
                 {good, "distance_inputs of piecewise_bias rise up to distance 0"},
                 {good, "distance_inputs of piecewise_bias rise up to distance 0, or fall from there on"},
                 {good, "query_scales[1] of piecewise_bias is 0; wanted more than 0"},
                 {good, "piecewise_bias has a gradient but no intercepts"}};
    cases[0].bias.segments = 0;
    cases[1].bias.segments = 1025;
    cases[2].bias.positions = 0;
    cases[3].bias.slopes = NULL;
    cases[4].bias.segments = 2;
    cases[5].bias.distance_inputs = NULL;
    cases[6].bias.query_scales = NULL;
    cases[7].bias.distances = 0;
    cases[8].bias.segments = 3;
    cases[8].bias.knots = knots;
    cases[9].bias.distance_inputs = rising;
    cases[10].bias.distance_inputs = falling;
    cases[11].bias.query_scales = scales;
    cases[12].bias.intercepts = NULL;
    cases[12].bias.scale_gradient = b->output;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rotary_attention_forward_call call = forward_call(b);
        call.piecewise_bias = cases[i].bias;
        refuse_forward(attention, call, cases[i].message);
    }
}

static void try_forward(const rotary_attention *attention, struct buffers *b)
{
    rotary_attention_forward_call call = forward_call(b);
    CHECK_INT(rotary_attention_forward(attention, &call, NULL), ROTARY_OK);
    memset(b->output, 0, sizeof b->output);
    call.shape.batch = -1;
    refuse_forward(attention, call, "batch is -1; wanted 0 ...");
    call = forward_call(b);
    call.shape.keys = (int64_t)1 << 40;
    refuse_forward(attention, call, "keys is 1099511627776; wanted 0 ...");
    CHECK_INT((int64_t)rotary_attention_forward_bytes(attention, call.shape), 0);
    call.shape.batch = call.shape.keys = (int64_t)1 << 31;
    refuse_forward(attention, call, "batch has 4611686018427387904 tokens; wanted at most");
    CHECK_INT((int64_t)rotary_attention_forward_bytes(attention, call.shape), 0);
    call = forward_call(b);
    call.shape.first_query = INT64_MAX;
    refuse_forward(attention, call, "first_query is 9223372036854775807");
    call = forward_call(b);
    call.key.data = NULL;
    refuse_forward(attention, call, "key has no data; wanted [2, 6, 2, 16] in f32");
    call = forward_call(b);
    call.value.time_stride = -1;
    refuse_forward(attention, call, "value has a time_stride of -1; wanted at least 0");
    call = forward_call(b);
    call.output.head_stride = 8;
    refuse_forward(attention, call, "output has a head_stride of 8; wanted at least 16");
    call = forward_call(b);
    call.output.time_stride -= 16;
    refuse_forward(attention, call, "so vectors overlap");
    call = forward_call(b);
    call.workspace = NULL;
    refuse_forward(attention, call, "there is no workspace; wanted");
    call.workspace = (char *)b->workspace + 4;
    refuse_forward(attention, call, "is not aligned; wanted 64 bytes");
    call = forward_call(b);
    call.bias = (rotary_attention_bias){b->query, 0, 0, -TIME};
    refuse_forward(attention, call, "bias has a query_stride of -6; wanted 0 (shared) or more");
    const rotary_attention_distance_bias biases[] = {{b->query, 0, 0, 0, NULL},
                                                     {b->query, 4, INT64_MIN, 0, NULL},
                                                     {b->query, 4, 0, 3, NULL},
                                                     {NULL, 4, 0, 4, b->output}};
    const char *const messages[] = {"distance_bias has 0 distances; wanted 1 ... 4294967296",
                                    "distance_bias has -9223372036854775808 as its first distance",
                                    "distance_bias has a head_stride of 3; wanted 0 (shared), or 4 or more",
                                    "distance_bias has a gradient but no data"};
    for (int i = 0; i < 4; i++) {
        call = forward_call(b);
        call.distance_bias = biases[i];
        refuse_forward(attention, call, messages[i]);
    }
    try_distance_keys(attention, b);
    try_piecewise_bias(attention, b);
    const float probabilities[] = {1.0f, -0.25f, NAN};
    for (int i = 0; i < 3; i++) {
        call = forward_call(b);
        call.dropout.probability = probabilities[i];
        refuse_forward(attention, call, "dropout has a probability of");
    }
    call = forward_call(b);
    call.key_lengths = (const int64_t[]){TIME, TIME + 1};
    refuse_forward(attention, call, "key_lengths[1] is 7; wanted 0 ... 6");
    call.key_lengths = (const int64_t[]){-1, 0};
    refuse_forward(attention, call, "key_lengths[0] is -1; wanted 0 ... 6");
    call.shape.batch = 1;
    call.packed_sequences = (rotary_attention_packed_sequences){(const int32_t[]){0, TIME}, NULL, 1};
    refuse_forward(attention, call, "key_lengths are given for packed sequences; wanted their key_starts");
    call = forward_call(b);
    CHECK_INT((int64_t)rotary_attention_forward_call_bytes(attention, &call),
              (int64_t)rotary_attention_forward_bytes(attention, call.shape));
    call.shape.batch = -1;
    CHECK_INT((int64_t)rotary_attention_forward_call_bytes(attention, &call), 0);
    call = forward_call(b);
    call.struct_size = 0;
    CHECK_INT((int64_t)rotary_attention_forward_call_bytes(attention, &call), 0);
    for (int i = 0; i < 2 * TIME * QUERY_TOKEN; i++)
        CHECK(b->output[i] == 0.0f);
    /* A program built before bias was added has none, whatever bytes follow its struct. */
    call = forward_call(b);
    call.bias = (rotary_attention_bias){b->query, 0, 0, -TIME};
    call.struct_size = offsetof(rotary_attention_forward_call, bias);
    CHECK_INT(rotary_attention_forward(attention, &call, NULL), ROTARY_OK);
    call = forward_call(b);
    call.shape.batch = 0;
    call.query.data = call.key.data = NULL;
    CHECK_INT(rotary_attention_forward(attention, &call, NULL), ROTARY_OK);
    call = forward_call(b);
    call.shape.keys = 0;
    memset(b->output, 0xff, sizeof b->output);
    CHECK_INT(rotary_attention_forward(attention, &call, NULL), ROTARY_OK);
    for (int i = 0; i < 2 * TIME * QUERY_TOKEN; i++)
        CHECK(b->output[i] == 0.0f);
    CHECK(isinf(b->log_sum_exp[0]) && b->log_sum_exp[0] < 0);
}

static void try_backward(const rotary_attention *attention, struct buffers *b)
{
    rotary_attention_backward_call good = {
        .struct_size = sizeof good,
        .shape = {.batch = 2, .queries = TIME, .keys = TIME},
        .query = given(b->query, QUERY_TOKEN),
        .key = given(b->key, KEY_TOKEN),
        .value = given(b->value, KEY_TOKEN),
        .output = given(b->output, QUERY_TOKEN),
        .output_gradient = given(b->output_gradient, QUERY_TOKEN),
        .log_sum_exp = b->log_sum_exp,
        .query_gradient = taken(b->query_gradient, QUERY_TOKEN),
        .key_gradient = taken(b->key_gradient, KEY_TOKEN),
        .value_gradient = taken(b->value_gradient, KEY_TOKEN),
        .workspace = b->workspace,
    };
    rotary_attention_backward_call call = good;
    rotary_error error = {0};
    CHECK_INT(rotary_attention_backward(attention, &call, &error), ROTARY_OK);
    call.log_sum_exp = NULL;
    refused(rotary_attention_backward(attention, &call, &error), &error, "log_sum_exp is missing");
    call = good;
    call.value_gradient.time_stride = 4;
    refused(rotary_attention_backward(attention, &call, &error), &error,
            "value_gradient has a time_stride of 4");
    call = good;
    call.distance_keys = (rotary_attention_distance_vectors){b->query, 2, 0, 0, 16, NULL};
    call.query_bias_gradient = b->output_gradient;
    refused(rotary_attention_backward(attention, &call, &error), &error,
            "query_bias_gradient is given without query_bias");
    call = good;
    call.sinks_gradient = b->output_gradient;
    refused(rotary_attention_backward(attention, &call, &error), &error,
            "sinks_gradient is given without sinks");
    call = good;
    call.output_gradient.data = NULL;
    refused(rotary_attention_backward(attention, &call, &error), &error, "output_gradient has no data");
    /* Without keys, queries have a gradient of zero; without queries, keys have. */
    call = good;
    call.shape.keys = 0;
    memset(b->query_gradient, 0xff, sizeof b->query_gradient);
    CHECK_INT(rotary_attention_backward(attention, &call, &error), ROTARY_OK);
    for (int i = 0; i < 2 * TIME * QUERY_TOKEN; i++)
        CHECK(b->query_gradient[i] == 0.0f);
    call = good;
    call.shape.queries = 0;
    memset(b->key_gradient, 0xff, sizeof b->key_gradient);
    CHECK_INT(rotary_attention_backward(attention, &call, &error), ROTARY_OK);
    for (int i = 0; i < 2 * TIME * KEY_TOKEN; i++)
        CHECK(b->key_gradient[i] == 0.0f);
}

static void try_decode(const rotary_attention *attention, struct buffers *b)
{
    const int64_t lengths[2] = {0, 4}, negative[2] = {0, -1}, full[2] = {0, 5};
    const rotary_attention_decode_call good = {
        .struct_size = sizeof good,
        .batch = 2,
        .queries = 2,
        .capacity = TIME,
        .lengths = lengths,
        .query = given(b->query, QUERY_TOKEN),
        .key = given(b->key, KEY_TOKEN),
        .value = given(b->value, KEY_TOKEN),
        .key_cache = taken(b->key_gradient, KEY_TOKEN),
        .value_cache = taken(b->value_gradient, KEY_TOKEN),
        .output = taken(b->output, QUERY_TOKEN),
        .workspace = b->workspace,
    };
    rotary_attention_decode_call call = good;
    rotary_error error = {0};
    CHECK_INT(rotary_attention_decode(attention, &call, &error), ROTARY_OK);
    call.lengths = negative;
    refused(rotary_attention_decode(attention, &call, &error), &error,
            "lengths[1] is -1; wanted 0 ... 4503599627370496");
    call.lengths = full;
    refused(rotary_attention_decode(attention, &call, &error), &error,
            "sequence 1 has 5 tokens in a cache of 6, and 2 more do not fit");
    call.lengths = NULL;
    refused(rotary_attention_decode(attention, &call, &error), &error, "lengths is missing");
    call = good;
    call.key_cache.time_stride = 0;
    refused(rotary_attention_decode(attention, &call, &error), &error, "key_cache has a time_stride of 0");

    rotary_attention_config config = good_config();
    rotary_attention *windowed = NULL;
    config.window = 6;
    CHECK_INT(rotary_attention_create(&windowed, &config, NULL), ROTARY_OK);
    call = good;
    call.lengths = full;
    refused(rotary_attention_decode(windowed, &call, &error), &error,
            "a cache of 6 is too small to be a ring buffer; wanted at least window + queries - 1, 7");
    rotary_attention_destroy(windowed);
    config.window = INT64_MAX;
    CHECK_INT(rotary_attention_create(&windowed, &config, NULL), ROTARY_OK);
    refused(rotary_attention_decode(windowed, &call, &error), &error,
            "a cache of 6 is too small to be a ring buffer");
    rotary_attention_destroy(windowed);
}

int main(void)
{
    try_configs();
    struct buffers *buffers = calloc(1, sizeof *buffers);
    rotary_attention_config config = good_config();
    rotary_attention *attention = NULL;
    rotary_attention_shape shape = {.batch = 2, .queries = TIME, .keys = TIME};
    if (!CHECK(buffers) || !CHECK_INT(rotary_attention_create(&attention, &config, NULL), ROTARY_OK))
        return check_report();
    size_t bytes = rotary_attention_forward_bytes(attention, shape);
    size_t backward_bytes = rotary_attention_backward_bytes(attention, shape);
    buffers->workspace = trial_memory(bytes > backward_bytes ? bytes : backward_bytes);
    try_forward(attention, buffers);
    try_backward(attention, buffers);
    try_decode(attention, buffers);
    rotary_attention_destroy(attention);
    free(buffers->workspace);
    free(buffers);
    return check_report();
}
