/* SPDX-License-Identifier: Apache-2.0
 *
 * The values of an encoding's own keys, for tests of layers.
 */
#ifndef TESTS_LAYER_ENCODING_KEYS_H
#define TESTS_LAYER_ENCODING_KEYS_H

#include "support/check.h"

#include "layer/encoding/encoding.h"

#include <stdio.h>
#include <string.h>

/* The default values, but for assignments that are separated by ';'. */
static inline union encoding_options options_with(enum position position, const char *assignments)
{
    union encoding_options options[POSITIONS];
    struct settings settings[POSITIONS];
    rotary_error error = {0};
    char text[256];
    encoding_options_default(options);
    encoding_settings(options, settings);
    snprintf(text, sizeof text, "%s", assignments);
    for (char *one = strtok(text, ";"); one; one = strtok(NULL, ";"))
        if (!CHECK_INT(settings_assign(settings, POSITIONS, one, &error), ROTARY_OK))
            printf("%s\n", error.message);
    return encoding_options_of(options, position);
}

#endif
