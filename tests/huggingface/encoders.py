# SPDX-License-Identifier: Apache-2.0
"""encoders.py ROTARY: compares the program with what transformers computed of the models in tests/huggingface/encoders, and
damages copies of them. synthetic_encoders.py compares more models, which it makes. Needs no library."""
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile

BOUND = 2e-6  # of probabilities, and of numbers relative to 1: sums of f32 in another order
HERE = os.path.dirname(os.path.abspath(__file__))
failures = []


def complain(text):
    print("FAILED:", text)
    failures.append(text)


def run(rotary, *arguments, text=""):
    done = subprocess.run([rotary, *arguments], input=text, capture_output=True, encoding="utf-8", check=False)
    return done.returncode, done.stdout, done.stderr


def read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def labels_of(folder):
    """Names of classes as the program has them."""
    names = read(os.path.join(folder, "config.json")).get("id2label", {"0": "LABEL_0", "1": "LABEL_1"})
    return [names[str(i)].removeprefix("LABEL_") for i in range(len(names))]


# ---- what is computed ----


def near(got, wanted, what):
    if len(got) != len(wanted) or not all(abs(a - b) <= BOUND * max(1, abs(b)) for a, b in zip(got, wanted)):
        complain(f"{what}: {got[:5]}, wanted {wanted[:5]}")


def filter_texts(rotary, command, folder, cases, *options):
    status, out, err = run(rotary, command, folder, "--json", "--precision", "f32", *options,
                           text="".join(case["text"] + "\n" for case in cases))
    if status:
        complain(f"{command} {folder}: {err}")
        return []
    return json.loads(out)["masks" if command == "fill" else "texts"]


def compare_masked(rotary, folder, cases):
    results = filter_texts(rotary, "fill", folder, cases, "--top-k", "1000")
    for case, masks in zip(cases, results):
        for wanted, guesses in zip(case["probabilities"], masks, strict=True):
            got = {guess["token"]: guess["probability"] for guess in guesses}
            near([got[i] for i in range(len(wanted))], wanted, f"fill {folder}, {case['text']}")
    return len(results)


def compare_classified(rotary, folder, cases):
    labels = labels_of(folder)
    results = filter_texts(rotary, "classify", folder, cases, *(["--top-k", "99"] if len(labels) > 1 else []))
    for case, result in zip(cases, results):
        got = {guess["label"]: guess["probability"] for guess in result.get("classes", [])}
        got = [result["value"]] if "value" in result else [got[label] for label in labels]
        near(got, case["values"], f"classify {folder}, {case['text']}")
    return len(results)


def read_array(path):
    """The f32 numbers of a .npy file, and its shape."""
    with open(path, "rb") as file:
        data = file.read()
    begin = 10 + struct.unpack("<H", data[8:10])[0]
    shape = tuple(int(word) for word in data[10:begin].decode().split("(")[1].split(")")[0].split(",") if word.strip())
    return shape, [row[0] for row in struct.iter_unpack("<f", data[begin:])]


def compare_attention(rotary, folder, wanted, scratch):
    """The weights of a heatmap."""
    out = os.path.join(scratch, "heatmap")
    status, result, err = run(rotary, "heatmap", folder, "--text", wanted["text"], "--output", out, "--json", "--precision", "f32")
    if status:
        complain(f"heatmap {folder}: {err}")
        return
    arrays = [name for name in json.loads(result)["files"] if name.endswith(".npy")]
    shape, got = read_array(arrays[0])
    weights = wanted["weights"]
    if shape != (len(weights), len(weights[0]), len(weights[0][0]), len(weights[0][0])):
        complain(f"heatmap {folder}: shape {shape}")
    near(got, [x for layer in weights for head in layer for row in head for x in row], f"heatmap {folder}")
    shutil.rmtree(out)


def write_table(folder, labels, cases):
    rows = [f"{case['text']}\t{labels[i % len(labels)]}\n" for i, case in enumerate(cases) if "\t" not in case["text"]]
    for name in ("train.tsv", "dev.tsv"):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write("sentence\tlabel\n" + "".join(rows))


