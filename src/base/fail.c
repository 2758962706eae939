/* SPDX-License-Identifier: Apache-2.0 */
#include "base/fail.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The bytes of the control character that a text begins with; 0: it begins with none. */
static int control_bytes(const char *text)
{
    const unsigned char first = (unsigned char)text[0], second = first ? (unsigned char)text[1] : 0;
    if (first == 0xc2 && second >= 0x80 && second < 0xa0)
        return 2;
    return (first > 0 && first < ' ') || first == 0x7f;
}

void rotary_replace_control(char *text, bool keep_newlines)
{
    for (; *text; text++)
        for (int left = *text == '\n' && keep_newlines ? 0 : control_bytes(text); left > 0; left--)
            text[left - 1] = '?';
}

/* The message may quote a file or an argument; it must stay one line. */
static void write_message(rotary_error *error, size_t used, const char *format, va_list arguments)
{
    vsnprintf(error->message + used, sizeof error->message - used, format, arguments);
    rotary_replace_control(error->message, false);
}

rotary_status rotary_fail(rotary_error *error, rotary_status status, const char *format, ...)
{
    if (error) {
        error->status = status;
        va_list arguments;
        va_start(arguments, format);
        write_message(error, 0, format, arguments);
        va_end(arguments);
    }
    return status;
}

rotary_status rotary_fail_memory(rotary_error *error, const char *format, ...)
{
    static const char start[] = "no memory ";
    if (error) {
        error->status = ROTARY_OUT_OF_MEMORY;
        memcpy(error->message, start, sizeof start);
        va_list arguments;
        va_start(arguments, format);
        write_message(error, sizeof start - 1, format, arguments);
        va_end(arguments);
    }
    return ROTARY_OUT_OF_MEMORY;
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
