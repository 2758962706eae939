/* SPDX-License-Identifier: Apache-2.0
 *
 * The profile of a step: seconds, operations and bytes of each kind of work, summed over layers and steps.
 * backend.profile (backend/backend.h) is filled in; if it is NULL, no clock is read.
 */
#ifndef ROTARY_BACKEND_PROFILE_H
#define ROTARY_BACKEND_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

enum { PROFILE_ROWS = 64 };

struct profile_row {
    char name[64]; /* "<where>, <what>" */
    double seconds;
    double operations; /* multiplications and additions; 0 if it only moves memory */
    double bytes;      /* read or written at least once */
    int64_t calls;
};

struct profile {
    struct profile_row rows[PROFILE_ROWS]; /* in the order of first calls; new ones are dropped when full */
    int count;
    bool paused; /* profile_end adds nothing */
};

/* The time now, in seconds; 0 if profile is NULL. */
double profile_begin(const struct profile *profile);
/* Adds the time since `begin` to the row "<where>, <what>". Does nothing if profile is NULL or paused. */
void profile_end(struct profile *profile, double begin, const char *where, const char *what,
                 double operations, double bytes);

#endif
