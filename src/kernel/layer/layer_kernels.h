/* SPDX-License-Identifier: Apache-2.0
 *
 * The loops of the layers: each works on some rows, or some elements, on one thread. There is one contract of
 * each here; layer_reference.c says in double precision what they compute, and the other files, compiled once
 * per instruction set, compute it.
 *
 * "storage" is the type of stored activations: ROTARY_F32 or ROTARY_BF16. All arithmetic of the variants is
 * f32.
 */
#ifndef ROTARY_KERNEL_LAYER_LAYER_KERNELS_H
#define ROTARY_KERNEL_LAYER_LAYER_KERNELS_H

#include "base/random.h"

#include <rotary/types.h>

/* Which elements dropout keeps. Element (row, column) takes word column / 16 % 4 of the Philox block with
 * index row * 2^32 + column / 64 * 16 + column % 16, and is kept where that is at least `threshold`. */
struct layer_mask {
    struct rotary_random_key key;
    uint32_t threshold; /* probability * 2^32; 0: everything is kept */
    float scale;        /* of what is kept: 1 / (1 - probability) */
};

/* Row r of every array is row first + r for the mask. Strides are in elements; f32 rows are `width` apart. */
struct layer_norm_forward {
    int64_t first, rows, width;
    bool rms; /* no mean, no bias */
    float epsilon;
    const float *gain, *bias;
    rotary_dtype storage;
    const float *residual;
    const void *sublayer_output; /* NULL: none, and sum is not written */
    int64_t sublayer_output_stride;
    struct layer_mask mask; /* of the branch */
    float *residual_sum;    /* may be residual */
    void *normalised;
    int64_t normalised_stride;
    float *normalised_f32; /* NULL: not wanted */
    float *mean, *rstd;    /* NULL: not wanted */
};

/* With x = (sum - mean) * deviation, g = d_normalised * gain (d_normalised is the sum of those given):
 *     d_residual (+)= deviation * (g - average(g) - x * average(g x));   average(g) left out by RMSNorm
 *     d_gain += d_normalised * x;   d_bias += d_normalised;   d_branch = mask(d_residual) */
struct layer_norm_backward {
    int64_t first, rows, width;
    bool rms, accumulate;
    rotary_dtype storage;
    const float *gain;
    const float *residual_sum, *mean, *rstd;
    const void *d_normalised; /* NULL: none */
    int64_t d_normalised_stride;
    const float *d_normalised_f32; /* NULL: none; may be d_residual */
    float *d_residual;
    void *d_sublayer_output; /* NULL: not wanted */
    int64_t d_sublayer_output_stride;
    struct layer_mask mask;
    float *d_gain, *d_bias; /* [width]; d_bias NULL for RMSNorm */
};

/* Softmax cross-entropy of rows of logits [rows, classes] f32. A target of -1 does not count: its gradient is
 * zero.
 *     loss += log(sum exp(logits)) - logits[target]
 *     gradient = gradient_scale * (softmax(logits) - (1 - smoothing) onehot(target) - smoothing / classes) */
struct layer_cross_entropy {
    int64_t rows, classes;
    float *logits; /* overwritten */
    int64_t logits_stride;
    const int32_t *targets;
    float gradient_scale, smoothing;
    rotary_dtype storage;
    void *gradient; /* storage type; NULL: not wanted */
    int64_t gradient_stride;
    double loss;
    int64_t counted,
        correct; /* correct: the target's logit is the largest, the first of those where several are */
};

struct layer_adam {
    int64_t count;
    float *value, *gradient, *moment1, *moment2; /* gradient is set to zero */
    float learning_rate, beta1, beta2, epsilon;
    float coupled_decay;   /* g += coupled_decay * value */
    float decoupled_decay; /* value -= decoupled_decay * value */
    float gradient_scale, inverse_correction1, inverse_correction2;
};

/* What interleave() pads rows and columns to. */
enum { LAYER_VNNI_ROWS = 32, LAYER_VNNI_COLUMNS = 64 };

enum layer_activation { LAYER_RELU, LAYER_GELU, LAYER_SILU };

struct layer_kernels {
    void (*norm_forward)(const struct layer_norm_forward *work);
    void (*norm_backward)(const struct layer_norm_backward *work);
    /* out = activation(in), and d_in = d_out * activation'(saved): `saved` is the output for relu, else the
     * input. d_in may be d_out. */
    void (*activate)(enum layer_activation kind, rotary_dtype storage, void *out, const void *in,
                     int64_t count);
    void (*activate_backward)(enum layer_activation kind, rotary_dtype storage, void *d_in, const void *d_out,
                              const void *saved, int64_t count);
    /* out = silu(gate) * up, and its backward pass. */
    void (*gated)(rotary_dtype storage, void *out, const void *gate, const void *up, int64_t count);
    void (*gated_backward)(rotary_dtype storage, void *d_gate, void *d_up, const void *d_out,
                           const void *gate, const void *up, int64_t count);
    void (*cross_entropy)(struct layer_cross_entropy *work);
    /* sums[columns] += the rows of in. */
    void (*column_sums)(float *sums, rotary_dtype storage, const void *in, int64_t rows, int64_t columns,
                        int64_t stride);
    void (*to_storage)(rotary_dtype storage, void *out, const float *in, int64_t count);
    void (*from_storage)(rotary_dtype storage, float *out, const void *in, int64_t count);
    /* out[width] = mask(scale * in + add) for columns column ... column + width - 1 of a row; add may be
     * NULL. */
    void (*embed)(float *out, const float *in, const float *add, float scale, int64_t row, int64_t column,
                  int64_t width, const struct layer_mask *mask);
    /* to[width] += scale * mask(in), add[width] += mask(in); add may be NULL. */
    void (*embed_backward)(float *to, float *add, const float *in, float scale, int64_t row, int64_t column,
                           int64_t width, const struct layer_mask *mask);
    /* bf16: out[column, row] = in[row, column]. */
    void (*transpose)(uint16_t *out, int64_t out_stride, const uint16_t *in, int64_t in_stride, int64_t rows,
                      int64_t columns);
    /* bf16: the layout that dot products of pairs of rows read. Panels of LAYER_INTERLEAVED_COLUMNS columns,
     * one after another; in a panel rows two by two, each pair as (even row, odd row) of column after column.
     * Rows and columns are padded with zeros. */
    void (*pack_vnni)(uint16_t *out, const uint16_t *in, int64_t in_stride, int64_t rows, int64_t columns);
    /* Copies dense rows of row_bytes to rows to_stride bytes apart, past the caches where alignment allows
     * it. */
    void (*copy_nontemporal)(void *to, int64_t to_stride, const void *from, int64_t rows, int64_t row_bytes);
    void (*adam)(const struct layer_adam *work);
    double (*sum_of_squares)(const float *in, int64_t count);
};

/* In double precision, one element after another: the specification. */
extern const struct layer_kernels layer_kernels_reference;

/* The loops for `isa`, which this machine can run (not ROTARY_ISA_AUTO). */
const struct layer_kernels *layer_kernels_for(rotary_isa isa);

#endif
