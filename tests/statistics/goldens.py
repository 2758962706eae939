#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes goldens.h: statistics by numpy; tests and intervals by scipy; the joint sign flips by their definition, in numpy.

    python3 goldens.py > goldens.h
"""
import itertools

import numpy
import scipy.stats

CASES = [
    [59.375, 84.375, 77.34375],
    [100.0, 95.3125, 85.15625],
    [0.3269, 0.3191, 0.3301, 0.3254],
    [-4.5, 1.25, 0.75, 12.0, 3.5],
    [2.0, -1.0, 0.5, -0.25, 3.0, 1.5],
    [1e-3, 1.0, 1e6, -1e6, 3.0, 7.5],
    [3.0, 8.0],
    [0.5, -0.25, 4.0, 1.0, 0.125, -2.0, 3.0, 1.5],
    [0.1, 0.2, 0.3, -0.4, 0.2, 0.1, -0.1, 0.3, 0.2, 0.5, -0.2],
]
STUDENT = [(0.3, 1), (-12.7, 1), (0, 2), (1.7, 2), (4.3, 2), (-2.5, 3), (2.776, 4), (9, 4), (1, 7), (-3.2, 10), (0.01, 19),
           (5.5, 19), (2, 100), (-1.96, 9999)]
LEVELS = [0.5, 0.8, 0.95, 0.975, 0.99, 0.9999]
NONE = float("nan")
# A row for each contrast, of the differences of each seed; NONE: it has no pair.
JOINT = [
    [[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]],
    [[-0.5, 1.5, 0.25, 2.5, 3.25, 1.0, 0.75]],
    [[-1.0, -1.5, -2.0, -0.5, -3.0, -1.25], [1.0, 0.5, -0.25, 2.0, 0.75, 1.5], [0.5, -0.5, 0.25, -0.25, 1.0, 0.0]],
    [[3.5, 3.5, 3.5, 3.5, 3.5, 3.5], [0.0, 0.0, 0.0, 0.0, 0.0, 0.0], [-39.8, -100.0, -57.0, -47.7, -52.3, -77.3],
     [-39.8, -100.0, -57.0, -47.7, -52.3, -77.3]],
    [[0.3, 0.4, 0.2, 0.5, 0.35, 0.25, 0.1, 0.45], [0.2, -0.1, 0.3, 0.25, NONE, 0.1, 0.15, NONE],
     [NONE, -0.4, -0.2, -0.5, -0.1, -0.3, -0.25, -0.6], [0.05, 0.1, -0.2, 0.3, 0.15, -0.05, 0.2, 0.1]],
    [[0.5, 0.7, 0.3, 0.4, 0.9, 0.2, 0.6, 0.8, -0.1, 0.5], [0.1, -0.2, 0.3, 0.1, -0.1, 0.2, 0.4, 0.1, 0.3, -0.1],
     [-0.2, -0.3, 0.1, -0.4, -0.2, -0.5, 0.2, -0.3, -0.1, -0.2]],
]


def numbers(values):
    return "{" + ", ".join(repr(float(value)) for value in values) + "}"


def statistics():
    longest = max(len(case) for case in CASES)
    print("static const struct golden {")
    print("    int count;")
    print("    double values[%d], mean, median, deviation, min, max, without_min, without_max, low, high, t_test_p,"
          % longest)
    print("        sign_flip_p;")
    print("} goldens[] = {")
    for case in CASES:
        values = numpy.array(case)
        ordered = numpy.sort(values)
        error = scipy.stats.sem(values)
        interval = scipy.stats.t.interval(0.95, len(case) - 1, values.mean(), error)
        flips = scipy.stats.permutation_test((values,), numpy.mean, permutation_type="samples", n_resamples=numpy.inf)
        print("    {%d, %s," % (len(case), numbers(case)))
        print("     %s}," % ", ".join(repr(float(x)) for x in [
            values.mean(), numpy.median(values), values.std(ddof=1), values.min(), values.max(),
            ordered[1:].mean(), ordered[:-1].mean(), *interval,
            scipy.stats.ttest_1samp(values, 0).pvalue, flips.pvalue]))
    print("};")


def student():
    print("static const struct student_golden {")
    print("    double t;")
    print("    int freedom;")
    print("    double p, quantiles[%d];" % len(LEVELS))
    print("} student_goldens[] = {")
    for t, freedom in STUDENT:
        print("    {%r, %d, %r, %s}," % (float(t), freedom, float(2 * scipy.stats.t.sf(abs(t), freedom)),
                                         numbers(scipy.stats.t.ppf((1 + level) / 2, freedom) for level in LEVELS)))
    print("};")
    print("static const double student_levels[] = %s;" % numbers(LEVELS))


def size_of_t(differences):
    """|t| of one contrast, of those that are there."""
    found = differences[~numpy.isnan(differences)]
    mean, deviation = abs(found.mean()), found.std(ddof=1)
    if deviation <= 1e-9 * abs(found).max():
        return 0.0 if mean <= 1e-12 else numpy.inf
    return mean / (deviation / len(found) ** 0.5)


def sizes_of(differences):
    """|t| of every contrast (columns) under every sign pattern (rows), the first being the one found."""
    patterns = itertools.product([1.0, -1.0], repeat=differences.shape[1])
    return numpy.array([[size_of_t(row * signs) for row in differences] for signs in map(numpy.array, patterns)])


def reached(sizes, found):
    """The share of patterns whose largest |t| is at least the one found, but for rounding."""
    return (sizes.max(axis=1) >= found * (1 - 1e-9)).mean()


def adjusted_p(differences):
    """Westfall and Young's step-down."""
    sizes = sizes_of(differences)
    p = numpy.zeros(len(differences))
    before = 0.0
    for contrast in numpy.argsort(-sizes[0], kind="stable"):
        rest = [i for i in range(len(p)) if sizes[0, i] <= sizes[0, contrast] * (1 + 1e-9)]
        p[contrast] = before = max(before, reached(sizes[:, rest], sizes[0, contrast]))
    return p


