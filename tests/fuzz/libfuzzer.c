/* SPDX-License-Identifier: Apache-2.0
 *
 * The same targets for libFuzzer, which is guided by coverage; FUZZ_TARGET is one of them.
 * docs/explanation/architecture.md says how to build and run it.
 */
#include "fuzz/target.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);
size_t LLVMFuzzerMutate(uint8_t *bytes, size_t count, size_t max);
size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t count, size_t max, unsigned seed);

void fuzz_fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    abort();
}

void fuzz_count_memory(bool counts)
{
    (void)counts;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    char path[64];
    int descriptor = memfd_create("input", MFD_CLOEXEC);
    if (descriptor < 0 || write(descriptor, bytes, count) != (ssize_t)count)
        fuzz_fail("no file in memory");
    snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    FUZZ_TARGET.read(path);
    close(descriptor);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t count, size_t max, unsigned seed)
{
    count = LLVMFuzzerMutate(bytes, count, max);
    if (FUZZ_TARGET.repair && count > 16 && seed % 2 == 0)
        FUZZ_TARGET.repair(bytes, count);
    return count;
}
