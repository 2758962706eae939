/* SPDX-License-Identifier: Apache-2.0
 *
 * The day, for what is written.
 */
#ifndef ROTARY_FILE_DATE_H
#define ROTARY_FILE_DATE_H

enum { DATE_BYTES = 16 };
/* Writes the day by UTC, "2026-01-31", or that of SOURCE_DATE_EPOCH (reproducible-builds.org) where the
 * environment has it. Returns `text`. */
const char *date_today(char text[DATE_BYTES]);

#endif
