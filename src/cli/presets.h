/* SPDX-License-Identifier: Apache-2.0
 *
 * The presets that come with the program: presets/<task>/<name>.json, embedded by cmake/presets.cmake.
 */
#ifndef ROTARY_CLI_PRESETS_H
#define ROTARY_CLI_PRESETS_H

struct preset {
    const char *task, *name;
    const char *text; /* the file */
};

extern const struct preset presets[]; /* by task and name; a row of NULLs ends it */

#endif
