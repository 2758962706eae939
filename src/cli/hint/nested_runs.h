/* SPDX-License-Identifier: Apache-2.0
 *
 * What is said of a folder, or an archive, that holds no run itself: folders in it may hold some.
 */
#ifndef ROTARY_CLI_HINT_NESTED_RUNS_H
#define ROTARY_CLI_HINT_NESTED_RUNS_H

#include <rotary/status.h>

/* Names the first such folder of the first of `count` paths that has one, in place of the message of an error; where none
 * has, the message stays. Returns the error's status. */
rotary_status nested_runs_name(const char *const *paths, int count, rotary_error *error);

#endif
