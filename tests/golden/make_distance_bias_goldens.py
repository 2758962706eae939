#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Biases by distance of some heads at some distances, by the formulas of distance_bias.py in double precision.

    /usr/bin/python3 tests/golden/make_distance_bias_goldens.py > tests/layer/distance_bias_goldens.h
"""
import torch
from distance_bias import bias

torch.set_default_dtype(torch.float64)
POSITIONS = 300
DISTANCES = [-299, -128, -127, -64, -33, -32, -17, -16, -15, -9, -8, -7, -2, -1, 0, 1, 2, 7, 8, 9, 16, 40, 127, 128, 299]

# encoding, heads, causal
CASES = [("alibi", 1, True), ("alibi", 3, False), ("alibi", 8, True), ("alibi", 12, True)]


def main():
    print("/* SPDX-License-Identifier: Apache-2.0\n *\n * Made by tests/golden/make_distance_bias_goldens.py: do not edit. "
          "The bias of each head at some distances.\n */")
    print("static const int64_t distances[] = {" + ", ".join(map(str, DISTANCES)) + "};")
    cases = []
    for number, (encoding, heads, causal) in enumerate(CASES):
        seen = [d for d in DISTANCES if d <= 0 or not causal]
        table = bias(encoding, heads, POSITIONS, POSITIONS)
        print(f"static const double bias_{number}[] = {{")
        for head in range(heads):
            print("    " + ", ".join(f"{table[head, max(-d, 0), max(d, 0)].item():.12e}" for d in seen) + ",")
        print("};")
        cases.append(f'    {{"{encoding}", {heads}, {str(causal).lower()}, {len(seen)}, bias_{number}}},')
    print("static const struct golden_case cases[] = {\n" + "\n".join(cases) + "\n};")


main()
