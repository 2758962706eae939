/* SPDX-License-Identifier: Apache-2.0 */
#include "file/mapped_file.h"

#include "base/fail.h"
#include "file/input.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

rotary_status mapped_file_open(struct mapped_file *file, const char *path, rotary_error *error)
{
    struct input input;
    rotary_status status = input_open(&input, path, error);
    if (status != ROTARY_OK)
        return status;
    *file = (struct mapped_file){(const unsigned char *)"", (size_t)input.size};
    void *mapped =
        input.size > 0 ? mmap(NULL, (size_t)input.size, PROT_READ, MAP_PRIVATE, input.descriptor, 0) : NULL;
    if (input.pipe)
        status = rotary_fail(error, ROTARY_IO_ERROR, "%s is a pipe, wanted a file", path);
    else if (mapped == MAP_FAILED)
        status = rotary_fail(error, ROTARY_IO_ERROR, "cannot map %s: %s", path, strerror(errno));
    else if (mapped)
        file->bytes = mapped;
    input_close(&input);
    if (status != ROTARY_OK)
        *file = (struct mapped_file){0};
    return status;
}

void mapped_file_close(struct mapped_file *file)
{
    if (file->size > 0)
        munmap((void *)(uintptr_t)file->bytes, file->size);
    *file = (struct mapped_file){0};
}
