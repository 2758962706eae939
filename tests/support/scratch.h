/* SPDX-License-Identifier: Apache-2.0
 *
 * A folder for a test's files, which is removed when the test ends.
 */
#ifndef TESTS_SUPPORT_SCRATCH_H
#define TESTS_SUPPORT_SCRATCH_H

#include <stddef.h>

/* The folder's path. It is created at the first call and removed with its content when the program exits. */
const char *scratch_folder(void);

/* Writes a file, or ends the test. Nothing is synced: syncing would make a test of a thousand damaged files
 * wait for the disk. */
void scratch_write(const char *path, const void *bytes, size_t count);

/* The same of a text and a file of the folder, scratch_path(name). */
void scratch_write_text(const char *name, const char *text);

/* Removes a file, or a folder with its content. */
void scratch_remove(const char *path);

/* The path of `name` in the folder. It is valid until the sixteenth next call, which reuses its buffer. */
const char *scratch_path(const char *name);

#endif
