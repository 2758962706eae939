/* SPDX-License-Identifier: Apache-2.0
 *
 * Keys of a model's configuration, for tests of models.
 */
#ifndef TESTS_MODEL_MODEL_KEYS_H
#define TESTS_MODEL_MODEL_KEYS_H

#include "support/check.h"

#include "model/transformer_config.h"

#include <stdio.h>

/* Sets what the object says; the test fails where it is refused. */
static inline bool model_read(struct transformer_config *config, const json_t *object)
{
    struct settings settings[TRANSFORMER_SETTINGS];
    rotary_error error = {0};
    transformer_settings(config, settings);
    const bool read =
        CHECK_INT(settings_read(settings, TRANSFORMER_SETTINGS, object, "test", &error), ROTARY_OK);
    if (!read)
        printf("%s\n", error.message);
    return read;
}

/* Sets a key: "hidden_size=32". */
static inline void model_assign(struct transformer_config *config, const char *assignment)
{
    struct settings settings[TRANSFORMER_SETTINGS];
    rotary_error error = {0};
    transformer_settings(config, settings);
    if (!CHECK_INT(settings_assign(settings, TRANSFORMER_SETTINGS, assignment, &error), ROTARY_OK))
        printf("%s\n", error.message);
}

#endif
