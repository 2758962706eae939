/* SPDX-License-Identifier: Apache-2.0
 *
 * The memory of the reference backend. It is inaccessible except while an operation of the backend runs, as
 * that of a device is for the host: whoever else reads or writes it gets a segmentation fault.
 */
#ifndef REFERENCE_MEMORY_H
#define REFERENCE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

struct reference_region;

/* One range of addresses, so that one call of the system opens all that is allocated in it. */
struct reference_memory {
    char *range;                      /* reserved by the first allocation */
    struct reference_region *regions; /* by their addresses */
    size_t used; /* bytes from the start of the range up to the end of the last region ever */
    int open;    /* how many operations run, one inside the other */
};

/* Zeroed; NULL if the system has no memory. */
void *reference_memory_allocate(struct reference_memory *memory, size_t bytes);
void reference_memory_release(struct reference_memory *memory, void *handle);

/* Operations begin and end with these. */
void reference_memory_open(struct reference_memory *memory);
void reference_memory_close(struct reference_memory *memory);

/* Ends the program, and says so, unless `bytes` bytes at `handle` are in one allocation. `what` names the
 * argument. NULL is allowed. */
void reference_memory_check(const struct reference_memory *memory, const void *handle, size_t bytes,
                            const char *what);

/* Ends the program if `host` is in memory of the backend. */
void reference_memory_check_host(const struct reference_memory *memory, const void *host, const char *what);
/* Ends the program if something was not released. */
void reference_memory_destroy(struct reference_memory *memory);

#endif
