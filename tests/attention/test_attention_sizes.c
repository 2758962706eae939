/* SPDX-License-Identifier: Apache-2.0
 *
 * Sizes and strides whose products overflow an int64_t are refused by every call, and measured as 0 bytes or
 * as more than there are. No output is written.
 */
#include "attention/trial.h"
#include "support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 2, TIME = 6, HEADS = 4, SHARED = 2, HEAD_DIM = 16, FLOATS = BATCH * TIME * HEADS * HEAD_DIM };

static const int64_t far[] = {INT64_MAX, INT64_MAX / 2, (int64_t)1 << 61};
static const int64_t wrong[] = {INT64_MAX, INT64_MIN, INT64_MIN + 1, (int64_t)1 << 61, -((int64_t)1 << 61)};
enum { FAR = sizeof far / sizeof *far, WRONG = sizeof wrong / sizeof *wrong };

struct fixture {
    rotary_attention *attention;
    float input[FLOATS], output[FLOATS], second[FLOATS], log_sum_exp[BATCH * HEADS * TIME];
    int64_t lengths[BATCH];
    int32_t source[BATCH];
    void *workspace;
};

static void refused(const struct fixture *fixture, rotary_status status, const rotary_error *error,
                    const char *words)
{
    check_about("refusal \"%s\"", words);
    CHECK_INT(status, ROTARY_INVALID_ARGUMENT);
    CHECK_WORDS(error->message, words);
    for (int i = 0; i < FLOATS; i++)
        CHECK(fixture->output[i] == 77.0f && fixture->second[i] == 77.0f);
    check_about("%s", "");
}

static rotary_attention_const_view given(const float *data, int64_t heads)
{
    return (rotary_attention_const_view){data, TIME * heads * HEAD_DIM, heads * HEAD_DIM, HEAD_DIM};
}

static rotary_attention_view taken(float *data, int64_t heads)
{
    return (rotary_attention_view){data, TIME * heads * HEAD_DIM, heads * HEAD_DIM, HEAD_DIM};
}

static rotary_attention_forward_call forward_call(struct fixture *f)
{
    return (rotary_attention_forward_call){
        .struct_size = sizeof(rotary_attention_forward_call),
        .shape = {.batch = BATCH, .queries = TIME, .keys = TIME},
        .query = given(f->input, HEADS),
        .key = given(f->input, SHARED),
        .value = given(f->input, SHARED),
        .output = taken(f->output, HEADS),
        .log_sum_exp = f->log_sum_exp,
        .workspace = f->workspace,
    };
}

static void refuse_forward(struct fixture *f, rotary_attention_forward_call call, const char *words)
{
    rotary_error error = {0};
    refused(f, rotary_attention_forward(f->attention, &call, &error), &error, words);
}

/* ---- shapes ---- */

static void test_shapes(struct fixture *f)
{
    for (int i = 0; i < WRONG; i++) {
        rotary_attention_forward_call call = forward_call(f);
        int64_t *const members[] = {&call.shape.batch, &call.shape.queries, &call.shape.keys,
                                    &call.shape.first_query, &call.shape.first_key};
        static const char *const names[] = {"batch is", "queries is", "keys is", "first_query is",
                                            "first_key is"};
        for (int member = 0; member < 5; member++) {
            const int64_t before = *members[member];
            *members[member] = wrong[i];
            refuse_forward(f, call, names[member]);
            CHECK_INT((int64_t)rotary_attention_forward_call_bytes(f->attention, &call), 0);
            CHECK_INT((int64_t)rotary_attention_forward_bytes(f->attention, call.shape), 0);
            CHECK_INT((int64_t)rotary_attention_backward_bytes(f->attention, call.shape), 0);
            *members[member] = before;
        }
        CHECK_INT((int64_t)rotary_attention_decode_bytes(f->attention, wrong[i], 1, 1), 0);
        CHECK_INT((int64_t)rotary_attention_decode_bytes(f->attention, 1, wrong[i], 1), 0);
        CHECK_INT((int64_t)rotary_attention_decode_bytes(f->attention, 1, 1, wrong[i]), 0);
        CHECK_INT((int64_t)rotary_attention_append_bytes(f->attention, wrong[i], 1), 0);
        CHECK_INT((int64_t)rotary_attention_append_bytes(f->attention, 1, wrong[i]), 0);
        CHECK_INT((int64_t)rotary_attention_reorder_bytes(f->attention, wrong[i]), 0);
    }
}

