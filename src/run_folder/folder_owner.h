/* SPDX-License-Identifier: Apache-2.0
 *
 * Who trains in a folder, for other hosts that share it: the lock of folder.h holds among processes of one machine, and
 * elsewhere only where the file system says so.
 *
 *     <folder>/.owner    a symbolic link to nowhere, which is made whole or not at all, by one: "host 123 0f3a-...", the
 *                        host's name, the process, and the id of the machine since it was started
 *
 * It is touched while its owner trains, and removed at the end. One of this machine that is left over
 * is replaced, since the lock says that its owner is gone. One of another is replaced when it was not touched for
 * OWNER_SECONDS, by the clock of the file system. An owner that was suspended for longer finds that it is another's before
 * it writes, and stops.
 */
#ifndef ROTARY_RUN_FOLDER_FOLDER_OWNER_H
#define ROTARY_RUN_FOLDER_FOLDER_OWNER_H

#include "file/file.h"

#include <stdbool.h>

enum { OWNER_SECONDS = 300, OWNER_TOUCH_SECONDS = 2, OWNER_BYTES = 160 };

struct folder_owner {
    char path[FILE_PATH_BYTES];
    char text[OWNER_BYTES]; /* of the link */
    double touched;         /* by rotary_clock() */
    bool held;
};

/* Takes the folder, whose lock is held. ROTARY_IO_ERROR names the host and the process that have it. Until
 * folder_owner_leave, which may be called without. */
ROTARY_CHECKED rotary_status folder_owner_take(struct folder_owner *owner, const char *folder,
                                               rotary_error *error);
/* Before something is written: touches the link, if that is due; ROTARY_IO_ERROR if another has taken the folder. With
 * `now` it looks whenever it was last touched. */
ROTARY_CHECKED rotary_status folder_owner_keep(struct folder_owner *owner, bool now, rotary_error *error);
void folder_owner_leave(struct folder_owner *owner);

#endif
