# SPDX-License-Identifier: Apache-2.0
"""oracle_chunks.py ROTARY: dual chunk attention (Qwen 2.5 1M) and keys at given positions, against formulas in NumPy."""
import numpy as np
from oracle_support import array, check, config, near, refuses, report, result

B, S, H, G, D = 2, 41, 4, 2, 8
random = np.random.default_rng(20260914)


def rotated(x, positions, frequencies):
    """[B, T, H, D] in half-split pairs; positions [B, T] or [T]."""
    angles = np.broadcast_to(positions, x.shape[:2])[..., None, None] * frequencies
    a, b = np.split(x, 2, -1)
    return np.concatenate((np.cos(angles) * a - np.sin(angles) * b, np.sin(angles) * a + np.cos(angles) * b), -1)


def softmax(score):
    largest = score.max(-1, keepdims=True)
    weights = np.exp(score - np.where(np.isinf(largest), 0, largest))
    return weights / np.maximum(weights.sum(-1, keepdims=True), 1e-300)


def dual_chunk(query, key, value, first, lengths, size, local, original):
    """One score after another: the positions of its query and its key are those of the two chunks that they are in."""
    frequencies = 10000.0 ** (-2.0 * np.arange(D // 2) / D)
    length, output = size - local, np.zeros(query.shape)
    for b in range(query.shape[0]):
        magnitude = max(1.0, 0.1 * np.log(lengths[b] / original) + 1.0) if original else 1.0
        for t in range(query.shape[1]):
            p = first[b] + t
            keys = np.arange(min(p + 1, lengths[b]))
            score = np.zeros((H, len(keys)))
            for n in keys:
                apart = p // length - n // length
                at = [p % length, min(p % length + length, size), min(2 * length - 1, size)][min(apart, 2)]
                q = rotated(query[b:b + 1, t:t + 1], np.array([at]), frequencies)[0, 0]
                k = rotated(key[b:b + 1, n:n + 1], np.array([n % length]), frequencies)[0, 0]
                score[:, n] = (q * np.repeat(k, H // G, 0)).sum(-1)
            weights = softmax(score * D**-0.5 * magnitude**2)
            output[b, t] = np.einsum("hs,shd->hd", weights, np.repeat(value[b, :len(keys)], H // G, 1))
    return output


for T, size, local, original in [(S, 10, 3, 0), (S, 10, 3, 13), (S, 12, 1, 99), (1, 10, 3, 5), (5, 64, 8, 20), (S, 9, 0, 0)]:
    q, k, v = (random.standard_normal((B, *shape)) for shape in ((T, H, D), (S, G, D), (S, G, D)))
    arrays = [array("q.npy", q), array("k.npy", k), array("v.npy", v)]
    chunks = {"chunk_size": size, "local_size": local, "original_max_position_embeddings": original}
    rope = config({"head_dim": D, "dual_chunk_attention_config": chunks})
    attend = ["attend", "--query", "q.npy", "--key", "k.npy", "--value", "v.npy", "--output", "o.npy", "--rope", rope]
    found = result(*attend, "--causal", "--json")
    wanted = dual_chunk(q, k, v, [S - T] * B, [S] * B, size, local, original)
    near(f"T {T}, chunks {chunks}", np.load("o.npy"), wanted, 1e-12)
    check("the kernel has no chunks", "chunk" in found["librotary"]["reason"], str(found))
    lengths = [S - 9, S]
    result(*attend, "--causal", "--key-lengths", array("lengths.npy", np.array(lengths)), "--json")
    rows = [n - T for n in lengths]
    if min(rows) >= 0:
        near(f"T {T}, chunks {chunks}, lengths", np.load("o.npy"),
             dual_chunk(q, k, v, rows, lengths, size, local, original), 1e-12)

# Decoding over a cache: the same numbers as of a sequence at once. Within one chunk it is plain attention.
result(*attend, "--causal", "--json")
whole = np.load("o.npy")
array("q1.npy", q[:, 30:]), array("k0.npy", k[:, :30]), array("k1.npy", k[:, 30:])
array("v0.npy", v[:, :30]), array("v1.npy", v[:, 30:])
result("attend", "--query", "q1.npy", "--key", "k1.npy", "--value", "v1.npy", "--past-key", "k0.npy", "--past-value", "v0.npy",
       "--output", "o.npy", "--rope", rope, "--causal", "--json")
near("a cache", np.load("o.npy"), whole[:, 30:], 1e-12)
result(*attend[:-1], config({"head_dim": D}, "plain.json"), "--causal", "--json")
plain = np.load("o.npy")
wide = config({"head_dim": D, "dual_chunk_attention_config": {"chunk_size": 99, "local_size": 3}}, "wide.json")
result(*attend[:-1], wide, "--causal", "--json")
near("one chunk", np.load("o.npy"), plain, 1e-14)
check("chunks matter", np.abs(whole - plain).max() > 1e-3)
result(*attend, "--causal", "--position", "rope", "--json")
near("--position rope", np.load("o.npy"), whole, 0)

for flags, wanted in [([], "--causal"), (["--causal", "--window", 3], "--window"), (["--causal", "--roper"], "no rotated values"),
                      (["--causal", "--position", "roper"], "no rotated values"),
                      (["--causal", "--key-positions", array("n.npy", np.arange(S)), "--first-query", 0], "--key-positions")]:
    refuses(1, f'{rope} has "dual_chunk_attention_config", wanted {wanted}'.replace("wanted --window", "wanted no --window")
            .replace("wanted --key", "wanted no --key"), *attend, *flags)
for command in ["frequencies", "decay"]:
    refuses(1, "dual_chunk_attention_config", command, "--config", rope)

# ---- keys at given positions ----

frequencies = 10000.0 ** (-2.0 * np.arange(D // 2) / D)
positions = np.concatenate([np.arange(S - 12), 4 * np.arange(12)])
T, first = 7, 20
q = random.standard_normal((B, T, H, D))
array("q.npy", q), array("n.npy", positions)
attend = ["attend", "--query", "q.npy", "--key", "k.npy", "--value", "v.npy", "--output", "o.npy", "--rope", "plain.json",
          "--key-positions", "n.npy", "--first-query", first]
at = first + np.arange(T)


def attention(allowed, rotates_values):
    query, key = rotated(q, at, frequencies), np.repeat(rotated(k, positions, frequencies), H // G, 2)
    value = np.repeat(rotated(v, positions, frequencies) if rotates_values else v, H // G, 2)
    score = np.where(allowed, np.einsum("bthd,bshd->bhts", query, key) * D**-0.5, -np.inf)
    output = np.einsum("bhts,bshd->bthd", softmax(score), value)
    return rotated(output, -at, frequencies) if rotates_values else output


causal = positions <= at[:, None]
for roper in [False, True]:
    flags = ["--roper"] if roper else []
    for about, more, allowed in [("causal", ["--causal"], causal), ("all", [], np.full((T, S), True)),
                                 ("window", ["--causal", "--window", 9], causal & (at[:, None] - positions < 9))]:
        found = result(*attend, *flags, *more, "--json")
        near(f"positions of keys, {about}, {roper}", np.load("o.npy"), attention(allowed, roper), 1e-12)
        check("the kernel has keys from 0 on", "positions" in found["librotary"]["reason"], str(found))
refuses(2, "--key-positions wants --first-query N", *attend[:-2])
refuses(2, "--position alibi and --key-positions exclude each other", *attend[:9], *attend[11:], "--position", "alibi")
refuses(2, "--key-positions and --past-key exclude", *attend, "--past-key", "k.npy", "--past-value", "v.npy")
refuses(2, "--key-positions and --key-lengths exclude", *attend, "--key-lengths", "lengths.npy")
for wrong in [positions[1:], positions[None], positions + 0.5, positions + 2**62]:
    array("wrong.npy", wrong)
    refuses(1, "wrong.npy", *attend[:-4], "--key-positions", "wrong.npy", "--first-query", first)
report()
