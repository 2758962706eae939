#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Losses and gradients of small encoders with a masked-token head by PyTorch's autograd in double precision, for every
encoding: tests/model/encoder_goldens.h. encoder_models.py has the model. Each case is its settings, as a configuration has
them, and the encodings' own settings of encoder_models.py.

    /usr/bin/python3 tests/golden/make_encoder_goldens.py tests/model
"""
import itertools
import json
import os
import sys
import torch
from encoder_models import BATCH, Encoder, LENGTHS, TIME, VOCABULARY, write_probes

ENCODINGS = ("none", "learned", "sinusoidal", "rope", "roper", "alibi", "t5", "kerple", "sandwich", "xpos", "shaw",
             "transformer-xl", "deberta", "fire")


def case_of(number, norm_position, position):
    """The first cases are BERT's and RoFormer's wiring; in the others settings change at periods of their own."""
    rotated = position in ("rope", "roper", "xpos")
    case = {"position": position, "norm_position": norm_position, "norm": "layer_norm", "act": "gelu", "bias": True,
            "tying": "target", "kv_heads": 4, "smoothing": 0.0, "pairing": "interleaved" if rotated else "half",
            "fraction": 1.0, "query_key_norm": "none", "scaled": False, "types": 2, "embedding_norm": True,
            "transform": True}
    if number < len(ENCODINGS):
        return case
    return case | {
        "norm": ("rms_norm", "layer_norm")[number % 2], "act": ("swiglu", "gelu")[number // 2 % 2],
        "bias": number % 5 != 3, "tying": ("none", "target", "target")[number % 3], "kv_heads": (2, 4, 1)[number % 3],
        "smoothing": (0.1, 0.0)[number // 3 % 2], "pairing": ("half", "interleaved")[number % 4 // 2 if rotated else 0],
        "fraction": (0.5, 1.0)[number % 2] if rotated else 1.0, "query_key_norm": ("none", "head", "all")[number // 2 % 3],
        "scaled": norm_position != "none" and number % 4 == 1, "types": (0, 3, 2)[number % 3],
        "embedding_norm": number // 2 % 3 > 0, "transform": number % 5 < 3}


def cases():
    lists = ((("post",), ENCODINGS), (("pre",), ENCODINGS), (("both", "output"), ("rope", "t5", "deberta")),
             (("none",), ("learned", "roper")))
    pairs = itertools.chain(*(itertools.product(*both) for both in lists))
    return [case_of(number, *pair) for number, pair in enumerate(pairs)]


def settings_of(case):
    return json.dumps({
        "position": case["position"], "norm_position": case["norm_position"], "norm": case["norm"],
        "hidden_act": case["act"], "bias": case["bias"], "tie_word_embeddings": case["tying"] == "target",
        "num_key_value_heads": case["kv_heads"], "label_smoothing": case["smoothing"], "pairing": case["pairing"],
        "partial_rotary_factor": case["fraction"], "query_key_norm": case["query_key_norm"],
        "scale_embedding": case["scaled"], "type_vocab_size": case["types"], "embedding_norm": case["embedding_norm"],
        "output_transform": case["transform"]})


def run(case):
    model, index = Encoder(case), torch.arange(BATCH * TIME)
    tokens = ((index * 7 + 3) % VOCABULARY).view(BATCH, TIME)
    segments = ((index * index) % max(case["types"], 1)).view(BATCH, TIME)
    real = index % TIME < torch.tensor(LENGTHS)[index // TIME]
    rows = index[real & (index % 3 != 1)]
    targets = ((index * 5 + 1) % VOCABULARY)[rows]
    logits = model.token_logits(tokens, segments, rows)
    loss = torch.nn.functional.cross_entropy(logits, targets, reduction="sum")
    torch.nn.functional.cross_entropy(logits, targets, reduction="sum", label_smoothing=case["smoothing"]).backward()
    return loss.item(), {name: value.grad.flatten() for name, value in model.parameters.items()}


def main():
    numbered, table = {}, []
    with open(os.path.join(sys.argv[1], "encoder_goldens.h"), "w", encoding="ascii") as out:
        print("/* SPDX-License-Identifier: Apache-2.0\n *\n * Made by tests/golden/make_encoder_goldens.py: do not edit. Of "
              "each gradient its dot product with\n * cos(0.9 i + 0.5).\n */", file=out)
        for number, case in enumerate(cases()):
            loss, gradients = run(case)
            write_probes(out, f"encoder_{number}", numbered, gradients)
            table.append(f"    {{{json.dumps(settings_of(case))},\n     {loss:.12e}, encoder_{number}, {len(gradients)}}},")
        print("static const char *const encoder_names[] = {", file=out)
        for name in numbered:
            print(f'    "{name}",', file=out)
        print("};\nstatic const struct encoder_case encoder_cases[] = {\n" + "\n".join(table) + "\n};", file=out)


main()
