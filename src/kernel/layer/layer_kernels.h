/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernels of the layers: each processes some rows or elements on one thread. This header is their
 * contract; tests/layer/layer_reference.c specifies them in double precision. Every variant is compiled from
 * the same sources and computes in f32.
 *
 * `storage` is the type of stored activations: ROTARY_F32 or ROTARY_BF16. Strides are in elements.
 */
#ifndef ROTARY_KERNEL_LAYER_LAYER_KERNELS_H
#define ROTARY_KERNEL_LAYER_LAYER_KERNELS_H

#include "base/random.h"

#include <rotary/types.h>

/* A dropout mask. Element (row, column) is kept if its random number is at least `threshold`: word
 * column / 16 % 4 of the Philox block (first_row + row) * 2^32 + column / 64 * 16 + column % 16. */
struct layer_mask {
    struct rotary_random_key key;
    uint32_t threshold; /* probability * 2^32; 0: no dropout */
    uint32_t first_row; /* what rows are counted from */
    float scale;        /* factor of kept elements: 1 / (1 - probability) */
};

/* Norm of residual_sum = residual + mask(sublayer_output). Row r of every array is row first + r of the mask;
 * f32 rows are `width` apart. */
struct layer_norm_forward {
    int64_t first, rows, width;
    bool rms; /* RMSNorm: no mean, no bias */
    float epsilon;
    const float *gain, *bias;
    rotary_dtype storage;
    const float *residual;
    const void *sublayer_output; /* NULL: none, and residual_sum is not written */
    int64_t sublayer_output_stride;
    struct layer_mask mask; /* of sublayer_output */
    float *residual_sum;    /* may be residual */
    void *normalised;       /* NULL: not wanted */
    int64_t normalised_stride;
    float *normalised_f32; /* NULL: not wanted */
    float *mean, *rstd;    /* NULL: not wanted */
};

/* With d = d_normalised + d_normalised_f32, x = (residual_sum - mean) * rstd, g = d * gain:
 *     d_residual (+)= rstd * (g - mean(g) - x * mean(g x))     without mean(g) for RMSNorm
 *     d_sublayer_output = mask(d_residual),   d_gain += d * x,   d_bias += d */
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

/* Softmax cross-entropy of logits [rows, classes] f32. A row with target -1 is ignored: its gradient is zero.
 *     loss += log(sum exp(logits)) - logits[target]
 *     gradient = gradient_scale * (softmax(logits) - (1 - smoothing) onehot(target) - smoothing / classes)
 * With a softcap the logits are softcap * tanh(logits / softcap), and the gradient is that of those given. */
struct layer_cross_entropy {
    int64_t rows, classes;
    float *logits; /* overwritten */
    int64_t logits_stride;
    const int32_t *targets;
    float gradient_scale, smoothing;
    float softcap; /* 0: none */
    rotary_dtype storage;
    void *gradient; /* storage type; NULL: not wanted; in f32 it may be the logits */
    int64_t gradient_stride;
    float *losses; /* [rows]: what each adds to `loss`, not written where it is ignored; NULL: not wanted */
    double loss;
    int64_t counted; /* rows that are not ignored */
    int64_t correct; /* of those, where the target is the argmax (the first of equals) */
};

/* The `count` largest logits of each row as log-probabilities, the largest first, of equal ones the first:
 *     log_probabilities = logit - log(sum exp(logits)),   chosen = its class
 * Excluded classes are not among them, but in the sum. classes - excluded_count >= count >= 1.
 * A call has the logits of `columns` classes from `first` on: those of a row come in their order, and its
 * results are there after the call that ends it, first + columns == classes. The members from `maximum` on
 * are the state between calls, which the call with first 0 begins. */
struct layer_top_classes {
    int64_t rows, classes, first, columns, count;
    const float *logits; /* [rows, columns] */
    int64_t logits_stride;
    const int32_t *excluded; /* [excluded_count], all different */
    int64_t excluded_count;
    float *maximum, *sum;     /* [rows] of the logits so far, and of exp(logit - maximum) */
    float *log_probabilities; /* [rows, count] */
    int32_t *chosen;          /* [rows, count] */
};

struct layer_adam {
    int64_t count;
    float *value, *gradient, *moment1, *moment2; /* gradient is set to zero */
    float learning_rate, beta1, beta2, epsilon;
    float coupled_decay;   /* g += coupled_decay * value */
    float decoupled_decay; /* value -= decoupled_decay * value */
    float gradient_scale, inverse_correction1, inverse_correction2;
};

/* pack_vnni pads rows and columns to multiples of these. */
enum { LAYER_VNNI_ROWS = 32, LAYER_VNNI_COLUMNS = 64 };

/* The order in which the products of a row and a column are summed up in f32: those of a block of rows of the
 * panel, one row or, of bf16, pair of rows after another; then the sums of the blocks. */
struct layer_sum_order {
    int64_t block; /* even */
    bool apart;    /* a block has a sum of its even and one of its odd rows, as in an instruction of AMX */
};

/* out[columns] = epilogue(in panel + bias): a row of bf16 and a panel in VNNI layout (pack_vnni), or a row of
 * f32 and a panel of strips likewise, but of single rows. */
