/* SPDX-License-Identifier: Apache-2.0
 *
 * Rotary position embeddings (RoPE; Su et al., "RoFormer", arXiv 2104.09864): plans, tables, rotation.
 *
 * Each pair of channels of a head is rotated by the angle position * inverse_frequency[pair]. The pairs are
 *
 *     half-split: (i, i + rotary_dim / 2)         interleaved: (2i, 2i + 1)
 *     c c c c s s s s . .                         c s c s c s c s . .
 *
 * where c and s are the first and second channels of pairs and '.' are channels outside the rotary span,
 * which are not rotated. A plan is immutable and may be shared by any number of threads.
 */
#ifndef ROTARY_ROPE_H
#define ROTARY_ROPE_H

#include <rotary/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Structs that a function takes by pointer begin with struct_size, which the caller sets to their sizeof.
 * Later versions of the library can then add members at the end (docs/reference/abi.md). Members that are not needed
 * are zero:
 *
 *     rotary_rope_apply_call call = {.struct_size = sizeof call, .batch = 1, .time = 3};
 *
 * A function returns ROTARY_INVALID_ARGUMENT if struct_size was not set, is larger than the library's, or is
 * no size that a struct has, and for sizes and strides whose products overflow an int64_t. */
typedef struct rotary_rope rotary_rope;

typedef enum rotary_pairing {
    ROTARY_PAIRING_HALF = 0,        /* GPT-NeoX, Hugging Face */
    ROTARY_PAIRING_INTERLEAVED = 1, /* the RoFormer paper, Meta's Llama, GPT-J */
} rotary_pairing;

/* How inverse frequencies are scaled: without scaling they are w = base^(-2i / d), i = 0 ... d / 2 - 1. d is
 * rotary_dim, s is `factor`, L0 is `original_positions`. */
typedef enum rotary_scaling {
    ROTARY_SCALING_NONE = 0,
    ROTARY_SCALING_LINEAR = 1, /* position interpolation: w / s (Chen et al., arXiv 2306.15595) */
    ROTARY_SCALING_NTK = 2,    /* base is multiplied by s^(d / (d - 2)) (bloc97, 2023) */
    /* base is multiplied by (s L/L0 - (s - 1))^(d / (d - 2)), L = max(sequence_length, L0) */
    ROTARY_SCALING_DYNAMIC_NTK = 3,
    ROTARY_SCALING_YARN = 4,     /* Peng et al., arXiv 2309.00071 */
    ROTARY_SCALING_LONGROPE = 5, /* w / one factor per pair (Ding et al., arXiv 2402.13753) */
    ROTARY_SCALING_LLAMA3 = 6,   /* w / s for long wavelengths, w for short ones, a ramp between */
    /* p-RoPE: w for the first rotary_fraction of the pairs, 0 (no rotation) for the others */
    ROTARY_SCALING_PROPORTIONAL = 7,
} rotary_scaling;

/* Implementations differ in details of some scalings (docs/reference/variants.md). NONE follows the paper or the
 * repository that defined the scaling; the others follow the implementation they name. */
typedef enum rotary_compat {
    ROTARY_COMPAT_NONE = 0,
    ROTARY_COMPAT_HUGGINGFACE = 1,
    ROTARY_COMPAT_GGML = 2,
    ROTARY_COMPAT_VLLM = 3,
} rotary_compat;

enum { ROTARY_MAX_AXES = 4 };
/* Cosines of a table, table_positions times pairs: 1 GiB, which takes some seconds to compute. */
enum { ROTARY_ROPE_MAX_TABLE = 1 << 28 };

/* Which axis of a position rotates which pair. Positions in text have one axis; in images, for example, a
 * row and a column. sections[a] pairs belong to axis a. */
typedef enum rotary_axes {
    ROTARY_AXES_ONE = 0,         /* one axis rotates every pair */
    ROTARY_AXES_SECTIONS = 1,    /* M-RoPE: contiguous sections of pairs; frequencies as with one axis */
    ROTARY_AXES_INTERLEAVED = 2, /* M-RoPE, interleaved: pairs t h w t h w ...; pairs left over are t */
    /* vision (axial) RoPE: contiguous sections, each with the frequencies of a head of its own size */
    ROTARY_AXES_SEPARATE = 3,
} rotary_axes;

/* The configuration of a plan. For most numbers 0 selects a default, which their comment states. A setting that nothing
 * reads beside the others has its default: rotary_rope_create refuses others. Lists are read only while the plan is
 * created. */
