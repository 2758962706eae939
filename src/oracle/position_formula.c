/* SPDX-License-Identifier: Apache-2.0 */
#include "oracle/position_formula.h"

#include <string.h>

static const struct formula_encoding none = {.name = "none"},
                                     learned = {.name = "learned", .in_embedding = true},
                                     sinusoidal = {.name = "sinusoidal", .in_embedding = true},
                                     rope = {.name = "rope", .rotation = FORMULA_ROTATES},
                                     roper = {.name = "roper", .rotation = FORMULA_ROTATES_VALUES},
                                     xpos = {.name = "xpos", .rotation = FORMULA_XPOS};

const struct formula_encoding *const formula_encodings[] = {
    &none,
    &learned,
    &sinusoidal,
    &rope,
    &roper,
    &xpos,
    &formula_alibi,
    &formula_t5,
    &formula_kerple,
    &formula_sandwich,
    &formula_fire,
    &formula_shaw,
    &formula_transformer_xl,
    &formula_deberta,
    NULL,
};

const struct formula_settings formula_default_settings = {.relative_attention_num_buckets = 32,
                                                          .relative_attention_max_distance = 128,
                                                          .sandwich_channels = 128,
                                                          .max_relative_position = 16,
                                                          .fire_width = 32,
                                                          .fire_length = 512};

const struct formula_encoding *formula_find(const char *name)
{
    for (int i = 0; formula_encodings[i]; i++)
        if (strcmp(formula_encodings[i]->name, name) == 0)
            return formula_encodings[i];
    return NULL;
}
