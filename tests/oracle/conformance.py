# SPDX-License-Identifier: Apache-2.0
"""conformance.py ROTARY: the oracle's commands against published vectors, where their folder is present: the node tests
of ONNX's operators RotaryEmbedding and Attention, and the frequencies in the tests of Hugging Face's transformers.

Positions are those of ONNX: without a cache the first query is at the first key (--first-query 0), after a past at the
first new key; with a length for each sequence the last query is at the last key of its sequence."""
import json
import math
import os
import sys

import numpy as np
from oracle_support import array, check, config, near, report, result, source

shared = os.environ.get("ROTARY_SHARED", os.path.join(source, "../shared"))
folder = os.environ.get("ROTARY_CONFORMANCE_DIR", os.path.join(shared, "conformance"))
if not os.path.isdir(folder):
    print(f"skipped: {folder} is not there")
    sys.exit(77)

units = {"float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8, "float64": 2.0**-24}  # of rounding


def read(name):
    with open(os.path.join(folder, name)) as file:
        return json.load(file)


def tensors(items):
    """Arrays by name; bf16 as the f32 numbers that it holds."""
    kinds = {"bfloat16": np.float32}
    return {x["name"]: np.array(x["data"], kinds.get(x["dtype"], x["dtype"])).reshape(x["dims"]) for x in items}


def saved(name, values, kind):
    """A file of these numbers; bf16 as ml_dtypes' arrays are saved, in two bytes without a type."""
    if kind == "bfloat16":
        values = (np.ascontiguousarray(values, np.float32).view(np.uint32) >> 16).astype(np.uint16).view("V2")
    return array(name, values)


def laid_out(x, heads, key_heads=None):
    """ONNX has [batch, heads, time, channels], or [batch, time, heads * channels] and the numbers of heads."""
    if x.ndim == 4:
        return ["--layout", "heads"]
    return ["--layout", "flat", "--heads", heads] + (["--key-heads", key_heads] if key_heads else [])


def largest(x):
    """Of the numbers that are finite; 0 if there are none."""
    return np.abs(x[np.isfinite(x)].astype(np.float64)).max(initial=0)


for case in read("huggingface_inv_freq.json")["cases"]:
    sizes = ("head_dim", "max_position_embeddings")
    settings = case["config"]
    parameters = {key: value for key, value in settings.items() if key not in sizes}
    top = {key: settings[key] for key in sizes if key in settings}
    old = dict(top, rope_theta=parameters["rope_theta"], rope_scaling=parameters)
    wanted = case["attention_scale"]
    wanted = wanted if not isinstance(wanted, str) else 0.1 * math.log(settings["factor"]) + 1
    for content in [dict(top, rope_parameters=parameters), old]:
        found = result("frequencies", "--config", config(content), "--compat", "huggingface")
        printed = np.array(case["inv_freq"])
        near(case["name"], found["inv_freq"], printed, printed * (0.5e-4 + 1.3e-6))
        near(case["name"], found["attention_factor"], wanted, 1e-12)

for case in read("onnx_rotary_embedding.json"):
    given, wanted = tensors(case["inputs"]), tensors(case["outputs"])["output"]
    attributes = case["nodes"][0]["attrs"]
    kind = case["inputs"][0]["dtype"]
    unit = units[kind]
    arguments = ["--input", saved("x.npy", given["input"], kind), *laid_out(given["input"], attributes.get("num_heads")),
                 "--cos", saved("c.npy", given["cos_cache"], kind), "--sin", saved("s.npy", given["sin_cache"], kind)]
    if "position_ids" in given:
        arguments += ["--positions", array("p.npy", given["position_ids"])]
    if attributes.get("interleaved"):
        arguments += ["--pairing", "interleaved"]
    result("apply", *arguments, "--output", "y.npy", "--json")
    # Both sides round two products and their sum.
    size = largest(given["input"]) * max(largest(given["cos_cache"]), largest(given["sin_cache"]))
    near(case["name"], np.load("y.npy"), wanted, 8 * size * unit)

attended = 0
for case in read("onnx_attention.json"):
    given, outputs = tensors(case["inputs"]), tensors(case["outputs"])
    attributes = case["nodes"][0]["attrs"]
    kind = case["inputs"][0]["dtype"]
    names = {"Q": "query", "K": "key", "V": "value", "past_key": "past-key", "past_value": "past-value",
             "attn_mask": "mask", "nonpad_kv_seqlen": "key-lengths"}
    kinds = {x["name"]: x["dtype"] for x in case["inputs"]}
    arguments = laid_out(given["Q"], attributes.get("q_num_heads"), attributes.get("kv_num_heads"))
    for name, x in given.items():
        arguments += [f"--{names[name]}", saved(f"{name}.npy", x, kinds[name])]
    for name, flag in [("scale", "scale"), ("softcap", "softcap"), ("left_window_size", "window-left"),
                       ("right_window_size", "window-right")]:
        if name in attributes and not (name.endswith("window_size") and attributes[name] < 0):
            arguments += [f"--{flag}", repr(attributes[name])]
    if attributes.get("is_causal"):
        arguments += ["--causal"]
    if "past_key" not in given and "nonpad_kv_seqlen" not in given:
        arguments += ["--first-query", 0]
    if "attn_mask" in given:
        arguments += ["--pad-mask"]
    mode = attributes.get("qk_matmul_output_mode", 0)
    if "qk_matmul_output" in outputs:
        arguments += (["--weights", "scores.npy"] if mode == 3 else
                      ["--scores", "scores.npy", "--stage", ["scaled", "capped", "masked"][mode]])
    for name, flag in [("present_key", "present-key"), ("present_value", "present-value")]:
        if name in outputs:
            arguments += [f"--{flag}", f"{name}.npy"]
    found = result("attend", *arguments, "--output", "y.npy", "--json")
    if not found:
        continue

    # ONNX's reference rounds every step to the type of the query, here every number is rounded once. A score sums D products of
    # numbers rounded before, is capped by three operations, and the mask is added; a weight is off as far as the
    # largest and its own score are, and by its sum; an output sums S products.
    def bounds(unit):
        keys = max(x.shape[-2] if x.ndim == 4 else x.shape[1] for x in (given["K"], outputs.get("present_key", given["K"])))
        channels = given["Q"].shape[-1] // (1 if given["Q"].ndim == 4 else attributes["q_num_heads"])
        every_key = [given[name] for name in ("K", "past_key") if name in given]
        every_value = [given[name] for name in ("V", "past_value") if name in given]
        size = channels * largest(given["Q"]) * max(map(largest, every_key)) * found["scale"]
        mask = largest(given["attn_mask"]) if "attn_mask" in given else 0
        score = unit * ((channels + 8) * size + 4 * attributes.get("softcap", 0) + 2 * mask)
        weight = np.expm1(2 * score) + (keys + 6) * unit
        return score, weight, max(map(largest, every_value)) * (weight + (keys + 4) * unit)

    score, weight, output = bounds(units[kind])
    check(case["name"], output < 1, f"a bound of {output} says nothing")
    near(case["name"], np.load("y.npy"), outputs["Y"], output)
    for name in ("present_key", "present_value"):
        if name in outputs:
            near(f"{case['name']}, {name}", np.load(f"{name}.npy"), outputs[name], 0)
    if "qk_matmul_output" in outputs:
        got, wanted = np.load("scores.npy"), outputs["qk_matmul_output"]
        seen = np.isfinite(wanted)
        check(f"{case['name']}, scores not seen", ((got == wanted) | seen).all())
        near(f"{case['name']}, scores", np.where(seen, got, 0), np.where(seen, wanted, 0), weight if mode == 3 else score)
    if found["librotary"]["largest_difference"] is not None:
        attended += 1
        check(f"{case['name']}, librotary", found["librotary"]["largest_difference"] < bounds(2.0**-24)[2],
              str(found["librotary"]))
check("librotary's kernel took part", attended > 0)

report()
