/* SPDX-License-Identifier: Apache-2.0
 *
 * The presets that come with the program: presets/<task>/<name>.json, embedded by cmake/presets.cmake.
 */
#ifndef ROTARY_CLI_PRESETS_H
#define ROTARY_CLI_PRESETS_H

#include <jansson.h>
#include <rotary/status.h>

struct preset {
    const char *task, *name;
    const char *text; /* the file */
};

extern const struct preset presets[]; /* by task and name; a row of NULLs ends it */

/* Parses a preset, which the caller releases; `where` becomes its name for messages, "preset prefix/quick".
 */
enum { PRESET_WHERE_BYTES = 128 };
ROTARY_CHECKED rotary_status preset_parse(const struct preset *preset, char where[PRESET_WHERE_BYTES],
                                          json_t **object, rotary_error *error);

#endif
