/* SPDX-License-Identifier: Apache-2.0
 *
 * Baselines against scikit-learn: linear models of the same features, and bags of words and similarities of
 * the same texts.
 */
#include "score/baseline/baseline.h"
#include "score/baseline/lbfgs.h"
#include "score/baseline/tfidf.h"
#include "score/baseline_goldens.h"
#include "support/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ALL_TEXTS = GOLDEN_TEXTS + GOLDEN_HELD, MAX_CLASSES = 4 };
static const double TOLERANCE = 1e-11; /* of fits that are compared */

/* ---- linear models ---- */

/* A dense matrix without its zeros. */
static struct feature_rows sparse(const double features[GOLDEN_ROWS][GOLDEN_COLUMNS])
{
    enum { ALL = GOLDEN_ROWS * GOLDEN_COLUMNS };
    struct feature_rows rows = {.rows = GOLDEN_ROWS,
                                .columns = GOLDEN_COLUMNS,
                                .starts = calloc(GOLDEN_ROWS + 1, sizeof *rows.starts),
                                .places = calloc(ALL, sizeof *rows.places),
                                .values = calloc(ALL, sizeof *rows.values)};
    if (!rows.starts || !rows.places || !rows.values)
        abort();
    int64_t used = 0;
    for (int i = 0; i < GOLDEN_ROWS; i++) {
        for (int32_t j = 0; j < GOLDEN_COLUMNS; j++)
            if (features[i][j] != 0) {
                rows.places[used] = j;
                rows.values[used++] = features[i][j];
            }
        rows.starts[i + 1] = used;
    }
    return rows;
}

/* Softmax does not see a number that is added to the scores of all classes: it is taken out. */
static void take_out_mean(double *z, int outputs)
{
    double mean = 0;
    for (int k = 0; k < outputs; k++)
        mean += z[k] / outputs;
    for (int k = 0; k < outputs && outputs > 1; k++)
        z[k] -= mean;
}

static void test_linear(void)
{
    enum { WIDTH = GOLDEN_COLUMNS + 1 };
    for (size_t i = 0; i < sizeof golden_linear / sizeof golden_linear[0]; i++) {
        struct feature_rows rows = sparse(golden_linear[i].features);
        const struct linear_targets targets = {golden_linear[i].classes, golden_linear[i].labels,
                                               golden_linear[i].values};
        struct linear_model model;
        rotary_error error = {0};
        check_about("linear %zu", i);
        if (!CHECK_INT(linear_fit(&model, &rows, &targets, golden_linear[i].penalty, TOLERANCE, &error),
                       ROTARY_OK))
            continue;
        for (int j = 0; j < WIDTH; j++) {
            double got[GOLDEN_OUTPUTS], wanted[GOLDEN_OUTPUTS];
            for (int k = 0; k < model.outputs; k++) {
                got[k] = model.weights[k * WIDTH + j];
                wanted[k] = golden_linear[i].weights[k * WIDTH + j];
            }
            take_out_mean(got, model.outputs);
            take_out_mean(wanted, model.outputs);
            for (int k = 0; k < model.outputs; k++)
                CHECK_NEAR(got[k], wanted[k], 1e-7 * (1 + fabs(wanted[k])));
        }
        CHECK(model.iterations > 5 && model.iterations < 2000);
        linear_free(&model);
        feature_rows_free(&rows);
    }
    check_about("%s", "");
}

static void test_classes(void)
{
    const struct linear_model two = {.classes = 2, .outputs = 1}, three = {.classes = 3, .outputs = 3};
    CHECK_INT(linear_class(&two, (const double[]){0.1}), 1);
    CHECK_INT(linear_class(&two, (const double[]){-0.1}), 0);
    CHECK_INT(linear_class(&two, (const double[]){0}), 0);
    CHECK_INT(linear_class(&three, (const double[]){-3, -1, -2}), 1);
    CHECK_INT(linear_class(&three, (const double[]){1, 2, 2}), 1);
}

