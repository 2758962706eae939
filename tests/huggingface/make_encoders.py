#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tiny BERT and RoFormer Hugging Face models with random weights into folders, as save_pretrained does, and beside
each what transformers computes of them for a few texts: expected.json. Those of tests/huggingface/encoders are smaller ones:

    python3 tests/huggingface/make_encoders.py FOLDER
    python3 tests/huggingface/make_encoders.py tests/huggingface/encoders kept
"""
import json
import os
import sys
import torch
import transformers

WORDS = ("the cat dog sees an old red tree by river and sleeps un ##happi ##ness ##s ##ing walk good bad film is not , . ! "
         "5 %").split()
PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + WORDS
LETTERS = [chr(code) for code in range(97, 123)]
PIECES += [piece for piece in LETTERS + ["##" + letter for letter in LETTERS] if piece not in PIECES]
MASKED = ["The [MASK] sees an old tree .", "Unhappiness [MASK] not good, walks [MASK] sleeps!", "[MASK]"]
TEXTS = ["The cat sees an old tree.", "unhappiness is NOT good", "a"]
PAIRS = [("the film is bad", "the film is not good"), ("a cat sleeps by the river .", "The dog!")]
# name: model type, class, what differs in the configuration, type of the stored tensors
CASES = {
    "bert-masked": ("bert", "MaskedLM", {}, "float32"),
    "roformer-masked": ("roformer", "MaskedLM", {}, "float32"),
    "roformer-padded": ("roformer", "MaskedLM", {"vocab_size": len(PIECES) + 7}, "float32"),
    "roformer-relu-f16": ("roformer", "MaskedLM", {"hidden_act": "relu", "layer_norm_eps": 1e-6}, "float16"),
    "bert-untied-bf16": ("bert", "MaskedLM", {"tie_word_embeddings": False}, "bfloat16"),
    # An output projection of its own, and its bias, which config.json then says are the embedding and the other bias.
    "bert-own-head": ("bert", "MaskedLM", {"tie_word_embeddings": False}, "float32"),
    "roformer-own-head": ("roformer", "MaskedLM", {"tie_word_embeddings": False}, "bfloat16"),
    "bert-pretraining": ("bert", "PreTraining", {}, "float32"),
    "bert-encoder": ("bert", "Model", {}, "float32"),
    "bert-classes": ("bert", "SequenceClassification", {"id2label": {0: "no", 1: "yes", 2: "perhaps"}}, "float32"),
    "roformer-classes": ("roformer", "SequenceClassification", {"num_labels": 2}, "float32"),
    "roformer-number": ("roformer", "SequenceClassification", {"num_labels": 1}, "float32"),
}

KEPT = {  # of one layer of 16 channels
    "bert-classes": CASES["bert-classes"][:3] + ("float16",),
    "roformer-masked": CASES["roformer-masked"][:3] + ("bfloat16",),
}
SMALL = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 24}


def create(family, head, changes):
    shared = {"vocab_size": len(PIECES), "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
              "intermediate_size": 48, "max_position_embeddings": 32, "type_vocab_size": 2}
    stem = {"bert": "Bert", "roformer": "RoFormer"}[family]
    config = getattr(transformers, stem + "Config")(**(shared | changes))
    name = stem + ("For" + head if head != "Model" else head)
    model = getattr(transformers, name)(config).eval()
    with torch.no_grad():  # so large that no bias, norm, type or position goes unnoticed
        for parameter in model.parameters():
            if parameter.requires_grad:
                parameter.add_(0.25 * torch.randn(parameter.shape))
    return model


def tokens_of(tokenizer, text, pair=None):
    return tokenizer(text, pair, return_tensors="pt")


def expected(model, tokenizer, head):
    if head in ("MaskedLM", "PreTraining"):
        result = []
        for text in MASKED:
            encoded = tokens_of(tokenizer, text)
            out = model(**encoded)
            logits = out.logits if head == "MaskedLM" else out.prediction_logits
            rows = logits[0][encoded["input_ids"][0] == tokenizer.mask_token_id]
            result.append(torch.softmax(rows.double(), -1)[:, :len(PIECES)].tolist())  # without rows that only pad
        return {"masked": [{"text": text, "probabilities": rows} for text, rows in zip(MASKED, result)]}
    if head == "Model":
        return {}
    result = []
    for first, second in [(text, None) for text in TEXTS] + PAIRS:
        logits = model(**tokens_of(tokenizer, first, second)).logits[0].double()
        values = logits if model.config.num_labels == 1 else torch.softmax(logits, -1)
        result.append({"text": first if second is None else first + "\t" + second, "values": values.tolist()})
    return {"classified": result}


def attention(folder, family, head):
    """The weights [layers, heads, queries, keys] of the first text."""
    if head not in ("MaskedLM", "SequenceClassification"):
        return {}
    text = (MASKED if head == "MaskedLM" else TEXTS)[0]
    stem = {"bert": "Bert", "roformer": "RoFormer"}[family]
    model = getattr(transformers, f"{stem}For{head}").from_pretrained(folder, dtype=torch.float32, attn_implementation="eager")
    exact_sines(model.eval(), family)
    tokenizer = transformers.BertTokenizer.from_pretrained(folder)
    with torch.no_grad():
        weights = model(**tokens_of(tokenizer, text), output_attentions=True).attentions
    return {"attention": {"text": text, "weights": [layer[0].tolist() for layer in weights]}}


def exact_sines(model, family):
    """The table of sines was rounded with the weights, which changes logits by some 1e-4."""
    if family == "roformer":
        table = model.roformer.encoder.embed_positions
        with torch.no_grad():
            table.weight.copy_(table.create_weight())


def loss(model, tokenizer, head):
    """Of the first text with its label: the first step of a fine-tuning without dropout."""
    if head != "SequenceClassification" or model.config.num_labels == 1:
        return {}
    losses = [model(**tokens_of(tokenizer, text), labels=torch.tensor([i % model.config.num_labels])).loss.item()
              for i, text in enumerate(TEXTS)]
    return {"loss": sum(losses) / len(losses)}


def write(folder, name, family, head, changes, dtype):
    torch.manual_seed(len(name))
    path = os.path.join(folder, name)
    os.makedirs(path, exist_ok=True)
    with open(os.path.join(path, "vocab.txt"), "w", encoding="utf-8") as out:
        out.write("\n".join(PIECES) + "\n")
    with open(os.path.join(path, "tokenizer_config.json"), "w", encoding="utf-8") as out:
        json.dump({"do_lower_case": True, "tokenizer_class": "BertTokenizer"}, out)
    tokenizer = transformers.BertTokenizer.from_pretrained(path)
    model = create(family, head, changes).to(getattr(torch, dtype))
    model.save_pretrained(path)
    if name.endswith("-own-head"):
        with open(os.path.join(path, "config.json"), encoding="utf-8") as file:
            said = json.load(file) | {"tie_word_embeddings": True}
        with open(os.path.join(path, "config.json"), "w", encoding="utf-8") as out:
            json.dump(said, out, indent=1)
    if name == "bert-classes":  # another folder as transformers itself writes it: tokenizer.json
        os.remove(os.path.join(path, "vocab.txt"))
        tokenizer.save_pretrained(path)
    model = type(model).from_pretrained(path, dtype=torch.float32).eval()
    exact_sines(model, family)
    with torch.no_grad():
        result = expected(model, tokenizer, head) | loss(model, tokenizer, head)
    result |= attention(path, family, head)
    with open(os.path.join(path, "expected.json"), "w", encoding="utf-8") as out:
        json.dump(result, out)


def make(folder, kept):
    for name, (family, head, changes, dtype) in (KEPT if kept else CASES).items():
        write(folder, name, family, head, (SMALL if kept else {}) | changes, dtype)


def main():
    make(sys.argv[1], sys.argv[2:] == ["kept"])


if __name__ == "__main__":
    main()
