/* SPDX-License-Identifier: Apache-2.0
 *
 * What librotary computes, as one line `name hash` for each case and each instruction set that the machine
 * has: scripts/compare-programs links this with two builds of the library and compares the lines. It calls
 * the public functions alone, by the names they had in the older build; the script renames them (-D) for the
 * newer one.
 *
 *     compare_outputs THREADS
 *
 * A hash is of a complete buffer, which held known bytes before the call, so that a write outside the result
 * changes the hash too. A call that is refused prints its status in place of a hash.
 */
#include <rotary/rotary.h>

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

enum { UNTOUCHED = 0xa5, NAME_BYTES = 160 };

static int threads;
static rotary_isa isa;
static char about[NAME_BYTES]; /* the case, in front of every name */

static void stop(const char *what)
{
    fprintf(stderr, "compare_outputs: %s: %s\n", about, what);
    exit(1);
}

/* ---- memory and numbers ---- */

struct buffer {
    void *data;
    size_t bytes;
};

static struct buffer buffer_create(size_t bytes)
{
    struct buffer made = {aligned_alloc(64, (bytes + 127) / 64 * 64), bytes};
    if (!made.data)
        stop("out of memory");
    memset(made.data, UNTOUCHED, bytes);
    return made;
}

static void buffer_destroy(struct buffer *buffer)
{
    free(buffer->data);
    buffer->data = NULL;
}

/* splitmix64 */
static uint64_t random_bits(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

/* Numbers of -4 ... 4, made of random bits so that no conversion has a part in them; a few are zero, denormal
 * or minus zero. */
static struct buffer numbers(rotary_dtype dtype, int64_t count, uint64_t seed)
{
    struct buffer made = buffer_create((size_t)count * rotary_dtype_size(dtype));
    uint64_t state = seed * 1000003 + 17;
    for (int64_t i = 0; i < count; i++) {
        uint64_t bits = random_bits(&state), octave = (bits >> 32) % 10, rare = (bits >> 40) % 256;
        uint32_t sign = (uint32_t)(bits >> 63);
        uint32_t f32 = sign << 31 | (uint32_t)(119 + octave) << 23 | (uint32_t)(bits & 0x7fffff);
        uint32_t bf16 = sign << 15 | (uint32_t)(119 + octave) << 7 | (uint32_t)(bits & 0x7f);
        uint32_t f16 = sign << 15 | (uint32_t)(7 + octave) << 10 | (uint32_t)(bits & 0x3ff);
        if (rare < 3) {
            uint32_t tail = rare == 0 ? 3 : 0;
            f32 = sign << 31 | tail, bf16 = f16 = sign << 15 | tail;
        }
        uint16_t half = (uint16_t)(dtype == ROTARY_F16 ? f16 : bf16);
        if (dtype == ROTARY_F32)
            memcpy((char *)made.data + 4 * i, &f32, sizeof f32);
        else
            memcpy((char *)made.data + 2 * i, &half, sizeof half);
    }
    return made;
}

static struct buffer copy_of(const struct buffer *from)
{
    struct buffer made = buffer_create(from->bytes);
    memcpy(made.data, from->data, from->bytes);
    return made;
}

static void *element_at(const struct buffer *buffer, rotary_dtype dtype, int64_t element)
{
    return (char *)buffer->data + element * (int64_t)rotary_dtype_size(dtype);
}

/* ---- what is printed ---- */

__attribute__((format(printf, 1, 2))) static void begin(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (vsnprintf(about, sizeof about, format, arguments) >= (int)sizeof about)
        stop("the name is too long");
    va_end(arguments);
}

/* FNV-1a of 64 bits */
static void print_hash(const char *what, const void *data, size_t bytes)
{
    uint64_t hash = 0xcbf29ce484222325;
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ ((const unsigned char *)data)[i]) * 0x100000001b3;
    printf("%s %s %s: %016" PRIx64 "\n", rotary_isa_name(isa), about, what, hash);
}

static void print_buffer(const char *what, const struct buffer *buffer)
{
    print_hash(what, buffer->data, buffer->bytes);
}

/* Whether the call was done; prints its status if not. */
static bool done(const char *what, rotary_status status)
{
    if (status != ROTARY_OK)
        printf("%s %s %s: refused, %s\n", rotary_isa_name(isa), about, what, rotary_status_name(status));
    return status == ROTARY_OK;
}

