/* SPDX-License-Identifier: Apache-2.0
 *
 * Scaled dot-product attention with rotary position embeddings fused in: forward, backward, and decoding
 * with a KV cache.
 *
 *     score(m, n) = cap(scale * (R_m q_m) . (R_n k_n)) + bias(m, n) + distance_bias(n - m)
 *                   + piecewise_bias(m, n) + scale * (q_m + query_bias) . distance_keys(n - m)
 *                   + scale * k_n . distance_queries(n - m)
 *     cap(x)      = softcap * tanh(x / softcap)
 *     output(m)   = U_m^-1 sum_n p(m, n) (U_n v_n + distance_values(n - m))
 *     p(m, n)     = exp(score(m, n)) / (sum_n exp(score(m, n)) + exp(sink)), the softmax without a sink
 *
 * R is the rotation by the plan `rope` (RoPE), U that by `value_rope` (RoPER: rotary values, Harik and
 * Jayasiri 2022); without a plan there is no rotation, and none of what `rotate` leaves out. No T x T matrix is
 * stored: scores are computed in tiles with an online softmax (Milakov and Gimelshein 2018; Dao et al. 2022),
 * and the backward pass recomputes them from the saved log-sum-exp.
 *
 * Configurations and calls begin with struct_size (rotary/rope.h).
 */
#ifndef ROTARY_ATTENTION_H
#define ROTARY_ATTENTION_H

#include <rotary/rope.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rotary_attention rotary_attention;

/* What is rotated, as a set: the sum of some of these. */
typedef enum rotary_attention_rotate {
    ROTARY_ROTATE_QUERY = 1, /* R_m of q_m, by rope */
    ROTARY_ROTATE_KEY = 2,   /* R_n of k_n, by rope */
    ROTARY_ROTATE_VALUE = 4, /* U_n of v_n, by value_rope */
    ROTARY_ROTATE_OUTPUT = 8 /* U_m^-1 of the output, by value_rope */
} rotary_attention_rotate;

typedef struct rotary_attention_config {
    size_t struct_size; /* set by rotary_attention_config_default */
    int64_t heads;      /* query heads */
    /* Divides heads: query head h attends to key-value head h / (heads / key_value_heads). */
    int64_t key_value_heads;
    int64_t head_dim;
    rotary_dtype dtype;            /* of query, key, value, output and their gradients */
    float scale;                   /* 0: 1 / sqrt(head_dim) */
    bool causal;                   /* a query attends to keys at its own and earlier positions */
    int64_t window;                /* with causal: only to the last `window` of these positions; 0: to all */
    float softcap;                 /* of the scaled scores; 0: none */
    const rotary_rope *rope;       /* borrowed; NULL: queries and keys are not rotated */
    const rotary_rope *value_rope; /* borrowed; NULL: values are not rotated */
    int threads;                   /* at most 1024; 0: all processors */
    rotary_isa isa;
    /* The keys, rotated once, are the values too (DeepSeek-V4's latent): v_n is k_n, and U_n is R_n. value_rope
     * is rope, so that outputs are rotated back, or NULL: they are not. Keys must have no magnitude (xPos, or an
     * attention factor other than 1). In calls value, value_cache and value_gradient have no data: one cache
     * holds both, and key_gradient is the gradient of both. */
    bool key_is_value;
    /* With key_is_value: channels value_start ... value_start + value_channels - 1 of keys are the values, such
     * as the latent of DeepSeek-V2 without its rotated part; 0 channels: all are. With value_rope they include
     * all rotated channels or none. Other channels of outputs are 0, and of output_gradient, where they must be
     * finite, they count as 0. */
    int64_t value_start, value_channels;
    /* Which of queries, keys, values and outputs are rotated: a sum of rotary_attention_rotate. Each wants its
     * plan; a plan of which nothing is named rotates nothing. 0: all that there is a plan for. Queries must be
     * named where rope has magnitudes of its own for them (xPos, query_scale_beta). With key_is_value keys and
     * values are one, which rope rotates where either is named.
     *
     * Only where queries and keys are both named, or neither, and values and outputs likewise, does attention
     * depend on differences of positions alone. */
    unsigned rotate;
} rotary_attention_config;

