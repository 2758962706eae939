/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of arms, from the keys that are compared and their values, and of their runs.
 */
#ifndef ROTARY_RECORDS_COMPARISON_ARM_NAME_H
#define ROTARY_RECORDS_COMPARISON_ARM_NAME_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum { ARM_NAME_BYTES = 128, RUN_NAME_BYTES = ARM_NAME_BYTES + 24 };

/* Adds a key to a name: "roper" for a position encoding, its own name for one from a file; the last part of
 * the folder that `init` names, or "scratch" without one; "value_fraction=0.5" for another key, with a comma
 * before it if it is not the first. A name is a folder's too: quotes are left out, and what is no letter,
 * digit or one of "._+-=,:{}[]" becomes "_". False if it would have ARM_NAME_BYTES or more, or no memory. */
bool arm_name_add(char name[ARM_NAME_BYTES], const char *key, const json_t *value);

/* The name of the folder of an arm's run: "roper-3". Returns `name`. */
const char *run_name(char name[RUN_NAME_BYTES], const char *arm, int64_t seed);

#endif
