/* SPDX-License-Identifier: Apache-2.0
 *
 * The contract between attention on a device and its kernels (attention_*.cu). All pointers are of the device.
 * The formulas are those of kernel/attention/attention_kernels.h.
 *
 * A pass first writes the rotated vectors of all tokens as rows of `width` channels, without gaps, the rotation
 * applied and what is no channel or no key zero (packed rows). Its tiles are read from there. A cache holds
 * rotated vectors, and is read where it is.
 *
 * Every sum is made by one thread, or by lanes of a warp, in an order that the problem alone decides, so
 * results have the same bits each time.
 */
#ifndef ROTARY_CUDA_ATTENTION_ATTENTION_PROBLEM_H
#define ROTARY_CUDA_ATTENTION_ATTENTION_PROBLEM_H

#include <rotary/attention.h>

enum {
    CUDA_ATTENTION_MAX_WIDTH = 128, /* channels of a head; heads are 32, 64 or 128 wide within */
    CUDA_ATTENTION_PAD = 128        /* rows of zeros after the last token, of which tiles may read some */
};

/* Rows of cosines and sines, row_stride apart. The token at place i of a tensor [batch, tokens], which is at position p, has row
 * rows[i], or p - origin where there are no such rows. */
struct cuda_attention_rotation {
    const float *cosine, *sine; /* [rows, pairs] each; NULL: no rotation */
    const int32_t *rows;
    int64_t origin, row_stride;
    int32_t start, pairs;
    bool interleaved;
};

struct cuda_attention_dropout {
    uint64_t seed;
    uint32_t threshold; /* 0: no dropout */
    float scale;
    int64_t first_sequence;
};

/* Packed rows [heads, tokens of the batch + CUDA_ATTENTION_PAD, width], of the tensors' type. */
struct cuda_attention_packed {
    void *query, *key, *value, *output_gradient;
};

struct cuda_attention {
    rotary_attention_shape shape; /* of the tensors */
    int64_t heads, key_value_heads, head_dim;
    int64_t width; /* head_dim, rounded up to 32, 64 or 128 */
    int64_t window;
    float scale, softcap;
    bool bf16, causal;
    /* Values are the rotated keys: packed.value is packed.key, and key_gradient the gradient of both. */
    bool key_is_value;
    int64_t value_begin, value_end; /* the channels of outputs and their gradients that are not 0 */
    /* The sequences of a call: those of the batch, or packed ones. */
    int64_t sequences;
    int64_t longest_queries, longest_keys;    /* of a sequence */
    const int32_t *query_starts, *key_starts; /* [sequences + 1]; NULL: not packed */
    const int64_t *key_lengths;               /* [batch]; NULL: all keys */
    /* Decoding: sequence b has lengths[b] tokens in its cache before the step, and new_keys more. */
    const int64_t *lengths; /* NULL: not decoding */
    int64_t new_keys, capacity;
    rotary_attention_const_view query, key, value, saved_output, output_gradient;
    rotary_attention_view output, query_gradient, key_gradient, value_gradient;
    struct cuda_attention_packed packed;
    struct cuda_attention_rotation query_rotation, output_rotation, key_rotation, value_rotation;
    rotary_attention_bias bias;
    rotary_attention_distance_bias distance_bias;
    rotary_attention_piecewise_bias piecewise_bias;
    rotary_attention_distance_vectors distance_keys, distance_queries, distance_values;
    const float *query_bias;
    struct cuda_attention_dropout dropout;
    const float *sinks;
    float *log_sum_exp; /* [batch, heads, queries], read by the backward pass; NULL: not wanted */
    float *delta;       /* likewise, dout . out */
    /* The backward pass writes here, for vectors by distance, what is not rotated of the gradients of queries and keys,
     * packed rows in f32. NULL: nothing is. */
    float *unrotated_query, *unrotated_key;
    float *query_bias_gradient, *sinks_gradient; /* NULL: not wanted */
};

#endif
