/* SPDX-License-Identifier: Apache-2.0
 *
 * Rotations: all types, pairings and positions, tables of the caller, every scaling.
 */
#include "output_hashes.h"

#include <stdio.h>
#include <string.h>

static const char *const pairing_names[] = {"half", "interleaved"};
static const char *const direction_names[] = {"forward", "inverse", "transpose"};

static void print_plan(const rotary_rope *rope)
{
    int64_t pairs = rotary_rope_pairs(rope);
    print_hash("frequencies", rotary_rope_inverse_frequencies(rope), (size_t)pairs * sizeof(double));
    double factors[] = {rotary_rope_attention_factor(rope), rotary_rope_softmax_factor(rope),
                        rotary_rope_axes(rope), 0};
    for (int64_t pair = 0; pair < pairs; pair++)
        factors[3] = 5 * factors[3] + rotary_rope_axis(rope, pair);
    print_hash("factors", factors, sizeof factors);
}

/* Tokens of three tensors, head after head with a gap behind each token. */
enum { QUERIES = 3, KEYS = 2, VALUES = 1 };
static const int tensor_heads[] = {QUERIES, KEYS, VALUES};
static const char *const tensor_names[] = {"query", "key", "value"};

struct tokens {
    int64_t batch, time, head_dim;
};

static int64_t time_stride(struct tokens tokens, int heads)
{
    return heads * tokens.head_dim + GAP;
}

static int64_t elements(struct tokens tokens, int heads)
{
    return tokens.batch * tokens.time * time_stride(tokens, heads);
}

static rotary_rope_const_view input_view(const struct buffer *buffer, rotary_dtype dtype,
                                         struct tokens tokens, int heads)
{
    int64_t stride = time_stride(tokens, heads);
    return (rotary_rope_const_view){buffer->data, dtype, tokens.time * stride, stride, tokens.head_dim};
}

static rotary_rope_view output_view(const struct buffer *buffer, rotary_dtype dtype, struct tokens tokens,
                                    int heads)
{
    int64_t stride = time_stride(tokens, heads);
    return (rotary_rope_view){buffer->data, dtype, tokens.time * stride, stride, tokens.head_dim};
}

/* Rotates three tensors, out of place or, if `to` is the type `from` and `in_place`, in place. */
static void print_applied(const rotary_rope *rope, struct tokens tokens, rotary_dtype from, rotary_dtype to,
                          rotary_direction direction, bool in_place, const rotary_rope_positions *positions,
                          const rotary_rope_tables *tables)
{
    rotary_rope_apply_call call = {
        .struct_size = sizeof call, .batch = tokens.batch, .time = tokens.time, .direction = direction};
    if (positions)
        call.positions = *positions;
    if (tables)
        call.tables = *tables;
    struct buffer in[3], out[3];
    rotary_rope_tensor *tensors[] = {&call.query, &call.key, &call.value};
    for (int i = 0; i < 3; i++) {
        int heads = tensor_heads[i];
        in[i] = numbers(from, elements(tokens, heads), 1 + (uint64_t)i);
        out[i] = in_place ? copy_of(&in[i])
                          : buffer_create((size_t)elements(tokens, heads) * rotary_dtype_size(to));
        tensors[i]->heads = heads;
        tensors[i]->input = input_view(in_place ? &out[i] : &in[i], from, tokens, heads);
        tensors[i]->output = output_view(&out[i], to, tokens, heads);
    }
    if (done(direction_names[direction], rotary_rope_apply(rope, &call, NULL)))
        for (int i = 0; i < 3; i++) {
            char name[64];
            snprintf(name, sizeof name, "%s%s %s", direction_names[direction], in_place ? " in place" : "",
                     tensor_names[i]);
            print_buffer(name, &out[i]);
        }
    for (int i = 0; i < 3; i++) {
        buffer_destroy(&in[i]);
        buffer_destroy(&out[i]);
    }
}

static void print_shifted(const rotary_rope *rope, struct tokens tokens, rotary_dtype dtype, int64_t shift,
                          const int64_t *shifts)
{
    struct buffer in[2], out[2];
    rotary_rope_shift_call call = {.struct_size = sizeof call,
                                   .batch = tokens.batch,
                                   .time = tokens.time,
                                   .shift = shift,
                                   .shifts = shifts};
    rotary_rope_tensor *tensors[] = {&call.key, &call.value};
    for (int i = 0; i < 2; i++) {
        in[i] = numbers(dtype, elements(tokens, KEYS), 11 + (uint64_t)i);
        out[i] = buffer_create(in[i].bytes);
        *tensors[i] = (rotary_rope_tensor){KEYS, input_view(&in[i], dtype, tokens, KEYS),
                                           output_view(&out[i], dtype, tokens, KEYS)};
    }
    if (done("shift", rotary_rope_shift(rope, &call, NULL))) {
        print_buffer("shift key", &out[0]);
        print_buffer("shift value", &out[1]);
    }
    for (int i = 0; i < 2; i++) {
        buffer_destroy(&in[i]);
        buffer_destroy(&out[i]);
    }
}

