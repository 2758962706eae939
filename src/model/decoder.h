/* SPDX-License-Identifier: Apache-2.0
 *
 * A decoder-only transformer: embedding, blocks of attention and feed-forward, output projection; its loss
 * and gradients; decoding with a KV cache.
 */
#ifndef ROTARY_MODEL_DECODER_H
#define ROTARY_MODEL_DECODER_H

#include "backend/backend.h"
#include "backend/parameters.h"
#include "base/batch.h"
#include "file/settings.h"
#include "layer/loss.h"

struct decoder;

/* Keys are Hugging Face's where it has one; decoder_settings() lists each with its range. */
struct decoder_config {
    int64_t vocab_size, hidden_size, num_hidden_layers, num_attention_heads, num_key_value_heads, head_dim,
        intermediate_size, max_position_embeddings;
    int hidden_act;     /* relu, gelu, swiglu: enum activation */
    int position;       /* none, learned, sinusoidal, rope, roper: layer/position.h */
    int pairing;        /* half, interleaved */
    int norm;           /* layer_norm, rms_norm */
    int norm_position;  /* pre, post */
    int initialisation; /* pytorch, normal */
    double rope_theta, partial_rotary_factor, value_fraction, norm_epsilon, dropout, initializer_range,
        label_smoothing;
    bool bias, tie_word_embeddings, scale_embedding;
};

void decoder_config_default(struct decoder_config *config);
/* The settings table of `config`. */
struct settings decoder_settings(struct decoder_config *config);
/* Checks that the members agree (heads divide width, rotary dimensions are even, ...) and replaces head_dim,
 * num_key_value_heads and intermediate_size of 0 by the values that follow from the others. */
ROTARY_CHECKED rotary_status decoder_config_check(struct decoder_config *config, rotary_error *error);

/* Whether the feed-forward layer has a gate (swiglu). */
bool decoder_is_gated(const struct decoder_config *config);

/* The maximum per call: `batch` sequences of `time` tokens. */
struct decoder_limits {
    int64_t batch, time;
    bool training; /* false: no gradients, no optimizer moments, no saved activations */
    bool packed;   /* a batch may instead be packed sequences of up to batch * time tokens together */
};

/* Bytes that decoder_create would allocate. Allocates next to nothing itself. */
ROTARY_CHECKED rotary_status decoder_bytes(const struct backend *backend, const struct decoder_config *config,
                                           struct decoder_limits limits, size_t *bytes, rotary_error *error);
/* A decoder with initial weights drawn from `seed`. backend is borrowed. */
ROTARY_CHECKED rotary_status decoder_create(struct decoder **decoder, const struct backend *backend,
                                            const struct decoder_config *config, struct decoder_limits limits,
                                            uint64_t seed, rotary_error *error);
void decoder_destroy(struct decoder *decoder);

const struct decoder_config *decoder_configuration(const struct decoder *decoder);
struct parameters *decoder_parameters(struct decoder *decoder);
/* Packs the weights: to be called after the parameters changed, before the next forward pass. */
ROTARY_CHECKED rotary_status decoder_prepare(struct decoder *decoder, rotary_error *error);

struct decoder_call {
    const struct batch *batch; /* input and classes: padded or packed sequences */
    bool backward;             /* accumulate gradients, with dropout */
    float gradient_scale;      /* of the summed loss: 1 / (targets counted in the step) */
    uint64_t seed;             /* of dropout */
    uint32_t micro_step;       /* index of the micro-batch: each has its own dropout mask */
};
/* The maximum number of sequences per call. */
int64_t decoder_max_batch(const struct decoder *decoder);

/* Forward and optionally backward pass. Allocates nothing after the first call of a given shape. */
ROTARY_CHECKED rotary_status decoder_run(struct decoder *decoder, const struct decoder_call *call,
                                         struct loss_sums *loss, rotary_error *error);

/* Logits of every row, f32 [batch * time, vocab_size], without a cache. */
ROTARY_CHECKED rotary_status decoder_logits(struct decoder *decoder, const struct token_sequences *input,
                                            float *logits, rotary_error *error);

/* The KV cache of `batch` sequences of up to `capacity` tokens. */
struct decoder_cache;
ROTARY_CHECKED rotary_status decoder_cache_create(struct decoder_cache **cache, const struct decoder *decoder,
                                                  int64_t batch, int64_t capacity, rotary_error *error);
void decoder_cache_destroy(struct decoder_cache *cache);

/* Tokens of a sequence in the cache. */
int64_t decoder_cache_length(const struct decoder_cache *cache, int64_t sequence);

/* New tokens: counts[b] of sequence b, at most `time`, which is at most the model's rows / batch. */
struct decoder_decode_call {
    int64_t time;
    const int32_t *tokens; /* [batch, time]; those from counts[b] on are not read */
    const int64_t *counts; /* [batch]; NULL: all are `time` */
    float *logits;         /* f32 [batch, vocab_size]: of the last new token; undefined where there is none */
};
/* Runs the new tokens and appends their keys and values to the cache. Nothing is computed for tokens that are
 * not there. */
ROTARY_CHECKED rotary_status decoder_decode(struct decoder *decoder, struct decoder_cache *cache,
                                            const struct decoder_decode_call *call, rotary_error *error);

#endif
