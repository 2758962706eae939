/* SPDX-License-Identifier: Apache-2.0
 *
 * Help about the keys of a configuration, and about the presets that set them.
 */
#ifndef ROTARY_CLI_HELP_SETTINGS_H
#define ROTARY_CLI_HELP_SETTINGS_H

#include <rotary/status.h>
#include <stdbool.h>

/* Prints every key with its meaning, its values and its default. */
ROTARY_CHECKED rotary_status help_settings(rotary_error *error);
/* Prints one key so, and the values that presets give it. `key` may be another program's name for it. *found: whether
 * there is such a key; *nearest: the one whose name is nearest, NULL if none is near. */
ROTARY_CHECKED rotary_status help_key(const char *key, bool *found, const char **nearest,
                                      rotary_error *error);
/* Prints a line for each preset: its size, and where its data are if they do not come with the program. */
ROTARY_CHECKED rotary_status help_presets(rotary_error *error);
/* Prints that line of the preset "masked/small". *found: whether there is such a preset. */
ROTARY_CHECKED rotary_status help_preset(const char *name, bool *found, rotary_error *error);

#endif
