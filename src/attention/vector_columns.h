/* SPDX-License-Identifier: Apache-2.0
 *
 * The vectors by distance of a pass as its kernels read them: the entries that its distances use, in rows
 * and transposed, in f32 or in pairs of bf16, once for all tiles, and for each head the largest norm, which
 * bounds scores.
 */
#ifndef ROTARY_ATTENTION_VECTOR_COLUMNS_H
#define ROTARY_ATTENTION_VECTOR_COLUMNS_H

#include "attention/packed_sequences.h"
#include "kernel/attention/distance_vectors.h"

struct vector_columns {
    struct rotary_attention_table table; /* data NULL: there are none */
    struct rotary_attention_columns columns;
    int64_t tables; /* 1 where all heads share one */
    void *memory;   /* [tables, head_stride] words of 32 bits */
    void *rows;     /* [tables, rows_head_stride] words */
    float *norm;    /* [heads] */
};

/* Leaves out entries of distances that no query sees: their products are masked, and their gradients 0. */
void rotary_attention_see_vectors(const rotary_attention *attention,
                                  rotary_attention_distance_vectors *vectors);

/* Carves room for the entries that so many queries and keys use. */
void rotary_attention_carve_columns(const rotary_attention *attention, struct vector_columns *columns,
                                    rotary_attention_shape shape, struct rotary_arena *arena);
/* Packs those of a sequence. */
void rotary_attention_pack_vectors(const rotary_attention *attention, struct vector_columns *columns,
                                   rotary_attention_shape shape);

#endif
