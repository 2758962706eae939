/* SPDX-License-Identifier: Apache-2.0
 *
 * Position encodings. There is one attention; an encoding is a row that says which of its terms are used,
 * what is added to the embedding, and which keys of a configuration are the encoding's own.
 */
#ifndef ROTARY_LAYER_ENCODING_ENCODING_H
#define ROTARY_LAYER_ENCODING_ENCODING_H

#include "backend/parameters.h"
#include "config/settings.h"
#include "layer/embedding.h"
#include "layer/encoding/encoding_list.h"

#define ROTARY_ENCODING_VALUE(capitals, name, text) POSITION_##capitals,
enum position {
    ROTARY_ENCODINGS(ROTARY_ENCODING_VALUE) POSITIONS,
    POSITION_CUSTOM =
        POSITIONS /* none of these: the configuration describes it (model/encoding/model_encoding.h) */
};
#undef ROTARY_ENCODING_VALUE

/* The values of an encoding's own keys: a struct of the type that its file declares. */
enum { ENCODING_OPTIONS_BYTES = 32 };
union encoding_options {
    unsigned char bytes[ENCODING_OPTIONS_BYTES];
    double alignment;
};

struct formula_bias; /* layer/encoding/formula_bias.h */
struct table_bias;   /* layer/encoding/table_bias.h */

/* What biases by distance depend on beside head and distance. */
struct distance_bias_settings {
    int64_t width;                      /* of the residual stream */
    union encoding_options options;     /* the encoding's own */
    const struct formula_bias *formula; /* of an encoding that has it, borrowed */
    const struct table_bias *table;     /* likewise */
};

/* A bias by head and distance, the key's position minus the query's: first, first + 1, ... It is either a
 * table, [heads, distances], or, where it has segments, a piecewise-linear function of the distance that the
 * query's position scales (rotary_attention_piecewise_bias). */
struct distance_bias_shape {
    int64_t heads, distances, first;
    bool causal;      /* no distance is above 0 */
    int64_t segments; /* 0: a table */
    struct distance_bias_settings settings;
};

/* Where the arrays of a piecewise-linear bias are, one after the other. */
struct piecewise_layout {
    int64_t intercepts, slopes, knots, inputs, scales;
    int64_t positions; /* of the scales: 1 - first */
    int64_t count;     /* floats of all */
};

static inline struct piecewise_layout piecewise_layout_of(const struct distance_bias_shape *shape)
{
    struct piecewise_layout at = {.slopes = shape->heads * shape->segments, .positions = 1 - shape->first};
    at.knots = 2 * at.slopes;
    at.inputs = at.knots + shape->segments - 1;
    at.scales = at.inputs + shape->distances;
    at.count = at.scales + at.positions;
    return at;
}

/* The most parameters that a learned bias may have. */
enum { DISTANCE_BIAS_PARAMETERS = 8 };

/* How a bias by distance is computed, on the host: the table, or the arrays of a piecewise-linear one. The
 * parameters of a fixed one are NULL, as it has none. */
struct distance_bias_function {
    void (*fill)(const struct distance_bias_shape *shape, const float *const *parameters, float *bias);
    /* Of learned biases; else NULL. `list` describes the parameters in rows that are zero (name, shape,
     * initial value) and returns their number. `gradient` adds the gradients of the parameters to arrays of
     * their shapes, from that of the bias, in an order that depends on the shape alone. */
    int (*list)(const struct distance_bias_shape *shape, struct parameter rows[DISTANCE_BIAS_PARAMETERS]);
    void (*gradient)(const struct distance_bias_shape *shape, const float *const *parameters,
                     const float *d_bias, double *const *d_parameters);
    /* Of piecewise-linear biases; NULL: a table. Tables are shared by the layers of a stack, and each layer
     * has a piecewise-linear bias of its own. */
    int64_t (*segments)(const struct distance_bias_settings *settings);
};

/* Where vectors by distance come from (struct rotary_attention_distance_vectors). */
enum distance_vector_source {
    DISTANCE_VECTORS_NONE,
    DISTANCE_VECTORS_TABLE,    /* a learned table of the layer that its heads share, of clipped distances */
    DISTANCE_VECTORS_PROJECTED /* projected by the layer, for each head, from rows that the stack has */
};

