/* SPDX-License-Identifier: Apache-2.0
 *
 * Positions of several axes: the axis that rotates a pair, and the index that determines its frequency.
 */
#include "rope/rope_plan.h"

int rotary_rope_count_axes(const rotary_rope_config *config)
{
    if (config->axes == ROTARY_AXES_ONE)
        return 1;
    /* In ggml the pairs that are left over belong to a fourth axis. */
    if (config->axes == ROTARY_AXES_INTERLEAVED)
        return config->compat == ROTARY_COMPAT_GGML ? 4 : 3;
    int axes = ROTARY_MAX_AXES;
    while (axes > 1 && config->sections[axes - 1] == 0)
        axes--;
    return axes;
}

/* The section of a pair where sections are contiguous; sets *first to the section's first pair. */
static int section_of(const rotary_rope_config *config, int64_t pair, int64_t *first)
{
    int axis = 0;
    *first = 0;
    while (axis < ROTARY_MAX_AXES - 1 && pair >= *first + config->sections[axis])
        *first += config->sections[axis++];
    return axis;
}

int rotary_rope_axis_of(const rotary_rope_config *config, int64_t pair)
{
    int64_t first;
    switch (config->axes) {
    case ROTARY_AXES_INTERLEAVED: {
        int axis = (int)(pair % 3);
        if (pair < 3 * config->sections[axis])
            return axis;
        return config->compat == ROTARY_COMPAT_GGML ? 3 : 0;
    }
    case ROTARY_AXES_SECTIONS:
    case ROTARY_AXES_SEPARATE:
        return section_of(config, pair, &first);
    default:
        return 0;
    }
}

struct rotary_pair_index rotary_rope_pair_index(const rotary_rope_config *config, int64_t pair)
{
    if (config->axes != ROTARY_AXES_SEPARATE)
        return (struct rotary_pair_index){pair, config->rotary_dim / 2};
    int64_t first;
    int axis = section_of(config, pair, &first);
    return (struct rotary_pair_index){pair - first, config->sections[axis]};
}
