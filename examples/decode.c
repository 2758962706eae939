/* SPDX-License-Identifier: Apache-2.0
 *
 * Decoding with a KV cache: two sequences, first a prompt, then one token at a time. With a sliding window
 * the cache is a small ring buffer in which new tokens overwrite old ones. The outputs are compared with
 * those of attention over full sequences.
 */
#include <math.h>
#include <rotary/rotary.h>
#include <stdio.h>
#include <stdlib.h>

enum { BATCH = 2, HEADS = 4, KEY_HEADS = 2, HEAD_DIM = 16, WINDOW = 6, PROMPT = 3, TOKENS = 20 };
/* A cache needs window + queries - 1 rows; the step with the most queries is the prompt. */
enum { CAPACITY = WINDOW + PROMPT - 1 };

enum { QUERY_TOKEN = HEADS * HEAD_DIM, KEY_TOKEN = KEY_HEADS * HEAD_DIM };
enum { QUERY_FLOATS = BATCH * TOKENS * QUERY_TOKEN, KEY_FLOATS = BATCH * TOKENS * KEY_TOKEN };

/* [BATCH, TOKENS, heads, HEAD_DIM] */
static float query[QUERY_FLOATS], output[QUERY_FLOATS], expected[QUERY_FLOATS];
static float key[KEY_FLOATS], value[KEY_FLOATS];
/* [BATCH, CAPACITY, KEY_HEADS, HEAD_DIM]: rotated keys, and values */
static float key_cache[BATCH * CAPACITY * KEY_TOKEN], value_cache[BATCH * CAPACITY * KEY_TOKEN];

static void check(rotary_status status, const rotary_error *error)
{
    if (status == ROTARY_OK)
        return;
    fprintf(stderr, "%s\n", error->message);
    exit(1);
}

/* Views of the tensors that begin at token `time`. */
static rotary_attention_const_view queries_at(int time)
{
    return (rotary_attention_const_view){query + time * QUERY_TOKEN, TOKENS * QUERY_TOKEN, QUERY_TOKEN,
                                         HEAD_DIM};
}

static rotary_attention_const_view keys_at(const float *tokens, int time)
{
    return (rotary_attention_const_view){tokens + time * KEY_TOKEN, TOKENS * KEY_TOKEN, KEY_TOKEN, HEAD_DIM};
}

static rotary_attention_view outputs_at(float *tokens, int time)
{
    return (rotary_attention_view){tokens + time * QUERY_TOKEN, TOKENS * QUERY_TOKEN, QUERY_TOKEN, HEAD_DIM};
}

static rotary_attention_view cache_view(float *cache)
{
    return (rotary_attention_view){cache, CAPACITY * KEY_TOKEN, KEY_TOKEN, HEAD_DIM};
}

/* Decodes `count` new tokens of both sequences. `lengths`, the tokens in the caches, grows by as many. */
static void decode_step(const rotary_attention *attention, int time, int count, int64_t lengths[BATCH],
                        void *workspace)
{
    rotary_error error;
    rotary_attention_decode_call call = {
        .struct_size = sizeof call,
        .batch = BATCH,
        .queries = count,
        .capacity = CAPACITY,
        .lengths = lengths,
        .query = queries_at(time),
        .key = keys_at(key, time),
        .value = keys_at(value, time),
        .key_cache = cache_view(key_cache),
        .value_cache = cache_view(value_cache),
        .output = outputs_at(output, time),
        .workspace = workspace,
    };
    check(rotary_attention_decode(attention, &call, &error), &error);
    for (int sequence = 0; sequence < BATCH; sequence++)
        lengths[sequence] += count;
}

int main(void)
{
    for (int i = 0; i < QUERY_FLOATS; i++)
        query[i] = sinf(0.7f * (float)i);
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
    config.window = WINDOW;
    config.rope = rope;
    rotary_attention *attention;
    check(rotary_attention_create(&attention, &config, &error), &error);

    /* Attention over full sequences gives the expected outputs. */
    rotary_attention_shape shape = {.batch = BATCH, .queries = TOKENS, .keys = TOKENS};
    size_t bytes = rotary_attention_forward_bytes(attention, shape);
    size_t decode_bytes = rotary_attention_decode_bytes(attention, BATCH, PROMPT, CAPACITY);
    void *workspace = aligned_alloc(64, bytes > decode_bytes ? bytes : decode_bytes);
    if (!workspace)
        return 1;
    rotary_attention_forward_call forward = {.struct_size = sizeof forward,
                                             .shape = shape,
                                             .query = queries_at(0),
                                             .key = keys_at(key, 0),
                                             .value = keys_at(value, 0),
                                             .output = outputs_at(expected, 0),
                                             .workspace = workspace};
    check(rotary_attention_forward(attention, &forward, &error), &error);

    /* The prompt, then one token at a time. */
    int64_t lengths[BATCH] = {0, 0};
    decode_step(attention, 0, PROMPT, lengths, workspace);
    for (int time = PROMPT; time < TOKENS; time++)
        decode_step(attention, time, 1, lengths, workspace);

    float max_difference = 0;
    for (int i = 0; i < QUERY_FLOATS; i++)
        max_difference = fmaxf(max_difference, fabsf(output[i] - expected[i]));
    bool equal = max_difference < 1e-5f;
    printf("%d tokens in a cache of %d rows: %s\n", TOKENS, CAPACITY,
           equal ? "the same as with full sequences" : "not the same as with full sequences");
    const float *last = output + QUERY_FLOATS - QUERY_TOKEN;
    printf("the last output begins %.3f %.3f %.3f\n", (double)last[0], (double)last[1], (double)last[2]);
    free(workspace);
    rotary_attention_destroy(attention);
    rotary_rope_destroy(rope);
    return !equal;
}
