/* SPDX-License-Identifier: Apache-2.0
 *
 * Reporting an error.
 */
#ifndef ROTARY_BASE_FAIL_H
#define ROTARY_BASE_FAIL_H

#include <rotary/status.h>

/* Writes `format` into `error` (if it is not NULL) and returns `status`, so that a check reads
 *     if (width % heads != 0)
 *         return rotary_fail(error, ROTARY_INVALID_ARGUMENT, "hidden_size %d is not a multiple of ...", ...);
 */
__attribute__((format(printf, 3, 4))) rotary_status rotary_fail(rotary_error *error, rotary_status status,
                                                                const char *format, ...);

#endif
