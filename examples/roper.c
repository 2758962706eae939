/* SPDX-License-Identifier: Apache-2.0
 *
 * Attention with rotary values (RoPER) and grouped queries, forward and backward: four query heads share two
 * key-value heads. All positions are shifted to show that only distances matter, and gradients are compared
 * with finite differences.
 */
#include <math.h>
#include <rotary/rotary.h>
#include <stdio.h>
#include <stdlib.h>

enum { TIME = 12, HEADS = 4, KEY_HEADS = 2, HEAD_DIM = 8 };
enum { QUERY_FLOATS = TIME * HEADS * HEAD_DIM, KEY_FLOATS = TIME * KEY_HEADS * HEAD_DIM };

/* [1, TIME, heads, HEAD_DIM] each */
static float query[QUERY_FLOATS], key[KEY_FLOATS], value[KEY_FLOATS], output[QUERY_FLOATS];
static float output_gradient[QUERY_FLOATS], query_gradient[QUERY_FLOATS], key_gradient[KEY_FLOATS],
    value_gradient[KEY_FLOATS];
static float log_sum_exp[HEADS * TIME];

static void check(rotary_status status, const rotary_error *error)
{
    if (status == ROTARY_OK)
        return;
    fprintf(stderr, "%s\n", error->message);
    exit(1);
}

static rotary_attention_view view(float *data, int heads)
{
    return (rotary_attention_view){.data = data, .time_stride = heads * HEAD_DIM, .head_stride = HEAD_DIM};
}

static rotary_attention_const_view const_view(const float *data, int heads)
{
    return (rotary_attention_const_view){
        .data = data, .time_stride = heads * HEAD_DIM, .head_stride = HEAD_DIM};
}

/* Positions first ... first + TIME - 1. */
static rotary_attention_shape shape_from(int64_t first)
{
    return (rotary_attention_shape){
        .batch = 1, .queries = TIME, .keys = TIME, .first_query = first, .first_key = first};
}

static void forward(const rotary_attention *attention, int64_t first, void *workspace)
{
    rotary_error error;
    rotary_attention_forward_call call = {
        .struct_size = sizeof call,
        .shape = shape_from(first),
        .query = const_view(query, HEADS),
        .key = const_view(key, KEY_HEADS),
        .value = const_view(value, KEY_HEADS),
        .output = view(output, HEADS),
        .log_sum_exp = log_sum_exp,
        .workspace = workspace,
    };
    check(rotary_attention_forward(attention, &call, &error), &error);
}

static void backward(const rotary_attention *attention, void *workspace)
{
    rotary_error error;
    rotary_attention_backward_call call = {
        .struct_size = sizeof call,
        .shape = shape_from(0),
        .query = const_view(query, HEADS),
        .key = const_view(key, KEY_HEADS),
        .value = const_view(value, KEY_HEADS),
        .output = const_view(output, HEADS),
        .output_gradient = const_view(output_gradient, HEADS),
        .log_sum_exp = log_sum_exp,
        .query_gradient = view(query_gradient, HEADS),
        .key_gradient = view(key_gradient, KEY_HEADS),
        .value_gradient = view(value_gradient, KEY_HEADS),
        .workspace = workspace,
    };
    check(rotary_attention_backward(attention, &call, &error), &error);
}

/* A loss whose gradient with respect to the output is output_gradient. */
static double loss(void)
{
    double sum = 0;
    for (int i = 0; i < QUERY_FLOATS; i++)
        sum += (double)output[i] * (double)output_gradient[i];
    return sum;
}

/* Entry i of the direction in which tensors are moved. */
static float direction(int i)
{
    return cosf(2.1f * (float)i);
}

static void step_along_direction(float *tensor, int count, float step)
{
    for (int i = 0; i < count; i++)
        tensor[i] += step * direction(i);
}

static double dot_with_direction(const float *gradient, int count)
{
    double sum = 0;
    for (int i = 0; i < count; i++)
        sum += (double)gradient[i] * (double)direction(i);
    return sum;
}

/* Compares the loss's derivative in that direction, from the gradient, with a central difference. */
static bool check_gradient(const rotary_attention *attention, const char *name, float *tensor, int count,
                           const float *gradient, void *workspace)
{
    const float step = 1.0f / 128;
    step_along_direction(tensor, count, step);
    forward(attention, 0, workspace);
    double after = loss();
    step_along_direction(tensor, count, -2 * step);
    forward(attention, 0, workspace);
    double finite_difference = (after - loss()) / (2 * (double)step);
    step_along_direction(tensor, count, step);
    double derivative = dot_with_direction(gradient, count);
    bool equal = fabs(derivative - finite_difference) < 1e-3 * (1 + fabs(derivative));
    printf("%-5s gradient: derivative %.3f %s the finite difference\n", name, derivative,
           equal ? "equals" : "differs from");
    return equal;
}

int main(void)
{
    for (int i = 0; i < QUERY_FLOATS; i++) {
        query[i] = sinf(0.7f * (float)i);
        output_gradient[i] = cosf(1.1f * (float)i);
    }
    for (int i = 0; i < KEY_FLOATS; i++) {
        key[i] = sinf(1.3f * (float)i);
        value[i] = cosf(0.9f * (float)i);
    }
    rotary_error error;
    rotary_rope_config rope_config;
    rotary_rope_config_default(&rope_config);
    rope_config.head_dim = HEAD_DIM;
    rotary_rope *rope;
    check(rotary_rope_create(&rope, &rope_config, &error), &error);
    rotary_attention_config config;
    rotary_attention_config_default(&config);
    config.heads = HEADS;
    config.key_value_heads = KEY_HEADS;
    config.head_dim = HEAD_DIM;
    config.causal = true;
    config.rope = rope;
    config.value_rope = rope; /* this makes it RoPER */
    rotary_attention *attention;
    check(rotary_attention_create(&attention, &config, &error), &error);
    size_t forward_bytes = rotary_attention_forward_bytes(attention, shape_from(0)),
           backward_bytes = rotary_attention_backward_bytes(attention, shape_from(0));
    void *workspace = aligned_alloc(64, forward_bytes > backward_bytes ? forward_bytes : backward_bytes);
    if (!workspace)
        return 1;

    forward(attention, 1000, workspace);
    double shifted_loss = loss();
    forward(attention, 0, workspace);
    bool passed = fabs(loss() - shifted_loss) < 1e-4;
    printf("loss %.3f; with positions 1000 greater: %s\n", loss(), passed ? "the same" : "different");
    backward(attention, workspace);
    passed &= check_gradient(attention, "query", query, QUERY_FLOATS, query_gradient, workspace);
    passed &= check_gradient(attention, "key", key, KEY_FLOATS, key_gradient, workspace);
    passed &= check_gradient(attention, "value", value, KEY_FLOATS, value_gradient, workspace);
    free(workspace);
    rotary_attention_destroy(attention);
    rotary_rope_destroy(rope);
    return !passed;
}
