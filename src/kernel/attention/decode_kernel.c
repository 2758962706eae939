/* SPDX-License-Identifier: Apache-2.0
 *
 * Decoding with few queries. Reading the cache takes most of the time, so keys and values are read once and
 * in memory order: all heads of a token before the next token where a token's heads are contiguous. Each
 * vector of the cache, once loaded, is used by every query that shares it.
 */
#include "kernel/attention/attention_variants.h"
#include "kernel/attention/sink.h"
#include "kernel/attention/term_tile.h"
#include "kernel/prefetch.h"

#define INLINE static inline __attribute__((always_inline))

/* A tile is KEYS keys, or values, by QUERIES queries: its sums stay in registers. A block of keys has up to
 * SCORES scores over all queries, but at least MIN_BLOCK keys. */
enum { KEYS = 4, SCORES = 8192, MIN_BLOCK = 32, MAX_BLOCK = 512, SHARED_BYTES = 1 << 17, SHARED_KEYS = 64 };
#if LANES == 16 || defined(__aarch64__)
enum { QUERIES = 4 };
#else
enum { QUERIES = 2 };
#endif
_Static_assert(MIN_BLOCK % LANES == 0 && MIN_BLOCK % KEYS == 0, "a block is full vectors");

/* Rows that are prefetched ahead, at most. */
enum { MAX_AHEAD = 64 };
/* Prefetch distance in parts, when parts are joined. */
enum { PARTS_AHEAD = 4 };

/* How cached numbers are multiplied: f32; f16 in f32; bf16 widened to f32; pairs of bf16, where queries and p are
 * rounded to bf16 too. */
#if defined(__AVX512BF16__)
enum arithmetic { IN_F32, FROM_F16, WIDENED, IN_PAIRS, OF_BF16 = IN_PAIRS };
#else
enum arithmetic { IN_F32, FROM_F16, WIDENED, IN_PAIRS, OF_BF16 = WIDENED };
#endif

static enum arithmetic arithmetic_of(const rotary_attention_problem *problem)
{
    return problem->dtype == ROTARY_F32 ? IN_F32 : problem->dtype == ROTARY_F16 ? FROM_F16 : OF_BF16;
}

/* Whether rows of queries and outputs have the even channels of two vectors, then the odd ones. */
static bool is_deinterleaved(const rotary_attention_problem *problem)
{
    return problem->dtype == ROTARY_BF16;
}

/* A block of keys and `ahead` keys after it: byte offsets from the first key, and of their values from the
 * first value. */
struct block {
    int64_t first, count, padded, ahead; /* padded to full tiles by repeating the last key of the part */
    int64_t key[MAX_BLOCK + MAX_AHEAD], value[MAX_BLOCK + MAX_AHEAD];
};

/* Keys or values of the sequence; strides in bytes. */
struct stream {
    const char *data;
    int64_t row, head;
    bool by_token; /* all heads of a token before the next token */
    int64_t chunk; /* bytes from one tile of a head to the next; 0: most of them are not read */
};

/* Constant over a block's keys, or values. Rows of queries and outputs are `width` numbers apart, rows of
 * scores `columns`. Heads are head_bytes apart, and the addresses prefetched for them ahead_bytes. */
struct shape {
    int64_t dim, width, columns, rows; /* rows: queries of a head */
    int64_t heads, head_bytes, ahead_bytes;
    int64_t channel_ahead; /* bytes prefetched for a channel of a tile */
};

/* The matmul of some heads with KEYS keys, scores = q . k, or with KEYS values, outputs += p v. Keys or
 * values are at data + offset[...] bytes; as many bytes are prefetched from `ahead` on. */
typedef void matmul_function(const struct shape *shape, const char *data, const int64_t *offset,
                             const char *ahead, const float *from, float *to);