/* ---- RoPE ---- */

static const char *const pairing_names[] = {"half", "interleaved"};
static const char *const direction_names[] = {"forward", "inverse", "transpose"};

static rotary_rope_config rope_config(int64_t head_dim, rotary_pairing pairing)
{
    rotary_rope_config config;
    rotary_rope_config_default(&config);
    config.head_dim = head_dim;
    config.pairing = pairing;
    config.table_positions = 64;
    config.threads = threads;
    config.isa = isa;
    return config;
}

/* NULL if it is refused. */
static rotary_rope *rope_create(const rotary_rope_config *config)
{
    rotary_rope *rope = NULL;
    return done("plan", rotary_rope_create(&rope, config, NULL)) ? rope : NULL;
}

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
enum { QUERIES = 3, KEYS = 2, VALUES = 1, GAP = 5 };
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

/* ---- attention ---- */

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
static void print_attention(const struct plans *plans, struct heads heads, rotary_dtype dtype, enum mask mask,
                            rotary_attention_shape shape, const rotary_attention_packing *packing)
{
    const rotary_attention *attention = plans->attention;
    struct fused in = fused_create(heads, dtype, shape, 81), gradient = fused_create(heads, dtype, shape, 85);
    struct bias bias = bias_create(mask, shape.batch, heads.heads, shape.queries, shape.keys);
    int64_t row = heads.heads * heads.head_dim + GAP, count = shape.batch * shape.queries * row;
    struct buffer output = buffer_create((size_t)count * rotary_dtype_size(dtype));
    struct buffer output_gradient = numbers(dtype, count, 91);
    struct buffer sums = buffer_create((size_t)(shape.batch * heads.heads * shape.queries) * sizeof(float));
    size_t forward_bytes = packing ? rotary_attention_packed_forward_bytes(attention, shape, packing)
                                   : rotary_attention_forward_bytes(attention, shape);
    size_t backward_bytes = packing ? rotary_attention_packed_backward_bytes(attention, shape, packing)
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
    if (packing)
        forward.packing = backward.packing = *packing;
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

static void try_attention(void)
{
    static const struct heads all_heads[] = {{1, 1, 2},  {4, 2, 16}, {3, 1, 34},
                                             {2, 2, 64}, {8, 2, 80}, {2, 1, 128}};
    static const rotary_attention_shape shapes[] = {
        {.batch = 1, .queries = 1, .keys = 1},
        {.batch = 2, .queries = 17, .keys = 17},
        {.batch = 1, .queries = 3, .keys = 70, .first_query = 67},
        {.batch = 1, .queries = 131, .keys = 131, .first_query = 5, .first_key = 5}};
    static const int32_t starts[] = {0, 1, 20, 20, 57, 75}, key_starts[] = {0, 4, 30, 31, 60, 90};
    static const rotary_attention_packing packings[] = {{starts, NULL, 5}, {starts, key_starts, 5}};
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
                            print_attention(&plans, heads, dtypes[type], (enum mask)mask, shapes[i], NULL);
                        }
                        for (int i = 0; i < COUNT(packings); i++) {
                            rotary_attention_shape shape = {.batch = 1, .queries = 75, .keys = i ? 90 : 75};
                            begin("attention %s packed sequences %d", name, i);
                            print_attention(&plans, heads, dtypes[type], (enum mask)mask, shape,
                                            &packings[i]);
                        }
                        begin("decode %s", name);
                        print_decoded(&plans, heads, dtypes[type], (enum mask)mask);
                    }
                    plans_destroy(&plans);
                }
}

int main(int argc, char **argv)
{
    threads = argc == 2 ? atoi(argv[1]) : 0;
    if (threads < 1) {
        fputs("usage: compare_outputs THREADS\n", stderr);
        return 2;
    }
    static const char *const names[] = {"scalar", "neon", "avx2", "avx512", "avx512bf16", "amx"};
    for (int i = 0; i < COUNT(names); i++) {
        if (rotary_isa_from_name(&isa, names[i], NULL) != ROTARY_OK || !rotary_isa_available(isa))
            continue;
        try_types();
        try_positions();
        try_variants();
        try_attention();
    }
    return 0;
}
