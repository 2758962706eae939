/* SPDX-License-Identifier: Apache-2.0
 *
 * Where time went, by operation, beside the machine's limits.
 */
#ifndef ROTARY_CLI_PROFILE_TABLE_H
#define ROTARY_CLI_PROFILE_TABLE_H

#include "benchmark/limits.h"
#include "tensor/profile.h"

#include <jansson.h>

/* Prints the rows, the longest first, as milliseconds of one of `count` equal parts ("a step"), with the
 * share of the whole; for each the rate of its arithmetic as a share of products alone, and of the bytes it
 * must move at least as a share of a pass over memory. (More than all of it: they came from a cache.) */
void profile_table_print(const struct profile *profile, const char *part, double count,
                         const struct limits *limits);
/* The rows as an array of {"operation", "seconds", "operations", "bytes", "calls"}, sums over all parts. */
json_t *profile_table_json(const struct profile *profile);

#endif
