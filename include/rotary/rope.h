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

/* Structs that a function takes by pointer begin with struct_size, their sizeof where the caller was
 * compiled, so that they can grow at the end (docs/abi.md). A call is zeroed but for what is needed:
 *
 *     rotary_rope_apply_call call = {.struct_size = sizeof call, .batch = 1, .time = 3};
 *
 * Every function that takes one refuses a size that is none or more than it knows. */
typedef struct rotary_rope rotary_rope;

typedef enum rotary_pairing {
    ROTARY_PAIRING_HALF = 0,        /* GPT-NeoX, Hugging Face */
    ROTARY_PAIRING_INTERLEAVED = 1, /* the RoFormer paper, Meta's Llama, GPT-J */
} rotary_pairing;

/* How inverse frequencies differ from base^(-2i / rotary_dim). s is `factor`, L0 `original_positions`. */
typedef enum rotary_scaling {
    ROTARY_SCALING_NONE = 0,
    ROTARY_SCALING_LINEAR = 1,      /* position interpolation: divided by s (Chen et al., arXiv 2306.15595) */
    ROTARY_SCALING_NTK = 2,         /* base s^(d / (d - 2)) (bloc97, 2023) */
    ROTARY_SCALING_DYNAMIC_NTK = 3, /* base (s L/L0 - (s - 1))^(d / (d - 2)), L = max(sequence_length, L0) */
    ROTARY_SCALING_YARN = 4,        /* Peng et al., arXiv 2309.00071 */
    ROTARY_SCALING_LONGROPE = 5,    /* divided by a list of factors (Ding et al., arXiv 2402.13753) */
    ROTARY_SCALING_LLAMA3 = 6,      /* long wavelengths divided by s, short ones not, a ramp between */
    ROTARY_SCALING_PROPORTIONAL = 7, /* p-RoPE: pairs below rotary_fraction of them turn, the others do not */
} rotary_scaling;

/* Implementations whose reading of a variant differs; docs/variants.md says where and how. The default
 * follows the paper or the repository that defined the variant. */
typedef enum rotary_compat {
    ROTARY_COMPAT_NONE = 0,
    ROTARY_COMPAT_HUGGINGFACE = 1,
    ROTARY_COMPAT_GGML = 2,
    ROTARY_COMPAT_VLLM = 3,
} rotary_compat;

enum { ROTARY_MAX_AXES = 4 };

/* How pairs are shared out among the axes of a position (text has one; an image has rows and columns).
 * sections[a] pairs belong to axis a. */
typedef enum rotary_axes {
    ROTARY_AXES_ONE = 0,         /* every pair turns by the one position */
    ROTARY_AXES_SECTIONS = 1,    /* M-RoPE: one section behind another, frequencies as without sections */
    ROTARY_AXES_INTERLEAVED = 2, /* M-RoPE with three axes in turn, t h w t h w ..., then t */
    ROTARY_AXES_SEPARATE = 3, /* axial, vision: one behind another, frequencies begin again in each section */
} rotary_axes;

/* Numbers that are 0 where 0 makes no sense mean "as the formula has it". Lists are read while the plan is
 * made and not kept. */
