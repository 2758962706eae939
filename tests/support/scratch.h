/* SPDX-License-Identifier: Apache-2.0
 *
 * A folder for a test's files, gone when the test ends.
 */
#ifndef TESTS_SUPPORT_SCRATCH_H
#define TESTS_SUPPORT_SCRATCH_H

#include <stddef.h>

/* The folder's path; made at the first call, removed with all it holds when the program exits. */
const char *scratch_folder(void);

/* Makes the file `path` of these bytes, or ends the test. Nothing is synced: the library's own way would make
 * a test of a thousand damaged files wait for the disk. */
void scratch_write(const char *path, const void *bytes, size_t count);

/* Removes a file, or a folder with all it holds. */
void scratch_remove(const char *path);

/* The path of `name` in the folder, in one of a few buffers that are reused: good for the next sixteen calls.
 */
const char *scratch_path(const char *name);

#endif
