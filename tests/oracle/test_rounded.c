/* SPDX-License-Identifier: Apache-2.0
 *
 * Rotation in 16 bits has PyTorch's bits; with nothing rounded it is librotary's.
 */
#include "base/half.h"
#include "oracle/rounded.h"
#include "oracle/rounded_goldens.h"
#include "rope/plans.h"

#include <math.h>
#include <string.h>

static rotary_rope *golden_plan(rotary_pairing pairing)
{
    rotary_rope_config config = plan_config(GOLDEN_HEAD_DIM);
    config.pairing = pairing;
    config.angles_f32 = true;
    config.attention_factor = golden_factor;
    return plan_make(&config);
}

static rotary_rope_apply_call golden_call(void *data, rotary_dtype dtype, rotary_direction direction)
{
    const int64_t stride = GOLDEN_HEAD_DIM, row = GOLDEN_HEADS * stride;
    rotary_rope_tensor tensor = {.heads = GOLDEN_HEADS,
                                 .input = {data, dtype, GOLDEN_TIME * row, row, stride},
                                 .output = {data, dtype, GOLDEN_TIME * row, row, stride}};
    return (rotary_rope_apply_call){
        .struct_size = sizeof(rotary_rope_apply_call),
        .batch = 1,
        .time = GOLDEN_TIME,
        .direction = direction,
        .positions = {.array = golden_positions, .array_type = ROTARY_POSITION_I64},
        .key = tensor,
    };
}

static void succeeded(rotary_status status, const rotary_error *error)
{
    if (!CHECK(status == ROTARY_OK))
        printf("    %s\n", error->message);
}

static void test_goldens(void)
{
    for (size_t i = 0; i < sizeof goldens / sizeof goldens[0]; i++) {
        const struct golden *golden = &goldens[i];
        uint16_t data[GOLDEN_NUMBERS];
        memcpy(data, golden->input, sizeof data);
        rotary_rope *rope = golden_plan(golden->pairing);
        rotary_rope_apply_call call = golden_call(data, golden->dtype, ROTARY_FORWARD);
        struct rounded_arithmetic arithmetic = {.products = golden->dtype,
                                                .angles = golden->angles_16 ? golden->dtype : ROTARY_F32};
        rotary_error error = {0};
        succeeded(rounded_apply(rope, &call, ROTARY_ROLE_KEY, &arithmetic, &error), &error);
        check_about("golden %zu", i);
        for (int n = 0; n < GOLDEN_NUMBERS; n++)
            CHECK_INT(data[n], golden->rotated[n]);
        rotary_rope_destroy(rope);
    }
}

/* The first golden's input rotated with each arithmetic: its distance from librotary's result. */
static void test_plain(rotary_direction direction)
{
    float plain[GOLDEN_NUMBERS], rounded[GOLDEN_NUMBERS];
    double furthest[3] = {0};
    rotary_rope *rope = golden_plan(ROTARY_PAIRING_HALF);
    for (int kind = 0; kind < 3; kind++) {
        const struct rounded_arithmetic arithmetics[] = {
            {ROTARY_F32, ROTARY_F32}, {ROTARY_BF16, ROTARY_F32}, {ROTARY_F32, ROTARY_BF16}};
        for (int n = 0; n < GOLDEN_NUMBERS; n++)
            plain[n] = rounded[n] = rotary_bf16_to_float(goldens[0].input[n]);
        rotary_rope_apply_call call = golden_call(plain, ROTARY_F32, direction);
        rotary_error error = {0};
        succeeded(rotary_rope_apply(rope, &call, &error), &error);
        call = golden_call(rounded, ROTARY_F32, direction);
        succeeded(rounded_apply(rope, &call, ROTARY_ROLE_KEY, &arithmetics[kind], &error), &error);
        for (int n = 0; n < GOLDEN_NUMBERS; n++) {
            int other = n / (GOLDEN_HEAD_DIM / 2) % 2 ? n - GOLDEN_HEAD_DIM / 2 : n + GOLDEN_HEAD_DIM / 2;
            double size = fabs((double)rotary_bf16_to_float(goldens[0].input[n])) +
                          fabs((double)rotary_bf16_to_float(goldens[0].input[other]));
            double off = fabs((double)rounded[n] - (double)plain[n]) / size;
            if (off > furthest[kind])
                furthest[kind] = off;
        }
    }
    check_about("direction %d", (int)direction);
    CHECK(furthest[0] <= 0x1p-22); /* a few roundings of f32 */
    CHECK(furthest[1] > 0x1p-10 && furthest[1] <= 0x1p-6);
    CHECK(furthest[2] > 0.3); /* position 4095 is 4096 in bf16, and fast pairs have lost their angle */
    rotary_rope_destroy(rope);
}

/* Forward and inverse together change nothing but by roundings, magnitude included. */
static void test_inverse(void)
{
    const struct rounded_arithmetic arithmetic = {ROTARY_F32, ROTARY_BF16};
    float numbers[GOLDEN_NUMBERS];
    rotary_rope *rope = golden_plan(ROTARY_PAIRING_INTERLEAVED);
    for (int n = 0; n < GOLDEN_NUMBERS; n++)
        numbers[n] = rotary_bf16_to_float(goldens[0].input[n]);
    rotary_error error = {0};
    for (int direction = 0; direction < 2; direction++) {
        rotary_rope_apply_call call = golden_call(numbers, ROTARY_F32, (rotary_direction)direction);
        succeeded(rounded_apply(rope, &call, ROTARY_ROLE_KEY, &arithmetic, &error), &error);
    }
    for (int n = 0; n < GOLDEN_NUMBERS; n++) {
        double wanted = (double)rotary_bf16_to_float(goldens[0].input[n]);
        double other = (double)rotary_bf16_to_float(goldens[0].input[n ^ 1]);
        CHECK_NEAR((double)numbers[n], wanted, 0x1p-6 * (fabs(wanted) + fabs(other)));
    }
    rotary_rope_destroy(rope);
}

int main(void)
{
    test_goldens();
    test_plain(ROTARY_FORWARD);
    test_plain(ROTARY_INVERSE);
    test_inverse();
    return check_report();
}
