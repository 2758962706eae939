#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Values and gradients of a small chain of layers, and steps of Adam and AdamW, by PyTorch in double precision.

Writes tests/layer/layer_goldens.h; tests/layer/chain.h says what the chain is.

    /usr/bin/python3 tests/golden/make_layer_goldens.py > tests/layer/layer_goldens.h
"""
import math
import torch
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)
VOCABULARY, WIDTH, HIDDEN, POSITIONS, BATCH, TIME = 11, 24, 40, 64, 3, 50

CASES = [  # position, norm, activation, smoothing
    ("NONE", "LAYER", "RELU", 0.0),
    ("LEARNED", "LAYER", "GELU", 0.1),
    ("SINUSOIDAL", "RMS", "SWIGLU", 0.0),
]


def run(position, norm_kind, activation, smoothing):
    parameters = {}

    def parameter(name, *shape):
        if name not in parameters:
            i = torch.arange(math.prod(shape), dtype=torch.float64)
            value = 0.3 * torch.sin(0.7 * i + 0.05 * i * i + len(name)).reshape(shape)
            if name.startswith("norm") and name.endswith("weight"):
                value = 1.0 + value
            parameters[name] = value.float().double().requires_grad_()
        return parameters[name]

    def linear(x, name, outputs, weight=None):
        weight = parameter(name + ".weight", outputs, x.shape[-1]) if weight is None else weight
        return F.linear(x, weight, parameter(name + ".bias", outputs))

    def norm(x, name):
        if norm_kind == "LAYER":
            return F.layer_norm(x, (WIDTH,), parameter(name + ".weight", WIDTH), parameter(name + ".bias", WIDTH), 1e-5)
        return x / torch.sqrt((x * x).mean(-1, keepdim=True) + 1e-5) * parameter(name + ".weight", WIDTH)

    rows = BATCH * TIME
    i = torch.arange(rows)
    tokens = (3 * i + torch.div(i * i, 4, rounding_mode="floor")) % VOCABULARY
    targets = (5 * i + torch.div(i, 3, rounding_mode="floor")) % VOCABULARY
    targets[i % 5 == 3] = -1
    table = parameter("embedding.weight", VOCABULARY, WIDTH)
    stream = 1.5 * F.embedding(tokens, table)
    at = i % TIME
    if position == "LEARNED":
        stream = stream + F.embedding(at, parameter("embedding.position.weight", POSITIONS, WIDTH))
    if position == "SINUSOIDAL":
        column = torch.arange(0, WIDTH, 2)
        angle = at[:, None] * torch.pow(10000.0, -column / WIDTH)
        stream = stream + torch.stack((torch.sin(angle), torch.cos(angle)), -1).flatten(1)
    up = linear(norm(stream, "norm1"), "first", HIDDEN * (2 if activation == "SWIGLU" else 1))
    if activation == "SWIGLU":
        hidden = F.silu(up[:, :HIDDEN]) * up[:, HIDDEN:]
    else:
        hidden = {"RELU": F.relu, "GELU": F.gelu}[activation](up)
    middle = norm(stream + linear(hidden, "second", WIDTH), "norm2")
    logits = linear(norm(middle, "norm3"), "output", VOCABULARY, table)
    F.cross_entropy(logits, targets, ignore_index=-1, reduction="sum", label_smoothing=smoothing).backward()
    loss = F.cross_entropy(logits, targets, ignore_index=-1, reduction="sum").item()
    correct = int(((logits.argmax(-1) == targets) & (targets >= 0)).sum())
    gradients = []
    for name, value in sorted(parameters.items()):
        g = value.grad.flatten()
        j = torch.arange(g.numel(), dtype=torch.float64)
        gradients.append((name, (g * torch.cos(0.3 * j + 0.01 * j * j)).sum().item(), g.norm().item()))
    return loss, correct, gradients


def optimizer(make):
    i = torch.arange(20, dtype=torch.float64)
    value = torch.sin(i).requires_grad_()
    steps = make([value])
    for step in range(1, 11):
        value.grad = torch.cos(0.9 * i * step) * torch.pow(2.0, (i % 7) - 3)
        steps.step()
    return value.tolist()


print("/* SPDX-License-Identifier: Apache-2.0")
print(" *")
print(f" * Made by tests/golden/make_layer_goldens.py with PyTorch {torch.__version__.split('+')[0]}. */")
print("struct golden_gradient {\n    const char *name;\n    double along, norm; /* along cos(0.3 j + 0.01 j^2) */\n};")
print("static const struct golden {\n    int position, norm, activation;\n    float smoothing;\n    double loss;")
print("    int correct;\n    struct golden_gradient gradients[13];\n} goldens[] = {")
for case in CASES:
    loss, correct, gradients = run(*case)
    position, norm_kind, activation, smoothing = case
    print(f"    {{EMBEDDING_POSITION_{position}, NORM_{norm_kind}, ACTIVATION_{activation}, {smoothing}f, {loss!r}, {correct},")
    print("     {" + ",\n      ".join(f'{{"{name}", {along!r}, {norm!r}}}' for name, along, norm in gradients) + "}},")
print("};")
for name, make in (("adam", lambda p: torch.optim.Adam(p, lr=0.01, betas=(0.9, 0.98), eps=1e-6, weight_decay=0.1)),
                   ("adamw", lambda p: torch.optim.AdamW(p, lr=0.01, betas=(0.9, 0.98), eps=1e-6, weight_decay=0.1))):
    print(f"/* sin(i) after ten steps along cos(0.9 i step) 2^(i % 7 - 3). */\nstatic const double golden_{name}[20] = {{")
    values = optimizer(make)
    for row in range(0, 20, 4):
        print("    " + ", ".join(repr(v) for v in values[row:row + 4]) + ",")
    print("};")
