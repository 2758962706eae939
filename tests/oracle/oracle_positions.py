# SPDX-License-Identifier: Apache-2.0
"""oracle_positions.py ROTARY: attend --position against the formulas of the encodings' papers in NumPy, and what it refuses.
test_position_formula.c compares the same formulas with those of models."""
import numpy as np
from oracle_support import array, check, config, near, refuses, report, result

random = np.random.default_rng(20240605)
B, T, S, H, G, D = 2, 4, 9, 6, 2, 8
rope = config({"head_dim": D}, "rope.json")


def numbers(*shape):
    return random.standard_normal(shape)


def softmax(score):
    largest = score.max(-1, keepdims=True)
    weights = np.exp(score - np.where(np.isinf(largest), 0, largest))
    return weights / np.maximum(weights.sum(-1, keepdims=True), 1e-300)


class Inputs:
    """Queries at the positions `first` ... of the sequence, keys from 0 on, heads of keys repeated; flags of attend."""

    def __init__(self, first=S - T, causal=True, T=T, S=S):
        self.query, self.key, self.value = numbers(B, T, H, D), numbers(B, S, G, D), numbers(B, S, G, D)
        self.m, self.n = first + np.arange(T)[:, None], np.arange(S)[None, :]
        self.distance, self.causal = self.n - self.m, causal
        for name, x in [("q", self.query), ("k", self.key), ("v", self.value)]:
            array(f"{name}.npy", x)
        self.flags = ["--query", "q.npy", "--key", "k.npy", "--value", "v.npy", "--output", "o.npy", "--weights",
                      "w.npy", "--scores", "s.npy", *(["--causal"] if causal else []),
                      *([] if first == S - T else ["--first-query", first])]

    def score(self, scale=D**-0.5):
        return np.einsum("bthd,bshd->bhts", self.query, np.repeat(self.key, H // G, 2)) * scale

    def matches(self, about, score, values=0.0, flags=()):
        """attend's scores, weights and outputs are those of `score` [B, H, T, S]; `values` is added to the values, [H, T, S, D]."""
        found = result("attend", *self.flags, *flags, "--json")
        if not found:
            return
        score = np.where((self.distance > 0) & self.causal, -np.inf, score)
        weights = softmax(score)
        value = np.repeat(self.value, H // G, 2).transpose(0, 2, 1, 3)[:, :, None] + values
        output = np.einsum("bhts,bhtsd->bthd", weights, np.broadcast_to(value, (*weights.shape, D)))
        got, masked = np.load("s.npy"), np.isinf(score)
        check(f"{about}, mask", (np.isinf(got) == masked).all())
        size = np.abs(score[~masked]).max()
        near(f"{about}, scores", np.where(masked, 0, got), np.where(masked, 0, score), 1e-14 * (1 + size))
        near(f"{about}, weights", np.load("w.npy"), weights, 1e-13 * (1 + size))
        near(f"{about}, output", np.load("o.npy"), output, 1e-13 * (1 + size) * np.abs(value).max())
        off = found["librotary"]["largest_difference"]
        # In f32.
        check(f"{about}, kernel", off is not None and off <= 2e-6 * (1 + size), str(found["librotary"]))


def slopes(heads):
    """As in the authors' code: a geometric sequence for powers of two, filled up from that of the next power."""
    power = 2 ** int(np.floor(np.log2(heads)))
    ratio = 2.0 ** (-8 / power)
    own = ratio ** np.arange(1, power + 1)
    return own if power == heads else np.concatenate([own, slopes(2 * power)[0::2][:heads - power]])


def buckets(distance, causal, count, last):
    """T5's, one distance after another."""
    def bucket(away):
        if away < half // 2:
            return away
        beyond = np.log(away / (half // 2)) / np.log(last / (half // 2)) * (half - half // 2)
        return min(half - 1, half // 2 + int(beyond + 1e-9))
    half = count if causal else count // 2
    first = np.where(distance > 0, half, 0) if not causal else 0
    return first + np.vectorize(bucket)(np.abs(distance))


def by_head(numbers):
    return numbers[:, None, None]


table = array("table.npy", numbers(8, H))
t5 = ["--position", "t5", "--set", "relative_attention_num_buckets=8", "--set", "relative_attention_max_distance=7",
      "--parameter", "relative_attention_bias.weight=table.npy"]
scale, slope = array("scale.npy", numbers(H)), array("slope.npy", 3 * numbers(H))
kerple = ["--position", "kerple", "--parameter", "kerple.log_scale=scale.npy"]
for causal in [True, False]:
    for first in [S - T, 0, 2]:
        x = Inputs(first, causal)
        about = f"causal {causal}, first query at {first}"
        away, score = np.abs(x.distance), x.score()
        x.matches(f"none, {about}", score, flags=["--position", "none"])
        x.matches(f"alibi, {about}", score - by_head(slopes(H)) * away, flags=["--position", "alibi"])
        bucket = buckets(np.minimum(x.distance, 0) if causal else x.distance, causal, 8, 7)
        x.matches(f"t5, {about}", score + np.load(table)[bucket].transpose(2, 0, 1), flags=t5)
        r1, w2 = by_head(np.exp(np.load(scale))), by_head(np.load(slope))
        x.matches(f"kerple, {about}", score - r1 * np.log(1 + np.exp(w2) * away),
                  flags=[*kerple, "--parameter", "kerple.log_slope=slope.npy"])
        power = np.where(away > 0, away ** (2 / (1 + np.exp(-w2))), 0)
        x.matches(f"kerple power, {about}", score - r1 * power,
                  flags=[*kerple, "--set", "kerple_kernel=power", "--parameter", "kerple.exponent_logit=slope.npy"])
        wave = 10000.0 ** (-np.arange(0, 6, 2) / 6)
        sinusoids = [np.concatenate([np.sin(at * wave), np.cos(at * wave)], -1) for at in (x.m, x.n[0][:, None])]
        x.matches(f"sandwich, {about}", score + sinusoids[0] @ sinusoids[1].T / by_head(8 * np.arange(1, H + 1) / H),
                  flags=["--position", "sandwich", "--set", "sandwich_channels=6"])

# Vectors by distance: tables of D and of E channels, here both D.
for causal in [True, False]:
    rows = 4 if causal else 7
    keys, values = (numbers(rows, D) for _ in range(2))
    array("keys.npy", keys), array("values.npy", values)
    for first in [S - T, 0, 2]:
        x = Inputs(first, causal)
        row = np.clip(x.distance, -3, 0 if causal else 3) + 3
        met = np.einsum("bthd,tsd->bhts", x.query, keys[row]) * D**-0.5
        x.matches(f"shaw, causal {causal}, first query at {first}", x.score() + met, values[row],
                  ["--position", "shaw", "--set", "max_relative_position=3", "--parameter", "relative_keys.weight=keys.npy",
                   "--parameter", "relative_values.weight=values.npy"])

width = 10
projection, u, v = numbers(H * D, width), numbers(H, D), numbers(H, D)
array("projection.npy", projection), array("content.npy", u), array("position.npy", v)
xl = ["--position", "transformer-xl", "--parameter", "relative_keys.weight=projection.npy", "--parameter", "content_bias=content.npy",
      "--parameter", "position_bias=position.npy"]
for causal in [True, False]:
    x = Inputs(causal=causal)
    angle = -x.distance[..., None] / 10000.0 ** (np.arange(0, width, 2) / width)
    sinusoid = np.stack([np.sin(angle), np.cos(angle)], -1).reshape(T, S, width)
    vectors = (sinusoid @ projection.T).reshape(T, S, H, D)
    content = np.einsum("bthd,bshd->bhts", x.query + u, np.repeat(x.key, H // G, 2))
    met = np.einsum("bthd,tshd->bhts", x.query + v, vectors)
    x.matches(f"transformer-xl, causal {causal}", (content + met) * D**-0.5, flags=xl)
    capped = 2 * np.tanh(content * D**-0.5 / 2) + met * D**-0.5
    x.matches(f"transformer-xl with a cap, causal {causal}", capped, flags=[*xl, "--softcap", 2])

table, keys, queries = numbers(6, width), numbers(H * D, width), numbers(H * D, width)
array("p.npy", table), array("kr.npy", keys), array("qr.npy", queries)
deberta = ["--position", "deberta", "--set", "max_relative_position=3", "--parameter", "relative_embeddings.weight=p.npy",
           "--parameter", "relative_keys.weight=kr.npy", "--parameter", "relative_queries.weight=qr.npy"]
for causal in [True, False]:
    x = Inputs(causal=causal)
    delta = [np.clip(apart + 3, 0, 5) for apart in (x.m - x.n, x.n - x.m)]
    score = x.score(1) + np.einsum("bthd,tshd->bhts", x.query, (table @ keys.T)[delta[0]].reshape(T, S, H, D))
    score += np.einsum("bshd,tshd->bhts", np.repeat(x.key, H // G, 2), (table @ queries.T)[delta[1]].reshape(T, S, H, D))
    x.matches(f"deberta, causal {causal}", score / np.sqrt(3 * D), flags=deberta)
    x.matches(f"deberta with a scale, causal {causal}", score * 0.3, flags=[*deberta, "--scale", 0.3])

network = {"c": np.array([-0.3]), "length_multiplier": np.array([-5.5 / 8]), "hidden.weight": numbers(7, 1), "hidden.bias": numbers(7),
           "output.weight": numbers(H, 7), "output.bias": numbers(H)}
fire = ["--position", "fire", "--set", "fire_width=7", "--set", "fire_length=8"]
for name, values in network.items():
    fire += ["--parameter", f"fire.{name}={array(f'fire.{name}.npy', values)}"]
for causal in [True, False]:
    for first in [S - T, 0, 3]:
        x = Inputs(first, causal)
        c, threshold = 0.3, 5.5
        input = np.log(1 + c * np.abs(x.distance)) / (np.log(1 + c * np.maximum(threshold, x.m)) + 1e-6)
        hidden = np.maximum(0, input[..., None] * network["hidden.weight"][:, 0] + network["hidden.bias"])
        bias = (hidden @ network["output.weight"].T + network["output.bias"]).transpose(2, 0, 1)
        x.matches(f"fire, causal {causal}, first query at {first}", x.score() + bias, flags=fire)

# After scale and softcap, and before a mask; the earlier stages have no bias.
x = Inputs(causal=False)
mask = array("mask.npy", numbers(T, S))
capped = 2 * np.tanh(x.score(0.7) / 2)
bias = -by_head(slopes(H)) * np.abs(x.distance)
more = ["--position", "alibi", "--scale", 0.7, "--softcap", 2, "--mask", "mask.npy"]
x.matches("cap and mask", capped + bias + np.load(mask), flags=more)
for stage, wanted in [("scaled", x.score(0.7)), ("capped", capped)]:
    result("attend", *x.flags, *more, "--stage", stage, "--json")
    near(stage, np.load("s.npy"), wanted, 1e-13)

# A decode step; sequences of their own lengths.
x = Inputs(T=1, first=S - 1)
x.matches("a step", x.score() - by_head(slopes(H)) * np.abs(x.distance), flags=["--position", "alibi"])
x = Inputs()
lengths = np.array([S, 5])
result("attend", *x.flags, "--position", "alibi", "--key-lengths", array("lengths.npy", lengths), "--json")
got = np.load("w.npy")
for b, length in enumerate(lengths):
    distance = x.n - (x.m - S + length)
    score = x.score()[b] - by_head(slopes(H)) * np.abs(distance)
    wanted = softmax(np.where((distance > 0) | (x.n >= length), -np.inf, score))
    near(f"length {length}", got[b], wanted, 1e-13)

# With a window on both sides.
x = Inputs(causal=False)
result("attend", *x.flags, "--position", "alibi", "--window-left", 3, "--window-right", 1, "--json")
hidden = (x.distance < -3) | (x.distance > 1)
near("window", np.load("w.npy"), softmax(np.where(hidden, -np.inf, x.score() - by_head(slopes(H)) * np.abs(x.distance))), 1e-13)

# What rotates is what --rope says.
x = Inputs()
for name, plain in [("rope", []), ("roper", ["--roper"])]:
    result("attend", *x.flags, "--rope", rope, *plain, "--json")
    wanted = np.load("o.npy")
    result("attend", *x.flags, "--rope", rope, "--position", name, "--json")
    near(name, np.load("o.npy"), wanted, 0)
xpos = config({"head_dim": D, "xpos_scale": 4}, "xpos.json")
result("attend", *x.flags, "--rope", xpos, "--json")
wanted = np.load("o.npy")
result("attend", *x.flags, "--rope", xpos, "--position", "xpos", "--json")
near("xpos", np.load("o.npy"), wanted, 0)

# ---- what is refused ----

plain = ["attend", *x.flags[:8]]
for name in ["learned", "sinusoidal"]:
    refuses(2, f"--position {name} is added to embeddings, and attention has no part of it; wanted none", *plain, "--position", name)
refuses(2, '--position is "alibbi", wanted none', *plain, "--position", "alibbi")
refuses(2, 'did you mean "alibi"?', *plain, "--position", "alibbi")
refuses(2, "--position roper wants --rope FILE", *plain, "--position", "roper")
refuses(2, "--position alibi and --rope exclude each other", *plain, "--position", "alibi", "--rope", rope)
refuses(2, "--position rope and --roper exclude each other", *plain, "--position", "rope", "--rope", rope, "--roper")
refuses(1, "rope.json has no xpos_scale, wanted one above 0", *plain, "--position", "xpos", "--rope", rope)
refuses(1, "xpos.json has an xpos_scale, wanted none for --position rope", *plain, "--position", "rope", "--rope", xpos)
refuses(2, "--set wants --position NAME", *plain, "--set", "kerple_kernel=log")
refuses(2, "--parameter wants --position NAME", *plain, "--parameter", "a=table.npy")
refuses(2, "--set kerple_kernel: alibi has no such setting", *plain, "--position", "alibi", "--set", "kerple_kernel=log")
refuses(2, "--set buckets: t5 has no such setting, wanted relative_attention_num_buckets or relative_attention_max_distance",
        *plain, "--position", "t5", "--set", "buckets=8")
refuses(2, '--set: "kerple_kernel" is not key=value', *plain, *kerple, "--set", "kerple_kernel")
refuses(2, '"kerple_kernel" is "pow", wanted log or power', *plain, *kerple, "--set", "kerple_kernel=pow")
refuses(2, "relative_attention_num_buckets is 9, wanted an even number", *plain, *t5, "--set", "relative_attention_num_buckets=9")
refuses(2, "relative_attention_max_distance is 4, wanted more than 4", *plain, *t5, "--set", "relative_attention_max_distance=4")
refuses(2, "sandwich_channels is 3, wanted an even number", *plain, "--position", "sandwich", "--set", "sandwich_channels=3")
refuses(2, "--position kerple wants --parameter kerple.log_slope=FILE", *plain, *kerple)
refuses(2, "--parameter kerple.log_slope: kerple has no such parameter, wanted kerple.log_scale or kerple.exponent_logit", *plain,
        *kerple, "--set", "kerple_kernel=power", "--parameter", "kerple.log_slope=slope.npy")
refuses(2, "--parameter x: alibi has no such parameter", *plain, "--position", "alibi", "--parameter", "x=table.npy")
refuses(2, "--parameter kerple.log_scale is given twice", *plain, *kerple, *kerple[2:])
for word in ["table.npy", "kerple.log_scale="]:
    refuses(2, f'--parameter: "{word}" is not NAME=FILE', *plain, *kerple, "--parameter", word)
refuses(1, "table.npy has shape [8, 6], wanted [32, 6] for relative_attention_bias.weight", *plain, "--position", "t5", *t5[-2:])
refuses(1, "table.npy has shape [8, 6], wanted [6] for kerple.log_slope", *plain, *kerple, "--parameter", "kerple.log_slope=table.npy")
array("whole.npy", np.arange(H))
refuses(1, "whole.npy", *plain, *kerple, "--parameter", "kerple.log_slope=whole.npy")
refuses(1, "missing.npy", *plain, *kerple, "--parameter", "kerple.log_slope=missing.npy")
refuses(1, "scale.npy has shape [6], wanted [48, W] for relative_keys.weight", *plain, *xl[:2], *xl[4:], "--parameter",
        "relative_keys.weight=scale.npy")
refuses(1, "qr.npy has shape [48, 10], wanted [48, 11] for relative_queries.weight", *plain, *deberta[:4], *deberta[-2:],
        "--parameter", f"relative_embeddings.weight={array('wide.npy', numbers(6, 11))}", "--parameter",
        f"relative_keys.weight={array('wide keys.npy', numbers(H * D, 11))}")
refuses(1, "empty.npy has shape [48, 0], wanted [48, W] for relative_keys.weight", *plain, *xl[:2], *xl[4:], "--parameter",
        f"relative_keys.weight={array('empty.npy', numbers(H * D, 0))}")
refuses(2, "slope.npy would replace slope.npy", *plain[:-1], "slope.npy", *kerple, "--parameter", "kerple.log_slope=slope.npy")
report()
