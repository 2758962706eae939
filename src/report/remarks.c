/* SPDX-License-Identifier: Apache-2.0 */
#include "report/remarks.h"

void remark_vocabularies(FILE *stream, const struct comparison *comparison, int index)
{
    (void)index;
    if (comparison->vocabularies_differ)
        fprintf(stream, "the vocabularies differ, so that losses per token do not compare%s",
                comparison->measures[0] == MEASURE_BITS_PER_BYTE ? ": bits per byte decide" : "");
}
