/* SPDX-License-Identifier: Apache-2.0
 *
 * A shifted cache equals one rotated at the new positions, a rebased cache one rotated by the new plan; and
 * permuted weights give the scores of the weights before.
 */
#include "rope/plans.h"

#include <math.h>
#include <string.h>

enum { BATCH = 2, TIME = 13, HEADS = 2, HEAD_DIM = 40, COUNT = BATCH * TIME * HEADS * HEAD_DIM };
static const double UNIT = 0x1p-24;

static void check_success(rotary_status status, const rotary_error *error)
{
    if (!CHECK(status == ROTARY_OK))
        printf("    %s\n", error->message);
}

/* Rotates projected keys and values at positions first + offsets[batch] + 0, 1, 2, ... */
static void rotate(const rotary_rope *rope, const float *projected, float *keys, float *values, int64_t first,
                   const int64_t *offsets)
{
    rotary_rope_apply_call call = {.struct_size = sizeof call,
                                   .batch = BATCH,
                                   .time = TIME,
                                   .positions = {.offset = first, .offsets = offsets}};
    call.key = plan_tensor(projected, keys, TIME, HEADS, HEAD_DIM);
    call.value = plan_tensor(projected, values, TIME, HEADS, HEAD_DIM);
    rotary_error error = {0};
    check_success(rotary_rope_apply(rope, &call, &error), &error);
}

/* The bound is that of two rotations, four roundings each, of numbers multiplied by `magnitude`. */
static void check_close(const float *got, const float *wanted, const float *projected, double magnitude)
{
    double size = plan_max_difference(projected, NULL, COUNT);
    for (int i = 0; i < COUNT; i++)
        CHECK_NEAR((double)got[i], (double)wanted[i], 24 * UNIT * size * magnitude);
}

static rotary_rope_config config_of(int variant)
{
    rotary_rope_config config = plan_config(HEAD_DIM);
    config.rotary_dim = 36;
    config.rotary_start = 2;
    config.pairing = variant % 2 ? ROTARY_PAIRING_INTERLEAVED : ROTARY_PAIRING_HALF;
    if (variant >= 2) {
        config.scaling = ROTARY_SCALING_YARN;
        config.factor = 4;
        config.original_positions = 2048;
    }
    if (variant >= 4)
        config.xpos_scale = 512;
    return config;
}

static void test_shift(int variant)
{
    rotary_rope_config config = config_of(variant);
    rotary_rope *rope = plan_make(&config);
    const int64_t shifts[BATCH] = {-300, 77}, offsets[BATCH] = {700, 0}, after[BATCH] = {400, 77};
    float *projected = plan_random(11, COUNT, 3), *keys = malloc(COUNT * sizeof *keys),
          *values = malloc(COUNT * sizeof *values);
    float *wanted_keys = malloc(COUNT * sizeof *keys), *wanted_values = malloc(COUNT * sizeof *values);
    rotate(rope, projected, keys, values, 5, offsets);
    rotate(rope, projected, wanted_keys, wanted_values, 5 + 20, after);
    rotary_rope_shift_call call = {
        .struct_size = sizeof call, .batch = BATCH, .time = TIME, .shift = 20, .shifts = shifts};
    call.key = plan_tensor(keys, keys, TIME, HEADS, HEAD_DIM);
    call.value = plan_tensor(values, values, TIME, HEADS, HEAD_DIM);
    rotary_error error = {0};
    check_success(rotary_rope_shift(rope, &call, &error), &error);
    double magnitude = variant >= 4 ? 1.5 * pow(0.4 / 1.4, -730.0 / 512) : variant >= 2 ? 1.5 : 1;
    check_close(keys, wanted_keys, projected, magnitude);
    check_close(values, wanted_values, projected, 1);
    free(projected);
    free(keys);
    free(values);
    free(wanted_keys);
    free(wanted_values);
    rotary_rope_destroy(rope);
}

/* From the plan for short sequences to the plan for long ones, and back to the projected keys and values. */
static void test_rebase(int variant)
{
    rotary_rope_config config = config_of(variant % 2);
    config.scaling = ROTARY_SCALING_DYNAMIC_NTK;
    config.factor = 2;
    config.original_positions = 512;
    rotary_rope *from = plan_make(&config);
    if (variant < 2)
        config.sequence_length = 2000;
    else
        config.scaling = ROTARY_SCALING_YARN;
    rotary_rope *to = plan_make(&config);
    float *projected = plan_random(12, COUNT, 3), *keys = malloc(COUNT * sizeof *keys),
          *values = malloc(COUNT * sizeof *values);
    float *wanted_keys = malloc(COUNT * sizeof *keys), *wanted_values = malloc(COUNT * sizeof *values);
    rotate(from, projected, keys, values, 490, NULL);
    rotate(to, projected, wanted_keys, wanted_values, 490, NULL);
    CHECK(plan_max_difference(keys, wanted_keys, COUNT) > 0.1);
    rotary_rope_rebase_call call = {
        .struct_size = sizeof call, .batch = BATCH, .time = TIME, .positions = {.offset = 490}};
    call.key = plan_tensor(keys, keys, TIME, HEADS, HEAD_DIM);
    call.value = plan_tensor(values, values, TIME, HEADS, HEAD_DIM);
    rotary_error error = {0};
    check_success(rotary_rope_rebase(from, to, &call, &error), &error);
    check_close(keys, wanted_keys, projected, 1.1);
    check_close(values, wanted_values, projected, 1);
    rotary_rope_apply_call back = {.struct_size = sizeof back,
                                   .batch = BATCH,
                                   .time = TIME,
                                   .direction = ROTARY_INVERSE,
                                   .positions = {.offset = 490}};
    back.key = call.key;
    back.value = call.value;
    check_success(rotary_rope_apply(to, &back, &error), &error);
    check_close(keys, projected, projected, 2);
    check_close(values, projected, projected, 2);
    free(projected);
    free(keys);
    free(values);
    free(wanted_keys);
    free(wanted_values);
    rotary_rope_destroy(to);

    config.rotary_start = 0;
    to = plan_make(&config);
    CHECK_INT(rotary_rope_rebase(from, to, &call, &error), ROTARY_INVALID_ARGUMENT);
    CHECK(strstr(error.message, "2 ... 37 of 40 and 0 ... 35 of 40") != NULL);
    rotary_rope_destroy(to);
    rotary_rope_destroy(from);
}