typedef struct rotary_rope_config {
    size_t struct_size;   /* sizeof(rotary_rope_config), set by rotary_rope_config_default */
    int64_t head_dim;     /* channels of a head */
    int64_t rotary_dim;   /* channels that turn: even, 2 ... head_dim; 0 means head_dim */
    int64_t rotary_start; /* the first channel that turns; 0 is the front of the head */
    rotary_pairing pairing;
    double base;     /* rope_theta; 10000 */
    bool angles_f32; /* compute angles in f32, as checkpoints trained that way did; default false: double */
    int64_t table_positions; /* positions 0 ... table_positions - 1 have their cosines and sines ready (2048
                                by default); others are computed when asked for */
    int threads;             /* at most 1024; 0: all processors */
    rotary_isa isa;

    rotary_scaling scaling;
    rotary_compat compat;
    double factor;              /* s; 0: max_positions / original_positions */
    int64_t original_positions; /* L0, the context before scaling; 0: max_positions */
    int64_t max_positions;      /* the context after scaling; 0: unknown */
    int64_t sequence_length;    /* dynamic NTK, LongRoPE: the length the plan is to serve; 0: at most L0 */
    double attention_factor;    /* multiplies cosine and sine; 0: by the variant's formula, else 1 */
    /* YaRN: pairs that turn more than beta_fast times (32) within L0 keep their frequency, those that turn
     * less than beta_slow times (1) have it divided by s. */
    double beta_fast, beta_slow;
    double mscale, mscale_all_dim; /* YaRN as DeepSeek has it; 0: not used */
    bool truncate;                 /* YaRN: the ramp begins and ends at whole pairs; default true */
    double low_frequency_factor, high_frequency_factor; /* Llama 3: 1, 4 */
    /* LongRoPE: [rotary_dim / 2] each; the long ones if sequence_length > L0. */
    const double *short_factors, *long_factors;
    double rotary_fraction; /* proportional: above 0, at most 1 */
    /* [rotary_dim / 2]: frequencies are divided by these at last. NULL: none. */
    const double *pair_factors;
    /* [rotary_dim / 2]: take the place of the formula (learned or pixel frequencies). NULL: none. */
    const double *inverse_frequencies;
    /* xPos (Sun et al., arXiv 2212.10554): queries times zeta^((p - origin) / xpos_scale), keys divided by
     * it, zeta = (2i + 0.4 d) / (1.4 d). 512 is usual; 0: none. The origin is fixed, so that keys in a cache
     * stay right while the sequence grows. */
    double xpos_scale, xpos_origin;
    rotary_axes axes;
    int64_t sections[ROTARY_MAX_AXES]; /* pairs of each axis; together rotary_dim / 2 */
    /* Cosines and sines are rounded to this, as implementations that keep 16-bit tables do; default f32. */
    rotary_dtype table_dtype;
    /* LongRoPE: in place of attention_factor, one for each list (Phi-3.5-MoE's mscale); 0: attention_factor.
     */
    double short_attention_factor, long_attention_factor;
} rotary_rope_config;

/* Fills the first struct_size bytes of a configuration with defaults: as many as the caller was compiled
 * with, so that a library whose struct has grown writes no further. */
ROTARY_API void rotary_rope_config_default_sized(rotary_rope_config *config, size_t struct_size);
static inline void rotary_rope_config_default(rotary_rope_config *config)
{
    rotary_rope_config_default_sized(config, sizeof *config);
}
/* ROTARY_INVALID_ARGUMENT for a configuration that makes no sense, ROTARY_UNSUPPORTED for an instruction set
 * this machine does not have, ROTARY_OUT_OF_MEMORY. *rope is written on success only; destroy it with
 * rotary_rope_destroy. */
ROTARY_API ROTARY_CHECKED rotary_status rotary_rope_create(rotary_rope **rope,
                                                           const rotary_rope_config *config,
                                                           rotary_error *error);
ROTARY_API void rotary_rope_destroy(rotary_rope *rope); /* NULL is allowed */

/* What a plan came to. The list has rotary_rope_pairs entries, in radians a position, and lives as long as
 * the plan. */
ROTARY_API int64_t rotary_rope_pairs(const rotary_rope *rope);
ROTARY_API const double *rotary_rope_inverse_frequencies(const rotary_rope *rope);
/* What cosines and sines of queries and keys are multiplied by: 1 but for YaRN and LongRoPE. */
ROTARY_API double rotary_rope_attention_factor(const rotary_rope *rope);
/* What a model with these frequencies multiplies its softmax scale by, beside the attention factor: 1 but for
 * YaRN with mscale_all_dim (DeepSeek). The library never applies it. */
ROTARY_API double rotary_rope_softmax_factor(const rotary_rope *rope);
/* How many numbers a position has: 1 but for plans with sections. */
ROTARY_API int rotary_rope_axes(const rotary_rope *rope);
/* The axis that `pair`, 0 ... pairs - 1, turns by. */
ROTARY_API int rotary_rope_axis(const rotary_rope *rope, int64_t pair);

