/* SPDX-License-Identifier: Apache-2.0
 *
 * Inverse frequencies: how far a pair turns from one position to the next.
 */
#include "rope/plan.h"

#include <math.h>

void rotary_rope_set_frequencies(rotary_rope *rope, const rotary_rope_config *config)
{
    rope->attention_factor = 1.0;
    for (int64_t pair = 0; pair < rope->pairs; pair++) {
        double exponent = (double)(2 * pair) / (double)rope->span.dim;
        if (rope->angles_f32) /* every step in f32, as those checkpoints had it */
            rope->inverse_frequency[pair] =
                (double)(1.0f / (float)pow((double)(float)config->base, (double)(float)exponent));
        else
            rope->inverse_frequency[pair] =
                (double)powl((long double)config->base, -(long double)pair / (long double)rope->pairs);
    }
}
