/* SPDX-License-Identifier: Apache-2.0
 *
 * A transformer: embedding, blocks of attention and feed-forward, output projection; its loss and gradients;
 * decoding with a KV cache. An encoder-decoder has an encoder too, whose output the decoder attends to. An
 * encoder alone sees every token from every other, and is trained to name masked tokens, or to classify
 * sequences by their first token.
 */
#ifndef ROTARY_MODEL_TRANSFORMER_H
#define ROTARY_MODEL_TRANSFORMER_H

#include "backend/backend.h"
#include "backend/parameters.h"
#include "base/batch.h"
#include "layer/loss.h"
#include "model/config_check.h"

struct transformer;

/* The maximum per call: `batch` sequences of `time` tokens, and with an encoder as many sources of
 * `source_time`. */
struct transformer_limits {
    int64_t batch, time;
    int64_t source_time;  /* 0: there is no encoder */
    bool training;        /* false: no gradients, no optimizer moments, no saved activations */
    bool gradients_later; /* of training: gradients and moments have no memory until
                           * parameters_allocate_training */
    bool stored;    /* matrices stay where a file has them, given by parameters_store; without training */
    bool packed;    /* sequences may instead have different lengths, and up to batch * time tokens together,
                     * with sources of up to batch * source_time */
    bool positions; /* a batch may give the position of each token, for tables and rotations: a bias by
                     * distance counts tokens */
};

/* Bytes that transformer_create would allocate. Allocates next to nothing itself. */
ROTARY_CHECKED rotary_status transformer_bytes(const struct backend *backend,
                                               const struct transformer_config *config,
                                               struct transformer_limits limits, size_t *bytes,
                                               rotary_error *error);
/* A transformer with initial weights drawn from `seed`. backend is borrowed. */
ROTARY_CHECKED rotary_status transformer_create(struct transformer **transformer,
                                                const struct backend *backend,
                                                const struct transformer_config *config,
                                                struct transformer_limits limits, uint64_t seed,
                                                rotary_error *error);
void transformer_destroy(struct transformer *transformer);

const struct transformer_config *transformer_configuration(const struct transformer *transformer);
struct parameters *transformer_parameters(struct transformer *transformer);
struct transformer_call {
    /* Input and classes, with or without positions and, with a type_vocab_size, segments. An encoder-decoder
     * wants a source for each sequence, with starts if the input has them. Of an encoder the output projection is computed for tokens with a class alone. A classifier (num_labels) wants a class of
     * each sequence, [sequences], or with num_labels 1 a value of each, and no classes. */
    const struct batch *batch;
    bool backward;        /* accumulate gradients, with dropout */
    float gradient_scale; /* of the summed loss: 1 / (targets counted in the step) */
    uint64_t seed;        /* of dropout */
    uint32_t micro_step;  /* index of the micro-batch: each has its own dropout mask */
    /* Of a batch that is a part of a micro-batch: what comes before it there, by which dropout and random
     * positions are those of the whole. */
    struct batch_begin {
        int64_t sequences, tokens, source_tokens;
    } begin;
    float *losses; /* [tokens]: -log p of each class, in nats; those of ignored ones are not defined.
                           * Not of a classifier. NULL: not wanted */
    const struct gradient_watch *watch; /* of the stack, of an encoder-decoder the decoder's; NULL: none */
};
/* The rows of the table of parameters that a watch is told of. */
struct parameter_rows transformer_sublayer_rows(const struct transformer *transformer);
/* The maximum number of sequences per call, and of tokens of all of them. */
int64_t transformer_max_batch(const struct transformer *transformer);
int64_t transformer_max_tokens(const struct transformer *transformer);

/* Forward and optionally backward pass. Allocates nothing after the first call of a given shape. */
ROTARY_CHECKED rotary_status transformer_run(struct transformer *transformer,
                                             const struct transformer_call *call, struct loss_sums *loss,
                                             rotary_error *error);

/* Logits of every row of the input, f32 [rows, vocab_size], without a cache; of a classifier of every
 * sequence, [sequences, num_labels]. Of the batch, input and source are read. */
ROTARY_CHECKED rotary_status transformer_logits(struct transformer *transformer, const struct batch *batch,
                                                float *logits, rotary_error *error);

/* Computes an encoder's logits of `count` tokens of the batch alone, f32 [count, vocab_size]: those of
 * rows[0], rows[1], ..., which ascend. ROTARY_UNSUPPORTED of other models. */