/* A tensor [batch, time, heads, head_dim] whose channels are contiguous. Strides count elements and are at
 * least 0, so a slice of a fused qkv projection is a view. A stride of 0 repeats an input along that axis;
 * vectors of an output may not overlap (rotary_rope_view). */
typedef struct rotary_attention_view {
    void *data;
    int64_t batch_stride, time_stride, head_stride;
} rotary_attention_view;

typedef struct rotary_attention_const_view {
    const void *data;
    int64_t batch_stride, time_stride, head_stride;
} rotary_attention_const_view;

/* Fills the first struct_size bytes of a configuration with defaults, as rotary_rope_config_default_sized. */
ROTARY_API void rotary_attention_config_default_sized(rotary_attention_config *config, size_t struct_size);
static inline void rotary_attention_config_default(rotary_attention_config *config)
{
    rotary_attention_config_default_sized(config, sizeof *config);
}
/* Makes a plan; the caller destroys it with rotary_attention_destroy, and the plans `rope` and `value_rope`
 * only after it. *attention is written on success only. Errors as rotary_rope_create. */
ROTARY_API ROTARY_CHECKED rotary_status rotary_attention_create(rotary_attention **attention,
                                                                const rotary_attention_config *config,
                                                                rotary_error *error);
ROTARY_API void rotary_attention_destroy(rotary_attention *attention); /* NULL is allowed */

/* The sizes of one call, and the positions of its tokens: keys are at positions first_key ...
 * first_key + keys - 1, queries likewise. causal and window compare these positions. */
typedef struct rotary_attention_shape {
    int64_t batch, queries, keys;
    int64_t first_query, first_key;
} rotary_attention_shape;

/* Bytes of workspace for a call of this shape, or with fewer sequences, queries or keys from position 0 on; 0
 * for an invalid shape, SIZE_MAX for a number that a size_t cannot hold. The caller allocates it, aligned to
 * 64 bytes; nothing is kept in it between calls. */
ROTARY_API size_t rotary_attention_forward_bytes(const rotary_attention *attention,
                                                 rotary_attention_shape shape);
ROTARY_API size_t rotary_attention_backward_bytes(const rotary_attention *attention,
                                                  rotary_attention_shape shape);

/* The bias that is added to scores after scale and softcap: f32, [batch, heads, queries, keys], keys
 * contiguous. Strides count elements; a stride of 0 shares the bias among sequences, heads or queries.
 *
 * An entry of -1e30 or less, such as -infinity, masks a key for a query; other entries must be below 1e30. (A
 * mask of bools becomes 0 and -infinity.) A fully masked query has output 0, log-sum-exp -infinity and zero
 * gradients. Masked keys and values, whether by a bias, by causal or by window, must be finite, because
 * 0 times NaN is NaN. */
typedef struct rotary_attention_bias {
    const float *data; /* NULL: none */
    int64_t batch_stride, head_stride, query_stride;
} rotary_attention_bias;

/* A bias by distance, as relative attention biases are (T5, ALiBi): entry i of a head is added to the score
 * of query m and key n, at the positions of the shape, where n - m is first + i; after scale and softcap.
 * Distances beyond either end take the entry at that end, so one entry can stand for all distances from there
 * on. Entries mask as those of rotary_attention_bias do.
 *
 * Where the largest entry of a head and the vectors are small, scores stay bounded, and attention is nearly
 * as fast as without. */
typedef struct rotary_attention_distance_bias {
    const float *data;   /* f32, [heads, distances]; NULL: none */
    int64_t distances;   /* entries of a head, at least 1 */
    int64_t first;       /* the distance n - m of entry 0 */
    int64_t head_stride; /* elements; 0: all heads share the entries */
    /* The backward pass adds the gradient of each entry to this, which is laid out as data, in an order that
     * the number of threads does not change; NULL: not wanted. Other calls ignore it. */
    float *gradient;
} rotary_attention_distance_bias;