STEP = ["--set", "sequence_length=32", "--set", "epochs=0", "--set", "batch_tokens=0", "--set", "batch_size=3", "--set",
        "warmup_steps=0", "--set", "log_every=1", "--precision", "f32", "--set", "dropout=0", "--set", "attention_dropout=0"]


def compare_loss(rotary, folder, expected, scratch):
    """Of the first step of a fine-tuning, and of an evaluation. Classes of a corpus are in the order of their names, so
    models with others are not trained here."""
    labels = labels_of(folder)
    if "loss" not in expected or labels != sorted(labels):
        return
    write_table(scratch, labels, expected["classified"])
    data = ["--set", "classification_data=" + scratch]
    out = os.path.join(scratch, "tuned")
    status, _, err = run(rotary, "train", "classification", "--init", folder, "--steps", "1", "--out", out, *STEP, *data)
    if status:
        complain(f"training from {folder}: {err}")
        return
    with open(os.path.join(out, "metrics.jsonl"), encoding="utf-8") as file:
        near([json.loads(file.readline())["loss"]], [expected["loss"]], f"the first loss from {folder}")
    status, result, err = run(rotary, "evaluate", folder, "--json", "--precision", "f32", *data)
    near([json.loads(result)["evaluation"]["loss"]] if status == 0 else [], [expected["loss"]], f"evaluate {folder} {err}")
    shutil.rmtree(out)


def compare(rotary, folder):
    expected = read(os.path.join(folder, "expected.json"))
    count = 0
    if "masked" in expected:
        count += compare_masked(rotary, folder, expected["masked"])
    if "classified" in expected:
        count += compare_classified(rotary, folder, expected["classified"])
    with tempfile.TemporaryDirectory() as scratch:
        compare_loss(rotary, folder, expected, scratch)
        if "attention" in expected:
            compare_attention(rotary, folder, expected["attention"], scratch)
            count += 1
    print(f"{os.path.basename(folder)}: {count} texts compared")
    if count == 0:
        complain(f"{folder}: nothing was compared")


# ---- other folders ----


def read_tensors(path):
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        data = file.read()
    header.pop("__metadata__", None)
    return {name: (row["dtype"], row["shape"], data[slice(*row["data_offsets"])]) for name, row in header.items()}


def write_tensors(path, tensors, length=0):
    """With a header that has, modulo 8, this length: data of other than 0 are not aligned, as MLX leaves them."""
    header, at = {}, 0
    tensors = dict(sorted(tensors.items(), key=lambda item: -int(item[1][0].replace("BOOL", "8").lstrip("BFIU"))))  # so that all are aligned
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + len(data)]}
        at += len(data)
    text = json.dumps(header).encode()
    text += b" " * ((length - len(text)) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(data for _, _, data in tensors.values()))


class Copy:
    """A copy of a folder, with other tensors and other keys; those of None are left out."""

    def __init__(self, folder, scratch):
        self.path = os.path.join(scratch, "copy")
        shutil.rmtree(self.path, ignore_errors=True)
        shutil.copytree(folder, self.path)

    def file(self, name):
        return os.path.join(self.path, name)

    def keys(self, **changes):
        config = read(self.file("config.json")) | changes
        with open(self.file("config.json"), "w", encoding="utf-8") as file:
            json.dump({key: value for key, value in config.items() if value is not None}, file)
        return self

    def tensors(self, change):
        tensors = read_tensors(self.file("model.safetensors"))
        write_tensors(self.file("model.safetensors"), change(tensors) or tensors)
        return self

    def unaligned(self, length):
        write_tensors(self.file("model.safetensors"), read_tensors(self.file("model.safetensors")), length)
        return self

    def shards(self, change=lambda tensors, index: None):
        """In two files with an index, which `change` may damage, given the list of tensors of each file."""
        tensors = read_tensors(self.file("model.safetensors"))
        os.remove(self.file("model.safetensors"))
        names = sorted(tensors)
        parts = [{name: tensors[name] for name in names[i::2]} for i in range(2)]
        index = {"metadata": {}, "weight_map": {name: f"model-{i % 2 + 1}.safetensors" for i, name in enumerate(names)}}
        change(parts, index)
        for i, part in enumerate(parts):
            write_tensors(self.file(f"model-{i + 1}.safetensors"), part)
        with open(self.file("model.safetensors.index.json"), "w", encoding="utf-8") as file:
            json.dump(index, file)
        return self


