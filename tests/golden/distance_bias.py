# SPDX-License-Identifier: Apache-2.0
"""The encodings that add a bias by distance to scores, from the formulas of their papers. Imported by the scripts here."""
import math
import torch


def alibi_slopes(heads):
    """Press, Smith and Lewis 2022: a geometric sequence from 2^(-8/n) for n heads, a power of two; other numbers of heads
    take every second slope of the next power for those beyond the last."""
    power = 2 ** int(math.log2(heads))
    slopes = [2.0 ** (-8.0 * (h + 1) / power) for h in range(power)]
    return torch.tensor(slopes + [2.0 ** (-4.0 * (2 * h + 1) / power) for h in range(heads - power)])


def bias(position, heads, queries, keys):
    """[heads, queries, keys], added to the scores of self-attention; 0 for encodings without a bias."""
    distance = torch.arange(keys)[None, :] - torch.arange(queries)[:, None]
    if position == "alibi":
        return -alibi_slopes(heads)[:, None, None] * distance.abs()
    return 0.0
