/* SPDX-License-Identifier: Apache-2.0 */
#include "base/fail.h"

#include <stdarg.h>
#include <stdio.h>

rotary_status rotary_fail(rotary_error *error, rotary_status status, const char *format, ...)
{
    if (error) {
        error->status = status;
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(error->message, sizeof error->message, format, arguments);
        va_end(arguments);
        /* The message may quote a file or an argument; it must stay one line. */
        for (char *c = error->message; *c; c++)
            if ((unsigned char)*c < ' ' || *c == 0x7f)
                *c = '?';
    }
    return status;
}

const char *rotary_status_name(rotary_status status)
{
    switch (status) {
    case ROTARY_OK:
        return "ok";
    case ROTARY_INVALID_ARGUMENT:
        return "invalid argument";
    case ROTARY_OUT_OF_MEMORY:
        return "out of memory";
    case ROTARY_IO_ERROR:
        return "input/output error";
    case ROTARY_BAD_FILE:
        return "bad file";
    case ROTARY_UNSUPPORTED:
        return "unsupported";
    case ROTARY_INTERRUPTED:
        return "interrupted";
    }
    return "unknown status";
}