/* The largest shapes are measured without an overflow: never as fewer bytes than smaller ones. */
static void test_largest(void)
{
    rotary_attention_config config;
    rotary_attention *attention = NULL;
    rotary_attention_config_default(&config);
    config.heads = config.key_value_heads = 1 << 16;
    config.head_dim = 256;
    config.threads = 1024;
    if (!CHECK_INT(rotary_attention_create(&attention, &config, NULL), ROTARY_OK))
        return;
    const int64_t most = (int64_t)1 << 31, other = (int64_t)1 << 9;
    const rotary_attention_shape shapes[] = {{most, other, other, 0, 0}, {other, most, most, 0, 0}};
    for (int i = 0; i < 2; i++) {
        const rotary_attention_shape smaller = {shapes[i].batch / 2, shapes[i].queries / 2,
                                                shapes[i].keys / 2, 0, 0};
        CHECK(rotary_attention_forward_bytes(attention, shapes[i]) >=
              rotary_attention_forward_bytes(attention, smaller));
        CHECK(rotary_attention_backward_bytes(attention, shapes[i]) >=
              rotary_attention_backward_bytes(attention, smaller));
        CHECK(rotary_attention_decode_bytes(attention, shapes[i].batch, other, shapes[i].keys) >=
              rotary_attention_decode_bytes(attention, smaller.batch, other, smaller.keys));
    }
    CHECK(rotary_attention_reorder_bytes(attention, most) >=
          rotary_attention_reorder_bytes(attention, other));
    rotary_attention_destroy(attention);
}

/* ---- strides ---- */

static void test_strides(struct fixture *f)
{
    for (int i = 0; i < FAR; i++) {
        rotary_attention_forward_call call = forward_call(f);
        int64_t *const members[] = {&call.query.batch_stride, &call.query.time_stride,
                                    &call.query.head_stride,  &call.key.time_stride,
                                    &call.value.time_stride,  &call.output.time_stride};
        for (int member = 0; member < 6; member++) {
            const int64_t before = *members[member];
            *members[member] = far[i];
            refuse_forward(f, call, " has strides|overflow");
            *members[member] = before;
        }
        rotary_attention_backward_call backward = {
            .struct_size = sizeof backward,
            .shape = call.shape,
            .query = call.query,
            .key = call.key,
            .value = call.value,
            .output = given(f->input, HEADS),
            .output_gradient = {f->input, far[i], HEADS * HEAD_DIM, HEAD_DIM},
            .log_sum_exp = f->log_sum_exp,
            .query_gradient = call.output,
            .key_gradient = taken(f->second, SHARED),
            .value_gradient = taken(f->second + FLOATS / 2, SHARED),
            .workspace = f->workspace};
        rotary_error error = {0};
        refused(f, rotary_attention_backward(f->attention, &backward, &error), &error,
                "output_gradient has strides|overflow");
    }
}

static void test_terms(struct fixture *f)
{
    for (int i = 0; i < FAR; i++) {
        rotary_attention_forward_call call = forward_call(f);
        call.bias = (rotary_attention_bias){f->input, far[i], 0, 0};
        refuse_forward(f, call, "bias has strides|overflow");
        call.bias = (rotary_attention_bias){f->input, 0, far[i], 0};
        refuse_forward(f, call, "bias has strides|overflow");
        call.bias = (rotary_attention_bias){f->input, 0, 0, far[i]};
        refuse_forward(f, call, "bias has strides|overflow");
        call = forward_call(f);
        call.distance_bias = (rotary_attention_distance_bias){f->input, 2, 0, far[i], NULL};
        refuse_forward(f, call, "distance_bias has strides|overflow");
        call = forward_call(f);
        call.distance_keys = (rotary_attention_distance_vectors){f->input, 2, 0, far[i], HEAD_DIM, NULL};
        refuse_forward(f, call, "distance_keys has strides|overflow");
        call.distance_keys = (rotary_attention_distance_vectors){f->input, 2, 0, 0, far[i], NULL};
        refuse_forward(f, call, "distance_keys has strides|overflow");
        call.distance_keys = (rotary_attention_distance_vectors){f->input, 2, 0, 0, -far[i], NULL};
        refuse_forward(f, call, "distance_keys has strides|overflow");
        call.distance_keys = (rotary_attention_distance_vectors){f->input, far[i], 0, 0, HEAD_DIM, NULL};
        refuse_forward(f, call, "distance_keys has |distances");
        call = forward_call(f);
        call.piecewise_bias = (rotary_attention_piecewise_bias){.intercepts = f->input,
                                                                .slopes = f->input,
                                                                .segments = 1,
                                                                .distance_inputs = f->input,
                                                                .distances = 1,
                                                                .query_scales = f->input,
                                                                .positions = far[i]};
        refuse_forward(f, call, "query_scales of |at most");
    }
}

