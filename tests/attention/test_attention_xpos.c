/* SPDX-License-Identifier: Apache-2.0
 *
 * Plans with magnitudes (xPos, YaRN): attention that rotates queries and keys gives the results of attention
 * without a plan on queries and keys that rotary_rope_apply rotated: forward, backward and decoding. Values
 * are rotated without magnitudes, and give the same bits with a table of their own and with that of the
 * queries.
 */
#include "attention/trial.h"
#include "support/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { HEADS = 4, SHARED = 2, DIM = 24, TIME = 150, FIRST = 40 };
enum { QUERY = TIME * HEADS * DIM, KEY = TIME * SHARED * DIM };

struct tensors {
    float query[QUERY], key[KEY], value[KEY], output[QUERY], output_gradient[QUERY];
    float query_gradient[QUERY], key_gradient[KEY], value_gradient[KEY], log_sum_exp[HEADS * TIME];
};

static rotary_rope *make_rope(double xpos_scale, double attention_factor)
{
    rotary_rope_config config;
    rotary_rope *rope = NULL;
    rotary_rope_config_default(&config);
    config.head_dim = DIM;
    config.rotary_dim = 20;
    config.rotary_start = 2;
    config.table_positions = 64;
    config.xpos_scale = xpos_scale;
    config.xpos_origin = xpos_scale > 0 ? 100 : 0;
    config.attention_factor = attention_factor;
    if (attention_factor > 0) {
        config.scaling = ROTARY_SCALING_YARN;
        config.factor = 4;
        config.original_positions = 256;
    }
    CHECK_INT(rotary_rope_create(&rope, &config, NULL), ROTARY_OK);
    return rope;
}

static rotary_attention *make_attention(const rotary_rope *rope, const rotary_rope *value_rope,
                                        rotary_isa isa)
{
    rotary_attention_config config;
    rotary_attention *attention = NULL;
    rotary_error error = {0};
    rotary_attention_config_default(&config);
    config.heads = HEADS;
    config.key_value_heads = SHARED;
    config.head_dim = DIM;
    config.causal = true;
    config.rope = rope;
    config.value_rope = value_rope;
    config.threads = 2;
    config.isa = isa;
    CHECK_INT(rotary_attention_create(&attention, &config, &error), ROTARY_OK);
    return attention;
}

/* Rotates in place, in the role of queries or keys. */
static void rotate_in_place(const rotary_rope *rope, float *data, bool query, int64_t heads,
                            rotary_direction direction)
{
    rotary_rope_tensor tensor = {.heads = heads,
                                 .input = {data, ROTARY_F32, TIME * heads * DIM, heads * DIM, DIM},
                                 .output = {data, ROTARY_F32, TIME * heads * DIM, heads * DIM, DIM}};
    rotary_rope_apply_call call = {.struct_size = sizeof call,
                                   .batch = 1,
                                   .time = TIME,
                                   .direction = direction,
                                   .positions = {.offset = FIRST}};
    if (query)
        call.query = tensor;
    else
        call.key = tensor;
    CHECK_INT(rotary_rope_apply(rope, &call, NULL), ROTARY_OK);
}

static rotary_attention_const_view given(const float *data, int64_t heads)
{
    return (rotary_attention_const_view){data, TIME * heads * DIM, heads * DIM, DIM};
}

static rotary_attention_view taken(float *data, int64_t heads)
{
    return (rotary_attention_view){data, TIME * heads * DIM, heads * DIM, DIM};
}

