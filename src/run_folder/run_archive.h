/* SPDX-License-Identifier: Apache-2.0
 *
 * Folders of runs as one file, a tar archive compressed by gzip, to be kept or sent: a comparison with its
 * runs, one run, or a folder of them. It has what is read of a run that is no longer trained: its
 * configuration, metrics, scores, and what it translated or predicted; neither weights nor pages.
 *
 * An archive is read by unpacking it into a private folder, which is removed at the end. A path may go on
 * below an archive, as it would below the folder that was packed: "results/books.tar.gz/rope-1".
 */
#ifndef ROTARY_RUN_FOLDER_RUN_ARCHIVE_H
#define ROTARY_RUN_FOLDER_RUN_ARCHIVE_H

#include "file/file.h"

#include <stdbool.h>

#define ARCHIVE_SUFFIX ".tar.gz"

enum { ARCHIVE_MAX_DEPTH = 8, ARCHIVE_MAX_FILES = 100000 };

/* Whether the file of a run or a comparison is in an archive, by its name or path. */
bool run_archive_keeps(const char *name);

struct archive_size {
    int64_t files;
    uint64_t bytes; /* of the files */
};
/* Packs the files below `folder` that archives keep, and replaces `path` atomically. Equal files make an equal
 * archive. ROTARY_INVALID_ARGUMENT if it would replace one of them, or a file of any run; a folder without a
 * run is ROTARY_IO_ERROR. */
ROTARY_CHECKED rotary_status run_archive_write(const char *folder, const char *path,
                                               struct archive_size *size, rotary_error *error);

/* Whether a path is a file, or goes on below one: then `file` is set to that. */
bool run_archive_find(const char *path, char file[FILE_PATH_BYTES]);
/* Where the page of such a path goes: beside the archive, as books.html or books-rope-1.html. */
ROTARY_CHECKED rotary_status run_archive_page(const char *path, char page[FILE_PATH_BYTES],
                                              rotary_error *error);
/* ROTARY_IO_ERROR, with how to unpack it, if a path that is to be a run's folder is an archive or
 * another file: whoever trains or wants weights asks. */
ROTARY_CHECKED rotary_status run_archive_refuse(const char *path, rotary_error *error);

/* The archives that are being read. */
struct run_archives {
    struct run_archive *items;
    int count;
};

/* Sets `folder` to where the files of `path` are read: that itself, or below where its archive is unpacked,
 * which is done once. */
ROTARY_CHECKED rotary_status run_archives_open(struct run_archives *archives, const char *path,
                                               char folder[FILE_PATH_BYTES], rotary_error *error);
/* A path below where an archive is unpacked, as people know it; the caller frees it. NULL: it is below none, or
 * memory is lacking. */
char *run_archives_shown(const struct run_archives *archives, const char *path);
/* Names archives in a message in place of where they are unpacked. */
void run_archives_name(const struct run_archives *archives, rotary_error *error);
/* Removes what was unpacked. */
void run_archives_close(struct run_archives *archives);

#endif
