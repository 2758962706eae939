# SPDX-License-Identifier: Apache-2.0
"""oracle_models.py ROTARY: attend --position, with the parameters in a trained model's file, gives the weights that the model's
attention has by rotary heatmap, for every encoding of models that is in attention."""
import os
import re

import numpy as np
from oracle_support import array, check, near, read_safetensors, report, result, run

H, G, D, W = 3, 1, 8, 24
text = "abcdabcabdabcacddabcabdcabcdabccdabdacb>abdcb"
# Weights that scores differ by, and settings that are not the defaults.
model = {"hidden_size": W, "num_attention_heads": H, "num_key_value_heads": G, "num_hidden_layers": 1, "intermediate_size": 32,
         "sequence_length": 64, "batch_size": 2, "validation_sequences": 2, "log_every": 1, "norm_position": "post",
         "initialisation": "normal", "initializer_range": 0.5}
variants = {"t5": [{"relative_attention_num_buckets": 12, "relative_attention_max_distance": 20}],
            "kerple": [{"kerple_kernel": "log"}, {"kerple_kernel": "power"}], "sandwich": [{"sandwich_channels": 10}],
            "shaw": [{"max_relative_position": 5}], "deberta": [{"max_relative_position": 5}],
            "fire": [{"fire_width": 5, "fire_length": 8}]}


def words(settings):
    return [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]


def tensors(name):
    return {key: np.frombuffer(data, np.float32).reshape(shape).astype(np.float64)
            for key, (kind, shape, data) in read_safetensors(name)[0].items() if kind == "F32"}


def with_parameters(flags, folder, there):
    """The flags with each parameter that attend asks for, from the model's file."""
    while True:
        said = run("attend", "--query", "q.npy", "--key", "k.npy", "--value", "k.npy", "--output", "o.npy", *flags).stderr
        asked = re.search(r"wants --parameter (\S+)=FILE", said)
        if not asked:
            return flags
        names = [name for name in there if name in (asked[1], f"layers.0.attention.{asked[1]}")]
        if not check(f"{flags}: the model has {asked[1]}", len(names) == 1, f"{list(there)}"):
            return flags
        flags = [*flags, "--parameter", f"{asked[1]}={folder}/model.safetensors:{names[0]}"]


def compare(position, settings):
    folder = f"{position}{len(settings) and '-'.join(map(str, settings.values()))}"
    done = run("train", "prefix", *words({**model, **settings}), "--position", position, "--steps", 2, "--seed", 5, "--precision", "f32", "--out", folder)
    if not check(f"train {folder}", done.returncode == 0, done.stderr):
        return
    check(f"heatmap {folder}", run("heatmap", folder, "--text", text, "--output", f"{folder}/heat").returncode == 0)
    wanted = np.load(f"{folder}/heat/{position}-text1-decoder.npy")[0]
    there = tensors(f"{folder}/model.safetensors")
    ids = ["abcd>".index(letter) for letter in text]
    name = "layers.0.attention.query_key_value"
    rows = there["embedding.weight"][ids] @ there[f"{name}.weight"].T + there[f"{name}.bias"]
    array("q.npy", rows[:, :H * D].reshape(-1, H, D))
    array("k.npy", rows[:, H * D:(H + G) * D].reshape(-1, G, D))
    flags = ["--causal", "--position", position, *words(settings)]
    if position in ("rope", "roper", "xpos"):
        flags += ["--rope", f"{folder}/config.json"]
    flags = with_parameters(flags, folder, there)
    result("attend", "--query", "q.npy", "--key", "k.npy", "--value", "k.npy", "--output", "o.npy", "--weights", "w.npy", "--json",
           *flags)
    got = np.load("w.npy")
    near(folder, got, wanted[:, :len(text), :len(text)], 3e-6)
    plain = np.load("none.npy") if position != "none" else 0
    check(f"{folder} matters", np.abs(got - plain).max() > 1e-3)
    if position == "none":
        array("none.npy", got)


# Descriptions of encodings, which attend --position does not take.
encodings = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "presets", "encodings")
files = [name.removesuffix(".json") for name in os.listdir(encodings)]
said = run("train", "prefix", "--position", "nonsense", "--out", "none").stderr
words_said = re.split(", or |, | or ", said.split("wanted ", 1)[1].split("\n")[0])
names = [name for name in words_said if re.fullmatch("[a-z0-9-]+", name)]
check("names of encodings", {"none", "rope", "t5"} <= set(names), said)
names = [name for name in names if name not in ("learned", "sinusoidal", *files)]
for name in sorted(names, key=lambda name: name != "none"):  # the weights without an encoding first
    for settings in variants.get(name, [{}]):
        compare(name, settings)
report()