static void test_refused(void)
{
    struct feature_rows rows = sparse(golden_linear[0].features);
    int32_t labels[GOLDEN_ROWS] = {0};
    double values[GOLDEN_ROWS] = {0};
    struct linear_model model;
    rotary_error error = {0};
    const struct linear_targets classes = {2, labels, NULL}, numbers = {0, NULL, values};
    CHECK_INT(linear_fit(&model, &rows, &classes, 1, TOLERANCE, &error), ROTARY_INVALID_ARGUMENT);
    CHECK_WORDS(error.message, "all 40 examples are of class 0");
    labels[3] = 2;
    CHECK_INT(linear_fit(&model, &rows, &classes, 1, TOLERANCE, &error), ROTARY_INVALID_ARGUMENT);
    CHECK_WORDS(error.message, "example 4 is class 2|0 to 1");
    values[7] = NAN;
    CHECK_INT(linear_fit(&model, &rows, &numbers, 1, TOLERANCE, &error), ROTARY_INVALID_ARGUMENT);
    CHECK_WORDS(error.message, "example 8 is nan");
    rows.rows = 0;
    CHECK_INT(linear_fit(&model, &rows, &classes, 1, TOLERANCE, &error), ROTARY_INVALID_ARGUMENT);
    CHECK_WORDS(error.message, "no examples");
    feature_rows_free(&rows);
}

/* Rosenbrock's valley in ten dimensions has its minimum at 1, 1, ... and is not convex on the way there. */
static double valley(const void *context, const double *x, double *gradient)
{
    const int64_t count = *(const int64_t *)context;
    double value = 0;
    memset(gradient, 0, (size_t)count * sizeof *gradient);
    for (int64_t i = 0; i + 1 < count; i++) {
        const double a = x[i + 1] - x[i] * x[i], b = 1 - x[i];
        value += 100 * a * a + b * b;
        gradient[i] += -400 * a * x[i] - 2 * b;
        gradient[i + 1] += 200 * a;
    }
    return value;
}

static void test_valley(void)
{
    enum { COUNT = 10 };
    const int64_t count = COUNT;
    double point[COUNT];
    int iterations = 0;
    for (int i = 0; i < COUNT; i++)
        point[i] = i % 2 ? 1.0 : -1.2;
    struct lbfgs search = {COUNT, valley, &count, 1e-10, 1000};
    CHECK_INT(lbfgs_minimize(&search, point, &iterations, NULL), ROTARY_OK);
    for (int i = 0; i < COUNT; i++)
        CHECK_NEAR(point[i], 1, 1e-8);
    CHECK(iterations > 20 && iterations < 200);
    search.max_iterations = 3;
    point[0] = -1.2;
    CHECK_INT(lbfgs_minimize(&search, point, &iterations, NULL), ROTARY_OK);
    CHECK_INT(iterations, 3);
    point[0] = NAN;
    CHECK_INT(lbfgs_minimize(&search, point, &iterations, NULL), ROTARY_INVALID_ARGUMENT);
}

/* ---- TF-IDF ---- */

