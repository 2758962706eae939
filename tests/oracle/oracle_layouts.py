# SPDX-License-Identifier: Apache-2.0
"""oracle_layouts.py ROTARY: the same numbers in other layouts, types and files give the same results; and scores, windows
and lengths of attention against NumPy."""
import numpy as np
from oracle_support import array, check, config, near, refuses, report, result

random = np.random.default_rng(20240607)
B, T, S, P, H, G, D, E = 2, 3, 5, 4, 4, 2, 8, 6


def numbers(*shape):
    """Signed, over many sizes."""
    return random.standard_normal(shape) * 2.0 ** random.integers(-3, 3, shape)


def same(about, got, wanted):
    near(about, got, wanted, 0)


def laid_out(x, layout):
    if layout == "heads":
        return np.swapaxes(x, -3, -2)
    return x.reshape(*x.shape[:-2], -1) if layout == "flat" else x


# ---- layouts ----

rope = config({"head_dim": D, "rope_theta": 100})
for shape in [(), (B,)]:
    x = numbers(*shape, T, H, D).astype(np.float32)
    q, k, v = numbers(*shape, T, H, D), numbers(*shape, S, G, D), numbers(*shape, S, G, E)
    seen = {}
    for layout in ["time", "heads", "flat"]:
        flags = ["--layout", layout]
        more = ["--heads", H] if layout == "flat" else []
        result("apply", "--config", rope, "--input", array("x.npy", laid_out(x, layout)), "--output", "y.npy", "--json",
               "--offset", 5, *flags, *more)
        result("attend", "--query", array("q.npy", laid_out(q, layout)), "--key", array("k.npy", laid_out(k, layout)),
               "--value", array("v.npy", laid_out(v, layout)), "--output", "o.npy", "--weights", "w.npy", "--rope", rope,
               "--causal", "--json", *flags, *more, *(["--key-heads", G] if more else []))
        seen[layout] = [np.load("y.npy"), np.load("o.npy"), np.load("w.npy")]
    for layout in ["heads", "flat"]:
        for name, got, wanted in zip(["apply", "attend", "weights"], seen[layout], seen["time"]):
            same(f"{name} {layout} {shape}", got, wanted if name == "weights" else laid_out(wanted, layout))
    check("rotated at all", np.abs(seen["time"][0] - x).max() > 0.1)

# ---- the same numbers in other files ----

x = numbers(B, T, H, D).astype(np.float32)
whole = random.integers(0, 100, (B, T))
result("apply", "--config", rope, "--input", array("x.npy", x), "--positions", array("p.npy", whole), "--output",
       "plain.npy", "--json")
plain = np.load("plain.npy")
np.save("fortran.npy", np.asfortranarray(x))
np.save("big.npy", x.astype(">f4"))
np.save("transposed.npy", np.asfortranarray(x.astype(">f4")))
for name in ["fortran", "big", "transposed"]:
    result("apply", "--config", rope, "--input", f"{name}.npy", "--positions", "p.npy", "--output", "y.npy", "--json")
    same(name, np.load("y.npy"), plain)
for kind in ["|i1", "|u1", "<i2", "<u2", "<u4", "<u8", ">i4", ">i8", ">u8", "<i4"]:
    result("apply", "--config", rope, "--input", "x.npy", "--positions", array("p.npy", whole.astype(kind)), "--output",
           "y.npy", "--json")
    same(f"positions {kind}", np.load("y.npy"), plain)
bits = (x.view(np.uint32) >> 16).astype(np.uint16)
rounded = (bits.astype(np.uint32) << 16).view(np.float32)
result("apply", "--config", rope, "--input", array("x.npy", rounded), "--output", "single.npy", "--json")
found = result("apply", "--config", rope, "--input", array("bf16.npy", bits.view("V2")), "--output", "y.npy", "--json")
check("bf16", found["type"] == "bf16", str(found))
y = np.load("y.npy")
check("bf16 in f32", y.dtype == np.float32 and not (y.view(np.uint32) & 0xffff).any())
near("bf16", y, np.load("single.npy"), np.abs(y) * 2.0**-8)

# ---- attention: past keys, lengths, windows, scores ----