static void print_rebased(const rotary_rope *rope, const rotary_rope *other, struct tokens tokens,
                          rotary_dtype dtype, const rotary_rope_positions *positions)
{
    struct buffer in[2], out[2];
    rotary_rope_rebase_call call = {
        .struct_size = sizeof call, .batch = tokens.batch, .time = tokens.time, .positions = *positions};
    rotary_rope_tensor *tensors[] = {&call.key, &call.value};
    for (int i = 0; i < 2; i++) {
        in[i] = numbers(dtype, elements(tokens, KEYS), 21 + (uint64_t)i);
        out[i] = buffer_create(in[i].bytes);
        *tensors[i] = (rotary_rope_tensor){KEYS, input_view(&in[i], dtype, tokens, KEYS),
                                           output_view(&out[i], dtype, tokens, KEYS)};
    }
    if (done("rebase", rotary_rope_rebase(rope, other, &call, NULL))) {
        print_buffer("rebase key", &out[0]);
        print_buffer("rebase value", &out[1]);
    }
    for (int i = 0; i < 2; i++) {
        buffer_destroy(&in[i]);
        buffer_destroy(&out[i]);
    }
}

static void print_gradient(const rotary_rope *rope, struct tokens tokens, rotary_dtype dtype,
                           const rotary_rope_positions *positions)
{
    struct buffer in[3], gradient[3];
    rotary_rope_gradient_call call = {.struct_size = sizeof call, .batch = tokens.batch, .time = tokens.time};
    if (positions)
        call.positions = *positions;
    rotary_rope_gradient_tensor *tensors[] = {&call.query, &call.key, &call.value};
    for (int i = 0; i < 3; i++) {
        int heads = tensor_heads[i];
        in[i] = numbers(dtype, elements(tokens, heads), 31 + (uint64_t)i);
        gradient[i] = numbers(dtype, elements(tokens, heads), 41 + (uint64_t)i);
        *tensors[i] = (rotary_rope_gradient_tensor){heads, input_view(&in[i], dtype, tokens, heads),
                                                    input_view(&gradient[i], dtype, tokens, heads)};
    }
    int64_t pairs = rotary_rope_pairs(rope), axes = rotary_rope_axes(rope);
    struct buffer of_frequencies = buffer_create((size_t)pairs * sizeof(double));
    memset(of_frequencies.data, 0, of_frequencies.bytes);
    struct buffer of_positions = buffer_create((size_t)(axes * tokens.batch * tokens.time) * sizeof(double));
    call.frequency_gradient = of_frequencies.data;
    call.position_gradient = of_positions.data;
    if (done("gradient", rotary_rope_gradient(rope, &call, NULL))) {
        print_buffer("gradient of frequencies", &of_frequencies);
        print_buffer("gradient of positions", &of_positions);
    }
    for (int i = 0; i < 3; i++) {
        buffer_destroy(&in[i]);
        buffer_destroy(&gradient[i]);
    }
    buffer_destroy(&of_frequencies);
    buffer_destroy(&of_positions);
}

static void print_permuted(const rotary_rope *rope, int64_t head_dim)
{
    const size_t row_bytes = 28;
    struct buffer in = numbers(ROTARY_F32, 2 * head_dim * 7, 51), out = buffer_create(in.bytes);
    for (int to = 0; to < 2; to++) {
        rotary_rope_permute_call call = {.struct_size = sizeof call,
                                         .heads = 2,
                                         .row_bytes = row_bytes,
                                         .input = in.data,
                                         .output = out.data,
                                         .from = (rotary_pairing)!to,
                                         .to = (rotary_pairing)to};
        if (done("permute", rotary_rope_permute(rope, &call, NULL)))
            print_buffer("permute", &out);
    }
    buffer_destroy(&in);
    buffer_destroy(&out);
}

