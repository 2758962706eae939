/* SPDX-License-Identifier: Apache-2.0
 *
 * A stack: blocks of typed sublayers (layer/sublayer.h) on one residual stream, with its forward and backward
 * passes and decoding. Whether it is causal is a matter of its attention plans.
 *
 * Sublayer k of n, in the order of all blocks, reads h_k and adds to the residual stream x:
 *
 *     h_k = N_k(x_s)      y_k = M_k(sublayer_k(h_k))      x_k = P_k(x_(k-1) + dropout(y_k))
 *
 * x_0 is the stack's input, and the output is N(x_n), where N is the final norm. s is k - 1, except for a
 * sublayer parallel to the one before it, which reads the same x_s. Each of N_k (norm_input), M_k
 * (norm_output), P_k (norm_sum) and N (final_norm) may be missing: it is then the identity.
 */
#ifndef ROTARY_MODEL_STACK_H
#define ROTARY_MODEL_STACK_H

#include "layer/sublayer.h"

/* The residual wiring of a sublayer. Pre-norm has norm_input (GPT-2), post-norm has norm_sum (Vaswani et al.
 * 2017), Gemma 2 has norm_input and norm_output, OLMo 2 has norm_output. */
struct sublayer_wiring {
    bool norm_input, norm_output, norm_sum;
    bool parallel;    /* reads what the sublayer before it in the block reads: x_s (GPT-NeoX) ... */
    bool shared_norm; /* ... and, with `parallel`, its N too (Phi): norm_input is not read */
};

/* One of the sublayers that every block has. */
struct stack_part {
    const char *type; /* of layer/sublayer_list.h */
    const char *name; /* parameters are "<prefix>layers.<layer>.<name>.<...>"; norms append to the name */
    struct sublayer_config config; /* without name, sizes of calls, and `attention` where `plans` has it */
    const struct attention_plan *const *plans; /* [layers], borrowed; NULL: config.attention for all layers */
    struct sublayer_wiring wiring;
};

struct stack_config {
    const char *prefix; /* of all parameters: "" or "encoder." */
    int64_t layers, parts;
    const struct stack_part *block; /* [parts] */
    int64_t width;
    enum norm_kind norm;
    float norm_epsilon;
    bool final_norm;
    uint32_t first_site; /* dropout sites: y_k has site first_site + k */
    /* The maximum per call. */
    int64_t batch, time;
    bool training;
    bool packed;    /* calls may have packed sequences */
    bool positions; /* calls may have positions of tokens */
    bool measured;  /* layer/sublayer.h */
};

struct stack;
/* Adds the parameters to the table: those of all sublayers, then of all norms. Everything in `config` but the
 * plans is copied. The stack has no memory for activations before stack_carve. */
ROTARY_CHECKED rotary_status stack_create(struct stack **stack, const struct backend *backend,
                                          const struct stack_config *config, struct parameters *parameters,
                                          rotary_error *error);
void stack_destroy(struct stack *stack); /* NULL is allowed */
/* Called twice: first to measure, then to assign memory (base/arena.h). With training activations are kept
 * for the backward pass, except for those that it makes again: norms of sums, and what a sublayer wants to.
 * Without, nothing outlives the next sublayer and all share their memory. */
void stack_carve(struct stack *stack, struct rotary_arena *arena);
/* Bytes of the packed weights of forward passes (layer/linear.h). */
size_t stack_weight_bytes(const struct stack *stack);

/* x_0, f32 [rows, width], which the caller writes before stack_forward and stack_decode. */
float *stack_input(struct stack *stack);
/* The output, [rows, width] of the storage type, until the next pass. */
struct matrix stack_output(struct stack *stack, int64_t rows);
/* The gradient of the output, of the same shape, which the caller writes before stack_backward. */
struct matrix stack_output_gradient(struct stack *stack, int64_t rows);
/* The gradient of x_0, f32 [rows, width], after stack_backward; the caller may overwrite it. */
float *stack_input_gradient(const struct stack *stack);

