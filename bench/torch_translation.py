#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times training steps of an encoder-decoder in PyTorch, for comparison with `rotary bench train --task translation`.

    python3 bench/torch_translation.py --write-corpus FOLDER
    python3 bench/torch_translation.py PRESET FOLDER [--set KEY=VALUE]... [--precision f32|bf16] [--steps N] [--threads N]
        [--mode eager|compiled|best]

The first writes a corpus of words drawn at random (train.de, train.en, val.*, test.*), with lengths as captions have
them; rotary trains on the same files, with a vocabulary of words. The second times steps of the preset's model: forward,
backward, gradient clipping and Adam; bf16 means autocast. Attention is scaled_dot_product_attention.

A batch has as many pairs of sentences as rotary's, padded. They are neighbours in the order of their lengths, so there is
next to no padding, and every step has the same, so torch.compile compiles for one shape: both favour PyTorch. Tokens are
those of source and target without padding. Prints one JSON object; with best, the mode is the faster of two.
"""
import math
import os
import random

import torch
import torch.nn.functional as F
from torch import nn
from torch_timing import autocast, parser, read_preset, report, rotate, rotation_tables, update

MODES = ("eager", "compiled")
WORDS, PAIRS, SPECIAL = 7996, 6000, 4


def write_corpus(folder):
    draw = random.Random(1)
    os.makedirs(folder, exist_ok=True)
    words = list(range(WORDS))
    for split, pairs in (("train", PAIRS), ("val", 100), ("test", 100)):
        with open(f"{folder}/{split}.de", "w", encoding="utf-8") as source, \
                open(f"{folder}/{split}.en", "w", encoding="utf-8") as target:
            for pair in range(pairs):
                length = min(5 + int(draw.expovariate(1 / 9)), 40)
                other = max(5, length + draw.randint(-2, 2))
                # Every word occurs in the training text, common ones more often.
                for file, count in ((source, length), (target, other)):
                    chosen = [words[int(WORDS * draw.random() ** 2)] for _ in range(count)]
                    if split == "train":
                        chosen[:2] = [2 * pair % WORDS, (2 * pair + 1) % WORDS]
                    print(" ".join(f"w{word}" for word in chosen), file=file)


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.query, self.key_value, self.output = nn.Linear(width, width), nn.Linear(width, 2 * width), nn.Linear(width, width)

    def forward(self, x, source, tables=None, mask=None, causal=False):
        batch, length, width = x.shape
        q = self.query(x).view(batch, length, self.heads, -1).transpose(1, 2)
        k, v = self.key_value(source).view(batch, source.shape[1], 2, self.heads, -1).permute(2, 0, 3, 1, 4)
        if tables is not None:
            cosine, sine = tables
            q = rotate(q, cosine[:length], sine[:length]).to(v.dtype)
            k = rotate(k, cosine[:k.shape[2]], sine[:k.shape[2]]).to(v.dtype)
        o = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal)
        return self.output(o.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    def __init__(self, sizes, crosses):
        super().__init__()
        width = sizes["hidden_size"]
        self.drop, self.activation_drop = nn.Dropout(sizes["dropout"]), nn.Dropout(sizes["activation_dropout"])
        self.attention = Attention(width, sizes["num_attention_heads"])
        self.cross = Attention(width, sizes["num_attention_heads"]) if crosses else None
        self.up, self.down = nn.Linear(width, sizes["hidden"]), nn.Linear(sizes["hidden"], width)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3 if crosses else 2))

    def forward(self, x, tables, mask=None, source=None):
        h = self.norms[0](x)
        x = x + self.drop(self.attention(h, h, tables, None if self.cross else mask, self.cross is not None))
        if self.cross:
            x = x + self.drop(self.cross(self.norms[2](x), source, None, mask))
        return x + self.drop(self.down(self.activation_drop(F.relu(self.up(self.norms[1](x))))))


class Translator(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        width, heads, longest = sizes["hidden_size"], sizes["num_attention_heads"], 128
        self.scale, self.drop = math.sqrt(width), nn.Dropout(sizes["dropout"])
        self.target, self.output = nn.Embedding(sizes["vocabulary"], width), nn.Linear(width, sizes["vocabulary"])
        self.source = self.target if sizes["share_encoder_decoder_embeddings"] else nn.Embedding(sizes["vocabulary"], width)
        if sizes["tie_word_embeddings"]:
            self.output.weight = self.target.weight
        self.encoder = nn.ModuleList(Block(sizes, False) for _ in range(sizes["num_encoder_layers"]))
        self.decoder = nn.ModuleList(Block(sizes, True) for _ in range(sizes["num_hidden_layers"]))
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        cosine, sine = rotation_tables(longest, width // heads)
        self.register_buffer("cosine", cosine)
        self.register_buffer("sine", sine)

    def forward(self, source, mask, target):
        tables = (self.cosine, self.sine)
        x = self.drop(self.source(source) * self.scale)
        for block in self.encoder:
            x = block(x, tables, mask)
        memory, x = self.norms[0](x), self.drop(self.target(target) * self.scale)
        for block in self.decoder:
            x = block(x, tables, mask, memory)
        return self.output(self.norms[1](x))


def read_lengths(folder):
    """(source + end, begin + target) of each pair of the training text, by length."""
    files = [open(f"{folder}/train.{language}", encoding="utf-8") for language in ("de", "en")]
    with files[0], files[1]:
        return sorted((len(source.split()) + 1, len(target.split()) + 1) for source, target in zip(*files))


def make_batches(sizes, lengths):
    """The micro-batches of a step, of one padded shape, from the middle of the sorted lengths."""
    micro, middle = sizes["gradient_accumulation_steps"], len(lengths) // 2
    if sizes["batch_tokens"]:
        mean = sum(map(sum, lengths)) / len(lengths) / 2
        pairs = int(sizes["batch_tokens"] / mean)  # as many as a packed batch of rotary has
    else:
        pairs = sizes["batch_size"]
    # Every n-th pair around the middle would have the mean length of all; neighbours have less padding.
    first = max(0, middle - pairs * micro // 2)
    chosen = lengths[first:first + pairs * micro]
    longest = max(s for s, _ in chosen), max(t for _, t in chosen)
    batches = []
    for i in range(micro):
        part = chosen[i * pairs:(i + 1) * pairs]
        source = torch.randint(SPECIAL, sizes["vocabulary"], (pairs, longest[0]))
        target = torch.randint(SPECIAL, sizes["vocabulary"], (pairs, longest[1] + 1))
        mask = torch.tensor([[column < s for column in range(longest[0])] for s, _ in part])[:, None, None, :]
        for row, (_, t) in enumerate(part):
            target[row, t + 1:] = -100
        batches.append((source, mask, target[:, :-1].clamp(min=0), target[:, 1:]))
    return batches, sum(map(sum, chosen)), pairs * micro * sum(longest)


def make_step(sizes, batches, compiled, bf16):
    torch.manual_seed(1)
    model = Translator(sizes)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-9, fused=True)
    run = torch.compile(model, dynamic=False) if compiled else model
    counted = sum((classes >= 0).sum().item() for *_, classes in batches)

    def step():
        optimizer.zero_grad(set_to_none=True)
        for source, mask, target, classes in batches:
            with autocast(bf16):
                logits = run(source, mask, target)
            loss = F.cross_entropy(logits.float().flatten(0, 1), classes.flatten(), reduction="sum",
                                   label_smoothing=sizes["label_smoothing"])
            (loss / counted).backward()
        update(model, optimizer)

    return step


def main():
    options = parser(MODES, "f32", 4)
    options.add_argument("preset", nargs="?")
    options.add_argument("folder", nargs="?")
    options.add_argument("--write-corpus")
    options.add_argument("--set", action="append", default=[])
    arguments = options.parse_args()
    if arguments.write_corpus:
        write_corpus(arguments.write_corpus)
        return
    sizes = read_preset(arguments.preset, arguments.set, batch_tokens=0, batch_size=32, gradient_accumulation_steps=1,
                        activation_dropout=0.0, dropout=0.0, label_smoothing=0.0, num_encoder_layers=0, intermediate_size=0,
                        share_encoder_decoder_embeddings=False, tie_word_embeddings=False)
    sizes["num_encoder_layers"] = sizes["num_encoder_layers"] or sizes["num_hidden_layers"]
    sizes["hidden"] = sizes["intermediate_size"] or 4 * sizes["hidden_size"]
    sizes["vocabulary"] = WORDS + SPECIAL
    batches, tokens, padded = make_batches(sizes, read_lengths(arguments.folder))
    report(arguments, MODES,
           lambda mode: make_step(sizes, batches, mode == "compiled", arguments.precision == "bf16"),
           lambda median: {"tokens": tokens, "padded_tokens": padded, "tokens_per_second": tokens / median})


if __name__ == "__main__":
    main()