/* All types, pairings, directions, and spans of a head. */
static void try_types(void)
{
    static const struct {
        int64_t head_dim, rotary_dim, rotary_start;
    } spans[] = {{2, 0, 0},    {6, 4, 0},   {34, 0, 0},  {64, 0, 0},
                 {80, 32, 48}, {96, 24, 7}, {128, 0, 0}, {256, 128, 64}};
    static const int64_t offsets[] = {3, 100};
    rotary_rope_positions far = {.offset = 57, .offsets = offsets};
    for (int span = 0; span < COUNT(spans); span++)
        for (int pairing = 0; pairing < 2; pairing++) {
            rotary_rope_config config = rope_config(spans[span].head_dim, (rotary_pairing)pairing);
            config.rotary_dim = spans[span].rotary_dim;
            config.rotary_start = spans[span].rotary_start;
            begin("rope %d %s", (int)config.head_dim, pairing_names[pairing]);
            rotary_rope *rope = rope_create(&config);
            if (!rope)
                continue;
            print_plan(rope);
            print_permuted(rope, config.head_dim);
            struct tokens tokens = {2, 13, config.head_dim};
            for (int from = 0; from < 3; from++) {
                for (int to = 0; to < 3; to++)
                    for (int direction = 0; direction < 3; direction++) {
                        begin("rope %d %s %s %s", (int)config.head_dim, pairing_names[pairing],
                              rotary_dtype_name((rotary_dtype)from), rotary_dtype_name((rotary_dtype)to));
                        print_applied(rope, tokens, (rotary_dtype)from, (rotary_dtype)to,
                                      (rotary_direction)direction, false, &far, NULL);
                        if (from == to)
                            print_applied(rope, tokens, (rotary_dtype)from, (rotary_dtype)to,
                                          (rotary_direction)direction, true, &far, NULL);
                    }
                begin("rope %d %s %s", (int)config.head_dim, pairing_names[pairing],
                      rotary_dtype_name((rotary_dtype)from));
                print_shifted(rope, tokens, (rotary_dtype)from, -41, offsets);
                print_gradient(rope, tokens, (rotary_dtype)from, &far);
            }
            rotary_rope_destroy(rope);
        }
}

/* All forms of positions, and tables of the caller. */
static void try_positions(void)
{
    enum { BATCH = 2, TIME = 19, DIM = 32, PAIRS = 16 };
    static const int64_t offsets[] = {7, -2};
    static const int32_t starts[] = {0, 5, 6, 6, TIME};
    static const int64_t packed_offsets[] = {1, 2, 3, 4};
    int64_t whole[BATCH * TIME];
    int32_t whole_32[BATCH * TIME];
    float broken[BATCH * TIME];
    for (int i = 0; i < BATCH * TIME; i++) {
        whole[i] = (i * 37) % 101;
        whole_32[i] = 5000 - 13 * i;
        broken[i] = 0.37f * (float)i - 2;
    }
    const struct {
        const char *name;
        rotary_rope_positions positions;
    } cases[] = {
        {"counted", {0}},
        {"offsets", {.offset = 60, .offsets = offsets}},
        {"i64", {.array = whole, .array_batch_stride = TIME}},
        {"i32", {.array = whole_32, .array_type = ROTARY_POSITION_I32, .offset = 4}},
        {"f32", {.array = broken, .array_type = ROTARY_POSITION_F32, .array_batch_stride = TIME}},
        {"packed sequences", {.starts = starts, .sequences = 4}},
        {"packed sequences, offsets",
         {.starts = starts, .sequences = 4, .offset = 9, .offsets = packed_offsets}},
    };
    for (int pairing = 0; pairing < 2; pairing++)
        for (int type = 0; type < 3; type++) {
            rotary_rope_config config = rope_config(DIM, (rotary_pairing)pairing);
            rotary_dtype dtype = (rotary_dtype)type;
            begin("positions %s", pairing_names[pairing]);
            rotary_rope *rope = rope_create(&config);
            if (!rope)
                stop("no plan");
            for (int i = 0; i < COUNT(cases); i++) {
                struct tokens tokens = {cases[i].positions.starts ? 1 : BATCH, TIME, DIM};
                begin("positions %s %s %s", cases[i].name, pairing_names[pairing], rotary_dtype_name(dtype));
                print_applied(rope, tokens, dtype, dtype, ROTARY_FORWARD, false, &cases[i].positions, NULL);
                print_gradient(rope, tokens, dtype, &cases[i].positions);
            }
            for (int of = 0; of < 3; of++) {
                rotary_dtype table = (rotary_dtype)of;
                struct buffer cosine = numbers(table, BATCH * TIME * PAIRS, 61);
                struct buffer sine = numbers(table, BATCH * TIME * PAIRS, 62);
                struct tokens tokens = {BATCH, TIME, DIM};
                for (int per_token = 0; per_token < 2; per_token++) {
                    begin("tables %s %s %s %s", per_token ? "by token" : "by position",
                          rotary_dtype_name(table), pairing_names[pairing], rotary_dtype_name(dtype));
                    rotary_rope_tables tables = {.cosine = cosine.data,
                                                 .sine = sine.data,
                                                 .dtype = table,
                                                 .per_token = per_token,
                                                 .rows = per_token ? 0 : BATCH * TIME,
                                                 .batch_stride = per_token ? TIME * PAIRS : 0};
                    print_applied(rope, tokens, dtype, dtype, ROTARY_FORWARD, false, NULL, &tables);
                    print_applied(rope, tokens, dtype, dtype, ROTARY_TRANSPOSE, true, NULL, &tables);
                }
                buffer_destroy(&cosine);
                buffer_destroy(&sine);
            }
            rotary_rope_destroy(rope);
        }
}

