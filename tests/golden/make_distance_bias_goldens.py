#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Biases by distance of some heads at some distances, and gradients of their parameters, by the formulas of
distance_bias.py and PyTorch's autograd in double precision. Parameters are 0.3 sin(0.7 i + 0.05 i^2 + length of the name).

    /usr/bin/python3 tests/golden/make_distance_bias_goldens.py > tests/layer/distance_bias_goldens.h
"""
import math
import torch
from distance_bias import bias

torch.set_default_dtype(torch.float64)
POSITIONS = 300
DISTANCES = [-299, -128, -127, -64, -33, -32, -17, -16, -15, -9, -8, -7, -2, -1, 0, 1, 2, 7, 8, 9, 16, 40, 127, 128, 299]

# encoding, heads, causal, settings
CASES = [
    ("alibi", 1, True, {}), ("alibi", 3, False, {}), ("alibi", 8, True, {}), ("alibi", 12, True, {}),
    ("t5", 3, True, {}), ("t5", 2, False, {}),
    ("t5", 2, False, {"relative_attention_num_buckets": 64, "relative_attention_max_distance": 100}),
    ("t5", 1, True, {"relative_attention_num_buckets": 4, "relative_attention_max_distance": 3}),
    ("kerple", 3, True, {}), ("kerple", 2, False, {"kerple_kernel": "power"}),
    ("sandwich", 3, False, {}), ("sandwich", 4, True, {"sandwich_channels": 6}),
]


def run(encoding, heads, causal, settings):
    """The table [heads, distances] and its parameters, with the gradients of sum cos(0.9 i + 0.5) table[i]."""
    parameters = {}

    def parameter(name, *shape):
        i = torch.arange(math.prod(shape), dtype=torch.float64)
        parameters[name] = (0.3 * torch.sin(0.7 * i + 0.05 * i * i + len(name))).reshape(shape).requires_grad_()
        return parameters[name]

    matrix = bias(encoding, heads, POSITIONS, POSITIONS, causal, parameter, settings)
    distance = torch.arange(1 - POSITIONS, 1 if causal else POSITIONS)
    table = matrix[:, (-distance).clamp(min=0), distance.clamp(min=0)]
    if parameters:
        (table.flatten() * torch.cos(0.9 * torch.arange(table.numel()) + 0.5)).sum().backward()
    if encoding == "sandwich":  # the C code leaves out what is the same for all keys
        table = table - table[:, POSITIONS - 1:POSITIONS]
    return table.detach(), parameters


def main():
    print("/* SPDX-License-Identifier: Apache-2.0\n *\n * Made by tests/golden/make_distance_bias_goldens.py: do not edit. "
          "The bias of each head at some distances; of\n * the gradient of each parameter its dot product with "
          "cos(0.9 i + 0.5).\n */")
    print("static const int64_t distances[] = {" + ", ".join(map(str, DISTANCES)) + "};")
    cases = []
    for number, (encoding, heads, causal, settings) in enumerate(CASES):
        seen = [d for d in DISTANCES if d <= 0 or not causal]
        table, parameters = run(encoding, heads, causal, settings)
        print(f"static const double bias_{number}[] = {{")
        for head in range(heads):
            print("    " + ", ".join(f"{table[head, d + POSITIONS - 1].item():.12e}" for d in seen) + ",")
        print("};")
        probes = [f'{{"{name}", {(value.grad.flatten() * torch.cos(0.9 * torch.arange(value.numel()) + 0.5)).sum():.12e}}}'
                  for name, value in parameters.items()]
        keys = ";".join(f"{key}={value}" for key, value in settings.items())
        cases.append(f'    {{"{encoding}", "{keys}", {heads}, {str(causal).lower()}, {len(seen)}, '
                     f"bias_{number}, {len(probes)}, {{{', '.join(probes) or '{0}'}}}}},")
    print("static const struct golden_case cases[] = {\n" + "\n".join(cases) + "\n};")


main()
