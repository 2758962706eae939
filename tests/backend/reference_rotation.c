/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/reference_rotation.h"

#include "base/fail.h"
#include "rope/rope_roles.h"

#include <math.h>

rotary_status reference_rotation_plan_create(struct reference_rotation_plan *plan, const rotary_rope *rope,
                                             bool values, rotary_error *error)
{
    *plan = (struct reference_rotation_plan){0};
    if (!rope)
        return ROTARY_OK;
    if (rotary_rope_has_xpos(rope) || rotary_rope_axes(rope) != 1)
        return rotary_fail(error, ROTARY_UNSUPPORTED,
                           "the reference backend rotates without xPos, by positions of one axis");
    struct rotary_span span = rotary_rope_span(rope);
    *plan = (struct reference_rotation_plan){
        .start = span.start,
        .pairs = span.dim / 2,
        .pairing = span.pairing,
        .magnitude = values ? 1.0 : rotary_rope_attention_factor(rope),
        .inverse_frequencies = rotary_rope_inverse_frequencies(rope),
    };
    return ROTARY_OK;
}

void reference_rotate(const struct reference_rotation_plan *plan, double *head, int64_t position,
                      enum reference_direction direction)
{
    for (int64_t pair = 0; pair < plan->pairs; pair++) {
        bool half = plan->pairing == ROTARY_PAIRING_HALF;
        double *x = head + plan->start + (half ? pair : 2 * pair), *y = x + (half ? plan->pairs : 1);
        double angle = (double)position * plan->inverse_frequencies[pair];
        double cosine = plan->magnitude * cos(angle), sine = plan->magnitude * direction * sin(angle);
        double rotated_x = cosine * *x - sine * *y;
        *y = sine * *x + cosine * *y;
        *x = rotated_x;
    }
}