/* Where tokens stand. Zeroed, it means 0, 1, 2, ... in every sequence.
 *
 * A token's position is the entry of `array` for it, or, without an array, its place in its sequence; plus
 * `offset`; plus the entry of `offsets` for its sequence. With several axes, that holds for each. */
typedef enum rotary_position_type {
    ROTARY_POSITION_I64 = 0,
    ROTARY_POSITION_I32 = 1,
    ROTARY_POSITION_F32 = 2, /* need not be whole numbers */
} rotary_position_type;

typedef struct rotary_rope_positions {
    int64_t offset;
    const int64_t *offsets; /* [batch], or [sequences] if sequences are packed; NULL: none */
    const void *array;      /* [axes, batch, time]; NULL: tokens are counted */
    rotary_position_type array_type;
    int64_t
        array_batch_stride; /* elements from a sequence's positions to the next one's; 0: all have the same */
    int64_t array_axis_stride; /* elements from an axis to the next; 0: all axes have the same positions */
    /* Sequences packed one behind another into a batch of one: sequence s is tokens starts[s] up to, without,
     * starts[s + 1] (cu_seqlens). starts[0] is 0, starts[sequences] is time. NULL: not packed. */
    const int32_t *starts;
    int64_t sequences;
} rotary_rope_positions;

typedef enum rotary_direction {
    ROTARY_FORWARD = 0,
    ROTARY_INVERSE = 1,   /* undoes FORWARD, magnitudes too */
    ROTARY_TRANSPOSE = 2, /* what a gradient needs; the same as INVERSE if there are no magnitudes */
} rotary_direction;

/* [batch, time, heads, head_dim]. Strides count elements and may have any order and sign, that of an axis
 * with one entry any value; channels are contiguous. Those of an output nest: each steps over all that
 * smaller ones reach. */
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

/* Cosines and sines of the caller's own, in place of the plan's. All of query, key and value turn by them as
 * they are. */
typedef struct rotary_rope_tables {
    const void *cosine,
        *sine; /* [rows, pairs], looked up by position; or [batch, time, pairs]. NULL: the plan's */
    rotary_dtype dtype;
    bool per_token;       /* the second form; positions are not looked at */
    int64_t rows;         /* of the first form; a position that is not one of 0 ... rows - 1 is refused */
    int64_t row_stride;   /* elements; 0: pairs */
    int64_t batch_stride; /* elements; of the second form; 0: all sequences have the same */
} rotary_rope_tables;

/* Zeroed but for struct_size and what is needed. Each of query, key and value is turned unless its input.data
 * is NULL; a tensor that is none of them may stand in any place. Values are turned without magnitudes
 * (attention factor, xPos). */
typedef struct rotary_rope_apply_call {
    size_t struct_size; /* sizeof(rotary_rope_apply_call) */
    int64_t batch, time;
    rotary_direction direction;
    rotary_rope_positions positions;
    rotary_rope_tables tables;
    rotary_rope_tensor query, key, value;
} rotary_rope_apply_call;

/* Turns every pair (x0, x1) of every head of the token at position p by the angle a = p *
 * inverse_frequency[pair]:
 *
 *     y0 = x0 cos(a) - x1 sin(a)
 *     y1 = x0 sin(a) + x1 cos(a)
 *
 * and both by a magnitude m where the variant has one. Computed in f32 whatever the types: the error of y0 is
 * at most m k u (|x0 cos(a)| + |x1 sin(a)|) + m e (|x0| + |x1|), that of y1 likewise, plus one rounding to
 * the output's type. u = 2^-24; k = 4, or 6 with a magnitude; e = |a| 2^-50, for the angle is computed in
 * double. (With bf16 output and AVX512-BF16 instructions, results below 2^-126 may become 0.)
 *
 * ROTARY_INVALID_ARGUMENT if a shape, stride, type or position is wrong; nothing has been written then. */
