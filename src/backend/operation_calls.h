/* SPDX-License-Identifier: Apache-2.0
 *
 * What the operations of a backend compute: the argument of each, struct backend_NAME for the line NAME of
 * backend/operation_list.h.
 *
 * Memory is the backend's (backend/backend.h) unless a member is said to be the host's. `storage` is the type
 * of stored activations, f32 or bf16; all arithmetic is f32. f32 rows are contiguous, rows of a struct matrix
 * are strided. A gradient of a parameter is added to (+=), and is NULL where it is not wanted; other outputs
 * are overwritten. Results depend on the arguments alone, not on the number of threads. Calls and the host's
 * arrays in them may change as soon as an operation returns, though it may not be done.
 */
#ifndef ROTARY_BACKEND_OPERATION_CALLS_H
#define ROTARY_BACKEND_OPERATION_CALLS_H

#include "backend/dropout.h"
#include "backend/matrix.h"
#include "backend/stored_weight.h"

#include <rotary/attention.h>

/* ---- Matmul. ---- */

/* A weight [inner, columns] in the layout that matmuls of this backend read. */
struct packed_weight;

struct packed_weight_config {
    rotary_dtype dtype; /* of the packed weight: f32 or bf16 */
    int64_t inner, columns;
    bool transposed; /* the f32 source is [columns, inner], else [inner, columns] */
};

/* weight = source, converted and packed. */
struct backend_pack_weight {
    struct packed_weight *weight;
    const float *source;
};

enum matmul_epilogue { MATMUL_EPILOGUE_NONE, MATMUL_EPILOGUE_RELU };

/* out[rows, columns] = epilogue(in[rows, inner] weight + bias). Sums are f32. */
struct backend_matmul {
    struct matrix out, in; /* in has the type of the weight, out that type or f32 */
    const struct packed_weight *weight;
    const float *bias; /* [columns] f32; NULL: none */
    enum matmul_epilogue epilogue;
};

/* gradient[a.columns, b.columns] += a^T b, f32; a and b are [rows, ...] of the same type. Also
 * sums[a.columns] += the column sums of a. */
struct backend_weight_gradient {
    float *gradient; /* NULL: not wanted */
    float *sums;     /* NULL: not wanted */
    struct matrix a, b;
};

/* out[rows, weight rows] = epilogue(in[rows, inner] weight^T + bias), where weight is [weight rows, inner] as
 * a file has it, of the host. Sums are f32, of the file's numbers where there are few rows, and else of these
 * in the storage type; their order depends on the number of rows. */
struct backend_stored_matmul {
    struct matrix out, in; /* in is of the storage type, out of that type or f32 */
    const struct stored_weight *weight;
    const float *bias; /* [weight rows] f32; NULL: none */
    enum matmul_epilogue epilogue;
};

/* out[row] = scale * table[tokens[row]], of a table as a file has it, of the host. */
struct backend_stored_embedding {
    int64_t rows;
    float *out;                        /* [rows, table's columns] */
    const int32_t *tokens;             /* [rows] */
    const struct stored_weight *table; /* tokens are in it */
    float scale;
};

/* ---- Norms. ---- */

enum norm_kind {
    NORM_LAYER, /* LayerNorm (Ba et al. 2016) */
    NORM_RMS,   /* RMSNorm (Zhang and Sennrich 2019): neither mean nor bias */
    NORM_NONE   /* normalised is the sum itself */
};

struct norm_weights {
    enum norm_kind kind;
    float epsilon;
    const float *gain, *bias; /* [width]; NULL where the kind has none */
};

/* The residual sum, and its norm in the same pass:
 *
 *     residual_sum = residual + dropout(sublayer_output)
 *     normalised = gain * (residual_sum - mean) / sqrt(variance + epsilon) + bias
 *
 * with mean and variance of the row. */
struct backend_norm_forward {
    struct norm_weights norm;
    int64_t rows, width;
    const float *residual;         /* [rows, width] */
    struct matrix sublayer_output; /* storage type; data NULL: none, and residual_sum is not written */
    struct dropout dropout;        /* of sublayer_output */
    float *residual_sum;           /* [rows, width]; may be residual itself */
    struct matrix normalised;      /* storage type; data NULL: not wanted */
    float *normalised_f32;         /* [rows, width], for post-norm's residual stream; NULL: not wanted */
    float *mean, *rstd; /* [rows]: mean, 1/sqrt(variance + epsilon), for backward; NULL: not wanted */
};

