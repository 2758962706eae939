/* SPDX-License-Identifier: Apache-2.0
 *
 * The version. The build reads it from this file; docs/reference/abi.md defines its numbers.
 */
#ifndef ROTARY_VERSION_H
#define ROTARY_VERSION_H

#include <rotary/status.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ROTARY_VERSION_MAJOR 0
#define ROTARY_VERSION_MINOR 1
#define ROTARY_VERSION_PATCH 0

/* 1002003 for version 1.2.3; can be used in #if. */
#define ROTARY_VERSION_NUMBER                                                                                \
    (ROTARY_VERSION_MAJOR * 1000000 + ROTARY_VERSION_MINOR * 1000 + ROTARY_VERSION_PATCH)

/* ROTARY_VERSION_NUMBER of the library at run time, which may be newer than these headers. */
ROTARY_API int rotary_version_number(void);
/* Returns it as text, "1.2.3". Never NULL; belongs to the library. */
ROTARY_API const char *rotary_version(void);

#ifdef __cplusplus
}
#endif
#endif
