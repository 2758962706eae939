/* SPDX-License-Identifier: Apache-2.0
 *
 * What each position encoding adds to attention, in double, by the formula of its paper and one distance
 * after another. Nothing here is shared with the encodings of models, so that either can be checked against
 * the other.
 *
 * Distances are n - m: the position of the key minus that of the query.
 */
#ifndef ROTARY_ORACLE_POSITION_FORMULA_H
#define ROTARY_ORACLE_POSITION_FORMULA_H

#include "config/settings.h"

/* At most, of an encoding. */
enum { FORMULA_PARAMETERS = 6, FORMULA_SETTINGS = 3, FORMULA_DIMENSIONS = 3 };

/* Settings of encodings, which have the keys that they have in the configurations of models. Each encoding
 * reads its own. */
struct formula_settings {
    int64_t relative_attention_num_buckets, relative_attention_max_distance;
    int kerple_kernel;
    int64_t sandwich_channels;
    int64_t max_relative_position;
    int64_t fire_width;
    double fire_length;
};

/* A learned parameter, which has the name and shape that it has in checkpoints of models. A size of 0 is the
 * formula's width where that is not known yet: the file says. */
struct formula_parameter {
    const char *name;
    int dimensions;
    int64_t shape[FORMULA_DIMENSIONS];
};

struct position_formula {
    const struct formula_encoding *encoding;
    struct formula_settings settings;
    int64_t heads, head_dim, value_dim;
    int64_t width; /* the size that files decide: of the model's vectors. 0: none yet */
    bool causal;   /* no query attends to a later key */
    const double *parameters[FORMULA_PARAMETERS]; /* in the order of list */
};

enum formula_rotation { FORMULA_NO_ROTATION, FORMULA_ROTATES, FORMULA_ROTATES_VALUES, FORMULA_XPOS };

/* Writes the vector of a head at a distance. */
typedef void formula_vector(const struct position_formula *formula, int64_t head, int64_t distance,
                            double *vector);

/* Functions that an encoding does not need are NULL. */
struct formula_encoding {
    const char *name;
    bool in_embedding; /* added to embeddings: attention has no part of it */
    enum formula_rotation rotation;

    const struct setting *settings; /* of struct formula_settings */
    int setting_count;
    /* ROTARY_INVALID_ARGUMENT for settings that do not go together. */
    rotary_status (*check)(const struct formula_settings *settings, rotary_error *error);
    /* Fills in the parameters, and returns their number. */
    int (*list)(const struct position_formula *formula, struct formula_parameter rows[FORMULA_PARAMETERS]);

    /* Added to the score after scale and softcap. */
    double (*bias)(const struct position_formula *formula, int64_t head, int64_t distance);
    /* Adds likewise where distance alone does not say: by the positions of query and key. */
    double (*pair_bias)(const struct position_formula *formula, int64_t head, int64_t m, int64_t n);
    formula_vector *key, *query; /* [head_dim]: what the query of the score is multiplied with, and the key */
    formula_vector *value;       /* [value_dim], added to the value */
    /* Parameters [heads, head_dim] that are added to queries: to those that meet keys, and to those that meet
     * the vector `key`. Indices of rows; 0: none. */
    int content_bias, position_bias;
    int products; /* that a score sums, by whose number times head_dim variances are divided; 0: 1 */
};

/* Lists the names of all encodings, NULL-terminated. */
extern const struct formula_encoding *const formula_encodings[];
/* NULL if there is none of this name. */
const struct formula_encoding *formula_find(const char *name);
extern const struct formula_settings formula_default_settings;

/* formula_biases.c */
extern const struct formula_encoding formula_alibi, formula_t5, formula_kerple, formula_sandwich;
/* formula_fire.c */
extern const struct formula_encoding formula_fire;
/* formula_vectors.c */
extern const struct formula_encoding formula_shaw, formula_transformer_xl, formula_deberta;

#endif
