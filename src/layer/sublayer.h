/* SPDX-License-Identifier: Apache-2.0
 *
 * A sublayer: one residual branch of a transformer, such as self-attention or feed-forward. Each type is a
 * row of functions behind this interface, in a file of its own; sublayer_list.h lists them. A stack
 * (model/stack.h) joins sublayers by residual sums and norms and knows no type.
 *
 * A sublayer maps rows of the residual stream, [rows, width] of the storage type, to rows of the same shape.
 * A row is a token.
 */
#ifndef ROTARY_LAYER_SUBLAYER_H
#define ROTARY_LAYER_SUBLAYER_H

#include "layer/encoding/distance_bias.h"
#include "layer/linear.h"
#include "layer/norm.h"

/* PyTorch draws weight and bias of a linear layer uniformly within 1 / sqrt(inputs). GPT-2 draws the weight
 * from a normal distribution, whose variance is divided by `depth` where the output joins the residual
 * stream, and sets biases to zero. BERT (Devlin et al. 2019) does so without dividing. Glorot and Bengio 2010
 * (xavier_uniform_) draw every matrix uniformly within sqrt(6 / (inputs + outputs)), tables of embeddings
 * too; biases are as PyTorch draws them. Queries, keys and values, and gate and up of SwiGLU, are matrices of
 * their own there, though they are stored as one.
 */
enum initial_kind { INITIALISE_PYTORCH, INITIALISE_NORMAL, INITIALISE_GLOROT, INITIALISE_BERT };
/* Whether matrices are drawn from a normal distribution, and biases are zero. */
static inline bool initial_is_normal(enum initial_kind kind)
{
    return kind == INITIALISE_NORMAL || kind == INITIALISE_BERT;
}
struct initial_config {
    enum initial_kind kind;
    double range; /* standard deviation of the normal distribution */
    double depth; /* residual branches of the stack: 2 per layer */
};

/* Norms of queries and keys before they are rotated: of each head (Qwen 3, Gemma 3; Henry et al. 2020), or of
 * all heads together (OLMo 2). */
enum query_key_norm { QUERY_KEY_NORM_NONE, QUERY_KEY_NORM_HEAD, QUERY_KEY_NORM_ALL };

/* What the values of self-attention are. Without a projection of their own they are the keys: rotated, as in
 * DeepSeek-V4, where attention has one tensor and one cache for both; or as they are before the rotation. */
enum key_is_value { KEY_IS_VALUE_NO, KEY_IS_VALUE_ROTATED, KEY_IS_VALUE_UNROTATED };

/* One structure for all types: each reads the members it needs. */
struct sublayer_config {
    const char *name; /* its parameters are "<name>.<...>" */
    int64_t width;    /* of the residual stream */
    /* The maximum per call. */
    int64_t batch, time;
    int64_t source_time, source_width; /* of an encoder's output; 0: there is none */
    bool training;
    bool packed;    /* calls may have packed sequences */
    bool positions; /* calls may have positions of tokens */
    bool measured;  /* only its size is wanted: it gets no memory for packed weights and cannot run */
    struct initial_config initial;
    bool in_bias, out_bias; /* of the projections from and back to the residual stream */

    int64_t heads, key_value_heads, head_dim;
    const struct attention_plan *attention; /* the plan of heads, visibility and rotation; borrowed */
    enum query_key_norm query_key_norm;
    enum norm_kind norm; /* of queries and keys */
    float norm_epsilon;

    enum key_is_value key_is_value; /* of self-attention, whose plan has rotated keys as values likewise */
    bool sinks; /* a learned logit of each head in the denominator of its softmax: "<name>.sinks" */

    rotary_attention_distance_bias distance_bias; /* of scores; in the backend's memory, borrowed */
    bool learned_distance_bias; /* it has a gradient in training; known where the bias has no memory yet */
    struct relative_vectors_config distance_vectors;

    /* Describes a piecewise-linear bias that the layer has for itself; function NULL: none. The prefix is not
     * read. */
    struct distance_bias_config layer_bias;

