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
import argparse
import contextlib
import json
import os
import random
import statistics
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn
from torch_translation import rotate

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
        pairs = width // sizes["num_attention_heads"] // 2
        angle = torch.arange(sizes["sequence_length"])[:, None] * 10000.0 ** (-torch.arange(pairs).double() / pairs)
        angle = torch.cat((angle, angle), -1)
        self.register_buffer("cosine", angle.cos().float())
        self.register_buffer("sine", angle.sin().float())

    def forward(self, tokens, rows):
        x = self.drop(self.norm(self.embedding(tokens)))
        for block in self.blocks:
            x = block(x, self.cosine, self.sine)
        masked = x.flatten(0, 1)[rows]
        return self.output(self.transform_norm(F.gelu(self.transform(masked))))


def time_steps(sizes, compiled, bf16, steps):
    torch.manual_seed(1)
    length = sizes["sequence_length"]
    batch = sizes["batch_tokens"] // length if sizes["batch_tokens"] else sizes["batch_size"]
    tokens = torch.randint(SPECIAL, sizes["masked_vocab_size"], (batch, length))
    rows = torch.randperm(batch * length)[:int(sizes["masked_probability"] * batch * (length - 2))].sort().values
    classes = torch.randint(SPECIAL, sizes["masked_vocab_size"], rows.shape)
    model = Encoder(sizes)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.01, fused=True)
    run = torch.compile(model, dynamic=False) if compiled else model

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", torch.bfloat16) if bf16 else contextlib.nullcontext():
            logits = run(tokens, rows)
        F.cross_entropy(logits.float(), classes).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    for _ in range(2):
        step()
    times = []
    for _ in range(steps):
        start = time.perf_counter()
        step()
        times.append(time.perf_counter() - start)
    return times, tokens.numel()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("preset")
    parser.add_argument("--write-corpus")
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--precision", default="f32", choices=("bf16", "f32"))
    parser.add_argument("--mode", default="best", choices=("best", "eager", "compiled"))
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--threads", type=int, default=0)
    arguments = parser.parse_args()
    with open(arguments.preset, encoding="utf-8") as file:
        sizes = {"batch_tokens": 0, **json.load(file)}
    for assignment in arguments.set:
        key, value = assignment.split("=", 1)
        sizes[key] = json.loads(value)
    if arguments.write_corpus:
        write_corpus(sizes, arguments.write_corpus)
        return
    if arguments.threads:
        torch.set_num_threads(arguments.threads)

    def run(mode, steps):
        return time_steps(sizes, mode == "compiled", arguments.precision == "bf16", steps)

    mode, tried = arguments.mode, {}
    if mode == "best":
        for name in ("eager", "compiled"):
            tried[name] = min(run(name, 2)[0])
            print(f"{name}: {tried[name]:.4f} s", file=sys.stderr)
        mode = min(tried, key=tried.get)
    times, tokens = run(mode, arguments.steps)
    print(json.dumps({"peer": "PyTorch " + torch.__version__, "mode": mode, "precision": arguments.precision,
                      "tokens": tokens, "median_seconds": statistics.median(times),
                      "tokens_per_second": tokens / statistics.median(times), "tried": tried}))


main()