struct decoding {
    const rotary_attention_problem *problem;
    const rotary_attention_work *work;
    enum arithmetic arithmetic;
    matmul_function *const *score_matmuls, *const *value_matmuls; /* for QUERIES, half of them, and so on */
    int64_t width, rows;   /* of a query, queries of a key-value head */
    int64_t keys, columns; /* of a full block, and scores of a row, which are full vectors */
    const float *query;
    float *output, *row_max, *sum, *score;
    float *term; /* scratch of score terms */
    struct stream key, value;
};

static int64_t block_keys(const rotary_attention_problem *problem)
{
    int64_t keys = SCORES / (problem->heads * problem->queries) / MIN_BLOCK * MIN_BLOCK;
    keys = max_i64(MIN_BLOCK, min_i64(keys, MAX_BLOCK));
    if (!problem->key_is_value)
        return keys;
    /* Keys that are the values are read twice: two blocks of them should fit into a second-level cache. Blocks
     * half as large are better, if they have keys enough, since memory waits for the last one. */
    int64_t bytes = problem->key_value_heads * problem->head_dim * element_bytes(problem),
            shared = SHARED_BYTES / bytes / KEYS * KEYS;
    shared = min_i64(shared, max_i64(SHARED_KEYS, shared / 2 / KEYS * KEYS));
    return max_i64(KEYS, min_i64(keys, shared));
}

size_t ROTARY_KERNEL(rotary_attention_decode_bytes)(const rotary_attention_problem *problem)
{
    /* At least the bytes of a step with fewer queries, whose blocks have more keys. */
    int64_t scores = max_i64(SCORES, problem->heads * problem->queries * MIN_BLOCK);
    return (size_t)(scores + term_scratch(1, MAX_BLOCK, problem->head_dim)) * sizeof(float);
}

void ROTARY_KERNEL(rotary_attention_decode_queries)(const rotary_attention_problem *problem,
                                                    const rotary_attention_work *work, float *queries)
{
    int64_t group = problem->heads / problem->key_value_heads,
            width = rotary_attention_row(problem->head_dim);
    for (int64_t head = work->key_value_head * group; head < (work->key_value_head + 1) * group; head++)
        for (int64_t query = 0; query < problem->queries; query++) {
            float *row = queries + (head * problem->queries + query) * width;
            memset(row, 0, (size_t)width * sizeof *row);
            load_elements(row, vector_at(problem, problem->query, work->sequence, query, head),
                          problem->dtype, problem->head_dim);
            rotate_row(row, &problem->query_rotation, query, 1.0f);
            for (int64_t channel = 0; channel < width; channel += 2 * LANES) {
                vfloat low = v_load(row + channel) * v_set(problem->scale);
                vfloat high = v_load(row + channel + LANES) * v_set(problem->scale);
                vfloat even = v_even(low, high), odd = v_odd(low, high);
                if (arithmetic_of(problem) == IN_PAIRS)
                    even = (vfloat)v_interleave_bf16(even, odd);
                v_store(row + channel, is_deinterleaved(problem) ? even : low);
                v_store(row + channel + LANES, is_deinterleaved(problem) ? odd : high);
            }
        }
}

INLINE int bytes_of(enum arithmetic arithmetic)
{
    return arithmetic == IN_F32 ? 4 : 2;
}

/* Values that one multiplication takes. */
INLINE int values_of(enum arithmetic arithmetic)
{
    return arithmetic == IN_PAIRS ? 2 : 1;
}

/* Prefetches as many lines as two vectors of channels are, from `ahead` on: those of vector i of KEYS. */
INLINE void prefetch_channels(enum arithmetic arithmetic, const char *ahead, int i)
{
    int bytes = 2 * LANES * bytes_of(arithmetic);
#pragma GCC unroll 2
    for (int byte = i * bytes; byte < (i + 1) * bytes; byte += PREFETCH_LINE)
        if (byte % PREFETCH_LINE == 0)
            prefetch_line(ahead + byte);
}

