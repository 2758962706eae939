/* SPDX-License-Identifier: Apache-2.0
 *
 * The joint sign flips: p and intervals against numpy's by definition (goldens.py), and p against a slow
 * enumeration of made-up contrasts, some of which lack seeds, have ties, or are equal.
 */
#include "support/check.h"

#include "base/random.h"
#include "statistics/max_t.h"
#include "statistics/sign_flip.h"

#include <math.h>
#include <string.h>

#include "goldens.h"

enum { GOLDENS = sizeof joint_goldens / sizeof joint_goldens[0], MAX = 5, SEEDS = 20 };
static const double alpha = 0.05;

static void test(struct max_t_contrast *contrasts, int count, int seeds)
{
    rotary_error error = {0};
    const struct max_t_call call = {
        .contrasts = contrasts, .contrast_count = count, .seed_count = seeds, .alpha = alpha};
    CHECK_INT(max_t_test(&call, &error), ROTARY_OK);
}

static void check_goldens(void)
{
    for (int i = 0; i < GOLDENS; i++) {
        const struct joint_golden *golden = &joint_goldens[i];
        struct max_t_contrast contrasts[MAX] = {{0}};
        for (int j = 0; j < golden->contrasts; j++)
            contrasts[j].differences = golden->differences[j];
        test(contrasts, golden->contrasts, golden->seeds);
        for (int j = 0; j < golden->contrasts; j++) {
            check_about("golden %d, contrast %d", i, j);
            CHECK_NEAR(contrasts[j].p, golden->p[j], 1e-15);
            /* numpy halves a wide range until p changes, which ties do by 1e-9. */
            CHECK_NEAR(contrasts[j].low, golden->low[j], 1e-6 * fmax(1, fabs(golden->low[j])));
            CHECK_NEAR(contrasts[j].high, golden->high[j], 1e-6 * fmax(1, fabs(golden->high[j])));
        }
    }
}

/* |t| of the differences whose signs a pattern flips. */
static double plain_t(const double *differences, int seeds, int pattern)
{
    double sum = 0, squares = 0, max = 0;
    int count = 0;
    for (int i = 0; i < seeds; i++)
        if (!isnan(differences[i])) {
            sum += pattern >> i & 1 ? -differences[i] : differences[i];
            max = fmax(max, fabs(differences[i]));
            count++;
        }
    for (int i = 0; i < seeds; i++)
        if (!isnan(differences[i])) {
            double deviation = (pattern >> i & 1 ? -differences[i] : differences[i]) - sum / count;
            squares += deviation * deviation;
        }
    if (squares <= 1e-18 * max * max * count)
        return max > 0 ? (double)INFINITY : 0;
    return fabs(sum) / count / sqrt(squares / (count - 1.0) / count);
}

/* Step-down by its definition: contrasts with a larger t are left out of the largest. */
static void plain_p(double p[MAX], double rows[MAX][SEEDS], int count, int seeds)
{
    bool done[MAX] = {false};
    double before = 0;
    for (int rank = 0; rank < count; rank++) {
        int at = -1, reached = 0;
        for (int i = 0; i < count; i++)
            if (!done[i] && (at < 0 || plain_t(rows[i], seeds, 0) > plain_t(rows[at], seeds, 0)))
                at = i;
        const double found = plain_t(rows[at], seeds, 0);
        for (int pattern = 0; pattern < 1 << seeds; pattern++) {
            double largest = 0;
            for (int i = 0; i < count; i++)
                if (!done[i])
                    largest = fmax(largest, plain_t(rows[i], seeds, pattern));
            reached += largest >= found * (1 - 1e-9);
        }
        p[at] = before = fmax(before, ldexp(reached, -seeds));
        done[at] = true;
    }
}

/* Differences of five kinds: plain, with ties, without some seeds, equal, all zero. */
static void make_row(double row[SEEDS], int kind, int seeds, uint32_t repeat)
{
    const struct rotary_random_key key = {.stream = ROTARY_STREAM_TEST, .step = repeat};
    for (int i = 0; i < seeds; i++) {
        const double value = (double)rotary_random_normal(key, (uint64_t)(kind * SEEDS + i)) + 0.3 * kind;
        row[i] = kind == 1 ? round(2 * value) * 0.1 : value;
        if (kind == 2 && i % 3 == 1 && repeat % 2)
            row[i] = (double)NAN;
        if (kind == 3 && repeat % 3 == 0)
            row[i] = 0.1 * (double)(1 + repeat % 2) + 0.2 - 0.2;
        if (kind == 4)
            row[i] = repeat % 4 == 0 ? 0 : row[i] - 1.2;
    }
}