static void run(const rotary_attention *attention, struct tensors *t)
{
    rotary_attention_shape shape = {
        .batch = 1, .queries = TIME, .keys = TIME, .first_query = FIRST, .first_key = FIRST};
    size_t forward_bytes = rotary_attention_forward_bytes(attention, shape);
    size_t backward_bytes = rotary_attention_backward_bytes(attention, shape);
    void *workspace = trial_memory(forward_bytes > backward_bytes ? forward_bytes : backward_bytes);
    rotary_attention_forward_call forward = {.struct_size = sizeof forward,
                                             .shape = shape,
                                             .query = given(t->query, HEADS),
                                             .key = given(t->key, SHARED),
                                             .value = given(t->value, SHARED),
                                             .output = taken(t->output, HEADS),
                                             .log_sum_exp = t->log_sum_exp,
                                             .workspace = workspace};
    CHECK_INT(rotary_attention_forward(attention, &forward, NULL), ROTARY_OK);
    rotary_attention_backward_call backward = {.struct_size = sizeof backward,
                                               .shape = shape,
                                               .query = forward.query,
                                               .key = forward.key,
                                               .value = forward.value,
                                               .output = given(t->output, HEADS),
                                               .output_gradient = given(t->output_gradient, HEADS),
                                               .log_sum_exp = t->log_sum_exp,
                                               .query_gradient = taken(t->query_gradient, HEADS),
                                               .key_gradient = taken(t->key_gradient, SHARED),
                                               .value_gradient = taken(t->value_gradient, SHARED),
                                               .workspace = workspace};
    CHECK_INT(rotary_attention_backward(attention, &backward, NULL), ROTARY_OK);
    free(workspace);
}

/* Decodes all tokens, `step` at a time, to t->output. Positions are those of the cache, which begins at 0. */
static void decode(const rotary_attention *attention, struct tensors *t, int64_t step)
{
    float *key_cache = trial_memory(sizeof t->key), *value_cache = trial_memory(sizeof t->value);
    void *workspace = trial_memory(rotary_attention_decode_bytes(attention, 1, step, TIME));
    for (int64_t length = 0; length < TIME; length += step) {
        rotary_attention_decode_call call = {.struct_size = sizeof call,
                                             .batch = 1,
                                             .queries = step,
                                             .capacity = TIME,
                                             .lengths = &length,
                                             .query = given(t->query + length * HEADS * DIM, HEADS),
                                             .key = given(t->key + length * SHARED * DIM, SHARED),
                                             .value = given(t->value + length * SHARED * DIM, SHARED),
                                             .key_cache = taken(key_cache, SHARED),
                                             .value_cache = taken(value_cache, SHARED),
                                             .output = taken(t->output + length * HEADS * DIM, HEADS),
                                             .workspace = workspace};
        CHECK_INT(rotary_attention_decode(attention, &call, NULL), ROTARY_OK);
    }
    free(key_cache);
    free(value_cache);
    free(workspace);
}

static void fill(struct tensors *t)
{
    memset(t, 0, sizeof *t);
    for (int i = 0; i < QUERY; i++) {
        t->query[i] = check_random(1, (uint64_t)i, 1);
        t->output_gradient[i] = check_random(2, (uint64_t)i, 2);
    }
    for (int i = 0; i < KEY; i++) {
        t->key[i] = check_random(3, (uint64_t)i, 1);
        t->value[i] = check_random(4, (uint64_t)i, 2);
    }
}

/* Both results are rounded a few times: they may differ by a few units of the largest. */
static void check_close(const float *got, const float *wanted, int64_t count, double ulps)
{
    double largest = 0, off = 0;
    for (int64_t i = 0; i < count; i++) {
        double error = fabs((double)got[i] - (double)wanted[i]);
        off = error > off || error != error ? error : off;
        largest = fmax(largest, fabs((double)wanted[i]));
    }
    CHECK(largest > 0.1);
    CHECK_NEAR(off, 0, ulps * 0x1p-24 * largest);
}

static void try_plan(const rotary_rope *rope, const rotary_rope *value_rope, const rotary_rope *plain,
                     rotary_isa isa)
{
    struct tensors *got = malloc(sizeof *got), *wanted = malloc(sizeof *wanted);
    rotary_attention *fused = make_attention(rope, value_rope, isa);
    rotary_attention *bare = make_attention(NULL, value_rope ? plain : NULL, isa);
    fill(got);
    fill(wanted);
    rotate_in_place(rope, wanted->query, true, HEADS, ROTARY_FORWARD);
    rotate_in_place(rope, wanted->key, false, SHARED, ROTARY_FORWARD);
    run(fused, got);
    run(bare, wanted);
    rotate_in_place(rope, wanted->query_gradient, true, HEADS, ROTARY_TRANSPOSE);
    rotate_in_place(rope, wanted->key_gradient, false, SHARED, ROTARY_TRANSPOSE);
    check_close(got->output, wanted->output, QUERY, 256);
    check_close(got->log_sum_exp, wanted->log_sum_exp, HEADS * TIME, 256);
    check_close(got->query_gradient, wanted->query_gradient, QUERY, 1024);
    check_close(got->key_gradient, wanted->key_gradient, KEY, 1024);
    check_close(got->value_gradient, wanted->value_gradient, KEY, 1024);
    rotary_attention_destroy(fused);
    rotary_attention_destroy(bare);
    free(got);
    free(wanted);
}

