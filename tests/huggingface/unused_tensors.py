# SPDX-License-Identifier: Apache-2.0
"""unused_tensors.py ROTARY: output projections beside an embedding that config.json ties them to, and tensors that no model
uses. No tensor of a file goes unused unless its values are those that follow. The logits that are wanted are those that
transformers computed of the models in tests/huggingface, or those of the same tensors with tie_word_embeddings false, as
transformers does not tie two that differ. Needs no library."""
import json
import math
import os
import struct
import sys
import tempfile
import decoders
import encoders
from encoders import Copy, complain, read, read_tensors, refuse, run, write_tensors

HERE = os.path.dirname(os.path.abspath(__file__))
EMBEDDINGS = {"embed_out.weight": "gpt_neox.embed_in.weight", "lm_head.weight": "model.embed_tokens.weight"}


def negated(tensor):
    """Other values of the same size: -x of each x."""
    dtype, shape, data = tensor
    size = int(dtype.lstrip("BFI")) // 8
    return dtype, shape, bytes(byte ^ 0x80 if i % size == size - 1 else byte for i, byte in enumerate(data))


def one_changed(tensor):
    dtype, shape, data = tensor
    return dtype, shape, data[:-1] + bytes([data[-1] ^ 0x80])


def in_f32(tensor):
    dtype, shape, data = tensor
    if dtype == "BF16":
        numbers = [half << 16 for half in struct.unpack(f"<{len(data) // 2}H", data)]
        return "F32", shape, struct.pack(f"<{len(numbers)}I", *numbers)
    numbers = struct.unpack(f"<{len(data) // 2}e", data) if dtype == "F16" else struct.unpack(f"<{len(data) // 4}f", data)
    return "F32", shape, struct.pack(f"<{len(numbers)}f", *numbers)


def one_larger(tensor):
    dtype, shape, data = in_f32(tensor)
    return dtype, shape, data[:-4] + struct.pack("<f", 9.0)


def copy_of(folder, scratch, change=lambda tensors: None):
    """A copy in one file."""
    copy, tensors = Copy(folder, scratch), {}
    for name in sorted(os.listdir(copy.path)):
        if name.endswith(".safetensors"):
            tensors |= read_tensors(copy.file(name))
        if ".safetensors" in name:
            os.remove(copy.file(name))
    write_tensors(copy.file("model.safetensors"), change(tensors) or tensors)
    return copy


def output_of(folder):
    return "embed_out.weight" if "neox" in folder else "lm_head.weight"


def logits_of(rotary, path, scratch):
    tokens, out = os.path.join(scratch, "tokens.txt"), os.path.join(scratch, "logits.npy")
    decoders.write_text(tokens, "[3, 1, 4, 1, 5, 9, 2, 6]")
    status, _, err = run(rotary, "evaluate", path, "--tokens", tokens, "--logits", out, "--precision", "f32")
    if status:
        complain(f"evaluate {path}: {err}")
        return None
    return decoders.read_npy(out)


# ---- output projections of decoders ----


def ties(rotary, folder, scratch):
    output = output_of(folder)
    embedding, own = EMBEDDINGS[output], output in read_tensors_of(folder)
    tied = logits_of(rotary, copy_of(folder, scratch, lambda tensors: without(tensors, output)).keys(
        tie_word_embeddings=True).path, scratch)
    if own:  # what transformers computed of a head of its own holds, whatever config.json says
        decoders.compare(rotary, copy_of(folder, scratch).keys(tie_word_embeddings=True).path, scratch)
    for what, change in {"a copy": lambda tensors: tensors[embedding], "a copy in f32": lambda tensors: in_f32(tensors[embedding])}.items():
        copy = copy_of(folder, scratch, lambda tensors, change=change: tensors | {output: change(tensors)})
        if logits_of(rotary, copy.keys(tie_word_embeddings=True).path, scratch) != tied:
            complain(f"{folder}: {what} of the embedding is not tied to it")
    copy = copy_of(folder, scratch, lambda tensors: without(tensors, embedding) | {output: tensors[embedding]})
    if logits_of(rotary, copy.keys(tie_word_embeddings=True).path, scratch) != tied:
        complain(f"{folder}: an output projection alone is not the embedding")
    for change in negated, one_changed, one_larger:
        copy = copy_of(folder, scratch, lambda tensors, change=change: tensors | {output: change(tensors[embedding])})
        got = logits_of(rotary, copy.keys(tie_word_embeddings=True).path, scratch)
        if got != logits_of(rotary, copy.keys(tie_word_embeddings=False).path, scratch) or got == tied:
            complain(f"{folder}: an output projection of its own is not used ({change.__name__})")
    refuse_ties(rotary, folder, scratch)


