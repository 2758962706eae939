/* SPDX-License-Identifier: Apache-2.0
 *
 * Attention: every encoding and mask, forward, backward, packed sequences, decoding.
 */
#include "output_hashes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum encoding {
    NOT_ROTATED,
    ROPE_HALF,
    ROPE_INTERLEAVED,
    ROPER_HALF,
    ROPER_INTERLEAVED,
    ROPER_ALONE,
    ENCODINGS
};
static const char *const encoding_names[] = {"not rotated", "rope half",         "rope interleaved",
                                             "roper half",  "roper interleaved", "values alone"};

enum mask { FULL, CAUSAL, WINDOW, SOFTCAP, BIAS, SHARED_BIAS, SCALE, MASKS };
static const char *const mask_names[] = {"full", "causal",      "window", "softcap",
                                         "bias", "shared bias", "scale"};

struct heads {
    int64_t heads, key_value_heads, head_dim;
};

struct plans {
    rotary_rope *rope, *value_rope;
    rotary_attention *attention;
};

static void plans_destroy(struct plans *plans)
{
    rotary_attention_destroy(plans->attention);
    rotary_rope_destroy(plans->rope);
    rotary_rope_destroy(plans->value_rope);
}

/* Whether all of them were made. */
static bool plans_create(struct plans *plans, struct heads heads, rotary_dtype dtype, enum encoding encoding,
                         enum mask mask)
{
    *plans = (struct plans){0};
    rotary_pairing pairing = encoding == ROPE_INTERLEAVED || encoding == ROPER_INTERLEAVED
                                 ? ROTARY_PAIRING_INTERLEAVED
                                 : ROTARY_PAIRING_HALF;
    rotary_rope_config rotation = rope_config(heads.head_dim, pairing);
    if (encoding != NOT_ROTATED && encoding != ROPER_ALONE && !(plans->rope = rope_create(&rotation)))
        return false;
    /* Here only some channels of a value are rotated. */
    rotation.rotary_dim = encoding == ROPER_INTERLEAVED ? heads.head_dim / 4 * 2 : 0;
    if (encoding >= ROPER_HALF && !(plans->value_rope = rope_create(&rotation)))
        return false;
    rotary_attention_config config;
    rotary_attention_config_default(&config);
    config.heads = heads.heads;
    config.key_value_heads = heads.key_value_heads;
    config.head_dim = heads.head_dim;
    config.dtype = dtype;
    config.scale = mask == SCALE ? 0.3f : 0;
    config.causal = mask == CAUSAL || mask == WINDOW || mask == SOFTCAP || mask == SHARED_BIAS;
    config.window = mask == WINDOW ? 9 : 0;
    config.softcap = mask == SOFTCAP ? 3.5f : 0;
    config.rope = plans->rope;
    config.value_rope = plans->value_rope;
    config.threads = threads;
    config.isa = isa;
    return done("plan", rotary_attention_create(&plans->attention, &config, NULL));
}

/* A bias for each score, or one that the heads and sequences share; some entries hide a key. */
struct bias {
    struct buffer data;
    rotary_attention_bias view;
};

static struct bias bias_create(enum mask mask, int64_t batch, int64_t heads, int64_t queries, int64_t keys)
{
    struct bias bias = {0};
    if (mask != BIAS && mask != SHARED_BIAS)
        return bias;
    int64_t row = keys + 3;
    bias.data = numbers(ROTARY_F32, mask == BIAS ? batch * heads * queries * row : queries * row, 71);
    float *entries = bias.data.data;
    for (int64_t i = 0; i < (int64_t)(bias.data.bytes / sizeof(float)); i++)
        if (i % 11 == 5)
            entries[i] = -1e31f;
    bias.view.data = entries;
    bias.view.query_stride = row;
    bias.view.head_stride = mask == BIAS ? queries * row : 0;
    bias.view.batch_stride = mask == BIAS ? heads * queries * row : 0;
    return bias;
}

static struct buffer workspace_create(size_t bytes)
{
    struct buffer made = buffer_create(bytes + 64);
    memset(made.data, 0xff, made.bytes); /* NaN, which nothing should read */
    return made;
}

/* Queries, keys and values, or their gradients, side by side as one projection makes them. */
struct fused {
    struct buffer query, key_value;
    rotary_attention_view views[3];
};

static rotary_attention_const_view readable(rotary_attention_view view)
{
    return (rotary_attention_const_view){view.data, view.batch_stride, view.time_stride, view.head_stride};
}

