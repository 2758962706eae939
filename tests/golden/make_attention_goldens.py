#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Attention and its gradients by PyTorch's autograd in double precision. Writes tests/attention/attention_goldens.h,
which test_attention_goldens.c compares the library with. Made with torch 2.15.0:

    python3 tests/golden/make_attention_goldens.py > tests/attention/attention_goldens.h
"""
import torch

torch.set_default_dtype(torch.float64)
BATCH, TIME, HEADS, PAIRS, DIM, BASE = 2, 37, 4, 2, 32, 100.0
SAMPLES = 24

CASES = [  # name, rope, roper, causal, window, softcap, bias
    ("plain", 0, 0, 0, 0, 0.0, 0),
    ("RoPE, causal", 1, 0, 1, 0, 0.0, 0),
    ("RoPER, causal", 1, 1, 1, 0, 0.0, 0),
    ("RoPER, window", 1, 1, 1, 9, 0.0, 0),
    ("RoPE, soft cap", 1, 0, 1, 0, 1.5, 0),
    ("RoPER, bias", 1, 1, 0, 0, 0.0, 1),
    ("RoPER, window, soft cap, bias", 1, 1, 1, 9, 1.5, 1),
]


def numbers(seed, *shape):
    """Signed, over four octaves, and exact in f32; test_attention_goldens.c has the same."""
    i = torch.arange(torch.tensor(shape).prod().item()) + 100003 * seed
    hashed = (1103515245 * i + 12345) % 2**32 // 256 % 65536
    return ((hashed - 32768) / 32768 * 2.0 ** (i % 4 - 2)).reshape(shape)


def rotated(x, inverse=False):
    """[batch, time, heads, channels], halves."""
    angle = torch.arange(TIME)[:, None] * BASE ** (-2 * torch.arange(DIM // 2) / DIM)
    rotation = torch.polar(torch.ones_like(angle), -angle if inverse else angle)[:, None]
    y = torch.complex(*x.chunk(2, -1)) * rotation
    return torch.cat([y.real, y.imag], -1)


def listed(x):
    x = x.flatten()
    return ", ".join(f"{x[(j * 613) % len(x)].item():.12g}" for j in range(SAMPLES))


rows = []
for name, rope, roper, causal, window, softcap, biased in CASES:
    q = numbers(1, BATCH, TIME, HEADS, DIM).requires_grad_()
    k, v = (numbers(seed, BATCH, TIME, PAIRS, DIM).requires_grad_() for seed in (2, 3))
    rq, rk = (rotated(q), rotated(k)) if rope else (q, k)
    rv = rotated(v) if roper else v
    rk, rv = (x.repeat_interleave(HEADS // PAIRS, 2) for x in (rk, rv))
    score = torch.einsum("bthd,bshd->bhts", rq, rk) * DIM**-0.5
    if softcap:
        score = softcap * torch.tanh(score / softcap)
    if biased:
        score = score + numbers(5, 1, HEADS, TIME, TIME)
    behind = torch.arange(TIME)[:, None] - torch.arange(TIME)
    if causal:
        score = score.masked_fill((behind < 0) | (behind >= (window or TIME)), -torch.inf)
    output = torch.einsum("bhts,bshd->bthd", score.softmax(-1), rv)
    output = rotated(output, True) if roper else output
    output.backward(numbers(4, BATCH, TIME, HEADS, DIM))
    rows.append(f'    {{"{name}", {rope}, {roper}, {causal}, {window}, {softcap}f, {biased},\n'
                + ",\n".join(f"     {{{listed(x)}}}" for x in (output, q.grad, k.grad, v.grad)) + "},")
print("/* SPDX-License-Identifier: Apache-2.0 */")
print("/* Written by tests/golden/make_attention_goldens.py. */")
sizes = {"BATCH": BATCH, "TIME": TIME, "HEADS": HEADS, "PAIRS": PAIRS, "DIM": DIM, "BASE": int(BASE), "SAMPLES": SAMPLES}
print("enum { " + ", ".join(f"{key} = {value}" for key, value in sizes.items()) + " };")
print("struct golden {\n    const char *name;\n    int rope, roper, causal, window;\n    float softcap;\n    int bias;")
print("    double output[SAMPLES], query[SAMPLES], key[SAMPLES], value[SAMPLES];\n};")
print("static const struct golden goldens[] = {", *rows, "};", sep="\n")
