#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times causal attention with a learned bias by distance in PyTorch, for comparison with `rotary bench attention`.

    python3 bench/torch_attention.py BATCH,HEADS,TIME,DIM [--steps N] [--threads N] [--mode MODE] [--forward]

The bias of a head is a table of distances, as of T5, whose gradient is computed with the others. Modes:

    plain           matmuls, bias and softmax
    plain-compiled  the same through torch.compile
    fused           scaled_dot_product_attention with the bias as its mask
    flex            FlexAttention, compiled (on processors most versions have its forward pass alone)
    best            the fastest of those that work

Prints one JSON object: the mode, the median and the best time in seconds, of the forward and the backward pass, or with
--forward of the forward pass alone.
"""
import math

import torch
import torch.nn.functional as F
from torch_timing import parser, report

MODES = ("plain", "plain-compiled", "fused", "flex")


def make_distances(length):
    at = torch.arange(length)
    return (at[:, None] - at[None, :]).clamp(min=0)


def bias_of(table, distances):
    length = distances.shape[0]
    later = torch.ones(length, length, dtype=torch.bool).triu(1)
    return table[:, distances].masked_fill(later, -math.inf)


def plain(q, k, v, table, distances):
    scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1]) + bias_of(table, distances)
    return torch.softmax(scores, -1) @ v


def fused(q, k, v, table, distances):
    return F.scaled_dot_product_attention(q, k, v, attn_mask=bias_of(table, distances)[None])


def flex(length):
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    mask = create_block_mask(lambda b, h, m, n: m >= n, None, None, length, length, device="cpu")
    call = torch.compile(flex_attention)

    def attend(q, k, v, table, distances):
        return call(q, k, v, score_mod=lambda score, b, h, m, n: score + table[h, torch.abs(m - n)], block_mask=mask)

    return attend


def function_of(mode, length):
    if mode == "flex":
        return flex(length)
    return {"plain": plain, "plain-compiled": torch.compile(plain), "fused": fused}[mode]


def make_step(mode, shape, forward_only):
    batch, heads, length, dim = shape
    torch.manual_seed(1)
    inputs = [torch.randn(batch, heads, length, dim, requires_grad=not forward_only) for _ in range(3)]
    table = torch.randn(heads, length, requires_grad=not forward_only)
    gradient, distances = torch.randn(batch, heads, length, dim), make_distances(length)
    attend = function_of(mode, length)

    def step():
        with torch.set_grad_enabled(not forward_only):
            output = attend(*inputs, table, distances)
        if not forward_only:
            torch.autograd.grad(output, [*inputs, table], gradient)

    return step


def main():
    options = parser(MODES, "f32", 5)
    options.add_argument("shape", type=lambda text: [int(part) for part in text.split(",")])
    options.add_argument("--forward", action="store_true")
    arguments = options.parse_args()
    report(arguments, MODES, lambda mode: make_step(mode, arguments.shape, arguments.forward), lambda median: {})


if __name__ == "__main__":
    main()