/* Each held-out first text with the second one of the same place, and with the first of all. */
static void test_tfidf(void)
{
    struct text_line texts[2 * GOLDEN_TEXTS];
    struct tfidf tfidf;
    for (int i = 0; i < GOLDEN_TEXTS; i++) {
        texts[2 * i] = (struct text_line){golden_first[i], (int64_t)strlen(golden_first[i])};
        texts[2 * i + 1] = (struct text_line){golden_second[i], (int64_t)strlen(golden_second[i])};
    }
    CHECK_INT(tfidf_create(&tfidf, texts, 2 * GOLDEN_TEXTS, NULL), ROTARY_OK);
    CHECK_INT(tfidf.count, GOLDEN_PAIRS);
    int zeros = 0;
    for (int i = 0; i < GOLDEN_HELD; i++) {
        const char *first = golden_first[GOLDEN_TEXTS + i], *second = golden_second[GOLDEN_TEXTS + i];
        const struct text_line text = {first, (int64_t)strlen(first)},
                               choices[] = {{second, (int64_t)strlen(second)}, texts[0], {"q", 1}};
        double similarities[3];
        int32_t chosen = -1;
        CHECK_INT(tfidf_choose(&tfidf, &text, choices, 3, similarities, &chosen, NULL), ROTARY_OK);
        for (int j = 0; j < 2; j++)
            CHECK_NEAR(similarities[j], golden_tfidf[2 * i + j], 1e-12);
        CHECK_NEAR(similarities[2], 0, 0);
        CHECK_INT(chosen, similarities[1] > similarities[0]);
        zeros += similarities[0] == 0;
    }
    CHECK_INT(zeros, 6);
    tfidf_free(&tfidf);
}

/* ---- bags of words ---- */

struct texts {
    struct text_line first[ALL_TEXTS], second[ALL_TEXTS];
};

static void fill_texts(struct texts *texts)
{
    for (int i = 0; i < ALL_TEXTS; i++) {
        texts->first[i] = (struct text_line){golden_first[i], (int64_t)strlen(golden_first[i])};
        texts->second[i] = (struct text_line){golden_second[i], (int64_t)strlen(golden_second[i])};
    }
}

static struct word_texts texts_from(const struct texts *texts, int begin, int count, bool pairs)
{
    return (struct word_texts){count, texts->first + begin, pairs ? texts->second + begin : NULL};
}

/* The scores of the held-out texts by a model of `classes`. */
static void score_held(const struct baseline_training *training, const struct word_texts *held, size_t i,
                       double *scores)
{
    struct word_vocabulary vocabulary = {0};
    struct feature_rows rows = {0}, held_rows = {0};
    struct linear_model model = {0};
    CHECK_INT(word_vocabulary_create(&vocabulary, &training->texts, golden_bags[i].min_texts, NULL),
              ROTARY_OK);
    CHECK_INT(vocabulary.count, golden_bags[i].vocabulary);
    CHECK_INT(word_features(&rows, &vocabulary, &training->texts, NULL), ROTARY_OK);
    CHECK_INT(word_features(&held_rows, &vocabulary, held, NULL), ROTARY_OK);
    CHECK_INT(linear_fit(&model, &rows, &training->targets, golden_bags[i].penalty, TOLERANCE, NULL),
              ROTARY_OK);
    for (int64_t row = 0; row < held->count; row++) {
        linear_scores(&model, &held_rows, row, scores + row * model.outputs);
        take_out_mean(scores + row * model.outputs, model.outputs);
    }
    linear_free(&model);
    feature_rows_free(&rows);
    feature_rows_free(&held_rows);
    word_vocabulary_free(&vocabulary);
}