def with_nan(name, place=0):
    """One number of a tensor is NaN."""
    def change(tensors):
        dtype, shape, data = tensors[name]
        number = {"F16": b"\x00\x7e", "BF16": b"\xc0\x7f"}[dtype]
        return tensors | {name: (dtype, shape, data[:2 * place] + number + data[2 * place + 2:])}
    return change


def renamed(old, new):
    return lambda tensors: {name.replace(old, new): value for name, value in tensors.items()}


def old_names(tensors):
    """As checkpoints had them that were TensorFlow's, with what is no weight."""
    tensors = {name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): value
               for name, value in tensors.items()}
    return tensors | {"bert.embeddings.position_ids": ("I64", [1, 2], struct.pack("<2q", 0, 1)),
                      "cls.seq_relationship.weight": ("F32", [1], struct.pack("<f", 0))}


def compare_from(rotary, roformer, scratch):
    """Runs of a comparison have the vocabulary of the model that they begin with, whatever their own text has."""
    for name in ("train.txt", "valid.txt"):
        with open(os.path.join(scratch, name), "w", encoding="utf-8") as file:
            file.write("the cat sees a dog .\n\nthe dog sees an old tree .\n")
    model = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 24, "type_vocab_size": 2,
             "norm_epsilon": 1e-12, "pairing": "interleaved", "init": roformer, "masked_data": scratch}
    settings = [word for key, value in model.items() for word in ("--set", f"{key}={value}")]
    status, _, err = run(rotary, "compare", "masked", "--positions", "rope", "--runs", "1", "--steps", "1", "--out",
                         os.path.join(scratch, "compared"), *STEP, *settings)
    if status:
        complain(f"comparing from {roformer}: {err}")


def padded(tensors, logit=-1e4):
    """With three rows more than the vocabulary has tokens: their logits are `logit`."""
    result = {}
    for name, (dtype, shape, data) in tensors.items():
        if name.endswith(("word_embeddings.weight", "predictions.decoder.weight", "predictions.bias", "predictions.decoder.bias")):
            row = len(data) // shape[0]
            bias = struct.pack("<f", logit)[2:]  # of bf16
            shape, data = [shape[0] + 3, *shape[1:]], data + 3 * (bias if len(shape) == 1 else bytes(row))
        result[name] = (dtype, shape, data)
    return result


def accepts_padding(rotary, roformer, scratch):
    """A vocabulary with more rows than tokens, of the model and of a run that begins with it."""
    tokens = read(os.path.join(roformer, "config.json"))["vocab_size"]
    copy = Copy(roformer, scratch).tensors(padded).keys(vocab_size=tokens + 3)
    compare(rotary, copy.path)
    out = os.path.join(scratch, "padded")
    status, _, err = run(rotary, "train", "masked", "--init", copy.path, "--steps", "0", "--out", out, "--set", "epochs=0",
                         "--set", "sequence_length=32")
    if status:
        complain(f"training from a padded vocabulary: {err}")
        return
    if read(os.path.join(out, "config.json"))["vocab_size"] != tokens + 3:
        complain("a run does not have the padded vocabulary that it began with")
    compare_masked(rotary, out, read(os.path.join(roformer, "expected.json"))["masked"])
    likely = Copy(roformer, scratch).tensors(lambda tensors: padded(tensors, 50.0)).keys(vocab_size=tokens + 3)
    for guesses in filter_texts(rotary, "fill", likely.path, [{"text": "[MASK]"}]):
        if any(guess["token"] >= tokens for guess in guesses[0]):
            complain("fill names a row that only pads the vocabulary")


