#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Losses, logits and gradients of tiny BERT and RoFormer Hugging Face models, in double precision: masked tokens, classes
of sequences, numbers, and the choices of an example. Writes tests/model/bert_goldens.h. Their weights are those that encoder_models.py gives parameters
of this project's names, and gradients are named likewise: so what is compared is what each name means, too.

    python3 tests/golden/make_bert_goldens.py tests/model
"""
import json
import os
import sys
import torch
import transformers
from encoder_models import BATCH, LENGTHS, TIME, VOCABULARY, write_probes

WIDTH, HEADS, HIDDEN, LAYERS, POSITIONS, TYPES = 32, 4, 40, 2, 16, 2
# model type, what it predicts, labels
CASES = [("bert", "tokens", 0), ("roformer", "tokens", 0), ("bert", "classes", 3), ("roformer", "classes", 3),
         ("bert", "numbers", 1), ("roformer", "numbers", 1), ("bert", "choices", 1), ("roformer", "choices", 1)]


def layer_map(stem, layer):
    theirs, ours = f"{stem}.encoder.layer.{layer}.", f"layers.{layer}."
    pairs = {ours + "attention.output": theirs + "attention.output.dense",
             ours + "attention_norm": theirs + "attention.output.LayerNorm",
             ours + "feed_forward.up": theirs + "intermediate.dense", ours + "feed_forward.down": theirs + "output.dense",
             ours + "feed_forward_norm": theirs + "output.LayerNorm"}
    names = {f"{mine}.{kind}": [f"{other}.{kind}"] for mine, other in pairs.items() for kind in ("weight", "bias")}
    for kind in ("weight", "bias"):
        names[f"{ours}attention.query_key_value.{kind}"] = [f"{theirs}attention.self.{part}.{kind}"
                                                            for part in ("query", "key", "value")]
    return names


def names_of(stem, predicts):
    """This project's names, each with those of the tensors that it has one below the other."""
    names = {"embedding.weight": [f"{stem}.embeddings.word_embeddings.weight"],
             "embedding.type.weight": [f"{stem}.embeddings.token_type_embeddings.weight"]}
    if stem == "bert":
        names["embedding.position.weight"] = ["bert.embeddings.position_embeddings.weight"]
    for kind in ("weight", "bias"):
        names[f"embedding.norm.{kind}"] = [f"{stem}.embeddings.LayerNorm.{kind}"]
    for layer in range(LAYERS):
        names |= layer_map(stem, layer)
    for kind in ("weight", "bias"):
        if predicts == "tokens":
            names[f"transform.dense.{kind}"] = [f"cls.predictions.transform.dense.{kind}"]
            names[f"transform.norm.{kind}"] = [f"cls.predictions.transform.LayerNorm.{kind}"]
        elif stem == "bert":
            names[f"pooler.dense.{kind}"] = [f"bert.pooler.dense.{kind}"]
            names[f"classifier.{kind}"] = [f"classifier.{kind}"]
        else:
            chooses = predicts == "choices"
            names[f"pooler.dense.{kind}"] = [f"sequence_summary.summary.{kind}" if chooses else f"classifier.dense.{kind}"]
            names[f"classifier.{kind}"] = [f"classifier.{kind}" if chooses else f"classifier.out_proj.{kind}"]
    if predicts == "tokens":
        names["output.bias"] = ["cls.predictions.bias"]
    return names


def create(kind, predicts, labels):
    shared = {"vocab_size": VOCABULARY, "hidden_size": WIDTH, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS,
              "intermediate_size": HIDDEN, "max_position_embeddings": POSITIONS, "type_vocab_size": TYPES,
              "hidden_act": "gelu", "layer_norm_eps": 1e-12, "num_labels": max(labels, 1), "pad_token_id": 0}
    stem = {"bert": "Bert", "roformer": "RoFormer"}[kind]
    if kind == "roformer" and predicts == "choices":  # else it reads the last token, which may be padding, without a pooler
        shared |= {"summary_type": "first", "summary_use_proj": True, "summary_activation": "gelu",
                   "summary_proj_to_labels": False, "summary_first_dropout": 0.0, "summary_last_dropout": 0.0}
    config = getattr(transformers, stem + "Config")(**shared)
    task = {"tokens": "ForMaskedLM", "choices": "ForMultipleChoice"}.get(predicts, "ForSequenceClassification")
    return getattr(transformers, stem + task)(config).double().eval()


