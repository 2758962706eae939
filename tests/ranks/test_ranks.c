/* SPDX-License-Identifier: Apache-2.0
 *
 * What ranks do together, on threads: they agree, share, and sum in one tree, whose sums are the same of any number
 * of them.
 */
#include "support/check.h"
#include "support/thread_ranks.h"

#include "base/fail.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEAVES = 16, MOST = 1000 };

/* ---- sums ---- */

static float leaf_at(int64_t leaf, int64_t i)
{
    return (float)(cos((double)(leaf * MOST + i)) * pow(10.0, (double)((leaf * 5 + i) % 9 - 4)));
}

static float sum_of(int64_t first, int64_t count, int64_t i)
{
    if (count == 1)
        return leaf_at(first, i);
    return sum_of(first, count / 2, i) + sum_of(first + count / 2, count / 2, i);
}

struct numbers {
    int64_t count;
};

/* A rank has the sums of its share of the leaves. */
static void sum_numbers(void *argument, const struct ranks *ranks)
{
    const struct numbers *numbers = argument;
    const int64_t leaves = LEAVES / ranks_count(ranks);
    float *values = malloc(MOST * sizeof *values), *scratch = malloc(MOST * sizeof *scratch);
    for (int64_t i = 0; i < numbers->count; i++)
        values[i] = sum_of(ranks_index(ranks) * leaves, leaves, i);
    CHECK_INT(ranks_sum(ranks, values, numbers->count, scratch, NULL), ROTARY_OK);
    int64_t different = 0;
    for (int64_t i = 0; i < numbers->count; i++)
        different += values[i] != sum_of(0, LEAVES, i);
    CHECK_INT(different, 0);
    free(values);
    free(scratch);
}

static void test_sums(void)
{
    static const int64_t counts[] = {1, 2, 3, 17, 64, MOST};
    for (int ranks = 1; ranks <= LEAVES; ranks *= 2)
        for (int i = 0; i < (int)(sizeof counts / sizeof *counts); i++) {
            struct numbers numbers = {.count = counts[i]};
            thread_ranks_run(ranks, sum_numbers, &numbers);
        }
}

/* Parts are next to each other in some order, and differ by a block at most. */
static void check_parts(const struct ranks *ranks, struct ranks_parts parts)
{
    const int64_t most = ((parts.count + parts.block - 1) / parts.block + ranks_count(ranks) - 1) /
                         ranks_count(ranks) * parts.block;
    char covered[MOST] = {0};
    for (int rank = 0; rank < ranks_count(ranks); rank++) {
        const struct ranks_part part = ranks_part_of(ranks, parts, rank);
        CHECK(part.first >= 0 && part.count >= 0 && part.first + part.count <= parts.count);
        CHECK(part.count <= most && (part.count == 0 || part.first % parts.block == 0));
        for (int64_t i = part.first; i < part.first + part.count; i++)
            covered[i]++;
    }
    for (int64_t i = 0; i < parts.count; i++)
        CHECK_INT(covered[i], 1);
}

static void sum_parts(void *argument, const struct ranks *ranks)
{
    const struct ranks_parts *parts = argument;
    const int64_t leaves = LEAVES / ranks_count(ranks);
    float *values = malloc(MOST * sizeof *values), *scratch = malloc(MOST * sizeof *scratch);
    check_parts(ranks, *parts);
    for (int64_t i = 0; i < parts->count; i++)
        values[i] = sum_of(ranks_index(ranks) * leaves, leaves, i);
    CHECK_INT(ranks_sum_parts(ranks, *parts, values, scratch, NULL), ROTARY_OK);
    const struct ranks_part own = ranks_part_of(ranks, *parts, ranks_index(ranks));
    int64_t different = 0;
    for (int64_t i = 0; i < parts->count; i++)
        different += values[i] != (i >= own.first && i < own.first + own.count ? sum_of(0, LEAVES, i) : 0.0f);
    CHECK_INT(different, 0);
    CHECK_INT(ranks_gather_parts(ranks, *parts, values, sizeof *values, NULL), ROTARY_OK);
    for (int64_t i = 0; i < parts->count; i++)
        different += values[i] != sum_of(0, LEAVES, i);
    CHECK_INT(different, 0);
    free(values);
    free(scratch);
}

static void test_parts(void)
{
    static const struct ranks_parts all[] = {{1, 1}, {17, 1}, {17, 5}, {64, 64}, {65, 64}, {MOST, 7}};
    for (int ranks = 1; ranks <= LEAVES; ranks *= 2)
        for (int i = 0; i < (int)(sizeof all / sizeof *all); i++) {
            struct ranks_parts parts = all[i];
            thread_ranks_run(ranks, sum_parts, &parts);
        }
}

/* "(ab)": an order that no other has. */
static void join(void *lower, const void *upper)
{
    enum { BYTES = 64 };
    char joined[BYTES] = "(";
    strcat(strcat(strcat(joined, lower), upper), ")");
    strcpy(lower, joined);
}

static void reduce_text(void *argument, const struct ranks *ranks)
{
    char text[64] = {(char)('a' + ranks_index(ranks))};
    CHECK_INT(ranks_reduce(ranks, text, sizeof text, join, NULL), ROTARY_OK);
    CHECK_TEXT(text, argument);
}