/* A bias that is a piecewise-linear function of the distance, which the query's position scales. Query m and
 * key n, at the positions of the shape, have
 *
 *     x = distance_inputs(n - m) * query_scales(m)       bias = intercepts[h][s] + slopes[h][s] * x
 *
 * in head h, where s counts the knots that are x or less: segment s is from knot s - 1 to knot s. It is added
 * after scale and softcap. FIRE (Li et al. 2024) is such a bias: its inputs are ln(1 + c |n - m|), its scales
 * 1 / ln(1 + c max(L, m)), and its network, which has one hidden layer of ReLU, is linear between the points
 * at which its units begin. T x T biases are not stored.
 *
 * distance_inputs are those of n - m = first, first + 1, ..., query_scales those of m = 0, 1, ...; beyond an
 * end the entry at that end is taken. Inputs may not rise with n - m up to distance 0, nor fall from there
 * on, and scales are above 0, so that the keys of a query fall into a few ranges, each in one segment.
 * Entries that mask (rotary_attention_bias) are not allowed.
 *
 * The backward pass adds gradients to the arrays that are not NULL, which are laid out as those they belong
 * to, in an order that the number of threads does not change; other calls ignore them. Calls with one need
 * the workspace of rotary_attention_backward_call_bytes. Knots have no gradient: where the function is
 * continuous, which segment a knot belongs to changes nothing. */
typedef struct rotary_attention_piecewise_bias {
    const float *intercepts, *slopes; /* f32, [heads, segments]; intercepts NULL: no bias */
    const float *knots;           /* f32, [segments - 1], none below the one before; shared by the heads */
    int64_t segments;             /* 1 ... 1024 */
    const float *distance_inputs; /* f32, [distances] */
    int64_t distances, first;
    const float *query_scales; /* f32, [positions] */
    int64_t positions;
    float *intercept_gradient, *slope_gradient, *input_gradient, *scale_gradient;
} rotary_attention_piecewise_bias;

/* Vectors by distance: vector i of a head, head_dim floats, is for query m and key n, at the positions of the
 * shape, where n - m is first + i. Distances beyond either end take the vector at that end, as where
 * distances are clipped.
 *
 * As distance_keys, scale * (q_m + query_bias) . vector is added to the score: a key that the distance alone
 * decides, which a query meets without its rotation (Shaw et al. 2018, a^K; Transformer-XL, Dai et al. 2019,
 * where the vectors are W_r R, the queries given q + u, and query_bias v - u; DeBERTa, He et al. 2021,
 * content to position). It is added after softcap.
 *
 * As distance_queries, scale * k_n . vector is: a query that the distance alone decides (DeBERTa, position to
 * content). Keys that are rotated before attention sees them, as in a cache, are refused.
 *
 * As distance_values, the vector is added to the rotated value (Shaw et al. 2018, a^V), before the inverse
 * rotation of the output. */
typedef struct rotary_attention_distance_vectors {
    const float *data;   /* f32, [heads, distances, head_dim], channels contiguous; NULL: none */
    int64_t distances;   /* vectors of a head, at least 1 */
    int64_t first;       /* the distance n - m of vector 0 */
    int64_t head_stride; /* elements; 0: all heads share the vectors */
    /* Elements, at least head_dim; [distances, heads, head_dim] is a view too. Less than 0: each vector lies
     * before that of the distance below it, as in tables by m - n. */
    int64_t distance_stride;
    /* The backward pass adds the gradient of each vector to this, which is laid out as data, in an order that
     * the number of threads does not change; NULL: not wanted. Other calls ignore it. */
    float *gradient;
} rotary_attention_distance_vectors;

/* Dropout of attention weights (Srivastava et al. 2014, as Vaswani et al. 2017 use it): after the softmax,
 * whose sums are those without dropout, each weight is set to 0 with this probability, and the others are
 * divided by 1 - probability. Which ones is a pure function of seed, step, site, sequence, head, query and
 * key, the same in the forward and the backward pass and for any number of threads. Queries and keys are
 * counted in their sequence; a packed sequence counts as the one whose number is the index of its first query
 * in the tensor. `site` tells layers apart. Of a part of a batch, first_sequence is the number of its first
 * sequence (packed: of its first query) in the batch: its weights are then dropped as in the batch. */
