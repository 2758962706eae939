/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of a decoder, for the files of this module.
 *
 * A model of L blocks has 2 L sublayers: attention and feed-forward of block 1, of block 2, ... Sublayer k
 * reads h_(k-1), which has the storage type; its output is added to the f32 residual stream. For k = 1 ...
 * 2L:
 *
 *     pre-norm     sum_0 = embedding                                  h_0 = norm_0(sum_0)
 *                  sum_k = sum_(k-1) + dropout(sublayer_k(h_(k-1)))   h_k = norm_k(sum_k)
 *
 *     post-norm    x_0 = h_0 = embedding
 *                  sum_k = x_(k-1) + dropout(sublayer_k(h_(k-1)))     x_k = h_k = norm_k(sum_k)
 *
 *     both         logits = h_2L W^T
 *
 * Both are one loop: sublayer k, then residual norm k, which computes sum and norm in one pass.
 */
#ifndef ROTARY_MODEL_DECODER_PARTS_H
#define ROTARY_MODEL_DECODER_PARTS_H

#include "layer/attention_layer.h"
#include "layer/embedding.h"
#include "layer/feed_forward.h"
#include "layer/loss.h"
#include "layer/norm.h"
#include "layer/position.h"
#include "model/decoder.h"

enum { PRE_NORM, POST_NORM };                   /* decoder_config.norm_position */
enum { INITIALISE_PYTORCH, INITIALISE_NORMAL }; /* decoder_config.initialisation */

struct block {
    struct attention_layer attention;
    struct feed_forward feed_forward;
    /* Activations that the forward pass stores for the backward pass. */
    struct attention_layer_saved attention_saved;
    struct feed_forward_saved feed_forward_saved;
};

/* Residual sum k and its norm. For k = 0 pre-norm normalises the embedding; post-norm has no norm there. */
struct residual_norm {
    struct norm norm;
    float *residual_sum;      /* [rows, width]: sum_k */
    float *mean, *rstd;       /* [rows] */
    struct matrix normalised; /* h_k */
};

struct decoder {
    struct decoder_config config;
    struct decoder_limits limits;
    const struct backend *backend;
    struct parameters parameters;
    struct rotary_arena arena; /* of the activations below */

    struct position_attention position;
    struct embedding embedding;
    struct block *blocks;                 /* [layers] */
    struct residual_norm *residual_norms; /* [2 layers + 1] */
    struct linear *output;
    struct loss *loss;

    float *residual[2];            /* [rows, width]: post-norm's x_k, in residual[k % 2] */
    struct matrix sublayer_output; /* of sublayer k; in the backward pass its gradient */
    struct matrix d_normalised;
    float *d_residual;
    struct matrix d_hidden, d_pre_activation, d_qkv, d_context;
    float *norm_scratch;
    void *attention_workspace;
};

/* The maximum number of rows per call. */
static inline int64_t decoder_rows(struct decoder_limits limits)
{
    return limits.batch * limits.time;
}

/* The first `rows` rows of a matrix that is allocated for the maximum. */
static inline struct matrix first_rows(struct matrix m, int64_t rows)
{
    return matrix_rows(m, 0, rows);
}

struct decoder_cache {
    int64_t batch, capacity;
    size_t layer_bytes;           /* of the keys of a layer, and of its values */
    unsigned char *keys, *values; /* [layers][layer_bytes] */
    int64_t *lengths;             /* [batch] tokens in the cache */
    void *workspace;
    struct rotary_arena arena;
};
struct attention_layer_cache decoder_cache_layer(const struct decoder_cache *cache, int64_t layer);

/* Checks that the tokens are in the vocabulary and that the model has position `last`. */
ROTARY_CHECKED rotary_status decoder_check_tokens(const struct decoder *decoder, const int32_t *tokens,
                                                  int64_t count, int64_t last, rotary_error *error);

#endif
