# SPDX-License-Identifier: Apache-2.0
"""oracle_decay_runs.py ROTARY: trains small models, and compares what rotary decay measures of them with scores, entropies
and norms that NumPy computes in double from their checkpoints and validation sequences, by the formulas of the papers."""
import json
import os

import numpy as np
from oracle_support import check, near, read_safetensors, refuses, report, result, run

HEADS, HEAD_DIM, LAYERS, SEQUENCES = 4, 8, 2, 5


# ---- encodings ----

def rotated(x, positions, sign=1, power=None):
    """Halves of [T, H, D] rotated by their positions (Su et al. 2021), times zeta^power (Sun et al. 2022)."""
    half = x.shape[-1] // 2
    if power is not None:
        zeta = (2 * np.arange(half) + 0.8 * half) / (2.8 * half)
        x = x * np.tile(zeta ** power[:, None], 2)[:, None]
    angles = sign * positions[:, None] * 10000.0 ** (-np.arange(half) / half)
    cosine, sine = np.cos(angles)[:, None], np.sin(angles)[:, None]
    a, b = x[..., :half], x[..., half:]
    return np.concatenate([a * cosine - b * sine, a * sine + b * cosine], -1)


def t5_bucket(offset, causal, buckets=32, furthest=128):
    """Raffel et al. 2020; the offset is the key's place minus the query's."""
    first = 0
    if not causal:
        buckets //= 2
        first = buckets if offset > 0 else 0
    away, exact = abs(offset), buckets // 2
    if away < exact:
        return first + away
    beyond = np.log(away / exact) / np.log(furthest / exact) * (buckets - exact)
    return first + min(exact + int(beyond + 1e-9), buckets - 1)


def bias_of(name, weights, prefix, offset, head, causal):
    away = abs(offset)
    if name == "alibi":
        return -2.0 ** (-8 * (head + 1) / HEADS) * away
    if name == "t5":
        return weights[prefix + "relative_attention_bias.weight"][t5_bucket(offset, causal), head]
    if name == "kerple":
        scale, slope = (np.exp(weights[prefix + f"kerple.log_{key}"][head]) for key in ("scale", "slope"))
        return -scale * np.log1p(slope * away)
    return 0.0


# ---- the model ----