static void test_order(void)
{
    char one[] = "a", two[] = "(ab)", eight[] = "(((ab)(cd))((ef)(gh)))";
    thread_ranks_run(1, reduce_text, one);
    thread_ranks_run(2, reduce_text, two);
    thread_ranks_run(8, reduce_text, eight);
}

/* ---- sharing, agreeing, counting ---- */

static void share_number(void *argument, const struct ranks *ranks)
{
    (void)argument;
    int number = 100 + ranks_index(ranks);
    CHECK_INT(ranks_share(ranks, &number, sizeof number, NULL), ROTARY_OK);
    CHECK_INT(number, 100);
}

struct failing {
    int first, second; /* ranks that fail; -1: none */
};

static void agree(void *argument, const struct ranks *ranks)
{
    const struct failing *failing = argument;
    const int index = ranks_index(ranks);
    rotary_error error = {0};
    rotary_status status = ROTARY_OK;
    /* What another one's failure interrupted is none. */
    if (failing->second >= 0 && index == 0)
        status = rotary_fail(&error, ROTARY_INTERRUPTED, "interrupted");
    if (index == failing->first || index == failing->second)
        status = rotary_fail(&error, ROTARY_IO_ERROR, "broken at %d", index);
    const int told = failing->first >= 0 ? failing->first : failing->second;
    CHECK_INT(ranks_agree(ranks, status, &error), told >= 0 ? ROTARY_IO_ERROR : ROTARY_OK);
    char wanted[64] = "";
    if (told == 0)
        strcpy(wanted, "broken at 0");
    else if (told > 0)
        snprintf(wanted, sizeof wanted, "rank %d on here: broken at %d", told, told);
    CHECK_TEXT(error.message, wanted);
}

static void test_agreement(void)
{
    for (int ranks = 1; ranks <= 9; ranks++) {
        thread_ranks_run(ranks, share_number, NULL);
        for (int first = -1; first < ranks; first++) {
            struct failing one = {first, -1}, two = {first, ranks - 1};
            thread_ranks_run(ranks, agree, &one);
            if (first >= 0)
                thread_ranks_run(ranks, agree, &two);
        }
    }
}

enum { ITEMS = 100 };

static void count_items(void *argument, const struct ranks *ranks)
{
    atomic_int *taken = argument;
    const atomic_bool *stop;
    int64_t number;
    struct ranks_board own = {{0}}, all[THREAD_RANKS];
    CHECK_INT(ranks_work_begin(ranks, NULL, &stop, NULL), ROTARY_OK);
    do {
        CHECK_INT(ranks_work_next(ranks, &number, NULL), ROTARY_OK);
        if (number < ITEMS)
            own.numbers[1] = 1 + atomic_fetch_add(&taken[number], 1);
        CHECK_INT(ranks_work_show(ranks, &own, NULL), ROTARY_OK);
    } while (number < ITEMS);
    CHECK_INT(ranks_work_look(ranks, all, NULL), ROTARY_OK);
    CHECK_INT(all[ranks_index(ranks)].numbers[1], own.numbers[1]);
    ranks_work_stop(ranks);
    CHECK(atomic_load(stop));
    CHECK_INT(ranks_work_end(ranks, ROTARY_OK, NULL), ROTARY_OK);
}

static void test_work(void)
{
    for (int ranks = 2; ranks <= 5; ranks++) {
        atomic_int taken[ITEMS] = {0};
        thread_ranks_run(ranks, count_items, taken);
        for (int i = 0; i < ITEMS; i++)
            CHECK_INT(taken[i], 1);
    }
}

/* ---- who started this process ---- */

static void set(const char *name, const char *value)
{
    CHECK_INT(value ? setenv(name, value, 1) : unsetenv(name), 0);
}

static void test_started(void)
{
    static const struct {
        const char *openmpi, *pmi, *pmix, *slurm;
        int started;
    } cases[] = {
        {NULL, NULL, NULL, NULL, 1}, {"4", NULL, NULL, NULL, 4}, {NULL, "3", NULL, NULL, 3},
        {NULL, NULL, "1", "6", 6},   {NULL, NULL, NULL, "6", 1}, {"", "x", NULL, NULL, 1},
        {"0", NULL, NULL, NULL, 1},  {"1", NULL, "0", "6", 1},
    };
    for (int i = 0; i < (int)(sizeof cases / sizeof *cases); i++) {
        set("OMPI_COMM_WORLD_SIZE", cases[i].openmpi);
        set("PMI_SIZE", cases[i].pmi);
        set("PMIX_RANK", cases[i].pmix);
        set("SLURM_STEP_NUM_TASKS", cases[i].slurm);
        CHECK_INT(ranks_started(), cases[i].started);
    }
    struct ranks *ranks;
    set("SLURM_STEP_NUM_TASKS", NULL);
    set("OMPI_COMM_WORLD_SIZE", NULL);
    CHECK_INT(ranks_begin(&ranks, NULL, NULL, NULL), ROTARY_OK);
    CHECK(!ranks && ranks_count(ranks) == 1 && ranks_index(ranks) == 0 && ranks_threads(ranks) >= 1);
    ranks_end(ranks);
}

int main(void)
{
    test_sums();
    test_parts();
    test_order();
    test_agreement();
    test_work();
    test_started();
    return check_report();
}
