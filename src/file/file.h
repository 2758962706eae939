/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading and replacing whole files. A file is replaced atomically: the new content is written to a second
 * file, synced and renamed, and the folder is synced, so that a crash at any moment leaves the old content or
 * the new.
 */
#ifndef ROTARY_FILE_FILE_H
#define ROTARY_FILE_FILE_H

#include <dirent.h>
#include <jansson.h>
#include <rotary/status.h>

/* Makes "<folder>/<name>". ROTARY_INVALID_ARGUMENT if that has FILE_PATH_BYTES or more. */
enum { FILE_PATH_BYTES = 4096 };
ROTARY_CHECKED rotary_status file_path(char path[FILE_PATH_BYTES], const char *folder, const char *name,
                                       rotary_error *error);
/* Makes the path of a file that the program writes by a name of its own, in a folder that may be anybody's.
 * A symbolic link there, whose target would be replaced wherever that lies, is ROTARY_INVALID_ARGUMENT. */
ROTARY_CHECKED rotary_status file_output_path(char path[FILE_PATH_BYTES], const char *folder,
                                              const char *name, rotary_error *error);
/* The last part of a path: "c" of "a/b/c", and of "c". */
const char *file_name_of(const char *path);
/* For scandir: names in the order of their bytes, whatever the locale is. */
int file_entry_order(const struct dirent **left, const struct dirent **right);
/* The folder that holds `path`, "." if it names none. ROTARY_INVALID_ARGUMENT if that has FILE_PATH_BYTES or
 * more. */
ROTARY_CHECKED rotary_status file_folder_of(const char *path, char folder[FILE_PATH_BYTES],
                                            rotary_error *error);

/* Reads all of `path`, a file or a pipe (file/input.h); the caller frees *bytes, which are followed by a zero
 * byte. More than `max` bytes are ROTARY_BAD_FILE, of a file before any is read. */
ROTARY_CHECKED rotary_status file_read(const char *path, size_t max, char **bytes, size_t *count,
                                       rotary_error *error);
/* Replaces `path` atomically. Of a symbolic link the target is replaced; a device is written to, and so is a
 * pipe that somebody reads. */
ROTARY_CHECKED rotary_status file_replace(const char *path, const void *bytes, size_t count,
                                          rotary_error *error);

/* Writes bytes first ... first + count - 1 of what `context` stands for to `to`. */
typedef rotary_status file_fetch(void *context, size_t first, void *to, size_t count, rotary_error *error);

struct file_part {
    const void *bytes; /* NULL: fetched, block by block, with `fetch` */
    size_t count;
    file_fetch *fetch;
    void *context;
};
/* Calls take(argument, bytes, count) for one block of a part after the other. If that fails, so does this. */
typedef rotary_status file_take(void *argument, const void *bytes, size_t count, rotary_error *error);
ROTARY_CHECKED rotary_status file_part_blocks(const struct file_part *part, file_take *take, void *argument,
                                              rotary_error *error);
/* Does as file_replace; the content is the parts, one after another. */
ROTARY_CHECKED rotary_status file_replace_parts(const char *path, const struct file_part *parts, int count,
                                                rotary_error *error);
/* Writes and syncs `path` in place, not atomically: for files that are renamed afterwards. A failure leaves
 * no file. */
ROTARY_CHECKED rotary_status file_write_parts(const char *path, const struct file_part *parts, int count,
                                              rotary_error *error);

/* Makes a folder and its parents; an existing one is no error. Checks that it is writable. */
ROTARY_CHECKED rotary_status file_make_folder(const char *path, rotary_error *error);
/* Whether something has this name, be it a link that leads nowhere. */
bool file_exists(const char *path);
bool file_exists_in(const char *folder, const char *name); /* nothing has a path that is too long */
/* Answers likewise, but that it cannot be known, as in a folder that may not be entered, is ROTARY_IO_ERROR.
 */
ROTARY_CHECKED rotary_status file_find(const char *path, bool *found, rotary_error *error);
/* Whether both are the same file, by whatever paths and links; where there is none yet, whether the same name
 * in the same folder. A character device is never the same. */
bool file_same(const char *a, const char *b);
/* Whether `output` may be written: ROTARY_INVALID_ARGUMENT if that would replace one of `count` inputs, of
 * which some may be NULL. */
ROTARY_CHECKED rotary_status file_check_output(const char *output, const char *const *inputs, int count,
                                               rotary_error *error);
/* Whether a file may be read, before much is done with it, and whether one may be made: it is no folder, and
 * its own folder is there and may be written to. Opening it may still fail. */
ROTARY_CHECKED rotary_status file_check_readable(const char *path, rotary_error *error);
ROTARY_CHECKED rotary_status file_check_writable(const char *path, rotary_error *error);
/* Renames and syncs the folder. */
ROTARY_CHECKED rotary_status file_rename(const char *from, const char *to, rotary_error *error);

/* Reads the JSON object in `path`, which the caller owns. Errors say path, line, column and what is wrong. A
 * parsed text may take fifty times its bytes in memory, so more of them than the largest configurations have,
 * whose lists of labels take one or two megabytes, are ROTARY_BAD_FILE. Numbers that C does not have are
 * read as file/json_numbers.h says. */
enum { FILE_JSON_BYTES = 4 << 20 };
ROTARY_CHECKED rotary_status file_read_json(const char *path, json_t **object, rotary_error *error);
/* Reads likewise, with a limit of its own. */
ROTARY_CHECKED rotary_status file_read_long_json(const char *path, size_t max, json_t **object,
                                                 rotary_error *error);
/* Reads as file_read_json does, but all numbers are real: integers of other programs may be greater than any
 * of ours. */
ROTARY_CHECKED rotary_status file_read_real_json(const char *path, json_t **object, rotary_error *error);
/* Parses the JSON object in `count` bytes, read from `path`. */
ROTARY_CHECKED rotary_status file_parse_json(const char *path, const char *text, size_t count,
                                             json_t **object, rotary_error *error);
ROTARY_CHECKED rotary_status file_replace_json(const char *path, const json_t *object, rotary_error *error);
/* Checks that the "format" of an object read from `path` is the integer `wanted`; else ROTARY_BAD_FILE. */
ROTARY_CHECKED rotary_status file_check_format(const char *path, const json_t *object, int wanted,
                                               rotary_error *error);
/* The name of what is given by a name or by an object that has a "name": that text, which belongs to the
 * value; NULL: there is none. */
const char *file_json_name(const json_t *value);
/* A real number; null for what JSON has no number for: NaN and infinities. */
json_t *file_json_number(double value);
/* JSON as text, which the caller frees; `flags` are those of json_dumps. Real numbers have the fewest digits
 * with which all of them are read back exactly. */
char *file_json_text(const json_t *value, size_t flags);
/* Appends a value, which it takes. With a value NULL, which a text that is not UTF-8 gives, it releases the
 * list and makes it NULL, which may be appended to as well, and which json_pack refuses. */
void file_json_append(json_t **list, json_t *value);

#endif