typedef struct rotary_attention_dropout {
    float probability; /* 0 ... below 1, rounded to a multiple of 2^-16; 0: none */
    uint32_t first_sequence;
    uint64_t seed;
    uint32_t step, site;
} rotary_attention_dropout;

/* Packed sequences (cu_seqlens): sequences of different lengths in one tensor [1, total, heads, head_dim].
 * Sequence s has the queries query_starts[s] ... query_starts[s + 1] - 1, keys likewise, and attends to
 * itself only. Positions begin at first_query and first_key of the shape in every sequence. A bias is
 * [1, heads, all queries, all keys]. */
typedef struct rotary_attention_packed_sequences {
    /* [sequences + 1], from 0 to the shape's queries or keys. key_starts NULL: equal to query_starts.
     * query_starts NULL: sequences are not packed. */
    const int32_t *query_starts, *key_starts;
    int64_t sequences;
} rotary_attention_packed_sequences;

/* Bytes of workspace for calls with packed sequences; 0 for invalid ones. */
ROTARY_API size_t rotary_attention_packed_sequences_forward_bytes(
    const rotary_attention *attention, rotary_attention_shape shape,
    const rotary_attention_packed_sequences *packed_sequences);
ROTARY_API size_t rotary_attention_packed_sequences_backward_bytes(
    const rotary_attention *attention, rotary_attention_shape shape,
    const rotary_attention_packed_sequences *packed_sequences);

/* Members that several calls have:
 *
 * key_lengths, [batch]: sequence b has the keys 0 ... key_lengths[b] - 1 only, 0 <= key_lengths[b] <= keys.
 * Keys and values after them are neither read nor attended to, and their gradients are 0; a query without any
 * key has output 0 and log-sum-exp -infinity. NULL: all keys. Packed sequences have starts instead.
 *
 * query_positions, [batch, queries], and key_positions, [batch, keys]: the positions of single tokens, for
 * packed sequences those of all tokens, [1, total]. They replace those of the shape in the rotation only:
 * what a query sees still follows from the shape. NULL: the positions of the shape. Rows of cosines and sines
 * in the table of a rotation's plan are used where they are, so this is fast while positions are within
 * table_positions.
 *
 * sinks, f32, [heads]: a logit of each head in the denominator of its softmax, beside the scores as they are
 * after scale, softcap and biases. Its value is 0: of a query's attention the sink takes exp(sink - log-sum-exp)
 * (Xiao et al. 2024; gpt-oss). The log-sum-exp is that of scores and sink, log(sum_n exp(score(m, n)) +
 * exp(sink)); a query without any key has output 0 and the sink as its log-sum-exp. -infinity: the head has no
 * sink. NULL: none has. */

/* With causal, keys and values at positions after the last query are not read. */
typedef struct rotary_attention_forward_call {
    size_t struct_size; /* sizeof(rotary_attention_forward_call) */
    rotary_attention_shape shape;
    rotary_attention_const_view query, key, value; /* not rotated: attention rotates them */
    rotary_attention_view output;                  /* may not overlap the inputs */
    float *log_sum_exp; /* [batch, heads, queries], for the backward pass; NULL: not wanted */
    /* rotary_attention_forward_bytes, that for packed sequences, or rotary_attention_forward_call_bytes */
    void *workspace;
    rotary_attention_bias bias;
    rotary_attention_packed_sequences packed_sequences;
    /* Keys and values are already rotated, as in a cache: queries and outputs alone are. key_positions is
     * NULL. */
    bool keys_rotated;
    const int64_t *key_lengths;
    const int32_t *query_positions, *key_positions;
    rotary_attention_distance_bias distance_bias;
    rotary_attention_dropout dropout;
    rotary_attention_distance_vectors distance_keys;
    const float *query_bias; /* f32, [heads, head_dim], with distance_keys only; NULL: none */
    rotary_attention_distance_vectors distance_queries, distance_values;
    rotary_attention_piecewise_bias piecewise_bias;
    const float *sinks;
} rotary_attention_forward_call;

/* Bytes of workspace that a call needs, whatever its members; 0 for an invalid one. Of arrays only the packed
 * sequences' starts are read, so tensors, positions and lengths need not be there yet; but a pointer to
 * positions must be NULL or not as in the call, and so those of vectors by distance, whose sizes are read,
 * and of gradients. Only calls with one of these need more than the functions above say. */
