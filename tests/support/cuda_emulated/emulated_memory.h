/* SPDX-License-Identifier: Apache-2.0
 *
 * The memory of the emulated device: pages of the host that are inaccessible except while a kernel or a copy
 * runs, with a page behind each allocation that always is.
 */
#ifndef CUDA_EMULATED_MEMORY_H
#define CUDA_EMULATED_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Around what accesses it; may be nested. */
void emulated_memory_open(void);
void emulated_memory_close(void);
/* Ends the program unless `bytes` bytes are in one allocation. */
void emulated_memory_check(const void *address, size_t bytes, const char *what);

/* A launch runs twice, the second time with threads and blocks in the opposite order: save keeps what memory
 * has, unless launches are to run once; restore keeps what the first run made of it and brings it back;
 * compare ends the program where the second run made something else. */
bool emulated_memory_save(void);
void emulated_memory_restore(void);
bool emulated_memory_saved(void);
void emulated_memory_compare(const char *kernel);

/* ---- For tests. ---- */

/* Whether launches run twice: they do, unless the environment has ROTARY_CUDA_EMULATED_ORDERS=1. With 1 they
 * run once, in the order that `descending` says. */
void emulated_orders(int orders, bool descending);
/* Bytes that may be allocated; 0: as many as the host has. */
void emulated_memory_limit(size_t bytes);
size_t emulated_memory_used(void);
/* Says whether there is a driver; without one calls fail as CUDA's do. */
void emulated_driver(bool there);

#ifdef __cplusplus
}
#endif

#endif