typedef struct rotary_rope_config {
    size_t struct_size; /* sizeof(rotary_rope_config), set by rotary_rope_config_default */
    int64_t head_dim;   /* channels of a head */
    /* Channels that are rotated: even, 2 ... head_dim; 0: head_dim. Where a model's fraction of a head is 0
     * there is nothing to rotate, and no plan is wanted. */
    int64_t rotary_dim;
    int64_t rotary_start; /* the first channel that is rotated */
    rotary_pairing pairing;
    double base;     /* rope_theta; default 10000 */
    bool angles_f32; /* compute angles in f32, as many checkpoints were trained; default false: in double */
    /* Cosines and sines of positions 0 ... table_positions - 1 are computed in advance (with magnitudes also
     * multiplied by those of queries and of keys), those of other positions in each call; default 2048. With
     * pairs, at most ROTARY_ROPE_MAX_TABLE. */
    int64_t table_positions;
    int threads; /* at most 1024; 0: all processors */
    rotary_isa isa;

    rotary_scaling scaling;
    rotary_compat compat;
    double factor;              /* s; 0: max_positions / original_positions */
    int64_t original_positions; /* L0, the context length before scaling; 0: max_positions */
    int64_t max_positions;      /* the context length after scaling; 0: unknown */
    int64_t sequence_length;    /* dynamic NTK and LongRoPE: length of the sequences; 0: at most L0 */
    double attention_factor;    /* multiplies cosine and sine; 0: the scaling's formula, or 1 without one */
    /* YaRN: pairs that make more than beta_fast rotations (default 32) in L0 positions keep their frequency;
     * that of pairs that make fewer than beta_slow (default 1) is divided by s. */
    double beta_fast, beta_slow;
    double mscale, mscale_all_dim; /* DeepSeek's parameters of YaRN; 0: not used */
    bool truncate;                 /* YaRN: the ends of the ramp are rounded to whole pairs; default true */
    double low_frequency_factor, high_frequency_factor; /* Llama 3; defaults 1 and 4 */
    /* LongRoPE: [rotary_dim / 2] each. long_factors are used if sequence_length > L0. */
    const double *short_factors, *long_factors;
    double rotary_fraction; /* proportional: above 0, at most 1; otherwise 0 */
    /* [rotary_dim / 2]: divide the frequencies after scaling (rope_freqs of GGUF). NULL: none. */
    const double *pair_factors;
    /* [rotary_dim / 2]: replace base^(-2i / d), for learned or pixel frequencies. NULL: the formula. */
    const double *inverse_frequencies;
    /* xPos (Sun et al., arXiv 2212.10554): at position p queries are multiplied and keys divided by
     * zeta^((p - xpos_origin) / xpos_scale), zeta = (2i + 0.4 d) / (1.4 d). The paper's scale is 512; 0: no
     * xPos. The origin is fixed, so cached keys stay valid while the sequence grows. */
    double xpos_scale, xpos_origin;
    rotary_axes axes;
    int64_t sections[ROTARY_MAX_AXES]; /* pairs of each axis; their sum is rotary_dim / 2 */
    /* The type to which cosines and sines are rounded; default f32. For models whose code keeps 16-bit
     * tables. */
    rotary_dtype table_dtype;
    /* LongRoPE: attention_factor for short_factors and for long_factors (short_mscale and long_mscale of
     * Phi-3.5-MoE); 0: attention_factor. */
    double short_attention_factor, long_attention_factor;
    /* Queries at position p are multiplied by 1 + beta ln(1 + floor((p + offset) / length)) (Llama 4, Ministral
     * 3), those at positions below -offset by 1; keys and values are not. A beta of 0, the default: no scale.
     * It wants one axis, and a rotation of the complete head. */
    double query_scale_beta, query_scale_length, query_scale_offset;
} rotary_rope_config;

/* Fills the first struct_size bytes of a configuration with defaults. The inline function below passes the
 * size that the caller was compiled with, so a newer library writes no more than that. */
ROTARY_API void rotary_rope_config_default_sized(rotary_rope_config *config, size_t struct_size);
static inline void rotary_rope_config_default(rotary_rope_config *config)
{
    rotary_rope_config_default_sized(config, sizeof *config);
}
/* Gives the settings that nothing reads beside the others their defaults, such as the factor of a file without a scaling:
 * for configurations that are put together from what others say. Of the first struct_size bytes, likewise. */
ROTARY_API void rotary_rope_config_drop_unread_sized(rotary_rope_config *config, size_t struct_size);
static inline void rotary_rope_config_drop_unread(rotary_rope_config *config)
{
    rotary_rope_config_drop_unread_sized(config, sizeof *config);
}
/* Makes a plan; the caller destroys it with rotary_rope_destroy. *rope is written on success only. Errors:
 * ROTARY_INVALID_ARGUMENT for an invalid configuration, or one with a setting that nothing reads (a factor without a
 * scaling, beta_fast without YaRN); ROTARY_UNSUPPORTED for an instruction set that this machine cannot run;
 * ROTARY_OUT_OF_MEMORY. */
ROTARY_API ROTARY_CHECKED rotary_status rotary_rope_create(rotary_rope **rope,
                                                           const rotary_rope_config *config,
                                                           rotary_error *error);
