/* SPDX-License-Identifier: Apache-2.0
 *
 * Rotary position embeddings (RoPE; Su et al., "RoFormer", arXiv 2104.09864): plans, tables, rotation.
 *
 * A vector of head_dim channels is turned, pair by pair, by the angle position * inverse_frequency[pair]:
 *
 *     half-split pairs (i, i + rotary_dim/2)      interleaved pairs (2i, 2i+1)
 *     c c c c s s s s . .                         c s c s c s c s . .        '.' outside the rotary span
 *
 * A plan is immutable once made and may be shared by any number of threads.
 */
#ifndef ROTARY_ROPE_H
#define ROTARY_ROPE_H

#include <rotary/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rotary_rope rotary_rope;

typedef enum rotary_pairing {
    ROTARY_PAIRING_HALF = 0,        /* GPT-NeoX, Hugging Face */
    ROTARY_PAIRING_INTERLEAVED = 1, /* the RoFormer paper, Meta's Llama, GPT-J */
} rotary_pairing;

typedef struct rotary_rope_config {
    size_t struct_size;      /* sizeof(rotary_rope_config), set by rotary_rope_config_default */
    int64_t head_dim;        /* channels of a head */
    int64_t rotary_dim;      /* channels that turn: even, 2 ... head_dim; 0 means head_dim */
    int64_t rotary_start;    /* the first channel that turns; 0 is the front of the head */
    rotary_pairing pairing;
    double base;             /* rope_theta; 10000 */
    bool angles_f32;         /* compute angles in f32, as checkpoints trained that way did; default false: double */
    int64_t table_positions; /* positions 0 ... table_positions - 1 have their cosines and sines ready; others
                                are computed when asked for */
    int threads;             /* 0: all processors */
    rotary_isa isa;
} rotary_rope_config;

ROTARY_API void rotary_rope_config_default(rotary_rope_config *config);
ROTARY_API ROTARY_CHECKED rotary_status rotary_rope_create(rotary_rope **rope, const rotary_rope_config *config,
                                                           rotary_error *error);
ROTARY_API void rotary_rope_destroy(rotary_rope *rope);

#ifdef __cplusplus
}
#endif
#endif
