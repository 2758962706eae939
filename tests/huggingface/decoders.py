# SPDX-License-Identifier: Apache-2.0
"""decoders.py ROTARY: compares what the program says of decoders with what transformers computed of them, the folders in
tests/huggingface/decoders, and damages copies of them. Needs no library."""
import ast
import json
import math
import os
import struct
import sys
import tempfile
import encoders
from encoders import Copy, complain, read, refuse, run

SPECIAL = "<|over|>"
BOUND = 1e-5  # of logits, relative to the largest of their model
HERE = os.path.dirname(os.path.abspath(__file__))


def read_npy(path):
    """The rows of a matrix of f32."""
    with open(path, "rb") as file:
        data = file.read()
    start = 10 + struct.unpack("<H", data[8:10])[0]
    rows, columns = ast.literal_eval(data[10:start].decode())["shape"]
    numbers = struct.unpack(f"<{rows * columns}f", data[start:])
    return [numbers[row * columns:(row + 1) * columns] for row in range(rows)]


def write_text(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def nats(logits, target):
    largest = max(logits)
    return math.log(sum(math.exp(x - largest) for x in logits)) + largest - logits[target]


def compare(rotary, folder, scratch):
    """Logits of the sequences, and their perplexity in one window."""
    expected = read(os.path.join(folder, "expected.json"))
    causal = read(os.path.join(folder, "config.json")).get("is_causal", True)
    tokens, out = os.path.join(scratch, "tokens.txt"), os.path.join(scratch, "logits.npy")
    worst, largest = 0, max(abs(x) for rows in expected["logits"] for row in rows for x in row)
    for sequence, wanted in zip(expected["sequences"], expected["logits"], strict=True):
        write_text(tokens, json.dumps(sequence))
        if len(sequence) < 2:
            continue
        status, text, err = run(rotary, "evaluate", folder, "--tokens", tokens, "--logits", out, "--json", "--precision", "f32",
                                "--context", str(len(sequence)))
        if status:
            complain(f"evaluate {folder}: {err}")
            return
        got = read_npy(out)
        worst = max([worst] + [abs(a - b) for x, y in zip(got, wanted, strict=True) for a, b in zip(x, y, strict=True)])
        if not causal:
            continue
        mean = sum(nats(row, token) for row, token in zip(wanted, sequence[1:])) / (len(sequence) - 1)
        if not abs(json.loads(text)["nats_per_token"] - mean) <= BOUND * largest:
            complain(f"evaluate {folder}: {text}, wanted {mean} nats per token")
    print(f"{os.path.basename(folder)}: logits up to {largest:.3g}, the largest difference is {worst / largest:.2g} of that")
    if not worst <= BOUND * largest:
        complain(f"{folder}: logits differ by {worst}")


def sees_all(rotary, folder, scratch):
    """A model without "is_causal" gives logits alone."""
    tokens = os.path.join(scratch, "tokens.txt")
    write_text(tokens, "[1, 2, 3]")
    copy = Copy(folder, scratch)
    status, text, err = run(rotary, "evaluate", folder, "--tokens", tokens, "--logits", os.path.join(scratch, "out.npy"), "--json")
    if status or json.loads(text)["tokens"] != 3:
        complain(f"evaluate {folder}: {text} {err}")
    for command in (f"evaluate --tokens {tokens}", "evaluate", "generate --prompt a", f"heatmap --text a --output {scratch}/heatmap"):
        refuse(rotary, copy, "\"is_causal\"", command)


def compare_windows(rotary, folder, scratch):
    """The windows of the documentation of transformers: each token is scored once, with what its window has before it."""
    sequence, context, stride = read(os.path.join(folder, "expected.json"))["sequences"][0], 7, 3
    tokens, part, out = (os.path.join(scratch, name) for name in ("tokens.txt", "part.txt", "part.npy"))
    write_text(tokens, json.dumps(sequence))
    total = scored = before = 0
    for begin in range(0, len(sequence), stride):
        window = sequence[begin:begin + context]
        write_text(part, json.dumps(window))
        run(rotary, "evaluate", folder, "--tokens", part, "--logits", out, "--precision", "f32")
        logits = read_npy(out)
        for place in range(max(before - begin, 1), len(window)):
            total, scored = total + nats(logits[place - 1], window[place]), scored + 1
        before = begin + len(window)
        if before == len(sequence):
            break
    _, text, _ = run(rotary, "evaluate", folder, "--tokens", tokens, "--context", str(context), "--stride", str(stride), "--json",
                     "--precision", "f32")
    result = json.loads(text)
    if result["scored"] != scored or not abs(result["nats_per_token"] - total / scored) <= 1e-5:
        complain(f"evaluate {folder}: {text}, wanted {total / scored} nats of {scored} tokens")


def tokenizer(size):
    """A tokenizer.json of letters."""
    vocabulary = {chr(97 + i): i for i in range(size)}
    return {"version": "1.0", "added_tokens": [], "normalizer": None, "post_processor": None,
            "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
            "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
            "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
                      "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "vocab": vocabulary, "merges": []}}


def generates(rotary, folder, scratch):
    """The most probable token after the other, and the score of a text that has a tokenizer."""
    copy, prompt = Copy(folder, scratch), "hgfedbb"
    size = read(copy.file("config.json"))["vocab_size"]
    write_text(copy.file("tokenizer.json"), json.dumps(tokenizer(size)))
    status, text, err = run(rotary, "generate", copy.path, "--prompt", prompt, "--max-new-tokens", "6", "--json", "--precision", "f32")
    if status and "PCRE2" in err:
        print("skipped: generate, as the program has no PCRE2")
        return
    tokens, out = os.path.join(scratch, "tokens.txt"), os.path.join(scratch, "logits.npy")
    wanted = [ord(letter) - 97 for letter in prompt]
    for _ in range(6):
        write_text(tokens, json.dumps(wanted))
        run(rotary, "evaluate", copy.path, "--tokens", tokens, "--logits", out, "--precision", "f32")
        last = read_npy(out)[-1]
        wanted.append(last.index(max(last)))
    continuation = "".join(chr(97 + token) for token in wanted[len(prompt):])
    if status or json.loads(text)["generated"] != continuation:
        complain(f"generate {folder}: {text} {err}, wanted {continuation}")
    write_text(tokens, "fade")
    status, text, err = run(rotary, "evaluate", copy.path, "--text", tokens, "--json")
    result = json.loads(text) if status == 0 else {}
    if status or result["tokens"] != 4 or result["bytes"] != 4 or \
            not abs(result["bits_per_byte"] - result["nats_per_token"] * 3 / 4 / math.log(2)) <= 1e-9:
        complain(f"evaluate {folder} --text: {text} {err}")
    write_text(copy.file("tokenizer.json"), json.dumps(tokenizer(size + 1)))
    # A token that the model does not have, as Gemma 3's for images: it is refused where it occurs.
    beyond = chr(97 + size)
    for options in ["--prompt", prompt], ["--prompt", prompt, "--temperature", "2", "--repetition-penalty", "1.2"]:
        status, longer, err = run(rotary, "generate", copy.path, *options, "--max-new-tokens", "6", "--precision", "f32")
        if status or "--temperature" not in options and longer != prompt + continuation + "\n":
            complain(f"generate {folder} with a token beyond its table: {longer} {err}")
    refuse(rotary, copy, f"the token \"{beyond}\", which is {size}: the model has 0 ... {size - 1}", "generate --prompt a" + beyond)
    write_text(tokens, "fade")
    if run(rotary, "evaluate", copy.path, "--text", tokens, "--json")[1] != text:
        complain(f"evaluate {folder} --text has another score where the vocabulary has a token beyond the table")
    write_text(tokens, "fa" + beyond + "e")
    refuse(rotary, copy, f"token 2 is {size}: wanted", "evaluate --text " + tokens)
    trains_beyond(rotary, copy, beyond, scratch)


def trains_beyond(rotary, copy, beyond, scratch):
    """Training takes such a vocabulary too, and refuses the token in a batch."""
    write_text(copy.file("tokenizer_config.json"), json.dumps({"eos_token": "a"}))
    data, out = os.path.join(scratch, "data"), os.path.join(scratch, "trained")
    os.makedirs(data)
    for name, text in {"train.txt": "fade\n\n" * 60, "valid.txt": "fade\n\n" * 20}.items():
        write_text(os.path.join(data, name), text.replace("\n", "b"))
    arguments = ["--init", copy.path, "--steps", "1", "--set", "language_data=" + data, "--set", "sequence_length=16", "--out"]
    status, _, err = run(rotary, "train", "language", *arguments, out)
    if status or run(rotary, "evaluate", out)[0]:
        complain(f"training from {copy.path}: {err}")
    write_text(os.path.join(data, "train.txt"), ("fad" + beyond) * 100)
    status, _, err = run(rotary, "train", "language", *arguments, out + "2")
    if status != 1 or "wanted 0 ..." not in err:
        complain(f"training on a token beyond the table: {status} {err}")


def ends(rotary, folder, scratch):
    """What is generated ends as transformers ends it: at an eos_token_id of generation_config.json, which decides alone where it
    is there, or of config.json; and at the tokenizer's end where neither says."""
    prompt, size = "ponm", read(os.path.join(folder, "config.json"))["vocab_size"]

    def generate(copy, *options):
        status, text, err = run(rotary, "generate", copy.path, "--prompt", prompt, "--max-new-tokens", "6", "--json", "--precision",
                                "f32", *options)
        return (json.loads(text) if status == 0 else {}), err

    def folder_with(generation=None, names=None, older=None, special=None, **keys):
        copy = Copy(folder, scratch).keys(**{"eos_token_id": None, **keys})
        letters = tokenizer(size)
        if special is not None:
            del letters["model"]["vocab"][chr(97 + special)]
            letters["added_tokens"] = [{"id": special, "content": SPECIAL, "single_word": False, "lstrip": False, "rstrip": False,
                                        "normalized": False, "special": True}]
        write_text(copy.file("tokenizer.json"), json.dumps(letters))
        for name, value in {"generation_config.json": generation, "tokenizer_config.json": names, "special_tokens_map.json": older}.items():
            if value is not None:
                write_text(copy.file(name), json.dumps(value))
        return copy

    whole, err = generate(folder_with())
    if not whole and "PCRE2" in err:
        return
    letters = whole["generated"]
    tokens = [ord(letter) - 97 for letter in letters]
    absent = next(token for token in range(size) if token not in tokens)
    first, second = 1, 2
    if len(set(letters[:3])) < 3 or set(letters[:3]) & set(prompt):
        complain(f"generate {folder}: {letters}, wanted three letters that are not in {prompt}")
    for what, place, copy in [
            ("config.json", first, {"eos_token_id": tokens[1]}),
            ("a list of config.json", min(first, second), {"eos_token_id": [tokens[2], absent, tokens[1]]}),
            ("generation_config.json", second, {"generation": {"eos_token_id": tokens[2]}, "eos_token_id": tokens[1]}),
            ("a list of generation_config.json", second, {"generation": {"eos_token_id": [absent, tokens[2]]}}),
            ("generation_config.json without one", None, {"generation": {"do_sample": False}, "eos_token_id": tokens[1]}),
            ("generation_config.json with null", None, {"generation": {"eos_token_id": None}, "names": {"eos_token": letters[1]}}),
            ("another token", None, {"eos_token_id": absent, "names": {"eos_token": letters[1]}}),
            ("a token beyond the table, and none", None, {"eos_token_id": [size + 3, -1], "names": {"eos_token": letters[1]}}),
            ("tokenizer_config.json", first, {"names": {"eos_token": letters[1]}}),
            ("special_tokens_map.json", second, {"older": {"eos_token": {"content": letters[2]}}}),
            ("both", second, {"names": {"eos_token": letters[1]}, "older": {"eos_token": letters[2]}}),
            ("added_tokens_decoder", first, {"names": {"eos_token": letters[1], "added_tokens_decoder": {}},
                                             "older": {"eos_token": letters[2]}})]:
        got, err = generate(folder_with(**copy))
        wanted = ("length", 6) if place is None else ("end", place + 1)
        if (got.get("finish"), got.get("tokens")) != wanted or got.get("generated") != letters[:6 if place is None else place]:
            complain(f"generate ends by {what}: {got} {err}, wanted {wanted}")
        if ("names no eos_token_id" in err) != (what == "generation_config.json with null"):
            complain(f"generate ends by {what}: says {err}")
    for value in "2", 1.5, [True], {"a": 1}:
        refuse(rotary, folder_with(eos_token_id=value), "\"eos_token_id\" is no token", "generate --prompt a")
    refuse(rotary, folder_with(older={"eos_token": 3}), "special_tokens_map.json: \"eos_token\" is no token", "generate --prompt a")
    stops(generate, folder_with, prompt, letters)
    exports_ends(rotary, folder_with(eos_token_id=[tokens[2], tokens[1]], names={"eos_token": letters[1]}), scratch)


def stops(generate, folder_with, prompt, letters):
    """A special token has no text: it is named. A text that cannot occur is said to be one."""
    place = 2
    copy = folder_with(special=ord(letters[place]) - 97)
    for options, finish in ([], "length"), (["--stop", letters[:2] + "a", "--stop", SPECIAL], "stop"):
        got, err = generate(copy, *options)
        shown = letters.replace(letters[place], "") if finish == "length" else letters[:place]
        if (got.get("finish"), got.get("tokens"), got.get("generated")) != (finish, 6 if finish == "length" else place + 1, shown):
            complain(f"generate {options} with a special token: {got} {err}, wanted {shown}")
    for stop, words in {"##": "\"##\" cannot occur", "a" + SPECIAL: f"has the special token {SPECIAL}"}.items():
        got, err = generate(copy, "--stop", stop)
        if got or "--stop " not in err or words not in err:
            complain(f"--stop {stop}: {got} {err}")
    got, err = generate(folder_with(special=0), "--stop", SPECIAL)
    if got.get("finish") != "length":
        complain(f"--stop of a token that does not come: {got} {err}")
    copy = folder_with(special=18)
    letters19 = read(copy.file("tokenizer.json"))
    letters19["added_tokens"][0]["id"] = 19
    write_text(copy.file("tokenizer.json"), json.dumps(letters19))
    got, err = generate(copy, "--stop", SPECIAL)
    if got or "--stop names token 19, which cannot occur: the model has 0 ... 18" not in err:
        complain(f"--stop of a token that the model does not have: {got} {err}")
    got, err = generate(folder_with(special=ord(letters[place]) - 97, eos_token_id=ord(letters[place]) - 97))
    if (got.get("finish"), got.get("tokens")) != ("end", place + 1):
        complain(f"generate ends by a special token: {got} {err}")


def exports_ends(rotary, copy, scratch):
    """An exported folder has all ends."""
    out = os.path.join(scratch, "exported")
    status, _, err = run(rotary, "export", copy.path, "--format", "huggingface", "--out", out)
    wanted = read(copy.file("config.json"))["eos_token_id"]
    if status or any(read(os.path.join(out, name))["eos_token_id"] != wanted for name in ("config.json", "generation_config.json")):
        complain(f"export of several ends: {err}")


def without(name):
    return lambda tensors: {other: value for other, value in tensors.items() if other != name}


def changed(name, dtype, factor):
    def change(tensors):
        _, shape, data = tensors[name]
        return tensors | {name: (dtype, [shape[0] * factor] + shape[1:], data * factor)}
    return change


def is_not_numbers(rotary, mistral, scratch):
    """A model whose logits are not numbers, all of them or that of one token: nothing is generated or scored, and no file written."""
    tokens, out, prompts = (os.path.join(scratch, name) for name in ("tokens.txt", "none.npy", "prompts.txt"))
    write_text(tokens, "[1, 2, 3]")
    write_text(prompts, "abc\nbcd\n")
    row = read(os.path.join(mistral, "config.json"))["hidden_size"]
    sampled = [[], ["--temperature", "1"], *(["--temperature", "1", name, value] for name, value in
                                             {"--top-k": "3", "--top-p": "0.5", "--min-p": "0.1"}.items())]
    for name, place in ("model.norm.weight", 0), ("lm_head.weight", 5 * row):
        copy = Copy(mistral, scratch).tensors(encoders.with_nan(name, place))
        write_text(copy.file("tokenizer.json"), json.dumps(tokenizer(19)))
        for options in [["--prompt", "abc", *more] for more in sampled] + [["--prompt", "abc", "--json"], ["--prompts", prompts]]:
            status, text, err = run(rotary, "generate", copy.path, "--max-new-tokens", "8", *options)
            if "PCRE2" in err:
                break
            if status != 1 or text not in ("", "abc") or err != "rotary: prompt 0: the model's logits are not numbers\n":
                complain(f"generate {options} with a NaN in {name}: {status} {text} {err}")
        os.remove(copy.file("tokenizer.json"))
        for options in "", " --json", " --logits " + out:
            refuse(rotary, copy, f"{copy.path}: the model's loss is not a number: it is NaN on {tokens}",
                   f"evaluate --tokens {tokens}{options}")
        if os.path.exists(out):
            complain("evaluate writes logits and fails")


def refuses(rotary, mistral, neox, scratch):
    write_text(os.path.join(scratch, "tokens.txt"), "[1, 2, 3]")
    command = "evaluate --tokens " + os.path.join(scratch, "tokens.txt")
    unnamed = Copy(mistral, scratch)
    unnamed.path += "\udcff"  # a byte that is no UTF-8
    os.rename(os.path.join(scratch, "copy"), unnamed.path)
    refuse(rotary, unnamed, "as JSON: a name that is not UTF-8, or a number that is not finite", command + " --json")
    for words, changes in {
        "\"quantization_config\": weights are quantised (awq)": {"quantization_config": {"quant_method": "awq"}},
        "names MistralForTokenClassification, wanted MistralForCausalLM": {"architectures": ["MistralForTokenClassification"]},
        "no tensor model.layers.2.": {"num_hidden_layers": 3},
        "is no part of a model of 1 layers": {"num_hidden_layers": 1},
        "wanted [19, 32]": {"hidden_size": 32},
        "\"hidden_act\" is tanh": {"hidden_act": "tanh"},
    }.items():
        refuse(rotary, Copy(mistral, scratch).keys(**changes), words, command)
    refuse(rotary, Copy(mistral, scratch).keys(model_type="mamba"), "\"model_type\"", command)
    dense = "gpt_neox.layers.1.attention.dense.bias"
    for words, change in {f"no tensor {dense}": without(dense), "is I16": changed(dense, "I16", 1),
                          "has shape [": changed(dense, "F16", 2),
                          "lora_A.weight is no part": lambda tensors: tensors | {"gpt_neox.lora_A.weight": tensors[dense]}}.items():
        refuse(rotary, Copy(neox, scratch).tensors(change), words, command)
    copy = Copy(neox, scratch)
    os.truncate(copy.file("model.safetensors"), 3000)
    refuse(rotary, copy, "model.safetensors", command)
    os.remove(copy.file("model.safetensors"))
    refuse(rotary, copy, "has no model.safetensors", command)
    copy = Copy(neox, scratch)
    refuse(rotary, copy, "has no vocabulary", "fill")
    refuse(rotary, copy, "neither tokenizer.json nor tokenizer.model", "generate --prompt a")
    for words, text in {"byte 5 begins no number": "[1, x]", "wanted at least 2": "[1]", "token 1 is 9999": "1 9999",
                        "byte 6 begins no number": "1 2 3\0 9 9 9 9", "byte 1 begins no number": "\0001 2 3"}.items():
        write_text(os.path.join(scratch, "tokens.txt"), text)
        refuse(rotary, copy, words, command)


def main():
    rotary = os.path.realpath(sys.argv[1])
    folders = sorted(os.listdir(os.path.join(HERE, "decoders")))
    paths = {name: os.path.join(HERE, "decoders", name) for name in folders}
    with tempfile.TemporaryDirectory() as scratch:
        for path in paths.values():
            compare(rotary, path, scratch)
        for name, length in {"mistral": 2, "gpt-neox": 5, "olmo2": 1}.items():
            compare(rotary, Copy(paths[name], scratch).unaligned(length).path, scratch)
        compare_windows(rotary, paths["mistral"], scratch)
        sees_all(rotary, paths["qwen3-sees-all"], scratch)
        generates(rotary, paths["mistral"], scratch)
        ends(rotary, paths["mistral"], scratch)
        is_not_numbers(rotary, paths["mistral"], scratch)
        refuses(rotary, paths["mistral"], paths["gpt-neox"], scratch)
    if not folders:
        complain("there are no decoders")
    sys.exit(bool(encoders.failures))


if __name__ == "__main__":
    main()