static struct fused fused_create(struct heads heads, rotary_dtype dtype, rotary_attention_shape shape,
                                 uint64_t seed)
{
    struct fused made;
    int64_t dim = heads.head_dim;
    int64_t query_row = heads.heads * dim + GAP, row = 2 * heads.key_value_heads * dim + GAP;
    made.query = numbers(dtype, shape.batch * shape.queries * query_row, seed);
    made.key_value = numbers(dtype, shape.batch * shape.keys * row, seed + 1);
    made.views[0] = (rotary_attention_view){made.query.data, shape.queries * query_row, query_row, dim};
    for (int i = 1; i < 3; i++)
        made.views[i] =
            (rotary_attention_view){element_at(&made.key_value, dtype, (i - 1) * heads.key_value_heads * dim),
                                    shape.keys * row, row, dim};
    return made;
}

static void fused_destroy(struct fused *fused)
{
    buffer_destroy(&fused->query);
    buffer_destroy(&fused->key_value);
}

/* The forward pass, then the backward pass from its results. */
static void print_passes(const struct plans *plans, struct heads heads, rotary_dtype dtype, enum mask mask,
                         rotary_attention_shape shape,
                         const rotary_attention_packed_sequences *packed_sequences)
{
    const rotary_attention *attention = plans->attention;
    struct fused in = fused_create(heads, dtype, shape, 81), gradient = fused_create(heads, dtype, shape, 85);
    struct bias bias = bias_create(mask, shape.batch, heads.heads, shape.queries, shape.keys);
    int64_t row = heads.heads * heads.head_dim + GAP, count = shape.batch * shape.queries * row;
    struct buffer output = buffer_create((size_t)count * rotary_dtype_size(dtype));
    struct buffer output_gradient = numbers(dtype, count, 91);
    struct buffer sums = buffer_create((size_t)(shape.batch * heads.heads * shape.queries) * sizeof(float));
    size_t forward_bytes =
        packed_sequences ? rotary_attention_packed_sequences_forward_bytes(attention, shape, packed_sequences)
                         : rotary_attention_forward_bytes(attention, shape);
    size_t backward_bytes =
        packed_sequences
            ? rotary_attention_packed_sequences_backward_bytes(attention, shape, packed_sequences)
            : rotary_attention_backward_bytes(attention, shape);
    struct buffer workspace =
        workspace_create(forward_bytes > backward_bytes ? forward_bytes : backward_bytes);
    rotary_attention_view to = {output.data, shape.queries * row, row, heads.head_dim};
    rotary_attention_const_view sent = {output_gradient.data, shape.queries * row, row, heads.head_dim};

    rotary_attention_forward_call forward = {.struct_size = sizeof forward,
                                             .shape = shape,
                                             .query = readable(in.views[0]),
                                             .key = readable(in.views[1]),
                                             .value = readable(in.views[2]),
                                             .output = to,
                                             .log_sum_exp = sums.data,
                                             .workspace = workspace.data,
                                             .bias = bias.view};
    rotary_attention_backward_call backward = {.struct_size = sizeof backward,
                                               .shape = shape,
                                               .query = readable(in.views[0]),
                                               .key = readable(in.views[1]),
                                               .value = readable(in.views[2]),
                                               .output = readable(to),
                                               .output_gradient = sent,
                                               .log_sum_exp = sums.data,
                                               .query_gradient = gradient.views[0],
                                               .key_gradient = gradient.views[1],
                                               .value_gradient = gradient.views[2],
                                               .workspace = workspace.data,
                                               .bias = bias.view};
    if (packed_sequences)
        forward.packed_sequences = backward.packed_sequences = *packed_sequences;
    if (done("forward", rotary_attention_forward(attention, &forward, NULL))) {
        print_buffer("output", &output);
        print_buffer("log-sum-exp", &sums);
        if (done("backward", rotary_attention_backward(attention, &backward, NULL))) {
            print_buffer("gradient of queries", &gradient.query);
            print_buffer("gradient of keys and values", &gradient.key_value);
        }
    }
    fused_destroy(&in);
    fused_destroy(&gradient);
    free(bias.data.data);
    buffer_destroy(&output);
    buffer_destroy(&output_gradient);
    buffer_destroy(&sums);
    buffer_destroy(&workspace);
}

/* A prompt into an empty cache of one sequence and a longer one of another; then token after token, and some
 * at once. With a window the cache is a ring. */