/* Two vectors of channels, zero past `left`. f32 and f16: consecutive channels. bf16: the even channels and the odd
 * ones, which are the halves of 32-bit words and need no shuffle; IN_PAIRS: the words, in the first. Rows of
 * queries and outputs have the same layout. */
struct channels {
    vfloat low, high;
};

/* Channels of vector i of KEYS; prefetches those of a later tile. */
INLINE struct channels load_channels(enum arithmetic arithmetic, const char *const *vector, const char *ahead,
                                     int i, int64_t channel, int64_t left)
{
    const char *row = vector[i] + channel * bytes_of(arithmetic);
    struct channels part = {0};
    vint words;
    prefetch_channels(arithmetic, ahead, i);
    if (arithmetic == IN_F32) {
        const float *from = (const float *)(const void *)row;
        return (struct channels){load_columns(from, left), load_columns(from + LANES, left - LANES)};
    }
    if (left >= 2 * LANES)
        memcpy(&words, row, sizeof words);
    else
        words = v_load_part_words(row, left);
    if (arithmetic == FROM_F16) {
        v_widen_f16(words, &part.low, &part.high);
        return part;
    }
    if (arithmetic == IN_PAIRS)
        return (struct channels){.low = (vfloat)words};
    v_deinterleave_bf16(words, &part.low, &part.high);
    return part;
}

/* Does so for value i; IN_PAIRS: of values i and i + 1, i even, as pairs of their even channels and of their
 * odd ones. */
INLINE struct channels load_values(enum arithmetic arithmetic, const char *const *value, const char *ahead,
                                   int i, int64_t channel, int64_t left)
{
    struct channels one = load_channels(arithmetic, value, ahead, i, channel, left);
    if (arithmetic != IN_PAIRS)
        return one;
    vint first = (vint)one.low,
         second = (vint)load_channels(arithmetic, value, ahead, i | 1, channel, left).low;
    return (struct channels){(vfloat)v_pair_lower(first, second), (vfloat)v_pair_upper(first, second)};
}

INLINE vfloat add_product(enum arithmetic arithmetic, vfloat a, vfloat b, vfloat sum)
{
    return arithmetic == IN_PAIRS ? v_add_pairs((vint)a, (vint)b, sum) : v_fma(a, b, sum);
}

/* Adds the products of queries and keys over `left` channels from `channel` on. */
INLINE void score_channels(enum arithmetic arithmetic, int queries, int64_t width, const char *const *key,
                           const char *ahead, const float *query, vfloat sum[QUERIES][KEYS], int64_t channel,
                           int64_t left)
{
#pragma GCC unroll 4
    for (int i = 0; i < KEYS; i++) {
        struct channels k = load_channels(arithmetic, key, ahead, i, channel, left);
#pragma GCC unroll 4
        for (int q = 0; q < queries; q++) {
            const float *at = query + q * width + channel;
            sum[q][i] = add_product(arithmetic, v_load(at), k.low, sum[q][i]);
            if (arithmetic != IN_PAIRS)
                sum[q][i] = add_product(arithmetic, v_load(at + LANES), k.high, sum[q][i]);
        }
    }
}

/* Sums each vector over its lanes: row q goes to score[q * stride ...]. */
INLINE void store_sums(int queries, float *score, int64_t stride, vfloat sum[QUERIES][KEYS])
{
    vfloat rows[QUERIES];
#pragma GCC unroll 4
    for (int q = 0; q < queries; q++)
        rows[q] =
            v_sum_neighbours(v_sum_neighbours(sum[q][0], sum[q][1]), v_sum_neighbours(sum[q][2], sum[q][3]));
        /* Each 128 bits of a vector hold KEYS partial sums; adding them up leaves those of one query. */
#pragma GCC unroll 4
    for (int parts = LANES / KEYS, left = queries; parts > 1; parts /= 2, left = (left + 1) / 2)
#pragma GCC unroll 4
        for (int q = 0; q < left; q += 2)
            rows[q / 2] = v_sum_quarters(rows[q], rows[q + 1 < left ? q + 1 : q]);
#pragma GCC unroll 4
    for (int q = 0; q < queries; q++)
        memcpy(score + q * stride, (const char *)&rows[q / (LANES / KEYS)] + q % (LANES / KEYS) * 16,
               KEYS * sizeof *score);
}

