/* SPDX-License-Identifier: Apache-2.0
 *
 * Invalid calls are refused with a message that says what was given and what was wanted, and write nothing.
 */
#include "rope/plans.h"

#include <math.h>
#include <string.h>

enum { BATCH = 2, TIME = 3, HEADS = 2, HEAD_DIM = 8, COUNT = BATCH * TIME * HEADS * HEAD_DIM };

static float before[COUNT], data[COUNT], output[COUNT];

static rotary_rope_apply_call valid_call(void)
{
    rotary_rope_apply_call call = {.struct_size = sizeof call, .batch = BATCH, .time = TIME};
    call.query = plan_tensor(data, output, TIME, HEADS, HEAD_DIM);
    return call;
}

static void refused(const rotary_rope *rope, rotary_rope_apply_call call, const char *words)
{
    rotary_error error = {0};
    check_about("refusal \"%s\"", words);
    CHECK_INT(rotary_rope_apply(rope, &call, &error), ROTARY_INVALID_ARGUMENT);
    CHECK_WORDS(error.message, words);
    for (int i = 0; i < COUNT; i++)
        CHECK(output[i] == 77.0f && data[i] == before[i]);
    check_about("%s", "");
}

static void test_tensors(const rotary_rope *rope)
{
    rotary_rope_apply_call call = valid_call();
    call.batch = -1;
    refused(rope, call, "batch|-1");
    call = valid_call();
    call.direction = (rotary_direction)3;
    refused(rope, call, "direction|3");
    call = valid_call();
    call.query.output.data = NULL;
    refused(rope, call, "query.output.data|NULL");
    call = valid_call();
    call.query.input.dtype = (rotary_dtype)7;
    refused(rope, call, "query.input.dtype|7");
    call = valid_call();
    call.query.heads = 0;
    refused(rope, call, "query.heads|0");
    call = valid_call();
    call.query.output.time_stride = HEAD_DIM - 1;
    refused(rope, call, "query.output|48, 7, 8|overlap");
    call = valid_call();
    call.query.output.head_stride = 0;
    refused(rope, call, "query.output|48, 16, 0|8 channels|overlap");
    /* Each stride is at least a vector, but heads of one token overlap those of the next. */
    call = valid_call();
    call.query.output.time_stride = HEAD_DIM + HEAD_DIM / 2;
    refused(rope, call, "query.output|48, 12, 8|overlap");
    call = valid_call();
    call.query.output.time_stride = -HEAD_DIM;
    refused(rope, call, "query.output|48, -8, 8|overlap");
    call = valid_call();
    call.query.output.batch_stride -= HEAD_DIM;
    refused(rope, call, "query.output|40, 16, 8|overlap");
    call = valid_call();
    call.key = call.query;
    call.key.output.data = data;
    call.key.output.head_stride = -HEAD_DIM;
    refused(rope, call, "key|in place");
    call = valid_call();
    call.query.output.data = data;
    call.query.output.dtype = ROTARY_BF16;
    refused(rope, call, "query|in place|type");
    /* Without tokens any strides are valid. */
    call = valid_call();
    call.time = 0;
    call.query.output.batch_stride = 0;
    CHECK_INT(rotary_rope_apply(rope, &call, NULL), ROTARY_OK);
}

static void test_positions(const rotary_rope *rope)
{
    rotary_rope_apply_call call = valid_call();
    static const int32_t nonzero_start[] = {1, 3}, falling[] = {0, 2, 1, 3}, short_total[] = {0, 2};
    static const float infinite[BATCH * TIME] = {0, 1, 2, 3, INFINITY, 5};
    call.positions.starts = nonzero_start;
    call.positions.sequences = 1;
    refused(rope, call, "batch|2|1");
    call.batch = 1;
    refused(rope, call, "starts[0]|1");
    call.positions.sequences = 0;
    refused(rope, call, "sequences|0");
    call.positions.starts = falling;
    call.positions.sequences = 3;
    refused(rope, call, "starts[2]|1 after 2");
    call.positions.starts = short_total;
    call.positions.sequences = 1;
    refused(rope, call, "starts[1]|2|3");
    call = valid_call();
    call.positions.array = infinite;
    call.positions.array_type = ROTARY_POSITION_F32;
    call.positions.array_batch_stride = TIME;
    refused(rope, call, "token 1 of sequence 1|inf");
    call.positions.array_type = (rotary_position_type)4;
    refused(rope, call, "array_type|4");
}

