/* SPDX-License-Identifier: Apache-2.0
 *
 * Reporting an error.
 */
#ifndef ROTARY_BASE_FAIL_H
#define ROTARY_BASE_FAIL_H

#include <rotary/status.h>
#include <stdbool.h>

/* Writes `format` into `error` (if it is not NULL) and returns `status`, so that a check reads
 *     if (width % heads != 0)
 *         return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "hidden_size %d is not a multiple of ...", ...);
 */
__attribute__((format(printf, 3, 4))) rotary_status rotary_fail(rotary_error *error, rotary_status status,
                                                                const char *format, ...);

/* "no memory " and `format`, such as "for a corpus" or "to read %s"; returns ROTARY_OUT_OF_MEMORY. */
__attribute__((format(printf, 2, 3))) rotary_status rotary_fail_memory(rotary_error *error,
                                                                       const char *format, ...);

/* Replaces what a terminal obeys by "?": the characters below the space (but for newlines, if they are to
 * stay), DEL, and of UTF-8 those from U+0080 to U+009F, among which is another escape. */
void rotary_replace_control(char *text, bool keep_newlines);

#endif
