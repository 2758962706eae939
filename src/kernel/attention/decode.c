/* SPDX-License-Identifier: Apache-2.0
 *
 * Decoding with few queries. Reading the cache is what takes the time, so keys and values are read once, as
 * they lie, in the order they lie in: all heads of a token before the next token where a token's heads lie
 * side by side. Some keys at a time meet all queries, so that each vector loaded is used by every query that
 * shares it.
 */
#include "kernel/attention/tile.h"
#include "kernel/attention/variants.h"

/* One function for each case, but under AddressSanitizer: what that adds to one so large takes the compiler
 * minutes. */
#if defined(__SANITIZE_ADDRESS__)
#define INLINE static inline
#else
#define INLINE static inline __attribute__((always_inline))
#endif

/* Keys that are met together, and queries that meet them: their products stay in registers. A block of scores
 * holds up to SCORES for all queries, and no fewer than LEAST_BLOCK keys. */
enum { KEYS = 4, SCORES = 8192, LEAST_BLOCK = 32, MOST_BLOCK = 512 };
#if LANES == 16 || defined(__aarch64__)
enum { QUERIES = 4 };
#else
enum { QUERIES = 2 };
#endif
_Static_assert(LEAST_BLOCK % LANES == 0 && LEAST_BLOCK % KEYS == 0, "a block is whole vectors");

/* Bytes from what is met to what is asked of memory meanwhile, for the first-level cache; and to pages of
 * which one line is asked for, so that their places in memory are known when the others are. */
enum { AHEAD_BYTES = 8192, MOST_AHEAD = 64, PAGES_AHEAD_BYTES = 32768, CACHE_LINE = 64, PAGE = 4096 };
/* Parts from the one that is joined to the one that is asked for. */
enum { PARTS_AHEAD = 4 };

/* How numbers of the cache are multiplied: in f32; widened to f32; as pairs of bf16, and then queries and
 * weights are rounded to bf16 too. */
#if defined(__AVX512BF16__)
enum arithmetic { IN_F32, WIDENED, IN_PAIRS, OF_BF16 = IN_PAIRS };
#else
enum arithmetic { IN_F32, WIDENED, IN_PAIRS, OF_BF16 = WIDENED };
#endif

static enum arithmetic arithmetic_of(const rotary_attention_problem *problem)
{
    return problem->bf16 ? OF_BF16 : IN_F32;
}

/* A block of keys: where they, and `ahead` keys behind them, stand in their view. */
struct block {
    int64_t first, count, padded, ahead; /* padded to KEYS by the last key of the piece */
    int64_t row[MOST_BLOCK + MOST_AHEAD];
};

/* Keys or values of the sequence; strides in bytes. */
struct stream {
    const char *data;
    int64_t row, head;
    bool by_token; /* all heads of a token before the next token */
    int64_t chunk; /* what KEYS keys of a head take in it; 0 where too much of it is something else */
};

struct work {
    const rotary_attention_problem *problem;
    const rotary_attention_piece *piece;
    int64_t width, rows, columns; /* of a query, queries of a key-value head, keys of a whole block */
    const float *query;
    float *output, *maximum, *sum, *score;
    struct stream key, value;
};

static int64_t block_keys(const rotary_attention_problem *problem)
{
    int64_t keys = SCORES / (problem->heads * problem->queries) / LEAST_BLOCK * LEAST_BLOCK;
    return larger(LEAST_BLOCK, smaller(keys, MOST_BLOCK));
}

size_t ROTARY_KERNEL(rotary_attention_decode_bytes)(const rotary_attention_problem *problem)
{
    /* No less than fewer queries take, whose blocks have more keys. */
    return (size_t)larger(SCORES, problem->heads * problem->queries * LEAST_BLOCK) * sizeof(float);
}

void ROTARY_KERNEL(rotary_attention_decode_queries)(const rotary_attention_problem *problem,
                                                    const rotary_attention_piece *piece, float *queries)
{
    int64_t group = problem->heads / problem->key_value_heads,
            width = rotary_attention_row(problem->head_dim);
    for (int64_t head = piece->key_value_head * group; head < (piece->key_value_head + 1) * group; head++)
        for (int64_t query = 0; query < problem->queries; query++) {
            float *row = queries + (head * problem->queries + query) * width;
            memset(row, 0, (size_t)width * sizeof *row);
            load_row(row, vector_at(problem, problem->query, piece->sequence, query, head), problem->bf16,
                     problem->head_dim);
            turn_row(row, &problem->query_turn, query, 1.0f);
            for (int64_t channel = 0; channel < width; channel += 2 * LANES) {
                vfloat low = v_load(row + channel) * v_set(problem->scale);
                vfloat high = v_load(row + channel + LANES) * v_set(problem->scale);
                vfloat even = v_even(low, high), odd = v_odd(low, high);
                if (arithmetic_of(problem) == IN_PAIRS)
                    even = (vfloat)v_zip_bf16(even, odd);
                v_store(row + channel, problem->bf16 ? even : low);
                v_store(row + channel + LANES, problem->bf16 ? odd : high);
            }
        }
}