/* Permuted interleaved weights, rotated half-split, give the same queries with permuted channels, and so the
 * same scores. The inverse permutation restores every bit. */
static void test_permute(void)
{
    enum { INPUTS = 7, ROWS = HEADS * HEAD_DIM };
    float *weights = plan_random(13, ROWS * INPUTS, 2), *permuted = malloc(ROWS * INPUTS * sizeof *permuted);
    float *back = malloc(ROWS * INPUTS * sizeof *back);
    rotary_rope_config config = config_of(1);
    rotary_rope *interleaved = plan_make(&config);
    config.pairing = ROTARY_PAIRING_HALF;
    rotary_rope *half = plan_make(&config);
    rotary_rope_permute_call call = {.struct_size = sizeof call,
                                     .heads = HEADS,
                                     .row_bytes = INPUTS * sizeof(float),
                                     .input = weights,
                                     .output = permuted,
                                     .from = ROTARY_PAIRING_INTERLEAVED,
                                     .to = ROTARY_PAIRING_HALF};
    rotary_error error = {0};
    check_success(rotary_rope_permute(half, &call, &error), &error);
    rotary_rope_permute_call inverse = call;
    inverse.input = permuted;
    inverse.output = back;
    inverse.from = ROTARY_PAIRING_HALF;
    inverse.to = ROTARY_PAIRING_INTERLEAVED;
    check_success(rotary_rope_permute(half, &inverse, &error), &error);
    CHECK(memcmp(weights, back, ROWS * INPUTS * sizeof *weights) == 0);

    /* Every column is a query of HEADS heads; the rotary span is channels 2 ... 37. */
    for (int column = 0; column < INPUTS; column++) {
        float query[ROWS], permuted_query[ROWS];
        for (int row = 0; row < ROWS; row++) {
            query[row] = weights[row * INPUTS + column];
            permuted_query[row] = permuted[row * INPUTS + column];
        }
        rotary_rope_apply_call apply = {
            .struct_size = sizeof apply, .batch = 1, .time = 1, .positions = {.offset = 31 + column}};
        apply.query = plan_tensor(query, query, 1, HEADS, HEAD_DIM);
        check_success(rotary_rope_apply(interleaved, &apply, &error), &error);
        apply.query = plan_tensor(permuted_query, permuted_query, 1, HEADS, HEAD_DIM);
        check_success(rotary_rope_apply(half, &apply, &error), &error);
        for (int head = 0; head < HEADS; head++)
            for (int channel = 0; channel < HEAD_DIM; channel++) {
                int span_channel = channel - 2;
                int from = span_channel < 0 || span_channel >= 36
                               ? channel
                               : 2 + (span_channel % 18) * 2 + span_channel / 18;
                CHECK(permuted_query[head * HEAD_DIM + channel] == query[head * HEAD_DIM + from]);
            }
    }
    call.output = weights;
    CHECK_INT(rotary_rope_permute(half, &call, &error), ROTARY_INVALID_ARGUMENT);
    CHECK(strstr(error.message, "one buffer") != NULL);
    call.output = permuted;
    call.heads = 0;
    CHECK_INT(rotary_rope_permute(half, &call, &error), ROTARY_INVALID_ARGUMENT);
    call.heads = HEADS;
    call.row_bytes = SIZE_MAX / HEAD_DIM;
    CHECK_INT(rotary_rope_permute(half, &call, &error), ROTARY_INVALID_ARGUMENT);
    CHECK(strstr(error.message, "row_bytes 461168601842738790") != NULL);
    free(weights);
    free(permuted);
    free(back);
    rotary_rope_destroy(interleaved);
    rotary_rope_destroy(half);
}

int main(void)
{
    for (int variant = 0; variant < 6; variant++) {
        check_about("shift, variant %d", variant);
        test_shift(variant);
    }
    for (int variant = 0; variant < 4; variant++) {
        check_about("rebase, variant %d", variant);
        test_rebase(variant);
    }
    check_about("permutation");
    test_permute();
    return check_report();
}