struct layer_row {
    const void *in; /* [inner] */
    int64_t inner, columns;
    struct layer_sum_order order;
    const void *panel;
    const float *bias; /* NULL: none */
    bool relu;
    rotary_dtype out_type; /* ROTARY_F32 or ROTARY_BF16 */
    void *out;
};

/* to[a_columns, b_columns] (+)= a^T b, summed over the rows from the first to the last. */
struct layer_product {
    int64_t rows;
    const float *a, *b;
    int64_t a_columns, b_columns, a_stride, b_stride;
    float *to; /* contiguous */
    bool adding;
    float *a_sums;    /* [a_columns] = sums of the rows of `a`, as column_sums adds them to zero; NULL: not
                         wanted */
    float *workspace; /* [rows, b_columns + LAYER_PRODUCT_PADDING] */
};
enum { LAYER_PRODUCT_PADDING = 96 };

/* out[row][column] = in[row] . weight[column], for few rows: each number of the weight is read once. The
 * weight is f32, f16 or bf16. */
struct layer_stored_product {
    int64_t rows, columns, inner;
    const float *in;    /* [rows, inner] */
    const void *weight; /* [columns, inner] */
    rotary_dtype dtype;
    float *out;
    int64_t out_stride;
};

/* LAYER_GELU_TANH approximates GELU: x sigmoid(2 sqrt(2 / pi) (x + 0.044715 x^3)). */
enum layer_activation { LAYER_RELU, LAYER_GELU, LAYER_SILU, LAYER_GELU_TANH, LAYER_TANH };

struct layer_kernels {
    void (*norm_forward)(const struct layer_norm_forward *work);
    void (*norm_backward)(const struct layer_norm_backward *work);
    /* out = activation(in), and d_in = d_out * activation'(saved): `saved` is the output for relu, else the
     * input. d_in may be d_out or saved. The second gives activation(saved) again in `out`, which may be the
     * one of d_out and saved that d_in is not; NULL: not wanted. */
    void (*activate)(enum layer_activation kind, rotary_dtype storage, void *out, const void *in,
                     int64_t count);
    void (*activate_backward)(enum layer_activation kind, rotary_dtype storage, void *d_in, void *out,
                              const void *d_out, const void *saved, int64_t count);
    /* out = activation(gate) * up, and its backward pass, which may give `out` again likewise: of silu or
     * gelu_tanh. d_gate may be gate, d_up may be up, and out may be d_out. */
    void (*gated)(enum layer_activation kind, rotary_dtype storage, void *out, const void *gate,
                  const void *up, int64_t count);
    void (*gated_backward)(enum layer_activation kind, rotary_dtype storage, void *d_gate, void *d_up,
                           void *out, const void *d_out, const void *gate, const void *up, int64_t count);
    /* x = cap * tanh(x / cap). */
    void (*softcap)(float *x, int64_t count, float cap);
    void (*stored_product)(const struct layer_stored_product *work);
    /* out = in, f32, f16 or bf16. */
    void (*widen)(rotary_dtype dtype, float *out, const void *in, int64_t count);
    void (*cross_entropy)(struct layer_cross_entropy *work);
    void (*top_classes)(const struct layer_top_classes *work);
    /* sums[columns] += the sum of the rows of in. */
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
    /* out[width] = mask(in), of all columns of a row; out may be in. */
    void (*drop)(rotary_dtype storage, void *out, const void *in, int64_t row, int64_t width,
                 const struct layer_mask *mask);
    /* bf16: out[column, row] = in[row, column]. */
    void (*transpose)(uint16_t *out, int64_t out_stride, const uint16_t *in, int64_t in_stride, int64_t rows,
                      int64_t columns);
    /* bf16: packs `in` in VNNI layout, which instructions for bf16 dot products read. Panels of
     * LAYER_VNNI_COLUMNS columns follow one another; in a panel each pair of rows is stored as (even row, odd
     * row) of column after column. Rows and columns are padded with zeros. */
    void (*pack_vnni)(uint16_t *out, const uint16_t *in, int64_t in_stride, int64_t rows, int64_t columns);
    /* Copies contiguous rows of row_bytes to rows to_stride bytes apart, with non-temporal stores (past the
     * caches) where alignment allows. */
    void (*copy_nontemporal)(void *to, int64_t to_stride, const void *from, int64_t rows, int64_t row_bytes);
    /* NULL but for AVX-512: oneDNN is faster. */
    void (*add_product)(const struct layer_product *work);
    /* By the type of the row and the panel. NULL but for f32 on AVX-512, and bf16 on AVX-512 with BF16. */
    void (*multiply_row[ROTARY_BF16 + 1])(const struct layer_row *work);
    void (*adam)(const struct layer_adam *work);
    double (*sum_of_squares)(const float *in, int64_t count);
};

/* The kernels for `isa`, which this machine must have and which is not ROTARY_ISA_AUTO; the scalar ones if
 * the build has none for it. */
const struct layer_kernels *layer_kernels_for(rotary_isa isa);

#endif