def end(differences, contrast, others, side):
    """Where the single-step p of a contrast whose differences are shifted falls to 5%, found by halving."""
    shifted = others.copy()
    width = numpy.nanmax(abs(differences)) + 1.0
    inside, outside = numpy.nanmean(differences[contrast]), side * 1e4 * width
    for _ in range(60):
        middle = (inside + outside) / 2
        shifted[contrast] = differences[contrast] - middle
        sizes = sizes_of(shifted)
        if reached(sizes, sizes[0, contrast]) > 0.05:
            inside = middle
        else:
            outside = middle
    return inside


def interval(differences, contrast):
    """With the other contrasts as they are, or without their means; the farther end."""
    centred = differences - numpy.nanmean(differences, axis=1, keepdims=True)
    return [choose(end(differences, contrast, others, side) for others in (differences, centred))
            for side, choose in ((-1, min), (1, max))]


def joint():
    contrasts, seeds = max(map(len, JOINT)), max(len(case[0]) for case in JOINT)
    print("static const struct joint_golden {")
    print("    int contrasts, seeds;")
    print("    double differences[%d][%d], p[%d], low[%d], high[%d]; /* NAN: no pair */"
          % (contrasts, seeds, contrasts, contrasts, contrasts))
    print("} joint_goldens[] = {")
    for case in JOINT:
        differences = numpy.array(case)
        intervals = [interval(differences, i) for i in range(len(case))]
        print("    {%d, %d, {%s}," % (len(case), len(case[0]), ", ".join(numbers(row).replace("nan", "(double)NAN")
                                                                       for row in case)))
        print("     %s, %s, %s}," % (numbers(adjusted_p(differences)), numbers(low for low, _ in intervals),
                                     numbers(high for _, high in intervals)))
    print("};")


print("/* SPDX-License-Identifier: Apache-2.0")
print(" *")
print(" * Made by goldens.py with numpy %s and scipy %s. Do not edit. */" % (numpy.__version__, scipy.__version__))
statistics()
student()
joint()