ROTARY_API ROTARY_CHECKED rotary_status rotary_rope_apply(const rotary_rope *rope,
                                                          const rotary_rope_apply_call *call,
                                                          rotary_error *error);

/* A cache whose first tokens are dropped, or into which another is put, holds tokens that now stand `shift`
 * positions further on (back, if negative). Keys and values that are cached turned are turned on by as much.
 * With several axes all shift alike. */
typedef struct rotary_rope_shift_call {
    size_t struct_size; /* sizeof(rotary_rope_shift_call) */
    int64_t batch, time;
    int64_t shift;
    const int64_t *shifts; /* [batch], added to shift; NULL: none */
    rotary_rope_tensor key, value;
} rotary_rope_shift_call;

/* Exact but for rounding, once each time, which in 16 bits adds up: a pair that would turn by less than half
 * a unit in the last place stays where it was, however often. Shift seldom, and far. (Plans with f32 angles
 * or 16-bit tables round each position for itself, so that a shifted cache is not quite what turning at the
 * new position would give.) Errors as rotary_rope_apply. */
ROTARY_API ROTARY_CHECKED rotary_status rotary_rope_shift(const rotary_rope *rope,
                                                          const rotary_rope_shift_call *call,
                                                          rotary_error *error);

/* Keys and values that were turned by one plan become what another plan would have made of them: after the
 * scaling changed (dynamic NTK, LongRoPE), or the attention factor. Both plans turn the same channels. To get
 * them back as they were before turning, rotary_rope_apply in direction ROTARY_INVERSE. */
typedef struct rotary_rope_rebase_call {
    size_t struct_size; /* sizeof(rotary_rope_rebase_call) */
    int64_t batch, time;
    rotary_rope_positions positions; /* where the tokens stand */
    rotary_rope_tensor key, value;
} rotary_rope_rebase_call;

ROTARY_API ROTARY_CHECKED rotary_status rotary_rope_rebase(const rotary_rope *from, const rotary_rope *to,
                                                           const rotary_rope_rebase_call *call,
                                                           rotary_error *error);

/* Gradients for those who learn frequencies or positions. (The gradient of the input is rotary_rope_apply to
 * the gradient of the output in direction ROTARY_TRANSPOSE.) */
typedef struct rotary_rope_gradient_tensor {
    int64_t heads;
    rotary_rope_const_view input, output_gradient; /* input.data NULL: absent */
} rotary_rope_gradient_tensor;

typedef struct rotary_rope_gradient_call {
    size_t struct_size; /* sizeof(rotary_rope_gradient_call) */
    int64_t batch, time;
    rotary_rope_positions positions;
    rotary_rope_gradient_tensor query, key, value; /* of the forward call */
    /* [pairs], of the inverse frequencies as the plan has them; added to. NULL: not wanted. */
    double *frequency_gradient;
    double *position_gradient; /* [axes, batch, time], written. NULL: not wanted */
} rotary_rope_gradient_call;

ROTARY_API ROTARY_CHECKED rotary_status rotary_rope_gradient(const rotary_rope *rope,
                                                             const rotary_rope_gradient_call *call,
                                                             rotary_error *error);

/* Moves the rows of a query or key projection so that weights trained with one pairing work with the other.
 * Within each head, rows inside the plan's rotary span move, the others stay. Values are not turned by RoPE
 * and stay as they are; with RoPER, move the value projection's rows and the output projection's columns too.
 */
typedef struct rotary_rope_permute_call {
    size_t struct_size; /* sizeof(rotary_rope_permute_call) */
    int64_t heads;
    size_t row_bytes;  /* of one output channel: inputs * element size for weights, element size for biases */
    const void *input; /* [heads * head_dim, row_bytes] */
    void *output;      /* likewise; may not overlap input */
    rotary_pairing from, to;
} rotary_rope_permute_call;

ROTARY_API ROTARY_CHECKED rotary_status rotary_rope_permute(const rotary_rope *rope,
                                                            const rotary_rope_permute_call *call,
                                                            rotary_error *error);

