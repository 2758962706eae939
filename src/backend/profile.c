/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/profile.h"

#include "base/clock.h"

#include <stdio.h>
#include <string.h>

double profile_begin(const struct profile *profile)
{
    return profile ? rotary_clock() : 0.0;
}

static struct profile_row *find(struct profile *profile, const char *name)
{
    for (int i = 0; i < profile->count; i++)
        if (strcmp(profile->rows[i].name, name) == 0)
            return &profile->rows[i];
    if (profile->count == PROFILE_ROWS)
        return NULL;
    struct profile_row *row = &profile->rows[profile->count++];
    *row = (struct profile_row){0};
    snprintf(row->name, sizeof row->name, "%s", name);
    return row;
}

void profile_end(struct profile *profile, double begin, const char *where, const char *what,
                 double operations, double bytes)
{
    if (!profile || profile->paused)
        return;
    double seconds = rotary_clock() - begin;
    char name[sizeof profile->rows[0].name];
    snprintf(name, sizeof name, "%s, %s", where, what);
    struct profile_row *row = find(profile, name);
    if (!row)
        return;
    row->seconds += seconds;
    row->operations += operations;
    row->bytes += bytes;
    row->calls++;
}