/* Who is told in the backward pass, after each sublayer: the gradients of rows `row` on are complete, up to those of
 * the last sublayer (stack_sublayer_rows). Those of norms are not. */
struct gradient_watch {
    void (*complete)(void *argument, int row);
    void *argument;
};
struct stack_call {
    struct sublayer_tokens tokens;
    struct dropout dropout;                    /* without its site; of probability 0: none */
    struct dropout attention_dropout;          /* of attention weights, likewise */
    struct dropout activation_dropout;         /* of feed-forward sublayers' hidden channels, likewise */
    struct sublayer_source source;             /* for cross-attention */
    const struct attention_observer *observer; /* of the forward pass; NULL: none */
    /* The backward pass has these. */
    const float *d_output; /* f32 [rows, width]; NULL: in stack_output_gradient */
    float *d_source;       /* f32 [source rows, width]: added to; NULL: not wanted, or no cross-attention */
    const struct gradient_watch *watch; /* NULL: none */
};
/* The rows of the table that sublayers have. */
struct parameter_rows stack_sublayer_rows(const struct stack *stack);
ROTARY_CHECKED rotary_status stack_forward(struct stack *stack, const struct parameters *parameters,
                                           const struct stack_call *call, rotary_error *error);
/* After stack_forward of the same call. Adds to the gradients of the parameters. */
ROTARY_CHECKED rotary_status stack_backward(struct stack *stack, struct parameters *parameters,
                                            const struct stack_call *call, rotary_error *error);

/* What the sublayers keep of the tokens so far, and of a source. */
struct stack_cache {
    struct sublayer_cache *sublayers; /* [layers * parts] */
    struct sublayer_cache_shape shape;
    int64_t *source_lengths, *old_source_lengths; /* [batch / beams], on the host */
    int32_t *source_of_source;                    /* [batch / beams], of a reordering */
    void *workspace;
};
/* A cache without memory for keys and values, which stack_cache_carve assigns. */
ROTARY_CHECKED rotary_status stack_cache_create(struct stack_cache *cache, const struct stack *stack,
                                                struct sublayer_cache_shape shape, rotary_error *error);
void stack_cache_destroy(struct stack_cache *cache);
void stack_cache_carve(struct stack_cache *cache, const struct stack *stack, struct rotary_arena *arena);

/* Gives the sublayers that read a source its keys and values, before the first stack_decode. The source has
 * at most batch / beams sequences, of at most the cache's source_time tokens each. With fewer, only the first sequences of the cache decode. */
ROTARY_CHECKED rotary_status stack_cache_source(struct stack *stack, const struct parameters *parameters,
                                                struct stack_cache *cache,
                                                const struct sublayer_source *source, rotary_error *error);

/* Sequence b, of lengths[b] tokens, continues what sequence source[b] was before: sources that appear several
 * times fork, those that do not appear are dropped. The sequences of a source stay together: they continue
 * sequences of one source. The caller reorders `lengths` likewise. */
ROTARY_CHECKED rotary_status stack_cache_reorder(struct stack *stack, struct stack_cache *cache,
                                                 const int64_t *lengths, const int32_t *source,
                                                 rotary_error *error);

/* Removes tokens keep ... keep + discard - 1 of sequence `sequence`, which has `length` in the cache. */
struct stack_shift_call {
    int64_t sequence, length, keep, discard;
};
ROTARY_CHECKED rotary_status stack_cache_shift(struct stack *stack, struct stack_cache *cache,
                                               const struct stack_shift_call *call, rotary_error *error);

/* counts[b] new tokens of sequence b, which has lengths[b] in the cache; their rows follow one another. */
struct stack_decode_call {
    int64_t batch, rows;             /* rows: the sum of counts */
    const int64_t *counts, *lengths; /* [batch] */
    const int32_t *positions;        /* [rows], of the new tokens, on the host */
    const struct stack_cache *cache;
};
ROTARY_CHECKED rotary_status stack_decode(struct stack *stack, const struct parameters *parameters,
                                          const struct stack_decode_call *call, rotary_error *error);

#endif
