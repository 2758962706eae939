/* SPDX-License-Identifier: Apache-2.0
 *
 * A profile by operation beside the machine's limits.
 */
#ifndef ROTARY_CLI_OUTPUT_PROFILE_TABLE_H
#define ROTARY_CLI_OUTPUT_PROFILE_TABLE_H

#include "backend/profile.h"
#include "benchmark/limits.h"

#include <jansson.h>

/* Prints the rows, the longest first: milliseconds per `part` ("step"), of which there were `count`, and the
 * share of the total; the rate of arithmetic and its share of a matmul alone; the rate of the bytes that must
 * be moved and its share of a pass over memory (above 100 %: from a cache). */
void profile_table_print(const struct profile *profile, const char *part, double count,
                         const struct limits *limits);
/* The rows as an array of {"operation", "seconds", "operations", "bytes", "calls"}, sums over all parts. */
json_t *profile_table_json(const struct profile *profile);

#endif