/* With d = d_normalised + d_normalised_f32, x = (residual_sum - mean) * rstd, g = d * gain:
 *
 *     d_residual (+)= rstd * (g - mean(g) - x * mean(g x))     without mean(g) for RMSNorm; d for NORM_NONE
 *     d_sublayer_output = dropout(d_residual),   d_gain += d * x,   d_bias += d */
struct backend_norm_backward {
    struct norm_weights norm; /* epsilon and bias are not read */
    float *d_gain, *d_bias;   /* [width] */
    int64_t rows, width;
    const float
        *residual_sum; /* what forward normalised: residual_sum, or residual without sublayer_output */
    const float *mean, *rstd;
    struct matrix d_normalised;    /* storage type; data NULL: none */
    const float *d_normalised_f32; /* added to d_normalised; NULL: none. May be d_residual itself */
    bool accumulate;               /* d_residual += the gradient of residual_sum; else = */
    float *d_residual; /* [rows, width]: the gradient of residual_sum, which is that of residual */
    struct matrix d_sublayer_output; /* storage type: d_residual through dropout; data NULL: not wanted */
    struct dropout dropout;
};

/* out = the norm of each head of `in`: of queries and keys, by head (heads > 1) or over all heads (1); of a
 * sublayer's output (heads 1). NORM_LAYER or NORM_RMS; gain and bias are [in.columns / heads], shared by
 * heads. */
struct backend_head_norm_forward {
    struct norm_weights norm;
    int64_t heads;
    struct matrix out, in; /* storage type, [rows, heads * width]; out may be in */
    float *mean, *rstd;    /* [rows, heads], for backward; NULL: not wanted */
};

struct backend_head_norm_backward {
    struct norm_weights norm; /* epsilon and bias are not read */
    float *d_gain, *d_bias;
    int64_t heads;
    struct matrix d_in, d_out, in; /* d_in may be d_out */
    const float *mean, *rstd;
};

/* ---- Activation. ---- */

enum activation {
    ACTIVATION_RELU,
    ACTIVATION_GELU,   /* x Phi(x), exact */
    ACTIVATION_SWIGLU, /* gate * sigmoid(gate) * up (Shazeer 2020) */
    /* x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) (Hendrycks and Gimpel 2016), and with a gate: times
       up */
    ACTIVATION_GELU_TANH,
    ACTIVATION_GEGLU_TANH,
    ACTIVATION_TANH,
};
/* Whether an activation reads gate | up. */
static inline bool activation_is_gated(enum activation kind)
{
    return kind == ACTIVATION_SWIGLU || kind == ACTIVATION_GEGLU_TANH;
}

/* out = dropout(activation(pre)), both of the storage type. out [rows, hidden]; pre [rows, hidden], or [rows,
 * 2 hidden] = gate | up for gated ones. out may be pre, except for gated ones. */
struct backend_activation_forward {
    enum activation kind;
    struct matrix out, pre;
    struct dropout dropout;
};

/* d_pre from d_out, the gradients of pre and out. `saved` is out for ReLU, else pre. d_pre may be `saved` or,
 * except for gated ones, d_out. With dropout d_out is overwritten. If `out` has data, it is made again as the
 * forward pass made it, not for ReLU; it may be d_out if d_pre is not. */
struct backend_activation_backward {
    enum activation kind;
    struct matrix d_pre, d_out, saved, out;
    struct dropout dropout; /* as in the forward pass */
};

/* ---- Embedding. ---- */

/* out[row] = dropout(scale * table[tokens[row]] + position_table[p] + type_table[types[row]]) with
 * p = positions[row] or, where that is NULL, row % time. The caller has checked that tokens, positions and
 * types are in the tables. */
struct backend_embedding_forward {
    int64_t rows, width, time;
    float *out;                          /* [rows, width] */
    const int32_t *tokens;               /* [rows] */
    const float *table, *position_table; /* position_table NULL: none */
    const int32_t *positions;            /* [rows]; NULL: contiguous */
    const float *type_table;             /* NULL: none */
    const int32_t *types;                /* [rows]; NULL: all 0 */
    float scale;
    struct dropout dropout;
};

