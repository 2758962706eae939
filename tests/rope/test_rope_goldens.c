/* SPDX-License-Identifier: Apache-2.0
 *
 * Rotations of models in Hugging Face's transformers: what is read from their published configurations, and
 * rotated numbers, against results of the models' own code.
 */
#include "rope/plans.h"

#include "huggingface/model_types.h"
#include "rope_config/rope_config.h"

#include <math.h>
#include <string.h>

struct golden {
    const char *name, *config, *layer_type;
    int axes, tokens, head_dim, pairs;
    double attention_factor, softmax_factor; /* softmax_factor 0: not in the model */
    const double *frequencies;
    const int64_t *positions; /* [axes, tokens] */
    const double *rotated;    /* [tokens, SAMPLES] */
};
#include "rope/rope_goldens.h"

/* Signed, over seven octaves, and exact in f32; as in make_rope_goldens.py. */
static float number(int64_t i)
{
    uint32_t hash = 1103515245u * (uint32_t)i + 12345u;
    return (float)((int)(hash >> 8 & 0xffff) - 32768) / 32768.0f * ldexpf(1.0f, (int)(i % 7) - 3);
}

static int64_t sample(int j, int64_t head_dim)
{
    return (11 * j + j / 3) % head_dim;
}

/* Both sides are double. About ten roundings: powers, quotients, a mixture of two frequencies, and an
 * exponent, whose error a base of 10^7 multiplies by sixteen. */
static void check_frequencies(const struct golden *golden, const rotary_rope *rope)
{
    CHECK_INT(rotary_rope_pairs(rope), golden->pairs);
    CHECK_NEAR(rotary_rope_attention_factor(rope), golden->attention_factor, 1e-14);
    if (golden->softmax_factor > 0)
        CHECK_NEAR(rotary_rope_softmax_factor(rope), golden->softmax_factor, 1e-13);
    for (int64_t pair = 0; pair < golden->pairs && pair < rotary_rope_pairs(rope); pair++)
        CHECK_NEAR(rotary_rope_inverse_frequencies(rope)[pair], golden->frequencies[pair],
                   1e-14 * golden->frequencies[pair]);
}

/* Cosine and sine, two products and their sum are rounded to f32: 3 roundings of |x0| and |x1|, which are
 * below 8. The relative error of the angle is 1e-14. */
static double bound(const struct golden *golden, int token)
{
    double farthest = 0;
    for (int axis = 0; axis < golden->axes; axis++)
        farthest = fmax(farthest, fabs((double)golden->positions[axis * golden->tokens + token]));
    return 2 * 8 * golden->attention_factor * (4 * 0x1p-24 + 1e-14 * farthest);
}

static void check_rotated(const struct golden *golden, const rotary_rope *rope)
{
    int64_t tokens = golden->tokens, count = tokens * golden->head_dim;
    float *numbers = malloc((size_t)count * sizeof *numbers);
    for (int64_t i = 0; i < count; i++)
        numbers[i] = number(i);
    rotary_rope_apply_call call = {.struct_size = sizeof call,
                                   .batch = 1,
                                   .time = tokens,
                                   .query = plan_tensor(numbers, numbers, tokens, 1, golden->head_dim)};
    call.positions.array = golden->positions;
    call.positions.array_type = ROTARY_POSITION_I64;
    call.positions.array_axis_stride = tokens;
    rotary_error error = {0};
    if (!CHECK(rotary_rope_apply(rope, &call, &error) == ROTARY_OK))
        printf("    %s\n", error.message);
    for (int token = 0; token < tokens; token++)
        for (int j = 0; j < SAMPLES; j++)
            CHECK_NEAR((double)numbers[token * golden->head_dim + sample(j, golden->head_dim)],
                       golden->rotated[token * SAMPLES + j], bound(golden, token));
    free(numbers);
}

static void test_golden(const struct golden *golden)
{
    check_about("%s", golden->name);
    rotary_error error = {0};
    struct rope_config config;
    static const char *const ignored[] = {"llama_4_scaling_beta", NULL}; /* scales queries beside */
    struct rope_config_request request = {.layer_type = golden->layer_type,
                                          .head_dim = golden->head_dim,
                                          .ignored = ignored,
                                          .compat = ROTARY_COMPAT_HUGGINGFACE,
                                          .find_family = model_types_find};
    json_t *object = json_loads(golden->config, JSON_REJECT_DUPLICATES, NULL);
    if (!CHECK(object != NULL))
        return;
    rotary_status status = rope_config_parse(object, golden->name, &request, &config, &error);
    json_decref(object);
    if (!CHECK(status == ROTARY_OK)) {
        printf("    %s\n", error.message);
        return;
    }
    CHECK_INT(config.plan.head_dim, golden->head_dim);
    for (int i = 0; i < golden->axes * golden->tokens; i++)
        if (config.plan.sequence_length <= golden->positions[i])
            config.plan.sequence_length = golden->positions[i] + 1;
    config.plan.compat = ROTARY_COMPAT_HUGGINGFACE;
    rotary_rope_config_drop_unread(&config.plan);
    rotary_rope *rope = NULL;
    status = rotary_rope_create(&rope, &config.plan, &error);
    if (CHECK(status == ROTARY_OK)) {
        check_frequencies(golden, rope);
        check_rotated(golden, rope);
    } else
        printf("    %s\n", error.message);
    rotary_rope_destroy(rope);
    rope_config_free(&config);
}

int main(void)
{
    for (size_t i = 0; i < sizeof goldens / sizeof *goldens; i++)
        test_golden(&goldens[i]);
    return check_report();
}
