/* SPDX-License-Identifier: Apache-2.0
 *
 * How the axes of a position share the pairs of a head: M-RoPE's sections, and the rows and columns of
 * towers.
 */
#ifndef ROTARY_ROPE_CONFIG_ROPE_AXES_H
#define ROTARY_ROPE_CONFIG_ROPE_AXES_H

#include "rope_config/rope_reader.h"

#include <rotary/rope.h>

/* Values of "axes", NULL-terminated. */
extern const char *const rope_axes_names[];

/* How rows and columns share the pairs of a tower's head. Halves: rows have the first half of the pairs,
 * columns the second, each with the frequencies of a head of half the size (Qwen2-VL). Alternating: likewise,
 * with every second frequency of the complete head (Pixtral). */
enum rope_tower { ROPE_TOWER_NONE, ROPE_TOWER_HALVES, ROPE_TOWER_ALTERNATING };
extern const char *const rope_tower_names[]; /* NULL-terminated, in the order of rope_tower */

/* Sets axes and sections of `plan`, whose rotary_dim is set. They are one axis where neither the file nor the
 * family says otherwise. `axial`: the rope_type is, so one axis is wrong. ROTARY_BAD_FILE if the keys are
 * wrong. */
ROTARY_CHECKED rotary_status rope_axes_read(const struct rope_reader *reader, bool axial,
                                            rotary_rope_config *plan);

#endif
