/* SPDX-License-Identifier: Apache-2.0
 *
 * How every function of librotary reports failure.
 *
 * A function that can fail returns a rotary_status and takes, last, a pointer to a rotary_error that the
 * caller owns. The pointer may be NULL. On failure the error holds a sentence that says what was wrong, what
 * was got and what was wanted; on success it is left alone. The library never exits, aborts or prints, and
 * keeps no error of its own, so threads cannot overwrite each other's.
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
    ROTARY_INVALID_ARGUMENT = 1, /* a value, shape or combination the caller chose is wrong */
    ROTARY_OUT_OF_MEMORY = 2,
    ROTARY_IO_ERROR = 3,    /* the system refused to read or write */
    ROTARY_BAD_FILE = 4,    /* a file was read and its content is wrong */
    ROTARY_UNSUPPORTED = 5, /* right, but not on this machine or in this build */
    ROTARY_INTERRUPTED = 6, /* stopped because it was asked to; what was finished is saved */
} rotary_status;

typedef struct rotary_error {
    rotary_status status;
    char message[512]; /* one line, no newline at its end */
} rotary_error;

/* "ok", "invalid argument", ...; "unknown status" for a value that is none of the above. Never NULL. */
ROTARY_API const char *rotary_status_name(rotary_status status);

#ifdef __cplusplus
}
#endif
#endif
