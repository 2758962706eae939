/* SPDX-License-Identifier: Apache-2.0 */
#include "train/schedule.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>

const char *const schedule_names[] = {"constant", "linear", "cosine", "noam", "inverse_square_root", NULL};

static double noam(const struct schedule *schedule, int64_t step)
{
    double decay = 1.0 / sqrt((double)step);
    if (step < schedule->warmup)
        decay = (double)step * pow((double)schedule->warmup, -1.5);
    return schedule->rate / sqrt((double)schedule->width) * decay;
}

double schedule_rate(const struct schedule *schedule, int64_t step)
{
    if (schedule->kind == SCHEDULE_NOAM)
        return noam(schedule, step);
    if (step <= schedule->warmup)
        return schedule->rate * (double)step / (double)schedule->warmup;
    double progress = 1.0;
    if (step < schedule->steps)
        progress = (double)(step - schedule->warmup) / (double)(schedule->steps - schedule->warmup);
    double range = schedule->rate - schedule->minimum;
    switch (schedule->kind) {
    case SCHEDULE_LINEAR:
        return schedule->minimum + range * (1.0 - progress);
    case SCHEDULE_COSINE:
        return schedule->minimum + range * 0.5 * (1.0 + cos(M_PI * progress));
    case SCHEDULE_INVERSE_SQUARE_ROOT:
        return schedule->rate * sqrt((double)(schedule->warmup > 0 ? schedule->warmup : 1) / (double)step);
    case SCHEDULE_CONSTANT:
    case SCHEDULE_NOAM:
    case SCHEDULES:
        break;
    }
    return schedule->rate;
}

bool schedule_remark(const struct schedule *schedule, int64_t usual, char text[SCHEDULE_REMARK_BYTES])
{
    int64_t steps = schedule->steps;
    bool decays = schedule->kind == SCHEDULE_LINEAR || schedule->kind == SCHEDULE_COSINE;
    if (steps > 0 && schedule->warmup > steps) {
        snprintf(text, SCHEDULE_REMARK_BYTES,
                 "the warm-up takes %lld steps and the run has %lld: the learning rate ends at %.4g, and "
                 "would rise to %.4g",
                 (long long)schedule->warmup, (long long)steps, schedule_rate(schedule, steps),
                 schedule_rate(schedule, schedule->warmup));
        return true;
    }
    if (steps > 0 && usual > 0 && decays && steps != usual) {
        snprintf(text, SCHEDULE_REMARK_BYTES,
                 "the %s schedule is %s: it ends at step %lld instead of step %lld",
                 schedule_names[schedule->kind], steps < usual ? "shortened" : "stretched", (long long)steps,
                 (long long)usual);
        return true;
    }
    return false;
}
