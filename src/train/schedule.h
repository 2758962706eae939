/* SPDX-License-Identifier: Apache-2.0
 *
 * The learning rate as a function of the step alone.
 */
#ifndef ROTARY_TRAIN_SCHEDULE_H
#define ROTARY_TRAIN_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

enum schedule_kind {
    SCHEDULE_CONSTANT,
    SCHEDULE_LINEAR,
    SCHEDULE_COSINE,
    SCHEDULE_NOAM,
    SCHEDULE_INVERSE_SQUARE_ROOT,
    SCHEDULES
};
extern const char *const schedule_names[]; /* NULL-terminated, in the order of schedule_kind */

/* With t the step, w the steps of warm-up, s all steps and p = (t - w) / (s - w):
 *
 *     while t <= w          rate * t / w
 *     constant              rate
 *     linear                minimum + (rate - minimum) * (1 - p)
 *     cosine                minimum + (rate - minimum) * (1 + cos(pi p)) / 2
 *     noam                  rate * width^-0.5 * min(t^-0.5, t * w^-1.5)
 *     inverse_square_root   rate * sqrt(max(w, 1) / t)
 *
 * The cosine is that of Loshchilov and Hutter 2017, without restarts; noam is equation 3 of Vaswani et al.
 * 2017; its warm-up is its own second term. inverse_square_root has noam's shape, but `rate` is its maximum
 * whatever the width and the warm-up. `minimum` applies to linear and cosine alone. */
struct schedule {
    enum schedule_kind kind;
    double rate, minimum;
    int64_t warmup, steps;
    int64_t width; /* of the model, for noam */
};

/* The learning rate of step `step`, counted from 1. Steps after the last have the rate of the last. */
double schedule_rate(const struct schedule *schedule, int64_t step);

/* Whether the number of steps makes of the schedule what one would not expect, and a sentence that says so:
 * the warm-up is longer than the run, or the decay of linear and cosine ends elsewhere than after `usual`
 * steps, for which the schedule was made. A schedule of no steps is not remarked upon. */
enum { SCHEDULE_REMARK_BYTES = 192 };
bool schedule_remark(const struct schedule *schedule, int64_t usual, char text[SCHEDULE_REMARK_BYTES]);

#endif
