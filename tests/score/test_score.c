/* SPDX-License-Identifier: Apache-2.0
 *
 * Scores, against cases worked out by hand.
 */
#include "score/exact_match.h"
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
    struct token_scores even = token_scores((struct token_sums){5 * log(8.0), 5, 1});
    CHECK_NEAR(even.loss, log(8.0), 1e-15);
    CHECK_NEAR(even.perplexity, 8.0, 1e-13);
    CHECK_NEAR(even.accuracy, 0.2, 1e-15);
    struct token_scores certain = token_scores((struct token_sums){0.0, 3, 3});
    CHECK_NEAR(certain.loss, 0.0, 0);
    CHECK_NEAR(certain.perplexity, 1.0, 0);
    CHECK_NEAR(certain.accuracy, 1.0, 0);
    struct token_scores mixed = token_scores((struct token_sums){0.5 + 2.5 + 0.25 + 0.75, 4, 3});
    CHECK_NEAR(mixed.loss, 1.0, 0);
    CHECK_NEAR(mixed.perplexity, 2.718281828459045, 1e-15);
    CHECK_NEAR(mixed.accuracy, 0.75, 0);
    struct token_scores none = token_scores((struct token_sums){0});
    CHECK(isnan(none.loss) && isnan(none.perplexity) && isnan(none.accuracy));
    CHECK(isinf(token_scores((struct token_sums){INFINITY, 2, 0}).loss));
}

int main(void)
{
    test_exact_match();
    test_token_scores();
    return check_report();
}