/* Decoding one or a few tokens at a time, against all tokens at once. */
static void try_decoding(const rotary_rope *rope, const rotary_rope *value_rope, rotary_isa isa)
{
    struct tensors *full = malloc(sizeof *full), *steps = malloc(sizeof *steps);
    rotary_attention *attention = make_attention(rope, value_rope, isa);
    fill(full);
    fill(steps);
    decode(attention, full, TIME);
    decode(attention, steps, 1);
    check_close(steps->output, full->output, QUERY, 256);
    decode(attention, steps, 3);
    check_close(steps->output, full->output, QUERY, 256);
    /* A forward pass from position 40 gives the same: scores and outputs depend on distances alone. */
    run(attention, steps);
    check_close(steps->output, full->output, QUERY, 1024);
    rotary_attention_destroy(attention);
    free(full);
    free(steps);
}

/* Values with a table of their own and with that of the queries give the same bits. */
static void try_shared(rotary_isa isa)
{
    rotary_rope *rope = make_rope(0, 0), *other = make_rope(0, 0), *factor = make_rope(0, 1.25);
    struct tensors *one = malloc(sizeof *one), *two = malloc(sizeof *two);
    const rotary_rope *pairs[][2] = {{rope, rope}, {rope, other}};
    rotary_attention_shape shape = {.batch = 1, .queries = 4096, .keys = 4096};
    size_t bytes[3];
    for (int i = 0; i < 2; i++) {
        rotary_attention *attention = make_attention(pairs[i][0], pairs[i][1], isa);
        fill(i ? two : one);
        run(attention, i ? two : one);
        bytes[i] = rotary_attention_forward_bytes(attention, shape);
        rotary_attention_destroy(attention);
    }
    CHECK(memcmp(one, two, sizeof *one) == 0);
    rotary_attention *apart = make_attention(factor, factor, isa);
    bytes[2] = rotary_attention_forward_bytes(apart, shape);
    rotary_attention_destroy(apart);
    CHECK_INT((int64_t)bytes[0], (int64_t)bytes[1]);
    CHECK_INT((int64_t)(bytes[2] - bytes[0]), 4096 * 20 * (int64_t)sizeof(float));
    rotary_rope_destroy(rope);
    rotary_rope_destroy(other);
    rotary_rope_destroy(factor);
    free(one);
    free(two);
}

int main(void)
{
    rotary_isa isas[6];
    int count = trial_isas(isas);
    rotary_rope *xpos = make_rope(64, 0), *yarn = make_rope(0, 1.25), *plain = make_rope(0, 0);
    rotary_rope *yarn_plain = make_rope(0, 1);
    for (int i = 0; i < count; i++) {
        check_about("%s xPos", rotary_isa_name(isas[i]));
        try_plan(xpos, NULL, NULL, isas[i]);
        try_plan(xpos, xpos, plain, isas[i]);
        try_plan(xpos, plain, plain, isas[i]);
        try_decoding(xpos, NULL, isas[i]);
        try_decoding(xpos, xpos, isas[i]);
        check_about("%s YaRN", rotary_isa_name(isas[i]));
        try_plan(yarn, NULL, NULL, isas[i]);
        try_plan(yarn, yarn, yarn_plain, isas[i]);
        try_plan(yarn, yarn_plain, yarn_plain, isas[i]);
        check_about("%s one table for two", rotary_isa_name(isas[i]));
        try_plan(plain, plain, plain, isas[i]);
        try_shared(isas[i]);
    }
    rotary_rope_destroy(xpos);
    rotary_rope_destroy(yarn);
    rotary_rope_destroy(plain);
    rotary_rope_destroy(yarn_plain);
    return check_report();
}
