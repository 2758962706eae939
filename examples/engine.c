/* SPDX-License-Identifier: Apache-2.0
 *
 * Replacing an inference engine's own RoPE loop: the library rotates the engine's buffer in place, in the
 * layout that it already has.
 *
 * The engine computes queries, keys and values of a token with one projection (qkv):
 *
 *     [tokens][ query heads | key heads | value heads ][head_dim]
 *
 * The tokens of a step belong to several sequences, so each has a position of its own.
 */
#include <math.h>
#include <rotary/rotary.h>
#include <stdio.h>
#include <string.h>

enum { TOKENS = 6, QUERY_HEADS = 8, KEY_HEADS = 2, HEAD_DIM = 64, ROTARY_DIM = 32 };
enum { TOKEN_FLOATS = (QUERY_HEADS + 2 * KEY_HEADS) * HEAD_DIM, BUFFER = TOKENS * TOKEN_FLOATS };

/* The engine's loop before: half-split pairs in the first half of each head. */
static void engine_rotate(float *heads, int count, int position)
{
    for (int head = 0; head < count; head++)
        for (int pair = 0; pair < ROTARY_DIM / 2; pair++) {
            float *x = heads + head * HEAD_DIM + pair;
            double x0 = (double)x[0], x1 = (double)x[ROTARY_DIM / 2];
            double angle = position * pow(500000.0, -2.0 * pair / ROTARY_DIM);
            x[0] = (float)(x0 * cos(angle) - x1 * sin(angle));
            x[ROTARY_DIM / 2] = (float)(x0 * sin(angle) + x1 * cos(angle));
        }
}

/* The plan of the library, which is made once, when the model is loaded. */
static rotary_status make_plan(rotary_rope **rope, rotary_error *error)
{
    rotary_rope_config config;
    rotary_rope_config_default(&config);
    config.head_dim = HEAD_DIM;
    config.rotary_dim = ROTARY_DIM;
    config.pairing = ROTARY_PAIRING_HALF;
    config.base = 500000.0;
    return rotary_rope_create(rope, &config, error);
}

/* A view of `heads` heads of the buffer, beginning at first_head, for a rotation in place. */
static rotary_rope_tensor heads_in_place(float *buffer, int first_head, int heads)
{
    float *data = buffer + first_head * HEAD_DIM;
    return (rotary_rope_tensor){
        .heads = heads,
        .input = {.data = data, .time_stride = TOKEN_FLOATS, .head_stride = HEAD_DIM},
        .output = {.data = data, .time_stride = TOKEN_FLOATS, .head_stride = HEAD_DIM},
    };
}

static rotary_status rotate(const rotary_rope *rope, float *buffer, const int32_t *positions,
                            rotary_error *error)
{
    rotary_rope_apply_call call = {
        .struct_size = sizeof call,
        .batch = 1,
        .time = TOKENS,
        .positions = {.array = positions, .array_type = ROTARY_POSITION_I32},
        .query = heads_in_place(buffer, 0, QUERY_HEADS),
        .key = heads_in_place(buffer, QUERY_HEADS, KEY_HEADS),
    };
    return rotary_rope_apply(rope, &call, error);
}

int main(void)
{
    static float buffer[BUFFER], expected[BUFFER];
    const int32_t positions[TOKENS] = {0, 1, 2, 731, 732, 90000}; /* a new sequence and two old ones */
    for (int i = 0; i < BUFFER; i++)
        buffer[i] = sinf((float)i);

    memcpy(expected, buffer, sizeof buffer);
    for (int token = 0; token < TOKENS; token++)
        engine_rotate(expected + token * TOKEN_FLOATS, QUERY_HEADS + KEY_HEADS, positions[token]);

    rotary_error error;
    rotary_rope *rope;
    if (make_plan(&rope, &error) || rotate(rope, buffer, positions, &error)) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    rotary_rope_destroy(rope);

    float max_difference = 0;
    for (int i = 0; i < BUFFER; i++)
        max_difference = fmaxf(max_difference, fabsf(buffer[i] - expected[i]));
    bool equal = max_difference < 1e-6f;
    printf("%d tokens, %d query and %d key heads: %s the engine's own loop\n", TOKENS, QUERY_HEADS, KEY_HEADS,
           equal ? "the same as" : "not the same as");
    return !equal;
}
