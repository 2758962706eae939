/* SPDX-License-Identifier: Apache-2.0
 *
 * A decoder-only transformer: embedding, blocks of attention and feed-forward, output projection; its loss
 * and gradients; and decoding over a key-value cache.
 */
#ifndef ROTARY_MODEL_DECODER_H
#define ROTARY_MODEL_DECODER_H

#include "file/settings.h"
#include "layer/loss.h"
#include "tensor/compute.h"
#include "tensor/parameters.h"

struct decoder;

/* Keys are Hugging Face's where it has them; decoder_settings() lists each with its range. */
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
/* The settings table over `config`. */
struct settings decoder_settings(struct decoder_config *config);
/* Whether the members fit together (heads divide width, rotary dimensions are even, ...), filling in what
 * follows from others (head_dim, num_key_value_heads and intermediate_size of 0). */
ROTARY_CHECKED rotary_status decoder_config_check(struct decoder_config *config, rotary_error *error);

/* Whether the feed-forward layer has a gate beside its first projection (swiglu). */
bool decoder_is_gated(const struct decoder_config *config);

/* What a decoder is made to run: at most batch sequences of at most time tokens at once. */
struct decoder_limits {
    int64_t batch, time;
    bool training; /* false: no gradients, no optimizer moments, no stored activations */
};

/* Bytes decoder_create would take: said before anything is taken. */
ROTARY_CHECKED rotary_status decoder_bytes(const struct compute *compute, const struct decoder_config *config,
                                           struct decoder_limits limits, size_t *bytes, rotary_error *error);
/* A decoder with initial weights drawn from `seed`. compute is borrowed. */
ROTARY_CHECKED rotary_status decoder_create(struct decoder **decoder, const struct compute *compute,
                                            const struct decoder_config *config, struct decoder_limits limits,
                                            uint64_t seed, rotary_error *error);
void decoder_destroy(struct decoder *decoder);

const struct decoder_config *decoder_configuration(const struct decoder *decoder);
struct parameters *decoder_parameters(struct decoder *decoder);
/* To be called after the parameters changed, before anything is computed with them. */
ROTARY_CHECKED rotary_status decoder_prepare(struct decoder *decoder, rotary_error *error);

struct decoder_batch {
    int64_t batch, time;
    const int32_t *tokens;  /* [batch, time] */
    const int32_t *targets; /* [batch, time]; LOSS_IGNORED where there is none */
    bool backward;          /* accumulate gradients; then dropout is on too */
    float gradient_scale;   /* of the summed loss: 1 / (targets counted in the whole step) */
    uint64_t seed;          /* of dropout */
    uint32_t micro_step;    /* counts micro-batches: a new dropout mask each */
};
/* The most sequences it runs at once. */
int64_t decoder_max_batch(const struct decoder *decoder);

/* Forward and, if asked, backward. Allocates nothing after the first call of a given shape. */
ROTARY_CHECKED rotary_status decoder_run(struct decoder *decoder, const struct decoder_batch *batch,
                                         struct loss_sums *loss, rotary_error *error);

/* Logits of every position, f32 [batch * time, vocab_size], without a cache: for looking, and for tests. */
ROTARY_CHECKED rotary_status decoder_logits(struct decoder *decoder, int64_t batch, int64_t time,
                                            const int32_t *tokens, float *logits, rotary_error *error);

/* Keys and values of what was seen so far, of each of `batch` sequences. */
struct decoder_cache;
ROTARY_CHECKED rotary_status decoder_cache_create(struct decoder_cache **cache, const struct decoder *decoder,
                                                  int64_t batch, int64_t capacity, rotary_error *error);
void decoder_cache_destroy(struct decoder_cache *cache);

/* Reads `time` tokens of every sequence, tokens [batch, time], appending them to the cache, and writes the
 * logits that follow the last, f32 [batch, vocab_size]. */
ROTARY_CHECKED rotary_status decoder_decode(struct decoder *decoder, struct decoder_cache *cache,
                                            int64_t time, const int32_t *tokens, float *logits,
                                            rotary_error *error);

#endif
