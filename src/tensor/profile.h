/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the time of a step goes: seconds, operations and bytes by what was done, summed over layers and
 * steps. Whoever wants to know hangs a profile on the compute (tensor/compute.h); without one, nothing is
 * measured and no clock is read.
 */
#ifndef ROTARY_TENSOR_PROFILE_H
#define ROTARY_TENSOR_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

enum { PROFILE_ROWS = 64 };

struct profile_row {
    char what[64];
    double seconds;
    double operations; /* multiplications and additions of matrix products and attention; 0 for what only
                          moves memory */
    double bytes;      /* that have to be read and written at least once */
    int64_t calls;
};

struct profile {
    struct profile_row
        rows[PROFILE_ROWS]; /* in the order they first happened; beyond the last, nothing is added */
    int count;
    bool paused; /* what is done now is not part of what is asked about */
};

/* The time now, in seconds; 0 if profile is NULL. */
double profile_begin(const struct profile *profile);
/* Adds what was done since `begin` to the row named `what`, "<where>, <what>". Nothing if profile is NULL or
 * paused. */
void profile_end(struct profile *profile, double begin, const char *where, const char *what,
                 double operations, double bytes);

#endif