ROTARY_CHECKED rotary_status transformer_row_logits(struct transformer *transformer,
                                                    const struct batch *batch, const int64_t *rows,
                                                    int64_t count, float *logits, rotary_error *error);

struct attention_observer; /* layer/sublayer.h */
/* A forward pass without dropout, whose calls of attention an observer sees: those of an encoder
 * before those of the decoder. Of the batch, input and source are read. */
ROTARY_CHECKED rotary_status transformer_observe(struct transformer *transformer, const struct batch *batch,
                                                 const struct attention_observer *observer,
                                                 rotary_error *error);

/* The KV cache of `batch` sequences of up to `capacity` tokens, and of batch / beams sources. */
struct transformer_cache_shape {
    int64_t batch, capacity;
    int64_t beams;       /* sequences of each source, which follow one another; 0: 1. It divides `batch` */
    int64_t source_time; /* the maximum of tokens of a source, at most that of the limits; 0: no encoder */
};
struct transformer_cache;
/* ROTARY_UNSUPPORTED of an encoder, in which every token sees all others. */
ROTARY_CHECKED rotary_status transformer_cache_create(struct transformer_cache **cache,
                                                      const struct transformer *transformer,
                                                      const struct transformer_cache_shape *shape,
                                                      rotary_error *error);
void transformer_cache_destroy(struct transformer_cache *cache);

/* Runs the encoder on the sources, and keeps the keys and values of
 * cross-attention: sequences s * beams ... (s + 1) * beams - 1 of the cache translate source s. There may be
 * fewer sources than the cache has room for; the sequences of the others cannot be decoded. All sequences
 * begin anew, without tokens. */
ROTARY_CHECKED rotary_status transformer_cache_source(struct transformer *transformer,
                                                      struct transformer_cache *cache,
                                                      const struct token_sequences *sources,
                                                      rotary_error *error);

/* Tokens of a sequence in the cache. */
int64_t transformer_cache_length(const struct transformer_cache *cache, int64_t sequence);

/* Makes sequence `to` of the cache a copy of sequence `from`. */
ROTARY_CHECKED rotary_status transformer_cache_copy(struct transformer *transformer,
                                                    struct transformer_cache *cache, int64_t to, int64_t from,
                                                    rotary_error *error);

/* Sequence b of the cache continues what sequence source[b] was before, source [batch]: sources that appear
 * several times fork, those that do not appear are dropped. The source of an encoder moves with its
 * sequences: with beams, the sequences of one stay together. */
ROTARY_CHECKED rotary_status transformer_cache_reorder(struct transformer *transformer,
                                                       struct transformer_cache *cache, const int32_t *source,
                                                       rotary_error *error);

/* Context shift: removes tokens keep ... keep + discard - 1 of a sequence from the cache. Those that follow
 * take their places and positions; what the layers had computed of them stays. ROTARY_UNSUPPORTED of models
 * that cannot: those that add positions to the embedding, and those with randomised positions. */
ROTARY_CHECKED rotary_status transformer_cache_shift(struct transformer *transformer,
                                                     struct transformer_cache *cache, int64_t sequence,
                                                     int64_t keep, int64_t discard, rotary_error *error);
/* Whether it can: else ROTARY_UNSUPPORTED, and the reason. */
ROTARY_CHECKED rotary_status transformer_check_shift(const struct transformer *transformer,
                                                     rotary_error *error);

/* New tokens: counts[b] of sequence b, at most `time`, which is at most the model's rows / sequences of the
 * cache. */
struct transformer_decode_call {
    int64_t batch; /* the first sequences of the cache, a multiple of its beams; 0: all, or all that have a
                    * source. The others stay as they are */
    int64_t time;
    const int32_t *tokens; /* [batch, time]; those from counts[b] on are not read */
    const int64_t *counts; /* [batch]; NULL: all are `time` */
    /* What follows is of the last new token of each sequence, undefined where there is none; on the host:
     * logits, f32 [batch, vocab_size], or else the most probable tokens. */
    float *logits;                                 /* NULL: not wanted */
    const struct backend_top_classes *top_classes; /* all members but input, weight, bias */
};
/* Runs the new tokens and appends their keys and values to the cache. Nothing is computed for tokens that are
 * not there. */
ROTARY_CHECKED rotary_status transformer_decode(struct transformer *transformer,
                                                struct transformer_cache *cache,
                                                const struct transformer_decode_call *call,
                                                rotary_error *error);

#endif
