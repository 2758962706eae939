/* SPDX-License-Identifier: Apache-2.0
 *
 * Scores, against cases worked out by hand, and intervals against those of SciPy (binomtest).
 */
#include "score/exact_match.h"
#include "score/proportion.h"
#include "score/token_scores.h"
#include "support/check.h"

#include <math.h>
#include <stddef.h>

static void test_exact_match(void)
{
    static const struct {
        const char *answer, *reference;
        bool wanted;
    } cases[] = {
        {"38446442", "38446442", true},
        {"3844644", "38446442", false},
        {"38446442", "3844644", false},
        {"", "38446442", false},
        {"", "", false},
        {"a", "A", false},
        {"a ", "a", false},
        {" a", "a", false},
        {"\xc3\xa9", "\xc3\xa9", true},
        {"\xc3\xa9", "\xc3\xa8", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        check_about("\"%s\" for \"%s\"", cases[i].answer, cases[i].reference);
        CHECK_INT(exact_match(cases[i].answer, cases[i].reference), cases[i].wanted);
    }
    check_about("%s", "");
}

/* A model that spreads its probability evenly over 8 tokens has a perplexity of 8. */
static void test_token_scores(void)
{
    struct token_scores even = token_scores((struct token_sums){5 * log(8.0), 5, 1, 0});
    CHECK_NEAR(even.loss, log(8.0), 1e-15);
    CHECK_NEAR(even.perplexity, 8.0, 1e-13);
    CHECK_NEAR(even.accuracy, 0.2, 1e-15);
    struct token_scores certain = token_scores((struct token_sums){0.0, 3, 3, 0});
    CHECK_NEAR(certain.loss, 0.0, 0);
    CHECK_NEAR(certain.perplexity, 1.0, 0);
    CHECK_NEAR(certain.accuracy, 1.0, 0);
    CHECK_NEAR(token_scores((struct token_sums){6 * log(2.0), 4, 1, 12}).bits_per_byte, 0.5, 1e-15);
    CHECK_NEAR(even.bits_per_byte, 0.0, 0); /* bytes that are not known */
    struct token_scores mixed = token_scores((struct token_sums){0.5 + 2.5 + 0.25 + 0.75, 4, 3, 0});
    CHECK_NEAR(mixed.loss, 1.0, 0);
    CHECK_NEAR(mixed.perplexity, 2.718281828459045, 1e-15);
    CHECK_NEAR(mixed.accuracy, 0.75, 0);
    struct token_scores none = token_scores((struct token_sums){0});
    CHECK(isnan(none.loss) && isnan(none.perplexity) && isnan(none.accuracy));
    CHECK(isinf(token_scores((struct token_sums){INFINITY, 2, 0, 0}).loss));
}

static void test_wilson(void)
{
    static const struct {
        int64_t correct, count;
        double low, high;
    } cases[] = {
        {8, 10, 0.490162471536642, 0.943317848545625},
        {0, 10, 0, 0.277532799862889},
        {10, 10, 0.722467200137111, 1},
        {127, 128, 0.957073740561139, 0.998619568107126},
        {128, 128, 0.970863043726492, 1},
        {62, 128, 0.399522980259696, 0.570137549623852},
        {1, 1, 0.206549314377237, 1},
        {0, 1, 0, 0.793450685622763},
        {65000, 65536, 0.991102327656184, 0.992482596645217},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        check_about("%lld of %lld", (long long)cases[i].correct, (long long)cases[i].count);
        struct proportion_interval interval = proportion_wilson(cases[i].correct, cases[i].count);
        CHECK_NEAR(interval.low, cases[i].low, 1e-12);
        CHECK_NEAR(interval.high, cases[i].high, 1e-12);
    }
    check_about("%s", "");
    CHECK(isnan(proportion_wilson(0, 0).low) && isnan(proportion_wilson(0, 0).high));
}

int main(void)
{
    test_wilson();
    test_exact_match();
    test_token_scores();
    return check_report();
}