static void test_bags(void)
{
    enum { CLASSES = 3 };
    static struct texts texts;
    fill_texts(&texts);
    for (size_t i = 0; i < sizeof golden_bags / sizeof golden_bags[0]; i++) {
        const struct word_texts held = texts_from(&texts, GOLDEN_TEXTS, GOLDEN_HELD, golden_bags[i].pairs);
        const struct baseline_training of_classes = {texts_from(&texts, 0, GOLDEN_TEXTS,
                                                                golden_bags[i].pairs),
                                                     {CLASSES, golden_labels, NULL}},
                                       of_numbers = {of_classes.texts, {0, NULL, golden_values}};
        const struct baseline_config config = {golden_bags[i].min_texts, golden_bags[i].penalty};
        double scores[GOLDEN_HELD * CLASSES], numbers[GOLDEN_HELD], predicted[GOLDEN_HELD];
        int32_t classes[GOLDEN_HELD];
        check_about("bag %zu", i);
        score_held(&of_classes, &held, i, scores);
        score_held(&of_numbers, &held, i, numbers);
        CHECK_INT(baseline_bag_of_words(&of_classes, &held, &config,
                                        &(struct baseline_predictions){.classes = classes}, NULL),
                  ROTARY_OK);
        CHECK_INT(baseline_bag_of_words(&of_numbers, &held, &config,
                                        &(struct baseline_predictions){.values = predicted}, NULL),
                  ROTARY_OK);
        for (int row = 0; row < GOLDEN_HELD; row++) {
            double wanted[CLASSES];
            int best = 0;
            memcpy(wanted, golden_bags[i].scores + row * CLASSES, sizeof wanted);
            take_out_mean(wanted, CLASSES);
            for (int k = 0; k < CLASSES; k++) {
                CHECK_NEAR(scores[row * CLASSES + k], wanted[k], 1e-7);
                best = wanted[k] > wanted[best] ? k : best;
            }
            CHECK_INT(classes[row], best);
            CHECK_NEAR(numbers[row], golden_bags[i].values[row], 1e-7);
            CHECK_NEAR(predicted[row], golden_bags[i].values[row], 1e-3);
        }
    }
    check_about("%s", "");
}

/* A, b, c and B, c, d, e, f share two words of six and one pair of neighbours of six. */
static void test_pair_by_hand(void)
{
    static const struct text_line first = {"A b\tc", 5}, second = {"B c d e f c", 11};
    static const double overlaps[WORD_OVERLAPS] = {2.0 / 6, 2.0 / 3, 2.0 / 5, 1.0 / 6, 0.4054651081081644};
    const struct word_texts texts = {1, &first, &second};
    struct word_vocabulary vocabulary;
    struct feature_rows rows;
    int64_t parts[3] = {0};
    CHECK_INT(word_vocabulary_create(&vocabulary, &texts, 1, NULL), ROTARY_OK);
    CHECK_INT(vocabulary.count, 6);
    CHECK_INT(word_features(&rows, &vocabulary, &texts, NULL), ROTARY_OK);
    CHECK_INT(rows.columns, 3 * 6 + WORD_OVERLAPS);
    if (!CHECK_INT(rows.starts[1], 6 + WORD_OVERLAPS))
        return;
    for (int i = 0; i < 6; i++) {
        CHECK(rows.values[i] == 1);
        parts[rows.places[i] / 6]++;
    }
    CHECK(parts[0] == 1 && parts[1] == 3 && parts[2] == 2);
    for (int i = 0; i < WORD_OVERLAPS; i++) {
        CHECK_INT(rows.places[6 + i], 18 + i);
        CHECK_NEAR(rows.values[6 + i], overlaps[i], 1e-15);
    }
    feature_rows_free(&rows);
    word_vocabulary_free(&vocabulary);
}

static void test_majority(void)
{
    static const int32_t labels[] = {2, 1, 1, 2, 0};
    static const double values[] = {1, 2, 3, 4, 7};
    struct baseline_training training = {.texts = {.count = 5}, .targets = {3, labels, NULL}};
    int32_t classes[3] = {-1, -1, -1};
    double numbers[3] = {0};
    baseline_majority(&training, 3, &(struct baseline_predictions){.classes = classes});
    CHECK(classes[0] == 1 && classes[1] == 1 && classes[2] == 1); /* as frequent as 2, and before it */
    training.targets = (struct linear_targets){0, NULL, values};
    baseline_majority(&training, 3, &(struct baseline_predictions){.values = numbers});
    CHECK_NEAR(numbers[0], 3.4, 1e-15);
    CHECK_NEAR(numbers[2], 3.4, 1e-15);
}

int main(void)
{
    test_linear();
    test_classes();
    test_refused();
    test_valley();
    test_tfidf();
    test_bags();
    test_pair_by_hand();
    test_majority();
    return check_report();
}
