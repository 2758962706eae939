# SPDX-License-Identifier: Apache-2.0
"""config_keys.py LIST: compares the list with transformers. Every key of the configuration class of
a model type that is loaded must be in the list, and every key that its code reads of a configuration by name."""
import ast
import dataclasses
import json
import os
import sys
import transformers

GROUPS = {"decoder": "llama mistral ministral ministral3 qwen2 qwen3 olmo2 phi3 gemma2 gemma3_text gpt_neox".split(),
          "encoder": ["bert", "roformer"]}
# Code that the models share and that reads keys by name.
SHARED = ["masking_utils.py", "modeling_rope_utils.py", "configuration_utils.py"]
# Functions that have the keys of a file as "kwargs".
READERS = ("__post_init__", "convert_rope_params_to_dict")
# Names that getattr reads there of something that is no config.json, or that transformers sets itself.
OTHERS = {"_attn_implementation", "_rope_type_labels", "_experts_implementation"}
# Of a head of RoFormer for multiple choice, which is refused by its class.
REFUSED_HEADS = tuple(f"summary_{key}" for key in ("activation", "first_dropout", "last_dropout", "proj_to_labels", "type", "use_proj"))


def named(path):
    """Keys that code reads by name: getattr(config, "key", ...), kwargs.pop("key", ...), kwargs.get("key", ...)."""
    with open(path, encoding="utf-8") as file:
        tree = ast.parse(file.read())
    readers = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name in READERS]
    of_readers = {id(call) for reader in readers for call in ast.walk(reader)}
    found = set()
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call) or not call.args:
            continue
        function = call.func
        if isinstance(function, ast.Name) and function.id in ("getattr", "hasattr") and len(call.args) > 1 \
                and not path.endswith("configuration_utils.py"):
            of, key = ast.unparse(call.args[0]), call.args[1]
            wanted = of.endswith("config") or of == "self" and function.id == "hasattr" and "rope" in path
        elif isinstance(function, ast.Attribute) and function.attr in ("pop", "get"):
            wanted, key = ast.unparse(function.value) == "kwargs" and id(call) in of_readers, call.args[0]
        else:
            continue
        if wanted and isinstance(key, ast.Constant) and isinstance(key.value, str):
            found.add(key.value)
    return found


def keys_of(kind):
    """Keys of the class, under all names, and those that its code reads by name."""
    keys = {field.name for field in dataclasses.fields(kind)} | set(kind().to_dict())
    keys |= set(kind.attribute_map) | set(kind.attribute_map.values())
    root = os.path.dirname(transformers.__file__)
    folder = os.path.dirname(sys.modules[kind.__module__].__file__)
    name = os.path.basename(folder)
    files = [os.path.join(root, shared) for shared in SHARED]
    files += [os.path.join(folder, f"{part}_{name}.py") for part in ("configuration", "modeling")]
    for file in files:
        keys |= named(file)
    return keys


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        table = json.load(file)
    wrong = sorted(set(table) ^ ({name for types in GROUPS.values() for name in types} | set(GROUPS) | {"parameters"}))
    for name in wrong:
        print(f"FAILED: {name} is in one of two lists of model types")
    compared = 0
    for group, types in GROUPS.items():
        for name in types:
            rows = [table[group], table[name]]
            listed = [key for row in rows for part in ("applied", "refused", "unused") for key in row.get(part, [])]
            for key in sorted(keys_of(transformers.CONFIG_MAPPING[name]) - set(listed) - OTHERS - set(REFUSED_HEADS)):
                wrong.append(key)
                print(f"FAILED: {name} has the key {key}, which is not in {sys.argv[1]}")
            for key in sorted({key for key in listed if listed.count(key) > 1}):
                wrong.append(key)
                print(f"FAILED: {name} has the key {key} in two lists")
            compared += len(listed)
    print(f"transformers {transformers.__version__}: {compared} keys compared")
    sys.exit(bool(wrong) or compared == 0)


main()