def accepts(rotary, bert, roformer, scratch):
    accepts_padding(rotary, roformer, scratch)
    compare(rotary, Copy(bert, scratch).tensors(old_names).path)
    more = Copy(roformer, scratch)
    with open(more.file("vocab.txt"), "a", encoding="utf-8") as file:
        file.write("beyond\n")
    compare(rotary, more.path)
    refuse(rotary, more, "wanted 0 ... 83, the vocabulary", text="beyond [MASK]\n")
    compare(rotary, Copy(roformer, scratch).tensors(renamed("roformer.", "")).path)
    compare(rotary, Copy(bert, scratch).shards().path)
    compare(rotary, Copy(bert, scratch).unaligned(5).path)
    unnamed = Copy(bert, scratch).keys(id2label={str(i): f"LABEL_{i}" for i in range(3)})
    compare(rotary, unnamed.path)
    compare_from(rotary, roformer, scratch)
    # The head for masks stays behind, and a classifier is new.
    out = os.path.join(scratch, "tuned")
    encoder = Copy(roformer, scratch).tensors(lambda tensors: {name: value for name, value in tensors.items()
                                                              if not name.startswith("cls.")})
    status, _, err = run(rotary, "train", "classification", "--init", encoder.path, "--steps", "0", "--out", out, *STEP)
    if status:
        complain(f"training from an encoder without a head: {err}")
        return
    ours = read_tensors(os.path.join(out, "model.safetensors"))
    theirs = read_tensors(os.path.join(roformer, "model.safetensors"))["roformer.encoder.layer.0.output.dense.weight"][2]
    bits = [half << 16 for half in struct.unpack(f"<{len(theirs) // 2}H", theirs)]  # of bf16
    if ours["layers.0.feed_forward.down.weight"][2] != struct.pack(f"<{len(bits)}I", *bits):
        complain("training from an encoder does not begin with its weights")
    if "classifier.weight" not in ours or "transform.dense.weight" in ours:
        complain("training from an encoder has another head")
    if "of another task's head" in err:
        complain(f"training from an encoder without a head: says {err}")
    status, _, err = run(rotary, "train", "classification", "--init", roformer, "--steps", "0", "--out", out + "-said", *STEP)
    if status or f"note: {roformer}: cls.predictions." not in err or " of another task's head, which is not used here" not in err:
        complain(f"training from an encoder with a head for masks: {err}")
    # And the other way round, whatever labels there were.
    out = os.path.join(scratch, "unlabelled")
    status, _, err = run(rotary, "train", "masked", "--init", bert, "--steps", "0", "--out", out, *STEP, "--set",
                         "masked_data=" + scratch)
    if "bert.pooler.dense.bias and 3 more are of another task's head" not in err:
        complain(f"training masked tokens from a classifier: says {err}")
    if status:
        complain(f"training masked tokens from a classifier: {err}")
    elif "classifier.weight" in read_tensors(os.path.join(out, "model.safetensors")):
        complain("training masked tokens from a classifier keeps its head")


def refuse(rotary, copy, words, command="fill", text="[MASK]\n"):
    """A command and its options, if it has any."""
    name, *options = command.split()
    status, out, err = run(rotary, name, copy.path, *options, text=text)
    if status != 1 or out or err.count("\n") != 1 or words not in err:
        complain(f"{command}: exit status {status}, \"{err.strip()}\", wanted \"{words}\"")


def without(name):
    return lambda tensors: {other: value for other, value in tensors.items() if other != name}


