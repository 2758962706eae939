/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the runs or the comparison are read that people name.
 */
#ifndef ROTARY_RECORDS_PLACES_H
#define ROTARY_RECORDS_PLACES_H

#include "run_folder/folder_list.h"
#include "run_folder/run_archive.h"

/* Appends the folder of a run or a comparison; of a folder that is neither, the runs in it, by name. An
 * archive is unpacked for it. */
ROTARY_CHECKED rotary_status places_add(struct folder_list *places, struct run_archives *archives,
                                        const char *path, rotary_error *error);

#endif
