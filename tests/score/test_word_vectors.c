/* SPDX-License-Identifier: Apache-2.0
 *
 * Averaged word embeddings against NumPy's dense matrices (tests/golden/make_word_vector_goldens.py), and the
 * eigenvectors that they are made of.
 */
#include "score/symmetric_factors.h"
#include "score/word_vectors.h"
#include "support/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "word_vector_goldens.h"

static struct text_line line_of(const char *text)
{
    return (struct text_line){text, (int64_t)strlen(text)};
}

static void test_goldens(void)
{
    struct text_line texts[GOLDEN_TEXTS + GOLDEN_HELD];
    for (int i = 0; i < GOLDEN_TEXTS + GOLDEN_HELD; i++)
        texts[i] = line_of(golden_texts[i]);
    for (size_t g = 0; g < sizeof goldens / sizeof *goldens; g++) {
        struct word_vectors vectors;
        rotary_error error = {0};
        if (!CHECK_INT(word_vectors_create(&vectors, texts, GOLDEN_TEXTS, &goldens[g].config, &error),
                       ROTARY_OK))
            return;
        CHECK_INT(vectors.count, goldens[g].words);
        for (int i = 0; i < GOLDEN_HELD; i++) {
            const struct text_line choices[] = {texts[i > 0 ? GOLDEN_TEXTS + i - 1 : 0], line_of("zebra !"),
                                                texts[GOLDEN_TEXTS + i]};
            double similarities[3];
            int32_t chosen = -1;
            check_about("golden %zu, text %d", g, i);
            CHECK_INT(word_vectors_choose(&vectors, &choices[2], choices, 3, similarities, &chosen, &error),
                      ROTARY_OK);
            CHECK_NEAR(similarities[0], goldens[g].similarities[i], 1e-9);
            CHECK_NEAR(similarities[1], 0, 0); /* of words that are in no text */
            CHECK_NEAR(similarities[2], 1, 1e-12);
            CHECK_INT(chosen, 2);
        }
        word_vectors_free(&vectors);
    }
    check_about("%s", "");
}

/* Texts without words, and none at all. */
static void test_nothing(void)
{
    const struct text_line texts[] = {line_of(""), line_of(" "), line_of("once")};
    struct word_vectors_config config;
    word_vectors_config_default(&config);
    for (int64_t count = 0; count <= 3; count++) {
        struct word_vectors vectors;
        double similarities[2];
        int32_t chosen = -1;
        CHECK_INT(word_vectors_create(&vectors, texts, count, &config, NULL), ROTARY_OK);
        CHECK_INT(vectors.count, 0);
        CHECK_INT(word_vectors_choose(&vectors, &texts[2], texts + 1, 2, similarities, &chosen, NULL),
                  ROTARY_OK);
        CHECK_INT(chosen, 0);
        CHECK_NEAR(similarities[1], 0, 0);
        word_vectors_free(&vectors);
    }
}

/* A v = λ v, and orthonormal vectors, of a full matrix with eigenvalues of both signs and a double one. */
static void test_eigenvectors(void)
{
    enum { SIZE = 5 };
    static const double matrix[SIZE][SIZE] = {
        {2, -1, 0, 3, 1}, {-1, 2, 0, 3, 1}, {0, 0, -4, 0.5, 0}, {3, 3, 0.5, 1, -2}, {1, 1, 0, -2, 0}};
    double values[SIZE][SIZE], vectors[SIZE][SIZE];
    memcpy(values, matrix, sizeof values);
    symmetric_eigenvectors(&values[0][0], &vectors[0][0], SIZE);
    for (int j = 0; j < SIZE; j++)
        for (int i = 0; i < SIZE; i++) {
            double image = 0, product = 0;
            for (int k = 0; k < SIZE; k++) {
                image += matrix[i][k] * vectors[k][j];
                product += vectors[k][i] * vectors[k][j];
            }
            CHECK_NEAR(image, values[j][j] * vectors[i][j], 1e-13);
            CHECK_NEAR(product, i == j, 1e-13);
        }
}

int main(void)
{
    test_eigenvectors();
    test_goldens();
    test_nothing();
    return check_report();
}
