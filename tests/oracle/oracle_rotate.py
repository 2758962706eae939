# SPDX-License-Identifier: Apache-2.0
"""oracle_rotate.py ROTARY: attend with each subset of queries, keys, values and outputs rotated, against the formula in
NumPy; and which of them depend on differences of positions alone."""
import itertools
import numpy as np
from oracle_support import array, check, config, near, refuses, report, result

B, T, S, H, G, D = 2, 3, 7, 4, 2, 8
random = np.random.default_rng(20261128)
q, k, v = (random.standard_normal(shape) for shape in ((B, T, H, D), (B, S, G, D), (B, S, G, D)))
for name, x in [("q", q), ("k", k), ("v", v)]:
    array(f"{name}.npy", x)
SUBSETS = ["".join(x for x, named in zip("qkvo", kept) if named) for kept in itertools.product((0, 1), repeat=4)][1:]
RELATIVE = {"qk", "vo", "qkvo"}


def rotated(x, positions, magnitude=1.0, direction=1):
    """The first 6 channels of [B, T, H, D], half-split pairs, by YaRN's frequencies."""
    angles = direction * positions[:, None, None] * frequencies
    a, b, c, s = x[..., :3], x[..., 3:6], magnitude * np.cos(angles), magnitude * np.sin(angles)
    return np.concatenate((a * c - b * s, a * s + b * c, x[..., 6:]), -1)


