/* SPDX-License-Identifier: Apache-2.0
 *
 * The version, here and nowhere else: the build reads it from this file. docs/abi.md says what its numbers
 * promise.
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

/* 1002003 for 1.2.3: for #if. */
#define ROTARY_VERSION_NUMBER                                                                                \
    (ROTARY_VERSION_MAJOR * 1000000 + ROTARY_VERSION_MINOR * 1000 + ROTARY_VERSION_PATCH)

/* ROTARY_VERSION_NUMBER of the library that runs, which may be newer than the headers it was called with. */
ROTARY_API int rotary_version_number(void);
/* The same as text, "1.2.3". Never NULL; not the caller's to free. */
ROTARY_API const char *rotary_version(void);

#ifdef __cplusplus
}
#endif
#endif
