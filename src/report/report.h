/* SPDX-License-Identifier: Apache-2.0
 *
 * The page that shows what was found: one HTML file with nothing to load, made from the records of runs
 * alone.
 */
#ifndef ROTARY_REPORT_REPORT_H
#define ROTARY_REPORT_REPORT_H

#include <rotary/status.h>

/* Writes the page of `count` folders to `path`, atomically. The folders are one comparison (it has a
 * compare.json), or runs of one task, which are then compared with each other by encoding and seed.
 * Unfinished runs are shown as far as they got, and said to be unfinished. */
ROTARY_CHECKED rotary_status report_write(const char *const *folders, int count, const char *path,
                                          rotary_error *error);

#endif
