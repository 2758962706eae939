/* SPDX-License-Identifier: Apache-2.0 */
#include "attention/item_sums.h"

#include <string.h>

void rotary_attention_carve_items(struct item_sums *sums, int64_t items, int64_t floats,
                                  struct rotary_arena *arena)
{
    sums->floats = floats;
    sums->memory = rotary_arena_push(arena, items, (size_t)floats * sizeof(float));
}

float *rotary_attention_start_item(const struct item_sums *sums, int64_t item)
{
    if (!sums->memory)
        return NULL;
    float *made = sums->memory + item * sums->floats;
    memset(made, 0, (size_t)sums->floats * sizeof *made);
    return made;
}

void rotary_attention_add_clipped(float *to, int64_t entries, int64_t first, const float *sums, int64_t count)
{
    double below = 0, above = 0;
    for (int64_t at = 0; at < count; at++) {
        int64_t entry = first + at;
        if (entry <= 0)
            below += (double)sums[at];
        else if (entry >= entries - 1)
            above += (double)sums[at];
        else
            to[entry] += sums[at];
    }
    to[0] += (float)below;
    to[entries - 1] += (float)above;
}