def misshapen(tensors):
    dtype, shape, data = tensors["roformer.encoder.layer.0.attention.self.key.weight"]
    tensors["roformer.encoder.layer.0.attention.self.key.weight"] = (dtype, [shape[0] * 2, shape[1] // 2], data)


def of_type(tensors):
    _, shape, data = tensors["roformer.embeddings.LayerNorm.bias"]
    tensors["roformer.embeddings.LayerNorm.bias"] = ("I16", shape, data)


def refuses(rotary, bert, roformer, scratch):
    refuse(rotary, Copy(bert, scratch).keys(is_causal=True), "\"is_causal\" is true", "classify", "a\n")
    for words, changes in {
        "\"model_type\" is \"gpt2\", wanted bert or roformer": {"model_type": "gpt2"},
        "\"hidden_act\" is \"gelu_new\", wanted relu or gelu": {"hidden_act": "gelu_new"},
        "\"rotary_value\" is true": {"rotary_value": True},
        "\"is_decoder\" is true": {"is_decoder": True},
        "\"add_cross_attention\" is true": {"add_cross_attention": True},
        "\"embedding_size\" is not": {"embedding_size": 8},
        "\"position_embedding_type\" is \"relative_key\"": {"position_embedding_type": "relative_key"},
        "is no multiple of": {"num_attention_heads": 3},
        "an odd number": {"num_attention_heads": 16},
        "\"layer_norm_eps\" is -1": {"layer_norm_eps": -1},
        "\"hidden_size\" is \"16\"": {"hidden_size": "16"},
        "no tensor roformer.encoder.layer.1.": {"num_hidden_layers": 2},
        "cls.predictions.decoder.weight": {"tie_word_embeddings": False},
        "wanted [20, 16]": {"vocab_size": 20},
        "word_embeddings.weight": {"vocab_size": 200},
    }.items():
        refuse(rotary, Copy(roformer, scratch).keys(**changes), words)
    for words, changes in {
        "\"problem_type\" is \"regression\"": {"problem_type": "regression"},
        "\"problem_type\" is \"multi_label_classification\"": {"problem_type": "multi_label_classification"},
        "\"id2label\" does not have 2 to 1024 different": {"id2label": {"0": "a", "1": "b", "2": "a"}},
        "classifier.weight has shape [": {"id2label": {"0": "a", "1": "b"}},
    }.items():
        refuse(rotary, Copy(bert, scratch).keys(**changes), words, "classify")
    refuse(rotary, Copy(roformer, scratch).tensors(without("cls.predictions.transform.dense.bias")), "no tensor cls.predictions.")
    query = "roformer.encoder.layer.0.attention.self.query.weight"
    extra = {"roformer.encoder.layer.0.crossattention.self.query.bias": ("F32", [1], struct.pack("<f", 0))}
    for words, change in {f"no tensor {query}": without(query), "self.key.weight has shape [32, 8], wanted [16, 16]": misshapen,
                          "is I16": of_type, "crossattention.self.query.bias is no part": lambda tensors: tensors | extra}.items():
        refuse(rotary, Copy(roformer, scratch).tensors(change), words)
    # One logit that is no number, among others that are: nothing is probable by them.
    for command, folder, name in ("fill", roformer, "cls.predictions.bias"), ("classify", bert, "classifier.bias"):
        copy = Copy(folder, scratch).tensors(with_nan(name, 1))
        refuse(rotary, copy, "line 1: the model's logits are not numbers", command)
    refuse_files(rotary, roformer, scratch)
    refuse_shards(rotary, roformer, scratch)


def moved(parts, _):
    name = sorted(parts[0])[0]
    parts[1][name] = parts[0].pop(name)


def refuse_shards(rotary, roformer, scratch):
    name = "roformer.embeddings.LayerNorm.bias"
    for words, change in {
        "is in model-2.safetensors, wanted it in model-1.safetensors": moved,
        "in none of the files": lambda parts, index: index["weight_map"].pop(name),
        "has no tensor roformer.more, as is said": lambda _, index: index["weight_map"].update({"roformer.more": "model-1.safetensors"}),
        "wanted the name of a .safetensors file": lambda _, index: index["weight_map"].update({name: "../model-1.safetensors"}),
        "is no text": lambda _, index: index["weight_map"].update({name: 1}),
        "cannot open": lambda _, index: index["weight_map"].update({name: "model-3.safetensors"}),
        "wanted a \"weight_map\"": lambda _, index: index.pop("weight_map"),
    }.items():
        refuse(rotary, Copy(roformer, scratch).shards(change), words)


def refuse_files(rotary, roformer, scratch):
    copy = Copy(roformer, scratch)
    os.truncate(copy.file("model.safetensors"), 3000)
    refuse(rotary, copy, "model.safetensors")
    os.remove(copy.file("model.safetensors"))
    refuse(rotary, copy, "has no model.safetensors")
    with open(copy.file("pytorch_model.bin"), "w", encoding="utf-8"):
        refuse(rotary, copy, "pickle")
    copy = Copy(roformer, scratch)
    os.remove(copy.file("vocab.txt"))
    refuse(rotary, copy, "vocabulary.json")


def main():
    rotary = os.path.realpath(sys.argv[1])
    bert, roformer = (os.path.join(HERE, "encoders", name) for name in ("bert-classes", "roformer-masked"))
    compare(rotary, bert)
    compare(rotary, roformer)
    with tempfile.TemporaryDirectory() as scratch:
        accepts(rotary, bert, roformer, scratch)
        refuses(rotary, bert, roformer, scratch)
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
