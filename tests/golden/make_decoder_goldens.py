#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Losses and gradients of small decoders by PyTorch's autograd in double precision.

Writes tests/model/decoder_goldens.h, decoder_term_goldens.h with the gradients of encodings by terms of the score, and
decoder_rotate_goldens.h with those of subsets of queries, keys, values and outputs that rotate, and of keys that are
values. The model is written here from the formulas, attention with its full matrix of scores; only the names of the
parameters come from the C code. Parameters are 0.3 sin(0.7 i + 0.05 i^2 + length of the name), which both sides can compute.

    /usr/bin/python3 tests/golden/make_decoder_goldens.py tests/model
"""
import json
import math
import os
import sys
import torch
from distance_bias import bias as distance_bias, layer_bias
from distance_vectors import vectors as distance_vectors, weighted
from random_positions import drawn

torch.set_default_dtype(torch.float64)
VOCABULARY, WIDTH, HEADS, HEAD_DIM, HIDDEN, LAYERS, BATCH, TIME, POSITIONS = 13, 32, 4, 8, 40, 2, 3, 7, 16

# position, norm_position, norm, act, bias, tied, key-value heads, query-key fraction, value fraction, pairing, scaled,
# and other settings
CASES = [
    ("none", "pre", "layer_norm", "relu", 1, 0, 4, 1.0, 1.0, "half", 0, "{}"),
    ("learned", "pre", "layer_norm", "gelu", 1, 1, 4, 1.0, 1.0, "half", 1, "{}"),
    ("sinusoidal", "post", "layer_norm", "relu", 1, 0, 4, 1.0, 1.0, "half", 1, "{}"),
    ("rope", "pre", "layer_norm", "relu", 1, 0, 4, 1.0, 1.0, "half", 0, "{}"),
    ("rope", "post", "layer_norm", "relu", 1, 0, 2, 1.0, 1.0, "interleaved", 0, "{}"),
    ("rope", "pre", "rms_norm", "swiglu", 0, 1, 1, 0.5, 1.0, "half", 0, "{}"),
    ("roper", "pre", "layer_norm", "relu", 1, 0, 4, 1.0, 1.0, "half", 0, "{}"),
    ("roper", "post", "layer_norm", "relu", 1, 0, 4, 1.0, 1.0, "half", 0, "{}"),
    ("roper", "post", "rms_norm", "swiglu", 1, 1, 2, 0.5, 0.75, "interleaved", 0, "{}"),
    ("roper", "pre", "rms_norm", "gelu", 0, 0, 2, 1.0, 0.5, "half", 1, "{}"),
    ("rope", "both", "rms_norm", "gelu", 0, 1, 2, 1.0, 1.0, "half", 1, '{"query_key_norm": "head", "output_bias": true}'),
    ("rope", "output", "rms_norm", "swiglu", 0, 0, 4, 1.0, 1.0, "half", 0, '{"query_key_norm": "all"}'),
    ("none", "none", "layer_norm", "gelu", 1, 0, 4, 1.0, 1.0, "half", 0, '{"attention_output_bias": false}'),
    ("rope", "pre", "layer_norm", "gelu", 1, 0, 4, 0.5, 1.0, "half", 0,
     '{"parallel_residual": "two_norms", "output_bias": false}'),
    ("rope", "pre", "layer_norm", "gelu", 1, 0, 4, 0.5, 1.0, "half", 0,
     '{"parallel_residual": "one_norm", "mlp_bias": false}'),
    ("rope", "pre", "rms_norm", "swiglu", 0, 1, 2, 1.0, 1.0, "half", 0, '{"attention_bias": true}'),
    ("rope", "both", "rms_norm", "geglu_tanh", 0, 1, 2, 1.0, 1.0, "half", 1,
     '{"query_pre_attn_scalar": 12.5, "attn_logit_softcapping": 1.5, "final_logit_softcapping": 2.5}'),
    ("rope", "pre", "layer_norm", "gelu_tanh", 1, 0, 4, 0.5, 1.0, "half", 0, '{"final_logit_softcapping": 3}'),
    ("alibi", "pre", "layer_norm", "relu", 1, 0, 4, 1.0, 1.0, "half", 0, "{}"),
    ("alibi", "post", "rms_norm", "swiglu", 1, 1, 2, 1.0, 1.0, "half", 0, "{}"),
    ("t5", "pre", "layer_norm", "relu", 1, 0, 4, 1.0, 1.0, "half", 0, "{}"),
    ("t5", "post", "rms_norm", "swiglu", 1, 1, 2, 1.0, 1.0, "half", 0,
     '{"relative_attention_num_buckets": 4, "relative_attention_max_distance": 6}'),
    ("kerple", "pre", "layer_norm", "gelu", 1, 0, 2, 1.0, 1.0, "half", 0, '{"sliding_window": 4}'),
    ("kerple", "post", "rms_norm", "relu", 0, 1, 4, 1.0, 1.0, "half", 0, '{"kerple_kernel": "power"}'),
    ("sandwich", "pre", "rms_norm", "swiglu", 0, 0, 1, 1.0, 1.0, "half", 0, '{"sandwich_channels": 12}'),
    ("shaw", "pre", "layer_norm", "gelu", 1, 0, 4, 1.0, 1.0, "half", 0, "{}"),
    ("shaw", "post", "rms_norm", "swiglu", 0, 1, 2, 1.0, 1.0, "half", 0,
     '{"max_relative_position": 3, "query_key_norm": "head", "sliding_window": 6}'),
    ("xpos", "pre", "layer_norm", "gelu", 1, 0, 4, 1.0, 1.0, "half", 0, "{}"),
    ("xpos", "post", "rms_norm", "swiglu", 1, 1, 2, 0.5, 1.0, "interleaved", 0, '{"xpos_scale": 4}'),
    ("transformer-xl", "pre", "layer_norm", "gelu", 1, 0, 4, 1.0, 1.0, "half", 0, "{}"),
    ("transformer-xl", "post", "rms_norm", "swiglu", 0, 1, 2, 1.0, 1.0, "half", 0,
     '{"query_key_norm": "head", "sliding_window": 6}'),
    ("deberta", "pre", "layer_norm", "gelu", 1, 0, 4, 1.0, 1.0, "half", 0, "{}"),
    ("deberta", "post", "rms_norm", "swiglu", 0, 1, 2, 1.0, 1.0, "half", 0,
     '{"max_relative_position": 3, "query_key_norm": "head", "sliding_window": 6}'),
    ("xpos", "pre", "layer_norm", "gelu", 1, 0, 2, 1.0, 1.0, "half", 0, '{"xpos_scale": 20, "randomized_positions": 40}'),
    ("roper", "pre", "rms_norm", "swiglu", 1, 0, 4, 1.0, 0.5, "half", 0, '{"randomized_positions": 50}'),
    ("learned", "pre", "layer_norm", "gelu", 1, 0, 4, 1.0, 1.0, "half", 0, '{"randomized_positions": 21}'),
    ("sinusoidal", "post", "layer_norm", "gelu", 1, 0, 4, 1.0, 1.0, "half", 0, '{"randomized_positions": 300}'),
    ("fire", "pre", "layer_norm", "gelu", 1, 0, 4, 1.0, 1.0, "half", 0, '{"fire_width": 7, "fire_length": 12}'),
    ("fire", "post", "rms_norm", "swiglu", 0, 1, 2, 1.0, 1.0, "half", 0, '{"sliding_window": 5}'),
    ("roper", "pre", "rms_norm", "swiglu", 0, 0, 2, 1.0, 1.0, "half", 0, '{"attention_sinks": true, "sliding_window": 4}'),
    ("roper", "pre", "rms_norm", "swiglu", 0, 0, 2, 0.5, 1.0, "half", 0, '{"key_is_value": true, "query_key_norm": "head"}'),
    ("roper", "post", "layer_norm", "gelu", 1, 0, 4, 1.0, 1.0, "interleaved", 0,
     '{"key_is_value": true, "attention_sinks": true, "sliding_window": 4}'),
    ("rope", "pre", "layer_norm", "gelu", 1, 1, 1, 1.0, 1.0, "half", 0, '{"key_is_value": true}'),
    ("rope", "pre", "rms_norm", "swiglu", 0, 0, 2, 1.0, 1.0, "half", 0,
     '{"key_is_value": "unrotated", "query_key_norm": "head", "randomized_positions": 50}'),
    ("shaw", "pre", "layer_norm", "gelu", 1, 0, 2, 1.0, 1.0, "half", 0, '{"key_is_value": true}'),
]
ROTATES = {"rope": "qk", "xpos": "qk", "roper": "qkvo"}
SUBSETS = ["q", "k", "qk", "v", "qv", "kv", "qkv", "o", "qo", "ko", "qko", "vo", "qvo", "kvo", "qkvo"]
CASES += [("rope", "pre", "rms_norm", "swiglu", 0, 1, (4, 2, 1)[number % 3], (1.0, 0.5)[number % 2], (0.5, 1.0)[number // 2 % 2],
           ("half", "interleaved")[number // 3 % 2], 0, json.dumps({"rotate": subset})) for number, subset in enumerate(SUBSETS)]


def capped(x, cap):
    return cap * torch.tanh(x / cap) if cap else x


def gelu_tanh(x):
    return torch.nn.functional.gelu(x, approximate="tanh")


def rotate(x, fraction, pairing, direction, positions, xpos=0.0, middle=0.0):
    """x [B, H, T, D]: rotates the first floor(D fraction) channels by direction * position * 10000^(-2i/d). With xPos
    (Sun et al. 2022) pair i is multiplied by zeta_i^(xpos (position - middle)), zeta_i = (2i + 0.4 d) / (1.4 d)."""
    d = int(math.floor(HEAD_DIM * fraction + 1e-9))
    angle = positions[:, None, :, None] * 10000.0 ** (-2.0 * torch.arange(d // 2) / d)
    zeta = (2.0 * torch.arange(d // 2) + 0.4 * d) / (1.4 * d)
    magnitude = zeta ** (xpos * (positions[:, None, :, None] - middle))
    c, s = magnitude * torch.cos(angle), magnitude * torch.sin(angle) * direction
    part = x[..., :d]
    first, second = (part[..., :d // 2], part[..., d // 2:]) if pairing == "half" else (part[..., 0::2], part[..., 1::2])
    a, b = first * c - second * s, second * c + first * s
    rotated = torch.cat((a, b), -1) if pairing == "half" else torch.stack((a, b), -1).flatten(-2)
    return torch.cat((rotated, x[..., d:]), -1)


def run(case):
    (position, norm_position, norm_kind, act, bias, tied, kv_heads, fraction, value_fraction, pairing, scaled,
     others) = case
    others = json.loads(others)
    parallel, query_key_norm = others.get("parallel_residual", "no"), others.get("query_key_norm", "none")
    window = others.get("sliding_window", TIME)
    randomized = others.get("randomized_positions", POSITIONS)
    positions = torch.arange(TIME).expand(BATCH, TIME)
    if randomized > POSITIONS:  # of a micro-batch of step 0 and seed 0
        positions = torch.tensor([drawn(randomized, POSITIONS, TIME, 2 * b) for b in range(BATCH)])
    parameters = {}

    def parameter(name, *shape):
        if name not in parameters:
            count = math.prod(shape)
            i = torch.arange(count, dtype=torch.float64)
            value = 0.3 * torch.sin(0.7 * i + 0.05 * i * i + len(name)).reshape(shape)
            if "norm" in name and name.endswith("weight"):
                value = 1.0 + value
            parameters[name] = value.requires_grad_()
        return parameters[name]

    def linear(x, name, outputs, key):
        y = x @ parameter(name + ".weight", outputs, x.shape[-1]).T
        return y + parameter(name + ".bias", outputs) if others.get(key, bias) else y

    def norm(x, name):
        width = x.shape[-1]
        gain = parameter(name + ".weight", width)
        if norm_kind == "rms_norm":
            return gain * x / torch.sqrt((x * x).mean(-1, keepdim=True) + 1e-5)
        return torch.nn.functional.layer_norm(x, (width,), gain, parameter(name + ".bias", width), 1e-5)

    def attention(x, name):
        shared = others.get("key_is_value", False)  # true: v is the rotated k
        widths = [HEADS * HEAD_DIM] + [kv_heads * HEAD_DIM] * (1 if shared else 2)
        q, k, *v = linear(x, name + ".query_key_value", sum(widths), "attention_bias").split(widths, -1)
        if query_key_norm == "all":
            q, k = norm(q, name + ".query_norm"), norm(k, name + ".key_norm")
        q, k, *v = (t.view(BATCH, TIME, -1, HEAD_DIM) for t in (q, k, *v))
        if query_key_norm == "head":
            q, k = norm(q, name + ".query_norm"), norm(k, name + ".key_norm")
        q, k, v = (t.transpose(1, 2) for t in (q, k, *(v or [k])))
        rotates = others.get("rotate", ROTATES.get(position, ""))
        xpos = 1.0 / others.get("xpos_scale", 512.0) if position == "xpos" else 0.0
        if "q" in rotates:
            q = rotate(q, fraction, pairing, 1, positions, xpos, randomized / 2)
        if "k" in rotates:
            k = rotate(k, fraction, pairing, 1, positions, -xpos, randomized / 2)
        if shared is True:
            v = k
        elif "v" in rotates:
            v = rotate(v, value_fraction, pairing, 1, positions)
        k, v = (t.repeat_interleave(HEADS // kv_heads, 1) for t in (k, v))
        q, products, value_vectors = distance_vectors(position, q, k, name, True, parameter,
                                                      {"hidden_size": WIDTH} | others)
        scores = (q @ k.transpose(-1, -2) + products) / math.sqrt(others.get("query_pre_attn_scalar", HEAD_DIM))
        scores = capped(scores, others.get("attn_logit_softcapping", 0)) + score_bias
        scores = scores + layer_bias(position, HEADS, TIME, TIME, name, parameter, others)
        seen = torch.ones(TIME, TIME, dtype=torch.bool).tril() & torch.ones(TIME, TIME, dtype=torch.bool).triu(1 - window)
        scores = scores.masked_fill(~seen, -math.inf)
        if others.get("attention_sinks"):
            sinks = parameter(name + ".sinks", HEADS)[:, None, None].expand(BATCH, -1, TIME, 1)
            scores = torch.cat((scores, sinks), -1)
        o = weighted(torch.softmax(scores, -1)[..., :TIME], v, value_vectors)
        if "o" in rotates:
            o = rotate(o, fraction if shared else value_fraction, pairing, -1, positions)
        return linear(o.transpose(1, 2).flatten(-2), name + ".output", WIDTH, "attention_output_bias")

    def feed_forward(x, name):
        if act in ("swiglu", "geglu_tanh"):
            gate, up = linear(x, name + ".up", 2 * HIDDEN, "mlp_bias").split(HIDDEN, -1)
            h = (torch.nn.functional.silu(gate) if act == "swiglu" else gelu_tanh(gate)) * up
        else:
            h = linear(x, name + ".up", HIDDEN, "mlp_bias")
            h = torch.relu(h) if act == "relu" else gelu_tanh(h) if act == "gelu_tanh" else torch.nn.functional.gelu(h)
        return linear(h, name + ".down", WIDTH, "mlp_bias")

    index = torch.arange(BATCH * TIME)
    tokens = ((index * 7 + 3) % VOCABULARY).view(BATCH, TIME)
    targets = ((index * 5 + 1) % VOCABULARY).view(BATCH, TIME)
    embedding = parameter("embedding.weight", VOCABULARY, WIDTH)
    x = embedding[tokens] * (math.sqrt(WIDTH) if scaled else 1.0)
    if position == "learned":
        x = x + parameter("embedding.position.weight", randomized, WIDTH)[positions]
    if position == "sinusoidal":
        angle = positions[..., None] * 10000.0 ** (-2.0 * torch.arange(WIDTH // 2) / WIDTH)
        x = x + torch.stack((torch.sin(angle), torch.cos(angle)), -1).flatten(-2)
    score_bias = distance_bias(position, HEADS, TIME, TIME, True, parameter, others)
    for layer in range(LAYERS):
        block_input = x
        for sublayer, name in ((attention, "attention"), (feed_forward, "feed_forward")):
            full = f"layers.{layer}.{name}"
            h = x if parallel == "no" else block_input
            if norm_position in ("pre", "both"):
                h = norm(h, f"layers.{layer}.attention_norm" if parallel == "one_norm" else full + "_norm")
            y = sublayer(h, full)
            if norm_position in ("both", "output"):
                y = norm(y, full + "_output_norm")
            x = norm(x + y, full + "_norm") if norm_position == "post" else x + y
    if norm_position != "post":
        x = norm(x, "norm")
    if tied:
        logits = x @ embedding.T + (parameter("output.bias", VOCABULARY) if others.get("output_bias", bias) else 0.0)
    else:
        logits = linear(x, "output", VOCABULARY, "output_bias")
    logits = capped(logits, others.get("final_logit_softcapping", 0))
    loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="sum")
    loss.backward()
    return loss.item(), {name: value.grad.flatten() for name, value in parameters.items()}


HEAD = """/* SPDX-License-Identifier: Apache-2.0
 *
 * Made by tests/golden/make_decoder_goldens.py: do not edit. Of each gradient its dot product with
 * cos(0.9 i + 0.5) and its norm.
 */"""


def main():
    first_term = next(number for number, case in enumerate(CASES) if case[0] == "alibi")
    table = []
    with (open(os.path.join(sys.argv[1], "decoder_goldens.h"), "w", encoding="ascii") as plain,
          open(os.path.join(sys.argv[1], "decoder_term_goldens.h"), "w", encoding="ascii") as terms,
          open(os.path.join(sys.argv[1], "decoder_rotate_goldens.h"), "w", encoding="ascii") as subsets):
        print(HEAD, file=plain)
        print(HEAD, file=terms)
        print(HEAD, file=subsets)
        for number, case in enumerate(CASES):
            loss, gradients = run(case)
            out = plain if number < first_term else terms
            out = subsets if '"rotate"' in case[-1] or '"key_is_value"' in case[-1] else out
            print(f"static const struct golden_gradient gradients_{number}[] = {{", file=out)
            for name, gradient in gradients.items():
                probe = torch.cos(0.9 * torch.arange(len(gradient)) + 0.5)
                print(f'    {{"{name}", {(gradient * probe).sum().item():.12e}, {gradient.norm().item():.12e}}},', file=out)
            print("};", file=out)
            texts = ", ".join(json.dumps(value) for value in case)
            table.append(f"    {{{texts}, {loss:.12e}, gradients_{number},\n"
                         f"     sizeof gradients_{number} / sizeof *gradients_{number}}},")
        print('#include "decoder_rotate_goldens.h"\n#include "decoder_term_goldens.h"\nstatic const struct golden_case cases[] = {', file=plain)
        print("\n".join(table) + "\n};", file=plain)


main()
