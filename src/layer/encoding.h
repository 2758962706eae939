/* SPDX-License-Identifier: Apache-2.0
 *
 * Position encodings. There is one attention; an encoding says which of its terms are used, and what is added
 * to the embedding.
 */
#ifndef ROTARY_LAYER_ENCODING_H
#define ROTARY_LAYER_ENCODING_H

#include "layer/embedding.h"
#include "layer/encoding_list.h"

#define ROTARY_ENCODING_VALUE(capitals, name) POSITION_##capitals,
enum position { ROTARY_ENCODINGS(ROTARY_ENCODING_VALUE) POSITIONS };
#undef ROTARY_ENCODING_VALUE

struct position_encoding {
    enum embedding_position embedding; /* table added to the embedding */
    bool rotate_query_key, rotate_value;
};

#define ROTARY_ENCODING_ROW(capitals, name) extern const struct position_encoding encoding_##name;
ROTARY_ENCODINGS(ROTARY_ENCODING_ROW)
#undef ROTARY_ENCODING_ROW

const struct position_encoding *position_encoding(enum position position);
/* The names in the order of the enum, NULL-terminated. */
extern const char *const position_names[];

#endif