    int64_t hidden;
    enum activation activation;
};

/* The tokens of a call: row b * time + t is token t of sequence b. Arrays are the caller's. */
struct sublayer_tokens {
    int64_t batch, time;
    /* Packed sequences: batch is 1, and sequence s has the rows starts[s] ... starts[s + 1] - 1. NULL: not
     * packed. */
    const int32_t *starts;
    int64_t sequences;
    const int32_t *positions; /* [batch, time], for rotations; NULL: 0, 1, 2, ... in every sequence */
};

/* An encoder's output: `time` rows of each sequence of the call. It is packed where the tokens are: `time`
 * then counts all rows, of which starts[s] ... starts[s + 1] - 1 belong to packed sequence s. Arrays are the
 * caller's. */
struct sublayer_source {
    struct matrix rows; /* [batch * time, source width] of the storage type; data NULL: none */
    int64_t time;
    const int32_t *starts;    /* [sequences + 1]; NULL: not packed */
    int64_t sequences;        /* packed ones; 0 without starts */
    const int32_t *positions; /* [rows], for rotations; NULL: 0, 1, 2, ... in every sequence */
};

static inline int64_t sublayer_rows(const struct sublayer_tokens *tokens)
{
    return tokens->batch * tokens->time;
}

struct sublayer;

/* Gets every call of attention in a forward pass, when it has been made and its tensors are still there:
 * for those who want more than its output, such as its weights. */
struct attention_observer {
    rotary_status (*see)(void *context, const struct sublayer *sublayer,
                         const struct backend_attention_forward *call, rotary_error *error);
    void *context;
};

/* out = sublayer(in). Keeps in the sublayer what the backward pass reads. */
struct sublayer_forward_call {
    struct sublayer_tokens tokens;
    struct matrix out, in;
    struct sublayer_source source;
    struct dropout dropout;                    /* of attention weights; probability 0: none */
    struct dropout activation_dropout;         /* of a feed-forward sublayer's hidden channels */
    const struct attention_observer *observer; /* NULL: none */
};

/* d_in from d_out. Adds to the gradients of the parameters. */
struct sublayer_backward_call {
    struct sublayer_tokens tokens;
    struct sublayer_source source;
    /* f32 [source rows, source width]: the gradient of the source is added to it; NULL: not wanted */
    float *d_source;
    struct matrix d_in, d_out, in;
    struct dropout dropout, activation_dropout; /* as in the forward pass */
};

/* The memory of one sublayer in a cache: keys and values of the tokens so far, or of the source. */
struct sublayer_cache {
    void *key, *value; /* value NULL: it is in `key` too */
    int64_t capacity;  /* tokens of a sequence */
};

/* out = sublayer(in) of new tokens: counts[b] of sequence b, which has lengths[b] in the cache. The rows of
 * sequence b follow those of sequence b - 1. Appends to the cache. */
struct sublayer_decode_call {
    int64_t batch;
    const int64_t *counts, *lengths; /* [batch] */
    const int32_t *positions;        /* [sum of counts], of the new tokens, on the host */
    struct matrix out, in;           /* [sum of counts, width] */
    int64_t beams;                   /* sequences of each source, which follow one another */
    const int64_t *source_lengths;   /* [batch / beams] */
    struct sublayer_cache cache;
    void *workspace; /* cache_bytes */
};

/* Afterwards sequence b continues what sequence source[b] was before. With beams, the sequences of a source
 * stay together: source[b] / beams is the same for all of them. */
struct sublayer_reorder_call {
    int64_t batch, beams;
    const int64_t *lengths, *source_lengths; /* before: [batch], [batch / beams] */
    const int32_t *source;                   /* [batch] */
    const int32_t *source_of_source;         /* [batch / beams]: source[b] / beams */
    struct sublayer_cache cache;
    void *workspace; /* cache_bytes */
};

/* Sequence `sequence` of `length` tokens loses the tokens keep ... keep + discard - 1; those that follow take
 * their places and positions. */
