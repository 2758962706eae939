# SPDX-License-Identifier: Apache-2.0
"""make_baseline_goldens.py > tests/score/baseline_goldens.h: linear models, bags of words and similarities by
scikit-learn."""
import math
import random
import unicodedata

import numpy as np
import scipy.sparse
import sklearn
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression, Ridge

ROWS, COLUMNS, MAX_OUTPUTS = 40, 9, 4
TEXTS, HELD = 60, 12
draw = np.random.default_rng(18)
choose = random.Random(18)


def numbers(values):
    return "{" + ", ".join(repr(float(v)) for v in np.ravel(values)) + "}"


def quoted(text):
    return '"' + "".join(chr(b) if 32 <= b < 127 and chr(b) not in '"\\?' else f"\\{b:03o}" for b in text.encode()) + '"'


def classifier(penalty):
    return LogisticRegression(C=1 / penalty, tol=1e-12, max_iter=1000, solver="newton-cholesky")


def print_linear():
    print("""/* classes 0: numbers. scores: of every row, [rows, outputs]. */
static const struct {
    int classes;
    double penalty, features[GOLDEN_ROWS][GOLDEN_COLUMNS];
    int32_t labels[GOLDEN_ROWS];
    double values[GOLDEN_ROWS], weights[GOLDEN_OUTPUTS * (GOLDEN_COLUMNS + 1)];
} golden_linear[] = {""")
    for classes, penalty in ((2, 1.0), (2, 0.01), (2, 30.0), (3, 1.0), (4, 0.1), (0, 1.0), (0, 0.01), (0, 20.0)):
        features = np.round(draw.standard_normal((ROWS, COLUMNS)) * draw.choice([0.1, 1, 5], size=COLUMNS), 3)
        features[draw.random((ROWS, COLUMNS)) < 0.6] = 0
        values = np.round(features @ draw.standard_normal(COLUMNS) + draw.standard_normal(ROWS) + 2, 3)
        labels = np.minimum(np.argsort(np.argsort(values)) * max(classes, 1) // ROWS + (draw.random(ROWS) < 0.2), max(classes, 1) - 1)
        if classes:
            model = classifier(penalty).fit(features, labels)
        else:
            model = Ridge(alpha=penalty, solver="cholesky").fit(features, values)
        weights = np.column_stack([np.atleast_2d(model.coef_), np.ravel(model.intercept_)])
        rows = ",\n     ".join(numbers(row) for row in features)
        print(f"    {{{classes}, {penalty!r},\n    {{{rows}}},\n     {{{', '.join(map(str, labels))}}},\n     {numbers(values)},\n     {numbers(weights)}}},")
    print("};\n")


def words(text):
    """The words of a text: what white space separates, in lower case, and punctuation and symbols by themselves."""
    found, open_word = [], False
    for c in text.lower():
        alone = unicodedata.category(c)[0] in "PS"
        if alone or (not c.isspace() and not open_word):
            found.append(c)
        elif not c.isspace():
            found[-1] += c
        open_word = not alone and not c.isspace()
    return found


def overlaps(first, second):
    a, b = set(words(first)), set(words(second))
    a2, b2 = ({tuple(w[i:i + 2]) for i in range(len(w) - 1)} for w in (words(first), words(second)))

    def ratio(x, y):
        return x / y if y else 0.0
    return [ratio(len(a & b), len(a | b)), ratio(len(a & b), len(a)), ratio(len(a & b), len(b)), ratio(len(a2 & b2), len(a2 | b2)),
            abs(math.log((1 + len(a)) / (1 + len(b))))]


def text_features(counter, first, second):
    a = counter.transform(first)
    if second is None:
        return a.astype(float)
    b = counter.transform(second)
    both = a.multiply(b)
    return scipy.sparse.hstack([a - both, b - both, both, np.array([overlaps(*pair) for pair in zip(first, second)])]).tocsr()


VOCABULARY = ["Good", "bad", "not", "a", "film", "of", "the", "Stra\u00dfe", "\u00c9t\u00e9", "don't", "well-made", "3.5", "$4", "!", "...", "\u201cso\u201d",
              "\u03a3\u03a3", "I\u0307", "\u4e2d\u6587", "x\u00a0y"]


def random_text(bias):
    count = choose.randrange(0, 9)
    return " ".join(choose.choice(VOCABULARY[:6] if choose.random() < bias else VOCABULARY) for _ in range(count))


def print_similarities(first, second):
    vectors = TfidfVectorizer(analyzer="char", ngram_range=(2, 2), lowercase=False).fit(first[:TEXTS] + second[:TEXTS])
    held, others = vectors.transform(first[TEXTS:]), vectors.transform(second[TEXTS:] + first[:1])
    cosines = (held @ others.T).toarray()
    print(f"""
/* Pairs of characters of the first GOLDEN_TEXTS texts; of each held-out one the similarity to the second text of its place, and
   to the first text of all. */
enum {{ GOLDEN_PAIRS = {len(vectors.vocabulary_)} }};
static const double golden_tfidf[2 * GOLDEN_HELD] = {numbers([[cosines[i, i], cosines[i, HELD]] for i in range(HELD)])};""")


def print_texts():
    first = [random_text(0.3) for _ in range(TEXTS + HELD)]
    second = [x if choose.random() < 0.2 else random_text(0.6) for x in first]
    for name, texts in (("first", first), ("second", second)):
        print(f"static const char *const golden_{name}[GOLDEN_TEXTS + GOLDEN_HELD] = {{\n" + ",\n".join("    " + quoted(t) for t in texts) + "};")
    labels = np.array([(len(words(a)) + len(words(b)) + choose.randrange(3)) % 3 for a, b in zip(first, second)])
    values = np.array([round(2.0 + len(set(words(a)) & set(words(b))) + choose.random(), 3) for a, b in zip(first, second)])
    print(f"static const int32_t golden_labels[GOLDEN_TEXTS + GOLDEN_HELD] = {{{', '.join(map(str, labels))}}};")
    print(f"static const double golden_values[GOLDEN_TEXTS + GOLDEN_HELD] = {numbers(values)};\n")
    print("""/* Of the held-out texts, from a model of the others: scores of classes 0, 1 and 2, and of numbers; how many
   words at least min_texts of the others have. */
static const struct { bool pairs; int min_texts; double penalty; int vocabulary; double scores[GOLDEN_HELD * 3], values[GOLDEN_HELD]; } golden_bags[] = {""")
    for pairs, least, penalty in ((False, 1, 1.0), (False, 3, 0.2), (True, 1, 1.0), (True, 4, 0.5)):
        counter = CountVectorizer(analyzer=words, binary=True, min_df=least)
        counter.fit(first[:TEXTS] + (second[:TEXTS] if pairs else []))
        features = text_features(counter, first, second if pairs else None)
        model = classifier(penalty).fit(features[:TEXTS], labels[:TEXTS])
        ridge = Ridge(alpha=penalty, solver="cholesky").fit(features[:TEXTS].toarray(), values[:TEXTS])
        print(f"    {{{str(pairs).lower()}, {least}, {penalty!r}, {len(counter.vocabulary_)}, {numbers(model.decision_function(features[TEXTS:]))},\n"
              f"     {numbers(ridge.predict(features[TEXTS:].toarray()))}}},")
    print("};")
    print_similarities(first, second)


print(f"""/* SPDX-License-Identifier: Apache-2.0
 *
 * Made by tests/golden/make_baseline_goldens.py with scikit-learn {sklearn.__version__}: do not edit. */
#ifndef TESTS_SCORE_BASELINE_GOLDENS_H
#define TESTS_SCORE_BASELINE_GOLDENS_H

#include <stdbool.h>
#include <stdint.h>

/* clang-format off */
enum {{ GOLDEN_ROWS = {ROWS}, GOLDEN_COLUMNS = {COLUMNS}, GOLDEN_OUTPUTS = {MAX_OUTPUTS}, GOLDEN_TEXTS = {TEXTS}, GOLDEN_HELD = {HELD} }};
""")
print_linear()
print_texts()
print("/* clang-format on */\n\n#endif")
