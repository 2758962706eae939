#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""heatmap_goldens.py > heatmap_goldens.h: means over texts, intervals over runs and their differences by SciPy."""
import numpy
import scipy.stats

SIDES, RUNS, TEXTS, LAYERS, HEADS = 3, 3, 4, 3, 2


def entropy(side, run, text, layer, head):
    """The same in test_heatmap_statistics.c; a binary fraction, so that both have its bits."""
    mixed = side * 7 + run * 5 + text * 3 + layer * 11 + head * 13 + side * run * 2 + run * layer * 3
    return mixed * mixed % 29 / 8


def of_run(side, run, layers):
    return numpy.mean([entropy(side, run, text, layer, head)
                       for text in range(TEXTS) for layer in layers for head in range(HEADS)])


def interval(values):
    low, high = scipy.stats.t.interval(0.95, len(values) - 1, numpy.mean(values), scipy.stats.sem(values))
    return "{%r, %r, %r}" % (float(numpy.mean(values)), float(low), float(high))


def main():
    print("/* SPDX-License-Identifier: Apache-2.0 */\n/* Made by heatmap_goldens.py with SciPy %s: do not edit. */" %
          scipy.__version__)
    print("/* Of each side, each layer and the deeper half: entropy, and its difference from the first side. */")
    print("static const struct {\n    double entropy[3], difference[3]; /* mean, low, high */\n} heatmap_goldens[%d][%d] = {"
          % (SIDES, LAYERS + 1))
    for side in range(SIDES):
        print("    {")
        for layers in [[layer] for layer in range(LAYERS)] + [range(LAYERS // 2, LAYERS)]:
            own = numpy.array([of_run(side, run, layers) for run in range(RUNS)])
            first = numpy.array([of_run(0, run, layers) for run in range(RUNS)])
            difference = interval(own - first) if side else "{0, 0, 0}"
            print("        {%s,\n         %s}," % (interval(own), difference))
        print("    },")
    print("};")


main()
