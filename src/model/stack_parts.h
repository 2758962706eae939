/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of a stack, for its files. stack.h has the equations.
 */
#ifndef ROTARY_MODEL_STACK_PARTS_H
#define ROTARY_MODEL_STACK_PARTS_H

#include "model/stack.h"

/* Point k of the residual stream, after sublayer k; point 0 is the stack's input. The sum of stream and
 * branch is one pass with the norm that follows it: N_(k+1), P_k, or the final norm. */
struct stream_point {
    bool has_norm;
    bool norm_is_stream; /* P_k: the stream goes on with the normalised sum */
    struct norm norm;
    float *sum;               /* [rows, width]: x_(k-1) + dropout(y_k) */
    float *stream;            /* [rows, width]: x_k, which is `sum` unless norm_is_stream */
    float *mean, *rstd;       /* [rows] */
    struct matrix normalised; /* what the next sublayer reads */
};

struct stack_sublayer {
    struct sublayer *sublayer;
    struct sublayer_wiring wiring;
};

struct stack {
    const struct backend *backend;
    struct stack_config config;       /* without prefix and block: they were borrowed */
    int64_t count;                    /* of sublayers */
    struct stack_sublayer *sublayers; /* [count]; sublayer k of the equations is sublayers[k - 1] */
    struct stream_point *points;      /* [count + 1] */

    struct matrix sublayer_output; /* of sublayer k; in the backward pass its gradient */
    struct matrix d_normalised;
    float *d_stream;
};

#endif
