# SPDX-License-Identifier: Apache-2.0
"""Exported models, read by transformers and by the package gguf.

    exports.py PROGRAM          compares; PROGRAM is make_exports
    exports.py PROGRAM HEADER   also writes the logits of transformers to HEADER, export_goldens.h

The logits of transformers must be those of the program that wrote the folder, and every tensor of a GGUF file that of the
folder, its rows of queries and keys in the order of llama.cpp's converter.
"""
import glob
import os
import subprocess
import sys
import tempfile

import numpy as np
import torch
import transformers
from transformers import AutoConfig, AutoModelForCausalLM

# Of logits, of which the largest are about 5. Weights are 256ths, which have 9 bits at most: gains are rounded in bfloat16.
BOUND = {"float32": 2e-5, "bfloat16": 0.1, "float16": 2e-5}
SHOWN = 16  # logits of the last token in a golden


def compare_folder(folder, tokens):
    key = "dtype" if int(transformers.__version__.split(".")[0]) > 4 else "torch_dtype"
    type_name = str(getattr(AutoConfig.from_pretrained(folder), key)).replace("torch.", "")
    model = AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager", **{key: torch.float32})
    model.eval()
    with torch.no_grad():
        theirs = model(torch.from_numpy(tokens.astype(np.int64))[None]).logits[0].float().numpy()
    ours = np.load(folder + ".npy")
    assert theirs.shape == ours.shape, (theirs.shape, ours.shape)
    error = float(np.abs(theirs - ours).max())
    print(f"{os.path.basename(folder):20s} {model.config.model_type:9s} {type_name:9s} largest {np.abs(ours).max():.2f} error {error:.2e}")
    if not error <= BOUND[type_name]:
        sys.exit(f"{folder}: logits differ by {error}, wanted at most {BOUND[type_name]}")
    return theirs


def interleaved(rows, heads):
    """llama.cpp's convert_hf_to_gguf.py: LlamaModel.permute."""
    return rows.reshape(heads, 2, rows.shape[0] // heads // 2, *rows.shape[1:]).swapaxes(1, 2).reshape(rows.shape)


def stacked(rows, heads):
    """llama.cpp's convert_hf_to_gguf.py: GPTNeoXModel."""
    return np.concatenate([rows.reshape(heads, 3, -1, *rows.shape[1:])[:, i].reshape(rows.shape[0] // 3, *rows.shape[1:]) for i in range(3)])


def gguf_tensor(tensor):
    import gguf
    data = np.array(tensor.data)
    if tensor.tensor_type == gguf.GGMLQuantizationType.BF16:
        bits = data.view(np.uint16).astype(np.uint32) << 16
        data = bits.view(np.float32)
    return data.astype(np.float32).reshape([int(n) for n in reversed(tensor.shape)])


def compare_gguf(folder):
    import gguf
    from safetensors.torch import load_file
    reader = gguf.GGUFReader(folder + ".gguf")
    state = {name: tensor.float().numpy() for name, tensor in load_file(folder + "/model.safetensors").items()}
    text = lambda key: bytes(reader.fields[key].parts[-1]).decode()
    number = lambda key: reader.fields[key].parts[-1][0]
    architecture = text("general.architecture")
    enum = {name: key for key, name in gguf.MODEL_ARCH_NAMES.items()}[architecture]
    layers = int(number(architecture + ".block_count"))
    heads = int(number(architecture + ".attention.head_count"))
    names = gguf.get_tensor_name_map(enum, layers)
    wanted = {}
    for name, values in state.items():
        stem, kind = name.rsplit(".", 1)
        theirs = names.get_name(stem)
        assert theirs, name
        if architecture == "llama" and ".q_proj." in name:
            values = interleaved(values, heads)
        if architecture == "llama" and ".k_proj." in name:
            values = interleaved(values, int(number(architecture + ".attention.head_count_kv")))
        if ".query_key_value." in name:  # of one head after another
            values = stacked(values, heads)
        if architecture == "gemma2" and name.endswith("norm.weight"):
            values = values + 1
        wanted[theirs + "." + kind] = values
    assert reader.alignment == 32
    for tensor in reader.tensors:
        got = gguf_tensor(tensor)
        if tensor.name.startswith("rope_f"):
            continue
        value = wanted.pop(tensor.name)
        if value.ndim == 1:
            assert tensor.tensor_type == gguf.GGMLQuantizationType.F32, tensor.name
            assert np.abs(got - value).max() <= 2.0 ** -8, tensor.name  # the folder's is rounded
        else:
            assert got.shape == value.shape and (got == value).all(), tensor.name
    assert not wanted, wanted.keys()


def write_goldens(path, goldens, sums):
    lines = ["/* SPDX-License-Identifier: Apache-2.0", " *", " * Made by tests/huggingface/exports.py: do not edit. The first logits of the last token by transformers, and the",
             " * checksums of the files that it read and of those of GGUF (0: there is none).", " */",
             "static const struct export_golden export_goldens[] = {"]
    for name, logits in goldens:
        numbers = ", ".join(f"{x:.7e}" for x in logits[-1, :SHOWN])
        lines.append(f'    {{"{name}", 0x{sums[name][0]}, 0x{sums[name][1]}, {{{numbers}}}}},')
    lines.append("};\n")
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines))


def main():
    with tempfile.TemporaryDirectory() as folder:
        printed = subprocess.run([sys.argv[1], folder], check=True, stdout=subprocess.PIPE, text=True).stdout
        sums = {line.split()[0]: line.split()[1:] for line in printed.splitlines()}
        tokens = np.load(folder + "/tokens.npy")
        goldens = []
        for name in sums:
            path = os.path.join(folder, name)
            goldens.append((name, compare_folder(path, tokens)))
            if os.path.exists(path + ".gguf"):
                compare_gguf(path)
        assert len(goldens) >= 20 and len(glob.glob(folder + "/*.gguf")) >= 20
        if len(sys.argv) > 2:
            write_goldens(sys.argv[2], goldens, sums)


main()
