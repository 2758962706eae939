/* SPDX-License-Identifier: Apache-2.0 */
#include "train/schedule.h"

#include <math.h>
#include <stddef.h>

const char *const schedule_names[] = {"constant", "linear", "cosine", "noam", NULL};

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
    case SCHEDULE_CONSTANT:
    case SCHEDULE_NOAM:
        break;
    }
    return schedule->rate;
}
