/* SPDX-License-Identifier: Apache-2.0
 *
 * Heads in the rows of a matrix, as attention reads and writes them.
 */
#ifndef ROTARY_LAYER_ATTENTION_VIEWS_H
#define ROTARY_LAYER_ATTENTION_VIEWS_H

#include "backend/dropout.h"
#include "backend/matrix.h"

#include <rotary/attention.h>

/* The heads from first_head on, of head_dim channels each. Rows are tokens, `time` per sequence. */
static inline rotary_attention_view heads_of(struct matrix matrix, int64_t time, int64_t first_head,
                                             int64_t head_dim)
{
    size_t offset = (size_t)(first_head * head_dim) * rotary_dtype_size(matrix.dtype);
    return (rotary_attention_view){.data = (char *)matrix.data + offset,
                                   .batch_stride = time * matrix.stride,
                                   .time_stride = matrix.stride,
                                   .head_stride = head_dim};
}

/* Dropout of attention weights: it has masks of its own, whatever else is dropped at the site. */
static inline rotary_attention_dropout weights_dropout(struct dropout dropout)
{
    return (rotary_attention_dropout){.probability = dropout.probability,
                                      .first_sequence = dropout.first_row,
                                      .seed = dropout.seed,
                                      .step = dropout.step,
                                      .site = dropout.site};
}

static inline rotary_attention_const_view const_view(rotary_attention_view view)
{
    return (rotary_attention_const_view){view.data, view.batch_stride, view.time_stride, view.head_stride};
}

#endif
