/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of a stack, for its files. stack.h has the equations.
 */
#ifndef ROTARY_MODEL_STACK_PARTS_H
#define ROTARY_MODEL_STACK_PARTS_H

#include "model/stack.h"

/* A norm and what its backward pass reads. */
struct stack_norm {
    struct norm norm;         /* of kind NORM_NONE where there is none */
    float *mean, *rstd;       /* [rows] */
    struct matrix normalised; /* [rows, width]; of the points' norms until the next of them runs */
};

/* Point k of the residual stream, after sublayer k; point 0 is the stack's input. The sum of stream and
 * branch is one pass with one norm that follows it: P_k, N_(k+1), or the final norm. */
struct stream_point {
    struct stack_norm fused;
    bool norm_is_stream; /* the norm is P_k: the stream goes on with the normalised sum */
    bool has_next;       /* the next sublayer reads fused.normalised, or it is the output */
    bool is_read;        /* a sublayer does, or it is the output */
    float *sum;          /* [rows, width]: x_(k-1) + dropout(y_k) */
    float *stream;       /* [rows, width]: x_k, which is `sum` unless norm_is_stream */
};

struct stack_sublayer {
    struct sublayer *sublayer;
    struct sublayer_wiring wiring;
    int64_t part;      /* of its block */
    int64_t reads;     /* s: the point that it reads */
    bool has_own_norm; /* N is not the norm of point s, but a pass of its own */
    struct stack_norm own;
    struct stack_norm output_norm; /* M; normalised is not used: the output is the stack's sublayer_output */
    struct matrix output;          /* of the sublayer, where M follows */
    int first_row;                 /* of its parameters in the table, which follow each other */
};

struct stack {
    const struct backend *backend;
    struct stack_config config;       /* without prefix and block: they were borrowed */
    int64_t count;                    /* of sublayers */
    int end_row;                      /* behind the parameters of the last one */
    struct stack_sublayer *sublayers; /* [count]; sublayer k of the equations is sublayers[k - 1] */
    struct stream_point *points;      /* [count + 1] */

    struct matrix sublayer_output; /* y_k; in the backward pass its gradient */
    struct matrix d_normalised;    /* of what the next sublayer reads */
    struct matrix *d_parallel;     /* [parts]: of what sublayers read that wait for the one before them */
    float *d_stream;
};

/* What sublayer k - 1 of the stack reads. */
static inline struct matrix stack_input_of(const struct stack *stack, int64_t k)
{
    const struct stack_sublayer *row = &stack->sublayers[k];
    return row->has_own_norm ? row->own.normalised : stack->points[row->reads].fused.normalised;
}

/* Whether the gradient of what sublayers[k] reads waits until the point that it reads: that of the next
 * reader is in d_normalised. */
static inline bool stack_waits(const struct stack *stack, int64_t k)
{
    const struct stack_sublayer *row = &stack->sublayers[k];
    return row->has_own_norm || row->wiring.parallel;
}

#endif