def attention(subset, first, shared=False):
    """Causal; the inputs' magnitude is of what rotates of queries and keys. Shared keys, which have none, are the values."""
    at, standing = first + np.arange(T), np.arange(S)
    query = rotated(q, at, 1.25) if "q" in subset else q
    key = rotated(k, standing, 1.25) if "k" in subset else k
    value = rotated(v, standing) if "v" in subset else v
    if shared:
        query = rotated(q, at) if "q" in subset else q
        key = value = rotated(k, standing) if "k" in subset or "v" in subset else k
    key, value = np.repeat(key, H // G, -2), np.repeat(value, H // G, -2)
    score = np.einsum("bthd,bshd->bhts", query, key) * D**-0.5
    score = np.where(at[:, None] >= standing, score, -np.inf)
    weights = np.exp(score - score.max(-1, keepdims=True))
    output = np.einsum("bhts,bshd->bthd", weights / weights.sum(-1, keepdims=True), value)
    return rotated(output, at, direction=-1) if "o" in subset else output


rope = config({"head_dim": D, "partial_rotary_factor": 0.75, "rope_parameters": {
    "rope_type": "yarn", "rope_theta": 100.0, "factor": 4, "original_max_position_embeddings": 32, "attention_factor": 1.25}})
frequencies = np.array(result("frequencies", "--config", rope)["inv_freq"])
files = ["--query", "q.npy", "--key", "k.npy", "--value", "v.npy", "--output", "o.npy"]
attend = ["attend", *files, "--rope", rope, "--causal", "--json"]
outputs = {}
for subset in SUBSETS:
    for first in (S - T, 9):
        found = result(*attend, "--rotate", subset, "--first-query", first)
        got = np.load("o.npy")
        near(f"rotate {subset}, first query {first}", got, attention(subset, first), 1e-13)
        distance = found["librotary"]["largest_difference"]
        check(f"rotate {subset}, kernel", distance is not None and distance < 1e-5, str(found["librotary"]))
    outputs[subset] = got
for one, other in itertools.combinations(SUBSETS, 2):
    check(f"{one} is not {other}", bool(np.abs(outputs[one] - outputs[other]).max() > 1e-3))
for flags, subset in [([], "qk"), (["--roper"], "qkvo")]:
    result(*attend, *flags, "--first-query", 9)
    near(f"{subset} by another name", np.load("o.npy"), outputs[subset], 0)

plain = config({"head_dim": D, "rope_theta": 100.0, "inverse_frequencies": list(frequencies), "partial_rotary_factor": 0.75},
               "plain.json")
for subset in SUBSETS:
    found = result("attend", *files[:4], *files[6:], "--key-is-value", "--rope", plain, "--causal", "--json", "--rotate", subset)
    near(f"rotate {subset}, keys are values", np.load("o.npy"), attention(subset, S - T, True), 1e-13)
    distance = found["librotary"]["largest_difference"]
    check(f"rotate {subset}, keys are values, kernel", distance is not None and distance < 1e-5, str(found["librotary"]))

# A past of keys comes before them, and has no values either. An attention factor would be in the values.
shared = ["attend", "--query", "q.npy", "--key-is-value", "--output", "o.npy", "--rope", plain, "--roper", "--causal"]
result(*shared, "--key", "k.npy", "--first-query", 3, "--json")
whole = np.load("o.npy")
result(*shared, "--key", array("new.npy", k[:, 3:]), "--past-key", array("past.npy", k[:, :3]), "--json")
near("a past of keys that are values", np.load("o.npy"), whole, 0)
refuses(1, "multiplies keys by an attention factor, and by --key-is-value they are the values too", *shared[:6], "--key",
        "k.npy", "--rope", rope)

# A key that the query sees and its position, both moved: the first token of a sequence against one that follows others,
# which a mask hides.
array("long-q.npy", np.concatenate((np.zeros((B, S, H, D)), q), 1))
array("long-k.npy", np.concatenate((random.standard_normal((B, T, G, D)), k), 1))
array("long-v.npy", np.concatenate((random.standard_normal((B, T, G, D)), v), 1))
array("mask.npy", np.broadcast_to(np.arange(T + S) >= T, (T + S, T + S)))
for subset in SUBSETS:
    result(*attend, "--rotate", subset)
    here = np.load("o.npy")
    result("attend", "--query", "long-q.npy", "--key", "long-k.npy", "--value", "long-v.npy", "--output", "o.npy", "--mask",
           "mask.npy", "--rope", rope, "--causal", "--rotate", subset, "--json")
    moved = np.abs(np.load("o.npy")[:, S:] - here).max()
    check(f"rotate {subset} at other positions", moved < 1e-13 if subset in RELATIVE else moved > 1e-3, str(moved))

# Files whose models rotate values: other choices are refused, unless the key that says so is ignored.
shared = ["attend", *files[:4], *files[6:], "--key-is-value"]
for content, wanted, ignored, good in [
        ({"model_type": "deepseek_v4", "qk_rope_head_dim": 4, "rope_parameters": {"main": {}}}, "--rotate qkvo", "model_type", "qkvo"),
        ({"model_type": "roformer", "rotary_value": True}, "--rotate qkv", "rotary_value", "qkv")]:
    of_model = ["--rope", config({"head_dim": D} | content, "values.json")]
    for subset in SUBSETS:
        if subset == good:
            result("attend", *files, *of_model, "--rotate", subset, "--json")
            continue
        refuses(1, f"wanted {wanted}, or --ignore {ignored}", "attend", *files, *of_model, "--rotate", subset)
        result("attend", *files, *of_model, "--rotate", subset, "--ignore", ignored, "--json")
    result(*shared, *of_model, "--rotate", "qk" + good[3:], "--json")  # shared keys rotate as values
    refuses(1, f"wanted {wanted}", *shared, *of_model, "--rotate", "qk" if good == "qkvo" else "qko")
# So are models that are trained here.
def trained(**keys):
    return ["--rope", config({"head_dim": D, "rope_theta": 100.0} | keys, "trained.json")]


for keys, good, key in [({"position": "rope"}, "qk", "position"), ({"position": "roper"}, "qkvo", "position"),
                        ({"position": "xpos"}, "qk", "position"), ({"position": "t5"}, None, "position"),
                        ({"position": "rope", "rotate": "vo"}, "vo", "rotate"),
                        ({"position": {"name": "values", "rotate": ["value"]}}, "vo", "position")]:
    for subset in SUBSETS:
        command = ["attend", *files, *trained(**keys), "--rotate", subset]
        if subset == good:
            result(*command, "--json")
        else:
            refuses(1, f"rotate {good or 'nothing'}; wanted {f'--rotate {good}' if good else 'no --rope'}, or --ignore {key}", *command)
    result("attend", *files, *trained(**keys), "--rotate", "o", "--ignore", "position", "--ignore", "rotate", "--json")
for keys, extra, wanted in [({"key_is_value": "true"}, files[4:6], "--key-is-value"),
                            ({}, ["--key-is-value"], "--value FILE"),
                            ({"key_is_value": "unrotated"}, ["--key-is-value"], "--value FILE")]:
    command = ["attend", *files[:4], *files[6:], *extra, *trained(position="rope", **keys)]
    refuses(1, f"wanted {wanted}, or --ignore key_is_value", *command)
    result(*command, "--ignore", "key_is_value", "--json")
    other = files[4:6] if "--key-is-value" in extra else ["--key-is-value"]
    result("attend", *files[:4], *files[6:], *other, *trained(position="rope", **keys), "--json")
half = ["attend", *files, *trained(position="roper", value_fraction=0.5), "--roper"]
refuses(1, f'"value_fraction" 0.5 rotates {D // 2} channels of values, wanted {D}', *half)
result(*half, "--ignore", "value_fraction", "--json")
result("attend", *files, *trained(position="roper", value_fraction=0.5, partial_rotary_factor=0.5), "--roper", "--json")
refuses(1, '"rotate" is "kq"', "attend", *files, *trained(position="rope", rotate="kq"))
refuses(2, "want --rope FILE, whose rotation they are about", "attend", *files, "--compat", "ggml")
refuses(2, "--rotate wants --rope FILE", "attend", *files, "--rotate", "kv")
refuses(2, "--rotate and --roper exclude each other", "attend", *files, "--rope", rope, "--roper", "--rotate", "kv")
refuses(2, "--unrotated and --rotate exclude each other", "attend", *files, "--rope", rope, "--unrotated", "--rotate", "kv")
refuses(2, "--position roper and --rotate exclude each other", "attend", *files, "--rope", rope, "--position", "roper",
        "--rotate", "kv")
refuses(2, "wanted q, k, qk, v", "attend", *files, "--rope", rope, "--rotate", "vk")
report()
