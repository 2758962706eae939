/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether the folder of a run that is trained still has what was there when it began: somebody may remove,
 * move or replace it, or a file in it, and what is written after that would be written into nowhere.
 */
#ifndef ROTARY_TRAIN_FOLDER_FOLDER_WATCH_H
#define ROTARY_TRAIN_FOLDER_FOLDER_WATCH_H

#include "file/checksum/file_checksum.h"

#include <jansson.h>
#include <stdbool.h>

struct folder_watch {
    const char *folder, *metrics;     /* paths, borrowed */
    int folder_file, metrics_file;    /* both open, borrowed */
    char config[CHECKSUM_TEXT_BYTES]; /* of config.json */
    json_t *files;                    /* train/folder/run_files.h; NULL: nothing is watched */
};

/* Sets the last two; the first four are the caller's. folder_watch_end must follow. */
ROTARY_CHECKED rotary_status folder_watch_begin(struct folder_watch *watch, rotary_error *error);
/* ROTARY_IO_ERROR says what is gone or another. *usable: weights may still be written to the folder, since it
 * is the same and has the same vocabularies. */
ROTARY_CHECKED rotary_status folder_watch_check(const struct folder_watch *watch, bool *usable,
                                                rotary_error *error);
void folder_watch_end(struct folder_watch *watch);

#endif
