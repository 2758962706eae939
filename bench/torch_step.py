#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times training steps of a preset's model in PyTorch, for comparison with `rotary bench train`.

    python3 bench/torch_step.py presets/prefix/paper.json [--position rope|roper] [--precision bf16|f32] [--batch N]
        [--steps N] [--threads N] [--mode MODE] [--device cpu|cuda] [--set KEY=VALUE]...

A step is forward, backward, gradient clipping and Adam on random tokens; bf16 means autocast. Modes:

    eager           operation by operation, with attention as matmuls and softmax
    eager-fused     with scaled_dot_product_attention
    compiled        eager through torch.compile
    compiled-fused  both
    graphs-fused    the same with CUDA graphs, on a GPU (torch.compile's reduce-overhead)
    best            the fastest of these in two steps each (torch.compile needs a C++ compiler)

PyTorch 1 has only eager. Prints one JSON object: the mode, the median and the best time of a step in seconds, and for best
the seconds of each mode that was tried.
"""
import math

import torch
import torch.nn.functional as F
from torch import nn
from torch_timing import autocast, parser, read_preset, report, rotate, rotation_tables, update


MODES = ("eager", "eager-fused", "compiled", "compiled-fused", "graphs-fused")


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
        cosine, sine = rotation_tables(length, width // heads)
        self.register_buffer("cosine", cosine)
        self.register_buffer("sine", sine)
        self.register_buffer("mask", torch.full((length, length), -math.inf).triu(1))

    def forward(self, tokens):
        x = self.embedding(tokens)
        for block in self.blocks:
            x = block(x, self.cosine, self.sine, self.mask)
        return self.output(self.norm(x))


def make_step(sizes, tokens, mode, bf16, device):
    torch.manual_seed(1)
    model = Decoder(*sizes, fused=mode.endswith("fused")).to(device)
    try:
        optimizer = torch.optim.Adam(model.parameters(), lr=2.5e-4, fused=True)
    except (RuntimeError, TypeError):
        optimizer = torch.optim.Adam(model.parameters(), lr=2.5e-4)
    if not mode.startswith("eager"):
        torch._dynamo.reset()
        model = torch.compile(model, mode="reduce-overhead" if mode.startswith("graphs") else "default")

    def step():
        optimizer.zero_grad(set_to_none=True)
        with autocast(bf16, device):
            logits = model(tokens[:, :-1])
        F.cross_entropy(logits.float().flatten(0, 1), tokens[:, 1:].flatten()).backward()
        update(model, optimizer)

    return step


def main():
    options = parser(MODES, "bf16", 5)
    options.add_argument("preset")
    options.add_argument("--position", default="rope", choices=("rope", "roper"))
    options.add_argument("--batch", type=int)
    options.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    options.add_argument("--set", action="append", default=[])
    arguments = options.parse_args()
    preset = read_preset(arguments.preset, arguments.set)
    vocabulary = preset.get("vocab_size") or {"addition": 27, "index": 43, "prefix": 5}[preset["task"]]
    length, batch = preset["sequence_length"], arguments.batch or preset["batch_size"]
    sizes = (vocabulary, preset["hidden_size"], preset["num_hidden_layers"], preset["num_attention_heads"],
             preset.get("intermediate_size") or 4 * preset["hidden_size"], preset["norm_position"] == "pre",
             arguments.position == "roper", length)
    device = arguments.device
    tokens = torch.randint(vocabulary, (batch, length + 1)).to(device)
    modes = [name for name in MODES if (name == "eager" or hasattr(F, "scaled_dot_product_attention")) and
             (device == "cuda" or not name.startswith("graphs"))]
    report(arguments, modes, lambda mode: make_step(sizes, tokens, mode, arguments.precision == "bf16", device),
           lambda median: {"position": arguments.position, "batch": batch, "length": length})


main()