/* A tile of work: `queries` queries, at most QUERIES, meet KEYS keys or values. Rows of scores are `stride`
 * apart. */
struct tile {
    int queries;
    enum arithmetic arithmetic;
    bool whole; /* head_dim is whole pairs of vectors */
    int64_t dim, width, stride;
    const char *vector[KEYS];
    const char *ahead; /* as many bytes as the vectors have: asked of memory while they are met */
};

INLINE int bytes_of(enum arithmetic arithmetic)
{
    return arithmetic == IN_F32 ? 4 : 2;
}

/* Asks for as many lines as a key's two vectors of channels are. */
INLINE void ask_ahead(struct tile tile, int key, int64_t channel)
{
    int bytes = 2 * LANES * bytes_of(tile.arithmetic);
    const char *from = tile.ahead + KEYS * channel * bytes_of(tile.arithmetic);
#pragma GCC unroll 2
    for (int byte = key * bytes; byte < (key + 1) * bytes; byte += CACHE_LINE)
        if (byte % CACHE_LINE == 0)
            __builtin_prefetch(from + byte, 0, 3);
}

/* Two vectors of channels, zero where `left` ends: of f32 one behind the other; of bf16 the even ones and the
 * odd ones, which are the halves of 32-bit words and need no shuffling, or, as factors of pairs, the words in
 * the first. Rows of queries and outputs are laid out likewise. */
struct channels {
    vfloat low, high;
};

INLINE struct channels load_channels(struct tile tile, int key, int64_t channel, int64_t left)
{
    const char *row = tile.vector[key] + channel * bytes_of(tile.arithmetic);
    struct channels part = {0};
    vint words;
    ask_ahead(tile, key, channel);
    if (tile.arithmetic == IN_F32) {
        const float *from = (const float *)(const void *)row;
        return (struct channels){load_columns(from, left), load_columns(from + LANES, left - LANES)};
    }
    if (left >= 2 * LANES)
        memcpy(&words, row, sizeof words);
    else
        words = v_load_part_words(row, left);
    if (tile.arithmetic == IN_PAIRS)
        return (struct channels){.low = (vfloat)words};
    v_part_bf16(words, &part.low, &part.high);
    return part;
}

/* The same of a value, or, as factors of pairs, of two, the first of an even number: their even channels and
 * their odd ones. */
INLINE struct channels load_values(struct tile tile, int key, int64_t channel, int64_t left)
{
    struct channels value = load_channels(tile, key, channel, left);
    if (tile.arithmetic != IN_PAIRS)
        return value;
    vint first = (vint)value.low, second = (vint)load_channels(tile, key | 1, channel, left).low;
    return (struct channels){(vfloat)v_pair_lower(first, second), (vfloat)v_pair_upper(first, second)};
}

INLINE vfloat add_product(enum arithmetic arithmetic, vfloat a, vfloat b, vfloat sum)
{
    return arithmetic == IN_PAIRS ? v_add_pairs((vint)a, (vint)b, sum) : v_fma(a, b, sum);
}

/* Adds the products of `left` channels of queries and keys, from `channel` on. */
INLINE void score_channels(struct tile tile, const float *query, vfloat sum[QUERIES][KEYS], int64_t channel,
                           int64_t left)
{
#pragma GCC unroll 4
    for (int i = 0; i < KEYS; i++) {
        struct channels k = load_channels(tile, i, channel, left);
#pragma GCC unroll 4
        for (int q = 0; q < tile.queries; q++) {
            const float *at = query + q * tile.width + channel;
            sum[q][i] = add_product(tile.arithmetic, v_load(at), k.low, sum[q][i]);
            if (tile.arithmetic != IN_PAIRS)
                sum[q][i] = add_product(tile.arithmetic, v_load(at + LANES), k.high, sum[q][i]);
        }
    }
}

