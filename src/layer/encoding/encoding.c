/* SPDX-License-Identifier: Apache-2.0 */
#include "layer/encoding/encoding.h"

#define ENCODING_POINTER(capitals, name, text) &encoding_##name,
static const struct position_encoding *const encodings[] = {ROTARY_ENCODINGS(ENCODING_POINTER)};

#define ENCODING_NAME(capitals, name, text) text,
const char *const position_names[] = {ROTARY_ENCODINGS(ENCODING_NAME) NULL};

const struct position_encoding *position_encoding(enum position position)
{
    return position == POSITION_CUSTOM ? &encoding_none : encodings[position];
}