static void check_by_definition(void)
{
    int small = 0;
    for (uint32_t repeat = 0; repeat < 60; repeat++) {
        double rows[MAX][SEEDS], wanted[MAX];
        struct max_t_contrast contrasts[MAX];
        const int count = 1 + (int)repeat % MAX, seeds = 6 + (int)repeat % 4;
        for (int i = 0; i < count; i++) {
            make_row(rows[i], i, seeds, repeat);
            contrasts[i] = (struct max_t_contrast){.differences = rows[i]};
        }
        test(contrasts, count, seeds);
        plain_p(wanted, rows, count, seeds);
        for (int i = 0; i < count; i++) {
            check_about("repeat %d, contrast %d of %d, %d seeds", (int)repeat, i, count, seeds);
            CHECK_NEAR(contrasts[i].p, wanted[i], 1e-15);
            /* What the interval leaves out is significant. */
            CHECK(contrasts[i].p <= alpha || (contrasts[i].low <= 0 && contrasts[i].high >= 0));
            small += contrasts[i].p <= alpha;
        }
        if (count == 1)
            CHECK_INT(contrasts[0].p <= alpha, contrasts[0].low > 0 || contrasts[0].high < 0);
    }
    CHECK(small > 20);
}

/* Equal contrasts have equal intervals; a copy of a contrast changes nothing. */
static void check_copies(void)
{
    double rows[3][SEEDS];
    struct max_t_contrast both[3], one[2];
    check_about("copies");
    make_row(rows[0], 2, 8, 2);
    make_row(rows[1], 1, 8, 2);
    memcpy(rows[2], rows[0], sizeof rows[0]);
    for (int i = 0; i < 3; i++)
        both[i] = (struct max_t_contrast){.differences = rows[i]};
    memcpy(one, both, sizeof one);
    test(both, 3, 8);
    test(one, 2, 8);
    CHECK_NEAR(both[0].p, both[2].p, 0);
    CHECK_NEAR(both[0].low, both[2].low, 0);
    CHECK_NEAR(both[0].high, both[2].high, 0);
    CHECK_NEAR(both[0].p, one[0].p, 0);
    CHECK(both[0].low <= one[0].low && both[0].high >= one[0].high);
}

/* More seeds than are enumerated: drawn patterns, the same as those of one contrast. */
static void check_drawn(void)
{
    double row[SEEDS], other[SEEDS];
    struct max_t_contrast contrasts[2] = {{.differences = row}, {.differences = other}};
    check_about("20 seeds");
    make_row(row, 1, SEEDS, 5);
    make_row(other, 4, SEEDS, 5);
    test(contrasts, 1, SEEDS);
    CHECK_NEAR(contrasts[0].p, sign_flip_p(row, SEEDS), 1e-15);
    CHECK(contrasts[0].p > 1e-5 && contrasts[0].p < 0.9);
    const double p = contrasts[0].p;
    test(contrasts, 2, SEEDS);
    CHECK(contrasts[0].p >= p && contrasts[1].p >= sign_flip_p(other, SEEDS));
    for (int i = 0; i < SEEDS; i++)
        row[i] = 1;
    test(contrasts, 2, SEEDS);
    CHECK_NEAR(contrasts[0].p, sign_flip_min_p(SEEDS), 1e-15);
    CHECK_NEAR(contrasts[0].low, 1, 1e-12);
    CHECK_NEAR(contrasts[0].high, 1, 1e-12);
}

/* Five pairs can show nothing, and no end of an interval is found. */
static void check_few(void)
{
    struct max_t_contrast contrast = {.differences = (const double[]){1, 2, 3, 4, 5}};
    check_about("five pairs");
    test(&contrast, 1, 5);
    CHECK_NEAR(contrast.p, 0.0625, 0);
    CHECK(isinf(contrast.low) && contrast.low < 0 && isinf(contrast.high) && contrast.high > 0);
}

int main(void)
{
    check_goldens();
    check_by_definition();
    check_copies();
    check_drawn();
    check_few();
    return check_report();
}
