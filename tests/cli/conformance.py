# SPDX-License-Identifier: Apache-2.0
"""conformance.py ROTARY: the oracle's commands against published vectors, where their folder is present: the node tests
of ONNX's operators RotaryEmbedding and Attention, and the frequencies in the tests of Hugging Face's transformers.

ONNX counts the queries of a causal mask from 0, not from the end: --first-query 0."""
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


def read(name):
    with open(os.path.join(folder, name)) as file:
        return json.load(file)


def tensors(items):
    return {x["name"]: np.array(x["data"], np.dtype(x["dtype"])).reshape(x["dims"]) for x in items}


def heads_last(x, heads):
    """ONNX's [batch, heads, time, channels] or [batch, time, heads * channels] as [batch, time, heads, channels]."""
    return x.transpose(0, 2, 1, 3) if x.ndim == 4 else x.reshape(*x.shape[:2], heads, -1)


def onnx_shape(x, like):
    return x.transpose(0, 2, 1, 3) if like.ndim == 4 else x.reshape(like.shape)


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
    arguments = ["--input", array("x.npy", heads_last(given["input"], attributes.get("num_heads", 1))),
                 "--cos", array("c.npy", given["cos_cache"]), "--sin", array("s.npy", given["sin_cache"])]
    if "position_ids" in given:
        arguments += ["--positions", array("p.npy", given["position_ids"])]
    if attributes.get("interleaved"):
        arguments += ["--pairing", "interleaved"]
    result("apply", *arguments, "--output", "y.npy", "--json")
    # Both sides round three operations on numbers below 1.
    near(case["name"], onnx_shape(np.load("y.npy"), wanted), wanted, 6 * 2.0**-24)

attended = 0
for case in read("onnx_attention.json"):
    given, outputs = tensors(case["inputs"]), tensors(case["outputs"])
    attributes = case["nodes"][0]["attrs"]
    query = heads_last(given["Q"], attributes.get("q_num_heads", 1))
    pair = []
    for name, past in [("K", "past_key"), ("V", "past_value")]:
        x = heads_last(given[name], attributes.get("kv_num_heads", 1))
        pair.append(np.concatenate([heads_last(given[past], 1), x], 1) if past in given else x)
    arguments = ["--query", array("q.npy", query), "--key", array("k.npy", pair[0]), "--value", array("v.npy", pair[1])]
    for name, flag in [("scale", "--scale"), ("softcap", "--softcap")]:
        if name in attributes:
            arguments += [flag, repr(attributes[name])]
    if attributes.get("is_causal"):
        arguments += ["--causal", "--first-query", 0]
    if "attn_mask" in given:
        arguments += ["--mask", array("m.npy", given["attn_mask"])]
    found = result("attend", *arguments, "--output", "y.npy", "--json")
    wanted = outputs["Y"]
    # A rounding to f32 on both sides of numbers below 1.
    near(case["name"], onnx_shape(np.load("y.npy"), wanted), wanted, 2 * 2.0**-24)
    if found and found["librotary"]["largest_difference"] is not None:
        attended += 1
        check(f"{case['name']}, librotary", found["librotary"]["largest_difference"] < 1e-6, str(found["librotary"]))
check("librotary's kernel took part", attended > 0)

report()