def fill(model, names):
    tensors, used = dict(model.named_parameters()), set()
    with torch.no_grad():
        for name, parts in names.items():
            rows = [tensors[part] for part in parts]
            count = sum(row.numel() for row in rows)
            i = torch.arange(count, dtype=torch.float64)
            value = 0.3 * torch.sin(0.7 * i + 0.05 * i * i + len(name))
            if "norm" in name and name.endswith("weight"):
                value = 1.0 + value
            for row, part in zip(rows, value.split([row.numel() for row in rows])):
                row.copy_(part.reshape(row.shape))
            used |= set(parts)
    left = {name for name in tensors if name not in used and "position" not in name}
    assert not left, left
    return tensors


def run(kind, predicts, labels):
    model = create(kind, predicts, labels)
    names = names_of(kind, predicts)
    tensors = fill(model, names)
    index = torch.arange(BATCH * TIME)
    real = (index % TIME < torch.tensor(LENGTHS)[index // TIME]).view(BATCH, TIME)
    tokens = ((index * 7 + 3) % (VOCABULARY - 1) + 1).view(BATCH, TIME)  # not 0: transformers' padding has no gradient
    segments = (index * index % TYPES).view(BATCH, TIME)
    read = {"input_ids": tokens, "attention_mask": real.long(), "token_type_ids": segments}
    if predicts == "choices":  # one example, whose choices the sequences are
        read = {name: values[None] for name, values in read.items()}
    out = model(**read).logits
    if predicts == "tokens":
        rows = index[real.flatten() & (index % 3 != 1)]
        logits = out.flatten(0, 1)[rows]
        loss = torch.nn.functional.cross_entropy(logits, ((index * 5 + 1) % VOCABULARY)[rows], reduction="sum")
    elif predicts == "choices":
        logits = out
        loss = torch.nn.functional.cross_entropy(logits, torch.tensor([1]), reduction="sum")
    elif predicts == "classes":
        logits = out
        loss = torch.nn.functional.cross_entropy(logits, torch.arange(BATCH) % labels, reduction="sum")
    else:
        logits = out
        loss = ((logits[:, 0] - (0.5 * torch.arange(BATCH) - 0.25)) ** 2).sum()
    loss.backward()
    gradients = {name: torch.cat([tensors[part].grad.flatten() for part in parts]) for name, parts in names.items()}
    return loss.item(), logits.detach().flatten(), gradients


def settings_of(kind, predicts, labels):
    settings = {"position": "learned" if kind == "bert" else "rope", "norm_position": "post", "norm": "layer_norm",
                "norm_epsilon": 1e-12, "hidden_act": "gelu", "embedding_norm": True, "type_vocab_size": TYPES}
    if kind == "roformer":
        settings["pairing"] = "interleaved"
    if predicts == "tokens":
        return json.dumps(settings | {"output_transform": True, "tie_word_embeddings": True})
    return json.dumps(settings | {"num_labels": labels, "classifier_activation": "tanh" if kind == "bert" else "gelu"})


def main():
    numbered, table = {}, []
    with open(os.path.join(sys.argv[1], "bert_goldens.h"), "w", encoding="ascii") as out:
        print("/* SPDX-License-Identifier: Apache-2.0\n *\n * Made by tests/golden/make_bert_goldens.py with transformers "
              f"{transformers.__version__}: do not edit. Of each gradient\n * its dot product with cos(0.9 i + 0.5).\n */",
              file=out)
        for number, case in enumerate(CASES):
            loss, logits, gradients = run(*case)
            write_probes(out, f"bert_{number}", numbered, gradients)
            print(f"static const double bert_logits_{number}[] = {{", file=out)
            values = [f"{value:.9e}" for value in logits.tolist()]
            for first in range(0, len(values), 7):
                print("    " + ", ".join(values[first:first + 7]) + ",", file=out)
            print("};", file=out)
            choices = BATCH if case[1] == "choices" else 0
            table.append(f"    {{{json.dumps(settings_of(*case))}, {choices},\n     {loss:.12e}, bert_{number}, {len(gradients)}, "
                         f"bert_logits_{number}, {len(logits)}}},")
        print("static const char *const bert_names[] = {", file=out)
        for name in numbered:
            print(f'    "{name}",', file=out)
        print("};\nstatic const struct bert_case bert_cases[] = {\n" + "\n".join(table) + "\n};", file=out)


main()