ROTARY_API size_t rotary_attention_forward_call_bytes(const rotary_attention *attention,
                                                      const rotary_attention_forward_call *call);

ROTARY_API ROTARY_CHECKED rotary_status rotary_attention_forward(const rotary_attention *attention,
                                                                 const rotary_attention_forward_call *call,
                                                                 rotary_error *error);

typedef struct rotary_attention_backward_call {
    size_t struct_size; /* sizeof(rotary_attention_backward_call) */
    rotary_attention_shape shape;
    rotary_attention_const_view query, key, value, output, output_gradient;
    const float *log_sum_exp; /* from the forward pass */
    /* Overwritten; may not overlap the inputs. */
    rotary_attention_view query_gradient, key_gradient, value_gradient;
    /* rotary_attention_backward_bytes, that for packed sequences, or rotary_attention_backward_call_bytes */
    void *workspace;
    rotary_attention_bias bias; /* as in the forward pass; its gradient is not computed */
    /* This is as in the forward pass. */
    rotary_attention_packed_sequences packed_sequences;
    const int64_t *key_lengths;
    const int32_t *query_positions, *key_positions;
    rotary_attention_distance_bias distance_bias; /* as in the forward pass */
    rotary_attention_dropout dropout;             /* as in the forward pass */
    /* These are as in the forward pass. Calls with them need the workspace of
     * rotary_attention_backward_call_bytes. */
    rotary_attention_distance_vectors distance_keys;
    const float *query_bias;
    /* The gradient of query_bias is added to this, likewise [heads, head_dim]; NULL: not wanted. */
    float *query_bias_gradient;
    rotary_attention_distance_vectors distance_queries, distance_values; /* as in the forward pass */
    rotary_attention_piecewise_bias piecewise_bias;                      /* likewise */
    const float *sinks;                                                  /* likewise */
    /* The gradient of the sinks is added to this, [heads], in an order that the number of threads does not
     * change; NULL: not wanted. */
    float *sinks_gradient;
} rotary_attention_backward_call;

/* Answers as rotary_attention_forward_call_bytes does. */
ROTARY_API size_t rotary_attention_backward_call_bytes(const rotary_attention *attention,
                                                       const rotary_attention_backward_call *call);

ROTARY_API ROTARY_CHECKED rotary_status rotary_attention_backward(const rotary_attention *attention,
                                                                  const rotary_attention_backward_call *call,
                                                                  rotary_error *error);

/* One decoding step of self-attention: `queries` new tokens per sequence, the first of sequence b at position
 * lengths[b]. Their keys and values are rotated and appended to the caches. Then they attend to all tokens in
 * the cache (without causal, new tokens also attend to later new tokens).
 *
 * A cache is [batch, capacity, key_value_heads, head_dim] and holds rotated keys and values. It is a ring
 * buffer: position p is in row p % capacity. With a window, window + queries - 1 rows are enough. Rows
 * without a token, and rows before the window of the first new token, are not read. The caller adds queries
 * to lengths afterwards.
 *
 * Cross-attention: where key.data and value.data are NULL there are no new keys and values. The queries of
 * sequence b attend to the lengths[b] tokens in its cache, which rotary_attention_append wrote, and nothing
 * is appended. All beams of a sentence are its queries. The plan must not be causal, and must be given
 * positions if it rotates. There is nothing by distance. */
typedef struct rotary_attention_decode_call {
    size_t struct_size; /* sizeof(rotary_attention_decode_call) */
    int64_t batch, queries, capacity;
    const int64_t *lengths; /* [batch]: tokens in the cache before this step */
    rotary_attention_const_view query, key, value;
    rotary_attention_view key_cache, value_cache, output; /* may not overlap the inputs or each other */
    void *workspace;                                      /* rotary_attention_decode_bytes */
    rotary_attention_bias bias; /* [batch, heads, queries, positions]: a key's entry is at its position */
    const int32_t
        *positions; /* [batch, queries]: of the new tokens, for their rotation; NULL: from lengths[b] */
    rotary_attention_distance_bias distance_bias;    /* as in the forward pass */
    rotary_attention_distance_vectors distance_keys; /* likewise */
    const float *query_bias;
    rotary_attention_distance_vectors distance_queries, distance_values;
    rotary_attention_piecewise_bias piecewise_bias;
    const float *sinks; /* as in the forward pass */
} rotary_attention_decode_call;