/* Which pairing a query and a key projection were trained in. Permuting weights of the wrong one spoils them,
 * and nothing in a file says which they have; nor do the weights themselves before training, when their rows
 * are as good as drawn by lot. But training leaves a mark. The scores do not change when both query rows of a
 * pair are multiplied by a number and both key rows divided by it, so gradient descent conserves
 *
 *     |query row a|^2 - |key row a|^2 + |query row b|^2 - |key row b|^2     for the rows a, b of a pair
 *
 * (the argument is that of Du, Hu and Lee, arXiv 1806.00900, for rotations), up to step size, weight decay
 * and what Adam makes of it, while it moves the rows one by one. So ln(|query row|^2 / |key row|^2)
 * is anticorrelated between the two members of true pairs, and between other channels it is not. */
typedef struct rotary_rope_projection {
    int64_t heads;
    const void *weight;  /* [heads, head_dim, inputs], as trained */
    int64_t head_stride; /* elements from a head's first row to the next one's; 0: head_dim * inputs */
    const void *bias;    /* [heads, head_dim], of the same type; NULL: none */
    int64_t bias_stride; /* elements from a head's to the next one's; 0: head_dim */
    rotary_dtype dtype;
} rotary_rope_projection;

typedef struct rotary_rope_detect_call {
    size_t struct_size; /* sizeof(rotary_rope_detect_call) */
    int64_t inputs;
    rotary_rope_projection query, key; /* of one layer; query heads a multiple of key heads */
} rotary_rope_detect_call;

/* Sums, to which each layer adds; those of two may be added member by member. Zeroed but for struct_size, it
 * is no evidence. Entries are by rotary_pairing. */
typedef struct rotary_rope_evidence {
    size_t struct_size;                  /* sizeof(rotary_rope_evidence) */
    int64_t heads, pairs;                /* of keys, looked at; heads with rows of zeros are not */
    double products[2];                  /* of the standardised imbalances of a pair's rows */
    double random_mean, random_variance; /* of products for random pairs */
    double contrasts[2], contrast_squares[2], contrast_lags[2]; /* products less those of pairs beside */
} rotary_rope_evidence;

typedef enum rotary_detected {
    ROTARY_DETECTED_NOTHING = 0, /* it cannot be known from this evidence */
    ROTARY_DETECTED_HALF = 1,
    ROTARY_DETECTED_INTERLEAVED = 2,
} rotary_detected;

typedef struct rotary_rope_finding {
    size_t struct_size; /* sizeof(rotary_rope_finding), set by the caller */
    rotary_detected verdict;
    /* By rotary_pairing: the correlation within pairs, which is below 0 for the pairing of the training; by
     * how many standard deviations it lies below that of random pairs; below that of the nearest wrong pairs;
     * and how often one of both would lie so low by chance. */
    double correlation[2], score[2], contrast[2], chance[2];
} rotary_rope_finding;

/* Adds a layer to the evidence. The plan says where in a head the pairs are; its pairing and frequencies are
 * not looked at. A span of fewer than two pairs has one pairing alone and adds nothing.
 *
 * ROTARY_INVALID_ARGUMENT for sizes that make no sense and for weights that are not finite,
 * ROTARY_OUT_OF_MEMORY; the evidence is as it was then. Sums are double. */
ROTARY_API ROTARY_CHECKED rotary_status rotary_rope_detect(const rotary_rope *rope,
                                                           const rotary_rope_detect_call *call,
                                                           rotary_rope_evidence *evidence,
                                                           rotary_error *error);
/* What the evidence comes to. A pairing is named if its chance is below 1 in 1000, its contrast above 1.645,
 * and the same does not hold for the other one. ROTARY_INVALID_ARGUMENT for a struct_size that is none. */
ROTARY_API ROTARY_CHECKED rotary_status rotary_rope_judge(const rotary_rope_evidence *evidence,
                                                          rotary_rope_finding *finding, rotary_error *error);

#ifdef __cplusplus
}
#endif
#endif
