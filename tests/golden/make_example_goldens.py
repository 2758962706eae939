#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_example_goldens.py > tests/records/example_goldens.h: labels, predictions of runs, their scores by scikit-learn and
SciPy, and intervals over seeds (SciPy) and over examples (a paired bootstrap in NumPy)."""
import numpy
import scipy.stats
import sklearn
import sklearn.metrics

EXAMPLES, SEEDS, SAMPLES = 240, 3, 20000
random = numpy.random.default_rng(5)


def flipped(labels, share):
    return numpy.where(random.random(EXAMPLES) < share, 1 - labels, labels)


def matthews(labels, predictions):
    return 100 * sklearn.metrics.matthews_corrcoef(labels, predictions)


def spearman(labels, predictions):
    return 100 * scipy.stats.spearmanr(labels, predictions).statistic


def interval(values):
    error = numpy.std(values, ddof=1) / len(values) ** 0.5
    return [numpy.mean(values), *scipy.stats.t.interval(0.95, len(values) - 1, numpy.mean(values), error)]


def bootstrap(score, labels, arms, baselines):
    """Mean, 2.5% and 97.5% of the mean difference of pairs over samples of the examples."""
    def difference(chosen):
        return numpy.mean([score(labels[chosen], arm[chosen]) - score(labels[chosen], baseline[chosen])
                           for arm, baseline in zip(arms, baselines)])
    found = [difference(random.integers(0, EXAMPLES, EXAMPLES)) for _ in range(SAMPLES)]
    return [difference(numpy.arange(EXAMPLES)), *numpy.quantile(found, [0.025, 0.975])]


def fast_matthews(labels, predictions):
    pairs = numpy.bincount(2 * labels + predictions, minlength=4).astype(float)
    below = (pairs[0] + pairs[1]) * (pairs[2] + pairs[3]) * (pairs[0] + pairs[2]) * (pairs[1] + pairs[3])
    return 100 * (pairs[0] * pairs[3] - pairs[1] * pairs[2]) / below ** 0.5 if below else 0.0


def fast_spearman(labels, predictions):
    return 100 * numpy.corrcoef(scipy.stats.rankdata(labels), scipy.stats.rankdata(predictions))[0, 1]


def row(values):
    return "{" + ", ".join(repr(float(value)) for value in values) + "}"


def digits(values):
    return '"' + "".join(str(value) for value in values) + '"'


labels = (random.random(EXAMPLES) < 0.6).astype(int)
validation = (random.random(EXAMPLES) < 0.6).astype(int)
cues = flipped(labels, 0.25)
runs = [[flipped(labels, 0.25 + 0.02 * seed) for seed in range(SEEDS)],
        [flipped(labels, 0.12 + 0.03 * seed) for seed in range(SEEDS)]]
values = numpy.round(5 * random.random(EXAMPLES), 1)
numbers = [[numpy.round(values + noise * random.normal(size=EXAMPLES), 3) for _ in range(SEEDS)] for noise in (2.0, 1.2)]
assert abs(fast_matthews(labels, cues) - matthews(labels, cues)) < 1e-9
assert abs(fast_spearman(values, numbers[0][0]) - spearman(values, numbers[0][0])) < 1e-9
print(f"""/* SPDX-License-Identifier: Apache-2.0
 *
 * Made by tests/golden/make_example_goldens.py with scikit-learn {sklearn.__version__} and SciPy {scipy.__version__}: do not edit. */
#ifndef TESTS_STUDY_EXAMPLE_GOLDENS_H
#define TESTS_STUDY_EXAMPLE_GOLDENS_H

/* clang-format off */
enum {{ GOLDEN_EXAMPLES = {EXAMPLES}, GOLDEN_ARMS = 2, GOLDEN_SEEDS = {SEEDS} }};
/* Classes of the test and the validation set, and what a bag of words says. */
static const char golden_labels[] = {digits(labels)},
                  golden_validation[] = {digits(validation)},
                  golden_cues[] = {digits(cues)};
static const char *const golden_runs[GOLDEN_ARMS][GOLDEN_SEEDS] = {{""")
for arm in runs:
    print("    {" + ",\n     ".join(digits(run) for run in arm) + "},")
print("};\n/* In hundredths: of the runs, of the bag of words; F1 likewise. */")
for name, score in (("matthews", matthews), ("f1", lambda a, b: 100 * sklearn.metrics.f1_score(a, b))):
    print(f"static const double golden_{name}[GOLDEN_ARMS][GOLDEN_SEEDS] = "
          + "{" + ", ".join(row(score(labels, run) for run in arm) for arm in runs) + "},")
    print(f"                    golden_{name}_words = {float(score(labels, cues))!r};")
print("/* Mean, low and high of an arm minus the bag of words: over seeds, over examples. */")
print("static const double golden_seeds[GOLDEN_ARMS][3] = {"
      + ", ".join(row(interval([matthews(labels, run) - matthews(labels, cues) for run in arm])) for arm in runs) + "},")
print("                    golden_examples[GOLDEN_ARMS][3] = {"
      + ", ".join(row(bootstrap(fast_matthews, labels, arm, [cues] * SEEDS)) for arm in runs) + "},")
print(f"                    golden_contrast[3] = {row(bootstrap(fast_matthews, labels, runs[1], runs[0]))};")
print("\n/* Numbers, and their Spearman correlation. */")
print(f"static const double golden_values[GOLDEN_EXAMPLES] = {row(values)};")
print("static const double golden_numbers[GOLDEN_ARMS][GOLDEN_SEEDS][GOLDEN_EXAMPLES] = {")
for arm in numbers:
    print("    {" + ",\n     ".join(row(run) for run in arm) + "},")
print("};")
print("static const double golden_spearman[GOLDEN_ARMS][GOLDEN_SEEDS] = {"
      + ", ".join(row(spearman(values, run) for run in arm) for arm in numbers) + "},")
print(f"                    golden_spearman_contrast[3] = {row(bootstrap(fast_spearman, values, numbers[1], numbers[0]))};")
print("/* clang-format on */\n\n#endif")
