# SPDX-License-Identifier: Apache-2.0
"""Repeats a run of rotary in PyTorch, step by step, and compares the losses.

    python examples/pytorch_parity.py --set position=roper build/release/rotary index

It asks rotary for all it needs: the configuration and the initial weights (`train --steps 0`), the data of each step
(`rotary data`), and the losses of the same run (`train --resume`, in f32). The model below is written from
config.json alone; docs/reference/files.md has the names and the order of the weights. To train the same model elsewhere,
copy it.

Prints the losses of both and their largest relative difference, and exits with 1 if that is above --bound: both
compute in f32, but sum in different orders. Exits with 77 where there is no PyTorch.
"""
import argparse
import json
import math
import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy
    import torch
    import torch.nn.functional as F
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

# What the model below leaves out, by the one value of each key that it computes.
SIMPLE = {
    "parallel_residual": "no", "query_key_norm": "none", "pairing": "half", "dropout": 0.0, "attention_dropout": 0.0,
    "rope_scaling": None, "rope_parameters": None, "layer_types": None, "sliding_window": 0, "no_rope_layers": None,
}
POSITIONS = ("none", "learned", "sinusoidal", "rope", "roper")


# ---- files ----

def content_hash(data):
    """The checksum of a whole file whose own sixteen digits are zeros (docs/reference/files.md)."""
    mask = 2**64 - 1

    def mix(lane, word):
        lane = (lane ^ word) * 0x9E3779B97F4A7C15 & mask
        return lane ^ lane >> 32

    padded = data + bytes(-len(data) % 32)
    lanes = [1, 2, 3, 4]
    for i, word in enumerate(numpy.frombuffer(padded, "<u8").tolist()):
        lanes[i % 4] = mix(lanes[i % 4], word)
    result = len(data)
    for lane in lanes:
        result = mix(result, lane)
    return f"{mix(result, 0):016x}"


def read_checkpoint(path):
    """The tensors of a safetensors file by name, and its metadata, after its checksum was verified."""
    data = bytearray(path.read_bytes())
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8:8 + length])
    metadata = header.pop("__metadata__")
    digits = data.index(b'"content_hash":"') + len(b'"content_hash":"')
    data[digits:digits + 16] = b"0" * 16
    if content_hash(bytes(data)) != metadata["content_hash"]:
        sys.exit(f"{path} is damaged: its checksum is another")
    tensors = {}
    for name, entry in header.items():
        begin, end = (8 + length + offset for offset in entry["data_offsets"])
        values = numpy.frombuffer(bytes(data[begin:end]), "<f4").reshape(entry["shape"])
        tensors[name] = torch.tensor(values)
    return tensors, metadata


# ---- the model ----

def rotation(config, positions, fraction):
    """Cosines and sines [positions, pairs] of the first fraction of a head's channels."""
    channels = int(config["head_dim"] * fraction)
    exponent = torch.arange(0, channels, 2, dtype=torch.float64) / channels
    angle = torch.arange(positions, dtype=torch.float64)[:, None] * config["rope_theta"] ** -exponent
    return angle.cos().float(), angle.sin().float()


def rotate(x, cosine, sine):
    """Rotates x [batch, heads, time, channels]: pair i is channels i and i + pairs; the rest stay as they are."""
    pairs = cosine.shape[-1]
    a, b, rest = x[..., :pairs], x[..., pairs:2 * pairs], x[..., 2 * pairs:]
    return torch.cat((a * cosine - b * sine, a * sine + b * cosine, rest), -1)


