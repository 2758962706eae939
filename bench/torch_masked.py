#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times steps of masked language modelling in PyTorch, for comparison with `rotary bench train --task masked`.

    python3 bench/torch_masked.py PRESET --write-corpus FOLDER
    python3 bench/torch_masked.py PRESET [--set KEY=VALUE]... [--precision f32|bf16] [--steps N] [--threads N]
        [--mode eager|compiled|best]

The first writes a corpus of words drawn at random (train.txt, valid.txt), a document a line, each as long as a sequence,
so that nothing is padding; rotary trains on it with a vocabulary of words. The second times micro-batches of the preset's
encoder: forward, backward, gradient clipping and AdamW; bf16 means autocast. Attention is scaled_dot_product_attention. The
head is computed for the masked tokens alone, which are as many in every step, so that torch.compile compiles for one shape.
Prints one JSON object; with best, the mode is the faster of two.
"""
import os
import random

import torch
import torch.nn.functional as F
from torch import nn
from torch_timing import autocast, parser, read_preset, report, rotate, rotation_tables, update

MODES = ("eager", "compiled")
SPECIAL, DOCUMENTS = 5, 2000


def write_corpus(sizes, folder):
    draw, count, next_word = random.Random(1), sizes["sequence_length"] - 2, 0
    words = sizes["masked_vocab_size"] - SPECIAL
    os.makedirs(folder, exist_ok=True)
    for name, documents in (("train.txt", max(DOCUMENTS, words // count + 1)), ("valid.txt", 64)):
        with open(f"{folder}/{name}", "w", encoding="utf-8") as file:
            for _ in range(documents):
                # Every word occurs, common ones more often.
                chosen = [int(words * draw.random() ** 2) for _ in range(count)]
                if next_word < words:
                    chosen = [(next_word + i) % words for i in range(count)]
                    next_word += count
                print(" ".join(f"w{word}" for word in chosen), file=file)


class Block(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        width = sizes["hidden_size"]
        self.heads, self.attention_dropout = sizes["num_attention_heads"], sizes["attention_dropout"]
        self.qkv, self.output = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.drop = nn.Dropout(sizes["dropout"])

    def forward(self, x, cosine, sine):
        batch, length, width = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        q, k = rotate(q, cosine, sine).to(v.dtype), rotate(k, cosine, sine).to(v.dtype)
        o = F.scaled_dot_product_attention(q, k, v, dropout_p=self.attention_dropout)
        x = self.norm1(x + self.drop(self.output(o.transpose(1, 2).reshape(batch, length, width))))
        return self.norm2(x + self.drop(self.down(F.gelu(self.up(x)))))


class Encoder(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        width, vocabulary = sizes["hidden_size"], sizes["masked_vocab_size"]
        self.embedding, self.norm, self.drop = nn.Embedding(vocabulary, width), nn.LayerNorm(width), nn.Dropout(sizes["dropout"])
        self.blocks = nn.ModuleList(Block(sizes) for _ in range(sizes["num_hidden_layers"]))
        self.transform, self.transform_norm = nn.Linear(width, width), nn.LayerNorm(width)
        self.output = nn.Linear(width, vocabulary)
        self.output.weight = self.embedding.weight
        cosine, sine = rotation_tables(sizes["sequence_length"], width // sizes["num_attention_heads"])
        self.register_buffer("cosine", cosine)
        self.register_buffer("sine", sine)

    def forward(self, tokens, rows):
        x = self.drop(self.norm(self.embedding(tokens)))
        for block in self.blocks:
            x = block(x, self.cosine, self.sine)
        masked = x.flatten(0, 1)[rows]
        return self.output(self.transform_norm(F.gelu(self.transform(masked))))


def make_batch(sizes):
    """Tokens [batch, length], the rows that are masked and their classes."""
    torch.manual_seed(1)
    length = sizes["sequence_length"]
    batch = sizes["batch_tokens"] // length if sizes["batch_tokens"] else sizes["batch_size"]
    tokens = torch.randint(SPECIAL, sizes["masked_vocab_size"], (batch, length))
    rows = torch.randperm(batch * length)[:int(sizes["masked_probability"] * batch * (length - 2))].sort().values
    return tokens, rows, torch.randint(SPECIAL, sizes["masked_vocab_size"], rows.shape)


def make_step(sizes, batch, compiled, bf16):
    tokens, rows, classes = batch
    torch.manual_seed(1)
    model = Encoder(sizes)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.01, fused=True)
    run = torch.compile(model, dynamic=False) if compiled else model

    def step():
        optimizer.zero_grad(set_to_none=True)
        with autocast(bf16):
            logits = run(tokens, rows)
        F.cross_entropy(logits.float(), classes).backward()
        update(model, optimizer)

    return step


def main():
    options = parser(MODES, "f32", 4)
    options.add_argument("preset")
    options.add_argument("--write-corpus")
    options.add_argument("--set", action="append", default=[])
    arguments = options.parse_args()
    sizes = read_preset(arguments.preset, arguments.set, batch_tokens=0)
    if arguments.write_corpus:
        write_corpus(sizes, arguments.write_corpus)
        return
    batch = make_batch(sizes)
    tokens = batch[0].numel()
    report(arguments, MODES,
           lambda mode: make_step(sizes, batch, mode == "compiled", arguments.precision == "bf16"),
           lambda median: {"tokens": tokens, "tokens_per_second": tokens / median})


main()