/* Rows of the same token, position or type are added in row order. */
struct backend_embedding_backward {
    int64_t rows, width, time;
    const float *d_out;
    const int32_t *tokens;
    float *d_table, *d_position_table, *d_type_table; /* NULL: not wanted */
    const int32_t *positions;                         /* NULL: row % time */
    const int32_t *types;                             /* NULL: all 0 */
    float scale;
    struct dropout dropout;
};

/* ---- Between the f32 residual stream and matrices of the storage type. ---- */

/* out = in, converted to the type of out. in is f32 [out.rows, out.columns]. */
struct backend_cast {
    struct matrix out;
    const float *in;
};

/* to += in. to is f32 [in.rows, in.columns]. */
struct backend_add {
    float *to;
    struct matrix in;
};

/* to += in, matrices of one shape and of the storage type. */
struct backend_add_matrix {
    struct matrix to, in;
};

/* to *= factor, f32. */
struct backend_scale {
    float *to; /* [count] */
    int64_t count;
    float factor;
};

/* Every row += vector. */
struct backend_add_to_rows {
    struct matrix rows;  /* storage type */
    const float *vector; /* [rows.columns] */
};

/* Row i of out = row index[i] of in, of the same type. */
struct backend_copy_rows {
    struct matrix out, in;
    const int64_t *index; /* [out.rows] in the host's memory; NULL: 0, 1, 2, ... */
};

/* Row index[i] of out = row i of in, of the same type. Other rows of out stay as they are. */
struct backend_scatter_rows {
    struct matrix out, in;
    const int64_t *index; /* [in.rows] in the host's memory, ascending: no row is written twice */
};

/* Row i of out = the mean of counts[i] rows of in from row first[i] on, summed in f32, of the same type. */
struct backend_mean_rows_forward {
    struct matrix out, in;
    const int64_t *first, *counts; /* [out.rows] in the host's memory; counts are at least 1 */
};

/* Those rows of d_in = row i of d_out / counts[i]. Other rows of d_in stay as they are, and none is in two
 * means. */
struct backend_mean_rows_backward {
    struct matrix d_in, d_out;
    const int64_t *first, *counts; /* [d_out.rows] in the host's memory */
};

/* out = dropout(in), of the same type, f32 or the storage type; out may be in. The gradient of in is that of
 * out through the same dropout. */
struct backend_drop {
    struct matrix out, in;
    struct dropout dropout;
};

/* ---- Loss. ---- */

struct loss_sums {
    double total;    /* of -log p(target), in nats, without label smoothing; or of squared errors */
    int64_t counted; /* targets that are not BATCH_IGNORED */
    int64_t correct; /* of those, targets with the largest logit (argmax; the first of equals); or 0 */
};

/* Softmax cross-entropy. With p = softmax(logits), a row whose target is not BATCH_IGNORED (base/batch.h) has
 *
 *     sums += -log p[target], 1, whether target is the argmax
 *     gradient = gradient_scale * (p - (1 - smoothing) onehot(target) - smoothing / classes)
 *
 * and other rows have a gradient of zero. With a softcap, logits are softcap * tanh(logits / softcap) in
 * these formulas, and the gradient is that of the logits given. */
struct backend_cross_entropy {
    struct matrix logits;   /* f32 [rows, classes]; overwritten */
    const int32_t *targets; /* [rows] */
    float gradient_scale, smoothing;
    float softcap;          /* 0: none */
    struct matrix gradient; /* storage type; data NULL: not wanted; in f32 it may be the logits */
    float *losses;          /* [rows]: -log p[target], not written where it is ignored; NULL: not wanted */
    struct loss_sums *sums;
};

/* With d = predictions[row] - targets[row], of every row:
 *
 *     sums += d^2, 1, 0        gradient = gradient_scale * 2 d */
struct backend_squared_error {
    struct matrix predictions; /* f32 [rows, 1] */
    const float *targets;      /* [rows] */
    float gradient_scale;
    struct matrix
        gradient; /* [rows, 1] of the storage type; data NULL: not wanted; in f32 it may be predictions */
    struct loss_sums *sums;
};

/* logits = cap * tanh(logits / cap). */
struct backend_softcap {
    struct matrix logits; /* f32 */
    float cap;
};

/* The `count` most probable classes of each row, the most probable first, of equally probable ones the first,
 * and log p of them with p = softmax(softcap of (in weight + bias)). Excluded classes are not among them, but
 * in the sum of the softmax. Logits need not exist as a whole. The arrays from `excluded` on are the host's:
 * this waits for the backend. */
