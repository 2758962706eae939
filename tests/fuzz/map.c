/* SPDX-License-Identifier: Apache-2.0
 *
 * A mapped file reaches to the end of its last page, and what lies behind may be mapped too: reading past its
 * end would go unnoticed. So the linker's --wrap brings mmap and munmap here, and the file is read to where
 * an untouchable page follows, but for the few bytes that keep it aligned.
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
