# SPDX-License-Identifier: Apache-2.0
"""oracle.py ROTARY: the oracle's commands against their formulas in NumPy, and what they say of bad input."""
import json
import math
import os

import numpy as np
from oracle_support import (array, check, config, near, read_safetensors, refuses, report, result, run,
                            write_safetensors)

random = np.random.default_rng(20240521)


def numbers(*shape):
    """Signed, over many sizes."""
    return random.standard_normal(shape) * 2.0 ** random.integers(-4, 5, shape)


def inverse_frequencies(dim, base=10000.0):
    return base ** (-2.0 * np.arange(dim // 2) / dim)


def rotated(x, positions, frequencies, pairing="half", start=0, magnitude=1.0, inverse=False):
    """[..., T, H, D] rotated at positions [T], or [T, pairs] where each pair has its own."""
    pairs = len(frequencies)
    positions = np.asarray(positions, np.float64)
    angles = (positions if positions.ndim == 2 else positions[:, None]) * frequencies
    cosine, sine = np.cos(angles)[:, None, :], np.sin(angles)[:, None, :]
    if inverse:
        sine, magnitude = -sine, 1.0 / magnitude
    first = start + (np.arange(pairs) if pairing == "half" else 2 * np.arange(pairs))
    second = first + (pairs if pairing == "half" else 1)
    y = np.array(x, np.float64)
    y[..., first] = (x[..., first] * cosine - x[..., second] * sine) * magnitude
    y[..., second] = (x[..., first] * sine + x[..., second] * cosine) * magnitude
    return y


# ---- frequencies ----

found = result("frequencies", "--config", config({"head_dim": 64, "rope_theta": 5e5}))
near("frequencies", found["inv_freq"], inverse_frequencies(64, 5e5), 1e-15)
check("attention factor", found["attention_factor"] == 1.0)

linear = {"head_dim": 64, "rope_scaling": {"type": "linear", "factor": 4}}
near("linear", result("frequencies", "--config", config(linear))["inv_freq"], inverse_frequencies(64) / 4, 1e-15)

dynamic = {"head_dim": 64, "max_position_embeddings": 100, "rope_scaling": {"rope_type": "dynamic", "factor": 4.0}}
near("dynamic, short", result("frequencies", "--config", config(dynamic), "--length", 60)["inv_freq"],
     inverse_frequencies(64), 1e-14)
stretched = 10000.0 * (4.0 * 300 / 100 - 3) ** (64 / 62)
near("dynamic, long", result("frequencies", "--config", config(dynamic), "--length", 300)["inv_freq"],
     inverse_frequencies(64, stretched), 1e-14)
constant = 10000.0 * (4.0 * 400 / 100 - 3) ** (64 / 62)
near("dynamic, vLLM", result("frequencies", "--config", config(dynamic), "--compat", "vllm")["inv_freq"],
     inverse_frequencies(64, constant), 1e-14)

hunyuan = {"head_dim": 64, "max_position_embeddings": 100, "model_type": "gptj",
           "rope_scaling": {"type": "dynamic", "alpha": 50.0, "factor": 1.0, "whim": 1}}
found = result("frequencies", "--config", config(hunyuan), "--length", 900, "--ignore", "whim")
near("alpha", found["inv_freq"], inverse_frequencies(64, 10000.0 * 50.0 ** (64 / 62)), 1e-14)
check("where the pairing is from", (found["pairing"], found["pairing_from"]) == ("interleaved", "model_type"))

short, long = list(np.linspace(1, 2, 8)), list(np.linspace(3, 9, 8))
longrope = {"hidden_size": 32, "num_attention_heads": 2, "max_position_embeddings": 4096,
            "original_max_position_embeddings": 256,
            "rope_scaling": {"type": "longrope", "short_factor": short, "long_factor": long}}
for length, factors in [(256, short), (257, long)]:
    found = result("frequencies", "--config", config(longrope), "--length", length)
    near(f"LongRoPE at {length}", found["inv_freq"], inverse_frequencies(16) / np.array(factors), 1e-15)
    near("LongRoPE's factor", found["attention_factor"], math.sqrt(1 + math.log(16) / math.log(256)), 1e-14)

llama3 = {"head_dim": 128, "rope_theta": 5e5, "rope_scaling": {
    "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192}}
plain = inverse_frequencies(128, 5e5)
smooth = np.clip((8192 * plain / (2 * np.pi) - 1) / 3, 0, 1)
near("llama3", result("frequencies", "--config", config(llama3))["inv_freq"],
     (1 - smooth) * plain / 8 + smooth * plain, 1e-15)

partial = {"head_dim": 64, "rope_parameters": {"rope_type": "proportional", "partial_rotary_factor": 0.25}}
near("proportional", result("frequencies", "--config", config(partial))["inv_freq"],
     np.where(np.arange(32) < 8, inverse_frequencies(64), 0), 1e-15)

yarn = {"head_dim": 128, "max_position_embeddings": 8192, "rope_scaling": {
    "rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 2048, "attention_factor": 1.5}}
for compat, factor in [("none", 1.5), ("huggingface", 1.5), ("ggml", 1.5 * (1 + 0.1 * math.log(4))),
                       ("vllm", 1 + 0.1 * math.log(4))]:
    found = result("frequencies", "--config", config(yarn), "--compat", compat)
    near(f"YaRN's factor, {compat}", found["attention_factor"], factor, 1e-14)

# ---- apply ----

for pairing in ["half", "interleaved"]:
    for span in ["front", "back"]:
        rotation = config({"head_dim": 16, "rope_theta": 100, "partial_rotary_factor": 0.5, "pairing": pairing,
                           "span": span})
        frequencies, start = inverse_frequencies(8, 100), 0 if span == "front" else 8
        for shape in [(5, 16), (5, 3, 16), (2, 5, 3, 16)]:
            x = numbers(*shape).astype(np.float32)
            array("x.npy", x)
            whole = x.astype(np.float64) if len(shape) > 2 else x[:, None, :].astype(np.float64)
            size = np.abs(whole).max()
            about = f"apply {pairing} {span} {shape}"
            for more, positions in [([], np.arange(5)), (["--offset", 7], np.arange(5) + 7),
                                    (["--offset", -3], np.arange(5) - 3)]:
                found = result("apply", "--config", rotation, "--input", "x.npy", "--output", "y.npy", "--json", *more)
                check(about, found == {"output": "y.npy", "shape": list(shape), "type": "f32"}, str(found))
                y = np.load("y.npy")
                check(about, y.dtype == np.float32)
                near(f"{about} {more}", y, rotated(whole, positions, frequencies, pairing, start).reshape(shape),
                     size * 4e-7)
                result("apply", "--config", rotation, "--input", "y.npy", "--output", "z.npy", "--inverse", "--json",
                       *more)
                near(f"{about} {more} inverse", np.load("z.npy"), x, size * 8e-7)

rotation = config({"head_dim": 8})
x = numbers(2, 4, 3, 8).astype(np.float32)
array("x.npy", x)
for kind in [np.int32, np.int64, np.float32, np.float64]:
    positions = np.array([[3, 1, 4, 1], [5, 9, 2, 6]]).astype(kind)
    if kind == np.float64:
        positions += 0.25
    result("apply", "--config", rotation, "--input", "x.npy", "--output", "y.npy", "--positions",
           array("p.npy", positions), "--json")
    wanted = np.stack([rotated(x[b].astype(np.float64), positions[b], inverse_frequencies(8)) for b in range(2)])
    near(f"positions {kind.__name__}", np.load("y.npy"), wanted, np.abs(x).max() * 8e-7)

for kind, bound in [(np.float16, 2.0**-10), (np.float64, 4e-7)]:
    array("x.npy", x.astype(kind))
    result("apply", "--config", rotation, "--input", "x.npy", "--output", "y.npy", "--json")
    check("type", np.load("y.npy").dtype == (np.float16 if kind == np.float16 else np.float32))
    near(f"apply {kind.__name__}", np.load("y.npy"),
         rotated(x.astype(kind).astype(np.float64), np.arange(4), inverse_frequencies(8)), np.abs(x).max() * bound)

# A magnitude: the inverse divides by it, values have none.
array("x.npy", x)
rotation = config(dict(yarn, head_dim=8))
frequencies = np.array(result("frequencies", "--config", rotation)["inv_freq"])
for role, magnitude in [("query", 1.5), ("key", 1.5), ("value", 1.0)]:
    for inverse in [False, True]:
        result("apply", "--config", rotation, "--input", "x.npy", "--output", "y.npy", "--as", role, "--json",
               *(["--inverse"] if inverse else []))
        near(f"YaRN {role} inverse {inverse}", np.load("y.npy"),
             rotated(x.astype(np.float64), np.arange(4), frequencies, magnitude=magnitude, inverse=inverse),
             np.abs(x).max() * 1e-6)

# Positions of several axes.
for interleaved in [False, True]:
    rotation = config({"head_dim": 16, "rope_scaling": {"type": "mrope", "mrope_section": [4, 2, 2],
                                                        "mrope_interleaved": interleaved}})
    x = numbers(4, 2, 16).astype(np.float32)
    positions = random.integers(0, 50, (3, 4))
    axes = np.array([0, 1, 2, 0, 1, 2, 0, 0] if interleaved else [0, 0, 0, 0, 1, 1, 2, 2])
    check("axes", result("frequencies", "--config", rotation)["axes"] == axes.tolist())
    result("apply", "--config", rotation, "--input", array("x.npy", x), "--output", "y.npy", "--positions",
           array("p.npy", positions), "--json")
    near("M-RoPE", np.load("y.npy"), rotated(x.astype(np.float64), positions[axes].T, inverse_frequencies(16)),
         np.abs(x).max() * 1e-6)
    x, positions = numbers(2, 4, 2, 16).astype(np.float32), random.integers(0, 50, (3, 2, 4))
    result("apply", "--config", rotation, "--input", array("x.npy", x), "--output", "y.npy", "--positions",
           array("p.npy", positions), "--json")
    wanted = [rotated(x[b].astype(np.float64), positions[axes, b].T, inverse_frequencies(16)) for b in range(2)]
    near("M-RoPE, by sequence", np.load("y.npy"), np.stack(wanted), np.abs(x).max() * 1e-6)
    refuses(1, "p.npy has shape [2, 2, 4], wanted [4], [1 or 2, 4], [3, 4] or [3, 2, 4]", "apply", "--config",
            rotation, "--input", "x.npy", "--output", "y.npy", "--positions", array("p.npy", positions[:2]))

# Tables of the caller's own.
cosine, sine = numbers(9, 3).astype(np.float32), numbers(9, 3).astype(np.float32)
array("c.npy", cosine)
array("s.npy", sine)
x = numbers(2, 4, 2, 8).astype(np.float32)
array("x.npy", x)
positions = random.integers(0, 9, (2, 4))
array("p.npy", positions)
for per_token in [False, True]:
    if per_token:
        array("c.npy", cosine[positions])
        array("s.npy", sine[positions])
    c, s = (table[positions][:, :, None, :].astype(np.float64) for table in (cosine, sine))
    for pairing, first, second in [("half", [0, 1, 2], [3, 4, 5]), ("interleaved", [0, 2, 4], [1, 3, 5])]:
        wanted = x.astype(np.float64)
        wanted[..., first] = x[..., first] * c - x[..., second] * s
        wanted[..., second] = x[..., first] * s + x[..., second] * c
        for how in [["--pairing", pairing], ["--config", config({"pairing": pairing, "partial_rotary_factor": 0.75})]]:
            result("apply", "--input", "x.npy", "--output", "y.npy", "--cos", "c.npy", "--sin", "s.npy", "--json",
                   *how, *([] if per_token else ["--positions", "p.npy"]))
            near(f"tables {pairing} {how[0]}, one a token: {per_token}", np.load("y.npy"), wanted,
                 np.abs(x).max() * np.abs(cosine).max() * 1e-6)
both = [np.load("c.npy")[:1], np.load("s.npy")[:1]]
rotated_alike = []
for copies in [1, 2]:
    result("apply", "--input", "x.npy", "--output", "y.npy", "--cos", array("c.npy", np.repeat(both[0], copies, 0)), "--sin",
           array("s.npy", np.repeat(both[1], copies, 0)), "--json")
    rotated_alike.append(np.load("y.npy"))
near("tables of all sequences", rotated_alike[0], rotated_alike[1], 0)


# ---- attend ----

def attention(query, key, value, rotation=None, roper=False, causal=False, window=0, mask=None, scale=None,
              softcap=0.0, first=None, sinks=None):
    """rotation: (frequencies, magnitude)."""
    T, H, D = query.shape[-3:]
    S, G = key.shape[-3:-1]
    first = S - T if first is None else first
    at, standing = first + np.arange(T), np.arange(S)
    if rotation:
        query = rotated(query, at, rotation[0], magnitude=rotation[1])
        key = rotated(key, standing, rotation[0], magnitude=rotation[1])
        value = rotated(value, standing, rotation[0]) if roper else value
    key, value = np.repeat(key, H // G, -2), np.repeat(value, H // G, -2)
    score = np.einsum("...thd,...shd->...hts", query, key) * (D**-0.5 if scale is None else scale)
    if softcap:
        score = softcap * np.tanh(score / softcap)
    if mask is not None:
        score = np.where(mask, score, -np.inf) if mask.dtype == bool else score + mask
    apart = at[:, None] - standing
    if causal:
        score = np.where((apart >= 0) & ((apart < window) | (window == 0)), score, -np.inf)
    largest = score.max(-1, keepdims=True)
    weights = np.exp(score - np.where(np.isinf(largest), 0, largest))
    total = weights.sum(-1, keepdims=True)
    if sinks is not None:
        total = total + (total > 0) * np.exp(sinks[:, None, None] - np.where(np.isinf(largest), 0, largest))
    weights = weights / np.where(total == 0, 1, total)
    output = np.einsum("...hts,...shd->...thd", weights, value)
    return (rotated(output, at, rotation[0], inverse=True) if roper else output), weights


rope = config(dict(yarn, head_dim=8))
rotation = (np.array(result("frequencies", "--config", rope)["inv_freq"]), 1.5)
B, T, S, H, G, D = 2, 3, 7, 4, 2, 8
lower = np.triu(numbers(T, S), 1)
sinks = np.array([0.5, 100, -100, -np.inf])
array("sinks.npy", sinks)
cases = [
    ([], {}),
    (["--rope", rope], {"rotation": rotation}),
    (["--rope", rope, "--causal"], {"rotation": rotation, "causal": True}),
    (["--rope", rope, "--roper", "--causal"], {"rotation": rotation, "roper": True, "causal": True}),
    (["--rope", rope, "--roper", "--causal", "--window", "2"],
     {"rotation": rotation, "roper": True, "causal": True, "window": 2}),
    (["--scale", "0.3", "--softcap", "1.5"], {"scale": 0.3, "softcap": 1.5}),
    (["--causal", "--first-query", "0"], {"causal": True, "first": 0}),
    (["--causal", "--first-query", "-1"], {"causal": True, "first": -1}),
    (["--rope", rope, "--roper", "--causal", "--sinks", "sinks.npy", "--first-query", "-1"],
     {"rotation": rotation, "roper": True, "causal": True, "first": -1, "sinks": sinks}),
]
for shape in [(), (B,)]:
    q, k, v = numbers(*shape, T, H, D), numbers(*shape, S, G, D), numbers(*shape, S, G, D)
    masks = [lower, lower < 0, numbers(H, 1, S)] + ([numbers(B, 1, T, S)] if shape else [])
    masked = [(["--mask", f"m{i}.npy"], {"mask": mask}) for i, mask in enumerate(masks)]
    for i, mask in enumerate(masks):
        array(f"m{i}.npy", mask)
    for kind, bound in [(np.float64, 1e-13), (np.float32, 2.0**-24), (np.float16, 2.0**-11)]:
        q, k, v = (x.astype(kind) for x in (q, k, v))
        for name, x in [("q", q), ("k", k), ("v", v)]:
            array(f"{name}.npy", x)
        for flags, how in cases + masked:
            about = f"attend {shape} {kind.__name__} {flags}"
            found = result("attend", "--query", "q.npy", "--key", "k.npy", "--value", "v.npy", "--output", "o.npy",
                           "--weights", "w.npy", "--json", *flags)
            output, weights = attention(*(x.astype(np.float64) for x in (q, k, v)), **how)
            got = np.load("o.npy")
            check(about, got.dtype == kind)
            size = max(1.0, np.abs(v).max())
            near(about, got, output, np.abs(output) * bound * 1.001 + size * 1e-13 + (2.0**-24 if kind == np.float16 else 0))
            near(f"{about}, weights", np.load("w.npy"), weights, bound * 1.001 + 1e-13)
            masked_rows = int((weights.sum(-1) == 0).sum())
            check(about, found["fully_masked_rows"] == masked_rows, f"{found['fully_masked_rows']} fully masked, not {masked_rows}")
            distance = found["librotary"]["largest_difference"]
            # In f32: a hundred roundings of scores of about a hundred.
            check(f"{about}, kernel", distance is not None and distance <= size * 1e-3, str(found["librotary"]))

refuses(1, "sinks.npy has shape [3], wanted [4], one for each query head", "attend", "--query", "q.npy", "--key", "k.npy",
        "--value", "v.npy", "--output", "o.npy", "--sinks", array("sinks.npy", sinks[:3]))

# As text.
array("x.npy", numbers(3, 2, 8))
qkv = ["--query", "x.npy", "--key", "x.npy", "--value", "x.npy", "--output", "o.npy"]
for flags, more in [([], ""), (["--causal", "--first-query", -2],
                               "; 4 rows are 0: their queries are fully masked")]:
    said = run("attend", *qkv, *flags).stdout
    check(f"attend {flags} as text", said == f"o.npy: [3, 2, 8] f64{more}\n", said)

# A NaN in the first query, before finite rows.
with_nan = np.where(np.arange(48).reshape(3, 2, 8) == 0, np.nan, numbers(3, 2, 8))
kernel = result("attend", "--query", array("nan.npy", with_nan), *qkv[2:], "--json")["librotary"]
check("a NaN among differences", kernel["largest_difference"] is None and "not finite" in kernel["reason"], str(kernel))

# Heads of two parts, of which the last rotates; values are narrower.
q, k, v = numbers(B, T, H, 12), numbers(B, S, G, 12), numbers(B, S, G, 6)
rope = config({"model_type": "deepseek_v3", "qk_nope_head_dim": 8, "qk_rope_head_dim": 4, "v_head_dim": 6})
found = result("attend", "--query", array("q.npy", q), "--key", array("k.npy", k), "--value", array("v.npy", v), "--rope",
               rope, "--causal", "--output", "o.npy", "--json")
near("two parts", np.load("o.npy"), attention(
    rotated(q, np.arange(S - T, S), inverse_frequencies(4), "interleaved", 8),
    rotated(k, np.arange(S), inverse_frequencies(4), "interleaved", 8), v, causal=True)[0], 1e-12 * np.abs(v).max())

# xPos: queries grow where keys shrink.
q, k, v = numbers(B, T, H, D), numbers(B, S, G, D), numbers(B, S, G, D)
for name, x in [("q", q), ("k", k), ("v", v)]:
    array(f"{name}.npy", x)
zeta = (2 * np.arange(4) + 0.4 * 8) / (1.4 * 8)
for pairing in ["half", "interleaved"]:
    rope = config({"head_dim": 8, "xpos_scale": 4, "xpos_origin": 2.5, "pairing": pairing})
    found = result("attend", "--query", "q.npy", "--key", "k.npy", "--value", "v.npy", "--output", "o.npy", "--rope",
                   rope, "--causal", "--json")
    growth = [zeta ** ((at - 2.5) / 4) for at in (np.arange(S - T, S)[:, None, None], np.arange(S)[:, None, None])]
    near(f"xPos {pairing}", np.load("o.npy"), attention(
        rotated(q, np.arange(S - T, S), inverse_frequencies(8), pairing, magnitude=growth[0]),
        rotated(k, np.arange(S), inverse_frequencies(8), pairing, magnitude=1 / growth[1]), v, causal=True)[0], 1e-12)
    distance = found["librotary"]["largest_difference"]
    check("xPos, kernel", distance is not None and distance <= max(1.0, np.abs(v).max()) * 1e-3, str(found["librotary"]))

# f32 angles at large positions, where they are inexact.
far, single = 100003, np.float32
angles = (np.arange(far, far + T).astype(single)[:, None] * inverse_frequencies(8).astype(single)).astype(np.float64)
exact = np.arange(far, far + T)[:, None] * inverse_frequencies(8)
check("f32 angles are off", np.abs(np.cos(angles) - np.cos(exact)).max() > 1e-4)
for kind, used in [("f32", angles), ("f64", exact)]:
    result("attend", "--query", "q.npy", "--key", "k.npy", "--value", "v.npy", "--output", "o.npy", "--weights",
           "w.npy", "--rope", config({"head_dim": 8, "angles": kind}), "--first-query", far, "--json")
    at, standing = np.ones((T, 1)) * used, np.arange(S)
    wanted = attention(rotated(q, at, 1 + np.zeros(4)), rotated(k, standing, inverse_frequencies(8)), v)[1]
    size = np.abs(np.einsum("bthd,bshd->bhts", np.abs(q), np.abs(np.repeat(k, H // G, 2)))).max()
    near(f"{kind} angles", np.load("w.npy"), wanted, size * (4e-7 if kind == "f32" else 1e-10))

# A decode step gives the last row of the complete attention.
q, k, v = numbers(S, H, D), numbers(S, G, D), numbers(S, G, D)
for name, x in [("q", q), ("k", k), ("v", v), ("last", q[-1:])]:
    array(f"{name}.npy", x)
rope = config(dict(yarn, head_dim=8))
for query, output in [("q", "all"), ("last", "one")]:
    result("attend", "--query", f"{query}.npy", "--key", "k.npy", "--value", "v.npy", "--output", f"{output}.npy",
           "--rope", rope, "--roper", "--causal", "--json")
near("decoding", np.load("one.npy"), np.load("all.npy")[-1:], 1e-14)

# ---- arithmetic in 16 bits (test_rounded.c has PyTorch's own numbers) ----

def to_bf16(x):
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7fff + (bits >> 16 & 1)) >> 16 << 16).astype(np.uint32).view(np.float32)


eight = config({"head_dim": 8}, "eight.json")
x, at = to_bf16(numbers(1, 5, 2, 8)), np.array([0, -3, 255, 4095, 70000])
rotate = ("apply", "--config", eight, "--input", array("x.npy", x), "--positions", array("p.npy", at), "--output", "y.npy")
exact = rotated(x, at, inverse_frequencies(8))
size = np.abs(x) + np.abs(np.roll(x, 4, -1))
result(*rotate, "--arithmetic", "bf16", "--json")
y = np.load("y.npy")
check("numbers are bf16", (to_bf16(y) == y).all() and not (y == to_bf16(exact)).all())
near("bf16 arithmetic", y, exact, 2.0 ** -7 * size)
angles = to_bf16(to_bf16(at)[:, None] * to_bf16(inverse_frequencies(8)))
cosine, sine = to_bf16(np.cos(angles))[:, None], to_bf16(np.sin(angles))[:, None]
wanted = np.concatenate([x[..., :4] * cosine - x[..., 4:] * sine, x[..., :4] * sine + x[..., 4:] * cosine], -1)
result(*rotate, "--angles", "bf16", "--json")
near("bf16 angles", np.load("y.npy"), wanted, 2.0 ** -22 * size)
check("are far off", (np.abs(wanted - exact) > 0.1 * size).any())
array("c.npy", np.cos(at[:, None] * inverse_frequencies(8))[None])
array("s.npy", np.sin(at[:, None] * inverse_frequencies(8))[None])
result("apply", "--cos", "c.npy", "--sin", "s.npy", *rotate[3:5], "--output", "z.npy", "--arithmetic", "bf16", "--json")
near("bf16 arithmetic with given tables", np.load("z.npy"), y, 0)

# ---- safetensors, and permute ----

def bf16(x):
    return (np.ascontiguousarray(x, np.float32).view(np.uint32) >> 16).astype(np.uint16)


partial = config({"hidden_size": 16, "num_attention_heads": 2, "partial_rotary_factor": 0.5})
order = [0, 2, 1, 3, 4, 5, 6, 7]  # row of the input, for interleaved to half
weight, bias, key = numbers(16, 3).astype(np.float32), numbers(16).astype(np.float32), bf16(numbers(8, 5))
model = {
    "a.q_proj.weight": ("F32", [16, 3], weight.tobytes()),
    "a.q_proj.bias": ("F32", [16], bias.tobytes()),
    "a.k_proj.weight": ("BF16", [8, 5], key.tobytes()),
    "a.v_proj.weight": ("F32", [16, 3], weight.tobytes()),
}
write_safetensors("model.safetensors", model, {"format": "pt", "by": "hand"})
found = result("permute", "--config", partial, "--input", "model.safetensors", "--output", "half.safetensors", "--to",
               "half", "--json")
check("permuted", sorted(found["permuted"]) == ["a.k_proj.weight", "a.q_proj.bias", "a.q_proj.weight"])
half, metadata = read_safetensors("half.safetensors")
check("metadata", metadata["format"] == "pt" and metadata["by"] == "hand")
check("weight", half["a.q_proj.weight"][2] == weight.reshape(2, 8, 3)[:, order].tobytes())
check("bias", half["a.q_proj.bias"][2] == bias.reshape(2, 8)[:, order].tobytes())
check("grouped key", half["a.k_proj.weight"] == ("BF16", [8, 5], key.reshape(1, 8, 5)[:, order].tobytes()))
check("value", half["a.v_proj.weight"] == model["a.v_proj.weight"])
result("permute", "--config", partial, "--input", "half.safetensors", "--output", "back.safetensors", "--to",
       "interleaved", "--json")
check("and back", read_safetensors("back.safetensors")[0] == model)
result("permute", "--config", partial, "--input", "model.safetensors", "--output", "one.safetensors", "--to", "half",
       "--tensor", "*.v_proj.*", "--json")
one = read_safetensors("one.safetensors")[0]
check("chosen", one["a.v_proj.weight"] == half["a.q_proj.weight"] and one["a.q_proj.bias"] == model["a.q_proj.bias"])
array("w.npy", weight)
result("permute", "--config", partial, "--input", "w.npy", "--output", "moved.npy", "--to", "half", "--json")
check(".npy", (np.load("moved.npy") == weight.reshape(2, 8, 3)[:, order].reshape(16, 3)).all())

# Scores do not change: rows of weights and pairing together.
inputs = numbers(5, 3).astype(np.float32)
outputs = {}
for pairing, rows in [("interleaved", weight), ("half", np.load("moved.npy"))]:
    projected = (inputs.astype(np.float64) @ rows.T.astype(np.float64)).reshape(5, 2, 8)
    result("attend", "--query", array("q.npy", projected), "--key", array("k.npy", projected), "--value",
           array("v.npy", numbers(5, 2, 8)), "--output", "o.npy", "--weights", "w.npy", "--json", "--rope",
           config({"head_dim": 8, "partial_rotary_factor": 0.5, "pairing": pairing}))
    outputs[pairing] = np.load("w.npy")
near("the same scores", outputs["half"], outputs["interleaved"], 1e-12)

# bf16 in and out.
x = bf16(numbers(4, 2, 8))
write_safetensors("x.safetensors", {"x": ("BF16", [4, 2, 8], x.tobytes())}, {})
exact = (x.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
rotation = config({"head_dim": 8})
for label, name in [("y.safetensors", "tensor"), ("y.safetensors:rotated", "rotated")]:
    result("apply", "--config", rotation, "--input", "x.safetensors:x", "--output", label, "--json")
    kind, shape, content = read_safetensors("y.safetensors")[0][name]
    check("bf16", kind == "BF16" and shape == [4, 2, 8])
    got = (np.frombuffer(content, np.uint16).astype(np.uint32) << 16).view(np.float32).reshape(4, 2, 8)
    near("apply bf16", got, rotated(exact, np.arange(4), inverse_frequencies(8)), np.abs(exact).max() * 2.0**-7)

# A tensor is read regardless of the file's other tensors and of where it starts.
x = numbers(4, 2, 8).astype(np.float32)
at = np.array([3, 1, 70000, 2])
seen = np.tril(np.ones((4, 4), bool))
write_safetensors("many.safetensors", {
    "x": ("F32", [4, 2, 8], x.tobytes()), "wide": ("F64", [4, 2, 8], x.astype(np.float64).tobytes()),
    "small": ("F8_E5M2", [4, 2], bytes(8)), "flag": ("BOOL", [1], b"\1"), "seen": ("BOOL", [4, 4], seen.tobytes()),
    **{kind: (kind, [4], at.astype(numpy_kind).tobytes())
       for kind, numpy_kind in [("I32", "<i4"), ("I64", "<i8"), ("U32", "<u4"), ("U64", "<u8")]},
    "I16": ("I16", [4], (at % 1000 - 5).astype("<i2").tobytes()), "U16": ("U16", [4], (at % 999).astype("<u2").tobytes()),
    "I8": ("I8", [4], (at % 100 - 5).astype("i1").tobytes()), "U8": ("U8", [4], (at % 200).astype("u1").tobytes()),
}, {})
for name, positions in [("I32", at), ("I64", at), ("U32", at), ("U64", at), ("I16", at % 1000 - 5), ("U16", at % 999),
                        ("I8", at % 100 - 5), ("U8", at % 200)]:
    for label in ["x", "wide"]:
        result("apply", "--config", rotation, "--input", f"many.safetensors:{label}", "--positions",
               f"many.safetensors:{name}", "--output", "y.npy", "--json")
        near(f"{label} at {name}", np.load("y.npy"), rotated(x.astype(np.float64), positions, inverse_frequencies(8)),
             np.abs(x).max() * 1e-6)
for mask in ["many.safetensors:seen", array("seen.npy", seen)]:
    found = result("attend", "--query", "many.safetensors:wide", "--key", "many.safetensors:x", "--value",
                   "many.safetensors:wide", "--mask", mask, "--output", "o.safetensors:o", "--json")
    check("attend of f64", found["type"] == "f64")
    kind, shape, content = read_safetensors("o.safetensors")[0]["o"]
    check("f64 out", (kind, shape) == ("F64", [4, 2, 8]))
    near("masked", np.frombuffer(content).reshape(4, 2, 8), attention(x.astype(np.float64), x.astype(np.float64),
         x.astype(np.float64), causal=True)[0], np.abs(x).max() * 1e-13)
for said, name, output in [('many.safetensors:small holds numbers of type "F8_E5M2", wanted F16', "small", "out.npy"),
                           ("many.safetensors holds 13 tensors and would then hold the result alone", "x", "many.safetensors:y")]:
    refuses(1, said, "apply", "--config", rotation, "--input", f"many.safetensors:{name}", "--output", output)

# Weights of any type: scales of single rows move with them, a scale of the whole tensor stays.
partial = config({"hidden_size": 16, "num_attention_heads": 2, "partial_rotary_factor": 0.5}, "partial.json")
bytes8, words64 = numbers(16, 3).astype(np.int8), random.integers(-2**62, 2**62, (16, 2))
rows1, scales = random.integers(0, 256, 16).astype(np.uint8), numbers(16, 1).astype(np.float32)
model = {
    "a.q_proj.weight": ("I8", [16, 3], bytes8.tobytes()),
    "a.q_proj.SCB": ("F32", [16, 1], scales.tobytes()),
    "a.q_proj.input_scale": ("F32", [1], b"abcd"),
    "a.q_proj.lora_A.weight": ("F32", [2, 3], bytes(range(24))),
    "a.q_proj.lora_B.weight": ("I64", [16, 2], words64.tobytes()),
    "a.k_proj.weight": ("F8_E4M3", [16, 1], rows1.tobytes()),
    "a.k_proj.weight_scale": ("F32", [], b"efgh"),
    "a.q_norm.weight": ("BF16", [8], key[:, 0].tobytes()),
    "a.v_proj.weight": ("BOOL", [16, 3], bytes(48)),
}
write_safetensors("any.safetensors", model, {})
found = result("permute", "--config", partial, "--input", "any.safetensors", "--output", "half.safetensors", "--to", "half",
               "--json")
half = read_safetensors("half.safetensors")[0]
stay = ["a.q_proj.input_scale", "a.q_proj.lora_A.weight", "a.k_proj.weight_scale", "a.v_proj.weight"]
check("what moved", sorted(found["permuted"]) == sorted(set(model) - set(stay)), found)
check("what stayed", all(half[name] == model[name] for name in stay))
for name, rows in {"a.q_proj.weight": bytes8, "a.q_proj.SCB": scales, "a.q_proj.lora_B.weight": words64,
                   "a.k_proj.weight": rows1, "a.q_norm.weight": key[:, 0]}.items():
    wanted = rows.reshape(-1, 8, rows.size // len(rows))[:, order].tobytes()
    check(name, half[name] == (*model[name][:2], wanted))
result("permute", "--config", partial, "--input", "half.safetensors", "--output", "back.safetensors", "--to",
       "interleaved", "--json")
check("any type and back", read_safetensors("back.safetensors")[0] == model)
for kind in (np.int32, np.int64, np.float16, bool):
    array("w.npy", numbers(16, 3).astype(kind))
    result("permute", "--config", partial, "--input", "w.npy", "--output", "moved.npy", "--to", "half", "--json")
    moved = np.load("moved.npy")
    check(f".npy of {kind}", moved.dtype == kind and
          (moved == np.load("w.npy").reshape(2, 8, 3)[:, order].reshape(16, 3)).all())

# Queries, keys and values in one matrix: 4 query heads, 2 key heads.
grouped = config({"head_dim": 8, "num_attention_heads": 4, "num_key_value_heads": 2, "partial_rotary_factor": 0.5},
                 "grouped.json")
fused = random.integers(-100, 100, (64, 3)).astype(np.int16)
for layout, values in {"stacked": [6, 7], "grouped": [3, 7]}.items():
    model = {"h.0.query_key_value.weight": ("I16", [64, 3], fused.tobytes()),
             "h.0.query_key_value.bias": ("I16", [64], fused[:, 0].tobytes()),
             "h.0.dense.weight": ("I16", [64, 3], fused.tobytes())}
    write_safetensors("fused.safetensors", model, {})
    found = result("permute", "--config", grouped, "--fused", layout, "--input", "fused.safetensors", "--output",
                   "half.safetensors", "--to", "half", "--json")
    wanted = fused.reshape(8, 8, 3)[:, order]
    wanted[values] = fused.reshape(8, 8, 3)[values]
    half = read_safetensors("half.safetensors")[0]
    check(f"{layout} weight", half["h.0.query_key_value.weight"][2] == wanted.tobytes())
    check(f"{layout} bias", half["h.0.query_key_value.bias"][2] == wanted[:, :, 0].tobytes())
    check(f"{layout}, others", half["h.0.dense.weight"] == model["h.0.dense.weight"])
    result("permute", "--config", grouped, "--fused", layout, "--input", "half.safetensors", "--output",
           "back.safetensors", "--to", "interleaved", "--json")
    check(f"{layout} and back", read_safetensors("back.safetensors")[0] == model)

# Heads of two parts, and queries with a gate after each: refused, and permuted by hand.
rows = random.integers(-100, 100, (48, 3)).astype(np.int16)
write_safetensors("parts.safetensors", {"a.q_proj.weight": ("I16", [48, 3], rows.tobytes())}, {})
parts = config({"num_attention_heads": 4, "qk_nope_head_dim": 8, "qk_rope_head_dim": 4}, "parts.json")
gates = config({"num_attention_heads": 4, "head_dim": 6}, "gates.json")
for refused, text, rotated_part in [
        (parts, 'parts.json describes only the rotated part of a head; wanted a configuration of the rows',
         {"rotary_dim": 4, "span": "back"}),
        (gates, 'has shape [48, 3], wanted 24 rows, those of 4 query heads of 6 channels, as gates.json has them; if',
         {"rotary_dim": 6})]:
    moves = ["--to", "half", "--input", "parts.safetensors", "--output", "half.safetensors"]
    refuses(1, text, "permute", "--config", refused, *moves)
    result("permute", "--config", config({"head_dim": 12, **rotated_part}), *moves, "--tensor", "*.q_proj.*", "--json")
    first, count = 8 if "span" in rotated_part else 0, rotated_part["rotary_dim"]
    wanted = rows.reshape(4, 12, 3).copy()
    wanted[:, first:first + count] = wanted[:, first:first + count].reshape(4, count // 2, 2, 3).swapaxes(1, 2).reshape(4, count, 3)
    check(f"by hand, {refused}", read_safetensors("half.safetensors")[0]["a.q_proj.weight"][2] == wanted.tobytes())


# ---- which pairing ----

def as_trained(pairing, heads, group):
    """Query and key rows as training leaves them: the norms of a pair's two rows differ in opposite directions."""
    half = random.standard_normal((heads, 8)) * 0.5
    tilt = np.stack([half, -half], 2) if pairing == "interleaved" else np.stack([half, -half], 1)
    tilt = np.exp(tilt.reshape(heads, 1, 16, 1))
    query, key = random.standard_normal((heads, group, 16, 5)), random.standard_normal((heads, 1, 16, 5))
    return (query * tilt).astype(np.float32), (key / tilt).astype(np.float32)


sixteen = config({"head_dim": 16, "num_attention_heads": 16, "num_key_value_heads": 8}, "sixteen.json")
untrained = [random.standard_normal((8, group, 16, 5)).astype(np.float32) for group in (2, 1)]
for pairing, (query, keys) in {"half": as_trained("half", 8, 2), "interleaved": as_trained("interleaved", 8, 2),
                               "unknown": untrained}.items():
    value = random.standard_normal((8, 1, 16, 5)).astype(np.float32)
    forms = {
        (): {"l.q_proj.weight": query, "l.k_proj.weight": keys, "l.v_proj.weight": value},
        ("--fused", "grouped"): {"l.Wqkv.weight": np.concatenate([query, keys, value], 1)},
        ("--fused", "stacked"): {"l.qkv_proj.weight": np.concatenate(
            [x.reshape(-1, 5) for x in (query, keys, value)])},
    }
    seen = []
    for form, tensors in forms.items():
        tensors = {"l.norm.weight": np.ones(16, np.float32), **tensors}
        write_safetensors("trained.safetensors", {
            name: ("F32", list(x.reshape(-1, 5).shape) if x.ndim > 1 else [16], x.tobytes())
            for name, x in tensors.items()}, {})
        done = run("permute", "--detect", "--config", sixteen, "--input", "trained.safetensors", *form, "--json")
        check(f"detect {pairing} {form} exits", done.returncode == (3 if pairing == "unknown" else 0), done.stderr)
        found = json.loads(done.stdout)
        check(f"detect {pairing} {form}", found["pairing"] == pairing and found["heads"] == 8 and
              found["pairs"] == 64 and len(found["layers"]) == 1, found)
        seen.append((found["half"], found["interleaved"]))
        line = run("permute", "--detect", "--config", sixteen, "--input", "trained.safetensors", *form).stdout
        check("line", pairing in line.split("\n")[1], line)
    for other in seen[1:]:
        near("one answer", [list(x.values()) for x in other], [list(x.values()) for x in seen[0]], 1e-9)

# ---- bad input: exit status and one line ----

array("x.npy", numbers(4, 2, 8))
array("flat.npy", numbers(4))
array("whole.npy", np.arange(64).reshape(4, 2, 8))
array("wide.npy", numbers(4, 2, 10))
array("three.npy", numbers(4, 3, 8))
array("huge.npy", np.array([0, 1, 2, 2**60]))
array("nan.npy", np.array([0, 1, np.nan, 2]))
array("c.npy", numbers(2, 3))
array("s.npy", numbers(2, 4))
array("mask.npy", numbers(3, 4))
with open("x.npy", "rb") as file:
    whole = file.read()
with open("cut.npy", "wb") as file:
    file.write(whole[:-1])
with open("none.npy", "w") as file:
    file.write("no array")
rotation = config({"head_dim": 8}, "rotation.json")
config({"head_dim": 8, "rope_scaling": {"rope_type": "yrn"}}, "unknown.json")
io = ["--input", "x.npy", "--output", "out.npy"]
qkv = ["--query", "x.npy", "--key", "x.npy", "--value", "x.npy", "--output", "out.npy"]

refuses(2, "frequencies wants --config FILE", "frequencies")
refuses(1, "cannot open absent.json", "frequencies", "--config", "absent.json")
refuses(1, 'unknown.json: "rope_type" is "yrn", wanted', "frequencies", "--config", "unknown.json")
done = run("frequencies", "--config", config({"model_type": "nowhere", "head_dim": 8}))
check("a type of which nothing is known", done.returncode == 0 and 'nothing is known of model_type "nowhere"' in done.stderr, done.stderr)
refuses(2, '--compat is "hugingface"', "frequencies", "--config", rotation, "--compat", "hugingface")
refuses(1, "has one rotation for all layer types", "frequencies", "--config", rotation, "--layer-type", "full")
refuses(2, "apply wants --input FILE and --output FILE", "apply", "--config", rotation)
refuses(2, "apply wants --config FILE, or --cos FILE", "apply", *io)
refuses(2, "--cos and --sin want each other", "apply", *io, "--cos", "c.npy")
refuses(2, "exclude each other", "apply", *io, "--config", rotation, "--positions", "p.npy", "--offset", 1)
refuses(2, 'cannot write "out.txt"', "apply", "--config", rotation, "--input", "x.npy", "--output", "out.txt")
refuses(1, "cannot open absent.npy", "apply", "--config", rotation, "--input", "absent.npy", "--output", "out.npy")
refuses(1, "cut.npy", "apply", "--config", rotation, "--input", "cut.npy", "--output", "out.npy")
refuses(1, "none.npy", "apply", "--config", rotation, "--input", "none.npy", "--output", "out.npy")
refuses(1, "flat.npy has shape [4], wanted [T, D]", "apply", "--config", rotation, "--input", "flat.npy", "--output",
        "out.npy")
refuses(1, "whole.npy holds integer numbers, wanted f32", "apply", "--config", rotation, "--input", "whole.npy",
        "--output", "out.npy")
refuses(1, "rotation.json describes heads of 8 channels, wanted 10", "apply", "--config", rotation, "--input",
        "wide.npy", "--output", "out.npy")
refuses(1, "flat.npy has shape [4]", "apply", *io, "--cos", "flat.npy", "--sin", "flat.npy")
refuses(1, "s.npy has shape [2, 4], wanted that of c.npy, [2, 3]", "apply", *io, "--cos", "c.npy", "--sin", "s.npy")
refuses(1, "wanted one of the table's rows", "apply", *io, "--cos", "c.npy", "--sin", "c.npy")
refuses(1, "x.npy has shape [4, 2, 8], wanted [4] or [1, 4]", "apply", *io, "--config", rotation, "--positions", "x.npy")
refuses(1, "yes.npy holds bool numbers, wanted whole ones or f32", "apply", *io, "--config", rotation, "--positions",
        array("yes.npy", np.array([True, False, True, True])))
refuses(2, "--angles wants --config", "apply", *io, "--cos", "c.npy", "--sin", "c.npy", "--angles", "bf16")
refuses(2, "--angles and --cos exclude each other", "apply", *io, "--config", rotation, "--cos", "c.npy", "--sin", "c.npy",
        "--angles", "bf16")
refuses(2, '--arithmetic is "f64"', "apply", *io, "--config", rotation, "--arithmetic", "f64")
refuses(1, "huge.npy: number 3 is 1152921504606846976", "apply", *io, "--config", rotation, "--positions", "huge.npy")
refuses(1, "nan.npy: position 2 is nan", "apply", *io, "--config", rotation, "--positions", "nan.npy")
refuses(1, "cannot", "apply", "--config", rotation, "--input", "x.npy", "--output", "absent/out.npy")
refuses(1, 'has no tensor "z"', "apply", "--config", rotation, "--input", "model.safetensors:z", "--output", "out.npy")
refuses(1, "holds 4 tensors, wanted the name of one", "apply", "--config", rotation, "--input", "model.safetensors",
        "--output", "out.npy")
os.mkdir("folder.safetensors")
refuses(1, "Is a directory", "apply", "--config", rotation, "--input", "x.npy", "--output", "folder.safetensors")
refuses(2, "attend wants --query FILE", "attend", *qkv[2:])
refuses(2, "--roper wants --rope FILE", "attend", *qkv, "--roper")
refuses(2, "--window wants --causal", "attend", *qkv, "--window", 3)
refuses(1, "flat.npy has shape [4], wanted [T, H, D]", "attend", "--query", "flat.npy", *qkv[2:])
refuses(1, "three.npy has shape [4, 3, 8], wanted [S, G, 8], G a divisor of 2, to go with x.npy", "attend", "--query",
        "x.npy", "--key", "three.npy", *qkv[4:])
refuses(1, "three.npy has shape [4, 3, 8], wanted [4, 2, E], to go with x.npy", "attend", "--query", "x.npy", "--key",
        "x.npy", "--value", "three.npy", *qkv[6:])
refuses(1, "mask.npy has shape [3, 4], wanted [4, 4]", "attend", *qkv, "--mask", "mask.npy")
refuses(1, "whole.npy holds whole numbers, wanted bool", "attend", *qkv, "--mask", "whole.npy")
refuses(1, "wide.npy has heads of 10 channels, wanted 8", "attend", "--query", "x.npy", "--key", "x.npy", "--value",
        "wide.npy", "--output", "out.npy", "--rope", rotation, "--roper")
refuses(2, "permute wants --config FILE", "permute", *io)
permutes = ["permute", "--config", rotation, "--to", "half", "--input"]
refuses(2, "files of one kind", *permutes, "x.npy", "--output", "out.safetensors")
refuses(2, "x.npy would replace x.npy", *permutes, "x.npy", "--output", "x.npy")
refuses(2, "./x.npy would replace x.npy", *permutes, "x.npy", "--output", "./x.npy")
refuses(1, "x.npy has shape [4, 2, 8], wanted [rows, inputs]", *permutes, "x.npy", "--output", "out.npy")
refuses(1, "flat.npy has shape [4], wanted [rows, inputs] or [rows], rows a multiple of rotation.json's head_dim, 8",
        *permutes, "flat.npy", "--output", "out.npy")
# Layer types may rotate different channels, and only the caller knows which layers are of the named type.
by_type = config({"head_dim": 8, "rope_parameters": {"full": {"rope_theta": 1e4, "partial_rotary_factor": 0.5},
                                                      "sliding": {"rope_theta": 1e4}}}, "by_type.json")
rows = np.arange(16, dtype=np.uint8).reshape(8, 2)
write_safetensors("types.safetensors", {f"{layer}.q_proj.weight": ("U8", [8, 2], rows.tobytes()) for layer in (0, 1)}, {})
one_type = ["permute", "--config", by_type, "--layer-type", "full", "--to", "half", "--input", "types.safetensors",
            "--output", "typed.safetensors"]
refuses(2, "permute --layer-type wants --tensor, to name the layers of that type", *one_type)
refuses(2, "permute --layer-type wants --tensor, to name the layers of that type", "permute", "--detect", "--config", by_type,
        "--layer-type", "full", "--input", "types.safetensors")
result(*one_type, "--tensor", "1.q_proj.weight", "--json")
typed = read_safetensors("typed.safetensors")[0]
check("one type of layer", typed["0.q_proj.weight"][2] == rows.tobytes() and
      typed["1.q_proj.weight"][2] == rows[[0, 2, 1, 3, 4, 5, 6, 7]].tobytes())
refuses(1, 'has no tensor "*.qq.*"', *permutes, "model.safetensors", "--output", "out.safetensors", "--tensor", "*.qq.*")
floats = ("F32", [8, 2], bytes(64))
for name, said, tensors in [
        ("blocks", 'tensor "a.q_proj.weight_scale_inv" goes with "a.q_proj.weight" but is not one number',
         {"a.q_proj.weight": floats, "a.q_proj.weight_scale_inv": ("F32", [2, 1], bytes(8))}),
        ("bnb4", 'tensor "a.q_proj.weight.absmax" goes with "a.q_proj.weight" but',
         {"a.q_proj.weight": ("U8", [8, 1], bytes(8)), "a.q_proj.weight.absmax": ("F32", [8], bytes(32))}),
        ("empty", "has shape [0, 1099511627776, 1099511627776], wanted [rows, inputs]",
         {"a.q_proj.weight": ("U8", [0, 2**40, 2**40], b"")}),
        ("gptq", '"a.q_proj.qweight" is packed', {"a.q_proj.qweight": ("I32", [8, 4], bytes(128))}),
        ("neox", '"a.query_key_value.weight" holds queries, keys and values, wanted --fused stacked or --fused grouped',
         {"a.query_key_value.weight": ("F32", [24, 2], bytes(192))}),
        ("four", "its type is unknown, or its elements are not whole bytes",
         {"a.q_proj.weight": ("F4", [8, 4], bytes(16))})]:
    write_safetensors(f"{name}.safetensors", tensors, {})
    refuses(1, said, *permutes, f"{name}.safetensors", "--output", "out.safetensors")
refuses(1, "wanted 64 rows, those of 4 query heads and of 2 key and value heads of 8 channels", "permute", "--config",
        "grouped.json", "--fused", "stacked", "--to", "half", "--input", "neox.safetensors", "--output", "out.safetensors")
refuses(1, 'has no "num_attention_heads", which --fused wants', *permutes, "neox.safetensors", "--fused", "grouped",
        "--output", "out.safetensors")
detects = ["permute", "--detect", "--config", rotation, "--input"]
refuses(2, "permute --detect wants --config FILE and --input FILE", *detects, "model.safetensors", "--to", "half")
refuses(2, "permute --detect wants --input to end in .safetensors", *detects, "x.npy")
refuses(1, "has no query projection with a key projection beside it", *detects, "bnb4.safetensors")
write_safetensors("keys.safetensors", {"a.q_proj.weight": floats, "a.k_proj.weight": ("I8", [8, 2], bytes(16))}, {})
for letter, name in [("q", "any"), ("k", "keys")]:
    refuses(1, f'tensor "a.{letter}_proj.weight" holds I8, wanted F32, F16 or BF16', *detects, f"{name}.safetensors")
refuses(1, "has no tensor named as query and key", *permutes, "x.safetensors", "--output", "out.safetensors")
check("nothing is left behind", not [name for name in os.listdir(".") if name.startswith("out") or name.endswith(".partial")])

report()
