#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times training steps of a preset's model in PyTorch, for comparison with `rotary bench train`.

    python3 bench/torch_step.py presets/prefix/paper.json [--position rope|roper] [--precision bf16|f32] [--batch N]
        [--steps N] [--threads N] [--mode MODE]

A step is forward, backward, gradient clipping and Adam on random tokens; bf16 means autocast. Modes:

    eager           operation by operation, with attention as matmuls and softmax
    eager-fused     with scaled_dot_product_attention
    compiled        eager through torch.compile
    compiled-fused  both
    best            the fastest of these in two steps each (torch.compile needs a C++ compiler)

PyTorch 1 has only eager. Prints one JSON object: the mode, the median and the best time of a step in seconds, and for best
the seconds of each mode that was tried.
"""
import argparse
import contextlib
import json
import math
import statistics
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn


MODES = ("eager", "eager-fused", "compiled", "compiled-fused")


def rotate(x, cosine, sine):
    half = x.shape[-1] // 2
    return x * cosine + torch.cat((-x[..., half:], x[..., :half]), -1) * sine


class Block(nn.Module):
    def __init__(self, width, heads, hidden, pre, roper, fused):
        super().__init__()
        self.heads, self.pre, self.roper, self.fused = heads, pre, roper, fused
        self.qkv, self.output = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, hidden), nn.Linear(hidden, width)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)

    def attention(self, x, cosine, sine, mask):
        batch, length, width = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        q, k = rotate(q, cosine, sine), rotate(k, cosine, sine)
        if self.roper:
            v = rotate(v, cosine, sine)
        if self.fused:
            o = F.scaled_dot_product_attention(q, k, v.to(q.dtype), is_causal=True)
        else:
            scores = (q @ k.transpose(-1, -2)) / math.sqrt(q.shape[-1]) + mask
            o = torch.softmax(scores, -1).to(v.dtype) @ v
        if self.roper:
            o = rotate(o, cosine, -sine)
        return self.output(o.transpose(1, 2).reshape(batch, length, width))

    def forward(self, x, cosine, sine, mask):
        if self.pre:
            x = x + self.attention(self.norm1(x), cosine, sine, mask)
            return x + self.down(F.relu(self.up(self.norm2(x))))
        x = self.norm1(x + self.attention(x, cosine, sine, mask))
        return self.norm2(x + self.down(F.relu(self.up(x))))


class Decoder(nn.Module):
    def __init__(self, vocabulary, width, layers, heads, hidden, pre, roper, length, fused):
        super().__init__()
        self.embedding, self.output = nn.Embedding(vocabulary, width), nn.Linear(width, vocabulary)
        self.blocks = nn.ModuleList(Block(width, heads, hidden, pre, roper, fused) for _ in range(layers))
        self.norm = nn.LayerNorm(width) if pre else nn.Identity()
        pairs = width // heads // 2
        angle = torch.arange(length).double()[:, None] * 10000.0 ** (-torch.arange(pairs).double() / pairs)
        angle = torch.cat((angle, angle), -1)
        self.register_buffer("cosine", angle.cos().float())
        self.register_buffer("sine", angle.sin().float())
        self.register_buffer("mask", torch.full((length, length), -math.inf).triu(1))

    def forward(self, tokens):
        x = self.embedding(tokens)
        for block in self.blocks:
            x = block(x, self.cosine, self.sine, self.mask)
        return self.output(self.norm(x))


def time_steps(sizes, tokens, mode, bf16, steps):
    """Seconds of `steps` steps, after three that are not timed."""
    torch.manual_seed(1)
    model = Decoder(*sizes, fused=mode.endswith("fused"))
    try:
        optimizer = torch.optim.Adam(model.parameters(), lr=2.5e-4, fused=True)
    except (RuntimeError, TypeError):
        optimizer = torch.optim.Adam(model.parameters(), lr=2.5e-4)
    if mode.startswith("compiled"):
        torch._dynamo.reset()
        model = torch.compile(model)

    def step():
        autocast = torch.autocast("cpu", torch.bfloat16) if bf16 else contextlib.nullcontext()
        optimizer.zero_grad(set_to_none=True)
        with autocast:
            logits = model(tokens[:, :-1])
        loss = F.cross_entropy(logits.float().flatten(0, 1), tokens[:, 1:].flatten())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    for _ in range(3):
        step()
    times = []
    for _ in range(steps):
        start = time.perf_counter()
        step()
        times.append(time.perf_counter() - start)
    return times


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("preset")
    parser.add_argument("--position", default="rope", choices=("rope", "roper"))
    parser.add_argument("--precision", default="bf16", choices=("bf16", "f32"))
    parser.add_argument("--mode", default="best", choices=("best", *MODES))
    parser.add_argument("--batch", type=int)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--threads", type=int, default=0)
    arguments = parser.parse_args()
    with open(arguments.preset, encoding="utf-8") as file:
        preset = json.load(file)
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    vocabulary = preset.get("vocab_size") or {"addition": 27, "index": 43, "prefix": 5}[preset["task"]]
    length, batch = preset["sequence_length"], arguments.batch or preset["batch_size"]
    sizes = (vocabulary, preset["hidden_size"], preset["num_hidden_layers"], preset["num_attention_heads"],
             preset.get("intermediate_size") or 4 * preset["hidden_size"], preset["norm_position"] == "pre",
             arguments.position == "roper", length)
    tokens = torch.randint(vocabulary, (batch, length + 1))

    def run(mode, steps):
        return time_steps(sizes, tokens, mode, arguments.precision == "bf16", steps)

    mode, tried = arguments.mode, {}
    if mode == "best":
        for name in MODES:
            if name == "eager" or hasattr(F, "scaled_dot_product_attention"):
                tried[name] = min(run(name, 2))
                print(f"{name}: {tried[name]:.4f} s", file=sys.stderr)
        mode = min(tried, key=tried.get)
    times = run(mode, arguments.steps)
    print(json.dumps({"peer": "PyTorch " + torch.__version__, "mode": mode, "precision": arguments.precision,
                      "position": arguments.position, "batch": batch, "length": length,
                      "median_seconds": statistics.median(times), "best_seconds": min(times), "tried": tried}))


main()
