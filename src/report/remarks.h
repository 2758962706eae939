/* SPDX-License-Identifier: Apache-2.0
 *
 * Remarks on what a comparison compares, as sentences without their full stops: on its
 * vocabularies, and on arms that have not begun to learn.
 */
#ifndef ROTARY_REPORT_REMARKS_H
#define ROTARY_REPORT_REMARKS_H

#include "records/comparison/comparison.h"

#include <stdio.h>

/* That losses per token do not compare; nothing where the vocabularies are one. */
void remark_vocabularies(FILE *stream, const struct comparison *comparison, int index);

/* Why arm `index` is trained too short to rank; nothing where it is not. */
void remark_learned(FILE *stream, const struct comparison *comparison, int index);
/* "; none is trained too short to rank", behind the verdict on a contrast of an arm that is and one that is
 * not: the difference at this number of steps is real, an order of what is compared is not. */
void remark_too_short(FILE *stream, const struct comparison *comparison, const struct contrast *contrast);

#endif
