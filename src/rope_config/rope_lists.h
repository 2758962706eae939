/* SPDX-License-Identifier: Apache-2.0
 *
 * The lists of a rotation that have a number for each pair: LongRoPE's factors, frequencies that are given
 * instead of computed, and those of towers that take every second one.
 */
#ifndef ROTARY_ROPE_CONFIG_ROPE_LISTS_H
#define ROTARY_ROPE_CONFIG_ROPE_LISTS_H

#include "rope_config/rope_config.h"
#include "rope_config/rope_reader.h"

/* Reads the lists into config->numbers and points the plan's members there. config->plan has its rotary_dim,
 * base and scaling. ROTARY_BAD_FILE if a list is wrong; ROTARY_OUT_OF_MEMORY. */
ROTARY_CHECKED rotary_status rope_lists_read(const struct rope_reader *reader, struct rope_config *config);

#endif
