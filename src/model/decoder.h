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
#include "layer/loss.h"
#include "model/config_check.h"

struct decoder;

/* The maximum per call: `batch` sequences of `time` tokens. */
struct decoder_limits {
    int64_t batch, time;
    bool training;  /* false: no gradients, no optimizer moments, no saved activations */
    bool packed;    /* a batch may instead be packed sequences of up to batch * time tokens together */
    bool positions; /* a batch may give the position of each token */
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
struct decoder_call {
    /* Input and classes: padded sequences, with or without lengths, or packed ones; with or without
     * positions. Classes of padding must be BATCH_IGNORED for it not to count. */
    const struct batch *batch;
    bool backward;        /* accumulate gradients, with dropout */
    float gradient_scale; /* of the summed loss: 1 / (targets counted in the step) */
    uint64_t seed;        /* of dropout */
    uint32_t micro_step;  /* index of the micro-batch: each has its own dropout mask */
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

/* Makes sequence `to` of the cache a copy of sequence `from`. */
ROTARY_CHECKED rotary_status decoder_cache_copy(struct decoder *decoder, struct decoder_cache *cache,
                                                int64_t to, int64_t from, rotary_error *error);

/* Sequence b of the cache continues what sequence source[b] was before, source [batch]: sources that appear
 * several times fork, those that do not appear are dropped. */
ROTARY_CHECKED rotary_status decoder_cache_reorder(struct decoder *decoder, struct decoder_cache *cache,
                                                   const int32_t *source, rotary_error *error);

/* New tokens: counts[b] of sequence b, at most `time`, which is at most the model's rows / sequences of the
 * cache. */
struct decoder_decode_call {
    int64_t batch; /* the first sequences of the cache; 0: all. The others stay as they are */
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