class Model:
    """A transformer with norms before sublayers, and where the means of its scores gather, by distance and by query. Its
    rotations are those of positions divided by a factor (Chen et al. 2023)."""

    def __init__(self, folder, factor=1):
        with open(f"{folder}/config.json") as file:
            self.config = json.load(file)
        tensors, _ = read_safetensors(f"{folder}/model.safetensors")
        self.weights = {key: np.frombuffer(data, np.float32).astype(np.float64).reshape(shape)
                        for key, (_, shape, data) in tensors.items()}
        self.factor = factor
        self.sums, self.queries = {}, {}

    def linear(self, x, name):
        return x @ self.weights[name + ".weight"].T + self.weights[name + ".bias"]

    def norm(self, x, name):
        x = x - x.mean(-1, keepdims=True)
        x = x / np.sqrt((x * x).mean(-1, keepdims=True) + self.config["norm_epsilon"])
        return x * self.weights[name + ".weight"] + self.weights[name + ".bias"]

    def attention(self, x, layer, prefix, causal):
        name, groups = self.config["position"], self.config["num_key_value_heads"]
        length, window = len(x), self.config["sliding_window"]
        qkv = self.linear(x, f"{prefix}layers.{layer}.attention.query_key_value").reshape(length, -1, HEAD_DIM)
        q, k, v = np.split(qkv, [HEADS, HEADS + groups], 1)
        places = np.arange(length)
        scaled = places / self.factor
        if name in ("rope", "roper", "xpos"):
            power = places / self.config["xpos_scale"] if name == "xpos" else np.zeros(length)
            q, k = rotated(q, scaled, power=power), rotated(k, scaled, power=-power)
        v = rotated(v, scaled) if name == "roper" else v
        clip = self.config["max_relative_position"]
        rows = np.clip(places - places[:, None], -clip, 0 if causal else clip) + clip
        tables = [self.weights.get(f"{prefix}layers.{layer}.attention.relative_{key}.weight", np.zeros((2 * clip + 1, HEAD_DIM)))
                  for key in ("keys", "values")] # Shaw et al. 2018
        output = np.zeros((length, HEADS, HEAD_DIM))
        for head in range(HEADS):
            group = head // (HEADS // groups)
            bias = np.array([[bias_of(name, self.weights, prefix, n - m, head, causal) for n in places] for m in places])
            vectors = np.einsum("md,mnd->mn", q[:, head], tables[0][rows])
            scores = (q[:, head] @ k[:, group].T + vectors) / np.sqrt(HEAD_DIM) + bias
            distance = places[:, None] - places
            seen = (distance >= 0) & (distance < (window or length)) if causal else distance < length
            weights = np.where(seen, np.exp(scores - np.where(seen, scores, -np.inf).max(1, keepdims=True)), 0)
            weights /= weights.sum(1, keepdims=True)
            for at in np.unique(distance[seen]):
                these = seen & (distance == at)
                key = ("decoder" if causal else "encoder", layer + 1, head + 1, int(at))
                self.sums[key] = self.sums.get(key, 0) + np.array(
                    [these.sum(), scores[these].sum(), weights[these].sum(), bias[these].sum()])
            entropy = -np.sum(weights * np.log(np.where(weights > 0, weights, 1)), 1)
            output[:, head] = weights @ v[:, group] + np.einsum("mn,mnd->md", weights, tables[1][rows])
            for place in places:
                key = ("decoder" if causal else "encoder", layer + 1, head + 1, int(place))
                self.queries[key] = self.queries.get(key, 0) + np.array(
                    [1, entropy[place], np.linalg.norm(output[place, head])])
        output = rotated(output, scaled, -1) if name == "roper" else output
        return self.linear(output.reshape(length, -1), f"{prefix}layers.{layer}.attention.output")

    def cross_attention(self, x, source, layer):
        name = f"layers.{layer}.cross_attention"
        q = self.linear(x, name + ".query").reshape(len(x), HEADS, HEAD_DIM)
        k, v = np.split(self.linear(source, name + ".key_value").reshape(len(source), -1, HEAD_DIM), 2, 1)
        scores = np.einsum("mhd,nhd->hmn", q, k) / np.sqrt(HEAD_DIM)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        weights /= weights.sum(-1, keepdims=True)
        return self.linear(np.einsum("hmn,nhd->mhd", weights, v).reshape(len(x), -1), name + ".output")

    def stack(self, tokens, prefix, causal, source=None):
        x = self.weights[prefix + "embedding.weight"][tokens]
        x = x * np.sqrt(self.config["hidden_size"]) if self.config["scale_embedding"] else x
        for layer in range(LAYERS):
            at = f"{prefix}layers.{layer}."
            x = x + self.attention(self.norm(x, at + "attention_norm"), layer, prefix, causal)
            if source is not None:
                x = x + self.cross_attention(self.norm(x, at + "cross_attention_norm"), source, layer)
            hidden = np.maximum(self.linear(self.norm(x, at + "feed_forward_norm"), at + "feed_forward.up"), 0)
            x = x + self.linear(hidden, at + "feed_forward.down")
        return self.norm(x, prefix + "norm")

    def means(self, by="distance"):
        """{(kind, layer, head, distance): pairs and the means of score, weight and bias}, or {(kind, layer, head, query):
        queries and the means of entropy and output_norm}"""
        sums = self.sums if by == "distance" else self.queries
        return {key: np.concatenate([row[:1], row[1:] / row[0]]) for key, row in sums.items()}


# ---- runs ----

def columns(*arguments):
    done = run("decay", *arguments)
    check(f"decay {arguments}", done.returncode == 0 and done.stderr == "", done.stderr)
    rows = [line.split() for line in done.stdout.splitlines() if not line.startswith("#")]
    return {(kind, int(layer), int(head), int(distance)): np.array(rest, np.float64)
            for kind, layer, head, distance, *rest in rows}


