/* SPDX-License-Identifier: Apache-2.0
 *
 * Rotary position embeddings (RoPE; Su et al., "RoFormer", arXiv 2104.09864): plans, tables, rotation.
 *
 * A vector of head_dim channels is turned, pair by pair, by the angle position * inverse_frequency[pair]:
 *
 *     half-split pairs (i, i + rotary_dim/2)      interleaved pairs (2i, 2i+1)
 *     c c c c s s s s . .                         c s c s c s c s . .        '.' outside the rotary span
 *
 * A plan is immutable once made and may be shared by any number of threads.
 */
#ifndef ROTARY_ROPE_H
#define ROTARY_ROPE_H

#include <rotary/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rotary_rope rotary_rope;

typedef enum rotary_pairing {
    ROTARY_PAIRING_HALF = 0,        /* GPT-NeoX, Hugging Face */
    ROTARY_PAIRING_INTERLEAVED = 1, /* the RoFormer paper, Meta's Llama, GPT-J */
} rotary_pairing;

typedef struct rotary_rope_config {
    size_t struct_size;   /* sizeof(rotary_rope_config), set by rotary_rope_config_default */
    int64_t head_dim;     /* channels of a head */
    int64_t rotary_dim;   /* channels that turn: even, 2 ... head_dim; 0 means head_dim */
    int64_t rotary_start; /* the first channel that turns; 0 is the front of the head */
    rotary_pairing pairing;
    double base;     /* rope_theta; 10000 */
    bool angles_f32; /* compute angles in f32, as checkpoints trained that way did; default false: double */
    int64_t table_positions; /* positions 0 ... table_positions - 1 have their cosines and sines ready; others
                                are computed when asked for */
    int threads;             /* 0: all processors */
    rotary_isa isa;
} rotary_rope_config;

ROTARY_API void rotary_rope_config_default(rotary_rope_config *config);
ROTARY_API ROTARY_CHECKED rotary_status rotary_rope_create(rotary_rope **rope,
                                                           const rotary_rope_config *config,
                                                           rotary_error *error);
ROTARY_API void rotary_rope_destroy(rotary_rope *rope);

/* Where tokens stand. Zeroed, it means 0, 1, 2, ... in every sequence.
 *
 * A token's position is the entry of `array` for it, or, without an array, its place in its sequence; plus
 * `offset`; plus the entry of `offsets` for its sequence. */
typedef enum rotary_position_type {
    ROTARY_POSITION_I64 = 0,
    ROTARY_POSITION_I32 = 1,
    ROTARY_POSITION_F32 = 2, /* need not be whole numbers */
} rotary_position_type;

typedef struct rotary_rope_positions {
    int64_t offset;
    const int64_t *offsets; /* [batch], or [sequences] if sequences are packed; NULL: none */
    const void *array;      /* [batch, time], or [time] with batch_stride 0; NULL: tokens are counted */
    rotary_position_type array_type;
    int64_t array_batch_stride; /* elements from a sequence's positions to the next one's */
    /* Sequences packed one behind another into a batch of one: sequence s is tokens starts[s] ... starts[s +
     * 1] - 1 (cu_seqlens). starts[0] is 0, starts[sequences] is time. NULL: not packed. */
    const int32_t *starts;
    int64_t sequences;
} rotary_rope_positions;

typedef enum rotary_direction {
    ROTARY_FORWARD = 0,
    ROTARY_INVERSE = 1,   /* undoes FORWARD, magnitudes too */
    ROTARY_TRANSPOSE = 2, /* what a gradient needs; the same as INVERSE if there are no magnitudes */
} rotary_direction;

/* [batch, time, heads, head_dim]. Strides count elements and may have any order and sign; channels are
 * contiguous. */
typedef struct rotary_rope_view {
    void *data;
    rotary_dtype dtype;
    int64_t batch_stride, time_stride, head_stride;
} rotary_rope_view;

typedef struct rotary_rope_const_view {
    const void *data;
    rotary_dtype dtype;
    int64_t batch_stride, time_stride, head_stride;
} rotary_rope_const_view;

typedef struct rotary_rope_tensor {
    int64_t heads;
    rotary_rope_const_view input;
    /* The same data, type and strides as input turn it in place; otherwise they may not overlap, and what
     * lies outside the rotary span is copied. */
    rotary_rope_view output;
} rotary_rope_tensor;

/* Zeroed but for what is needed. Each of query, key and value is turned unless its input.data is NULL; a
 * tensor that is none of them may stand in any place. Values are turned without magnitudes (attention
 * factor). */
typedef struct rotary_rope_apply_call {
    int64_t batch, time;
    rotary_direction direction;
    rotary_rope_positions positions;
    rotary_rope_tensor query, key, value;
} rotary_rope_apply_call;

/* Turns every pair (x0, x1) of every head of the token at position p by the angle a = p *
 * inverse_frequency[pair]:
 *
 *     y0 = x0 cos(a) - x1 sin(a)
 *     y1 = x0 sin(a) + x1 cos(a)
 *
 * Computed in f32 whatever the types. The error of y0 is at most 4u (|x0 cos(a)| + |x1 sin(a)|) + e (|x0| +
 * |x1|), that of y1 likewise, plus one rounding to the output's type; u = 2^-24, e = |a| 2^-51 for the angle
 * computed in double. (With bf16 output and AMX or AVX512-BF16 instructions, results below 2^-126 may become
 * 0.)
 *
 * ROTARY_INVALID_ARGUMENT if a shape, stride, type or position is wrong; nothing has been written then. */
ROTARY_API ROTARY_CHECKED rotary_status rotary_rope_apply(const rotary_rope *rope,
                                                          const rotary_rope_apply_call *call,
                                                          rotary_error *error);

#ifdef __cplusplus
}
#endif
#endif