struct backend_top_classes {
    struct matrix in; /* [rows, inner], in the type of the weight, whose columns are the classes */
    const struct packed_weight *weight;
    const float *bias;       /* [classes] f32; NULL: none */
    float softcap;           /* of the logits; 0: none */
    int64_t count;           /* 1 ... classes - excluded_count */
    const int32_t *excluded; /* [excluded_count], all different */
    int64_t excluded_count;
    float *log_probabilities; /* [rows, count]; NaN in a row whose logits are not numbers */
    int32_t *chosen;          /* [rows, count] */
};

/* to += from. */
struct backend_add_sums {
    struct loss_sums *to;
    const struct loss_sums *from;
};

/* ---- Update. ---- */

/* What a training step measures. It stays in backend memory until the step is done:
 * parameters_read_statistics (backend/parameters.h) is the step's one read. */
struct step_statistics {
    struct loss_sums loss; /* of the step's micro-batches */
    double gradient_norm;  /* of all gradients together, before clipping */
    double clip_scale;     /* what the gradients were multiplied by */
    int64_t diverged;      /* 1: loss or norm is not finite, and nothing was updated; else 0 */
};

/* Adam (Kingma and Ba 2015) and AdamW (Loshchilov and Hutter 2019):
 *
 *     g = clip_scale * gradient [+ weight_decay * value, if not decoupled]
 *     m = beta1 m + (1 - beta1) g;  v = beta2 v + (1 - beta2) g^2
 *     value -= learning_rate * (m / correction1) / (sqrt(v / correction2) + epsilon)
 *              [+ learning_rate * weight_decay * value, if decoupled]
 *
 * Weight decay applies to parameters with `decay` only. */
struct adam {
    float learning_rate, beta1, beta2, epsilon, weight_decay;
    bool decoupled;
    float correction1, correction2; /* bias correction: 1 - beta^t */
};

/* What a process updates of the trained elements of a table without an adapter, where others update the rest: whole
 * blocks (parameters_block). complete: fills in the sums of squares of the other blocks, which are 0 before. */
struct update_share {
    const int64_t *blocks;                                     /* [count]; borrowed */
    int64_t count, elements;                                   /* of them */
    rotary_status (*complete)(void *argument, double *squares, /* [PARAMETER_BLOCKS] */
                              rotary_error *error);
    void *argument;
    bool scattered; /* the moments of the rest are those before the last update: nobody is to read them */
};

struct parameters;

/* One step of the optimizer. The norm of all gradients is sqrt of the sum of their squares; clip_scale is
 * min(1, max_grad_norm / (norm + 1e-6)), as in torch.nn.utils.clip_grad_norm_, or 1 if max_grad_norm is 0. If
 * statistics.loss.total or the norm is not finite, only `diverged` (and the norm, unless the loss is not
 * finite) is written. Else values and moments of trained parameters are updated, their gradients become zero,
 * and the statistics are completed. The table's `adapter` is part of it: the norm is that of both tables. With a
 * `share` the norm is of all elements too; values, moments and gradients are written of those of the share alone. */
struct backend_update {
    struct parameters
        *parameters; /* backend/parameters.h; its table is the host's, its arrays the backend's */
    struct adam adam;
    double max_grad_norm;
};

/* ---- Attention: librotary's calls (rotary/attention.h). ----
 *
 * Tensors, log-sum-exps and workspaces are backend memory; lengths, starts, sources and positions are the
 * host's. */

struct attention_plan; /* of one backend, made by backend_operations.attention_create */

struct backend_attention_forward {
    const struct attention_plan *plan;
    const rotary_attention_forward_call *call;
};

struct backend_attention_backward {
    const struct attention_plan *plan;
    const rotary_attention_backward_call *call;
};

struct backend_attention_decode {
    const struct attention_plan *plan;
    const rotary_attention_decode_call *call;
};

struct backend_attention_append {
    const struct attention_plan *plan;
    const rotary_attention_append_call *call;
};

struct backend_attention_reorder {
    const struct attention_plan *plan;
    const rotary_attention_reorder_call *call;
};

struct backend_attention_shift {
    const struct attention_plan *plan;
    const rotary_attention_shift_call *call;
};

#endif