ROTARY_API void rotary_rope_destroy(rotary_rope *rope); /* NULL is allowed */

/* The pairs of a plan, rotary_dim / 2, and their inverse frequencies after scaling, [pairs], in radians per
 * position. The list belongs to the plan. */
ROTARY_API int64_t rotary_rope_pairs(const rotary_rope *rope);
ROTARY_API const double *rotary_rope_inverse_frequencies(const rotary_rope *rope);
/* The number by which cosines and sines of queries and keys are multiplied: 1 unless configured, or given by
 * YaRN or LongRoPE. */
ROTARY_API double rotary_rope_attention_factor(const rotary_rope *rope);
/* The number by which the model multiplies its softmax scale, apart from the attention factor: 1 except for
 * YaRN with mscale_all_dim (DeepSeek). The library does not apply it. */
ROTARY_API double rotary_rope_softmax_factor(const rotary_rope *rope);
/* The number of axes of a position: 1 for ROTARY_AXES_ONE. */
ROTARY_API int rotary_rope_axes(const rotary_rope *rope);
/* The axis whose position rotates `pair`, 0 ... pairs - 1. */
ROTARY_API int rotary_rope_axis(const rotary_rope *rope, int64_t pair);

/* The positions of tokens. A struct of zeros means 0, 1, 2, ... in every sequence.
 *
 * The position of a token is its entry in `array`, or its index in its sequence if array is NULL; plus
 * `offset`; plus the entry of `offsets` for its sequence. The same holds for each axis. */
typedef enum rotary_position_type {
    ROTARY_POSITION_I64 = 0,
    ROTARY_POSITION_I32 = 1,
    ROTARY_POSITION_F32 = 2, /* fractions are allowed */
} rotary_position_type;

typedef struct rotary_rope_positions {
    int64_t offset;
    const int64_t *offsets; /* [batch]; [sequences] for packed sequences; NULL: none */
    const void *array;      /* [axes, batch, time]; NULL: indices in the sequence */
    rotary_position_type array_type;
    int64_t array_batch_stride; /* elements; 0: all sequences have the same positions */
    int64_t array_axis_stride;  /* elements; 0: all axes have the same positions */
    /* Packed sequences (cu_seqlens), [sequences + 1], with batch 1: sequence s is the tokens starts[s] ...
     * starts[s + 1] - 1. starts[0] is 0, starts[sequences] is time. NULL: sequences are not packed. */
    const int32_t *starts;
    int64_t sequences;
} rotary_rope_positions;

typedef enum rotary_direction {
    ROTARY_FORWARD = 0,
    ROTARY_INVERSE = 1,   /* the inverse rotation; also divides by magnitudes */
    ROTARY_TRANSPOSE = 2, /* the transposed rotation, for gradients; equals INVERSE without magnitudes */
} rotary_direction;

/* A tensor [batch, time, heads, head_dim] whose channels are contiguous. Strides count elements. They may
 * have any order and sign; the stride of an axis of size 1 is ignored. Vectors of an output may not overlap:
 * each of its strides must be at least the extent of all axes with smaller strides. */
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
    /* With the data, type and strides of input the tensor is rotated in place. Otherwise the two may not
     * overlap, and channels outside the rotary span are copied. */
    rotary_rope_view output;
} rotary_rope_tensor;

/* Cosines and sines of the caller, which replace the plan's for query, key and value alike. No magnitudes
 * are applied to them. */
typedef struct rotary_rope_tables {
    /* [rows, pairs], indexed by position; or, if per_token, [batch, time, pairs]. NULL: the plan's. */
    const void *cosine, *sine;
    rotary_dtype dtype;
    bool per_token;       /* positions are not used */
    int64_t rows;         /* unless per_token: positions must be 0 ... rows - 1 */
    int64_t row_stride;   /* elements; 0: pairs */
    int64_t batch_stride; /* if per_token: elements; 0: all sequences have the same rows */
} rotary_rope_tables;

/* Each of query, key and value is rotated unless its input.data is NULL. Values are rotated without
 * magnitudes (attention factor, xPos). Without magnitudes the three are treated alike, so any tensor may be
 * given as any of them. */
typedef struct rotary_rope_apply_call {
    size_t struct_size; /* sizeof(rotary_rope_apply_call) */
    int64_t batch, time;
    rotary_direction direction;
    rotary_rope_positions positions;
    rotary_rope_tables tables;
    rotary_rope_tensor query, key, value;
} rotary_rope_apply_call;

