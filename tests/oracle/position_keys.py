# SPDX-License-Identifier: Apache-2.0
"""position_keys.py ROTARY: position_keys.json lists every key by which transformers' configuration classes with a
rotation say something of positions, of attention's scale or of its mask, and those that vLLM and llama.cpp read too
("read by"); the oracle applies it, refuses it, has an option for it, or it is without effect there. The lists are
compared with the classes and with the program."""
import glob
import importlib
import inspect
import json
import logging
import os
import re
import sys

import numpy as np
from oracle_support import array, check, config, refuses, report, result, run

import transformers
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS, RopeParameters

logging.disable(logging.CRITICAL)
PATTERN = re.compile(
    r"rope|rotary|pos_emb|position|theta|scal|window|mask|causal|sink|soft_?cap|logit_cap|chunk|temperature|alibi|"
    r"layer_types|floor|bidirectional|relative|multiplier|pre_attn|qk_|attention_type|attn_type|global_attn|local_att|"
    r"sparse|n_ctx|max_seq|clip_qkv|every_n|_interval|_pattern|dual_chunk|llama_4")
here = os.path.dirname(os.path.abspath(sys.argv[0]))
with open(os.path.join(here, "position_keys.json"), encoding="utf-8") as file:
    table = json.load(file)
with open(os.path.join(here, "../../src/huggingface/model_types.json"), encoding="utf-8") as file:
    types = json.load(file)["model_types"]
rotating = {name for name, row in types.items() if not row.get("unsupported")}
unread = {key for keys in table["without effect"].values() for key in keys}


def keys_of(kind):
    """Those that the class declares, also by a name of its own."""
    declared = {key for base in kind.__mro__ for key in getattr(base, "__annotations__", {})}
    return declared | set(getattr(kind, "attribute_map", {}))


def keys_of_transformers():
    """{key: the model types that have it}."""
    found = {}
    for path in glob.glob(os.path.dirname(transformers.__file__) + "/models/*/configuration_*.py"):
        name = f"transformers.models.{path.split('/')[-2]}.{os.path.basename(path)[:-3]}"
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        for kind in vars(module).values():
            if inspect.isclass(kind) and issubclass(kind, transformers.PreTrainedConfig) and kind.__module__ == name:
                for key in keys_of(kind) if kind.model_type in rotating else ():
                    if PATTERN.search(key):
                        found.setdefault(key, set()).add(kind.model_type)
    return found


# ---- the lists, and the classes ----

lists = [set(table["applied"]), set(table["refused"]), set(table["refused by attend"]), set(table["option"]), unread]
for i, keys in enumerate(lists):
    for others in lists[i + 1:]:
        check("in one list", not keys & others, str(keys & others))
within = [set(table["applied within rope_parameters"]), set(table["refused within rope_parameters"])]
check("in one list", not within[0] & within[1])
found = keys_of_transformers()
check("there are classes", len(found) > 50, str(len(found)))
for key in sorted(set(found) - set.union(*lists)):
    check(f"{key} of {', '.join(sorted(found[key])[:4])} is listed", False)
for key in sorted(RopeParameters.__annotations__):
    check(f"{key} of rope_parameters is listed", key in set.union(*lists, within[0]))
beside = set(table["refused beside a rope_type"])
everything = set.union(*lists, *within, beside)
elsewhere = set()
for source, keys in table["read by"].items():
    check(f"{source}: every key is listed", set(keys) <= everything, str(set(keys) - everything))
    elsewhere |= set(keys)
inside = {"llama_4_scaling_beta", "rope_scaling_layers"}  # within the parameters of a rotation, or of some versions
for key in sorted(everything - set(found) - set(RopeParameters.__annotations__) - elsewhere - inside):
    check(f"{key} is read by any of them", False)

# ---- what the program does ----

base = {"head_dim": 16, "num_attention_heads": 2}
x = np.random.default_rng(5).standard_normal((6, 2, 16))
qkv = ["--query", array("x.npy", x), "--key", "x.npy", "--value", "x.npy", "--output", "o.npy", "--causal"]


def outcome(content, row):
    if "attend" in row:
        result("attend", *qkv, "--rope", config(content), *row["attend"], "--json")
        return np.load("o.npy").tobytes()
    more = ["--layer-type", row["layer_type"]] if "layer_type" in row else []
    return result("frequencies", "--config", config(content), "--length", row.get("length", 100), *more)


def parameters(content):
    return {"rope_parameters": content} if content else {}


for key, row in table["applied"].items():
    content = base | row.get("base", {})
    check(f"{key} is applied", outcome(content, row) != outcome(content | {key: row["value"]}, row))
for key, row in table["applied within rope_parameters"].items():
    inner, context = row.get("base", {}), base | {"max_position_embeddings": 256}
    check(f"{key} is applied", outcome(context | parameters(inner), row)
          != outcome(context | parameters(inner | {key: row["value"]}), row))
for key, value in table["refused"].items():
    refuses(1, key, "frequencies", "--config", config(base | {key: value}))
for key, value in table["refused by attend"].items():
    refuses(1, key, "attend", *qkv, "--rope", config(base | {key: value}))
yarn = {"rope_type": "yarn", "factor": 4, "original_max_position_embeddings": 64}
for key, value in table["refused within rope_parameters"].items():
    refuses(1, key, "frequencies", "--config", config(base | parameters(yarn | {key: value})))
for key, value in table["refused beside a rope_type"].items():
    refuses(1, key, "frequencies", "--config", config(base | yarn | {key: value}))
for kind in table["refused types"]:
    refuses(1, f'"rope_type" is "{kind}", wanted', "frequencies", "--config", config(base | parameters(yarn | {"rope_type": kind})))
for kind in ROPE_INIT_FUNCTIONS:
    said = run("frequencies", "--config", config(base | parameters({"rope_type": kind}))).stderr
    check(f"rope_type {kind} is known", '"rope_type" is' not in said, said)
options = run("help", "attend").stdout
for key, option in table["option"].items():
    check(f"{key} has an option", option + " " in options, option)
plain = outcome(base, {})
for key in sorted(unread):
    check(f"{key} is without effect", outcome(base | {key: 3}, {}) == plain)
report()