/* Sums of lanes: those of row q go to score[q * stride ...]. */
INLINE void store_sums(struct tile tile, float *score, vfloat sum[QUERIES][KEYS])
{
    vfloat rows[QUERIES];
#pragma GCC unroll 4
    for (int q = 0; q < tile.queries; q++)
        rows[q] =
            v_sum_neighbours(v_sum_neighbours(sum[q][0], sum[q][1]), v_sum_neighbours(sum[q][2], sum[q][3]));
        /* Each quarter of a vector has KEYS sums of a part of the lanes; they become those of one query. */
#pragma GCC unroll 4
    for (int parts = LANES / KEYS, left = tile.queries; parts > 1; parts /= 2, left = (left + 1) / 2)
#pragma GCC unroll 4
        for (int q = 0; q < left; q += 2)
            rows[q / 2] = v_sum_quarters(rows[q], rows[q + 1 < left ? q + 1 : q]);
#pragma GCC unroll 4
    for (int q = 0; q < tile.queries; q++)
        memcpy(score + q * tile.stride, (const char *)&rows[q / (LANES / KEYS)] + q % (LANES / KEYS) * 16,
               KEYS * sizeof *score);
}

INLINE void score_tile(struct tile tile, const float *query, float *score)
{
    vfloat sum[QUERIES][KEYS];
    int64_t channel = 0;
#pragma GCC unroll 4
    for (int q = 0; q < tile.queries; q++)
#pragma GCC unroll 4
        for (int i = 0; i < KEYS; i++)
            sum[q][i] = (vfloat){0};
    do {
        score_channels(tile, query, sum, channel, tile.whole ? 2 * LANES : tile.dim - channel);
        channel += 2 * LANES;
    } while (channel < tile.dim);
    store_sums(tile, score, sum);
}

/* Values that a product takes at once. */
INLINE int values_of(enum arithmetic arithmetic)
{
    return arithmetic == IN_PAIRS ? 2 : 1;
}

/* Adds the weighted values to outputs. */
INLINE void value_channels(struct tile tile, vfloat weight[QUERIES][KEYS], float *output, int64_t channel,
                           int64_t left)
{
    struct channels sum[QUERIES];
    int depth = values_of(tile.arithmetic), products = KEYS / depth;
#pragma GCC unroll 4
    for (int q = 0; q < tile.queries; q++) {
        const float *at = output + q * tile.width + channel;
        sum[q] = (struct channels){v_load(at), v_load(at + LANES)};
    }
#pragma GCC unroll 4
    for (int i = 0; i < products; i++) {
        struct channels v = load_values(tile, i * depth, channel, left);
#pragma GCC unroll 4
        for (int q = 0; q < tile.queries; q++) {
            sum[q].low = add_product(tile.arithmetic, weight[q][i], v.low, sum[q].low);
            sum[q].high = add_product(tile.arithmetic, weight[q][i], v.high, sum[q].high);
        }
    }
#pragma GCC unroll 4
    for (int q = 0; q < tile.queries; q++) {
        float *at = output + q * tile.width + channel;
        v_store(at, sum[q].low);
        v_store(at + LANES, sum[q].high);
    }
}

/* A weight in every lane, or two of bf16. */
INLINE vfloat load_weight(const float *from)
{
    int32_t bits;
    memcpy(&bits, from, sizeof bits);
    return (vfloat)(bits - (vint){0});
}

INLINE void value_tile(struct tile tile, const float *score, float *output)
{
    vfloat weight[QUERIES][KEYS];
    int products = KEYS / values_of(tile.arithmetic);
#pragma GCC unroll 4
    for (int q = 0; q < tile.queries; q++)
#pragma GCC unroll 4
        for (int i = 0; i < products; i++)
            weight[q][i] = load_weight(score + q * tile.stride + i);
    for (int64_t channel = 0; channel < tile.dim; channel += 2 * LANES)
        value_channels(tile, weight, output, channel, tile.whole ? 2 * LANES : tile.dim - channel);
}

/* What will be met some keys later, in this block or in what is read after it. */
INLINE const char *ahead_of(const struct work *work, bool values, const struct block *block, int64_t at)
{
    bool inside = at + block->ahead < block->padded;
    const struct stream *stream = inside == values ? &work->value : &work->key;
    int64_t row = block->row[at + block->ahead - (inside || values ? 0 : block->padded)];
    return stream->data + row * stream->row;
}

INLINE void look_up_pages(const struct stream *stream, const char *from)
{
    for (int64_t byte = 0; byte < KEYS * stream->row; byte += PAGE)
        __builtin_prefetch(from + PAGES_AHEAD_BYTES + byte, 0, 2);
}

