/* SPDX-License-Identifier: Apache-2.0
 *
 * Remarks on what a comparison compares, as sentences without their full stops: on its vocabularies.
 */
#ifndef ROTARY_REPORT_REMARKS_H
#define ROTARY_REPORT_REMARKS_H

#include "study/comparison.h"

#include <stdio.h>

/* That losses per token do not compare; nothing where the vocabularies are one. */
void remark_vocabularies(FILE *stream, const struct comparison *comparison, int index);

#endif
