#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The defaults of every model type of transformers with a rotary embedding, for keys that a config.json does not have.

Writes src/huggingface/model_types.json. Made with torch 2.15.0 and transformers 5.24.0:

    python3 tests/golden/make_model_types.py > src/huggingface/model_types.json
"""
import glob
import importlib
import inspect
import json
import os
import re
import sys

import torch
import transformers
from transformers import PreTrainedConfig

ROOT = os.path.dirname(transformers.__file__) + "/models/"
IMAGE = "rotates by position in an image"
NOTHING = "has no rotary embedding"  # though its file or its code mentions one
BEFORE = "rotates before its query and key projections"
UNSUPPORTED = {  # no plan can have its rotation
    "clvp": "rotates values too, and a number of channels of its own",
    "dinov3_vit": IMAGE, "efficientloftr": IMAGE, "eomt_dinov3": IMAGE, "llama4_vision_model": IMAGE, "neomme": IMAGE,
    "sapiens2": IMAGE, "vjepa2": IMAGE, "lightglue": "rotates by a learned projection of positions",
    "esmfold2": "rotates by position in space",
    "ernie4_5_vl_moe_text": "interleaves height and width before time, an order of axes that no plan has",
    "mistral_large4_text": "multiplies its frequencies by a weight",
    "canary_decoder": NOTHING, "git": NOTHING, "glm5_next_text": NOTHING, "inkling2_text": NOTHING, "jamba": NOTHING,
    "kimi_linear": NOTHING, "layoutxlm": NOTHING, "mpt": NOTHING, "nemotron_h": NOTHING,
    "dots3_note_text": "has heads of another size in its sliding layers",
    "musicflamingo": "rotates by time in seconds",
    "nanochat": "rotates backwards",
    "seamless_m4t": BEFORE, "wav2vec2-bert": BEFORE, "wav2vec2-conformer": BEFORE,
}
# Models that have no rotary embedding class in transformers, or that run by code of their own.
MORE = {
    "chatglm": {"partial_rotary_factor": 0.5, "pairing": "interleaved"},
    "cohere_compass_text": {"axes": "interleaved", "hidden_size": 8192, "num_attention_heads": 64,
                            "max_position_embeddings": 8192},
    "codegen": {"pairing": "interleaved", "rotary_dim": 64, "hidden_size": 4096, "num_attention_heads": 16,
                "max_position_embeddings": 2048},
    "dots3_note_audio_encoder": {"partial_rotary_factor": 0.5, "hidden_size": 1280, "num_attention_heads": 20,
                                 "max_position_embeddings": 6000},
    "esm": {"hidden_size": 768, "num_attention_heads": 12, "max_position_embeddings": 1026},
    "gradium_phonon_tts": {"hidden_size": 768, "num_attention_heads": 12},
    "gptj": {"pairing": "interleaved", "rotary_dim": 64, "hidden_size": 4096, "num_attention_heads": 16,
             "max_position_embeddings": 2048},
    "new": {"hidden_size": 768, "num_attention_heads": 12, "max_position_embeddings": 2048},
    "kimi_k2": {"pairing": "interleaved", "qk_rope_head_dim": 64, "hidden_size": 7168, "num_attention_heads": 64,
                "max_position_embeddings": 4096},
    "pocket_tts": {"hidden_size": 1024, "num_attention_heads": 16},
    "roformer": {"pairing": "interleaved", "hidden_size": 768, "num_attention_heads": 12,
                 "max_position_embeddings": 1536},
}
# Towers: how rows and columns of an image share the pairs of a head. make_rope_goldens.py compares with their code.
TOWERS = {
    "pixtral": {"tower": "alternating", "hidden_size": 1024, "num_attention_heads": 16},
    "qwen2_vl_vision": {"tower": "halves", "embed_dim": 1280, "num_attention_heads": 16},
    "qwen2_5_vl_vision": {"tower": "halves", "hidden_size": 3584, "num_attention_heads": 16},
    "qwen3_vl_vision": {"tower": "halves", "hidden_size": 1152, "num_attention_heads": 16},
    "qwen3_vl_moe_vision": {"tower": "halves", "hidden_size": 1152, "num_attention_heads": 16},
}
# Keys that a config.json must have, or must not have, and what is wanted.
LAYERS = {"rope_scaling": "\"rope_parameters\" for each layer type"}
RULES = {
    "baichuan": {"required": {"max_position_embeddings": "a 7B model: the 13B, which has none, uses ALiBi"}},
    "esm": {"required": {"position_embedding_type": "rotary"}},
    "granitemoehybrid": {"required": {"position_embedding_type": "rope"}},
    "cohere2_moe": {"refused": {"rope_scaling": "\"rope_parameters\", which alone its code reads"}},
    "modernbert": {"refused": LAYERS}, "modernbert-decoder": {"refused": LAYERS}, "modernvbert": {"refused": LAYERS},
    "pe_audio": {"refused": LAYERS}, "pe_audio_video": {"refused": LAYERS}, "pe_video": {"refused": LAYERS},
    "zamba2": {"required": {"use_mem_rope": "true", "attention_head_dim": "the channels of a head"}},
}
# Models whose code looks at position_embedding_type, and those whose code is not in transformers.
READS_TYPE = {"baichuan", "chatglm", "esm", "granitemoehybrid", "kimi_k2", "new"}
NTK_DIVIDES = {"new"}  # those of Alibaba-NLP's GTE v1.5, whose code is not in transformers
DEEPSEEK = {"sarvam_mla"}  # whose code is that of DeepSeek-V3, in another folder
UNIT_SCALE = re.compile("(dia|diffusion_gemma|embedding_gemma2|gemma3n|gemma4|gemma4_unified)(_text|_assistant|_encoder|_decoder)?")
ROTATES_VALUES = {"deepseek_v4"}  # and outputs back, by the inverse rotation
INTERLEAVED = re.compile(r"\.\.\.,\s*(0?::2|1::2)\]|view_as_complex|-1, (1, )?2\)")
BACK = ("deepseek_v4",)
DEFAULT = {"head_dim": 0, "qk_rope_head_dim": 0, "rotary_dim": 0, "hidden_size": 0, "num_attention_heads": 0,
           "max_position_embeddings": 0, "original_max_position_embeddings": 0, "rope_theta": 1e4,
           "partial_rotary_factor": 1.0, "pairing": "half", "span": "front", "axes": "sections", "tower": "none", "embed_dim": 0,
           "rope_parameters": None,
           "reads_position_embedding_type": False, "rotates_values": False, "unit_scale": False, "ntk_divides": False, "unsupported": None, "required": None, "refused": None}


def modules(kind):
    for path in sorted(glob.glob(f"{ROOT}*/{kind}_*.py")):
        name = f"transformers.models.{path.split('/')[-2]}.{os.path.basename(path)[:-3]}"
        try:
            yield os.path.basename(path)[len(kind) + 1:-3], importlib.import_module(name)
        except ImportError as wrong:
            print(f"{name}: {wrong}", file=sys.stderr)


def rotary_classes():
    """The rotary embedding of each class of configurations."""
    classes = {}
    for name, code in modules("modeling"):
        for cls in vars(code).values():
            if not (inspect.isclass(cls) and cls.__module__ == code.__name__ and "Rotary" in cls.__name__):
                continue
            config = inspect.signature(cls.__init__).parameters.get("config")
            kind = config and (getattr(code, config.annotation, None) if isinstance(config.annotation, str) else config.annotation)
            if inspect.isclass(kind) and issubclass(kind, PreTrainedConfig):
                classes[kind] = cls
                for inner in getattr(kind, "sub_configs", {}).values():
                    if "Vision" not in cls.__name__:
                        classes.setdefault(inner, cls)
    return classes


def pairs_interleave(source):
    functions = re.findall(r"^def (?:rotate_half|rotate_every|apply_rotary|_apply_rotary|rotate_half_\w+|apply_rotary_emb)\w*\(.*?(?=^\S)",
                           re.sub(r'""".*?"""', "", source, flags=re.S).replace("\n) ->", "\n ) ->"), re.S | re.M)
    return any(INTERLEAVED.search(text) for text in functions)


def by_layer_type(parameters):
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
    full, config = kind(), kind(**{width: 128, heads: 4}, **more)
    row = dict(DEFAULT, type=kind.model_type)
    for key in ("hidden_size", "num_attention_heads", "max_position_embeddings", "original_max_position_embeddings"):
        value = attribute(full, key)
        row[key] = value if isinstance(value, int) else 0
    parameters = json.loads(json.dumps(config.rope_parameters))
    made = rotary(config) if rotary else None

    def rotary_dim(layer):
        frequencies = getattr(made, f"{layer}_inv_freq" if layer else "inv_freq", None)
        return 2 * frequencies.numel() if frequencies is not None else 0

    def shared(layer, entry):
        """Channels of the head, rotated and not."""
        share = 1.0 if entry["rope_type"] == "proportional" else entry.get("partial_rotary_factor", 1.0)
        return int(rotary_dim(layer) / share + 0.5)

    head = attribute(config, "head_dim") or 32
    if attribute(config, "head_dim") is None and by_layer_type(parameters) and rotary_dim("sliding_attention"):
        head = shared("sliding_attention", parameters["sliding_attention"])
    if hasattr(full, "qk_rope_head_dim") and hasattr(full, "qk_nope_head_dim"):
        row["qk_rope_head_dim"] = full.qk_rope_head_dim
    elif head != 32 and kind.model_type != "zamba2":  # whose heads are 2 hidden_size / num_attention_heads
        row["head_dim"] = head
    if kind.model_type in BACK:
        row["span"] = "back"
    if by_layer_type(parameters):
        for layer, entry in parameters.items():
            if entry is None:
                continue
            if not row["qk_rope_head_dim"] and rotary_dim(layer) and abs(shared(layer, entry) - head) > 2:
                entry["head_dim"] = shared(layer, entry)
            if entry["rope_type"] == "default":
                del entry["rope_type"]
        row["rope_parameters"] = parameters
        layer = next((layer for layer, entry in parameters.items() if entry and rotary_dim(layer)), None)
        bare = {layer: entry and {"rope_type": "default", "rope_theta": 1e4} for layer, entry in parameters.items()}
        if layer and not row["qk_rope_head_dim"]:
            plain = rotary(kind(**{width: 128, heads: 4}, **more, rope_parameters=bare))
            if 2 * getattr(plain, f"{layer}_inv_freq").numel() != parameters[layer].get("head_dim", head):
                row["partial_rotary_factor"] = parameters[layer]["partial_rotary_factor"]
    else:
        bare = {key: parameters[key] for key in ("rope_type", "mrope_section") if key in parameters}
        given = {"rope_theta": parameters["rope_theta"]}
        given |= kind(**{width: 128, heads: 4}, **more, rope_parameters=dict(bare, rope_type="default")).rope_parameters
        share = given.get("partial_rotary_factor", 1.0)
        row["rope_theta"] = float(given["rope_theta"])
        if made is None or share == 1 or rotary_dim(None) == (int(head * share) + 1) // 2 * 2:
            row["partial_rotary_factor"] = share
        kept = {key: value for key, value in parameters.items() if key not in ("type", "max_position_embeddings", "mrope_section")
                and value != given.get(key)}
        if kept:
            row["rope_parameters"] = {"rope_type": parameters["rope_type"], **kept}
    if pairs_interleave(source):
        row["pairing"] = "interleaved"
    if "mrope_section[dim] * 3" in source or "mrope_section[layer_type]" in source:
        row["axes"] = "interleaved"
    return row


def of_wrapper(row, text, name):
    """The row of a model whose language model has defaults of its own there."""
    row = dict(row, type=name)
    if row["unsupported"] or row["qk_rope_head_dim"] or (row["rope_parameters"] and by_layer_type(row["rope_parameters"])):
        return row
    for key in ("hidden_size", "num_attention_heads", "max_position_embeddings"):
        value = attribute(text, key)
        row[key] = value if isinstance(value, int) else row[key]
    head, parameters = attribute(text, "head_dim"), attribute(text, "rope_parameters") or {}
    if isinstance(head, int) and (row["head_dim"] or head * row["num_attention_heads"] != row["hidden_size"]):
        row["head_dim"] = head
    if not row["rope_parameters"]:
        row["rope_theta"] = float(parameters.get("rope_theta", row["rope_theta"]))
    return row


def rows():
    classes, sources = rotary_classes(), {}
    for name, code in modules("modeling"):
        sources[os.path.dirname(code.__file__)] = sources.get(os.path.dirname(code.__file__), "") + open(code.__file__).read()
    found, inner, without = {}, {}, []
    for kind, what in UNSUPPORTED.items():
        found[kind] = dict(DEFAULT, type=kind, unsupported=what)
    for kind, more in [*MORE.items(), *TOWERS.items()]:
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
                found[name] = dict(DEFAULT, type=name, unsupported=IMAGE)
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
                    inner[name] = text
                elif not re.search(r"rotary|rope\b|rope_|_rope", source, re.I) and source and not kind.sub_configs:
                    if isinstance(attribute(config, "hidden_size"), int) and attribute(config, "num_attention_heads"):
                        without.append(name)
    for name, text in inner.items():
        kind = text.model_type
        if name not in found and kind in found:
            found[name] = of_wrapper(found[kind], text, name)
        elif kind in without:
            without.append(name)
    for name, rules in RULES.items():
        found[name] = dict(found.get(name, dict(DEFAULT, type=name)), **rules)
    for name in READS_TYPE:
        found[name]["reads_position_embedding_type"] = True
    for name in NTK_DIVIDES:
        found[name]["ntk_divides"] = True
    for name in DEEPSEEK:
        found[name]["pairing"] = found["deepseek_v3"]["pairing"]
    for name in filter(UNIT_SCALE.fullmatch, found):
        found[name]["unit_scale"] = not found[name]["unsupported"]
    for name in ROTATES_VALUES:
        found[name]["rotates_values"] = True
    check_position_embedding_type(found)
    models = (name for name in set(without) - set(found)
              if not re.search("_(vision|image|audio|mask|det|multi|geometry)|coder$", name))
    return [found[name] for name in sorted(found)], sorted(models)


def check_position_embedding_type(found):
    """Of all models with code here, those of READS_TYPE alone may look at the key; and the protein encoder of Evolla."""
    for name, code in modules("modeling"):
        reads = re.search(r"config(\.|, \")position_embedding_type", open(code.__file__).read())
        assert not reads or name not in found or name in READS_TYPE | {"evolla"}, name


def text_of(models, without):
    """A line for each type."""
    def line(row):
        return json.dumps({key: value for key, value in row.items() if key != "type" and value != DEFAULT[key]})

    types = ",\n".join(f"    {json.dumps(row['type'])}: {line(row)}" for row in models)
    names = ",\n".join(f"    {json.dumps(name)}" for name in without)
    return f'{{\n  "model_types": {{\n{types}\n  }},\n  "without_rotation": [\n{names}\n  ]\n}}\n'


def main():
    torch.set_num_threads(1)
    models, without = rows()
    sys.stdout.write(text_of(models, without))
    print(f"transformers {transformers.__version__}: {len(models)} models, {len(without)} without", file=sys.stderr)


if __name__ == "__main__":
    main()
