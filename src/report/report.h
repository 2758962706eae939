/* SPDX-License-Identifier: Apache-2.0
 *
 * The report: one HTML file that loads nothing, made from the records of runs alone.
 */
#ifndef ROTARY_REPORT_REPORT_H
#define ROTARY_REPORT_REPORT_H

#include "records/collection.h"

/* Writes the report to `path`, atomically. Unfinished runs are marked and drawn as far as they got. */
ROTARY_CHECKED rotary_status report_write(const struct collection *collection, const char *path,
                                          rotary_error *error);

#endif
