/* SPDX-License-Identifier: Apache-2.0
 *
 * The order of a finite corpus: a bijection for every size, uniform over positions, seeds and epochs, and
 * epochs that know nothing of each other.
 */
#include "support/check.h"
#include "task/permutation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LARGE = 1 << 18 };

/* Whether every one of 0 ... count - 1 is hit once. */
static bool is_bijection(uint64_t seed, uint64_t epoch, int64_t count)
{
    static unsigned char hit[LARGE + 8];
    memset(hit, 0, (size_t)count);
    for (int64_t i = 0; i < count; i++) {
        int64_t at = permutation_at(seed, epoch, count, i);
        if (at < 0 || at >= count || hit[at]++)
            return false;
    }
    return true;
}

static void test_bijection(void)
{
    for (int64_t count = 1; count <= 2000; count++) {
        check_about("%lld", (long long)count);
        CHECK(is_bijection((uint64_t)count * 0x9e3779b97f4a7c15u, (uint64_t)count % 7, count));
    }
    static const int64_t large[] = {4095, 4096, 4097, 65536, 65537, LARGE};
    for (size_t i = 0; i < sizeof large / sizeof large[0]; i++) {
        check_about("%lld", (long long)large[i]);
        CHECK(is_bijection(5, i, large[i]));
    }
    check_about("%s", "");
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Too large to count: the images of neighbours are in range, distinct, and spread over all of it. */
static void test_huge(void)
{
    static const int64_t huge[] = {(1ll << 31) - 1, (1ll << 32) + 1, (1ll << 40) + 7, (1ll << 61) + 3,
                                   1ll << 62};
    for (size_t n = 0; n < sizeof huge / sizeof huge[0]; n++) {
        enum { SAMPLE = 4096 };
        static int64_t image[SAMPLE];
        double mean = 0;
        for (int64_t i = 0; i < SAMPLE; i++) {
            image[i] = permutation_at(9, 2, huge[n], huge[n] - 1 - i);
            mean += (double)image[i] / (double)huge[n] / SAMPLE;
        }
        check_about("%lld", (long long)huge[n]);
        qsort(image, SAMPLE, sizeof image[0], compare);
        CHECK(image[0] >= 0 && image[SAMPLE - 1] < huge[n]);
        for (int i = 1; i < SAMPLE; i++)
            CHECK(image[i] != image[i - 1]);
        CHECK_NEAR(mean, 0.5, 5 * sqrt(1.0 / 12 / SAMPLE));
    }
    check_about("%s", "");
}

/* Pearson's statistic of `cells` counts that are expected to be equal is within five standard deviations of
 * its mean, the degrees of freedom; below too, because a sequence may be too even. */
static void check_even(const int64_t *counts, int64_t cells, double freedom)
{
    double total = 0, statistic = 0;
    for (int64_t i = 0; i < cells; i++)
        total += (double)counts[i];
    for (int64_t i = 0; i < cells; i++) {
        double excess = (double)counts[i] - total / (double)cells;
        statistic += excess * excess / (total / (double)cells);
    }
    CHECK_NEAR(statistic, freedom, 5 * sqrt(2 * freedom) + 3);
}

/* How often each example comes at each position, over seeds and over epochs. */
static void test_positions(void)
{
    static const int64_t sizes[] = {2, 3, 4, 5, 6, 15, 16, 17, 33, 64, 100};
    enum { MAX = 100, DRAWS = 1500 };
    static int64_t counts[MAX * MAX];
    for (size_t n = 0; n < sizeof sizes / sizeof sizes[0]; n++)
        for (int by_seed = 0; by_seed < 2; by_seed++) {
            int64_t count = sizes[n];
            memset(counts, 0, sizeof counts);
            for (uint64_t draw = 0; draw < DRAWS; draw++)
                for (int64_t i = 0; i < count; i++)
                    counts[i * count + permutation_at(by_seed ? draw : 3, by_seed ? 3 : draw, count, i)]++;
            check_about("%lld examples, over %s", (long long)count, by_seed ? "seeds" : "epochs");
            check_even(counts, count * count, (double)((count - 1) * (count - 1)));
        }
    check_about("%s", "");
}

/* Of few examples every order is as frequent as any other. */
static void test_orders(void)
{
    for (int64_t count = 2; count <= 5; count++) {
        static int64_t counts[5 * 5 * 5 * 5 * 5], orders[120];
        int64_t factorial = 1, codes = 1, found = 0;
        for (int64_t i = 1; i <= count; i++) {
            factorial *= i;
            codes *= count;
        }
        memset(counts, 0, sizeof counts);
        for (uint64_t draw = 0; draw < 24000; draw++) {
            int64_t code = 0;
            for (int64_t i = 0; i < count; i++)
                code = code * count + permutation_at(draw % 5, draw / 5, count, i);
            counts[code]++;
        }
        for (int64_t code = 0; code < codes; code++)
            if (counts[code] > 0 && found < factorial)
                orders[found++] = counts[code];
        check_about("%lld examples", (long long)count);
        CHECK_INT(found, factorial);
        check_even(orders, factorial, (double)(factorial - 1));
    }
    check_about("%s", "");
}

/* Half of all orders take an odd number of swaps. */
static void test_parity(void)
{
    static const int64_t sizes[] = {2, 7, 9, 16, 25, 49, 64};
    enum { MAX = 64, DRAWS = 1000 };
    for (size_t n = 0; n < sizeof sizes / sizeof sizes[0]; n++) {
        int64_t odd = 0;
        for (uint64_t draw = 0; draw < DRAWS; draw++) {
            int64_t order[MAX], inversions = 0;
            for (int64_t i = 0; i < sizes[n]; i++) {
                order[i] = permutation_at(4, draw, sizes[n], i);
                for (int64_t j = 0; j < i; j++)
                    inversions += order[j] > order[i];
            }
            odd += inversions % 2;
        }
        check_about("%lld examples", (long long)sizes[n]);
        CHECK_NEAR((double)odd, DRAWS / 2, 5 * sqrt(DRAWS / 4.0));
    }
    check_about("%s", "");
}

/* Epochs, and the order of the corpus itself, are uncorrelated: coefficients of correlation of independent
 * permutations have mean 0 and variance 1 / (count - 1). So are neighbours within an epoch. An example comes
 * at the same place as in the epoch before once per epoch on average. */
static void test_epochs(void)
{
    enum { COUNT = 501, EPOCHS = 400 };
    static int64_t order[EPOCHS][COUNT];
    for (uint64_t epoch = 0; epoch < EPOCHS; epoch++)
        for (int64_t i = 0; i < COUNT; i++)
            order[epoch][i] = permutation_at(1, epoch, COUNT, i);
    const double middle = (COUNT - 1) / 2.0, variance = (COUNT * (double)COUNT - 1) / 12;
    double corpus = 0, before = 0, neighbours = 0;
    int64_t repeated = 0;
    for (int epoch = 1; epoch < EPOCHS; epoch++)
        for (int i = 0; i < COUNT; i++) {
            double at = (double)order[epoch][i] - middle;
            corpus += at * ((double)i - middle);
            before += at * ((double)order[epoch - 1][i] - middle);
            neighbours += at * ((double)order[epoch][(i + 1) % COUNT] - middle);
            repeated += order[epoch][i] == order[epoch - 1][i];
        }
    const double scale = COUNT * variance * (EPOCHS - 1), bound = 5 / sqrt((COUNT - 1.0) * (EPOCHS - 1));
    CHECK_NEAR(corpus / scale, 0, bound);
    CHECK_NEAR(before / scale, 0, bound);
    CHECK_NEAR(neighbours / scale, -1.0 / (COUNT - 1), bound);
    CHECK_NEAR((double)repeated, EPOCHS - 1, 5 * sqrt(EPOCHS - 1));
}

/* Every epoch has every example once, whatever the rows per step, also where an epoch ends within a step, and
 * however the rows of a step are cut into micro-batches. */
static void test_steps(void)
{
    enum { EPOCHS = 6, MAX = 64 };
    for (int64_t count = 1; count <= MAX; count += 1 + count / 4)
        for (int64_t rows = 1; rows <= 40; rows += 3) {
            int64_t seen[EPOCHS][MAX] = {{0}};
            uint64_t before = 0;
            check_about("%lld examples, %lld rows per step", (long long)count, (long long)rows);
            for (int64_t done = 0; done < EPOCHS * count; done++) {
                const struct task_place place = {
                    .seed = 11, .step = (uint32_t)(1 + done / rows), .index = done % rows, .ordinal = done};
                struct corpus_example example = corpus_training_example(&place, count);
                CHECK_INT((int64_t)example.epoch, done / count);
                CHECK(example.epoch >= before);
                before = example.epoch;
                CHECK_INT(example.index, permutation_at(11, example.epoch, count, done % count));
                if (CHECK(example.epoch < EPOCHS && example.index >= 0 && example.index < count))
                    seen[example.epoch][example.index]++;
            }
            for (int epoch = 0; epoch < EPOCHS; epoch++)
                for (int64_t i = 0; i < count; i++)
                    CHECK_INT(seen[epoch][i], 1);
        }
    /* The last step that a configuration may have, with its largest batch. */
    const struct task_place last = {.ordinal = (4294967295ll << 20) - 1};
    CHECK_INT((int64_t)corpus_training_example(&last, 1).epoch, (4294967295ll << 20) - 1);
    check_about("%s", "");
}

int main(void)
{
    test_bijection();
    test_huge();
    test_positions();
    test_orders();
    test_parity();
    test_epochs();
    test_steps();
    return check_report();
}
