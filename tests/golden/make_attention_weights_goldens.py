#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Attention weights of small transformers by PyTorch in double precision.

Writes tests/model/attention_weights_goldens.h: of each kind, layer and head the dot product of its weights with
cos(0.9 i + 0.5), i counting queries times keys. The model is written here from the formulas; only the names of the
parameters come from the C code. Parameters are 0.3 sin(0.7 i + 0.05 i^2 + length of the name).

    /usr/bin/python3 tests/golden/make_attention_weights_goldens.py > tests/model/attention_weights_goldens.h
"""
import json
import math
import torch
from distance_bias import bias as distance_bias, layer_bias
from distance_vectors import vectors as distance_vectors, weighted

torch.set_default_dtype(torch.float64)
VOCABULARY, WIDTH, HEADS, HEAD_DIM, HIDDEN, LAYERS, TIME, SOURCE, POSITIONS = 11, 32, 4, 8, 40, 2, 12, 9, 64
TOKENS = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8]
SOURCES = [2, 7, 1, 8, 2, 8, 1, 8, 2]

# The settings of the model beside its sizes.
CASES = [
    {"position": "none"},
    {"position": "sinusoidal", "norm_position": "post"},
    {"position": "rope"},
    {"position": "rope", "num_key_value_heads": 2, "pairing": "interleaved", "partial_rotary_factor": 0.5},
    {"position": "roper", "num_key_value_heads": 1, "norm_position": "post"},
    {"position": "rope", "sliding_window": 5},
    {"position": "roper", "query_key_norm": "head"},
    {"position": "sinusoidal", "architecture": "encoder_decoder", "norm_position": "post"},
    {"position": "rope", "architecture": "encoder_decoder", "num_key_value_heads": 2},
    {"position": "rope", "architecture": "encoder_decoder", "cross_rotary": True},
    {"position": "roper", "architecture": "encoder_decoder", "norm_position": "post", "cross_rotary": True},
    {"position": "alibi", "num_key_value_heads": 2, "sliding_window": 5},
    {"position": "alibi", "architecture": "encoder_decoder", "norm_position": "post"},
    {"position": "t5", "architecture": "encoder_decoder", "relative_attention_num_buckets": 8,
     "relative_attention_max_distance": 7},
    {"position": "kerple", "kerple_kernel": "power", "architecture": "encoder_decoder"},
    {"position": "sandwich"},
    {"position": "shaw", "num_key_value_heads": 2, "max_relative_position": 3},
    {"position": "shaw", "architecture": "encoder_decoder", "max_relative_position": 5},
    {"position": "xpos", "xpos_scale": 6, "num_key_value_heads": 2},
    {"position": "xpos", "xpos_scale": 6, "architecture": "encoder_decoder", "cross_rotary": True},
    {"position": "transformer-xl", "num_key_value_heads": 1},
    {"position": "transformer-xl", "architecture": "encoder_decoder", "query_key_norm": "head"},
    {"position": "deberta", "num_key_value_heads": 2, "max_relative_position": 3},
    {"position": "deberta", "architecture": "encoder_decoder", "max_relative_position": 5},
    {"position": "fire", "fire_width": 5, "fire_length": 20},
    {"position": "rope", "attention_sinks": True, "sliding_window": 5},
    {"position": "fire", "architecture": "encoder_decoder", "fire_width": 9, "fire_length": 10},
    {"position": "roper", "key_is_value": True, "num_key_value_heads": 2, "partial_rotary_factor": 0.5},
    {"position": "rope", "key_is_value": True},
    {"position": "rope", "key_is_value": "unrotated", "architecture": "encoder_decoder", "cross_rotary": True},
]


def parameter(name, *shape):
    i = torch.arange(math.prod(shape), dtype=torch.float64)
    value = 0.3 * torch.sin(0.7 * i + 0.05 * i * i + len(name)).reshape(shape)
    return 1.0 + value if "norm" in name and name.endswith("weight") else value


def linear(x, name, outputs):
    return x @ parameter(name + ".weight", outputs, x.shape[-1]).T + parameter(name + ".bias", outputs)


def norm(x, name):
    width = x.shape[-1]
    return torch.nn.functional.layer_norm(x, (width,), parameter(name + ".weight", width),
                                          parameter(name + ".bias", width), 1e-5)


def rotate(x, case, direction, xpos=0.0):
    """x [H, T, D]: rotates the first channels by direction * position * 10000^(-2i/d), and multiplies them by xPos's
    zeta_i^(xpos (position - POSITIONS / 2))."""
    d = int(HEAD_DIM * case.get("partial_rotary_factor", 1.0))
    angle = torch.arange(x.shape[1])[:, None] * 10000.0 ** (-2.0 * torch.arange(d // 2) / d)
    zeta = (2.0 * torch.arange(d // 2) + 0.4 * d) / (1.4 * d)
    magnitude = zeta ** (xpos * (torch.arange(x.shape[1])[:, None] - POSITIONS / 2))
    c, s = magnitude * torch.cos(angle), magnitude * torch.sin(angle) * direction
    half, part = case.get("pairing", "half") == "half", x[..., :d]
    a, b = (part[..., :d // 2], part[..., d // 2:]) if half else (part[..., 0::2], part[..., 1::2])
    a, b = a * c - b * s, b * c + a * s
    rotated = torch.cat((a, b), -1) if half else torch.stack((a, b), -1).flatten(-2)
    return torch.cat((rotated, x[..., d:]), -1)


def attend(case, name, q, k, v, causal, rotary):
    """q, k, v [T, heads * D]. Returns the output and the weights. Values are rotated, or keys, in self-attention alone."""
    q, k, v = (t.view(t.shape[0], -1, HEAD_DIM) for t in (q, k, v))
    if case.get("query_key_norm") == "head":
        q, k = norm(q, name + ".query_norm"), norm(k, name + ".key_norm")
    q, k, v = (t.transpose(0, 1) for t in (q, k, v))
    if rotary:
        xpos = 1.0 / case["xpos_scale"] if case["position"] == "xpos" and causal else 0.0
        q, k = rotate(q, case, 1, xpos), rotate(k, case, 1, -xpos)
    values = case["position"] == "roper" and not name.endswith("cross_attention")
    shared = case.get("key_is_value", False) if not name.endswith("cross_attention") else False
    if shared is True:
        v = k
    elif values:
        v = rotate(v, case, 1)
    k, v = (t.repeat_interleave(HEADS // t.shape[0], 0) for t in (k, v))
    products, value_vectors = 0.0, None
    if not name.endswith("cross_attention"):
        q, products, value_vectors = distance_vectors(case["position"], q, k, name, causal, parameter,
                                                      {"hidden_size": WIDTH} | case)
    scores = (q @ k.transpose(-1, -2) + products) / math.sqrt(HEAD_DIM)
    if not name.endswith("cross_attention"):
        def table(suffix, *shape):  # of the stack
            return parameter(name[:name.index("layers.")] + suffix, *shape)
        scores = scores + distance_bias(case["position"], HEADS, q.shape[1], k.shape[1], causal, table, case)
        scores = scores + layer_bias(case["position"], HEADS, q.shape[1], k.shape[1], name, parameter, case)
    if causal:
        distance = torch.arange(q.shape[1])[:, None] - torch.arange(k.shape[1])
        hidden = (distance < 0) | (distance >= case.get("sliding_window", 1 << 30))
        scores = scores.masked_fill(hidden, -math.inf)
    if case.get("attention_sinks"):
        scores = torch.cat((scores, parameter(name + ".sinks", HEADS)[:, None, None].expand(-1, q.shape[1], 1)), -1)
    weights = torch.softmax(scores, -1)[..., :k.shape[1]]
    out = weighted(weights, v, value_vectors)
    if values:
        out = rotate(out, case, -1)
    return linear(out.transpose(0, 1).flatten(-2), name + ".output", WIDTH), weights


def self_attention(case, x, name, causal):
    keys = case.get("num_key_value_heads", HEADS) * HEAD_DIM
    widths = [HEADS * HEAD_DIM] + [keys] * (1 if case.get("key_is_value") else 2)
    q, k, *v = linear(x, name + ".query_key_value", sum(widths)).split(widths, -1)
    return attend(case, name, q, k, v[0] if v else k, causal, case["position"] in ("rope", "roper", "xpos"))


def cross_attention(case, x, name, source):
    keys = case.get("num_key_value_heads", HEADS) * HEAD_DIM
    k, v = linear(source, name + ".key_value", 2 * keys).split([keys, keys], -1)
    return attend(case, name, linear(x, name + ".query", HEADS * HEAD_DIM), k, v, False, case.get("cross_rotary", False))


def feed_forward(x, name):
    return linear(torch.relu(linear(x, name + ".up", HIDDEN)), name + ".down", WIDTH)


def stack(case, prefix, tokens, source, kinds):
    """The output of a stack; appends its weights to kinds."""
    x = parameter(prefix + "embedding.weight", VOCABULARY, WIDTH)[tokens]
    if case["position"] == "sinusoidal":
        angle = torch.arange(len(tokens))[:, None] * 10000.0 ** (-2.0 * torch.arange(WIDTH // 2) / WIDTH)
        x = x + torch.stack((torch.sin(angle), torch.cos(angle)), -1).flatten(-2)
    post = case.get("norm_position") == "post"
    for layer in range(LAYERS):
        block = ["attention"] + (["cross_attention"] if source is not None else []) + ["feed_forward"]
        for part in block:
            name = f"{prefix}layers.{layer}.{part}"
            h = x if post else norm(x, name + "_norm")
            if part == "attention":
                y, weights = self_attention(case, h, name, prefix == "")
                kinds["decoder" if prefix == "" else "encoder"].append(weights)
            elif part == "cross_attention":
                y, weights = cross_attention(case, h, name, source)
                kinds["cross"].append(weights)
            else:
                y = feed_forward(h, name)
            x = norm(x + y, name + "_norm") if post else x + y
    return x if post else norm(x, prefix + "norm")


def probes(weights):
    flat = weights.flatten(1)
    return flat @ torch.cos(0.9 * torch.arange(flat.shape[1]) + 0.5)


def main():
    print("/* SPDX-License-Identifier: Apache-2.0\n *\n * Made by tests/golden/make_attention_weights_goldens.py: do not edit. "
          "Of each kind, layer and head the dot\n * product of the weights with cos(0.9 i + 0.5).\n */")
    print("static const struct golden_case goldens[] = {")
    for case in CASES:
        kinds = {"encoder": [], "decoder": [], "cross": []}
        pair = case.get("architecture") == "encoder_decoder"
        source = stack(case, "encoder.", SOURCES, None, kinds) if pair else None
        stack(case, "", TOKENS, source, kinds)
        print(f"    {{{json.dumps(json.dumps(case))},\n     {{")
        for kind in ("encoder", "decoder", "cross"):
            numbers = [p.item() for weights in kinds[kind] for p in probes(weights)]
            print("      {" + ", ".join("%.10e" % number for number in numbers or [0.0]) + "},")
        print("     }},")
    print("};")


main()
