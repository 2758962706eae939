#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Losses and gradients of small stacks by PyTorch's autograd in double precision: every residual wiring, norms of queries
and keys, biases by projection, bidirectional stacks with lengths, packed sequences, and a decoder that attends to an
encoder.

Writes tests/model/stack_goldens.h and, of the stacks with an encoder, stack_source_goldens.h. The stacks are written here from the formulas; only the names of the parameters come
from the C code. The input is 0.8 sin(0.37 i + 0.011 i^2), and the loss is the sum of 0.5 cos(0.3 i + 0.2) times element i
of the output, without the rows of padding. Parameters are 0.3 sin(0.7 i + 0.05 i^2 + length of the name), plus 1 for the
gains of norms.

    python3 tests/golden/make_stack_goldens.py stack > tests/model/stack_goldens.h
    python3 tests/golden/make_stack_goldens.py source > tests/model/stack_source_goldens.h
"""
import math
import sys
import torch

torch.set_default_dtype(torch.float64)
WIDTH, HEADS, HEAD_DIM, HIDDEN, LAYERS, BATCH, TIME, SOURCE_TIME = 24, 4, 8, 40, 2, 3, 7, 5
LENGTHS, SOURCE_LENGTHS = (7, 4, 1), (5, 2, 4)
STARTS, SOURCE_STARTS = (0, 3, 4, 12, 21), (0, 2, 7, 8, 15)
SEPARATE, SHARED = "separate", "shared"
FIELDS = ("name", "wiring", "parallel", "norm", "act", "query_key_norm", "in_bias", "out_bias", "hidden_bias",
          "key_value_heads", "causal", "rope", "lengths", "packed", "cross", "cross_rope")
CASES = [
    # causal, each wiring; pre-norm and post-norm are in decoder_goldens.h
    ("Gemma: norms before and on outputs", "both", "none", "rms_norm", "swiglu", "head", 0, 0, 0, 2, 1, 1, 0, 0, 0),
    ("OLMo 2: norms on outputs", "output", "none", "rms_norm", "swiglu", "all", 0, 0, 0, 4, 1, 1, 0, 0, 0),
    ("no norms", "none", "none", "layer_norm", "gelu", "none", 1, 0, 1, 4, 1, 1, 0, 0, 0),
    ("GPT-NeoX: parallel, two norms", "pre", SEPARATE, "layer_norm", "gelu", "none", 1, 1, 1, 4, 1, 1, 0, 0, 0),
    ("Phi: parallel, one norm", "pre", SHARED, "layer_norm", "gelu", "none", 1, 1, 1, 2, 1, 1, 0, 0, 0),
    ("parallel, norms before and on outputs", "both", SEPARATE, "rms_norm", "gelu", "none", 0, 0, 1, 4, 1, 0, 0, 0, 0),
    ("parallel, norms on outputs", "output", SHARED, "layer_norm", "gelu", "none", 1, 1, 1, 4, 1, 0, 0, 0, 0),
    # biases by projection, norms of queries and keys
    ("Qwen 2: bias of queries, keys and values", "pre", "none", "rms_norm", "swiglu", "none", 1, 0, 0, 2, 1, 1, 0, 0, 0),
    ("Qwen 3: norms of heads", "pre", "none", "rms_norm", "swiglu", "head", 0, 0, 0, 1, 1, 1, 0, 0, 0),
    ("LayerNorm of heads", "post", "none", "layer_norm", "gelu", "head", 0, 1, 1, 2, 1, 1, 0, 0, 0),
    ("LayerNorm of all heads", "pre", "none", "layer_norm", "relu", "all", 1, 1, 0, 2, 1, 1, 0, 0, 0),
    # packed
    ("packed sequences", "pre", "none", "rms_norm", "swiglu", "head", 1, 1, 1, 2, 1, 1, 0, 1, 0),
    # bidirectional
    ("bidirectional with lengths", "post", "none", "layer_norm", "gelu", "none", 1, 1, 1, 4, 0, 0, 1, 0, 0),
    ("bidirectional, rotated, with lengths", "pre", "none", "rms_norm", "swiglu", "head", 0, 0, 0, 2, 0, 1, 1, 0, 0),
    ("bidirectional, packed", "both", "none", "rms_norm", "relu", "none", 1, 1, 1, 4, 0, 1, 0, 1, 0),
    # an encoder and a decoder
    ("Vaswani: encoder and decoder", "post", "none", "layer_norm", "relu", "none", 1, 1, 1, 4, 1, 0, 0, 0, 1),
    ("encoder and decoder with lengths", "post", "none", "layer_norm", "gelu", "none", 1, 1, 1, 2, 1, 0, 1, 0, 1),
    ("T5: encoder and decoder, norms before", "pre", "none", "rms_norm", "swiglu", "head", 0, 0, 0, 2, 1, 1, 1, 0, 1),
    ("encoder and decoder, norms on outputs", "output", "none", "rms_norm", "gelu", "all", 1, 0, 1, 4, 1, 0, 1, 0, 1),
    ("encoder and decoder, packed", "post", "none", "layer_norm", "gelu", "none", 1, 1, 1, 4, 1, 1, 0, 1, 1),
    ("encoder and decoder, packed, norms of heads", "pre", "none", "rms_norm", "swiglu", "head", 0, 0, 0, 2, 1, 0, 0, 1, 1),
    ("rotated cross-attention", "post", "none", "layer_norm", "gelu", "none", 1, 1, 1, 2, 1, 1, 1, 0, 1, 1),
    ("rotated cross-attention, norms of heads", "pre", "none", "rms_norm", "swiglu", "head", 0, 0, 0, 2, 1, 1, 0, 0, 1, 1),
    ("rotated cross-attention, packed", "pre", "none", "rms_norm", "swiglu", "none", 1, 1, 1, 4, 1, 1, 0, 1, 1, 1),
]


def rotate(x, positions):
    """x [..., T, D], pairs half."""
    angle = positions[:, None] * 10000.0 ** (-2.0 * torch.arange(HEAD_DIM // 2) / HEAD_DIM)
    c, s = torch.cos(angle), torch.sin(angle)
    a, b = x[..., :HEAD_DIM // 2], x[..., HEAD_DIM // 2:]
    return torch.cat((a * c - b * s, b * c + a * s), -1)


class Stack:
    def __init__(self, case, parameters, prefix, batch, time, lengths, starts, causal):
        self.case, self.parameters, self.prefix, self.batch, self.time = case, parameters, prefix, batch, time
        self.positions = torch.arange(time)
        self.owner = torch.zeros(time)
        allowed = torch.ones(batch, time, time, dtype=torch.bool)
        if causal:
            allowed = allowed.tril()
        if lengths:
            allowed = allowed & (torch.arange(time)[None, None, :] < torch.tensor(lengths)[:, None, None])
        if case["packed"]:
            self.owner = torch.bucketize(torch.arange(time), torch.tensor(starts[1:]), right=True)
            allowed = allowed & (self.owner[:, None] == self.owner[None, :])
            self.positions = torch.arange(time) - torch.tensor(starts)[self.owner]
        self.mask = allowed

    def parameter(self, name, *shape):
        if name not in self.parameters:
            i = torch.arange(math.prod(shape), dtype=torch.float64)
            value = 0.3 * torch.sin(0.7 * i + 0.05 * i * i + len(name)).reshape(shape)
            if "norm" in name and name.endswith("weight"):
                value = 1.0 + value
            self.parameters[name] = value.requires_grad_()
        return self.parameters[name]

    def linear(self, x, name, outputs, bias):
        y = x @ self.parameter(name + ".weight", outputs, x.shape[-1]).T
        return y + self.parameter(name + ".bias", outputs) if bias else y

    def norm(self, x, name):
        gain = self.parameter(name + ".weight", x.shape[-1])
        if self.case["norm"] == "rms_norm":
            return gain * x / torch.sqrt((x * x).mean(-1, keepdim=True) + 1e-5)
        return torch.nn.functional.layer_norm(x, x.shape[-1:], gain, self.parameter(name + ".bias", x.shape[-1]), 1e-5)

    def heads(self, x, name):
        """[B, T, heads D] to [B, heads, T, D], with the norm of queries or keys."""
        if name and self.case["query_key_norm"] == "all":
            x = self.norm(x, name)
        x = x.view(x.shape[0], x.shape[1], -1, HEAD_DIM)
        if name and self.case["query_key_norm"] == "head":
            x = self.norm(x, name)
        return x.transpose(1, 2)

    def attend(self, q, k, v, mask, name):
        group = HEADS // self.case["key_value_heads"]
        k, v = (t.repeat_interleave(group, 1) for t in (k, v))
        scores = (q @ k.transpose(-1, -2) / math.sqrt(HEAD_DIM)).masked_fill(~mask[:, None], -math.inf)
        o = (torch.softmax(scores, -1) @ v).transpose(1, 2).flatten(-2)
        return self.linear(o, name + ".output", WIDTH, self.case["out_bias"])

    def attention(self, x, name):
        kv = self.case["key_value_heads"] * HEAD_DIM
        qkv = self.linear(x, name + ".query_key_value", HEADS * HEAD_DIM + 2 * kv, self.case["in_bias"])
        q, k, v = qkv.split([HEADS * HEAD_DIM, kv, kv], -1)
        q, k, v = self.heads(q, name + ".query_norm"), self.heads(k, name + ".key_norm"), self.heads(v, None)
        if self.case["rope"]:
            q, k = rotate(q, self.positions), rotate(k, self.positions)
        return self.attend(q, k, v, self.mask, name)

    def cross_attention(self, x, name):
        kv = self.case["key_value_heads"] * HEAD_DIM
        q = self.linear(x, name + ".query", HEADS * HEAD_DIM, self.case["in_bias"])
        k, v = self.linear(self.source, name + ".key_value", 2 * kv, self.case["in_bias"]).split([kv, kv], -1)
        q, k, v = self.heads(q, name + ".query_norm"), self.heads(k, name + ".key_norm"), self.heads(v, None)
        if self.case["cross_rope"]:
            q, k = rotate(q, self.positions), rotate(k, self.encoder.positions)
        return self.attend(q, k, v, self.source_mask.expand(-1, self.time, -1), name)

    def feed_forward(self, x, name):
        bias, act = self.case["hidden_bias"], self.case["act"]
        if act == "swiglu":
            gate, up = self.linear(x, name + ".up", 2 * HIDDEN, bias).split(HIDDEN, -1)
            h = torch.nn.functional.silu(gate) * up
        else:
            h = self.linear(x, name + ".up", HIDDEN, bias)
            h = torch.relu(h) if act == "relu" else torch.nn.functional.gelu(h)
        return self.linear(h, name + ".down", WIDTH, bias)

    def run(self, x, source=None, encoder=None, source_lengths=None):
        wiring, parallel = self.case["wiring"], self.case["parallel"]
        block = [(self.attention, "attention"), (self.feed_forward, "feed_forward")]
        if source is not None:
            block.insert(1, (self.cross_attention, "cross_attention"))
            self.source, self.encoder = source, encoder
            self.source_mask = self.owner[None, :, None] == encoder.owner[None, None, :]
            if source_lengths:
                self.source_mask = self.source_mask & (torch.arange(SOURCE_TIME)[None, None, :] <
                                                       torch.tensor(source_lengths)[:, None, None])
        for layer in range(LAYERS):
            block_input = x
            for index, (sublayer, name) in enumerate(block):
                full = f"{self.prefix}layers.{layer}.{name}"
                h = x if parallel == "none" else block_input
                if wiring in ("pre", "both"):
                    first = f"{self.prefix}layers.{layer}.{block[0][1]}"
                    h = self.norm(h, (first if parallel == SHARED else full) + "_norm")
                y = sublayer(h, full)
                if wiring in ("both", "output"):
                    y = self.norm(y, full + "_output_norm")
                x = x + y
                if wiring == "post":
                    x = self.norm(x, full + "_norm")
        return x if wiring == "post" else self.norm(x, self.prefix + "norm")


def signal(batch, time):
    i = torch.arange(batch * time * WIDTH, dtype=torch.float64)
    return (0.8 * torch.sin(0.37 * i + 0.011 * i * i)).view(batch, time, WIDTH).requires_grad_()


def run(case):
    parameters, inputs = {}, {}
    batch, time = (1, BATCH * TIME) if case["packed"] else (BATCH, TIME)
    source_time = BATCH * SOURCE_TIME if case["packed"] else SOURCE_TIME
    lengths = LENGTHS if case["lengths"] else None
    source_lengths = SOURCE_LENGTHS if case["lengths"] else None
    source, encoder = None, None
    if case["cross"]:
        encoder = Stack(case, parameters, "encoder.", batch, source_time, source_lengths, SOURCE_STARTS, False)
        inputs["source"] = signal(batch, source_time)
        source = encoder.run(inputs["source"])
    stack = Stack(case, parameters, "", batch, time, lengths, STARTS, case["causal"])
    inputs["input"] = signal(batch, time)
    out = stack.run(inputs["input"], source, encoder, source_lengths)
    i = torch.arange(out.numel(), dtype=torch.float64)
    weight = 0.5 * torch.cos(0.3 * i + 0.2).view(batch, time, WIDTH)
    if lengths:
        weight = weight * (torch.arange(time)[None, :] < torch.tensor(lengths)[:, None])[..., None]
    loss = (out * weight).sum()
    loss.backward()
    gradients = {name: value.grad.flatten() for name, value in {**parameters, **inputs}.items()}
    return loss.item(), (out * weight).abs().sum().item(), gradients


def main():
    print("/* SPDX-License-Identifier: Apache-2.0\n *\n * Made by tests/golden/make_stack_goldens.py: do not edit. Of each "
          "gradient its dot product with\n * cos(0.9 i + 0.5) and its norm.\n */")
    rows, group = [], sys.argv[1]
    for number, values in enumerate(CASES):
        values += (0,) * (len(FIELDS) - len(values))
        case = dict(zip(FIELDS, values))
        if case["cross"] != (group == "source"):
            continue
        loss, size, gradients = run(case)
        print(f"static const struct golden_gradient gradients_{number}[] = {{")
        for name, gradient in gradients.items():
            probe = torch.cos(0.9 * torch.arange(len(gradient)) + 0.5)
            print(f'    {{"{name}", {(gradient * probe).sum().item():.12e}, {gradient.norm().item():.12e}}},')
        print("};")
        texts = ", ".join(f'"{value}"' if isinstance(value, str) else str(value) for value in values)
        rows.append(f"    {{{texts},\n     {loss:.12e}, {size:.12e}, gradients_{number}, "
                    f"sizeof gradients_{number} / sizeof *gradients_{number}}},")
    print(f"static const struct golden_case {group}_cases[] = {{")
    print("\n".join(rows))
    print("};")


main()
