# SPDX-License-Identifier: Apache-2.0
"""Small encoder-decoders and encoders in double precision, written from the formulas, attention with its full matrix of
scores; only the names of the parameters come from the C code. Parameters are 0.3 sin(0.7 i + 0.05 i^2 + length of the name),
which both sides can compute. Imported by the scripts here."""
import itertools
import math
import torch
from distance_bias import bias as distance_bias, layer_bias
from distance_vectors import vectors as distance_vectors, weighted

torch.set_default_dtype(torch.float64)
WIDTH, HEADS, HEAD_DIM, HIDDEN, LAYERS, ENCODER_LAYERS, POSITIONS = 32, 4, 8, 40, 2, 1, 16
BATCH, TIME, SOURCE_TIME, VOCABULARY, SOURCE_VOCABULARY = 3, 7, 5, 13, 11
LENGTHS, SOURCE_LENGTHS = (7, 4, 1), (5, 2, 4)
XPOS_SCALE = 8.0
SETTINGS = {"relative_attention_num_buckets": 8, "relative_attention_max_distance": 5, "max_relative_position": 3,
            "hidden_size": WIDTH, "fire_width": 6, "fire_length": 8.0}


def rotate(x, fraction, pairing, direction, xpos=0.0):
    """x [B, H, T, D]: rotates the first floor(D fraction) channels by direction * position * 10000^(-2i/d). With xPos
    (Sun et al. 2022) pair i is multiplied by zeta_i^(xpos (position - POSITIONS / 2)), zeta_i = (2i + 0.4 d) / (1.4 d)."""
    d = int(math.floor(HEAD_DIM * fraction + 1e-9))
    angle = torch.arange(x.shape[2])[:, None] * 10000.0 ** (-2.0 * torch.arange(d // 2) / d)
    zeta = (2.0 * torch.arange(d // 2) + 0.4 * d) / (1.4 * d)
    magnitude = zeta ** (xpos * (torch.arange(x.shape[2])[:, None] - POSITIONS / 2))
    c, s = magnitude * torch.cos(angle), magnitude * torch.sin(angle) * direction
    part = x[..., :d]
    first, second = (part[..., :d // 2], part[..., d // 2:]) if pairing == "half" else (part[..., 0::2], part[..., 1::2])
    a, b = first * c - second * s, second * c + first * s
    rotated = torch.cat((a, b), -1) if pairing == "half" else torch.stack((a, b), -1).flatten(-2)
    return torch.cat((rotated, x[..., d:]), -1)


class Model:
    def __init__(self, case):
        self.case, self.parameters = case, {}

    def parameter(self, name, *shape):
        if name not in self.parameters:
            i = torch.arange(math.prod(shape), dtype=torch.float64)
            value = 0.3 * torch.sin(0.7 * i + 0.05 * i * i + len(name)).reshape(shape)
            if "norm" in name and name.endswith("weight"):
                value = 1.0 + value
            self.parameters[name] = value.requires_grad_()
        return self.parameters[name]

    def linear(self, x, name, outputs):
        y = x @ self.parameter(name + ".weight", outputs, x.shape[-1]).T
        return y + self.parameter(name + ".bias", outputs) if self.case["bias"] else y

    def norm(self, x, name):
        width = x.shape[-1]
        gain = self.parameter(name + ".weight", width)
        if self.case["norm"] == "rms_norm":
            return gain * x / torch.sqrt((x * x).mean(-1, keepdim=True) + 1e-5)
        return torch.nn.functional.layer_norm(x, (width,), gain, self.parameter(name + ".bias", width), 1e-5)

    def heads(self, q, k, v, name):
        """[B, T, columns] to [B, heads, T, HEAD_DIM], with the norms of queries and keys."""
        kind = self.case["query_key_norm"]
        if kind == "all":
            q, k = self.norm(q, name + ".query_norm"), self.norm(k, name + ".key_norm")
        q, k, v = (t.unflatten(-1, (-1, HEAD_DIM)) for t in (q, k, v))
        if kind == "head":
            q, k = self.norm(q, name + ".query_norm"), self.norm(k, name + ".key_norm")
        return (t.transpose(1, 2) for t in (q, k, v))

    def attend(self, q, k, v, visible, bias=0.0, products=0.0, value_vectors=None):
        """visible [B, 1 or T, S], bias [H, T, S]; products and value_vectors as distance_vectors returns them."""
        k, v = (t.repeat_interleave(HEADS // self.case["kv_heads"], 1) for t in (k, v))
        scores = (q @ k.transpose(-1, -2) + products) / math.sqrt(HEAD_DIM) + bias
        return weighted(torch.softmax(scores.masked_fill(~visible[:, None], -math.inf), -1), v, value_vectors)

    def rotated(self, x, direction=1, fraction=None, xpos=0.0):
        fraction = self.case["fraction"] if fraction is None else fraction
        return rotate(x, fraction, self.case["pairing"], direction, xpos)

    def output(self, o, name):
        return self.linear(o.transpose(1, 2).flatten(-2), name + ".output", WIDTH)

    def is_causal(self, name):
        return not name.startswith("encoder.")

    def distance_bias(self, prefix, time):
        return distance_bias(self.case["position"], HEADS, time, time, self.is_causal(prefix),
                             lambda name, *shape: self.parameter(prefix + name, *shape), SETTINGS)

    def self_attention(self, x, name, visible, bias):
        columns = [HEADS * HEAD_DIM, self.case["kv_heads"] * HEAD_DIM, self.case["kv_heads"] * HEAD_DIM]
        q, k, v = self.heads(*self.linear(x, name + ".query_key_value", sum(columns)).split(columns, -1), name)
        values = self.case["position"] == "roper"
        if self.case["position"] in ("rope", "roper", "xpos"):
            xpos = 1.0 / XPOS_SCALE if self.case["position"] == "xpos" and self.is_causal(name) else 0.0
            q, k = self.rotated(q, xpos=xpos), self.rotated(k, xpos=-xpos)
        q, products, value_vectors = distance_vectors(self.case["position"], q, k, name, self.is_causal(name),
                                                      self.parameter, SETTINGS)
        bias = bias + layer_bias(self.case["position"], HEADS, q.shape[2], k.shape[2], name, self.parameter, SETTINGS)
        o = self.attend(q, k, self.rotated(v, 1, 1.0) if values else v, visible, bias, products, value_vectors)
        return self.output(self.rotated(o, -1, 1.0) if values else o, name)

    def cross_attention(self, x, name, visible, source):
        columns = self.case["kv_heads"] * HEAD_DIM
        q = self.linear(x, name + ".query", HEADS * HEAD_DIM)
        q, k, v = self.heads(q, *self.linear(source, name + ".key_value", 2 * columns).split(columns, -1), name)
        if self.case["cross_rotary"]:
            q, k = self.rotated(q), self.rotated(k)
        return self.output(self.attend(q, k, v, visible), name)

    def feed_forward(self, x, name):
        if self.case["act"] == "swiglu":
            gate, up = self.linear(x, name + ".up", 2 * HIDDEN).split(HIDDEN, -1)
            return self.linear(torch.nn.functional.silu(gate) * up, name + ".down", WIDTH)
        return self.linear(torch.nn.functional.gelu(self.linear(x, name + ".up", HIDDEN)), name + ".down", WIDTH)

    def embed(self, tokens, prefix, vocabulary):
        shared = self.case["tying"] == "all"
        table = self.parameter("embedding.weight" if shared else prefix + "embedding.weight", vocabulary, WIDTH)
        x = table[tokens] * (math.sqrt(WIDTH) if self.case["scaled"] else 1.0)
        time = tokens.shape[1]
        if self.case["position"] == "learned":
            x = x + self.parameter(prefix + "embedding.position.weight", POSITIONS, WIDTH)[:time]
        if self.case["position"] == "sinusoidal":
            angle = torch.arange(time)[:, None] * 10000.0 ** (-2.0 * torch.arange(WIDTH // 2) / WIDTH)
            x = x + torch.stack((torch.sin(angle), torch.cos(angle)), -1).flatten(-2)
        return x

    def stack(self, x, prefix, layers, sublayers):
        position = self.case["norm_position"]
        for layer, (name, sublayer) in itertools.product(range(layers), sublayers):
            full = f"{prefix}layers.{layer}.{name}"
            y = sublayer(self.norm(x, full + "_norm") if position in ("pre", "both") else x, full)
            if position in ("both", "output"):
                y = self.norm(y, full + "_output_norm")
            x = self.norm(x + y, full + "_norm") if position == "post" else x + y
        return x if position == "post" else self.norm(x, prefix + "norm")

    def logits(self, tokens, source):
        vocabulary = VOCABULARY if self.case["tying"] == "all" else SOURCE_VOCABULARY
        seen = torch.arange(SOURCE_TIME)[None, None] < torch.tensor(SOURCE_LENGTHS)[:, None, None]
        causal = torch.ones(TIME, TIME, dtype=torch.bool).tril()[None]
        source_bias, bias = self.distance_bias("encoder.", SOURCE_TIME), self.distance_bias("", TIME)
        encoded = self.stack(self.embed(source, "encoder.", vocabulary), "encoder.", ENCODER_LAYERS, (
            ("attention", lambda h, name: self.self_attention(h, name, seen, source_bias)),
            ("feed_forward", self.feed_forward)))
        x = self.stack(self.embed(tokens, "", VOCABULARY), "", LAYERS, (
            ("attention", lambda h, name: self.self_attention(h, name, causal, bias)),
            ("cross_attention", lambda h, name: self.cross_attention(h, name, seen, encoded)),
            ("feed_forward", self.feed_forward)))
        return self.output_logits(x)

    def output_logits(self, x):
        if self.case["tying"] == "none":
            return self.linear(x, "output", VOCABULARY)
        logits = x @ self.parameters["embedding.weight"].T
        return logits + self.parameter("output.bias", VOCABULARY) if self.case["bias"] else logits


class Encoder(Model):
    """One stack in which every token sees all others; its masked-token head, as Devlin et al. 2019 have it."""

    def is_causal(self, name):
        return False

    def token_logits(self, tokens, segments, rows):
        """Of rows [n] of all tokens [B, T] of types `segments`, of which LENGTHS are real."""
        x = self.embed(tokens, "", VOCABULARY)
        if self.case["types"]:
            x = x + self.parameter("embedding.type.weight", self.case["types"], WIDTH)[segments]
        if self.case["embedding_norm"]:
            x = self.norm(x, "embedding.norm")
        seen = torch.arange(TIME)[None, None] < torch.tensor(LENGTHS)[:, None, None]
        bias = self.distance_bias("", TIME)
        x = self.stack(x, "", LAYERS, (
            ("attention", lambda h, name: self.self_attention(h, name, seen, bias)),
            ("feed_forward", self.feed_forward)))
        x = x.flatten(0, 1)[rows]
        if self.case["transform"]:
            x = self.norm(torch.nn.functional.gelu(self.linear(x, "transform.dense", WIDTH)), "transform.norm")
        return self.output_logits(x)


def write_probes(out, name, numbered, gradients):
    """Of each gradient its dot product with cos(0.9 i + 0.5), beside the number of its name."""
    rows = []
    for parameter, gradient in gradients.items():
        probe = (gradient * torch.cos(0.9 * torch.arange(len(gradient)) + 0.5)).sum().item()
        rows.append(f"{{{numbered.setdefault(parameter, len(numbered))}, {probe:.8e}}}")
    print(f"static const struct golden_probe {name}[] = {{", file=out)
    for first in range(0, len(rows), 7):
        print("    " + ", ".join(rows[first:first + 7]) + ",", file=out)
    print("};", file=out)
