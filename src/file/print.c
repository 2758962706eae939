/* SPDX-License-Identifier: Apache-2.0 */
#include "file/print.h"

#include "base/fail.h"
#include "file/file.h"

#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

enum { FIRST_CAPACITY = 4096 };

static rotary_status no_memory(struct print *print, rotary_error *error)
{
    free(print->text);
    *print = (struct print){0};
    return rotary_fail_memory(error, "for the text of a result");
}

/* Returns 0 on failure. */
static ssize_t keep(void *cookie, const char *bytes, size_t count)
{
    struct print *print = cookie;
    if (count >= print->capacity - print->count) {
        size_t capacity = 2 * (print->capacity + count);
        char *larger = realloc(print->text, capacity);
        if (!larger)
            return 0;
        print->text = larger;
        print->capacity = capacity;
    }
    memcpy(print->text + print->count, bytes, count);
    print->count += count;
    print->text[print->count] = 0;
    return (ssize_t)count;
}

rotary_status print_begin(struct print *print, rotary_error *error)
{
    *print = (struct print){.text = calloc(FIRST_CAPACITY, 1), .capacity = FIRST_CAPACITY};
    print->stream = print->text ? fopencookie(print, "w", (cookie_io_functions_t){.write = keep}) : NULL;
    return print->stream ? ROTARY_OK : no_memory(print, error);
}

rotary_status print_end(struct print *print, rotary_error *error)
{
    bool failed = ferror(print->stream) != 0;
    if (fclose(print->stream) != 0 || failed)
        return no_memory(print, error);
    print->stream = NULL;
    return ROTARY_OK;
}

rotary_status print_replace(struct print *print, const char *path, rotary_error *error)
{
    rotary_status status = print_end(print, error);
    if (status != ROTARY_OK)
        return status;
    status = file_replace(path, print->text, print->count, error);
    free(print->text);
    return status;
}