class Model:
    """A decoder whose weights are a dictionary of tensors, by the names that rotary gives them."""

    def __init__(self, config, weights):
        for key, value in SIMPLE.items():
            if config.get(key, value) != value:
                sys.exit(f"this model has no {key} {config[key]}, only {value}")
        if config["position"] not in POSITIONS:
            sys.exit(f"this model has no position {config['position']}, only {', '.join(POSITIONS)}")
        self.config, self.weights = config, weights

    def linear(self, name, x):
        return F.linear(x, self.weights[name + ".weight"], self.weights.get(name + ".bias"))

    def norm(self, name, x):
        epsilon = self.config["norm_epsilon"]
        if self.config["norm"] == "rms_norm":
            return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + epsilon) * self.weights[name + ".weight"]
        return F.layer_norm(x, x.shape[-1:], self.weights[name + ".weight"], self.weights[name + ".bias"], epsilon)

    def embed(self, tokens):
        config, time = self.config, tokens.shape[1]
        x = self.weights["embedding.weight"][tokens]
        if config["scale_embedding"]:
            x = x * math.sqrt(config["hidden_size"])
        if config["position"] == "learned":
            x = x + self.weights["embedding.position.weight"][:time]
        if config["position"] == "sinusoidal":
            width = config["hidden_size"]
            exponent = torch.arange(0, width, 2, dtype=torch.float64) / width
            angle = torch.arange(time, dtype=torch.float64)[:, None] * 10000.0 ** -exponent
            x = x + torch.stack((angle.sin(), angle.cos()), -1).flatten(1)[:, :width].float()
        return x

    def attention(self, name, x):
        config = self.config
        batch, time, _ = x.shape
        heads, shared, channels = (config[key] for key in ("num_attention_heads", "num_key_value_heads", "head_dim"))
        # A row of the projection has all queries, then all keys, then all values, head by head.
        qkv = self.linear(name + ".query_key_value", x).view(batch, time, heads + 2 * shared, channels)
        query, key, value = qkv.transpose(1, 2).split((heads, shared, shared), 1)
        if config["position"] in ("rope", "roper"):
            cosine, sine = rotation(config, time, config["partial_rotary_factor"])
            query, key = rotate(query, cosine, sine), rotate(key, cosine, sine)
        if config["position"] == "roper":
            cosine, sine = rotation(config, time, config["value_fraction"])
            value = rotate(value, cosine, sine)
        # Each key-value head serves heads / shared queries in a row.
        key, value = (x.repeat_interleave(heads // shared, 1) for x in (key, value))
        scores = query @ key.transpose(-1, -2) / math.sqrt(channels)
        future = torch.ones(time, time, dtype=torch.bool).triu(1)
        context = torch.softmax(scores.masked_fill(future, -math.inf), -1) @ value
        if config["position"] == "roper":  # back by the position of the query: only differences of positions remain
            context = rotate(context, cosine, -sine)
        return self.linear(name + ".output", context.transpose(1, 2).reshape(batch, time, heads * channels))

    def feed_forward(self, name, x):
        hidden = self.linear(name + ".up", x)
        if self.config["hidden_act"] == "swiglu":
            gate, up = hidden.chunk(2, -1)
            hidden = F.silu(gate) * up
        elif self.config["hidden_act"] == "gelu":
            hidden = F.gelu(hidden)
        else:
            hidden = F.relu(hidden)
        return self.linear(name + ".down", hidden)

    def logits(self, tokens):
        config = self.config
        where = config["norm_position"]
        x = self.embed(tokens)
        for layer in range(config["num_hidden_layers"]):
            for kind, sublayer in (("attention", self.attention), ("feed_forward", self.feed_forward)):
                name = f"layers.{layer}.{kind}"
                y = sublayer(name, self.norm(name + "_norm", x) if where in ("pre", "both") else x)
                if where in ("both", "output"):
                    y = self.norm(name + "_output_norm", y)
                x = x + y
                if where == "post":
                    x = self.norm(name + "_norm", x)
        if where != "post":
            x = self.norm("norm", x)
        output = "embedding" if config["tie_word_embeddings"] else "output"
        return F.linear(x, self.weights[output + ".weight"], self.weights.get("output.bias"))


# ---- training ----

def learning_rate(config, step):
    rate, warmup, steps = config["learning_rate"], config["warmup_steps"], config["steps"]
    if config["schedule"] == "noam":
        return rate / math.sqrt(config["hidden_size"]) * min(step**-0.5, step * (warmup or 1) ** -1.5)
    if step <= warmup:
        return rate * step / warmup
    low, progress = config["minimum_learning_rate"], (step - warmup) / (steps - warmup)
    if config["schedule"] == "linear":
        return low + (rate - low) * (1 - progress)
    if config["schedule"] == "cosine":
        return low + (rate - low) * (1 + math.cos(math.pi * progress)) / 2
    return rate


def make_optimizer(config, weights):
    """Adam or AdamW; only matrices decay."""
    kind = torch.optim.AdamW if config["optimizer"] == "adamw" else torch.optim.Adam
    groups = [{"params": [w for w in weights.values() if w.dim() == 2], "weight_decay": config["weight_decay"]},
              {"params": [w for w in weights.values() if w.dim() != 2], "weight_decay": 0.0}]
    return kind(groups, betas=(config["beta1"], config["beta2"]), eps=config["epsilon"])


def train_step(model, optimizer, batch, step):
    """One update; the loss before it, the mean over all targets of the step, without label smoothing."""
    config = model.config
    tokens, targets = (torch.tensor(array, dtype=torch.int64) for array in batch[:2])
    count = (targets >= 0).sum()
    total = 0.0
    optimizer.zero_grad()
    for rows in range(0, len(tokens), config["batch_size"]):  # the micro-batches
        logits = model.logits(tokens[rows:rows + config["batch_size"]]).flatten(0, 1)
        goal = targets[rows:rows + config["batch_size"]].flatten()
        smoothed = F.cross_entropy(logits, goal, ignore_index=-1, reduction="sum",
                                   label_smoothing=config["label_smoothing"])
        (smoothed / count).backward()
        total += F.cross_entropy(logits.detach(), goal, ignore_index=-1, reduction="sum").item()
    weights = model.weights.values()
    norm = math.sqrt(sum(w.grad.double().square().sum().item() for w in weights))
    if 0 < config["max_grad_norm"] < norm:
        for w in weights:
            w.grad *= config["max_grad_norm"] / norm
    for group in optimizer.param_groups:
        group["lr"] = learning_rate(config, step)
    optimizer.step()
    return total / count.item(), norm


# ---- the comparison ----

def run(*command):
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if result.returncode != 0:
        sys.exit(f"{' '.join(command)}: {result.stderr}")


def compare(options, folder):
    """The losses of both programs, step by step, as a list of pairs."""
    rotary, task, out = options.rotary, options.task, str(folder / "run")
    settings = [word for setting in options.set for word in ("--set", setting)]
    run(rotary, "train", task, "--preset", options.preset, "--seed", str(options.seed), "--precision", "f32", *settings,
        "--steps", "0", "--out", out)
    weights, _ = read_checkpoint(folder / "run" / "model.safetensors")
    run(rotary, "train", task, "--resume", "--out", out, "--steps", str(options.steps), "--set", "log_every=1")
    config = json.loads((folder / "run" / "config.json").read_text())
    lines = map(json.loads, (folder / "run" / "metrics.jsonl").read_text().splitlines())
    ours = [line for line in lines if "evaluation" not in line]
    for tensor in weights.values():
        tensor.requires_grad_()
    model, optimizer = Model(config, weights), make_optimizer(config, weights)
    pairs = []
    for step in range(1, options.steps + 1):
        batch = str(folder / "batch.npy")
        run(rotary, "data", task, "--run", out, "--step", str(step), "--output", batch)
        loss, norm = train_step(model, optimizer, numpy.load(batch), step)
        line = ours[step - 1]
        assert line["step"] == step
        print(f"step {step:3}  rotary {line['loss']:.7f}  PyTorch {loss:.7f}  "
              f"gradient norms {line['gradient_norm']:.6f} and {norm:.6f}")
        pairs.append((line["loss"], loss))
    trained, metadata = read_checkpoint(folder / "run" / "model.safetensors")
    assert int(metadata["step"]) == options.steps
    with torch.no_grad():
        largest = max((trained[name] - weights[name]).abs().max().item() for name in trained)
    print(f"weights after step {options.steps}: largest difference {largest:.2g}")
    return pairs


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("rotary", help="the program")
    parser.add_argument("task", nargs="?", default="index")
    parser.add_argument("--preset", default="quick")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="as rotary train has it")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--bound", type=float, default=2e-5, help="of the relative difference of losses")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        pairs = compare(options, pathlib.Path(folder))
    differences = [abs(ours - theirs) / abs(theirs) for ours, theirs in pairs]
    print(f"{options.task}, {' '.join(options.set)}: largest relative difference of {len(pairs)} losses "
          f"{max(differences):.2g}, bound {options.bound:.2g}")
    return 0 if all(difference <= options.bound for difference in differences) else 1


if __name__ == "__main__":
    sys.exit(main())
