#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What models take where their config.json is silent: the defaults of every class of transformers that turns its heads.

Writes src/file/rope_models.c. Made with torch 2.15.0 and transformers 5.23.0:

    python3 tests/golden/make_rope_models.py > src/file/rope_models.c
"""
import glob
import importlib
import inspect
import json
import os
import re
import sys
import textwrap

import torch
import transformers
from transformers import PreTrainedConfig

ROOT = os.path.dirname(transformers.__file__) + "/models/"
PLACE = "turns by place in an image"
NOTHING = "has no rotary embedding"  # though its file or its code speaks of one
REFUSED = {  # its rotation is no configuration of a plan
    "clvp": "turns values too, and a width of its own",
    "dinov3_vit": PLACE, "efficientloftr": PLACE, "eomt_dinov3": PLACE, "llama4_vision_model": PLACE, "neomme": PLACE,
    "sapiens2": PLACE, "vjepa2": PLACE, "lightglue": "turns by places it has learned",
    "esmfold2": "turns by place in space",
    "ernie4_5_vl_moe_text": "has height and width in turn before time, an order of axes that is none of a plan's",
    "mistral_large4_text": "multiplies its frequencies by a weight",
    "canary_decoder": NOTHING, "git": NOTHING, "glm5_next_text": NOTHING, "inkling2_text": NOTHING, "jamba": NOTHING,
    "kimi_linear": NOTHING, "layoutxlm": NOTHING, "mpt": NOTHING, "nemotron_h": NOTHING,
    "musicflamingo": "turns by time in seconds",
    "nanochat": "turns backwards",
    "seamless_m4t": "turns before it projects", "wav2vec2-bert": "turns before it projects",
    "wav2vec2-conformer": "turns before it projects",
}
# Models that have no rotary embedding class in transformers, or that run by code of their own.
MORE = {
    "chatglm": {"fraction": 0.5, "interleaved": True},
    "cohere_compass_text": {"in_turn": True, "width": 8192, "heads": 64, "positions": 8192},
    "codegen": {"interleaved": True, "turned": 64, "width": 4096, "heads": 16, "positions": 2048},
    "dots3_note_audio_encoder": {"fraction": 0.5, "width": 1280, "heads": 20, "positions": 6000},
    "dots3_note_text": {"interleaved": True, "rope_head_dim": 64, "parameters": {
        "indexed_attention": {"rope_theta": 8e7}, "sliding_attention": {"rope_theta": 5e4}}},
    "esm": {"width": 768, "heads": 12, "positions": 1026},
    "gradium_phonon_tts": {"width": 768, "heads": 12},
    "gptj": {"interleaved": True, "turned": 64, "width": 4096, "heads": 16, "positions": 2048},
    "kimi_k2": {"interleaved": True, "rope_head_dim": 64, "width": 7168, "heads": 64, "positions": 4096},
    "pocket_tts": {"width": 1024, "heads": 16},
    "roformer": {"interleaved": True, "width": 768, "heads": 12, "positions": 1536},
}
NEIGHBOURS = re.compile(r"\.\.\.,\s*(0?::2|1::2)\]|view_as_complex|-1, (1, )?2\)")
BACK = ("deepseek_v4",)
DEFAULT = {"head_dim": 0, "rope_head_dim": 0, "turned": 0, "width": 0, "heads": 0, "positions": 0, "original": 0,
           "base": 1e4, "fraction": 1.0, "interleaved": False, "back": False, "in_turn": False, "parameters": None, "why_not": None}


def modules(kind):
    for path in sorted(glob.glob(f"{ROOT}*/{kind}_*.py")):
        name = f"transformers.models.{path.split('/')[-2]}.{os.path.basename(path)[:-3]}"
        try:
            yield os.path.basename(path)[len(kind) + 1:-3], importlib.import_module(name)
        except ImportError as wrong:
            print(f"{name}: {wrong}", file=sys.stderr)


def rotary_classes():
    """Of each class of configurations, the rotary embedding that takes it."""
    classes = {}
    for name, code in modules("modeling"):
        for cls in vars(code).values():
            if not (inspect.isclass(cls) and cls.__module__ == code.__name__ and "Rotary" in cls.__name__):
                continue
            taken = inspect.signature(cls.__init__).parameters.get("config")
            taken = taken and (getattr(code, taken.annotation, None) if isinstance(taken.annotation, str) else taken.annotation)
            if inspect.isclass(taken) and issubclass(taken, PreTrainedConfig):
                classes[taken] = cls
                for part in getattr(taken, "sub_configs", {}).values():
                    if "Vision" not in cls.__name__:
                        classes.setdefault(part, cls)
    return classes


def pairs_neighbours(source):
    functions = re.findall(r"^def (?:rotate_half|rotate_every|apply_rotary|_apply_rotary|rotate_half_\w+|apply_rotary_emb)\w*\(.*?(?=^\S)",
                           re.sub(r'""".*?"""', "", source, flags=re.S).replace("\n) ->", "\n ) ->"), re.S | re.M)
    return any(NEIGHBOURS.search(text) for text in functions)


def keyed(parameters):
    return any(isinstance(entry, dict) for entry in parameters.values())


def attribute(config, name):
    try:
        return getattr(config, name, None)
    except Exception:  # differs from layer to layer
        return None


def row_of(kind, rotary, source):
    names = getattr(kind, "attribute_map", {})
    width, heads = (names.get(key, key) for key in ("hidden_size", "num_attention_heads"))
    more = {"num_key_value_heads": 4} if hasattr(kind, "num_key_value_heads") else {}
    whole, config = kind(), kind(**{width: 128, heads: 4}, **more)
    row = dict(DEFAULT, type=kind.model_type)
    for key, name in (("width", "hidden_size"), ("heads", "num_attention_heads"), ("positions", "max_position_embeddings"),
                      ("original", "original_max_position_embeddings")):
        value = attribute(whole, name)
        row[key] = value if isinstance(value, int) else 0
    parameters = json.loads(json.dumps(config.rope_parameters))
    made = rotary(config) if rotary else None

    def turned(layer):
        frequencies = getattr(made, f"{layer}_inv_freq" if layer else "inv_freq", None)
        return 2 * frequencies.numel() if frequencies is not None else 0

    def shared(layer, entry):
        """Channels of the head of which a share turns."""
        share = 1.0 if entry["rope_type"] == "proportional" else entry.get("partial_rotary_factor", 1.0)
        return int(turned(layer) / share + 0.5)

    head = attribute(config, "head_dim") or 32
    if attribute(config, "head_dim") is None and keyed(parameters) and turned("sliding_attention"):
        head = shared("sliding_attention", parameters["sliding_attention"])
    if hasattr(whole, "qk_rope_head_dim") and hasattr(whole, "qk_nope_head_dim"):
        row["rope_head_dim"] = whole.qk_rope_head_dim
    elif head != 32 and kind.model_type != "zamba2":  # whose heads are 2 hidden_size / num_attention_heads
        row["head_dim"] = head
    if kind.model_type in BACK:
        row["back"] = True
    if keyed(parameters):
        for layer, entry in parameters.items():
            if entry is None:
                continue
            if not row["rope_head_dim"] and turned(layer) and abs(shared(layer, entry) - head) > 2:
                entry["head_dim"] = shared(layer, entry)
            if entry["rope_type"] == "default":
                del entry["rope_type"]
        row["parameters"] = parameters
        layer = next((layer for layer, entry in parameters.items() if entry and turned(layer)), None)
        bare = {layer: entry and {"rope_type": "default", "rope_theta": 1e4} for layer, entry in parameters.items()}
        if layer and not row["rope_head_dim"]:
            plain = rotary(kind(**{width: 128, heads: 4}, **more, rope_parameters=bare))
            if 2 * getattr(plain, f"{layer}_inv_freq").numel() != parameters[layer].get("head_dim", head):
                row["fraction"] = parameters[layer]["partial_rotary_factor"]
    else:
        bare = {key: parameters[key] for key in ("rope_type", "mrope_section") if key in parameters}
        given = {"rope_theta": parameters["rope_theta"]}
        given |= kind(**{width: 128, heads: 4}, **more, rope_parameters=dict(bare, rope_type="default")).rope_parameters
        share = given.get("partial_rotary_factor", 1.0)
        row["base"] = float(given["rope_theta"])
        if made is None or share == 1 or turned(None) == (int(head * share) + 1) // 2 * 2:
            row["fraction"] = share
        kept = {key: value for key, value in parameters.items() if key not in ("type", "max_position_embeddings", "mrope_section")
                and value != given.get(key)}
        if kept:
            row["parameters"] = {"rope_type": parameters["rope_type"], **kept}
    row["interleaved"] = pairs_neighbours(source)
    row["in_turn"] = "mrope_section[dim] * 3" in source or "mrope_section[layer_type]" in source
    return row


def rows():
    classes, sources = rotary_classes(), {}
    for name, code in modules("modeling"):
        sources[os.path.dirname(code.__file__)] = sources.get(os.path.dirname(code.__file__), "") + open(code.__file__).read()
    found, parts, without = {}, {}, []
    for kind, why in REFUSED.items():
        found[kind] = dict(DEFAULT, type=kind, why_not=why)
    for kind, more in MORE.items():
        found[kind] = dict(DEFAULT, type=kind, **more)
    for _, code in modules("configuration"):
        source = sources.get(os.path.dirname(code.__file__), "")
        for kind in vars(code).values():
            if not (inspect.isclass(kind) and issubclass(kind, PreTrainedConfig) and kind.__module__ == code.__name__):
                continue
            name = kind.model_type
            try:
                config = kind()
            except Exception as wrong:
                print(f"{kind.__name__}: {str(wrong)[:80]}", file=sys.stderr)
                continue
            if not name or name in found:
                continue
            parameters = attribute(config, "rope_parameters")
            if kind.default_rope_type == "axial":
                found[name] = dict(DEFAULT, type=name, why_not=PLACE)
            elif parameters and (attribute(config, "hidden_size") or kind in classes):
                try:
                    found[name] = row_of(kind, classes.get(kind), source)
                except Exception as wrong:
                    print(f"{name}: {type(wrong).__name__} {str(wrong)[:100]}", file=sys.stderr)
            elif parameters is None:
                try:
                    text = config.get_text_config()
                except ValueError:  # has several
                    continue
                if text is not config:
                    parts[name] = text.model_type
                elif not re.search(r"rotary|rope\b|rope_|_rope", source, re.I) and source and not kind.sub_configs:
                    if isinstance(attribute(config, "hidden_size"), int) and attribute(config, "num_attention_heads"):
                        without.append(name)
    for name, part in parts.items():
        if name not in found and part in found:
            found[name] = dict(found[part], type=name)
        elif part in without:
            without.append(name)
    whole = (name for name in set(without) - set(found) if not re.search("_(vision|image|audio|mask|det|multi|geometry)|coder$", name))
    return [found[name] for name in sorted(found)], sorted(whole)


UNBROKEN = "\0"  # a space within a string, until lines are folded


def written(row):
    fields = [json.dumps(row["type"])]
    for key, value in row.items():
        if key == "type" or value == DEFAULT[key]:
            continue
        if isinstance(value, dict):
            value = json.dumps(json.dumps(value, separators=(",", ":"))).replace(",", '," "')
        elif isinstance(value, str):
            value = json.dumps(value).replace(" ", UNBROKEN)
        elif isinstance(value, bool):
            value = "true"
        elif isinstance(value, float):
            value = f"{value:g}" if float(f"{value:g}") == value else repr(value)
        fields.append(f".{key}{UNBROKEN}={UNBROKEN}{value}")
    return "{" + ", ".join(fields) + "},"


def main():
    torch.set_num_threads(1)
    models, without = rows()
    print("""/* SPDX-License-Identifier: Apache-2.0
 *
 * Written by tests/golden/make_rope_models.py.
 */
#include "file/rope_models.h"

#include <stddef.h>

/* clang-format off */""")

    def fold(text):
        print(textwrap.fill(text, 110, initial_indent="    ", subsequent_indent="        ", break_long_words=False,
                            break_on_hyphens=False).replace(UNBROKEN, " "))

    print("const struct rope_model rope_models[] = {")
    for row in models:
        fold(written(row))
    print("    {NULL},", "};", "", "const char *const rope_models_without[] = {", sep="\n")
    fold(", ".join(json.dumps(name) for name in without) + ", NULL")
    print("};", "/* clang-format on */", sep="\n")
    print(f"transformers {transformers.__version__}: {len(models)} models, {len(without)} without", file=sys.stderr)


main()