INLINE void score_tile(enum arithmetic arithmetic, bool full, int queries, struct shape shape,
                       const char *const *key, const char *ahead, const float *query, float *score)
{
    vfloat sum[QUERIES][KEYS];
#pragma GCC unroll 4
    for (int q = 0; q < queries; q++)
#pragma GCC unroll 4
        for (int i = 0; i < KEYS; i++)
            sum[q][i] = (vfloat){0};
    for (int64_t channel = 0; channel < shape.dim; channel += 2 * LANES)
        score_channels(arithmetic, queries, shape.width, key, ahead + channel * shape.channel_ahead, query,
                       sum, channel, full ? 2 * LANES : shape.dim - channel);
    store_sums(queries, score, shape.columns, sum);
}

/* p in every lane, or two of bf16. */
INLINE vfloat load_p(const float *from)
{
    int32_t bits;
    memcpy(&bits, from, sizeof bits);
    return (vfloat)(bits - (vint){0});
}

INLINE void value_channels(enum arithmetic arithmetic, int queries, int64_t width, const char *const *value,
                           const char *ahead, vfloat p[QUERIES][KEYS], float *output, int64_t channel,
                           int64_t left)
{
    struct channels sum[QUERIES];
    int depth = values_of(arithmetic), products = KEYS / depth;
#pragma GCC unroll 4
    for (int q = 0; q < queries; q++) {
        const float *at = output + q * width + channel;
        sum[q] = (struct channels){v_load(at), v_load(at + LANES)};
    }
#pragma GCC unroll 4
    for (int i = 0; i < products; i++) {
        struct channels v = load_values(arithmetic, value, ahead, i * depth, channel, left);
#pragma GCC unroll 4
        for (int q = 0; q < queries; q++) {
            sum[q].low = add_product(arithmetic, p[q][i], v.low, sum[q].low);
            sum[q].high = add_product(arithmetic, p[q][i], v.high, sum[q].high);
        }
    }
#pragma GCC unroll 4
    for (int q = 0; q < queries; q++) {
        float *at = output + q * width + channel;
        v_store(at, sum[q].low);
        v_store(at + LANES, sum[q].high);
    }
}

/* outputs += p v. */
INLINE void value_tile(enum arithmetic arithmetic, bool full, int queries, struct shape shape,
                       const char *const *value, const char *ahead, const float *score, float *output)
{
    vfloat p[QUERIES][KEYS];
    int products = KEYS / values_of(arithmetic);
#pragma GCC unroll 4
    for (int q = 0; q < queries; q++)
#pragma GCC unroll 4
        for (int i = 0; i < products; i++)
            p[q][i] = load_p(score + q * shape.columns + i);
#pragma GCC unroll 1
    for (int64_t channel = 0; channel < shape.dim; channel += 2 * LANES)
        value_channels(arithmetic, queries, shape.width, value, ahead + channel * shape.channel_ahead, p,
                       output, channel, full ? 2 * LANES : shape.dim - channel);
}

/* The first of a head's queries that are in groups of `queries`: those before it are in larger groups. */
INLINE int64_t first_of(int64_t rows, int queries)
{
    return queries < QUERIES ? rows & -(2 * (int64_t)queries) : 0;
}