def attention(q, k, v, first, lengths=None, left=None, right=None, mask=None, softcap=0.0):
    """Output, weights and the scores of each stage; first: [B]."""
    keys = k.shape[1]
    k, v = np.repeat(k, H // G, 2), np.repeat(v, H // G, 2)
    scaled = np.einsum("bthd,bshd->bhts", q, k) * D**-0.5
    capped = softcap * np.tanh(scaled / softcap) if softcap else scaled
    behind = np.asarray(first)[:, None, None, None] + np.arange(T)[:, None] - np.arange(keys)
    sees = np.ones(scaled.shape, bool)
    if left is not None:
        sees &= behind <= left
    if right is not None:
        sees &= -behind <= right
    if lengths is not None:
        sees &= np.arange(keys) < np.asarray(lengths)[:, None, None, None]
    masked = np.where(sees, capped if mask is None else capped + mask, -np.inf)
    top = masked.max(-1, keepdims=True)
    weights = np.exp(masked - np.where(np.isinf(top), 0, top))
    weights /= np.maximum(weights.sum(-1, keepdims=True), 1e-300)
    return np.einsum("bhts,bshd->bthd", weights, v), weights, {"scaled": scaled, "capped": capped, "masked": masked}


q, k, v = numbers(B, T, H, D), numbers(B, S, G, D), numbers(B, S, G, D)
past_key, past_value = numbers(B, P, G, D), numbers(B, P, G, D)
for name, tensor in [("q", q), ("k", k), ("v", v), ("pk", past_key), ("pv", past_value)]:
    array(f"{name}.npy", tensor)
array("lengths.npy", np.array([4, 2]))
array("none.npy", np.array([0, 5]))
mask = numbers(T, S - 2)
array("m.npy", mask)
padded = np.concatenate([mask, np.full((T, 2), -np.inf)], 1)
both = np.concatenate([past_key, k], 1), np.concatenate([past_value, v], 1)
qkv = ["--query", "q.npy", "--key", "k.npy", "--value", "v.npy"]
past = ["--past-key", "pk.npy", "--past-value", "pv.npy", "--present-key", "all_k.npy", "--present-value", "all_v.npy"]
end = [S - T] * B
cases = [
    (["--window-left", 1], {"left": 1}, (k, v), end),
    (["--window-right", 0], {"right": 0}, (k, v), end),
    (["--window-left", 0, "--window-right", 1], {"left": 0, "right": 1}, (k, v), end),
    (["--causal", "--window-left", 1], {"left": 1, "right": 0}, (k, v), end),
    (["--causal", "--window", 2], {"left": 1, "right": 0}, (k, v), end),
    (["--key-lengths", "lengths.npy"], {"lengths": [4, 2]}, (k, v), end),
    (["--key-lengths", "lengths.npy", "--causal"], {"lengths": [4, 2], "right": 0}, (k, v), [4 - T, 2 - T]),
    (["--key-lengths", "none.npy", "--causal"], {"lengths": [0, 5], "right": 0}, (k, v), [0 - T, 5 - T]),
    (["--key-lengths", "lengths.npy", "--causal", "--first-query", 1], {"lengths": [4, 2], "right": 0}, (k, v), [1, 1]),
    (past, {}, both, [P] * B),
    (past + ["--causal"], {"right": 0}, both, [P] * B),
    (past + ["--causal", "--window", 3], {"left": 2, "right": 0}, both, [P] * B),
    (["--mask", "m.npy", "--pad-mask"], {"mask": padded}, (k, v), end),
    (["--softcap", 0.7, "--causal"], {"softcap": 0.7, "right": 0}, (k, v), end),
]
compared = 0
for flags, how, (keys, values), first in cases:
    output, weights, scores = attention(q, keys, values, first, **how)
    for stage, wanted in scores.items():
        found = result("attend", *qkv, *flags, "--output", "o.npy", "--weights", "w.npy", "--scores", "s.npy", "--stage",
                       stage, "--json")
        got = np.load("s.npy")
        hidden = np.isinf(wanted)
        same(f"{stage} scores, hidden, {flags}", np.isinf(got), hidden)
        near(f"{stage} scores {flags}", np.where(hidden, 0, got), np.where(hidden, 0, wanted), 1e-13 * np.abs(q).max() * np.abs(keys).max() * D)
    near(f"attend {flags}", np.load("o.npy"), output, 1e-12 * np.abs(values).max())
    near(f"weights {flags}", np.load("w.npy"), weights, 1e-12)
    masked = int((weights.sum(-1) == 0).sum())
    check(f"attend {flags}", found["fully_masked_rows"] == masked, str(found))
    distance = found["librotary"]["largest_difference"]
    compared += distance is not None
    # In f32: a hundred roundings of scores of about ten.
    check(f"kernel {flags}", distance is None or distance <= 1e-4 * np.abs(values).max(), str(found["librotary"]))
    if "--past-key" in flags:
        same("present key", np.load("all_k.npy"), both[0])
        same("present value", np.load("all_v.npy"), both[1])
check("the kernel took part", compared == len(cases), str(compared))

# The past of a flat layout has heads before time.
flat = ["--query", array("fq.npy", laid_out(q, "flat")), "--key", array("fk.npy", laid_out(k, "flat")), "--value",
        array("fv.npy", laid_out(v, "flat")), "--layout", "flat", "--heads", H, "--key-heads", G, "--past-key",
        array("fpk.npy", laid_out(past_key, "heads")), "--past-value", array("fpv.npy", laid_out(past_value, "heads"))]
result("attend", *qkv, *past, "--rope", rope, "--causal", "--output", "o.npy", "--json")
result("attend", *flat, "--present-key", "fall.npy", "--rope", rope, "--causal", "--output", "fo.npy", "--json")
same("flat past", np.load("fo.npy"), laid_out(np.load("o.npy"), "flat"))
same("flat present", np.load("fall.npy"), laid_out(both[0], "heads"))
result("attend", "--query", "q.npy", "--key", array("bk.npy", both[0]), "--value", array("bv.npy", both[1]), "--rope",
       rope, "--causal", "--first-query", P, "--output", "whole.npy", "--json")
same("past and whole", np.load("o.npy"), np.load("whole.npy"))

# A past of no tokens, as the first step of an engine has it.
for layout in ["time", "heads", "flat"]:
    empty = [part for name in ("key", "value") for part in (f"--past-{name}", array(
        f"none_{name}.npy", np.zeros((B, 0, G, D) if layout == "time" else (B, G, 0, D))))]
    step = ["--layout", layout] + (["--heads", H, "--key-heads", G] if layout == "flat" else [])
    for name, tensor in [("q", q), ("k", k), ("v", v)]:
        step += ["--query" if name == "q" else "--key" if name == "k" else "--value",
                 array(f"first_{name}.npy", laid_out(tensor, layout))]
    result("attend", *step, *empty, "--causal", "--output", "o.npy", "--present-key", "all_k.npy", "--json")
    result("attend", *qkv, "--causal", "--first-query", 0, "--output", "whole.npy", "--json")
    same(f"no past, {layout}", np.load("o.npy"), laid_out(np.load("whole.npy"), layout))
    same(f"no past, {layout}, present", np.load("all_k.npy"), laid_out(k, "heads" if layout == "flat" else layout))

# Sequences with a length each.
result("attend", *qkv, "--key-lengths", "lengths.npy", "--rope", rope, "--roper", "--causal", "--output", "o.npy", "--json")
for b, length in enumerate([4, 2]):
    result("attend", "--query", array("q1.npy", q[b]), "--key", array("k1.npy", k[b, :length]), "--value",
           array("v1.npy", v[b, :length]), "--rope", rope, "--roper", "--causal", "--output", "one.npy", "--json")
    same(f"length {length}", np.load("o.npy")[b], np.load("one.npy"))

# Masked keys and values do not count, not even a NaN.
bad = k.copy()
bad[0, 4:], bad[1, 2:] = np.nan, np.inf
result("attend", "--query", "q.npy", "--key", array("nan.npy", bad), "--value", "v.npy", "--key-lengths", "lengths.npy",
       "--output", "hidden.npy", "--json")
result("attend", *qkv, "--key-lengths", "lengths.npy", "--output", "plain.npy", "--json")
same("hidden", np.load("hidden.npy"), np.load("plain.npy"))

# ---- what is refused ----

array("x.npy", numbers(B, T, H * D))
array("five.npy", numbers(B, T, 5))
array("long.npy", np.array([4, 6]))
array("halves.npy", np.array([4.0, 2.5]))
array("three.npy", np.array([1, 2, 3]))
array("short.npy", past_value[:, 1:])
array("no_keys.npy", k[:, :0])
array("no_heads.npy", past_key[:, :0, :0])
array("bits.npy", np.zeros((T, H, D), np.complex64))
apply_flat = ["apply", "--config", rope, "--output", "out.npy", "--layout", "flat"]
attends = ["attend", *qkv, "--output", "out.npy"]
refuses(2, "--layout flat wants --heads N", *apply_flat, "--input", "x.npy")
refuses(2, "--heads wants --layout flat", "apply", "--config", rope, "--input", "x.npy", "--output", "out.npy", "--heads", 2)
refuses(1, "five.npy has shape [2, 3, 5], wanted [positions, pairs] or [1 or 2, 3, pairs], with 1 to 4 pairs", "apply",
        "--input", "q.npy", "--output", "out.npy", "--cos", "five.npy", "--sin", "five.npy")
refuses(1, "five.npy has shape [2, 3, 5], wanted [3] or [1 or 2, 3]", "apply", "--config", rope, "--input", "q.npy",
        "--output", "out.npy", "--positions", "five.npy")
refuses(1, "five.npy has shape [2, 3, 5], wanted [T, 2 * D] or [B, T, 2 * D]", *apply_flat, "--input", "five.npy",
        "--heads", 2)
refuses(1, 'bits.npy holds numbers of type "<c8", wanted <f2', "apply", "--config", rope, "--input", "bits.npy", "--output",
        "out.npy")
refuses(2, "--layout flat wants --heads N", *attends, "--layout", "flat")
refuses(2, "--key-heads wants --layout flat", *attends, "--key-heads", 2)
refuses(1, "k.npy has shape [2, 5, 2, 8], wanted [2, G, S, 8], G a divisor of 3, to go with q.npy", *attends, "--layout",
        "heads")
refuses(2, "--past-key and --past-value want each other", *attends, "--past-key", "pk.npy")
refuses(2, "--past-key and --key-lengths exclude", *attends, *past[:4], "--key-lengths", "lengths.npy")
refuses(1, "short.npy has 3 tokens, wanted 4, as many as pk.npy has", *attends, "--past-key", "pk.npy", "--past-value",
        "short.npy")
refuses(1, "no_keys.npy has shape [2, 0, 2, 8], wanted no size to be 0", "attend", *qkv[:2], "--key", "no_keys.npy",
        *qkv[4:], "--output", "out.npy")
refuses(1, "no_heads.npy has shape [2, 0, 0, 8], wanted [2, P, 2, 8], to go with k.npy", *attends, "--past-key",
        "no_heads.npy", "--past-value", "pv.npy")
refuses(1, "q.npy has shape [2, 3, 4, 8], wanted [2, P, 2, 8], to go with k.npy", *attends, "--past-key", "q.npy",
        "--past-value", "pv.npy")
refuses(1, "long.npy: length 1 is 6, wanted 0 to 5, as many as k.npy has", *attends, "--key-lengths", "long.npy")
refuses(1, "halves.npy holds f64 numbers, wanted whole ones", *attends, "--key-lengths", "halves.npy")
refuses(1, "three.npy has shape [3], wanted [2], whole numbers", *attends, "--key-lengths", "three.npy")
refuses(1, "m.npy has shape [3, 3], wanted [3, 5]", *attends, "--mask", "m.npy")
refuses(2, "--pad-mask wants --mask", *attends, "--pad-mask")
refuses(2, "--additive-mask wants --mask", *attends, "--additive-mask")
# Zeros and ones are a mask to one and numbers to another, unless they are all the same.
binary = np.tri(T, 5, 5 - T)
for kind in [np.float64, np.float16]:
    refuses(1, "holds zeros and ones alone, which may say what is seen or be added to the scores; wanted bool, or "
            "--additive-mask", *attends, "--mask", array("binary.npy", binary.astype(kind)))
for mask, flags in [(binary, ["--additive-mask"]), (binary * 2, []), (binary * 0, []), (binary * 0 + 1, [])]:
    result(*attends, "--mask", array("binary.npy", mask), *flags, "--json")
refuses(2, "--stage wants --scores", *attends, "--stage", "scaled")
refuses(2, "--window and --window-left exclude", *attends, "--causal", "--window", 2, "--window-left", 1)
refuses(2, 'two results would go to "out.npy"', *attends, "--weights", "out.npy")
refuses(2, 'two results would go to "out.safetensors:w"', *attends[:-1], "out.safetensors:o", "--weights", "out.safetensors:w")
with open("many.npz", "wb") as file:
    np.savez(file, x=np.zeros(3))
refuses(1, "many.npz is a zip archive, as .npz and PyTorch's .pt files are, wanted one array as .npy", *attends, "--mask", "many.npz")
refuses(1, "m.safetensors.index.json:a names an index of files", *attends, "--mask", "m.safetensors.index.json:a")
refuses(2, "--causal and --window-right exclude", *attends, "--causal", "--window-right", 1)

report()