static void test_tables(const rotary_rope *rope)
{
    static const float table[16];
    static const int32_t positions[] = {0, 1, 4};
    rotary_rope_apply_call call = valid_call();
    call.tables = (rotary_rope_tables){.cosine = table, .rows = 4};
    refused(rope, call, "tables.sine|NULL");
    call.tables.sine = table;
    call.positions.array = positions;
    call.positions.array_type = ROTARY_POSITION_I32;
    refused(rope, call, "token 2 of sequence 0|4|0 ... 3");
    call.positions.offset = -1;
    refused(rope, call, "token 0 of sequence 0|-1|0 ... 3");
    call.tables.rows = 0;
    refused(rope, call, "tables.rows|0");
    call.tables.row_stride = 3;
    refused(rope, call, "row_stride|3|4");
    call.tables.dtype = (rotary_dtype)3;
    refused(rope, call, "tables.dtype|3");
}

static void gradient_refused(const rotary_rope *rope, rotary_rope_gradient_call call, const char *words)
{
    double frequencies[HEAD_DIM / 2] = {0}, positions[BATCH * TIME];
    rotary_error error = {0};
    positions[0] = 77;
    call.frequency_gradient = frequencies;
    call.position_gradient = positions;
    check_about("refusal of a gradient \"%s\"", words);
    CHECK_INT(rotary_rope_gradient(rope, &call, &error), ROTARY_INVALID_ARGUMENT);
    CHECK_WORDS(error.message, words);
    CHECK(frequencies[0] == 0 && positions[0] == 77);
    check_about("%s", "");
}

static void test_gradients(const rotary_rope *rope)
{
    const rotary_rope_tensor tensor = plan_tensor(data, output, TIME, HEADS, HEAD_DIM);
    const rotary_rope_gradient_call valid = {.struct_size = sizeof valid,
                                             .batch = BATCH,
                                             .time = TIME,
                                             .key = {HEADS, tensor.input, tensor.input}};
    rotary_rope_gradient_call call = valid;
    call.time = -1;
    gradient_refused(rope, call, "time is -1");
    call = valid;
    call.key.heads = 0;
    gradient_refused(rope, call, "key.heads is 0|is given");
    call = valid;
    call.key.output_gradient.data = NULL;
    gradient_refused(rope, call, "key.heads is 2|is NULL");
    call = valid;
    call.key.output_gradient.dtype = (rotary_dtype)3;
    gradient_refused(rope, call, "key has types 0 and 3");
    call = valid;
    call.positions.array = data;
    call.positions.array_type = (rotary_position_type)9;
    gradient_refused(rope, call, "array_type is 9");
}

/* A call without tensors or tokens is not an error. */
static void test_nothing(const rotary_rope *rope)
{
    rotary_rope_apply_call call = {.struct_size = sizeof call, .batch = 5, .time = 5};
    CHECK_INT(rotary_rope_apply(rope, &call, NULL), ROTARY_OK);
    call = valid_call();
    call.time = 0;
    CHECK_INT(rotary_rope_apply(rope, &call, NULL), ROTARY_OK);
    CHECK(output[0] == 77.0f);
}

int main(void)
{
    for (int i = 0; i < COUNT; i++) {
        before[i] = data[i] = (float)i;
        output[i] = 77.0f;
    }
    rotary_rope_config config = plan_config(HEAD_DIM);
    rotary_rope *rope = plan_make(&config);
    test_tensors(rope);
    test_positions(rope);
    test_tables(rope);
    test_gradients(rope);
    test_nothing(rope);
    rotary_rope_destroy(rope);
    return check_report();
}
