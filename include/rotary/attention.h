/* SPDX-License-Identifier: Apache-2.0
 *
 * Scaled dot-product attention with rotary positions fused in: forward, backward, and decoding over a cache.
 *
 *     score(m, n) = cap(scale * (R_m q_m) . (R_n k_n)) + bias(m, n)      cap(x) = softcap * tanh(x / softcap)
 *     output(m)   = U_m^-1 sum_n softmax_n(score(m, n)) U_n v_n
 *
 * R is the rotation of `rope` (RoPE), U that of `value_rope` (RoPER: rotary values, Harik and Jayasiri 2022);
 * each is left out where its plan is NULL. No T x T matrix is ever stored: scores live in tiles, the softmax
 * is computed online (Milakov and Gimelshein 2018; Dao et al. 2022), and the backward pass makes the scores
 * again from the saved log-sum-exp.
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

typedef struct rotary_attention_config {
    size_t struct_size; /* set by rotary_attention_config_default */
    int64_t heads;      /* query heads */
    int64_t
        key_value_heads; /* divides heads; query head h reads key-value head h / (heads / key_value_heads) */
    int64_t head_dim;
    rotary_dtype dtype;            /* of query, key, value, output and their gradients: f32 or bf16 */
    float scale;                   /* 0 means 1 / sqrt(head_dim) */
    bool causal;                   /* a query sees keys at its own position and before */
    int64_t window;                /* with causal: the last `window` positions only; 0 means all */
    float softcap;                 /* of the scaled product; 0 means none */
    const rotary_rope *rope;       /* borrowed; NULL: queries and keys are not turned */
    const rotary_rope *value_rope; /* borrowed; NULL: values are not turned */
    int threads;                   /* at most 1024; 0: all processors */
    rotary_isa isa;
} rotary_attention_config;

/* A tensor [batch, time, heads, head_dim] whose channels are contiguous; strides count elements, so that a
 * slice of a fused query-key-value projection is a view like any other. None is below 0; that of an input may
 * be 0, which repeats it, and those of an output nest, as rotary_rope_view's. */
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
ROTARY_API ROTARY_CHECKED rotary_status rotary_attention_create(rotary_attention **attention,
                                                                const rotary_attention_config *config,
                                                                rotary_error *error);
ROTARY_API void rotary_attention_destroy(rotary_attention *attention);

/* Sizes of one call. Keys stand at positions first_key ... first_key + keys - 1, queries likewise. */
typedef struct rotary_attention_shape {
    int64_t batch, queries, keys;
    int64_t first_query, first_key;
} rotary_attention_shape;

/* Bytes of scratch memory the calls need for `shape`; forward, backward. Any 64-byte aligned block will do,
 * and nothing is kept in it between calls. */
ROTARY_API size_t rotary_attention_forward_bytes(const rotary_attention *attention,
                                                 rotary_attention_shape shape);
ROTARY_API size_t rotary_attention_backward_bytes(const rotary_attention *attention,
                                                  rotary_attention_shape shape);

/* What is added to the scores after scale and soft cap, in f32 whatever the tensors are: [batch, heads,
 * queries, keys], keys contiguous. Strides count elements; 0 has all sequences, heads or queries share.
 * -infinity, or anything from -1e30 down, hides a key from a query, which a mask of bools therefore becomes
 * as 0 and -infinity; other entries are below 1e30. A query from which everything is hidden has output 0,
 * log-sum-exp -infinity, and sends no gradient. What is hidden, be it by a bias, by causal or by window, must
 * be finite all the same: 0 times NaN is NaN. */
typedef struct rotary_attention_bias {
    const float *data; /* NULL: none */
    int64_t batch_stride, head_stride, query_stride;
} rotary_attention_bias;

/* Sequences of many lengths laid end to end in a batch of one, [1, total, heads, head_dim], which never see
 * each other: sequence s has the queries query_starts[s] up to, without, query_starts[s + 1], and keys
 * likewise (cu_seqlens). In every sequence the first query stands at position first_query of the shape, the
 * first key at first_key. A bias is [1, heads, all queries, all keys]. */