INLINE void meet_tile(const struct work *work, bool values, struct tile tile, int64_t row, int64_t at)
{
    float *score = work->score + row * work->columns;
    if (values)
        value_tile(tile, score + at / values_of(tile.arithmetic), work->output + row * work->width);
    else
        score_tile(tile, work->query + row * work->width, score + at);
}

/* The queries of one key-value head meet KEYS keys, or their values, of a block from `at` on. */
INLINE void meet(const struct work *work, bool values, struct tile tile, int64_t head, int64_t at)
{
    int64_t row = head * work->rows, left = work->rows;
    tile.queries = QUERIES;
    for (; left >= QUERIES; left -= QUERIES, row += QUERIES)
        meet_tile(work, values, tile, row, at);
    tile.queries = QUERIES / 2;
    for (; left >= QUERIES / 2; left -= QUERIES / 2, row += QUERIES / 2)
        meet_tile(work, values, tile, row, at);
    tile.queries = 1;
    for (; QUERIES > 2 && left > 0; left--, row++)
        meet_tile(work, values, tile, row, at);
}

/* All heads of a block of keys or values, in the order in which they lie. */
INLINE void meet_block(const struct work *work, bool values, enum arithmetic arithmetic, bool whole,
                       const struct block *block)
{
    const struct stream *stream = values ? &work->value : &work->key;
    int64_t heads = work->problem->key_value_heads, together = stream->by_token ? heads : 1;
    int64_t step = stream->by_token ? stream->chunk : stream->head;
    struct tile tile = {.arithmetic = arithmetic,
                        .whole = whole,
                        .dim = work->problem->head_dim,
                        .width = work->width,
                        .stride = work->columns};
    for (int64_t first = 0; first < heads; first += together)
        for (int64_t at = 0; at < block->padded; at += KEYS) {
            const char *ahead = ahead_of(work, values, block, at), *vector[KEYS];
#pragma GCC unroll 4
            for (int i = 0; i < KEYS; i++)
                vector[i] = stream->data + block->row[at + i] * stream->row;
            look_up_pages(stream, vector[0] + first * stream->head);
            for (int64_t head = first; head < first + together; head++) {
#pragma GCC unroll 4
                for (int i = 0; i < KEYS; i++)
                    tile.vector[i] = vector[i] + head * stream->head;
                tile.ahead = stream->chunk > 0 ? ahead + head * step : tile.vector[0];
                meet(work, values, tile, head, at);
            }
        }
}

static struct stream stream_of(const rotary_attention_problem *problem, const rotary_attention_piece *piece,
                               rotary_attention_const_view view)
{
    int64_t size = problem->bf16 ? 2 : 4;
    struct stream stream = {
        .data = vector_at(problem, view, piece->sequence, 0, 0),
        /* Where there is one entry, a stride may be anything. */
        .row = problem->ring > 1 ? view.time_stride * size : 0,
        .head = problem->key_value_heads > 1 ? view.head_stride * size : 0,
    };
    stream.by_token = stream.head <= stream.row;
    stream.chunk = KEYS * stream.row / (stream.by_token ? problem->key_value_heads : 1);
    if (stream.chunk > 2 * KEYS * problem->head_dim * size)
        stream.chunk = 0;
    return stream;
}

static void find_rows(const struct work *work, struct block *block)
{
    int64_t last = work->piece->key_end - 1;
    int64_t ahead = round_up(AHEAD_BYTES / larger(work->key.row, 1), KEYS);
    block->count = smaller(work->columns, last + 1 - block->first);
    block->padded = round_up(block->count, KEYS);
    block->ahead = larger(KEYS, smaller(ahead, MOST_AHEAD));
    for (int64_t at = 0; at < block->padded + block->ahead; at++)
        block->row[at] = key_row(work->problem, smaller(block->first + at, last));
}

/* Scores become weights, and sums so far are scaled to go with them. */
static void weigh_block(const struct work *work, enum arithmetic arithmetic, const struct block *block)
{
    const rotary_attention_problem *problem = work->problem;
    int64_t columns = round_up(block->count, LANES);
    for (int64_t row = 0; row < problem->heads * problem->queries; row++) {
        int64_t query = row % problem->queries;
        int64_t begin = larger(0, first_key(problem, query) - block->first);
        int64_t end = larger(0, end_key(problem, query) - block->first);
        const float *bias = bias_of(problem, work->piece->sequence, row / problem->queries);
        if (bias)
            bias += query * problem->bias.query_stride + block->first;
        float *score = work->score + row * work->columns;
        float largest = largest_score(score, columns, smaller(begin, columns), smaller(end, block->count),
                                      problem->softcap, bias);
        float factor = raise_maximum(&work->maximum[row], largest);
        vfloat total = weigh_row(score, columns, reference_of(work->maximum[row]), (vfloat){0});
        work->sum[row] = work->sum[row] * factor + v_sum(total);
        if (arithmetic == IN_PAIRS)
            store_row(score, score, true, columns);
        float *output = work->output + row * work->width;
        for (int64_t channel = 0; channel < work->width && factor != 1.0f; channel += LANES)
            v_store(output + channel, v_load(output + channel) * v_set(factor));
    }
}

