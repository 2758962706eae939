#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times causal attention by PyTorch's FlashAttention, for comparison with `rotary bench attention --device cuda`.

    python3 bench/torch_flash.py BATCH,HEADS,TIME,DIM [--device cpu|cuda] [--rounds N]

In bf16, deterministic, forward, and forward with backward: without rotation; with RoPE, which rotates query and key
outside of attention; and with RoPER, which rotates the value too, and rotates the output back. The three alternate.
Prints one JSON object: the median and the best time of each in seconds.
"""
import argparse
import functools
import json
import os
import statistics

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch_timing import rotate, rotation_tables, timed

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
WAYS = ("none", "rope", "roper")


def attend(way, q, k, v, cosine, sine):
    if way != "none":
        q, k = rotate(q, cosine, sine), rotate(k, cosine, sine)
    if way == "roper":
        v = rotate(v, cosine, sine)
    o = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    return rotate(o, cosine, -sine) if way == "roper" else o


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("shape", type=lambda text: [int(part) for part in text.split(",")])
    parser.add_argument("--device", default="cuda", choices=("cpu", "cuda"))
    parser.add_argument("--rounds", type=int, default=30)
    options = parser.parse_args()
    device, (batch, heads, length, dim) = options.device, options.shape
    torch.use_deterministic_algorithms(True)
    torch.manual_seed(1)
    kind = {"dtype": torch.bfloat16, "device": device}
    inputs = [torch.randn(batch, heads, length, dim, **kind).requires_grad_() for _ in range(3)]
    gradient = torch.randn(batch, heads, length, dim, **kind)
    tables = [table.to(**kind) for table in rotation_tables(length, dim)]

    def forward(way):
        with torch.no_grad():
            attend(way, *inputs, *tables)

    def forward_backward(way):
        torch.autograd.grad(attend(way, *inputs, *tables), inputs, gradient)

    passes = {"forward": forward, "forward_and_backward": forward_backward}
    times = {(way, name): [] for way in WAYS for name in passes}
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        for count in range(options.rounds + 2):
            for (way, name), taken in times.items():
                seconds = timed(functools.partial(passes[name], way), device)
                if count >= 2:
                    taken.append(seconds)
    results = {way: {name: {"best_seconds": min(times[way, name]), "median_seconds": statistics.median(times[way, name])}
                     for name in passes} for way in WAYS}
    print(json.dumps({"peer": "PyTorch " + torch.__version__, "device": device, "shape": options.shape, **results}))


if __name__ == "__main__":
    main()
