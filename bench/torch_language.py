#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times steps of language modelling in PyTorch, for comparison with `rotary bench train --task language`.

    python3 bench/torch_language.py PRESET [--set KEY=VALUE]... [--precision f32|bf16] [--steps N] [--threads N]
        [--mode eager|compiled|best]

Times micro-batches of the preset's decoder, which is shaped as Llama is (RMS norms before the sublayers, SwiGLU, no biases,
embeddings that are the output projection): forward, backward, gradient clipping and AdamW; bf16 means autocast. Attention is
scaled_dot_product_attention. Every token is a target, and nothing is padding. Prints one JSON object, with the greatest
resident memory of the process; with best, the mode is the faster of two.
"""
import resource

import torch
import torch.nn.functional as F
from torch import nn
from torch_timing import autocast, parser, read_preset, report, rotate, rotation_tables, update

MODES = ("eager", "compiled")


class Block(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        width, hidden = sizes["hidden_size"], sizes["intermediate_size"]
        self.heads = sizes["num_attention_heads"]
        self.qkv, self.output = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        self.gate_up, self.down = nn.Linear(width, 2 * hidden, bias=False), nn.Linear(hidden, width, bias=False)
        self.norm1, self.norm2 = nn.RMSNorm(width), nn.RMSNorm(width)

    def forward(self, x, cosine, sine):
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        q, k = rotate(q, cosine, sine).to(v.dtype), rotate(k, cosine, sine).to(v.dtype)
        o = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.output(o.transpose(1, 2).reshape(batch, length, width))
        gate, up = self.gate_up(self.norm2(x)).chunk(2, -1)
        return x + self.down(F.silu(gate) * up)


class Decoder(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        width, vocabulary = sizes["hidden_size"], sizes["language_vocab_size"]
        self.embedding, self.norm = nn.Embedding(vocabulary, width), nn.RMSNorm(width)
        nn.init.normal_(self.embedding.weight, std=0.02)
        self.blocks = nn.ModuleList(Block(sizes) for _ in range(sizes["num_hidden_layers"]))
        self.output = nn.Linear(width, vocabulary, bias=False)
        self.output.weight = self.embedding.weight
        cosine, sine = rotation_tables(sizes["sequence_length"], width // sizes["num_attention_heads"])
        self.register_buffer("cosine", cosine)
        self.register_buffer("sine", sine)

    def forward(self, tokens):
        x = self.embedding(tokens)
        for block in self.blocks:
            x = block(x, self.cosine, self.sine)
        return self.output(self.norm(x))


def make_step(sizes, tokens, compiled, bf16):
    torch.manual_seed(1)
    model = Decoder(sizes)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.1, fused=True)

    def loss():
        with autocast(bf16):
            logits = model(tokens[:, :-1])
        return F.cross_entropy(logits.float().flatten(0, 1), tokens[:, 1:].flatten())

    run = torch.compile(loss, dynamic=False) if compiled else loss

    def step():
        optimizer.zero_grad(set_to_none=True)
        run().backward()
        update(model, optimizer)

    return step


def main():
    options = parser(MODES, "bf16", 4)
    options.add_argument("preset")
    options.add_argument("--set", action="append", default=[])
    arguments = options.parse_args()
    sizes = read_preset(arguments.preset, arguments.set, batch_tokens=0)
    length = sizes["sequence_length"]
    batch = sizes["batch_tokens"] // length if sizes["batch_tokens"] else sizes["batch_size"]
    torch.manual_seed(1)
    tokens = torch.randint(sizes["language_vocab_size"], (batch, length + 1))
    report(arguments, MODES,
           lambda mode: make_step(sizes, tokens, mode == "compiled", arguments.precision == "bf16"),
           lambda median: {"tokens": batch * length, "tokens_per_second": batch * length / median,
                           "peak_bytes": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss})


main()
