#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes goldens.h: statistics by numpy; tests, intervals and power by scipy; Holm's correction by statsmodels.

    python3 goldens.py > goldens.h
"""
import numpy
import scipy.stats
import statsmodels
import statsmodels.stats.multitest
import statsmodels.stats.power

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
HOLM = [
    [0.04],
    [0.05],
    [0.01, 0.04],
    [0.04, 0.01, 0.03],
    [0.012, 0.9, 0.017, 0.02],
    [0.0126, 0.013, 0.014, 0.015],
    [0.5, 0.0001, 0.02, 0.02, 0.3, 0.009],
    [1.0, 1.0, 0.6],
]
POWER = [(0, 5, 0.05), (0.62, 5, 0.05), (0.62, 23, 0.05), (-1, 10, 0.05), (3, 3, 0.05), (1, 2, 0.05), (0.2, 200, 0.05),
         (0.8, 12, 0.05 / 3), (0.05, 3000, 0.01), (2.5, 4, 0.001)]
PAIRS = [(0.62, 0.8, 0.05), (1, 0.8, 0.05), (0.1, 0.8, 0.05), (0.5, 0.9, 0.05 / 3), (2, 0.8, 0.05), (0.02, 0.8, 0.05)]


def numbers(values):
    return "{" + ", ".join(repr(float(value)) for value in values) + "}"


def statistics():
    longest = max(len(case) for case in CASES)
    print("static const struct golden {")
    print("    int count;")
    print("    double values[%d], mean, median, deviation, min, max, without_min, without_max, low, high, low_99, t_test_p,"
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
            scipy.stats.t.interval(0.99, len(case) - 1, values.mean(), error)[0],
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


def holm():
    longest = max(len(case) for case in HOLM)
    print("static const struct holm_golden {")
    print("    int count;")
    print("    double p[%d], adjusted[%d];" % (longest, longest))
    print("    int rejected[%d];" % longest)
    print("} holm_goldens[] = {")
    for case in HOLM:
        rejected, adjusted = statsmodels.stats.multitest.multipletests(case, 0.05, "holm")[:2]
        print("    {%d, %s, %s, {%s}}," % (len(case), numbers(case), numbers(adjusted),
                                          ", ".join(str(int(value)) for value in rejected)))
    print("};")


def power():
    print("static const struct power_golden {")
    print("    double effect;")
    print("    int pairs;")
    print("    double alpha, power;")
    print("} power_goldens[] = {")
    for effect, pairs, alpha in POWER:
        freedom, shift = pairs - 1, effect * pairs**0.5
        t = scipy.stats.t.ppf(1 - alpha / 2, freedom)
        found = scipy.stats.nct.sf(t, freedom, shift) + scipy.stats.nct.cdf(-t, freedom, shift)
        print("    {%r, %d, %r, %r}," % (float(effect), pairs, float(alpha), float(found)))
    print("};")
    print("static const struct pairs_golden {")
    print("    double effect, power, alpha, pairs; /* a fraction of a pair: the next whole number is needed */")
    print("} pairs_goldens[] = {")
    for effect, wanted, alpha in PAIRS:
        pairs = statsmodels.stats.power.TTestPower().solve_power(effect, None, alpha, wanted)
        print("    {%r, %r, %r, %r}," % (float(effect), wanted, float(alpha), float(numpy.squeeze(pairs))))
    print("};")


print("/* SPDX-License-Identifier: Apache-2.0")
print(" *")
print(" * Made by goldens.py with numpy %s, scipy %s and statsmodels %s. Do not edit. */" % (
    numpy.__version__, scipy.__version__, statsmodels.__version__))
statistics()
student()
holm()
power()
