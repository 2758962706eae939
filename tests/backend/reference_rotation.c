/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/reference_rotation.h"

#include "base/fail.h"
#include "rope/rows.h"

#include <math.h>

rotary_status reference_rotation_plan_create(struct reference_rotation_plan *plan, const rotary_rope *rope,
                                             enum rotary_rope_role role, rotary_error *error)
{
    *plan = (struct reference_rotation_plan){0};
    if (!rope)
        return ROTARY_OK;
    if (rotary_rope_axes(rope) != 1)
        return rotary_fail(error, ROTARY_UNSUPPORTED,
                           "the reference backend rotates by positions of one axis");
    struct rotary_span span = rotary_rope_span(rope);
    *plan = (struct reference_rotation_plan){
        .start = span.start,
        .pairs = span.dim / 2,
        .pairing = span.pairing,
        .inverse_frequencies = rotary_rope_inverse_frequencies(rope),
        .rope = rope,
        .role = role,
    };
    return ROTARY_OK;
}

void reference_rotate(const struct reference_rotation_plan *plan, double *head, int64_t position,
                      enum reference_direction direction)
{
    for (int64_t pair = 0; pair < plan->pairs; pair++) {
        bool half = plan->pairing == ROTARY_PAIRING_HALF;
        double *x = head + plan->start + (half ? pair : 2 * pair), *y = x + (half ? plan->pairs : 1);
        double at = (double)position, angle = at * plan->inverse_frequencies[pair];
        double magnitude = rotary_rope_magnitude(plan->rope, &at, plan->role, pair);
        double cosine = magnitude * cos(angle), sine = magnitude * direction * sin(angle);
        double rotated_x = cosine * *x - sine * *y;
        *y = sine * *x + cosine * *y;
        *x = rotated_x;
    }
}
