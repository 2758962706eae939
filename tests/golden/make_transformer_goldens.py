#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Losses and gradients of small encoder-decoders by PyTorch's autograd in double precision, for every combination of
norm position, tying and encoding.

Writes tests/model/transformer_goldens.h (pre and post), transformer_norm_goldens.h (the other norm positions),
transformer_bias_goldens.h (encodings by a bias, and xpos; pre and post), transformer_vector_goldens.h (encodings by vectors)
and transformer_fire_goldens.h. encoder_models.py has the model.

    /usr/bin/python3 tests/golden/make_transformer_goldens.py tests/model
"""
import itertools
import os
import sys
import torch
from encoder_models import (BATCH, LENGTHS, Model, SOURCE_TIME, SOURCE_VOCABULARY, TIME, VOCABULARY, write_probes)

ENCODINGS = ("none", "learned", "sinusoidal", "rope", "roper")
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
                write_probes(out, f"{stem}_{number}", numbered, gradients)
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