/* Every scaling as every implementation reads it, xPos, axes, and the ways angles are computed. */
static void try_variants(void)
{
    enum { DIM = 64, PAIRS = 32 };
    static const char *const scalings[] = {"none", "linear",   "ntk",    "dynamic ntk",
                                           "yarn", "longrope", "llama3", "proportional"};
    static const char *const others[] = {
        "mscale", "not truncated", "xpos",      "sections",     "alternating",    "separate",
        "f32",    "table bf16",    "table f16", "pair factors", "own frequencies"};
    enum { OTHERS = COUNT(others), IMPLEMENTATIONS = 4 };
    double short_factors[PAIRS], long_factors[PAIRS];
    for (int i = 0; i < PAIRS; i++) {
        short_factors[i] = 1 + 0.01 * i;
        long_factors[i] = 1 + 0.3 * i;
    }
    int32_t places[3 * 2 * 11];
    for (int i = 0; i < COUNT(places); i++)
        places[i] = (i * 29) % 83;
    rotary_rope_config plain = rope_config(DIM, ROTARY_PAIRING_HALF);
    begin("variant");
    rotary_rope *from = rope_create(&plain);
    if (!from)
        stop("no plan");
    for (int i = 0; i < COUNT(scalings) * IMPLEMENTATIONS + OTHERS; i++) {
        rotary_rope_config config = plain;
        int other = i - COUNT(scalings) * IMPLEMENTATIONS;
        config.factor = 4;
        config.original_positions = 128;
        config.max_positions = 512;
        config.sequence_length = 300;
        config.short_factors = short_factors;
        config.long_factors = long_factors;
        config.rotary_fraction = 0.5;
        if (other < 0) {
            config.scaling = (rotary_scaling)(i / IMPLEMENTATIONS);
            config.compat = (rotary_compat)(i % IMPLEMENTATIONS);
            begin("variant %s compat %d", scalings[i / IMPLEMENTATIONS], i % IMPLEMENTATIONS);
        } else {
            begin("variant %s", others[other]);
            if (other < 2) {
                config.scaling = ROTARY_SCALING_YARN;
                config.mscale = other == 0 ? 0.7 : 0;
                config.mscale_all_dim = other == 0 ? 1.1 : 0;
                config.truncate = other == 0;
            } else if (other == 2) {
                config.xpos_scale = 512;
                config.xpos_origin = 3;
            } else if (other < 6) {
                config.axes = (rotary_axes)(other - 2);
                config.sections[0] = 12;
                config.sections[1] = config.sections[2] = 10;
            }
            config.angles_f32 = other == 6;
            if (other == 7 || other == 8)
                config.table_dtype = other == 7 ? ROTARY_BF16 : ROTARY_F16;
            config.pair_factors = other == 9 ? short_factors : NULL;
            config.inverse_frequencies = other == 10 ? long_factors : NULL;
        }
        rotary_rope *rope = rope_create(&config);
        if (!rope)
            continue;
        print_plan(rope);
        struct tokens tokens = {2, 11, DIM};
        rotary_rope_positions positions = {.offset = 250};
        if (rotary_rope_axes(rope) > 1)
            positions = (rotary_rope_positions){.array = places,
                                                .array_type = ROTARY_POSITION_I32,
                                                .array_batch_stride = 11,
                                                .array_axis_stride = 22};
        for (int direction = 0; direction < 3; direction++)
            print_applied(rope, tokens, ROTARY_F32, ROTARY_F32, (rotary_direction)direction, false,
                          &positions, NULL);
        print_applied(rope, tokens, ROTARY_BF16, ROTARY_BF16, ROTARY_FORWARD, true, &positions, NULL);
        print_shifted(rope, tokens, ROTARY_F32, 77, NULL);
        print_shifted(rope, tokens, ROTARY_F16, -6, NULL);
        print_gradient(rope, tokens, ROTARY_F32, &positions);
        if (rotary_rope_axes(rope) == 1) {
            print_rebased(from, rope, tokens, ROTARY_F32, &positions);
            print_rebased(rope, from, tokens, ROTARY_BF16, &positions);
            print_rebased(from, rope, tokens, ROTARY_F16, &positions);
        }
        rotary_rope_destroy(rope);
    }
    rotary_rope_destroy(from);
}

void print_rotation(void)
{
    try_types();
    try_positions();
    try_variants();
}