struct sublayer_shift_call {
    int64_t sequence, length, keep, discard;
    struct sublayer_cache cache;
};

/* Keys and values of a source, which is as long as the cache or shorter, and has as many sequences as the
 * cache has sources or fewer. They are for sources 0, 1, 2, ... of the cache. */
struct sublayer_cache_source_call {
    struct sublayer_source source;
    int64_t sources;              /* sequences of the source */
    const int64_t *empty_lengths; /* [sources], all 0, on the host */
    struct sublayer_cache cache;
    void *workspace; /* cache_bytes */
};

struct sublayer_cache_shape {
    int64_t batch, capacity;
    int64_t beams;       /* sequences of each source, at least 1; it divides batch */
    int64_t count;       /* the maximum of new tokens per sequence and call */
    int64_t source_time; /* the maximum of tokens of a source; 0: there are none */
};

struct sublayer_type {
    const char *name;
    /* Adds the parameters to the table. sublayer_create fills the members of struct sublayer afterwards. */
    rotary_status (*create)(struct sublayer **sublayer, const struct backend *backend,
                            const struct sublayer_config *config, struct parameters *parameters,
                            rotary_error *error);
    void (*destroy)(struct sublayer *sublayer);
    /* Counts the packed weights of forward passes (layer/linear.h). */
    size_t (*weight_bytes)(const struct sublayer *sublayer);

    /* Both are called twice, first to measure (base/arena.h). carve_saved: what the forward pass stores for
     * the backward pass. carve_scratch: what is used within one call; all sublayers share that memory.
     * Without training they share the first too. */
    void (*carve_saved)(struct sublayer *sublayer, struct rotary_arena *arena);
    void (*carve_scratch)(struct sublayer *sublayer, struct rotary_arena *arena);

    rotary_status (*forward)(struct sublayer *sublayer, const struct parameters *parameters,
                             const struct sublayer_forward_call *call, rotary_error *error);
    rotary_status (*backward)(struct sublayer *sublayer, struct parameters *parameters,
                              const struct sublayer_backward_call *call, rotary_error *error);

    rotary_status (*decode)(struct sublayer *sublayer, const struct parameters *parameters,
                            const struct sublayer_decode_call *call, rotary_error *error);
    /* NULL for types whose output is a function of each row alone: they need no cache. */
    struct sublayer_cache (*carve_cache)(const struct sublayer *sublayer, struct rotary_arena *arena,
                                         struct sublayer_cache_shape shape);
    rotary_status (*reorder)(struct sublayer *sublayer, const struct sublayer_reorder_call *call,
                             rotary_error *error);
    /* Removes tokens from the cache, which is then that of the tokens that are left, at positions one after
     * another, with what their keys and values were; NULL for types without a cache, and for those whose
     * cache is of a source. */
    rotary_status (*shift)(struct sublayer *sublayer, const struct sublayer_shift_call *call,
                           rotary_error *error);
    /* Counts the workspace of decode and reorder. */
    size_t (*cache_bytes)(const struct sublayer *sublayer, struct sublayer_cache_shape shape);
    /* Fills the cache of a sublayer that reads a source, before the first decode; NULL for other types. */
    rotary_status (*cache_source)(struct sublayer *sublayer, const struct parameters *parameters,
                                  const struct sublayer_cache_source_call *call, rotary_error *error);
};

/* The first member of each type's struct. */
struct sublayer {
    const struct sublayer_type *type;
    const struct backend *backend;
    struct sublayer_config config; /* its name is NULL: it was borrowed */
};

/* A sublayer of the type of this name. */
ROTARY_CHECKED rotary_status sublayer_create(struct sublayer **sublayer, const char *type,
                                             const struct backend *backend,
                                             const struct sublayer_config *config,
                                             struct parameters *parameters, rotary_error *error);

/* The first `rows` rows of a matrix that is allocated for the maximum. */
static inline struct matrix first_rows(struct matrix m, int64_t rows)
{
    return matrix_rows(m, 0, rows);
}

#endif
