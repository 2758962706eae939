/* SPDX-License-Identifier: Apache-2.0
 *
 * The contrasts of a comparison that are judged together, by max_t.h.
 */
#ifndef ROTARY_RECORDS_COMPARISON_FAMILY_H
#define ROTARY_RECORDS_COMPARISON_FAMILY_H

#include "records/comparison/contrast.h"

struct family {
    int count, seeds; /* contrasts that are judged, and seeds that they have pairs of */
    bool drawn;       /* the sign patterns are drawn, not all */
};

struct family_call {
    struct contrast *contrasts;
    int contrast_count, arm_count;
    bool all_pairs;
    enum measure measure;
    double alpha;
};

/* Takes the contrasts that have ENOUGH_PAIRS pairs, all with a score of the measure, and sets what the rule
 * says of them: `judged`, `adjusted_p`, the interval, `detectable` and `needed_pairs`. Others leave the
 * family before anything is counted, and keep their interval. */
ROTARY_CHECKED rotary_status family_judge(struct family *family, const struct family_call *call,
                                          rotary_error *error);

#endif
