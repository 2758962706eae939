/* SPDX-License-Identifier: Apache-2.0
 *
 * The programs and machines that trained the runs (train/folder/provenance.h), on the page.
 */
#ifndef ROTARY_REPORT_MADE_BY_H
#define ROTARY_REPORT_MADE_BY_H

#include "records/comparison/comparison.h"

#include <stdio.h>

/* A list with an item for each, and how many runs it trained, be it a part of their steps; nothing where no
 * run says. */
void made_by_list(FILE *stream, const struct comparison *comparison);
/* A commit by its first digits, and whether there were changes beside it. */
void made_by_commit(FILE *stream, const char *commit);

#endif
