/* SPDX-License-Identifier: Apache-2.0
 *
 * Sizes and strides whose products overflow an int64_t are refused, in every call, and nothing is read or
 * written.
 */
#include "rope/plans.h"

#include <string.h>

enum { BATCH = 2, TIME = 3, HEADS = 2, HEAD_DIM = 8, COUNT = BATCH * TIME * HEADS * HEAD_DIM };

static float data[COUNT], output[COUNT];

static const int64_t far[] = {INT64_MAX,     INT64_MIN,           INT64_MIN + 1,
                              INT64_MAX / 2, -((int64_t)1 << 62), (int64_t)1 << 61};
enum { FAR = sizeof far / sizeof *far };

static void refused(rotary_status status, const rotary_error *error, const char *words)
{
    check_about("refusal \"%s\"", words);
    CHECK_INT(status, ROTARY_INVALID_ARGUMENT);
    CHECK_WORDS(error->message, words);
    for (int i = 0; i < COUNT; i++)
        CHECK(output[i] == 77.0f);
    check_about("%s", "");
}

static rotary_rope_apply_call apply_call(void)
{
    rotary_rope_apply_call call = {.struct_size = sizeof call, .batch = BATCH, .time = TIME};
    call.key = plan_tensor(data, output, TIME, HEADS, HEAD_DIM);
    return call;
}

static void refuse_apply(const rotary_rope *rope, rotary_rope_apply_call call, const char *words)
{
    rotary_error error = {0};
    refused(rotary_rope_apply(rope, &call, &error), &error, words);
}

/* ---- tokens, heads, strides: what every call that rotates has ---- */

/* The same batch, time and tensor in each of the calls. */
static void refuse_everywhere(const rotary_rope *rope, int64_t batch, int64_t time, rotary_rope_tensor tensor,
                              const char *words)
{
    rotary_error error = {0};
    rotary_rope_apply_call apply = {
        .struct_size = sizeof apply, .batch = batch, .time = time, .query = tensor};
    refused(rotary_rope_apply(rope, &apply, &error), &error, words);
    rotary_rope_shift_call shift = {
        .struct_size = sizeof shift, .batch = batch, .time = time, .shift = 1, .value = tensor};
    refused(rotary_rope_shift(rope, &shift, &error), &error, words);
    rotary_rope_rebase_call rebase = {
        .struct_size = sizeof rebase, .batch = batch, .time = time, .key = tensor};
    refused(rotary_rope_rebase(rope, rope, &rebase, &error), &error, words);
}

static void test_tokens(const rotary_rope *rope)
{
    const rotary_rope_tensor tensor = plan_tensor(data, output, TIME, HEADS, HEAD_DIM);
    const int64_t large = (int64_t)1 << 21;
    for (int i = 0; i < FAR; i++) {
        const char *words = far[i] < 0 ? "neither below 0" : "1099511627776 tokens";
        refuse_everywhere(rope, far[i], TIME, tensor, words);
        refuse_everywhere(rope, BATCH, far[i], tensor, words);
        refuse_everywhere(rope, far[i], 0, tensor, words);
        refuse_everywhere(rope, far[i], far[i], tensor, words);
    }
    refuse_everywhere(rope, large, large, tensor, "2097152|1099511627776 tokens");
}

static void test_heads(const rotary_rope *rope)
{
    for (int i = 0; i < FAR; i++) {
        rotary_rope_tensor tensor = plan_tensor(data, output, TIME, HEADS, HEAD_DIM);
        tensor.heads = far[i];
        refuse_everywhere(rope, BATCH, TIME, tensor, ".heads is |wanted 1 ... ");
    }
}

static void test_strides(const rotary_rope *rope)
{
    for (int i = 0; i < FAR; i++)
        for (int axis = 0; axis < 3; axis++)
            for (int side = 0; side < 2; side++) {
                rotary_rope_tensor tensor = plan_tensor(data, output, TIME, HEADS, HEAD_DIM);
                int64_t *strides[2][3] = {
                    {&tensor.input.batch_stride, &tensor.input.time_stride, &tensor.input.head_stride},
                    {&tensor.output.batch_stride, &tensor.output.time_stride, &tensor.output.head_stride}};
                *strides[side][axis] = far[i];
                refuse_everywhere(rope, BATCH, TIME, tensor,
                                  side ? ".output has strides|overflow" : ".input has strides|overflow");
            }
}

/* Of an axis of size 1 a stride has no meaning, whatever it is. */
static void test_unused_strides(const rotary_rope *rope)
{
    for (int i = 0; i < FAR; i++) {
        rotary_rope_apply_call call = apply_call();
        call.batch = 1;
        call.key.input.batch_stride = call.key.output.batch_stride = far[i];
        CHECK_INT(rotary_rope_apply(rope, &call, NULL), ROTARY_OK);
        CHECK(output[COUNT / 2 - 1] != 77.0f);
        for (int j = 0; j < COUNT; j++)
            output[j] = 77.0f;
    }
}

