# SPDX-License-Identifier: Apache-2.0
"""oracle_scales.py ROTARY: scales of queries by position, in frequencies and attend, and the scale of two-part heads, against
formulas in NumPy."""
import numpy as np
from oracle_support import array, check, config, near, refuses, report, result

B, T, S, H, G, D = 2, 3, 7, 4, 2, 8
random = np.random.default_rng(20261127)
q, k, v = (random.standard_normal(shape) for shape in ((B, T, H, D), (B, S, G, D), (B, S, G, D)))
for name, x in [("q", q), ("k", k), ("v", v)]:
    array(f"{name}.npy", x)


def inverse_frequencies(dim):
    return 10000.0 ** (-2.0 * np.arange(dim // 2) / dim)


def rotated(x, positions, frequencies):
    """The first channels of [..., T, H, D], in half-split pairs."""
    pairs, angles = len(frequencies), positions[:, None, None] * frequencies
    a, b = x[..., :pairs], x[..., pairs:2 * pairs]
    halves = np.cos(angles) * a - np.sin(angles) * b, np.sin(angles) * a + np.cos(angles) * b
    return np.concatenate((*halves, x[..., 2 * pairs:]), -1)


def attention(query, key, value):
    """Causal; the last query is at the last key."""
    key, value = np.repeat(key, H // G, -2), np.repeat(value, H // G, -2)
    score = np.einsum("bthd,bshd->bhts", query, key) * D**-0.5
    score = np.where(np.arange(S - T, S)[:, None] >= np.arange(S), score, -np.inf)
    weights = np.exp(score - score.max(-1, keepdims=True))
    return np.einsum("bhts,bshd->bthd", weights / weights.sum(-1, keepdims=True), value)


# Queries grow with their position (Ministral 3), in all channels.
beta = {"rope_type": "default", "llama_4_scaling_beta": 0.5, "original_max_position_embeddings": 3}
rope = config({"head_dim": 8, "partial_rotary_factor": 0.5, "rope_parameters": beta})
check("query_scale", result("frequencies", "--config", rope)["query_scale"]
      == {"beta": 0.5, "length": 3.0, "offset": 0.0})
found = result("attend", "--query", "q.npy", "--key", "k.npy", "--value", "v.npy", "--output", "o.npy", "--rope", rope,
               "--causal", "--json")
growth = 1 + 0.5 * np.log(1 + np.arange(S - T, S) // 3)
near("query scale", np.load("o.npy"), attention(
    rotated(q, np.arange(S - T, S), inverse_frequencies(4)) * growth[:, None, None],
    rotated(k, np.arange(S), inverse_frequencies(4)), v), 1e-12)
distance = found["librotary"]["largest_difference"]
check("query scale, kernel", distance is not None and distance <= max(1.0, np.abs(v).max()) * 1e-3,
      str(found["librotary"]))
# Llama 4's, on layers without rotation.
for more, growth in [({}, 1 + 0.1 * np.log(1 + (np.arange(S - T, S) + 1) // 8192)),
                     ({"attn_scale": 0.5, "floor_scale": 3}, 1 + 0.5 * np.log(1 + (np.arange(S - T, S) + 1) // 3)),
                     ({"attn_temperature_tuning": False, "floor_scale": 3}, np.ones(T))]:
    llama4 = config({"model_type": "llama4_text", "head_dim": 8, "num_attention_heads": H} | more, "llama4.json")
    found = result("attend", "--query", "q.npy", "--key", "k.npy", "--value", "v.npy", "--output", "o.npy",
                   "--rope", llama4, "--unrotated", "--causal", "--json")
    near(f"unrotated {more}", np.load("o.npy"), attention(q * growth[:, None, None], k, v), 1e-12)
    distance = found["librotary"]["largest_difference"]
    check("unrotated, kernel", distance is not None and distance <= max(1.0, np.abs(v).max()) * 1e-3)
# DeepSeek's two-part heads: scores have the scale of its model, of latents too, whose heads have more channels.
mla = config({"model_type": "deepseek_v3", "qk_nope_head_dim": 4, "qk_rope_head_dim": 4, "kv_lora_rank": 6, "num_attention_heads": H,
              "rope_scaling": {"type": "yarn", "factor": 16, "original_max_position_embeddings": 64, "mscale_all_dim": 0.5}}, "mla.json")
wanted = (0.1 * 0.5 * np.log(16) + 1)**2 * 8**-0.5
for channels in (8, 10):
    for name, heads, length in [("q", H, T), ("k", G, S)]:
        array(f"{name}{channels}.npy", random.standard_normal((length, heads, channels)))
    flags = ["attend", "--query", f"q{channels}.npy", "--key", f"k{channels}.npy", "--value", f"k{channels}.npy", "--rope", mla, "--json"]
    near("the model's scale", result(*flags, "--output", "o.npy")["scale"], wanted, 1e-15)
    result(*flags, "--output", "given.npy", "--scale", wanted)
    near(f"its scores, of {channels} channels", np.load("o.npy"), np.load("given.npy"), 1e-14)
# Gemma 4's are divided by nothing.
gemma = config({"model_type": "gemma4_text", "head_dim": D}, "gemma.json")
flags = ["attend", "--query", "q.npy", "--key", "k.npy", "--value", "v.npy", "--output", "o.npy", "--rope", gemma, "--layer-type",
         "sliding_attention", "--json"]
near("no scale", result(*flags)["scale"], 1, 0)
near("a scale that is given", result(*flags, "--scale", 0.5)["scale"], 0.5, 0)
near("a model of another type", result(*flags, "--ignore", "model_type")["scale"], D**-0.5, 1e-15)
refuses(1, "describes heads of 4 channels, wanted 9", "attend", "--query",
        array("q9.npy", random.standard_normal((T, H, 9))), "--key", array("k9.npy", random.standard_normal((S, G, 9))), "--value",
        "k9.npy", "--rope", mla, "--output", "o.npy")
refuses(1, "llama_4_scaling_beta", "apply", "--config", rope, "--input", "q.npy", "--output", "o.npy")
report()
