/* SPDX-License-Identifier: Apache-2.0
 *
 * Which keys of a model's configuration are known, so that none that could change the rotation goes unheard.
 */
#ifndef ROTARY_FILE_ROPE_KEYS_H
#define ROTARY_FILE_ROPE_KEYS_H

#include "file/rope_reader.h"

/* ROTARY_BAD_FILE for a key of reader->rope, or one of reader->top that begins with "rope" or "rotary", that
 * is not known and not among `ignored`; null is as good as absent. */
ROTARY_CHECKED rotary_status rope_keys_check(const struct rope_reader *reader, const char *const *ignored,
                                             int ignored_count);

/* Whether models of this "model_type" are known to pair neighbours (2i, 2i + 1). NULL: no. */
bool rope_keys_interleaved(const json_t *model_type);

/* What models of this "model_type" take where their file is silent; 0: what all others take. */
struct rope_keys_defaults {
    const char *model_type;
    int64_t head_dim;
    double base, fraction;
};
struct rope_keys_defaults rope_keys_defaults_of(const json_t *model_type);

#endif
