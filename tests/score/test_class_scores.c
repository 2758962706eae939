/* SPDX-License-Identifier: Apache-2.0
 *
 * Scores of classes against scikit-learn's and correlations against SciPy's, cases worked out by hand, and
 * what is refused.
 */
#include "score/class_goldens.h"
#include "score/class_scores.h"
#include "score/correlation.h"
#include "score/label_scores.h"
#include "support/check.h"

#include <stddef.h>

enum { MAX_CLASSES = 8 };

static void test_golden_classes(void)
{
    for (size_t i = 0; i < sizeof golden_classes / sizeof golden_classes[0]; i++) {
        int64_t pairs[MAX_CLASSES * MAX_CLASSES];
        const struct class_counts counts = {golden_classes[i].classes, pairs};
        rotary_error error = {0};
        check_about("classes %zu", i);
        if (!CHECK(class_counts_fill(&counts, golden_classes[i].labels, golden_classes[i].predictions,
                                     GOLDEN_EXAMPLES, &error) == ROTARY_OK))
            continue;
        CHECK_NEAR(class_accuracy(&counts), golden_classes[i].accuracy, 1e-15);
        CHECK_NEAR(class_macro_f1(&counts), golden_classes[i].macro_f1, 1e-15);
        CHECK_NEAR(class_matthews(&counts), golden_classes[i].matthews, 1e-14);
        if (counts.classes > 1)
            CHECK_NEAR(class_f1(&counts, 1), golden_classes[i].f1, 1e-15);
    }
    check_about("%s", "");
}

/* Of 10 examples 3 are of class 1; 4 are predicted so, 2 of them correctly. */
static void test_by_hand(void)
{
    static const int32_t labels[] = {1, 1, 1, 0, 0, 0, 0, 0, 0, 0},
                         predictions[] = {1, 1, 0, 1, 1, 0, 0, 0, 0, 0};
    int64_t pairs[4];
    const struct class_counts counts = {2, pairs};
    rotary_error error = {0};
    CHECK(class_counts_fill(&counts, labels, predictions, 10, &error) == ROTARY_OK);
    CHECK_INT(pairs[0], 5);
    CHECK_INT(pairs[1], 2);
    CHECK_INT(pairs[2], 1);
    CHECK_INT(pairs[3], 2);
    CHECK_NEAR(class_accuracy(&counts), 0.7, 1e-15);
    CHECK_NEAR(class_f1(&counts, 1), 4.0 / 7, 1e-15);   /* precision 2/4, recall 2/3 */
    CHECK_NEAR(class_f1(&counts, 0), 10.0 / 13, 1e-15); /* precision 5/6, recall 5/7 */
    CHECK_NEAR(class_macro_f1(&counts), 0.5 * (4.0 / 7 + 10.0 / 13), 1e-15);
    CHECK_NEAR(class_matthews(&counts), (2.0 * 5 - 2.0 * 1) / 22.44994432064365, 1e-14); /* √(4·3·7·6) */
}

static void test_refused_classes(void)
{
    static const int32_t good[] = {0, 1, 2, 0}, high[] = {0, 1, 2, 3}, low[] = {0, -1, 2, 0};
    int64_t pairs[9] = {7};
    rotary_error error = {0};
    const struct class_counts counts = {3, pairs};
    CHECK(class_counts_fill(&counts, high, good, 4, &error) == ROTARY_INVALID_ARGUMENT);
    CHECK_WORDS(error.message, "label of example 4|class 3|0 to 2");
    CHECK(class_counts_fill(&counts, good, low, 4, &error) == ROTARY_INVALID_ARGUMENT);
    CHECK_WORDS(error.message, "prediction of example 2|class -1|0 to 2");
    CHECK(class_counts_fill(&counts, good, good, 0, &error) == ROTARY_INVALID_ARGUMENT);
    CHECK_WORDS(error.message, "no example");
    CHECK_INT(pairs[0], 7); /* nothing was counted */
    const struct class_counts none = {0, pairs}, many = {CLASSES_MAX + 1, pairs};
    CHECK(class_counts_fill(&none, good, good, 4, &error) == ROTARY_INVALID_ARGUMENT);
    CHECK(class_counts_fill(&many, good, good, 4, &error) == ROTARY_INVALID_ARGUMENT);
    CHECK_WORDS(error.message, "1025 classes|1 to 1024");
}

static void check_correlation(double got, double wanted, double bound)
{
    if (isnan(wanted))
        CHECK(isnan(got));
    else
        CHECK_NEAR(got, wanted, bound);
}

