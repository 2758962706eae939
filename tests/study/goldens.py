#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes goldens.h: statistics by numpy, intervals by scipy.

    python3 goldens.py > goldens.h
"""
import numpy
import scipy.stats

CASES = [
    [59.375, 84.375, 77.34375],
    [100.0, 95.3125, 85.15625],
    [0.3269, 0.3191, 0.3301, 0.3254],
    [-4.5, 1.25, 0.75, 12.0, 3.5],
    [2.0, -1.0, 0.5, -0.25, 3.0, 1.5],
    [1e-9, 1.0, 1e6, -1e6, 3.0, 7.5],
    [3.0, 8.0],
    [0.5, -0.25, 4.0, 1.0, 0.125, -2.0, 3.0, 1.5],
]


def numbers(values):
    return "{" + ", ".join(repr(float(value)) for value in values) + "}"


print("/* SPDX-License-Identifier: Apache-2.0")
print(" *")
print(" * Made by goldens.py with numpy %s and scipy %s. Do not edit. */" % (numpy.__version__, scipy.__version__))
print("static const struct golden {")
print("    int count;")
print("    double values[8], mean, median, deviation, min, max, without_min, without_max, low, high;")
print("} goldens[] = {")
for case in CASES:
    values = numpy.array(case)
    ordered = numpy.sort(values)
    interval = scipy.stats.t.interval(0.95, len(case) - 1, values.mean(), scipy.stats.sem(values))
    print("    {%d, %s," % (len(case), numbers(case)))
    print("     %s}," % ", ".join(repr(float(x)) for x in [
        values.mean(), numpy.median(values), values.std(ddof=1), values.min(), values.max(),
        ordered[1:].mean(), ordered[:-1].mean(), *interval]))
print("};")