def compare(about, got, wanted):
    check(f"{about}: rows", len(wanted) > 50 and got.keys() == wanted.keys(), f"{len(got)}, wanted {len(wanted)}")
    keys = sorted(wanted)
    near(f"{about}: pairs", [got[key][0] for key in keys], [wanted[key][0] for key in keys], 0)
    numbers = np.array([wanted[key][1:] for key in keys])
    near(f"{about}: means", [got[key][1:] for key in keys], numbers, 2e-5 + 2e-5 * np.abs(numbers))


def options_of(settings):
    common = dict(hidden_size=HEADS * HEAD_DIM, num_attention_heads=HEADS, num_hidden_layers=LAYERS,
                  intermediate_size=24, sequence_length=64, problems=2, learning_rate=0.01, warmup_steps=1, precision="f32")
    return [word for key, value in {**common, **settings}.items() for word in ("--set", f"{key}={value}")]


def train(task, folder, settings):
    done = run("train", task, "--steps", 8, "--out", folder, *options_of(settings))
    check(f"train {folder}", done.returncode == 0, done.stderr)


def rows_of(task, folder, count, *options):
    """Tokens, and of translations those of the encoder, without padding."""
    done = run("data", task, "--run", folder, "--split", "validation", "--rows", count, "--output", "rows.npy", *options)
    check(f"data of {folder}", done.returncode == 0, done.stderr)
    arrays = np.load("rows.npy")
    source = arrays[3] if len(arrays) > 3 else [None] * count
    return [(row[row >= 0], other if other is None else other[other >= 0]) for row, other in zip(arrays[0], source)]


def check_run(task, name, **settings):
    folder = f"{task}-{name}"
    length = {} if task == "translation" else dict(batch_size=4, validation_sequences=2)
    train(task, folder, dict(position=name, **length, **settings))
    model = Model(folder)
    for tokens, source in rows_of(task, folder, SEQUENCES):
        encoded = None if source is None else model.stack(source, "encoder.", False)
        model.stack(tokens, "", True, encoded)
    wanted = model.means()
    got = columns(folder, "--sequences", SEQUENCES)
    compare(folder, got, wanted)
    compare(f"{folder}, by query", columns(folder, "--sequences", SEQUENCES, "--by", "query"), model.means("query"))
    near(f"{folder}, one thread, nearer", *([value for key, value in sorted(rows.items()) if abs(key[3]) <= 7] for rows in (
        columns(folder, "--sequences", SEQUENCES, "--distance", 7, "--threads", 1), got)), 0)
    return folder, got


LIMITED = dict(translation_pairs=300, translation_held_out=20, average_checkpoints=0, batch_tokens=256)
plain, wanted = check_run("index", "rope")
for name in ("alibi", "kerple", "none"):
    check_run("index", name)
check_run("index", "roper", num_key_value_heads=2)
check_run("index", "t5", sliding_window=20)
check_run("index", "xpos", xpos_scale=40)
check_run("translation", "t5", **LIMITED)
check_run("translation", "rope", **LIMITED)
check_run("translation", "shaw", max_relative_position=3, **LIMITED)

# ---- longer sequences ----

longer = Model(plain, 2)
for row, _ in rows_of("index", plain, SEQUENCES, "--set", "sequence_length=128", "--set",
                      "max_position_embeddings=128"):
    longer.stack(row, "", True)
for by in ("distance", "query"):
    compare(f"twice the length, by {by}", columns(plain, "--sequences", SEQUENCES, "--length", 128, "--scaling", "linear",
                                                  "--by", by), longer.means(by))
with open(f"{plain}/decay.json") as file:
    scaled = json.load(file)
check("length and scaling are kept", (scaled["length"], scaled["scaling"]) == (128, "linear"))

# ---- what is printed and kept ----

