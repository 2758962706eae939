#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Losses and gradients of small encoder-decoders by PyTorch's autograd in double precision, for every combination of
norm position, tying and encoding.

Writes tests/model/transformer_goldens.h (pre and post), transformer_norm_goldens.h (the other norm positions),
transformer_bias_goldens.h (encodings by a bias, and xpos; pre and post), transformer_vector_goldens.h (encodings by vectors)
and transformer_fire_goldens.h. The model is written here from the formulas, attention with its full matrix of scores; only
the names of the parameters come from the C code. Parameters are 0.3 sin(0.7 i + 0.05 i^2 + length of the name), which both
sides can compute.

    /usr/bin/python3 tests/golden/make_transformer_goldens.py tests/model
"""
import itertools
import math
import os
import sys
import torch
from distance_bias import bias as distance_bias, layer_bias
from distance_vectors import vectors as distance_vectors, weighted

torch.set_default_dtype(torch.float64)
WIDTH, HEADS, HEAD_DIM, HIDDEN, LAYERS, ENCODER_LAYERS, POSITIONS = 32, 4, 8, 40, 2, 1, 16
BATCH, TIME, SOURCE_TIME, VOCABULARY, SOURCE_VOCABULARY = 3, 7, 5, 13, 11
LENGTHS, SOURCE_LENGTHS = (7, 4, 1), (5, 2, 4)
XPOS_SCALE = 8.0
ENCODINGS = ("none", "learned", "sinusoidal", "rope", "roper")
SETTINGS = {"relative_attention_num_buckets": 8, "relative_attention_max_distance": 5, "max_relative_position": 3,
            "hidden_size": WIDTH, "fire_width": 6, "fire_length": 8.0}
TYING = ("none", "target", "all")
BIASES = ("alibi", "t5", "kerple", "sandwich", "xpos")
VECTORS = ("shaw", "transformer-xl", "deberta")
FILES = {"transformer_goldens.h": itertools.product(("pre", "post"), TYING, ENCODINGS),
         "transformer_norm_goldens.h": itertools.product(("both", "output", "none"), TYING, ENCODINGS),
         "transformer_bias_goldens.h": ((norm, tying, position) for position, (norm, tying) in
                                        itertools.product(BIASES, zip(("pre", "post", "pre"), TYING))),
         "transformer_vector_goldens.h": ((norm, tying, position) for position, (norm, tying) in
                                          itertools.product(VECTORS, zip(("pre", "post", "both"), TYING))),
         "transformer_fire_goldens.h": ((norm, tying, "fire") for norm, tying in zip(("pre", "post", "both"), TYING))}


def case_of(number, norm_position, tying, position):
    """The other settings change from case to case, at periods of their own."""
    plain = norm_position == "none"  # without norms, large numbers would make the gradients chaotic
    return {
        "norm_position": norm_position, "tying": tying, "position": position,
        "norm": ("layer_norm", "rms_norm")[number % 2], "act": "gelu" if plain else ("gelu", "swiglu")[number // 2 % 2],
        "bias": number % 7 != 3, "kv_heads": (4, 2, 1, 2)[number % 4], "smoothing": (0.0, 0.1)[number % 4 // 2],
        "cross_rotary": position in ("rope", "roper", "xpos") and number // 5 % 2 == 0,
        "pairing": ("half", "interleaved")[number % 8 // 4], "fraction": (1.0, 0.5)[number // 3 % 2],
        "query_key_norm": ("none", "none", "head", "none", "all")[number // 5 % 5], "scaled": not plain and number % 11 % 2,
    }


def rotate(x, fraction, pairing, direction, xpos=0.0):
    """x [B, H, T, D]: rotates the first floor(D fraction) channels by direction * position * 10000^(-2i/d). With xPos
    (Sun et al. 2022) pair i is multiplied by zeta_i^(xpos (position - POSITIONS / 2)), zeta_i = (2i + 0.4 d) / (1.4 d)."""
    d = int(math.floor(HEAD_DIM * fraction + 1e-9))
    angle = torch.arange(x.shape[2])[:, None] * 10000.0 ** (-2.0 * torch.arange(d // 2) / d)
    zeta = (2.0 * torch.arange(d // 2) + 0.4 * d) / (1.4 * d)
    magnitude = zeta ** (xpos * (torch.arange(x.shape[2])[:, None] - POSITIONS / 2))
    c, s = magnitude * torch.cos(angle), magnitude * torch.sin(angle) * direction
    part = x[..., :d]
    first, second = (part[..., :d // 2], part[..., d // 2:]) if pairing == "half" else (part[..., 0::2], part[..., 1::2])
    a, b = first * c - second * s, second * c + first * s
    rotated = torch.cat((a, b), -1) if pairing == "half" else torch.stack((a, b), -1).flatten(-2)
    return torch.cat((rotated, x[..., d:]), -1)


class Model:
    def __init__(self, case):
        self.case, self.parameters = case, {}

    def parameter(self, name, *shape):
        if name not in self.parameters:
            i = torch.arange(math.prod(shape), dtype=torch.float64)
            value = 0.3 * torch.sin(0.7 * i + 0.05 * i * i + len(name)).reshape(shape)
            if "norm" in name and name.endswith("weight"):
                value = 1.0 + value
            self.parameters[name] = value.requires_grad_()
        return self.parameters[name]

    def linear(self, x, name, outputs):
        y = x @ self.parameter(name + ".weight", outputs, x.shape[-1]).T
        return y + self.parameter(name + ".bias", outputs) if self.case["bias"] else y

    def norm(self, x, name):
        width = x.shape[-1]
        gain = self.parameter(name + ".weight", width)
        if self.case["norm"] == "rms_norm":
            return gain * x / torch.sqrt((x * x).mean(-1, keepdim=True) + 1e-5)
        return torch.nn.functional.layer_norm(x, (width,), gain, self.parameter(name + ".bias", width), 1e-5)

    def heads(self, q, k, v, name):
        """[B, T, columns] to [B, heads, T, HEAD_DIM], with the norms of queries and keys."""
        kind = self.case["query_key_norm"]
        if kind == "all":
            q, k = self.norm(q, name + ".query_norm"), self.norm(k, name + ".key_norm")
        q, k, v = (t.unflatten(-1, (-1, HEAD_DIM)) for t in (q, k, v))
        if kind == "head":
            q, k = self.norm(q, name + ".query_norm"), self.norm(k, name + ".key_norm")
        return (t.transpose(1, 2) for t in (q, k, v))

    def attend(self, q, k, v, visible, bias=0.0, products=0.0, value_vectors=None):
        """visible [B, 1 or T, S], bias [H, T, S]; products and value_vectors as distance_vectors returns them."""
        k, v = (t.repeat_interleave(HEADS // self.case["kv_heads"], 1) for t in (k, v))
        scores = (q @ k.transpose(-1, -2) + products) / math.sqrt(HEAD_DIM) + bias
        return weighted(torch.softmax(scores.masked_fill(~visible[:, None], -math.inf), -1), v, value_vectors)

    def rotated(self, x, direction=1, fraction=None, xpos=0.0):
        fraction = self.case["fraction"] if fraction is None else fraction
        return rotate(x, fraction, self.case["pairing"], direction, xpos)

    def output(self, o, name):
        return self.linear(o.transpose(1, 2).flatten(-2), name + ".output", WIDTH)

    def distance_bias(self, prefix, time):
        return distance_bias(self.case["position"], HEADS, time, time, prefix == "",
                             lambda name, *shape: self.parameter(prefix + name, *shape), SETTINGS)

    def self_attention(self, x, name, visible, bias):
        columns = [HEADS * HEAD_DIM, self.case["kv_heads"] * HEAD_DIM, self.case["kv_heads"] * HEAD_DIM]
        q, k, v = self.heads(*self.linear(x, name + ".query_key_value", sum(columns)).split(columns, -1), name)
        values = self.case["position"] == "roper"
        if self.case["position"] in ("rope", "roper", "xpos"):
            xpos = 1.0 / XPOS_SCALE if self.case["position"] == "xpos" and not name.startswith("encoder.") else 0.0
            q, k = self.rotated(q, xpos=xpos), self.rotated(k, xpos=-xpos)
        q, products, value_vectors = distance_vectors(self.case["position"], q, k, name,
                                                      not name.startswith("encoder."), self.parameter, SETTINGS)
        bias = bias + layer_bias(self.case["position"], HEADS, q.shape[2], k.shape[2], name, self.parameter, SETTINGS)
        o = self.attend(q, k, self.rotated(v, 1, 1.0) if values else v, visible, bias, products, value_vectors)
        return self.output(self.rotated(o, -1, 1.0) if values else o, name)

    def cross_attention(self, x, name, visible, source):
        columns = self.case["kv_heads"] * HEAD_DIM
        q = self.linear(x, name + ".query", HEADS * HEAD_DIM)
        q, k, v = self.heads(q, *self.linear(source, name + ".key_value", 2 * columns).split(columns, -1), name)
        if self.case["cross_rotary"]:
            q, k = self.rotated(q), self.rotated(k)
        return self.output(self.attend(q, k, v, visible), name)

    def feed_forward(self, x, name):
        if self.case["act"] == "swiglu":
            gate, up = self.linear(x, name + ".up", 2 * HIDDEN).split(HIDDEN, -1)
            return self.linear(torch.nn.functional.silu(gate) * up, name + ".down", WIDTH)
        return self.linear(torch.nn.functional.gelu(self.linear(x, name + ".up", HIDDEN)), name + ".down", WIDTH)

    def embed(self, tokens, prefix, vocabulary):
        shared = self.case["tying"] == "all"
        table = self.parameter("embedding.weight" if shared else prefix + "embedding.weight", vocabulary, WIDTH)
        x = table[tokens] * (math.sqrt(WIDTH) if self.case["scaled"] else 1.0)
        time = tokens.shape[1]
        if self.case["position"] == "learned":
            x = x + self.parameter(prefix + "embedding.position.weight", POSITIONS, WIDTH)[:time]
        if self.case["position"] == "sinusoidal":
            angle = torch.arange(time)[:, None] * 10000.0 ** (-2.0 * torch.arange(WIDTH // 2) / WIDTH)
            x = x + torch.stack((torch.sin(angle), torch.cos(angle)), -1).flatten(-2)
        return x

    def stack(self, x, prefix, layers, sublayers):
        position = self.case["norm_position"]
        for layer, (name, sublayer) in itertools.product(range(layers), sublayers):
            full = f"{prefix}layers.{layer}.{name}"
            y = sublayer(self.norm(x, full + "_norm") if position in ("pre", "both") else x, full)
            if position in ("both", "output"):
                y = self.norm(y, full + "_output_norm")
            x = self.norm(x + y, full + "_norm") if position == "post" else x + y
        return x if position == "post" else self.norm(x, prefix + "norm")

    def logits(self, tokens, source):
        vocabulary = VOCABULARY if self.case["tying"] == "all" else SOURCE_VOCABULARY
        seen = torch.arange(SOURCE_TIME)[None, None] < torch.tensor(SOURCE_LENGTHS)[:, None, None]
        causal = torch.ones(TIME, TIME, dtype=torch.bool).tril()[None]
        source_bias, bias = self.distance_bias("encoder.", SOURCE_TIME), self.distance_bias("", TIME)
        encoded = self.stack(self.embed(source, "encoder.", vocabulary), "encoder.", ENCODER_LAYERS, (
            ("attention", lambda h, name: self.self_attention(h, name, seen, source_bias)),
            ("feed_forward", self.feed_forward)))
        x = self.stack(self.embed(tokens, "", VOCABULARY), "", LAYERS, (
            ("attention", lambda h, name: self.self_attention(h, name, causal, bias)),
            ("cross_attention", lambda h, name: self.cross_attention(h, name, seen, encoded)),
            ("feed_forward", self.feed_forward)))
        if self.case["tying"] == "none":
            return self.linear(x, "output", VOCABULARY)
        logits = x @ self.parameters["embedding.weight"].T
        return logits + self.parameter("output.bias", VOCABULARY) if self.case["bias"] else logits


def run(case):
    model = Model(case)
    index, source_index = torch.arange(BATCH * TIME), torch.arange(BATCH * SOURCE_TIME)
    vocabulary = VOCABULARY if case["tying"] == "all" else SOURCE_VOCABULARY
    tokens = ((index * 7 + 3) % VOCABULARY).view(BATCH, TIME)
    source = ((source_index * 4 + 2) % vocabulary).view(BATCH, SOURCE_TIME)
    targets = ((index * 5 + 1) % VOCABULARY).view(BATCH, TIME)
    targets[torch.arange(TIME)[None] >= torch.tensor(LENGTHS)[:, None]] = -1
    logits = model.logits(tokens, source).flatten(0, 1)
    loss = torch.nn.functional.cross_entropy(logits, targets.flatten(), reduction="sum", ignore_index=-1)
    torch.nn.functional.cross_entropy(logits, targets.flatten(), reduction="sum", ignore_index=-1,
                                      label_smoothing=case["smoothing"]).backward()
    return loss.item(), {name: value.grad.flatten() for name, value in model.parameters.items()}


def print_case(out, name, numbered, gradients):
    rows = []
    for parameter, gradient in gradients.items():
        probe = (gradient * torch.cos(0.9 * torch.arange(len(gradient)) + 0.5)).sum().item()
        rows.append(f"{{{numbered.setdefault(parameter, len(numbered))}, {probe:.8e}}}")
    print(f"static const struct golden_probe {name}[] = {{", file=out)
    for first in range(0, len(rows), 7):
        print("    " + ", ".join(rows[first:first + 7]) + ",", file=out)
    print("};", file=out)


def main():
    number = 0
    for file, cases in FILES.items():
        stem, numbered, table = file.removesuffix("_goldens.h"), {}, []
        with open(os.path.join(sys.argv[1], file), "w", encoding="ascii") as out:
            print("/* SPDX-License-Identifier: Apache-2.0\n *\n * Made by tests/golden/make_transformer_goldens.py: do not "
                  "edit. Of each gradient its dot product with\n * cos(0.9 i + 0.5).\n */", file=out)
            for norm_position, tying, position in cases:
                case = case_of(number, norm_position, tying, position)
                loss, gradients = run(case)
                print_case(out, f"{stem}_{number}", numbered, gradients)
                texts = ", ".join(f'"{case[key]}"' for key in ("norm_position", "tying", "position", "norm", "act",
                                                               "pairing", "query_key_norm"))
                numbers = ", ".join(str(int(case[key])) for key in ("bias", "kv_heads", "cross_rotary", "scaled"))
                table.append(f"    {{{texts}, {numbers}, {case['smoothing']}, {case['fraction']},\n     {loss:.12e}, "
                             f"{stem}_{number}, {len(gradients)}, {stem}_names}},")
                number += 1
            print(f"static const char *const {stem}_names[] = {{", file=out)
            for name in numbered:
                print(f'    "{name}",', file=out)
            print(f"}};\nstatic const struct golden_case {stem}_cases[] = {{", file=out)
            print("\n".join(table) + "\n};", file=out)


main()
