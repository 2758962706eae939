/* SPDX-License-Identifier: Apache-2.0
 *
 * How the functions of librotary report errors.
 *
 * A function that can fail returns a rotary_status. Its last parameter points to a rotary_error of the
 * caller, or is NULL. On failure the error's message says what was wrong, what was given and what was
 * expected; on success the error is not written. The library never exits, aborts or prints, and keeps no
 * error state, so threads do not share errors.
 */
#ifndef ROTARY_STATUS_H
#define ROTARY_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define ROTARY_API     __attribute__((visibility("default")))
#define ROTARY_CHECKED __attribute__((warn_unused_result))
#else
#define ROTARY_API
#define ROTARY_CHECKED
#endif

/* Values are part of the ABI: new ones are added at the end. */
typedef enum rotary_status {
    ROTARY_OK = 0,
    ROTARY_INVALID_ARGUMENT = 1, /* a value, shape or combination of arguments is wrong */
    ROTARY_OUT_OF_MEMORY = 2,
    ROTARY_IO_ERROR = 3,    /* reading or writing failed */
    ROTARY_BAD_FILE = 4,    /* the content of a file is wrong */
    ROTARY_UNSUPPORTED = 5, /* not available on this machine or in this build */
    ROTARY_INTERRUPTED = 6, /* stopped on request; finished work is saved */
} rotary_status;

typedef struct rotary_error {
    rotary_status status;
    char message[512]; /* one line without a newline */
} rotary_error;

/* "ok", "invalid argument", ...; "unknown status" for any other value. Never NULL. */
ROTARY_API const char *rotary_status_name(rotary_status status);

#ifdef __cplusplus
}
#endif
#endif
