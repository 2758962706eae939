/* SPDX-License-Identifier: Apache-2.0
 *
 * Whole files, read and replaced. A file is replaced atomically: written beside, synced, renamed, and the
 * folder synced, so that a crash at any moment leaves the old content or the new.
 */
#ifndef ROTARY_FILE_FILE_H
#define ROTARY_FILE_FILE_H

#include <jansson.h>
#include <rotary/status.h>

/* "<folder>/<name>". ROTARY_INVALID_ARGUMENT if that is too long for the system. */
enum { FILE_PATH_BYTES = 4096 };
ROTARY_CHECKED rotary_status file_path(char path[FILE_PATH_BYTES], const char *folder, const char *name,
                                       rotary_error *error);

/* Reads all of `path`; the caller frees *bytes, which has a zero byte behind its end. Refuses more than
 * `most` bytes. */
ROTARY_CHECKED rotary_status file_read(const char *path, size_t max, char **bytes, size_t *count,
                                       rotary_error *error);
/* A link stays and what it leads to is replaced; a device or a pipe is written to. */
ROTARY_CHECKED rotary_status file_replace(const char *path, const void *bytes, size_t count,
                                          rotary_error *error);

struct file_part {
    const void *bytes;
    size_t count;
};
/* As file_replace; the content is the parts, one after another. */
ROTARY_CHECKED rotary_status file_replace_parts(const char *path, const struct file_part *parts, int count,
                                                rotary_error *error);
/* Writes and syncs `path` in place, not atomically: for names nobody looks at yet. A failure leaves no file.
 */
ROTARY_CHECKED rotary_status file_write_parts(const char *path, const struct file_part *parts, int count,
                                              rotary_error *error);

/* Makes a folder and its parents; fine if it is there. Checks that it can be written to. */
ROTARY_CHECKED rotary_status file_make_folder(const char *path, rotary_error *error);
bool file_exists(const char *path);
/* Whether both are there, and one file, whatever it is called. */
bool file_same(const char *a, const char *b);
/* Renames and syncs the folder. */
ROTARY_CHECKED rotary_status file_rename(const char *from, const char *to, rotary_error *error);

/* JSON text of `path`; the caller owns the object. Errors name path, line and what was wrong. */
ROTARY_CHECKED rotary_status file_read_json(const char *path, json_t **object, rotary_error *error);
ROTARY_CHECKED rotary_status file_replace_json(const char *path, const json_t *object, rotary_error *error);
/* JSON as text that the caller frees: `flags` of json_dumps, numbers with no more digits than reading them
 * back takes. NULL when there is no memory. */
char *file_json_text(const json_t *value, size_t flags);

#endif