typedef struct rotary_attention_packed_sequences {
    /* [sequences + 1]; the first is 0, the last queries or keys of the shape. key_starts NULL: those of the
     * queries. query_starts NULL: not packed. */
    const int32_t *query_starts, *key_starts;
    int64_t sequences;
} rotary_attention_packed_sequences;

/* As forward_bytes and backward_bytes, for packed calls. */
ROTARY_API size_t rotary_attention_packed_sequences_forward_bytes(
    const rotary_attention *attention, rotary_attention_shape shape,
    const rotary_attention_packed_sequences *packed_sequences);
ROTARY_API size_t rotary_attention_packed_sequences_backward_bytes(
    const rotary_attention *attention, rotary_attention_shape shape,
    const rotary_attention_packed_sequences *packed_sequences);

/* If causal, keys and values behind the last query are not looked at and may be anything. */
typedef struct rotary_attention_forward_call {
    size_t struct_size; /* sizeof(rotary_attention_forward_call) */
    rotary_attention_shape shape;
    rotary_attention_const_view query, key, value; /* as projected: not turned */
    rotary_attention_view output;                  /* may not overlap the inputs */
    float *log_sum_exp; /* [batch, heads, queries]; NULL if no backward pass will follow */
    void *workspace;
    rotary_attention_bias bias;
    rotary_attention_packed_sequences packed_sequences;
} rotary_attention_forward_call;

ROTARY_API ROTARY_CHECKED rotary_status rotary_attention_forward(const rotary_attention *attention,
                                                                 const rotary_attention_forward_call *call,
                                                                 rotary_error *error);

typedef struct rotary_attention_backward_call {
    size_t struct_size; /* sizeof(rotary_attention_backward_call) */
    rotary_attention_shape shape;
    rotary_attention_const_view query, key, value, output, output_gradient;
    const float *log_sum_exp; /* from the forward pass */
    rotary_attention_view query_gradient, key_gradient,
        value_gradient; /* overwritten; may not overlap the inputs */
    void *workspace;
    rotary_attention_bias bias; /* as in the forward pass; it gets no gradient */
    rotary_attention_packed_sequences packed_sequences;
} rotary_attention_backward_call;

ROTARY_API ROTARY_CHECKED rotary_status rotary_attention_backward(const rotary_attention *attention,
                                                                  const rotary_attention_backward_call *call,
                                                                  rotary_error *error);

/* One step of decoding: `shape.queries` new tokens a sequence, the first at position lengths[b] of sequence
 * b. Their keys and values are turned and appended to the caches, then attended to with everything before
 * them (without causal, new tokens see those behind them too). A cache is [batch, capacity, key_value_heads,
 * head_dim] and holds keys and values turned; position p stands in row p % capacity, so that with a window a
 * capacity of window + queries - 1 is enough (a ring). Rows that hold no token, or one before the window of
 * the first new token, are not looked at and may hold anything. lengths is not changed. */
typedef struct rotary_attention_decode_call {
    size_t struct_size; /* sizeof(rotary_attention_decode_call) */
    int64_t batch, queries, capacity;
    const int64_t *lengths; /* [batch]: tokens already in the cache */
    rotary_attention_const_view query, key, value;
    rotary_attention_view key_cache, value_cache, output; /* may not overlap the inputs or each other */
    void *workspace;                                      /* rotary_attention_decode_bytes */
    rotary_attention_bias bias; /* [batch, heads, queries, positions]: that of a key is at its position */
} rotary_attention_decode_call;

ROTARY_API size_t rotary_attention_decode_bytes(const rotary_attention *attention, int64_t batch,
                                                int64_t queries, int64_t capacity);
ROTARY_API ROTARY_CHECKED rotary_status rotary_attention_decode(const rotary_attention *attention,
                                                                const rotary_attention_decode_call *call,
                                                                rotary_error *error);

#ifdef __cplusplus
}
#endif
#endif
