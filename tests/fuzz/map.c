/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes reads past the end of a mapped file fault. A mapping extends to the end of its last page, so that
 * such reads go unnoticed. The linker's --wrap redirects mmap and munmap here: the file is read into memory
 * that ends at an inaccessible page, up to a few bytes for alignment.
 */
#include "support/guard.h"

#include <sys/mman.h>
#include <unistd.h>

enum { ALIGNMENT = 16 };

void *__wrap_mmap(void *address, size_t length, int protection, int flags, int descriptor, off_t offset);
int __wrap_munmap(void *address, size_t length);
void *__real_mmap(void *address, size_t length, int protection, int flags, int descriptor, off_t offset);
int __real_munmap(void *address, size_t length);

/* The one file that is mapped. */
static struct guarded mapped;

void *__wrap_mmap(void *address, size_t length, int protection, int flags, int descriptor, off_t offset)
{
    if (descriptor < 0 || mapped.data)
        return __real_mmap(address, length, protection, flags, descriptor, offset);
    struct guarded guarded = guarded_create((length + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT, true);
    if (pread(descriptor, guarded.data, length, offset) != (ssize_t)length) {
        guarded_destroy(&guarded);
        return MAP_FAILED;
    }
    mapped = guarded;
    return mapped.data;
}

int __wrap_munmap(void *address, size_t length)
{
    if (address != mapped.data)
        return __real_munmap(address, length);
    struct guarded guarded = mapped;
    mapped = (struct guarded){0};
    guarded_destroy(&guarded);
    return 0;
}
