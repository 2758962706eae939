/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of a transformer, for the files of this module: the stack whose output is projected, which is a
 * decoder or an encoder, the encoder that a decoder attends to, the output projection and the loss.
 */
#ifndef ROTARY_MODEL_TRANSFORMER_PARTS_H
#define ROTARY_MODEL_TRANSFORMER_PARTS_H

#include "layer/loss.h"
#include "model/embedded_stack.h"
#include "model/encoding/model_encoding.h"
#include "model/transformer.h"

struct transformer {
    struct transformer_config config;
    struct transformer_limits limits;
    const struct backend *backend;
    struct model_encoding encoding;
    struct parameters parameters;
    struct rotary_arena arena; /* backend memory: of the activations, and of the tokens of a call */
    struct rotary_arena host_arena;

    struct embedded_stack main;    /* its output is projected: a decoder, or ARCHITECTURE_ENCODER's encoder */
    struct embedded_stack encoder; /* of an encoder-decoder; else it has no stack */
    struct attention_plans cross_plans; /* of cross-attention */
    struct output_transform *transform; /* NULL: there is none */
    struct linear *output;
    struct loss *loss;
    int32_t *targets; /* [rows] of a call */
    float *values;    /* likewise, of a model that predicts numbers; else NULL */
    /* On the host, of an encoder: the rows of a call that have a target, and these; else NULL. */
    int64_t *target_rows;  /* [rows] */
    int64_t *target_means; /* [rows]: of how many rows from there on the mean is read; NULL: of none */
    int32_t *host_targets; /* [rows] */
    /* On the host, [max_position_embeddings]: randomised positions outside training; NULL: they are not
     * randomised. */
    int32_t *evaluation_positions;
    float *d_source; /* [source rows, width]: the gradient of the encoder's output; without training NULL */
};

/* The maximum number of rows per call. */
static inline int64_t transformer_rows(struct transformer_limits limits)
{
    return limits.batch * limits.time;
}

/* Sublayers of a block at most. */
enum { TRANSFORMER_MAX_PARTS = 3 };

/* The dropout site after those of the embedding and the sublayers of `main`: of an encoder-decoder it is
 * where those of the encoder begin. */
static inline uint32_t transformer_head_site(const struct transformer_config *config)
{
    return (uint32_t)(1 + TRANSFORMER_MAX_PARTS * config->num_hidden_layers);
}

struct transformer_cache {
    struct transformer_cache_shape shape; /* beams at least 1 */
    int64_t sources;                      /* that transformer_cache_source gave; of a decoder-only one 0 */
    int32_t *tokens, *positions;          /* [rows] of a call, without padding */
    /* On the host: */
    int64_t *lengths;     /* [batch] tokens in the cache */
    int64_t *counts;      /* [batch] new tokens of a call */
    int64_t *old_lengths; /* [batch] before a reordering */
    int32_t *source;      /* [batch] of a reordering */
    int64_t *ends;        /* [batch] the last row of each sequence in a call */
    int32_t *host_tokens, *host_positions;
    struct matrix last; /* [batch, width]: the last rows of the sequences */
    struct stack_cache stack;
    struct rotary_arena arena, host_arena;
    const struct backend *backend;
};

/* What a decoder reads of an encoder that has just run these sequences. */
struct sublayer_source transformer_source(const struct transformer *transformer,
                                          const struct token_sequences *sources);

/* ---- Randomised positions. ---- */

/* Draws those outside training, where all sequences have the same, of which shorter ones have the first: so
 * decoding with a cache gives what a forward pass gives. */
void transformer_draw_evaluation(struct transformer *transformer, uint64_t seed);
/* Gives sequences of a part, which were checked, their positions if these are randomised and not given, in
 * the part's host_positions. call: of a backward pass, for which each sequence has its own; else NULL. */
void transformer_place(const struct transformer *transformer, const struct embedded_stack *part,
                       const struct transformer_call *call, struct token_sequences *sequences);

/* ---- Checks of a caller's tokens. ---- */

/* That the tokens are in the vocabulary of the part. */
ROTARY_CHECKED rotary_status transformer_check_tokens(const struct embedded_stack *part,
                                                      const int32_t *tokens, int64_t count,
                                                      rotary_error *error);
/* That a sequence may have token `last`, counted from 0. */
ROTARY_CHECKED rotary_status transformer_check_last(const struct transformer *transformer, int64_t last,
                                                    rotary_error *error);
/* That the model has position `last`. */
ROTARY_CHECKED rotary_status transformer_check_position(const struct transformer *transformer, int64_t last,
                                                        rotary_error *error);
/* Sources that the encoder is to read; the message says that they are. */
ROTARY_CHECKED rotary_status transformer_check_sources(const struct transformer *transformer,
                                                       const struct token_sequences *sources,
                                                       rotary_error *error);
/* Input and source of a batch; neither classes nor values. */
ROTARY_CHECKED rotary_status transformer_check_sequences(const struct transformer *transformer,
                                                         const struct batch *batch, rotary_error *error);

#endif
