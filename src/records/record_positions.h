/* SPDX-License-Identifier: Apache-2.0
 *
 * The loss by position (score/position_losses.h) as JSON has it, a bin after another:
 *
 *     [{"begin": 0, "tokens": 480, "loss": 2.71}, {"begin": 16, "tokens": 480, "loss": 2.12}, ...]
 *
 * "begin" is the first position of a bin, and "loss" is null where it has no tokens.
 */
#ifndef ROTARY_RECORDS_RECORD_POSITIONS_H
#define ROTARY_RECORDS_RECORD_POSITIONS_H

#include "config/json_fields.h"
#include "score/position_losses.h"

/* NULL without memory. */
json_t *record_positions_json(const struct position_losses *losses);
/* Reads the field "positions" of an object, of sequences of `length` tokens; where there is none, nothing is
 * known. */
ROTARY_CHECKED rotary_status record_positions_read(const struct json_source *source, const json_t *object,
                                                   int64_t length, struct position_losses *losses,
                                                   rotary_error *error);

#endif
