/* SPDX-License-Identifier: Apache-2.0 */
#include "records/comparison/contrast.h"

int contrast_undiverged(const struct contrast *contrast)
{
    int count = 0;
    for (int i = 0; i < contrast->pair_count; i++)
        count += !contrast->pairs[i].diverged;
    return count;
}
