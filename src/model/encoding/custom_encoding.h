/* SPDX-License-Identifier: Apache-2.0
 *
 * Position encodings that a configuration describes by the terms that the named ones are made of. "position"
 * then has an object instead of a name:
 *
 *     "name"         letters, digits and "._+-"; not that of a named encoding
 *     "embedding"    what is added to the embedding: "none", "learned" or "sinusoidal"
 *     "rotate"       what is rotated: ["query", "key"], ["query", "key", "value"], ["value"] or []
 *     "frequencies"  of the rotation, radians per position: a formula of pair (from 0) and pairs, or a list
 *                    of a number for each pair of rotated channels; in a file also the name of a .npy file
 *     "vectors"      vectors by distance (Shaw et al. 2018): {"of": ["key", "value"], "clip": distance}
 *     "bias"         added to scores: a formula of distance, head, heads and learned numbers; or a table, a
 *                    list of numbers for keys 0, 1, 2, ... tokens away, or such a list for each head; in a
 *                    file also the name of a .npy file of either
 *     "learned"      the numbers of a formula with their initial values: each a number, a formula of head
 *                    and heads, or {"initial": either, "shared": true} for one of all heads instead of one
 *                    for each; or of a table, whether it is learned
 *
 * Formulas are those of layer/encoding/formula.h. A .npy file is looked for beside the file that names it.
 * All keys but the name may be left out. The object of a file has no name where the file's is meant.
 */
#ifndef ROTARY_MODEL_ENCODING_CUSTOM_ENCODING_H
#define ROTARY_MODEL_ENCODING_CUSTOM_ENCODING_H

#include "config/settings.h"
#include "layer/encoding/formula_bias.h"
#include "layer/encoding/table_bias.h"

enum { ENCODING_NAME_BYTES = 64 };

/* A learned number of a formula. */
struct custom_number {
    char name[FORMULA_NAME_BYTES];
    bool shared;             /* one number for all heads; else one for each */
    struct formula *initial; /* its initial value, of head and heads; owned. NULL: `value` */
    double value;
};

/* What an object describes, for models of any size; it never changes. */
struct custom_encoding {
    struct setting_description description; /* its object has a list of frequencies, if it gives one */
    char name[ENCODING_NAME_BYTES];
    struct position_encoding terms;
    int64_t clip;                /* of the vectors by distance; 0: there are none */
    struct formula *frequencies; /* owned; NULL: it gives a list, or none */
    struct formula *bias;        /* owned; its names are those of formula_bias. NULL: there is none */
    struct custom_number numbers[DISTANCE_BIAS_PARAMETERS];
    int learned;
    struct table_bias table; /* owned; values NULL: there is none */
};

/* Reads an object. `where` begins the messages. ROTARY_INVALID_ARGUMENT for a key that is unknown or wrong,
 * with the key, and of a formula the column. */
ROTARY_CHECKED rotary_status custom_encoding_read(const json_t *object, const char *where,
                                                  struct custom_encoding **encoding, rotary_error *error);
/* `encoding` may be NULL. */
void custom_encoding_free(struct custom_encoding *encoding);
/* The same for settings; messages begin with "position" and the name. */
ROTARY_CHECKED rotary_status custom_encoding_describe(const json_t *object,
                                                      struct setting_description **description,
                                                      rotary_error *error);

/* The bias of a model with so many heads, with the initial values of its numbers; its formula stays borrowed.
 * Checks that the table is of as many. formula_bias_free frees it. */
ROTARY_CHECKED rotary_status custom_encoding_bias(const struct custom_encoding *encoding, int64_t heads,
                                                  struct formula_bias *bias, rotary_error *error);
/* The frequencies that it gives for so many pairs, as a list that the caller releases; NULL: it gives none.
 */
ROTARY_CHECKED rotary_status custom_encoding_frequencies(const struct custom_encoding *encoding,
                                                         int64_t pairs, json_t **list, rotary_error *error);
bool custom_encoding_has_frequencies(const struct custom_encoding *encoding);

/* Reads and checks a file, whose object, with a name, becomes *object, which the caller releases.
 * ROTARY_BAD_FILE for what is wrong in it. */
ROTARY_CHECKED rotary_status custom_encoding_file(const char *path, json_t **object, rotary_error *error);
/* The value of "position" that a text stands for: the name of an encoding, of one that is shipped as a file
 * (model/encoding/shipped_encodings.h), or a file whose name ends in ".json". The caller releases *value. */
ROTARY_CHECKED rotary_status custom_encoding_value(const char *text, json_t **value, rotary_error *error);

#endif