/* For each head, the matmul of its queries, in groups of `queries`, with KEYS keys or values. */
INLINE void matmul_heads(bool values, enum arithmetic arithmetic, bool full, int queries,
                         const struct shape *given, const char *data, const int64_t *offset,
                         const char *ahead, const float *from, float *to)
{
    const struct shape shape = *given; /* a copy, which no store can alias */
    for (int64_t head = 0; head < shape.heads; head++) {
        const char *vector[KEYS], *head_ahead = ahead + head * shape.ahead_bytes;
#pragma GCC unroll 4
        for (int i = 0; i < KEYS; i++)
            vector[i] = data + offset[i] + head * shape.head_bytes;
        for (int64_t row = first_of(shape.rows, queries); row + queries <= shape.rows; row += queries) {
            int64_t at = head * shape.rows + row;
            if (values)
                value_tile(arithmetic, full, queries, shape, vector, head_ahead, from + at * shape.columns,
                           to + at * shape.width);
            else
                score_tile(arithmetic, full, queries, shape, vector, head_ahead, from + at * shape.width,
                           to + at * shape.columns);
        }
    }
}

/* Separate functions, so that each has all registers: for QUERIES queries, half of them and one. */
#define MATMUL(name, values, arithmetic, full, queries)                                                      \
    static __attribute__((noinline)) void name(const struct shape *shape, const char *data,                  \
                                               const int64_t *offset, const char *ahead, const float *from,  \
                                               float *to)                                                    \
    {                                                                                                        \
        matmul_heads(values, arithmetic, full, queries, shape, data, offset, ahead, from, to);               \
    }
