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

/* A bias that depends on head and distance alone, [heads, distances]: entry i of a head is added to the
 * scores of keys at distance first + i, the key's position minus the query's. */
struct distance_bias_shape {
    int64_t heads, distances, first;
};

struct position_encoding {
    enum embedding_position embedding; /* table added to the embedding */
    bool rotate_query_key, rotate_value;
    /* Fills the bias, which is the same in all layers; NULL: there is none. */
    void (*fill_distance_bias)(const struct distance_bias_shape *shape, float *bias);
};

#define ROTARY_ENCODING_ROW(capitals, name) extern const struct position_encoding encoding_##name;
ROTARY_ENCODINGS(ROTARY_ENCODING_ROW)
#undef ROTARY_ENCODING_ROW

const struct position_encoding *position_encoding(enum position position);
/* The names in the order of the enum, NULL-terminated. */
extern const char *const position_names[];

#endif