/* Bytes of workspace of a step, with or without new keys; it also suffices for a step with fewer queries. */
ROTARY_API size_t rotary_attention_decode_bytes(const rotary_attention *attention, int64_t batch,
                                                int64_t queries, int64_t capacity);
ROTARY_API ROTARY_CHECKED rotary_status rotary_attention_decode(const rotary_attention *attention,
                                                                const rotary_attention_decode_call *call,
                                                                rotary_error *error);

/* Rotates the keys and values of `tokens` new tokens per sequence and appends them to caches, as a decoding
 * step does, without attending: for the source of cross-attention. The caller adds tokens to lengths
 * afterwards. */
typedef struct rotary_attention_append_call {
    size_t struct_size; /* sizeof(rotary_attention_append_call) */
    int64_t batch, tokens, capacity;
    const int64_t *lengths; /* [batch]: tokens in the cache before */
    rotary_attention_const_view key, value;
    rotary_attention_view key_cache, value_cache; /* may not overlap the inputs or each other */
    const int32_t *positions; /* [batch, tokens]; NULL: sequence b's begin at lengths[b] */
    void *workspace;          /* rotary_attention_append_bytes */
} rotary_attention_append_call;

ROTARY_API size_t rotary_attention_append_bytes(const rotary_attention *attention, int64_t batch,
                                                int64_t tokens);
ROTARY_API ROTARY_CHECKED rotary_status rotary_attention_append(const rotary_attention *attention,
                                                                const rotary_attention_append_call *call,
                                                                rotary_error *error);

/* Reorders the caches of a batch in place: afterwards the cache of sequence b holds what that of source[b]
 * held before. Sources that appear several times fork; those that do not appear are dropped. Only rows that
 * hold tokens of a source are copied, and only to other sequences. The caller reorders lengths likewise. */
typedef struct rotary_attention_reorder_call {
    size_t struct_size; /* sizeof(rotary_attention_reorder_call) */
    int64_t batch, capacity;
    const int64_t *lengths; /* [batch]: tokens of each sequence before; NULL: all rows hold tokens */
    const int32_t *source;  /* [batch], each 0 ... batch - 1 */
    rotary_attention_view key_cache, value_cache;
    void *workspace; /* rotary_attention_reorder_bytes */
} rotary_attention_reorder_call;

ROTARY_API size_t rotary_attention_reorder_bytes(const rotary_attention *attention, int64_t batch);
ROTARY_API ROTARY_CHECKED rotary_status rotary_attention_reorder(const rotary_attention *attention,
                                                                 const rotary_attention_reorder_call *call,
                                                                 rotary_error *error);

/* Removes tokens from caches in place, so that decoding can go on where they are full (context shift): of
 * sequence b the tokens keep[b] ... keep[b] + discard[b] - 1. Those that follow move down by discard[b] rows,
 * and keys and values, which are stored rotated, are rotated to their new positions. Afterwards the cache is
 * what appending the tokens that are left would have made of their keys and values, but for a rounding
 * (rotary_rope_shift says how these add up). It is for tokens without positions of their own, and for caches
 * without overwritten rows: lengths[b] <= capacity. The caller subtracts discard from lengths afterwards. */
typedef struct rotary_attention_shift_call {
    size_t struct_size; /* sizeof(rotary_attention_shift_call) */
    int64_t batch, capacity;
    const int64_t *lengths, *keep, *discard; /* [batch]; keep[b] + discard[b] <= lengths[b] */
    rotary_attention_view key_cache, value_cache;
} rotary_attention_shift_call;

ROTARY_API ROTARY_CHECKED rotary_status rotary_attention_shift(const rotary_attention *attention,
                                                               const rotary_attention_shift_call *call,
                                                               rotary_error *error);

#ifdef __cplusplus
}
#endif
#endif