def renames_output(rotary, neox, scratch):
    """transformers reads the output projection of a GPT-NeoX by its own name for it too."""
    def rename(tensors):
        return without(tensors, "embed_out.weight") | {"lm_head.weight": tensors["embed_out.weight"]}
    for tied in True, False:
        decoders.compare(rotary, copy_of(neox, scratch, rename).keys(tie_word_embeddings=tied).path, scratch)
    both = copy_of(neox, scratch, lambda tensors: tensors | {"lm_head.weight": tensors["embed_out.weight"]})
    refuse(rotary, both, "lm_head.weight is no part", "evaluate --tokens " + os.path.join(scratch, "tokens.txt"))


def refuse_ties(rotary, folder, scratch):
    output = output_of(folder)
    embedding = EMBEDDINGS[output]
    command = "evaluate --tokens " + os.path.join(scratch, "tokens.txt")
    for words, change in {
        f"{output} has shape [20, 16], wanted [19, 16]": lambda name, shape, data: (name, [20, 16], data + data[:len(data) // 19]),
        f"{output} has shape [16, 19], wanted [19, 16]": lambda name, shape, data: (name, [16, 19], data),
        f"{output} is I8": lambda name, shape, data: ("I8", [19, 16], data[:19 * 16]),
    }.items():
        copy = copy_of(folder, scratch, lambda tensors, change=change: tensors | {output: change(*tensors[embedding])})
        for tied in True, False:
            refuse(rotary, copy.keys(tie_word_embeddings=tied), words, command)


def read_tensors_of(folder):
    return {name for file in os.listdir(folder) if file.endswith(".safetensors") for name in read_tensors(os.path.join(folder, file))}


def without(tensors, name):
    return {other: value for other, value in tensors.items() if other != name}


def goes_on(rotary, folder, scratch):
    """A model that is not tied stays so where it is exported, trained and adapted."""
    output = output_of(folder)
    copy = copy_of(folder, scratch, lambda tensors: tensors | {output: negated(tensors[EMBEDDINGS[output]])})
    copy.keys(tie_word_embeddings=True)
    wanted, head = logits_of(rotary, copy.path, scratch), read_tensors(copy.file("model.safetensors"))[output]
    exported, trained = os.path.join(scratch, "exported"), os.path.join(scratch, "trained")
    status, _, err = run(rotary, "export", copy.path, "--format", "huggingface", "--out", exported)
    if status:
        complain(f"export {folder}: {err}")
    elif read(os.path.join(exported, "config.json"))["tie_word_embeddings"] is not False or \
            logits_of(rotary, exported, scratch) != wanted:
        complain(f"export {folder}: is another model")
    letters = decoders.tokenizer(19)
    decoders.write_text(copy.file("tokenizer.json"), json.dumps(letters))
    decoders.write_text(copy.file("tokenizer_config.json"), json.dumps({"eos_token": "a"}))
    data = os.path.join(scratch, "data")
    os.makedirs(data, exist_ok=True)
    for name in "train.txt", "valid.txt":
        decoders.write_text(os.path.join(data, name), "bcdefgh" * 100)
    begin = ["--init", copy.path, "--set", "language_data=" + data, "--set", "sequence_length=16", "--set", "batch_size=2"]
    for name, options in {"plain": ["--steps", "0"], "lora": ["--steps", "1", "--set", "lora_rank=2", "--set", "lora_targets=all"]}.items():
        status, _, err = run(rotary, "train", "language", "--out", trained + name, *begin, *options)
        if status and "PCRE2" in err:
            return
        if status:
            complain(f"train from {folder}: {err}")
            continue
        config, tensors = read(os.path.join(trained + name, "config.json")), read_tensors(os.path.join(trained + name, "model.safetensors"))
        if config["tie_word_embeddings"] is not False or tensors["output.weight"] != in_f32(head):
            complain(f"train from {folder}, {name}: the output projection is another")


# ---- encoders ----


def encoder_heads(rotary, roformer, bert, scratch):
    embedding, output = "roformer.embeddings.word_embeddings.weight", "cls.predictions.decoder.weight"
    bias, decoder_bias = "cls.predictions.bias", "cls.predictions.decoder.bias"
    texts = ["a [MASK] b", "[MASK] the cat"]

    def fill(copy):
        status, out, err = run(rotary, "fill", copy.path, "--json", "--precision", "f32", "--top-k", "100",
                               text="".join(text + "\n" for text in texts))
        if status:
            complain(f"fill {copy.path}: {err}")
        return (json.loads(out)["masks"] if status == 0 else None), err

    tied, err = fill(Copy(roformer, scratch))
    if err:
        complain(f"fill {roformer} says {err}")
    for what, same, said, change in [
            ("a copy", True, False, lambda t: t | {output: t[embedding]}),
            ("a copy in f32", True, False, lambda t: t | {output: in_f32(t[embedding])}),
            ("an output projection alone", True, False, lambda t: without(t, embedding) | {output: t[embedding]}),
            ("a copy of the bias", True, False, lambda t: t | {decoder_bias: t[bias]}),
            ("the bias by its other name", True, False, lambda t: without(t, bias) | {decoder_bias: t[bias]}),
            ("another bias", False, True, lambda t: t | {decoder_bias: negated(t[bias])}),
            ("another output projection", False, False, lambda t: t | {output: negated(t[embedding])}),
            ("heads of other tasks", True, True, lambda t: t | {"cls.seq_relationship.bias": ("F32", [2], bytes(8)), "qa_outputs.bias": ("F32", [2], bytes(8))})]:
        got, err = fill(Copy(roformer, scratch).tensors(change))
        if (got == tied) != same or bool(err) != said:
            complain(f"fill with {what}: {'the same' if got == tied else 'another result'}, says \"{err}\"")
        if what == "heads of other tasks" and "cls.seq_relationship.bias and 1 more are of another task's head" not in err:
            complain(f"fill with {what}: says \"{err}\"")
    other = {output: ("BF16", [84, 16], bytes(84 * 32))}
    refuse(rotary, Copy(roformer, scratch).tensors(lambda t: t | {output: ("BF16", [85, 16], bytes(85 * 32))}),
           f"{output} has shape [85, 16], wanted [84, 16]")
    refuse(rotary, Copy(roformer, scratch).tensors(lambda t: t | {"roformer.extra.weight": other[output]}), "roformer.extra.weight is no part")
    for what, change in {"": lambda t: t["bert.embeddings.word_embeddings.weight"],
                         "cls.predictions.decoder.weight is of another": lambda t: negated(t["bert.embeddings.word_embeddings.weight"])}.items():
        copy = Copy(bert, scratch).tensors(lambda t, change=change: t | {"cls.predictions.decoder.weight": change(t)})
        status, _, err = run(rotary, "classify", copy.path, text="a\n")
        if status or bool(err) != bool(what) or what not in err:
            complain(f"classify with a head for masks: {err}")


# ---- what is no weight ----


def in_dtype(numbers, dtype, shape=None):
    shape = shape or [len(numbers)]
    if dtype == "BF16":  # rounded to nearest
        bits = [struct.unpack("<I", struct.pack("<f", x))[0] for x in numbers]
        return "BF16", shape, struct.pack(f"<{len(numbers)}H", *[(b + 0x7fff + (b >> 16 & 1)) >> 16 for b in bits])
    return dtype, shape, struct.pack(f"<{len(numbers)}{ {'F32': 'f', 'F16': 'e', 'I64': 'q', 'U8': 'B', 'BOOL': 'B', 'F64': 'd'}[dtype] }", *numbers)


def frequencies(base, dim):
    return [base ** (-2 * i / dim) for i in range(dim // 2)]


def buffers(rotary, paths, scratch):
    command = "evaluate --tokens " + os.path.join(scratch, "tokens.txt")
    mask = [float(column <= row) for row in range(8) for column in range(8)]
    layer = {"mistral": "model.layers.1.self_attn.rotary_emb.inv_freq", "gpt-neox": "gpt_neox.layers.0.attention.rotary_emb.inv_freq",
             "gemma3-raw": "model.rotary_emb.inv_freq"}
    neox = "gpt_neox.layers.0.attention."
    wave = frequencies(10000, 16)
    for name, tensor, right in [
            ("mistral", {layer["mistral"]: in_dtype(wave, "F32")}, True),
            ("mistral", {layer["mistral"]: in_dtype(wave, "BF16")}, True),
            ("mistral", {layer["mistral"]: in_dtype(wave, "F16")}, True),
            ("mistral", {layer["mistral"]: in_dtype(frequencies(10010, 16), "F32")}, False),
            ("mistral", {layer["mistral"]: in_dtype(frequencies(500000, 16), "F32")}, False),
            ("mistral", {layer["mistral"]: in_dtype(frequencies(12000, 16), "BF16")}, False),
            ("mistral", {layer["mistral"]: in_dtype(frequencies(10000, 8), "F32")}, False),
            ("mistral", {layer["mistral"]: in_dtype(wave[:-1] + [math.nan], "F32")}, False),
            ("gpt-neox", {layer["gpt-neox"]: in_dtype(frequencies(10000, 2), "F32")}, True),
            ("gpt-neox", {neox + "bias": in_dtype([int(x) for x in mask], "BOOL", [1, 1, 8, 8])}, True),
            ("gpt-neox", {neox + "bias": in_dtype(mask, "F16", [1, 1, 8, 8])}, True),
            ("gpt-neox", {neox + "bias": in_dtype([int(x) for x in mask[:5] + [1.0] + mask[6:]], "U8", [1, 1, 8, 8])}, False),
            ("gpt-neox", {neox + "bias": in_dtype([1.0] * 16, "F32")}, False),
            ("gpt-neox", {neox + "masked_bias": in_dtype([-1e9], "F32", [])}, True),
            ("gpt-neox", {neox + "masked_bias": in_dtype([-1e9], "BF16", [])}, True),
            ("gpt-neox", {neox + "masked_bias": in_dtype([-1.0], "F32", [])}, False),
            ("gemma3-raw", {layer["gemma3-raw"]: in_dtype([x / 8 for x in frequencies(90000, 16)], "F32")}, True),
            ("gemma3-raw", {layer["gemma3-raw"]: in_dtype(frequencies(90000, 16), "F32")}, True),
            ("gemma3-raw", {layer["gemma3-raw"]: in_dtype(frequencies(500, 16), "F32")}, True),
            ("gemma3-raw", {layer["gemma3-raw"]: in_dtype(frequencies(10000, 16), "F32")}, False)]:
        copy = Copy(paths[name], scratch).tensors(lambda tensors, tensor=tensor: tensors | tensor)
        key = next(iter(tensor))
        if not right:
            refuse(rotary, copy, f"{key} is not used, and has other values", command)
        elif logits_of(rotary, copy.path, scratch) != logits_of(rotary, paths[name], scratch):
            complain(f"{name} with a right {key} is another model")


def sines(count, dim, dtype, base=10000.0):
    angles = [[place * base ** (-2 * i / dim) for i in range(dim // 2)] for place in range(count)]
    return in_dtype([x for row in angles for x in [math.sin(a) for a in row] + [math.cos(a) for a in row]], dtype, [count, dim])


def encoder_buffers(rotary, roformer, scratch):
    name = "roformer.encoder.embed_positions.weight"
    places, table = "roformer.embeddings.position_ids", read_tensors(os.path.join(roformer, "model.safetensors"))[name]
    for tensor, right in [({name: sines(32, 8, "F32")}, True), ({name: sines(32, 8, "BF16")}, True), ({name: sines(32, 8, "F16")}, True),
                          ({name: sines(32, 8, "F32", 5000.0)}, False), ({name: negated(table)}, False), ({name: one_changed(table)}, False),
                          ({places: in_dtype(list(range(32)), "I64", [1, 32])}, True),
                          ({places: in_dtype(list(range(1, 33)), "I64", [1, 32])}, False)]:
        copy = Copy(roformer, scratch).tensors(lambda tensors, tensor=tensor: tensors | tensor)
        key = next(iter(tensor))
        if not right:
            refuse(rotary, copy, f"{key} is not used, and has other values")
        else:
            status, _, err = run(rotary, "fill", copy.path, text="[MASK]\n")
            if status or err:
                complain(f"fill with a right {key}: {err}")


def main():
    rotary = os.path.realpath(sys.argv[1])
    folder = os.path.join(HERE, "decoders")
    paths = {name: os.path.join(folder, name) for name in sorted(os.listdir(folder))}
    roformer, bert = (os.path.join(HERE, "encoders", name) for name in ("roformer-masked", "bert-classes"))
    with tempfile.TemporaryDirectory() as scratch:
        for path in paths.values():
            ties(rotary, path, scratch)
        renames_output(rotary, paths["gpt-neox"], scratch)
        for name in "mistral", "gpt-neox":
            os.mkdir(os.path.join(scratch, name))
            goes_on(rotary, paths[name], os.path.join(scratch, name))
        encoder_heads(rotary, roformer, bert, scratch)
        buffers(rotary, paths, scratch)
        encoder_buffers(rotary, roformer, scratch)
    sys.exit(bool(encoders.failures))


if __name__ == "__main__":
    main()