/* Rotates every pair (x0, x1) of every head of the token at position p by the angle
 * a = p * inverse_frequency[pair]:
 *
 *     y0 = m (x0 cos(a) - x1 sin(a))
 *     y1 = m (x0 sin(a) + x1 cos(a))
 *
 * m is the magnitude: the attention factor, times xPos's; 1 for values. The arithmetic is in f32 for every
 * type. The error of y0 is at most m k u (|x0 cos(a)| + |x1 sin(a)|) + m e (|x0| + |x1|), plus one rounding
 * to the output's type; that of y1 likewise. u = 2^-24; k = 4, or 6 with a magnitude; e = |a| 2^-50, because
 * the angle is computed in double. (With bf16 output and AVX512-BF16 instructions, results below 2^-126 may
 * become 0.)
 *
 * Returns ROTARY_INVALID_ARGUMENT if a shape, stride, type or position is wrong; nothing is written then. */
ROTARY_API ROTARY_CHECKED rotary_status rotary_rope_apply(const rotary_rope *rope,
                                                          const rotary_rope_apply_call *call,
                                                          rotary_error *error);

/* Rotates cached keys and values, which are stored rotated, to positions that are `shift` greater (smaller,
 * if negative): after the first tokens of a cache were dropped, or caches were joined. All axes are shifted.
 */
typedef struct rotary_rope_shift_call {
    size_t struct_size; /* sizeof(rotary_rope_shift_call) */
    int64_t batch, time;
    int64_t shift;
    const int64_t *shifts; /* [batch], each added to shift; NULL: none */
    rotary_rope_tensor key, value;
} rotary_rope_shift_call;

/* Each shift rounds the cache once. In 16 bits these roundings add up, and a rotation that is smaller than
 * half a unit in the last place changes nothing, however often it is repeated: prefer few large shifts.
 * (Plans with f32 angles or 16-bit tables round each position separately, so a shifted cache differs
 * slightly from one made at the new positions.) Returns the errors of rotary_rope_apply. */
ROTARY_API ROTARY_CHECKED rotary_status rotary_rope_shift(const rotary_rope *rope,
                                                          const rotary_rope_shift_call *call,
                                                          rotary_error *error);

/* Converts cached keys and values that were rotated by plan `from` into those that plan `to` would have
 * given: after the frequencies or the attention factor changed (dynamic NTK, LongRoPE). Both plans must
 * rotate the same channels. (rotary_rope_apply with ROTARY_INVERSE gives the keys and values before
 * rotation.) */
typedef struct rotary_rope_rebase_call {
    size_t struct_size; /* sizeof(rotary_rope_rebase_call) */
    int64_t batch, time;
    rotary_rope_positions positions; /* of the cached tokens */
    rotary_rope_tensor key, value;
} rotary_rope_rebase_call;

ROTARY_API ROTARY_CHECKED rotary_status rotary_rope_rebase(const rotary_rope *from, const rotary_rope *to,
                                                           const rotary_rope_rebase_call *call,
                                                           rotary_error *error);

/* Gradients with respect to inverse frequencies and positions, where these are learned. (The gradient with
 * respect to the input is rotary_rope_apply of the output's gradient with ROTARY_TRANSPOSE.) */
typedef struct rotary_rope_gradient_tensor {
    int64_t heads;
    rotary_rope_const_view input, output_gradient; /* input.data NULL: absent */
} rotary_rope_gradient_tensor;

typedef struct rotary_rope_gradient_call {
    size_t struct_size; /* sizeof(rotary_rope_gradient_call) */
    int64_t batch, time;
    rotary_rope_positions positions;
    rotary_rope_gradient_tensor query, key, value; /* as in the forward call */
    /* [pairs], with respect to rotary_rope_inverse_frequencies; accumulated. NULL: not computed. */
    double *frequency_gradient;
    double *position_gradient; /* [axes, batch, time]; overwritten. NULL: not computed */
} rotary_rope_gradient_call;

ROTARY_API ROTARY_CHECKED rotary_status rotary_rope_gradient(const rotary_rope *rope,
                                                             const rotary_rope_gradient_call *call,
                                                             rotary_error *error);

/* Permutes the rows of a query or key projection, so that weights trained with one pairing can be used with
 * the other. In each head the rows of the rotary span are permuted and the others copied. RoPE does not
 * rotate values, whose projection therefore stays as it is; for RoPER, also permute the rows of the value
 * projection and the columns of the output projection. */
typedef struct rotary_rope_permute_call {
    size_t struct_size; /* sizeof(rotary_rope_permute_call) */
    int64_t heads;
    size_t row_bytes;  /* per output channel: inputs * element size for weights, one element for biases */
    const void *input; /* [heads * head_dim, row_bytes] */
    void *output;      /* likewise; may not overlap input */
    rotary_pairing from, to;
} rotary_rope_permute_call;

ROTARY_API ROTARY_CHECKED rotary_status rotary_rope_permute(const rotary_rope *rope,
                                                            const rotary_rope_permute_call *call,
                                                            rotary_error *error);

#ifdef __cplusplus
}
#endif
#endif