found = result("decay", plain, "--sequences", SEQUENCES, "--json")["runs"][0]
kind = found["kinds"][0]
check("run", (found["folder"], found["position"], found["step"], found["sequences"]) == (plain, "rope", 8, SEQUENCES))
check("kinds", len(found["kinds"]) == 1 and kind["kind"] == "decoder")
for i, key in enumerate(("score", "weight", "bias")):
    numbers = np.array(kind[key], np.float64)
    near(key, numbers, np.array([[[wanted["decoder", layer + 1, head + 1, n][1 + i] for n in kind["distance"]]
                                  for head in range(HEADS)] for layer in range(LAYERS)]), 1e-6)
for i, key in enumerate(("entropy", "output_norm")):
    by_query = columns(plain, "--sequences", SEQUENCES, "--by", "query")
    near(key, np.array(kind[key]), np.array([[[by_query["decoder", layer + 1, head + 1, n][1 + i] for n in kind["query"]]
                                              for head in range(HEADS)] for layer in range(LAYERS)]), 1e-6)
with open(f"{plain}/decay.json") as file:
    kept = json.load(file)
check("checksum", len(kept.pop("checksum", "")) == 16)
check("decay.json", kept == {key: value for key, value in found.items() if key != "folder"})
seeds = [columns(plain, "--seed", seed)["decoder", 1, 1, 0] for seed in (1, 2)]
check("seed", seeds[0][1] != seeds[1][1])
check("several", len(result("decay", plain, "index-alibi", "--json")["runs"]) == 2)
pictures = []
for measure in ("score", "weight", "entropy"):
    run("decay", plain, "--picture", "decay.svg", "--measure", measure)
    with open("decay.svg") as file:
        pictures.append(file.read())
check("picture", all(text.startswith("<svg xmlns") and text.count('class="curve') == LAYERS * HEADS for text in pictures))
check("measures", len(set(pictures)) == 3)
check("axes", ["place of the query" in text for text in pictures] == [False, False, True])
compared = run("compare", "index", "--positions", "none,alibi", "--seeds", "3,4", "--jobs", 1, "--out", "compared", *options_of(
    dict(steps=2, batch_size=4, validation_sequences=2)))
check("compare", compared.returncode == 0, compared.stderr)
shown = result("decay", "compared", "--json")["runs"]
check("the first run of each arm", [one["folder"] for one in shown] == ["compared/none-3", "compared/alibi-3"])
check("of other models", shown[0]["kinds"][0]["score"] != shown[1]["kinds"][0]["score"])
run("report", plain, "index-alibi")
with open(f"{plain}/report.html") as file:
    page = file.read()
check("page", page.count('class="curve line e') >= 2 * LAYERS * HEADS and "Scores by distance" in page)

# ---- refusals ----

refuses(2, "--position and DIR are both given", "decay", "--position", "alibi", plain)
refuses(2, "--heads changes nothing with a run", "decay", "--heads", 2, plain)
refuses(2, "--sequences changes nothing with --position alibi", "decay", "--position", "alibi", "--sequences", 2)
refuses(2, "--measure wants --picture", "decay", plain, "--measure", "bias")
refuses(2, "--by changes nothing with --position alibi", "decay", "--position", "alibi", "--by", "query")
refuses(2, "--scaling is about --length: give both", "decay", plain, "--scaling", "yarn")
refuses(2, "--length is 15, wanted 16 to 1048576", "decay", plain, "--length", 15)
refuses(1, "index-alibi: the model cannot compute sequences of 128 tokens with the scaling yarn: ", "decay", "index-alibi",
        "--length", 128, "--scaling", "yarn")
refuses(1, f"{plain}: the scaling longrope without", "decay", plain, "--length", 128, "--scaling", "longrope")
refuses(1, "nowhere", "decay", "nowhere")
refuses(1, "would replace", "decay", plain, "--picture", f"{plain}/decay.json")
refuses(1, "--picture draws one run, got 2", "decay", plain, "index-alibi", "--picture", "two.svg")
with open(f"{plain}/decay.json", "w") as file:
    file.write('{"format": 2, "position": 3}')
refuses(1, f'{plain}/decay.json: "position" is 3, wanted a name', "report", plain)
os.remove(f"{plain}/decay.json")
report()
