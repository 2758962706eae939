# SPDX-License-Identifier: Apache-2.0
"""make_class_goldens.py > tests/score/class_goldens.h: scores of classes by scikit-learn, correlations by SciPy."""
import math
import warnings

import numpy as np
import scipy
import sklearn
from scipy.stats import pearsonr, spearmanr
from sklearn.metrics import accuracy_score, f1_score, matthews_corrcoef

warnings.simplefilter("ignore")  # that a score has no value and is 0 or NaN: such cases are wanted here
EXAMPLES, PAIRS = 24, 20
draw = np.random.default_rng(18)


def number(value):
    return "NAN" if math.isnan(value) else repr(float(value))


def class_cases():
    """Classes, labels, predictions: of every number of classes, good and bad ones, and those without a value."""
    for classes in (2, 2, 2, 3, 3, 5, 8):
        labels = draw.integers(classes, size=EXAMPLES)
        wrong = draw.random(EXAMPLES) < draw.choice([0.1, 0.5, 0.9])
        yield classes, labels, np.where(wrong, draw.integers(classes, size=EXAMPLES), labels)
    alternating, zeros, ones = np.arange(EXAMPLES) % 2, np.zeros(EXAMPLES, int), np.ones(EXAMPLES, int)
    yield 2, alternating, 1 - alternating  # never correct
    yield 2, alternating, alternating
    yield 2, alternating, zeros  # predictions of one class
    yield 2, alternating, ones
    yield 2, zeros, alternating  # labels of one class
    yield 2, zeros, zeros  # the positive class nowhere
    yield 2, ones, ones
    yield 2, zeros, ones
    yield 1, zeros, zeros
    yield 4, 3 * alternating, 2 * alternating  # classes that are only labels, only predictions, and neither
    yield 3, (np.arange(EXAMPLES) == 0) * 1, (np.arange(EXAMPLES) == 1) * 1  # one example of a class


def print_classes():
    print("static const struct {\n    int classes;\n    int32_t labels[GOLDEN_EXAMPLES], predictions[GOLDEN_EXAMPLES];\n"
          "    double accuracy, f1, macro_f1, matthews; /* f1: of class 1 */\n} golden_classes[] = {")
    for classes, labels, predictions in class_cases():
        scores = [accuracy_score(labels, predictions),
                  f1_score(labels, predictions, labels=[1], average=None)[0],
                  f1_score(labels, predictions, average="macro"), matthews_corrcoef(labels, predictions)]
        lists = ", ".join("{" + ", ".join(map(str, x)) + "}" for x in (labels, predictions))
        print(f"    {{{classes}, {lists},\n     {', '.join(map(number, scores))}}},")
    print("};\n")


def pair_cases():
    """Numbers of several sizes, with and without ties, and lists whose numbers are all equal."""
    for strength in (0.0, 0.5, 2.0, -1.0, 50.0):
        first = draw.standard_normal(PAIRS)
        yield first, strength * first + draw.standard_normal(PAIRS)
    scores = draw.integers(0, 26, size=PAIRS) / 5  # as labels of STS-B are: many ties
    yield scores, np.round(scores + draw.standard_normal(PAIRS), 1)
    yield scores, np.round(scores)
    yield np.arange(PAIRS) % 2, np.arange(PAIRS) // 2 % 2
    yield np.arange(PAIRS) % 2, 1 - np.arange(PAIRS) % 2
    first = draw.standard_normal(PAIRS)
    yield first, np.exp(3 * first)  # the ranks agree entirely, the numbers do not
    yield first, -(first ** 3)
    yield 1e200 * first, 1e-200 * (first + 0.1 * draw.standard_normal(PAIRS))  # squares out of range
    yield 1e6 + 1e-3 * first, first + draw.standard_normal(PAIRS)  # a mean far from 0
    yield np.full(PAIRS, 0.1), first
    yield first, np.zeros(PAIRS)
    yield np.full(PAIRS, 0.3), np.full(PAIRS, 0.3)


def print_pairs():
    print("static const struct {\n    double first[GOLDEN_PAIRS], second[GOLDEN_PAIRS];\n    double pearson, spearman;\n"
          "} golden_pairs[] = {")
    for first, second in pair_cases():
        first, second = np.asarray(first, float), np.asarray(second, float)
        lists = ",\n     ".join("{" + ", ".join(map(number, x)) + "}" for x in (first, second))
        print(f"    {{{lists},\n     {number(pearsonr(first, second)[0])}, {number(spearmanr(first, second)[0])}}},")
    print("};")


print(f"""/* SPDX-License-Identifier: Apache-2.0
 *
 * Made by tests/golden/make_class_goldens.py with scikit-learn {sklearn.__version__} and SciPy {scipy.__version__}: do not edit. */
#ifndef TESTS_SCORE_CLASS_GOLDENS_H
#define TESTS_SCORE_CLASS_GOLDENS_H

#include <math.h>
#include <stdint.h>

/* clang-format off */
enum {{ GOLDEN_EXAMPLES = {EXAMPLES}, GOLDEN_PAIRS = {PAIRS} }};
""")
print_classes()
print_pairs()
print("/* clang-format on */\n\n#endif")