/* ---- positions, tables ---- */

static void test_positions(void)
{
    static const int64_t positions[2 * BATCH * TIME];
    rotary_rope_config config = plan_config(HEAD_DIM);
    config.axes = ROTARY_AXES_SECTIONS;
    config.sections[0] = config.sections[1] = HEAD_DIM / 4;
    rotary_rope *rope = plan_make(&config);
    rotary_error error = {0};
    for (int i = 0; i < FAR; i++) {
        rotary_rope_apply_call call = apply_call();
        call.positions = (rotary_rope_positions){.array = positions, .array_batch_stride = far[i]};
        refuse_apply(rope, call, "positions.array has strides|overflow");
        call.positions = (rotary_rope_positions){.array = positions, .array_axis_stride = far[i]};
        refuse_apply(rope, call, "positions.array has strides|overflow");
        rotary_rope_gradient_call gradient = {
            .struct_size = sizeof gradient, .batch = BATCH, .time = TIME, .positions = call.positions};
        refused(rotary_rope_gradient(rope, &gradient, &error), &error,
                "positions.array has strides|overflow");
    }
    rotary_rope_destroy(rope);
}

static void test_tables(const rotary_rope *rope)
{
    static const float table[BATCH * TIME * HEAD_DIM];
    for (int i = 0; i < FAR; i++) {
        const rotary_rope_tables tables = {.cosine = table, .sine = table, .per_token = true, .rows = TIME};
        rotary_rope_apply_call call = apply_call();
        call.tables = tables;
        call.tables.batch_stride = far[i];
        refuse_apply(rope, call, "tables has strides|overflow");
        call.tables = tables;
        call.tables.row_stride = far[i];
        refuse_apply(rope, call, far[i] < 0 ? "row_stride" : "tables has strides|overflow");
        call.tables.per_token = false;
        refuse_apply(rope, call, far[i] < 0 ? "row_stride" : "tables has strides|overflow");
        call.tables = tables;
        call.tables.per_token = false;
        call.tables.rows = far[i];
        refuse_apply(rope, call, far[i] < 0 ? "tables.rows" : "tables has strides|overflow");
    }
}

/* ---- gradients, permutation ---- */

static void test_gradients(const rotary_rope *rope)
{
    double frequencies[HEAD_DIM / 2] = {0};
    const rotary_rope_tensor tensor = plan_tensor(data, output, TIME, HEADS, HEAD_DIM);
    const rotary_rope_gradient_call good = {.struct_size = sizeof good,
                                            .batch = BATCH,
                                            .time = TIME,
                                            .query = {HEADS, tensor.input, tensor.input},
                                            .frequency_gradient = frequencies};
    rotary_error error = {0};
    for (int i = 0; i < FAR; i++) {
        rotary_rope_gradient_call call = good;
        call.time = far[i];
        refused(rotary_rope_gradient(rope, &call, &error), &error, "time is |wanted");
        call = good;
        call.query.heads = far[i];
        refused(rotary_rope_gradient(rope, &call, &error), &error, "query");
        call = good;
        call.query.input.time_stride = far[i];
        refused(rotary_rope_gradient(rope, &call, &error), &error, "query.input has strides|overflow");
        call = good;
        call.query.output_gradient.batch_stride = far[i];
        refused(rotary_rope_gradient(rope, &call, &error), &error,
                "query.output_gradient has strides|overflow");
    }
    CHECK(frequencies[0] == 0);
}

static void test_permutation(const rotary_rope *rope)
{
    rotary_error error = {0};
    for (int i = 0; i < FAR; i++) {
        rotary_rope_permute_call call = {.struct_size = sizeof call,
                                         .heads = far[i],
                                         .row_bytes = sizeof(float),
                                         .input = data,
                                         .output = output};
        refused(rotary_rope_permute(rope, &call, &error), &error, "heads is |row_bytes 4");
        call.heads = 2;
        call.row_bytes = (size_t)far[i];
        refused(rotary_rope_permute(rope, &call, &error), &error, "heads is 2 and row_bytes");
    }
}

int main(void)
{
    for (int i = 0; i < COUNT; i++)
        output[i] = 77.0f;
    rotary_rope_config config = plan_config(HEAD_DIM);
    rotary_rope *rope = plan_make(&config);
    test_tokens(rope);
    test_heads(rope);
    test_strides(rope);
    test_unused_strides(rope);
    test_positions();
    test_tables(rope);
    test_gradients(rope);
    test_permutation(rope);
    rotary_rope_destroy(rope);
    return check_report();
}
