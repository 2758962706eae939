/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/output/profile_table.h"

#include <stdio.h>
#include <stdlib.h>

static int by_time(const void *a, const void *b)
{
    const struct profile_row *x = a, *y = b;
    return (x->seconds < y->seconds) - (x->seconds > y->seconds);
}

/* " rate share", or blanks of the same width. */
static void print_rate(double amount, double seconds, double limit)
{
    if (amount > 0.0 && seconds > 0.0)
        printf(" %8.1f %5.0f%%", amount / seconds / 1e9, 100.0 * amount / seconds / limit);
    else
        printf(" %8s %6s", "", "");
}

void profile_table_print(const struct profile *profile, const char *part, double count,
                         const struct limits *limits)
{
    struct profile sorted = *profile;
    double total = 0.0;
    for (int i = 0; i < sorted.count; i++)
        total += sorted.rows[i].seconds;
    qsort(sorted.rows, (size_t)sorted.count, sizeof *sorted.rows, by_time);
    char time[32];
    snprintf(time, sizeof time, "ms per %s", part);
    printf("\n%-54s %10s %6s %8s %6s %8s %6s\n", "operation", time, "share", "GFLOP/s", "limit", "GB/s",
           "limit");
    for (int i = 0; i < sorted.count; i++) {
        const struct profile_row *row = &sorted.rows[i];
        printf("%-54s %10.3f %5.1f%%", row->name, 1e3 * row->seconds / count,
               total > 0.0 ? 100.0 * row->seconds / total : 0.0);
        print_rate(row->operations, row->seconds, limits->matmul_rate);
        print_rate(row->bytes, row->seconds, limits->memory_rate);
        printf("\n");
    }
    printf("%-54s %10.3f\n", "all of these", 1e3 * total / count);
    printf("measured limits: matmul alone %.1f GFLOP/s, a pass over memory %.1f GB/s\n",
           limits->matmul_rate / 1e9, limits->memory_rate / 1e9);
}

json_t *profile_table_json(const struct profile *profile)
{
    json_t *rows = json_array();
    for (int i = 0; i < profile->count; i++) {
        const struct profile_row *row = &profile->rows[i];
        json_array_append_new(rows, json_pack("{s:s, s:f, s:f, s:f, s:I}", "operation", row->name, "seconds",
                                              row->seconds, "operations", row->operations, "bytes",
                                              row->bytes, "calls", (json_int_t)row->calls));
    }
    return rows;
}
