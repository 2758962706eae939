#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Attention with a bias by distance, with keys, queries and values by distance and with dropout of its weights, and
their gradients, by PyTorch's autograd in double precision. The masks are recomputed here, by the definition in
src/kernel/attention/dropout_term.c. Writes tests/attention/attention_term_goldens.h, which
test_attention_term_goldens.c compares the library with. Made with torch 2.15.0:

    python3 tests/golden/make_attention_term_goldens.py > tests/attention/attention_term_goldens.h
"""
import torch

torch.set_default_dtype(torch.float64)
BATCH, TIME, HEADS, PAIRS, DIM = 2, 37, 4, 2, 32
DISTANCES, FIRST = 21, -15
SEED, STEP, SITE, STREAM = 0x9E3779B97F4A7C15, 12, 3, 7
SAMPLES = 24

KEYS, QUERY_BIAS, QUERIES, VALUES = 1, 2, 4, 8
CASES = [  # name, distance bias, vectors by distance, scores divided by sqrt(this times DIM), causal, softcap, dropout
    ("distance bias", 1, 0, 1, 0, 0.0, 0.0),
    ("distance bias, causal, soft cap", 1, 0, 1, 1, 1.5, 0.0),
    ("dropout", 0, 0, 1, 0, 0.0, 0.25),
    ("distance bias, causal, soft cap, dropout", 1, 0, 1, 1, 1.5, 0.5),
    ("Shaw", 0, KEYS + VALUES, 1, 0, 0.0, 0.0),
    ("Transformer-XL, causal", 0, KEYS + QUERY_BIAS, 1, 1, 0.0, 0.0),
    ("DeBERTa", 0, KEYS + QUERIES, 3, 0, 0.0, 0.0),
    ("DeBERTa's position to content, causal, dropout", 0, QUERIES, 3, 1, 0.0, 0.25),
    ("all, causal, soft cap, dropout", 1, KEYS + QUERY_BIAS + QUERIES + VALUES, 1, 1, 1.5, 0.5),
]


def numbers(seed, *shape):
    """Signed, over four octaves, and exact in f32; the test has the same."""
    i = torch.arange(torch.tensor(shape).prod().item()) + 100003 * seed
    hashed = (1103515245 * i + 12345) % 2**32 // 256 % 65536
    return ((hashed - 32768) / 32768 * 2.0 ** (i % 4 - 2)).reshape(shape)


def philox(seed, counter):
    """Philox-4x32-10."""
    c, key = list(counter), [seed % 2**32, seed >> 32]
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [b >> 32 ^ c[1] ^ key[0], b % 2**32, a >> 32 ^ c[3] ^ key[1], a % 2**32]
        key = [(key[0] + 0x9E3779B9) % 2**32, (key[1] + 0xBB67AE85) % 2**32]
    return c


def derived(seed, *counter):
    words = philox(seed, counter)
    return words[0] | words[1] << 32


def mask(probability):
    threshold = round(probability * 65536)
    factors = torch.zeros(BATCH, HEADS, TIME, TIME)
    layer = derived(SEED, SITE, 0, STREAM, STEP)
    for b in range(BATCH):
        for h in range(HEADS):
            seed = derived(layer, b, 0, STREAM, h)
            for m in range(TIME):
                for n in range(TIME):
                    word = philox(seed, (n // 32 * 16 + n % 16, m // 4, STREAM, 0))[m % 4]
                    kept = (word >> 16 * (n // 16 % 2)) % 65536 >= threshold
                    factors[b, h, m, n] = 65536 / (65536 - threshold) if kept else 0
    return factors


def listed(x):
    x = x.flatten()
    return ", ".join(f"{x[(j * 613) % len(x)].item():.12g}" for j in range(SAMPLES))


rows = []
for name, distance, vectors, products, causal, softcap, dropout in CASES:
    q = numbers(1, BATCH, TIME, HEADS, DIM).requires_grad_()
    k, v = (numbers(seed, BATCH, TIME, PAIRS, DIM).requires_grad_() for seed in (2, 3))
    table = numbers(5, HEADS, DISTANCES).requires_grad_()
    a, b, values = (numbers(seed, HEADS, DISTANCES, DIM).requires_grad_() for seed in (8, 9, 10))
    query_bias = numbers(11, HEADS, DIM).requires_grad_()
    rk, rv = (x.repeat_interleave(HEADS // PAIRS, 2) for x in (k, v))
    scale = (products * DIM) ** -0.5
    score = torch.einsum("bthd,bshd->bhts", q, rk) * scale
    if softcap:
        score = softcap * torch.tanh(score / softcap)
    ahead = torch.arange(TIME) - torch.arange(TIME)[:, None]
    entry = (ahead - FIRST).clamp(0, DISTANCES - 1)
    if distance:
        score = score + table[:, entry]
    if vectors & KEYS:
        met = q + query_bias if vectors & QUERY_BIAS else q
        score = score + scale * torch.einsum("bthd,htsd->bhts", met, a[:, entry])
    if vectors & QUERIES:
        score = score + scale * torch.einsum("bshd,htsd->bhts", rk, b[:, entry])
    if causal:
        score = score.masked_fill(ahead > 0, -torch.inf)
    weights = score.softmax(-1)
    if dropout:
        weights = weights * mask(dropout)
    output = torch.einsum("bhts,bshd->bthd", weights, rv)
    if vectors & VALUES:
        output = output + torch.einsum("bhts,htsd->bthd", weights, values[:, entry])
    output.backward(numbers(4, BATCH, TIME, HEADS, DIM))
    inputs = (q, k, v, table, a, query_bias, b, values)
    gradients = [torch.zeros_like(x) if x.grad is None else x.grad for x in inputs]
    rows.append(f'    {{"{name}", {distance}, {vectors}, {products}, {causal}, {softcap}f, {dropout}f,\n'
                + ",\n".join(f"     {{{listed(x)}}}" for x in [output] + gradients) + "},")
print("/* SPDX-License-Identifier: Apache-2.0 */")
print("/* Written by tests/golden/make_attention_term_goldens.py. */")
sizes = {"BATCH": BATCH, "TIME": TIME, "HEADS": HEADS, "PAIRS": PAIRS, "DIM": DIM, "DISTANCES": DISTANCES,
         "FIRST": FIRST, "STEP": STEP, "SITE": SITE, "SAMPLES": SAMPLES, "KEYS": KEYS, "QUERY_BIAS": QUERY_BIAS,
         "QUERIES": QUERIES, "VALUES": VALUES}
print("enum { " + ", ".join(f"{key} = {value}" for key, value in sizes.items()) + " };")
print(f"#define SEED 0x{SEED:x}u")
print("struct golden {\n    const char *name;")
print("    int distance, vectors, products, causal;\n    float softcap, dropout;")
print("    double output[SAMPLES], query[SAMPLES], key[SAMPLES], value[SAMPLES], table[SAMPLES];")
print("    double keys[SAMPLES], query_bias[SAMPLES], queries[SAMPLES], values[SAMPLES];\n};")
print("static const struct golden goldens[] = {", *rows, "};", sep="\n")
