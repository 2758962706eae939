/* SPDX-License-Identifier: Apache-2.0
 *
 * The page that shows what was found: one HTML file with nothing to load, made from the records of runs
 * alone.
 */
#ifndef ROTARY_REPORT_REPORT_H
#define ROTARY_REPORT_REPORT_H

#include "study/collection.h"

/* Writes the page of a comparison, or of runs that are then compared with each other by encoding and seed, to
 * `path`, atomically. Unfinished runs are shown as far as they got, and said to be unfinished. */
ROTARY_CHECKED rotary_status report_write(const struct collection *collection, const char *path,
                                          rotary_error *error);

#endif
