/* SPDX-License-Identifier: Apache-2.0
 *
 * What a decoder is made of, for the files of this floor.
 *
 * A model has 2 L sublayers: attention and feed-forward of each block in turn. Norms stand between them, and
 * the residual stream x runs beside. With h the storage-type input of a sublayer and k = 1 ... 2L:
 *
 *     pre-norm     sum_0 = embedding                               h_0 = norm_0(sum_0)
 *                  sum_k = sum_(k-1) + drop(sublayer_k(h_(k-1)))   h_k = norm_k(sum_k)
 *
 *     post-norm    x_0 = h_0 = embedding
 *                  sum_k = x_(k-1) + drop(sublayer_k(h_(k-1)))     x_k = h_k = norm_k(sum_k)
 *
 *     both         logits = h_2L W^T
 *
 * So both orders are one loop over "sublayer, then residual sum and norm in one pass".
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

enum { NORM_PRE, NORM_POST };                   /* decoder_config.norm_position */
enum { INITIALISE_PYTORCH, INITIALISE_NORMAL }; /* decoder_config.initialisation */

struct block {
    struct attention_layer attention;
    struct feed_forward feed_forward;
    /* What the forward pass leaves for the backward pass. */
    struct attention_layer_saved attention_saved;
    struct feed_forward_saved feed_forward_saved;
};

/* What stands before sublayer k + 1. Of pre-norm k = 0 is a norm of the embedding; of post-norm it has no
 * norm. */
struct residual_norm {
    struct norm norm;
    float *residual_sum;      /* [rows, width]: what was normalised */
    float *mean, *rstd;       /* [rows] */
    struct matrix normalised; /* h_k */
};

struct decoder {
    struct decoder_config config;
    struct decoder_limits limits;
    const struct compute *compute;
    struct parameters parameters;
    struct rotary_arena arena; /* everything below that is not a parameter */

    struct position_attention position;
    struct embedding embedding;
    struct block *blocks;                 /* [layers] */
    struct residual_norm *residual_norms; /* [2 layers + 1] */
    struct linear *output;
    struct loss *loss;

    float *residual[2];            /* [rows, width]: post-norm's x_k by turns */
    struct matrix sublayer_output; /* a sublayer's output; in the backward pass the gradient of it */
    struct matrix d_normalised;
    float *d_residual;
    struct matrix d_hidden, d_pre_activation, d_qkv, d_context;
    float *norm_scratch;
    void *attention_workspace;
};

/* Rows a decoder is made for. */
static inline int64_t decoder_rows(struct decoder_limits limits)
{
    return limits.batch * limits.time;
}

/* Every matrix of a forward pass, cut to the rows of the call. */
static inline struct matrix first_rows(struct matrix whole, int64_t rows)
{
    return matrix_rows(whole, 0, rows);
}

struct decoder_cache {
    int64_t batch, capacity;
    size_t layer_bytes; /* of the keys of a layer; the values take as many */
    unsigned char *keys, *values;
    int64_t *lengths; /* [batch] */
    void *workspace;
    struct rotary_arena arena;
};
struct attention_layer_cache decoder_cache_layer(const struct decoder_cache *cache, int64_t layer);

/* One call: its sizes, dropout (of probability 0 when not training), and, when decoding, the cache. */
struct pass {
    struct decoder *decoder;
    struct decoder_cache *cache;
    int64_t batch, time, rows;
    struct dropout dropout;
    rotary_error *error;
};

/* Runs every layer over tokens [batch, time]; what comes out is decoder_hidden, [rows, width]. */
ROTARY_CHECKED rotary_status decoder_forward(const struct pass *pass, const int32_t *tokens);
struct matrix decoder_hidden(const struct pass *pass);

/* Whether the tokens are in the vocabulary and `last`, the last position, in the model's reach. */
ROTARY_CHECKED rotary_status decoder_check_tokens(const struct decoder *decoder, const int32_t *tokens,
                                                  int64_t count, int64_t last, rotary_error *error);

#endif