INLINE void decode(const struct work *work, enum arithmetic arithmetic, bool whole)
{
    struct block block;
    for (block.first = work->piece->key_begin; block.first < work->piece->key_end;
         block.first += work->columns) {
        find_rows(work, &block);
        meet_block(work, false, arithmetic, whole, &block);
        weigh_block(work, arithmetic, &block);
        meet_block(work, true, arithmetic, whole, &block);
    }
}

void ROTARY_KERNEL(rotary_attention_decode)(const rotary_attention_problem *problem,
                                            const rotary_attention_piece *piece, const float *queries,
                                            float *part, void *scratch)
{
    int64_t rows = problem->heads * problem->queries, width = rotary_attention_row(problem->head_dim);
    struct work work = {
        .problem = problem,
        .piece = piece,
        .width = width,
        .rows = rows / problem->key_value_heads,
        .columns = block_keys(problem),
        .query = queries,
        .output = part,
        .maximum = part + rows * width,
        .sum = part + rows * (width + 1),
        .score = scratch,
        .key = stream_of(problem, piece, problem->key),
        .value = stream_of(problem, piece, problem->value),
    };
    memset(part, 0, (size_t)(rows * (width + 2)) * sizeof *part);
    for (int64_t row = 0; row < rows; row++)
        work.maximum[row] = -INFINITY;
    bool whole = problem->head_dim % (2 * LANES) == 0;
    if (problem->bf16 && whole)
        decode(&work, OF_BF16, true);
    else if (problem->bf16)
        decode(&work, OF_BF16, false);
    else if (whole)
        decode(&work, IN_F32, true);
    else
        decode(&work, IN_F32, false);
}

/* One row of all parts, relative to the largest score of any. */
static void join_row(const rotary_attention_problem *problem, const float *parts, int64_t count, int64_t row,
                     float *to)
{
    int64_t rows = problem->heads * problem->queries, width = rotary_attention_row(problem->head_dim);
    int64_t stride = rotary_attention_part(problem);
    float highest = -INFINITY, total = 0;
    for (int64_t at = 0; at < count; at++) {
        float maximum = parts[at * stride + rows * width + row];
        highest = maximum > highest ? maximum : highest;
    }
    float reference = highest == -INFINITY ? 0.0f : highest;
    memset(to, 0, (size_t)width * sizeof *to);
    for (int64_t at = 0; at < count; at++) {
        const float *part = parts + at * stride, *from = part + row * width;
        float factor = expf(part[rows * width + row] - reference);
        total += part[rows * (width + 1) + row] * factor;
        for (int64_t channel = 0; channel < width; channel += LANES) {
            __builtin_prefetch(from + PARTS_AHEAD * stride + channel);
            v_store(to + channel, v_fma(v_load(from + channel), v_set(factor), v_load(to + channel)));
        }
    }
    vfloat inverse = v_set(total == 0 ? 0.0f : 1 / total); /* a sum that is NaN stays NaN */
    for (int64_t channel = 0; channel < width; channel += 2 * LANES) {
        vfloat low = v_load(to + channel) * inverse, high = v_load(to + channel + LANES) * inverse;
        v_store(to + channel, problem->bf16 ? v_zip_low(low, high) : low);
        v_store(to + channel + LANES, problem->bf16 ? v_zip_high(low, high) : high);
    }
}

void ROTARY_KERNEL(rotary_attention_decode_join)(const rotary_attention_problem *problem,
                                                 const rotary_attention_piece *piece, const float *parts,
                                                 int64_t count)
{
    float row[ROTARY_ATTENTION_LARGEST_HEAD];
    int64_t group = problem->heads / problem->key_value_heads;
    for (int64_t head = piece->key_value_head * group; head < (piece->key_value_head + 1) * group; head++)
        for (int64_t query = 0; query < problem->queries; query++) {
            join_row(problem, parts, count, head * problem->queries + query, row);
            turn_row(row, &problem->output_turn, query, -1.0f);
            store_row(place_at(problem, problem->output, piece->sequence, query, head), row, problem->bf16,
                      problem->head_dim);
        }
}