/* The rows that a stack has for projections (layer/encoding/distance_rows.h). */
enum distance_row_source {
    DISTANCE_ROWS_NONE,
    DISTANCE_ROWS_SINUSOIDS, /* of every distance (Vaswani et al. 2017) */
    DISTANCE_ROWS_TABLE      /* a learned table of clipped distances, the query's position minus the key's */
};

/* Which vectors by distance each layer has. */
struct distance_vector_terms {
    enum distance_vector_source keys, queries, values;
    enum distance_row_source rows;
    /* Learned vectors of each head are added to queries: one where they meet keys, another where they meet
     * keys by distance. The layers of a stack share them. */
    bool query_biases;
};

struct distance_rows;

/* The vectors of the layers of a stack. */
struct relative_vectors_config {
    struct distance_vector_terms terms;
    int64_t clip; /* of tables: distances beyond clip, in either direction, have the vectors at clip */
    bool causal;  /* no distance is above 0 */
    const struct distance_rows *rows; /* of the stack; borrowed */
};

/* The keys of an encoding, or of several that share them: a table over a struct of options_bytes, whose
 * default values are `defaults`. */
struct encoding_keys {
    const struct setting *settings;
    int count;
    size_t options_bytes; /* at most ENCODING_OPTIONS_BYTES */
    const void *defaults;
    /* Checks that the values agree; NULL: any that their ranges allow do. */
    rotary_status (*check)(const union encoding_options *options, rotary_error *error);
    const char *channels; /* the key that has the channels of sinusoids; NULL: it has none */
};
enum { ENCODING_MAX_CHANNELS = 1024 }; /* of sinusoids */

/* What encodings rotate: sums of rotary_attention_rotate. */
enum {
    ROTATE_QUERY_KEY = ROTARY_ROTATE_QUERY | ROTARY_ROTATE_KEY,
    ROTATE_VALUE_OUTPUT = ROTARY_ROTATE_VALUE | ROTARY_ROTATE_OUTPUT,
    ROTATE_ALL = ROTATE_QUERY_KEY | ROTATE_VALUE_OUTPUT
};
/* The names of the sums, by their letters: "q", "k", "qk", ...; that of 0, what the encoding rotates, is "position".
 * NULL-terminated. */
extern const char *const rotate_names[];

struct position_encoding {
    const struct encoding_keys *keys;  /* NULL: it has none of its own */
    enum embedding_position embedding; /* table added to the embedding */
    unsigned rotate;                   /* a sum of rotary_attention_rotate; outputs are rotated inversely */
    bool xpos; /* the rotation of queries and keys has xPos's magnitudes, where attention is causal */
    const struct distance_bias_function *distance_bias; /* NULL: there is none */
    struct distance_vector_terms distance_vectors;
    /* The distance from which on all share their vectors; NULL: there is no table of vectors. */
    int64_t (*clip)(const union encoding_options *options);
    /* Scores are divided by the root of head_dim times this, as if so many products were added up; 0: 1. */
    int score_products;
};

#define ROTARY_ENCODING_ROW(capitals, name, text) extern const struct position_encoding encoding_##name;
ROTARY_ENCODINGS(ROTARY_ENCODING_ROW)
#undef ROTARY_ENCODING_ROW

/* The row of an encoding; POSITION_CUSTOM has that of none. */
const struct position_encoding *position_encoding(enum position position);
/* The names in the order of the enum, NULL-terminated. */
extern const char *const position_names[];

/* The names of the encodings that `fits` says, as a part of a sentence: "rope, roper or xpos". */
const char *encoding_names(bool (*fits)(const struct position_encoding *encoding),
                           char text[SETTINGS_NAMES_BYTES]);
/* Names those that have the key, in the same way; NULL: it is no encoding's own. */
const char *encoding_names_with_key(const char *key, char text[SETTINGS_NAMES_BYTES]);
/* Whether the key is the encoding's own. */
bool encoding_has_key(const struct position_encoding *encoding, const char *key);

void encoding_options_default(union encoding_options options[POSITIONS]);
/* The table of each encoding's keys; those of several are in the first one's. */
void encoding_settings(union encoding_options options[POSITIONS], struct settings settings[POSITIONS]);
/* The options of an encoding, which may be those of the first of several. They are zero for POSITION_CUSTOM.
 */
union encoding_options encoding_options_of(const union encoding_options options[POSITIONS],
                                           enum position position);

#endif
