/* SPDX-License-Identifier: Apache-2.0 */
#include "support/covering.h"

#include <stdbool.h>
#include <string.h>

/* Which pairs have occurred. */
struct seen {
    bool pairs[COVERING_MAX_FACTORS][COVERING_MAX_LEVELS][COVERING_MAX_FACTORS][COVERING_MAX_LEVELS];
};

static void see(struct seen *seen, const struct covering *covering, const int *row)
{
    for (int i = 0; i < covering->factors; i++)
        for (int j = 0; j < covering->factors; j++)
            seen->pairs[i][row[i]][j][row[j]] = true;
}

/* The pairs that have not occurred, and one of them as the start of a row, whose other levels are -1. */
static int unseen(const struct seen *seen, const struct covering *covering, int *row)
{
    int count = 0;
    for (int i = 0; i < covering->factors; i++)
        for (int j = i + 1; j < covering->factors; j++)
            for (int a = 0; a < covering->levels[i]; a++)
                for (int b = 0; b < covering->levels[j]; b++)
                    if (!seen->pairs[i][a][j][b] && count++ == 0) {
                        for (int k = 0; k < covering->factors; k++)
                            row[k] = -1;
                        row[i] = a;
                        row[j] = b;
                    }
    return count;
}

/* How many new pairs a level makes with those that the row has. */
static int gain(const struct seen *seen, const struct covering *covering, const int *row, int factor,
                int level)
{
    int count = 0;
    for (int j = 0; j < covering->factors; j++)
        count += row[j] >= 0 && !seen->pairs[factor][level][j][row[j]];
    return count;
}

/* Of equally good levels the first from one on that changes with the row. */
static int best_level(const struct seen *seen, const struct covering *covering, const int *row, int factor)
{
    int best = 0, best_gain = -1;
    for (int i = 0; i < covering->levels[factor]; i++) {
        int level = (i + covering->rows) % covering->levels[factor],
            gained = gain(seen, covering, row, factor, level);
        if (gained > best_gain) {
            best = level;
            best_gain = gained;
        }
    }
    return best;
}

void covering_make(struct covering *covering)
{
    struct seen seen;
    memset(&seen, 0, sizeof seen);
    covering->rows = 0;
    while (covering->rows < COVERING_MAX_ROWS) {
        int *row = covering->row[covering->rows];
        if (unseen(&seen, covering, row) == 0)
            return;
        for (int i = 0; i < covering->factors; i++)
            if (row[i] < 0)
                row[i] = best_level(&seen, covering, row, i);
        see(&seen, covering, row);
        covering->rows++;
    }
}

int covering_missing(const struct covering *covering)
{
    struct seen seen;
    int row[COVERING_MAX_FACTORS];
    memset(&seen, 0, sizeof seen);
    for (int i = 0; i < covering->rows; i++)
        see(&seen, covering, covering->row[i]);
    return unseen(&seen, covering, row);
}