#define MATMULS(name, values, arithmetic, full)                                                              \
    MATMUL(name##_many, values, arithmetic, full, QUERIES)                                                   \
    MATMUL(name##_half, values, arithmetic, full, QUERIES / 2)                                               \
    MATMUL(name##_one, values, arithmetic, full, 1)                                                          \
    static matmul_function *const name[] = {name##_many, name##_half, name##_one};
MATMULS(score_f32, false, IN_F32, true)
MATMULS(score_f32_part, false, IN_F32, false)
MATMULS(value_f32, true, IN_F32, true)
MATMULS(value_f32_part, true, IN_F32, false)
MATMULS(score_f16, false, FROM_F16, true)
MATMULS(score_f16_part, false, FROM_F16, false)
MATMULS(value_f16, true, FROM_F16, true)
MATMULS(value_f16_part, true, FROM_F16, false)
MATMULS(score_bf16, false, OF_BF16, true)
MATMULS(score_bf16_part, false, OF_BF16, false)
MATMULS(value_bf16, true, OF_BF16, true)
MATMULS(value_bf16_part, true, OF_BF16, false)
#undef MATMULS
#undef MATMUL

/* By element type, and by whether a head is full pairs of vectors. */
static matmul_function *const *const score_functions[][2] = {
    [ROTARY_F32] = {score_f32_part, score_f32},
    [ROTARY_F16] = {score_f16_part, score_f16},
    [ROTARY_BF16] = {score_bf16_part, score_bf16},
};
static matmul_function *const *const value_functions[][2] = {
    [ROTARY_F32] = {value_f32_part, value_f32},
    [ROTARY_F16] = {value_f16_part, value_f16},
    [ROTARY_BF16] = {value_bf16_part, value_bf16},
};

/* The keys or values read `ahead` keys later, in this block or in the one read after it. */
static const char *ahead_of(const struct decoding *decoding, bool values, const struct block *block,
                            int64_t at)
{
    bool inside = at + block->ahead < block->padded;
    int64_t row = at + block->ahead - (inside || values ? 0 : block->padded);
    return inside == values ? decoding->value.data + block->value[row] : decoding->key.data + block->key[row];
}

static bool is_first_block(const struct decoding *decoding, const struct block *block)
{
    return block->first == decoding->work->key_begin;
}

/* Keys that are values are in a cache when they are read, because both passes over a block prefetch one half of
 * the next block, each tile half a tile: so memory is read all the time. The first pass over the first block
 * prefetches its own keys, so the second one prefetches all of the next block. */
static const char *next_block(const struct decoding *decoding, bool values, const struct block *block,
                              int64_t at)
{
    int64_t first = is_first_block(decoding, block) ? at : (at + (values ? block->padded : 0)) / 2;
    int64_t key = min_i64(block->first + block->count + first, decoding->work->key_end - 1);
    return decoding->key.data + key_row(decoding->problem, key) * decoding->key.row;
}

/* All heads of a block of keys or values, in memory order. */
static void matmul_block(const struct decoding *decoding, bool values, const struct block *block)
{
    const struct stream *stream = values ? &decoding->value : &decoding->key;
    const int64_t *offset = values ? block->value : block->key;
    const bool by_block = decoding->problem->key_is_value && (values || !is_first_block(decoding, block)),
               half = by_block && !is_first_block(decoding, block);
    int64_t heads = decoding->problem->key_value_heads, rows = decoding->rows;
    const struct shape shape = {
        .dim = decoding->problem->head_dim,
        .width = decoding->width,
        .columns = decoding->columns,
        .rows = rows,
        .heads = stream->by_token ? heads : 1,
        .head_bytes = stream->head,
        .ahead_bytes = stream->by_token && stream->chunk > 0 ? stream->chunk / (half ? 2 : 1) : stream->head,
        .channel_ahead = KEYS * bytes_of(decoding->arithmetic) / (half ? 2 : 1),
    };
    for (int64_t head = 0; head < heads; head += shape.heads) {
        const char *data = stream->data + head * stream->head;
        float *score = decoding->score + head * rows * decoding->columns;
        for (int64_t at = 0; at < block->padded; at += KEYS) {
            const char *ahead = data + offset[at];
            if (stream->chunk > 0 && by_block) {
                ahead = next_block(decoding, values, block, at) + head * shape.ahead_bytes;
                prefetch_pages(ahead, KEYS * stream->row);
            } else if (stream->chunk > 0) {
                prefetch_pages(ahead, KEYS * stream->row);
                ahead = ahead_of(decoding, values, block, at) + head * shape.ahead_bytes;
            }
            for (int size = 0, queries = QUERIES; queries > 0; size++, queries /= 2) {
                if (first_of(rows, queries) + queries > rows)
                    continue;
                if (values)
                    decoding->value_matmuls[size](&shape, data, offset + at, ahead,
                                                  score + at / values_of(decoding->arithmetic),
                                                  decoding->output + head * rows * decoding->width);
                else
                    decoding->score_matmuls[size](&shape, data, offset + at, ahead,
                                                  decoding->query + head * rows * decoding->width,
                                                  score + at);
            }
        }
    }
}

static struct stream stream_of(const rotary_attention_problem *problem, const rotary_attention_work *work,
                               rotary_attention_const_view view)
{
    int64_t size = element_bytes(problem);
    struct stream stream = {
        .data = vector_at(problem, view, work->sequence, 0, 0),
        /* The stride of a single entry may be anything. */
        .row = problem->ring_capacity > 1 ? view.time_stride * size : 0,
        .head = problem->key_value_heads > 1 ? view.head_stride * size : 0,
    };
    stream.by_token = stream.head <= stream.row;
    stream.chunk = KEYS * stream.row / (stream.by_token ? problem->key_value_heads : 1);
    if (stream.chunk > 2 * KEYS * problem->head_dim * size)
        stream.chunk = 0;
    return stream;
}

static void find_rows(const struct decoding *decoding, struct block *block)
{
    int64_t last = decoding->work->key_end - 1;
    int64_t ahead = round_up(PREFETCH_BYTES / max_i64(decoding->key.row, 1), KEYS);
    block->count = min_i64(decoding->keys, last + 1 - block->first);
    block->padded = round_up(block->count, KEYS);
    block->ahead = max_i64(KEYS, min_i64(ahead, MAX_AHEAD));
    for (int64_t at = 0; at < block->padded + block->ahead; at++) {
        int64_t row = key_row(decoding->problem, min_i64(block->first + at, last));
        block->key[at] = row * decoding->key.row;
        block->value[at] = row * decoding->value.row;
    }
}

/* The tile of a row of scores. */
static struct rotary_attention_tile tile_of_row(const struct decoding *decoding, const struct block *block,
                                                int64_t row, int64_t columns)
{
    const rotary_attention_problem *problem = decoding->problem;
    return (struct rotary_attention_tile){
        .sequence = decoding->work->sequence,
        .head = row / problem->queries,
        .query = row % problem->queries,
        .queries = 1,
        .key = block->first,
        .keys = block->count,
        .rows = 1,
        .columns = columns,
    };
}

/* The sum of the score terms of a row. */
static const float *row_terms(const struct decoding *decoding, const struct block *block, int64_t row,
                              int64_t columns)
{
    struct rotary_attention_tile tile = tile_of_row(decoding, block, row, columns);
    return term_scores(decoding->problem, &tile, decoding->term).from;
}

/* Adds the value term's vectors to a row of output, in the row's layout, from p. */
static void add_value_term(const struct decoding *decoding, const struct block *block, int64_t row,
                           const float *p)
{
    const rotary_attention_problem *problem = decoding->problem;
    struct rotary_attention_tile tile = tile_of_row(decoding, block, row, block->count);
    float sums[ROTARY_ATTENTION_MAX_HEAD_DIM] = {0}, *output = decoding->output + row * decoding->width;
    problem->value_term->add_output(problem, &tile, p, decoding->columns, sums, decoding->term);
    for (int64_t channel = 0; channel < decoding->width; channel += 2 * LANES) {
        vfloat low = v_load(sums + channel), high = v_load(sums + channel + LANES);
        vfloat even = v_even(low, high), odd = v_odd(low, high);
        v_store(output + channel, v_load(output + channel) + (is_deinterleaved(problem) ? even : low));
        v_store(output + channel + LANES,
                v_load(output + channel + LANES) + (is_deinterleaved(problem) ? odd : high));
    }
}

/* Replaces scores by p and scales earlier sums to the new row max. */
static void exp_block(const struct decoding *decoding, const struct block *block)
{
    const rotary_attention_problem *problem = decoding->problem;
    int64_t columns = round_up(block->count, LANES);
    for (int64_t row = 0; row < problem->heads * problem->queries; row++) {
        int64_t query = row % problem->queries;
        int64_t begin = max_i64(0, first_key(problem, query) - block->first);
        int64_t end = max_i64(0, end_key(problem, query) - block->first);
        const float *bias = NULL;
        if (problem->score_terms[0])
            bias = row_terms(decoding, block, row, columns);
        float *score = decoding->score + row * decoding->columns;
        float block_max = finish_scores(score, columns, min_i64(begin, columns), min_i64(end, block->count),
                                        problem->softcap, bias);
        float factor = update_row_max(&decoding->row_max[row], block_max);
        vfloat total = exp_row(score, columns, softmax_offset_of(decoding->row_max[row]), (vfloat){0});
        decoding->sum[row] = decoding->sum[row] * factor + v_sum(total);
        float *output = decoding->output + row * decoding->width;
        for (int64_t channel = 0; channel < decoding->width && factor != 1.0f; channel += LANES)
            v_store(output + channel, v_load(output + channel) * v_set(factor));
        if (problem->value_term)
            add_value_term(decoding, block, row, score);
        if (decoding->arithmetic == IN_PAIRS)
            store_elements(score, score, ROTARY_BF16, columns);
    }
}

void ROTARY_KERNEL(rotary_attention_decode)(const rotary_attention_problem *problem,
                                            const rotary_attention_work *work, const float *queries,
                                            float *part, struct rotary_arena *scratch)
{
    int64_t rows = problem->heads * problem->queries, width = rotary_attention_row(problem->head_dim);
    bool full = problem->head_dim % (2 * LANES) == 0;
    struct decoding decoding = {
        .problem = problem,
        .work = work,
        .arithmetic = arithmetic_of(problem),
        .score_matmuls = score_functions[problem->dtype][full],
        .value_matmuls = value_functions[problem->dtype][full],
        .width = width,
        .rows = rows / problem->key_value_heads,
        .keys = block_keys(problem),
        .columns = round_up(block_keys(problem), LANES),
        .query = queries,
        .output = part,
        .row_max = part + rows * width,
        .sum = part + rows * (width + 1),
        .score = rotary_arena_push(scratch, rows * round_up(block_keys(problem), LANES), sizeof(float)),
        .term = rotary_arena_push(scratch, term_scratch(1, MAX_BLOCK, problem->head_dim), sizeof(float)),
        .key = stream_of(problem, work, problem->key),
        .value = stream_of(problem, work, problem->value),
    };
    memset(part, 0, (size_t)(rows * (width + 2)) * sizeof *part);
    for (int64_t row = 0; row < rows; row++)
        decoding.row_max[row] = -INFINITY;
    struct block block;
    for (block.first = work->key_begin; block.first < work->key_end; block.first += decoding.keys) {
        find_rows(&decoding, &block);
        matmul_block(&decoding, false, &block);
        exp_block(&decoding, &block);
        matmul_block(&decoding, true, &block);
    }
}

/* Combines a row of all parts, relative to the max of their row maxima. */
static void join_row(const rotary_attention_problem *problem, const float *parts, int64_t count, int64_t row,
                     float *to)
{
    int64_t rows = problem->heads * problem->queries, width = rotary_attention_row(problem->head_dim);
    int64_t stride = rotary_attention_part(problem);
    float max = -INFINITY, total = 0;
    for (int64_t at = 0; at < count; at++) {
        float row_max = parts[at * stride + rows * width + row];
        max = row_max > max ? row_max : max;
    }
    float softmax_offset = max == -INFINITY ? 0.0f : max;
    memset(to, 0, (size_t)width * sizeof *to);
    for (int64_t at = 0; at < count; at++) {
        const float *part = parts + at * stride, *from = part + row * width;
        float factor = expf(part[rows * width + row] - softmax_offset);
        total += part[rows * (width + 1) + row] * factor;
        for (int64_t channel = 0; channel < width; channel += LANES) {
            __builtin_prefetch(from + PARTS_AHEAD * stride + channel);
            v_store(to + channel, v_fma(v_load(from + channel), v_set(factor), v_load(to + channel)));
        }
    }
    float share = 1.0f; /* of the keys */
    if (problem->sinks)
        share = add_sink(problem->sinks[row / problem->queries], max, total).keys;
    vfloat inverse = v_set(total == 0 ? 0.0f : share / total); /* a sum that is NaN stays NaN */
    for (int64_t channel = 0; channel < width; channel += 2 * LANES) {
        vfloat low = v_load(to + channel) * inverse, high = v_load(to + channel + LANES) * inverse;
        v_store(to + channel, is_deinterleaved(problem) ? v_zip_low(low, high) : low);
        v_store(to + channel + LANES, is_deinterleaved(problem) ? v_zip_high(low, high) : high);
    }
}

void ROTARY_KERNEL(rotary_attention_decode_join)(const rotary_attention_problem *problem,
                                                 const rotary_attention_work *work, const float *parts,
                                                 int64_t count)
{
    float row[ROTARY_ATTENTION_MAX_HEAD_DIM];
    int64_t group = problem->heads / problem->key_value_heads;
    for (int64_t head = work->key_value_head * group; head < (work->key_value_head + 1) * group; head++)
        for (int64_t query = 0; query < problem->queries; query++) {
            join_row(problem, parts, count, head * problem->queries + query, row);
            clear_other_channels(problem, row);
            rotate_row(row, &problem->output_rotation, query, -1.0f);
            store_elements(mutable_vector_at(problem, problem->output, work->sequence, query, head), row,
                           problem->dtype, problem->head_dim);
        }
}