/* ---- caches ---- */

static void test_caches(struct fixture *f)
{
    rotary_error error = {0};
    for (int i = 0; i < FAR; i++) {
        const rotary_attention_view cache = taken(f->output, SHARED), second = taken(f->second, SHARED),
                                    distant = {f->output, far[i], SHARED * HEAD_DIM, HEAD_DIM};
        const rotary_attention_decode_call decode = {.struct_size = sizeof decode,
                                                     .batch = BATCH,
                                                     .queries = 1,
                                                     .capacity = TIME,
                                                     .lengths = f->lengths,
                                                     .query = given(f->input, HEADS),
                                                     .key = given(f->input, SHARED),
                                                     .value = given(f->input, SHARED),
                                                     .key_cache = distant,
                                                     .value_cache = second,
                                                     .output = taken(f->output, HEADS),
                                                     .workspace = f->workspace};
        refused(f, rotary_attention_decode(f->attention, &decode, &error), &error,
                "key_cache has strides|overflow");
        const rotary_attention_append_call append = {.struct_size = sizeof append,
                                                     .batch = BATCH,
                                                     .tokens = 1,
                                                     .capacity = TIME,
                                                     .lengths = f->lengths,
                                                     .key = given(f->input, SHARED),
                                                     .value = given(f->input, SHARED),
                                                     .key_cache = cache,
                                                     .value_cache = distant,
                                                     .workspace = f->workspace};
        refused(f, rotary_attention_append(f->attention, &append, &error), &error,
                "value_cache has strides|overflow");
        const rotary_attention_reorder_call reorder = {.struct_size = sizeof reorder,
                                                       .batch = BATCH,
                                                       .capacity = TIME,
                                                       .source = f->source,
                                                       .key_cache = distant,
                                                       .value_cache = second,
                                                       .workspace = f->workspace};
        refused(f, rotary_attention_reorder(f->attention, &reorder, &error), &error,
                "key_cache has strides|overflow");
        const rotary_attention_shift_call shift = {.struct_size = sizeof shift,
                                                   .batch = BATCH,
                                                   .capacity = TIME,
                                                   .lengths = f->lengths,
                                                   .keep = f->lengths,
                                                   .discard = f->lengths,
                                                   .key_cache = cache,
                                                   .value_cache = distant};
        refused(f, rotary_attention_shift(f->attention, &shift, &error), &error,
                "value_cache has strides|overflow");
    }
}

int main(void)
{
    struct fixture *f = calloc(1, sizeof *f);
    rotary_attention_config config;
    rotary_attention_config_default(&config);
    config.heads = HEADS;
    config.key_value_heads = SHARED;
    config.head_dim = HEAD_DIM;
    config.threads = 1;
    if (!CHECK(f) || !CHECK_INT(rotary_attention_create(&f->attention, &config, NULL), ROTARY_OK))
        return check_report();
    for (int i = 0; i < FLOATS; i++)
        f->output[i] = f->second[i] = 77.0f;
    f->source[0] = 1;
    f->workspace = trial_memory(1 << 20);
    test_shapes(f);
    test_largest();
    test_strides(f);
    test_terms(f);
    test_caches(f);
    rotary_attention_destroy(f->attention);
    free(f->workspace);
    free(f);
    return check_report();
}