static void print_decoded(const struct plans *plans, struct heads heads, rotary_dtype dtype, enum mask mask)
{
    enum { BATCH = 2, TOKENS = 48, START = 21 };
    static const int64_t steps[] = {7, 1, 1, 3, 1};
    int64_t capacity = mask == WINDOW ? 15 : TOKENS, dim = heads.head_dim;
    rotary_attention_shape shape = {.batch = BATCH, .queries = TOKENS, .keys = TOKENS};
    struct fused in = fused_create(heads, dtype, shape, 101);
    struct bias bias = bias_create(mask, BATCH, heads.heads, TOKENS, TOKENS);
    int64_t cache_row = heads.key_value_heads * dim, row = heads.heads * dim + GAP;
    struct buffer caches[] = {numbers(dtype, BATCH * capacity * cache_row, 111),
                              numbers(dtype, BATCH * capacity * cache_row, 112)};
    struct buffer output = buffer_create((size_t)(BATCH * TOKENS * row) * rotary_dtype_size(dtype));
    struct buffer workspace =
        workspace_create(rotary_attention_decode_bytes(plans->attention, BATCH, 7, capacity));
    int64_t lengths[BATCH] = {0, START}, time = 0;
    for (int step = 0; step < COUNT(steps); step++) {
        rotary_attention_decode_call call = {.struct_size = sizeof call,
                                             .batch = BATCH,
                                             .queries = steps[step],
                                             .capacity = capacity,
                                             .lengths = lengths,
                                             .workspace = workspace.data,
                                             .bias = bias.view};
        rotary_attention_const_view *from[] = {&call.query, &call.key, &call.value};
        for (int i = 0; i < 3; i++) {
            *from[i] = readable(in.views[i]);
            from[i]->data =
                (const char *)from[i]->data + time * from[i]->time_stride * (int64_t)rotary_dtype_size(dtype);
        }
        call.output = (rotary_attention_view){element_at(&output, dtype, time * row), TOKENS * row, row, dim};
        call.key_cache = (rotary_attention_view){caches[0].data, capacity * cache_row, cache_row, dim};
        call.value_cache = (rotary_attention_view){caches[1].data, capacity * cache_row, cache_row, dim};
        if (!done("decode", rotary_attention_decode(plans->attention, &call, NULL)))
            break;
        for (int b = 0; b < BATCH; b++)
            lengths[b] += steps[step];
        time += steps[step];
    }
    print_buffer("decoded", &output);
    print_buffer("cache of keys", &caches[0]);
    print_buffer("cache of values", &caches[1]);
    fused_destroy(&in);
    free(bias.data.data);
    buffer_destroy(&caches[0]);
    buffer_destroy(&caches[1]);
    buffer_destroy(&output);
    buffer_destroy(&workspace);
}

void print_attention(void)
{
    static const struct heads all_heads[] = {{1, 1, 2},  {4, 2, 16}, {3, 1, 34},
                                             {2, 2, 64}, {8, 2, 80}, {2, 1, 128}};
    static const rotary_attention_shape shapes[] = {
        {.batch = 1, .queries = 1, .keys = 1},
        {.batch = 2, .queries = 17, .keys = 17},
        {.batch = 1, .queries = 3, .keys = 70, .first_query = 67},
        {.batch = 1, .queries = 131, .keys = 131, .first_query = 5, .first_key = 5}};
    static const int32_t starts[] = {0, 1, 20, 20, 57, 75}, key_starts[] = {0, 4, 30, 31, 60, 90};
    static const rotary_attention_packed_sequences packings[] = {{starts, NULL, 5}, {starts, key_starts, 5}};
    static const rotary_dtype dtypes[] = {ROTARY_F32, ROTARY_BF16};
    for (int type = 0; type < 2; type++)
        for (int h = 0; h < COUNT(all_heads); h++)
            for (int encoding = 0; encoding < ENCODINGS; encoding++)
                for (int mask = 0; mask < MASKS; mask++) {
                    struct heads heads = all_heads[h];
                    char name[NAME_BYTES / 2];
                    snprintf(name, sizeof name, "%s %d/%d heads of %d %s %s", rotary_dtype_name(dtypes[type]),
                             (int)heads.heads, (int)heads.key_value_heads, (int)heads.head_dim,
                             encoding_names[encoding], mask_names[mask]);
                    begin("attention %s", name);
                    struct plans plans;
                    if (plans_create(&plans, heads, dtypes[type], (enum encoding)encoding, (enum mask)mask)) {
                        for (int i = 0; i < COUNT(shapes); i++) {
                            begin("attention %s %dx%d", name, (int)shapes[i].queries, (int)shapes[i].keys);
                            print_passes(&plans, heads, dtypes[type], (enum mask)mask, shapes[i], NULL);
                        }
                        for (int i = 0; i < COUNT(packings); i++) {
                            rotary_attention_shape shape = {.batch = 1, .queries = 75, .keys = i ? 90 : 75};
                            begin("attention %s packed sequences %d", name, i);
                            print_passes(&plans, heads, dtypes[type], (enum mask)mask, shape, &packings[i]);
                        }
                        begin("decode %s", name);
                        print_decoded(&plans, heads, dtypes[type], (enum mask)mask);
                    }
                    plans_destroy(&plans);
                }
}
