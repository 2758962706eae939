/* SPDX-License-Identifier: Apache-2.0
 *
 * The contract of the kernels that rotate pairs of channels.
 *
 * A pair (x0, x1) with cosine c and sine s becomes
 *
 *     y0 = x0 c - x1 s
 *     y1 = x0 s + x1 c
 *
 * in f32, with at most one rounding of each product and one of the sum, then one rounding to the output's
 * type. tests/rope/rotation_reference.h is the specification; rope_kernels.c is compiled once per variant,
 * and every variant is tested against it. A kernel touches no byte but those of the tile's channels.
 */
#ifndef ROTARY_KERNEL_ROPE_ROPE_KERNELS_H
#define ROTARY_KERNEL_ROPE_ROPE_KERNELS_H

#include <rotary/rope.h>

enum { ROTARY_PAIRINGS = 2, ROTARY_DTYPES = 3 };

/* `times` tokens by `heads` heads. All heads of a token share a row of cosines and sines. */
struct rotary_rope_tile {
    const void *input; /* channel 0 of pair 0 of head 0 of token 0 */
    void *output;      /* likewise; may be `input` if types and strides are the same */
    int64_t times, heads, pairs;
    int64_t input_time_stride, input_head_stride;   /* in elements */
    int64_t output_time_stride, output_head_stride; /* in elements */
    int64_t partner;            /* half-split pairs: distance in channels within a pair, at least `pairs` */
    const float *cosine, *sine; /* [times, pairs] */
};

/* Rotates every pair of the tile. Interleaved pairs are neighbours and ignore `partner`. */
typedef void rotary_rope_rotate(const struct rotary_rope_tile *tile);

/* Copies `count` contiguous elements, bit for bit if both types are the same. */
typedef void rotary_rope_copy(const void *input, void *output, int64_t count);

/* Indexed by pairing, type of the input, type of the output. */
struct rotary_rope_kernels {
    rotary_rope_rotate *rotate[ROTARY_PAIRINGS][ROTARY_DTYPES][ROTARY_DTYPES];
    rotary_rope_copy *copy[ROTARY_DTYPES][ROTARY_DTYPES];
};

/* The kernels for `isa`, which this machine must have (rotary_isa_available) and which is not
 * ROTARY_ISA_AUTO; the scalar ones if the build has none for it. */
const struct rotary_rope_kernels *rotary_rope_kernels(rotary_isa isa);

#endif