static void test_golden_correlations(void)
{
    for (size_t i = 0; i < sizeof golden_pairs / sizeof golden_pairs[0]; i++) {
        const struct number_pairs pairs = {GOLDEN_PAIRS, golden_pairs[i].first, golden_pairs[i].second};
        double pearson = 2, spearman = 2;
        rotary_error error = {0};
        check_about("pairs %zu", i);
        CHECK(correlation_pearson(&pairs, &pearson, &error) == ROTARY_OK);
        CHECK(correlation_spearman(&pairs, &spearman, &error) == ROTARY_OK);
        check_correlation(pearson, golden_pairs[i].pearson, 1e-13);
        check_correlation(spearman, golden_pairs[i].spearman, 1e-13);
    }
    check_about("%s", "");
}

static void test_refused_numbers(void)
{
    double good[] = {1, 2, 3}, bad[] = {1, 2, 3}, correlation = 2;
    const double unusable[] = {NAN, INFINITY, -INFINITY, 2e300};
    const struct number_pairs pairs = {3, good, bad}, swapped = {3, bad, good}, one = {1, good, good};
    rotary_error error = {0};
    for (size_t i = 0; i < sizeof unusable / sizeof unusable[0]; i++) {
        bad[2] = unusable[i];
        CHECK(correlation_pearson(&pairs, &correlation, &error) == ROTARY_INVALID_ARGUMENT);
        CHECK(correlation_spearman(&swapped, &correlation, &error) == ROTARY_INVALID_ARGUMENT);
        CHECK_WORDS(error.message, "pair 3");
    }
    CHECK(correlation_pearson(&one, &correlation, &error) == ROTARY_INVALID_ARGUMENT);
    CHECK_WORDS(error.message, "1 pairs|at least 2");
    CHECK(correlation == 2); /* written on success only */
}

/* Labels have the scores of their kind, and no others. */
static void test_label_scores(void)
{
    const struct number_pairs pairs = {GOLDEN_PAIRS, golden_pairs[5].first, golden_pairs[5].second};
    struct label_scores scores = {.examples = -1};
    rotary_error error = {0};
    CHECK(label_scores_of_classes(&scores, 2, golden_classes[0].labels, golden_classes[0].predictions,
                                  GOLDEN_EXAMPLES, &error) == ROTARY_OK);
    CHECK_INT(scores.examples, GOLDEN_EXAMPLES);
    CHECK_NEAR(scores.values[LABEL_ACCURACY], golden_classes[0].accuracy, 1e-15);
    CHECK_NEAR(scores.values[LABEL_F1], golden_classes[0].f1, 1e-15);
    CHECK_NEAR(scores.values[LABEL_MACRO_F1], golden_classes[0].macro_f1, 1e-15);
    CHECK_NEAR(scores.values[LABEL_MATTHEWS], golden_classes[0].matthews, 1e-14);
    CHECK(isnan(scores.values[LABEL_PEARSON]) && isnan(scores.values[LABEL_SPEARMAN]));
    CHECK(label_scores_of_classes(&scores, 3, golden_classes[3].labels, golden_classes[3].predictions,
                                  GOLDEN_EXAMPLES, &error) == ROTARY_OK);
    CHECK(isnan(scores.values[LABEL_F1]));
    CHECK(label_scores_of_numbers(&scores, pairs.first, pairs.second, GOLDEN_PAIRS, &error) == ROTARY_OK);
    CHECK_NEAR(scores.values[LABEL_PEARSON], golden_pairs[5].pearson, 1e-13);
    CHECK_NEAR(scores.values[LABEL_SPEARMAN], golden_pairs[5].spearman, 1e-13);
    CHECK(isnan(scores.values[LABEL_ACCURACY]) && isnan(scores.values[LABEL_MATTHEWS]));
    for (int score = 0; score < LABEL_SCORES; score++) {
        const bool of_numbers = score == LABEL_PEARSON || score == LABEL_SPEARMAN;
        CHECK_INT(label_score_fits((enum label_score)score, 0), of_numbers);
        CHECK_INT(label_score_fits((enum label_score)score, 2), !of_numbers);
        CHECK_INT(label_score_fits((enum label_score)score, 3), !of_numbers && score != LABEL_F1);
    }
}

int main(void)
{
    test_golden_classes();
    test_by_hand();
    test_refused_classes();
    test_golden_correlations();
    test_refused_numbers();
    test_label_scores();
    return check_report();
}
