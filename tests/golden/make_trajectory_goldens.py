#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Twenty steps of three small runs by PyTorch in double precision, with its Adam, AdamW and clipping.

Writes tests/train/trajectory_goldens.h. Nothing comes from the program but the names of parameters: data, problems,
initial weights, dropout masks and sampled tokens are drawn here from Philox, as docs/explanation/numerics.md, src/base/random.h,
src/backend/dropout.h and src/kernel/attention/dropout_term.c define them.

    python3 tests/golden/make_trajectory_goldens.py > tests/train/trajectory_goldens.h
"""
import json
import math
import numpy
import torch
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)
INITIAL, DROPOUT, TASK, EVALUATE, SAMPLE, ATTENTION_DROPOUT = 1, 2, 3, 4, 5, 7  # streams
SAMPLED = {"seed": 2**35 + 12, "temperature": 1.25}  # the second evaluation of the finished run

COMMON = {"steps": 20, "log_every": 1, "evaluate_every": 5, "checkpoint_every": 0, "precision": "f32"}
CASES = [
    {"task": "prefix", "sequence_length": 40, "prefix_substring": 6, "seed": 2**33 + 7, "batch_size": 2,
     "gradient_accumulation_steps": 3, "validation_sequences": 5, "position": "roper", "hidden_size": 32,
     "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 48, "dropout": 0.2, "label_smoothing": 0.1,
     "optimizer": "adamw", "learning_rate": 0.01, "minimum_learning_rate": 0.002, "schedule": "cosine", "warmup_steps": 6,
     "beta1": 0.8, "beta2": 0.95, "epsilon": 1e-4, "weight_decay": 0.5, "max_grad_norm": 0.5},
    {"task": "index", "sequence_length": 48, "index_letters": 5, "problems": 6, "seed": 2**40 + 3, "batch_size": 3,
     "gradient_accumulation_steps": 2, "validation_sequences": 4, "position": "rope", "hidden_size": 80,
     "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 1, "intermediate_size": 40,
     "hidden_act": "swiglu", "norm": "rms_norm", "norm_position": "post", "initialisation": "normal",
     "initializer_range": 0.05, "tie_word_embeddings": True, "scale_embedding": True, "bias": True, "dropout": 0.1,
     "attention_dropout": 0.25, "optimizer": "adam", "learning_rate": 0.004, "minimum_learning_rate": 0.001,
     "schedule": "linear", "beta1": 0.7, "beta2": 0.9, "epsilon": 1e-3, "weight_decay": 0.02, "max_grad_norm": 0},
    {"task": "index", "sequence_length": 64, "index_letters": 8, "problems": 5, "seed": 15, "batch_size": 4,
     "validation_sequences": 3, "position": "learned", "hidden_size": 24, "num_hidden_layers": 3,
     "num_attention_heads": 3, "intermediate_size": 32, "hidden_act": "gelu", "bias": False, "optimizer": "adamw",
     "learning_rate": 0.2, "schedule": "noam", "warmup_steps": 8, "epsilon": 1e-3, "weight_decay": 0.2,
     "max_grad_norm": 0.6},
]
DEFAULTS = {"gradient_accumulation_steps": 1, "hidden_act": "relu", "norm": "layer_norm", "norm_position": "pre",
            "initialisation": "pytorch", "tie_word_embeddings": False, "scale_embedding": False, "bias": True,
            "dropout": 0.0, "attention_dropout": 0.0, "label_smoothing": 0.0, "beta1": 0.9, "beta2": 0.999,
            "warmup_steps": 0, "minimum_learning_rate": 0.0, "prefix_letters": 4, "prefix_random": 4, "problems": 0}


def philox(seed, stream, step, blocks):
    """Philox-4x32-10 of the blocks, an array: the four words of each, uint32 [blocks, 4]."""
    low = numpy.uint64(0xFFFFFFFF)
    blocks = numpy.asarray(blocks, dtype=numpy.uint64)
    c = [blocks & low, blocks >> numpy.uint64(32), numpy.full_like(blocks, stream), numpy.full_like(blocks, step)]
    key = [seed & 0xFFFFFFFF, seed >> 32]
    for _ in range(10):
        a, b = c[0] * numpy.uint64(0xD2511F53), c[2] * numpy.uint64(0xCD9E8D57)
        c = [(b >> numpy.uint64(32)) ^ c[1] ^ numpy.uint64(key[0]), b & low,
             (a >> numpy.uint64(32)) ^ c[3] ^ numpy.uint64(key[1]), a & low]
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return numpy.stack(c, -1)


def fnv(data):
    value = 0xCBF29CE484222325
    for byte in data:
        value = ((value ^ byte) * 0x100000001B3) & (2**64 - 1)
    return value


class Random:
    """The numbers of one key in order."""

    def __init__(self, seed, stream, step, row):
        self.key, self.next, self.block, self.words = (seed, stream, step), row << 32, -1, None

    def below(self, bound):
        while True:
            if self.block != self.next // 4:
                self.block = self.next // 4
                self.words = philox(*self.key, [self.block])[0]
            product = int(self.words[self.next % 4]) * bound
            self.next += 1
            if product & 0xFFFFFFFF >= (2**32 - bound) % bound:
                return product >> 32


# ---- tasks ----

INDEX_ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789?='; [:]#"


def is_held_out(identity):
    return (identity ^ identity >> 32) % 64 == 0


def prefix_tokens(case, random, count):
    letters, tokens, separator = [], [], case["prefix_letters"]
    while len(tokens) < count:
        drawn = [random.below(separator) for _ in range(min(case["prefix_random"], count - len(tokens)))]
        tokens += drawn
        letters += drawn
        if len(tokens) == count:
            break
        copied = min(case["prefix_substring"], len(letters))
        window = random.below(len(letters) - copied + 1)
        copy = letters[window:window + copied]
        tokens += [separator] + copy
        letters += copy
    return tokens[:count]


def prefix_row(case, random, held_out):
    count = case["sequence_length"] + 1
    while True:
        before = random.next
        opening = prefix_tokens(case, random, min(count, 64))
        if is_held_out(fnv(bytes(opening))) == held_out:
            break
    random.next, random.block = before, -1
    return prefix_tokens(case, random, count)


def index_example(case, random, held_out):
    while True:
        string = "".join(INDEX_ALPHABET[random.below(26)] for _ in range(case["index_letters"]))
        index = random.below(case["index_letters"])
        if is_held_out(fnv(string.encode())) == held_out:
            return f"?s='{string}'; s[{index}:]==", f"'{string[index:]}'#"


def index_row(case, random, held_out):
    text = ""
    while len(text) < case["sequence_length"] + 1:
        text += "".join(index_example(case, random, held_out))
    return [INDEX_ALPHABET.index(c) for c in text[:case["sequence_length"] + 1]]


def row_of(case, stream, step, row):
    fill = prefix_row if case["task"] == "prefix" else index_row
    return fill(case, Random(case["seed"], stream, step, row), stream == EVALUATE)


# ---- the model ----

class Model:
    def __init__(self, case):
        self.case = case
        self.vocabulary = case["prefix_letters"] + 1 if case["task"] == "prefix" else len(INDEX_ALPHABET)
        self.heads, self.width = case["num_attention_heads"], case["hidden_size"]
        self.kv_heads = case.get("num_key_value_heads", self.heads)
        self.head_dim = self.width // self.heads
        self.parameters = {}
        self.add_parameters()

    def add(self, name, shape, uniform=None, normal=None, constant=None):
        count, step = math.prod(shape), fnv(name.encode())
        index = numpy.arange(count)
        step = (step ^ step >> 32) & 0xFFFFFFFF
        if constant is not None:
            value = numpy.full(count, constant)
        elif normal is not None:  # Box and Muller's pairs
            words = philox(self.case["seed"], INITIAL, step, index // 2).astype(float) / 2**32
            radius, angle = numpy.sqrt(-2 * numpy.log(1 - words[:, 0])), 2 * math.pi * words[:, 1]
            value = normal * radius * numpy.where(index % 2, numpy.sin(angle), numpy.cos(angle))
        else:
            words = philox(self.case["seed"], INITIAL, step, index // 4)[index, index % 4] >> numpy.uint64(8)
            value = uniform * (2 * words.astype(float) / 2**24 - 1)
        self.parameters[name] = torch.tensor(value.astype(numpy.float32).astype(float)).reshape(shape).requires_grad_()

    def add_linear(self, name, outputs, inputs, joins=False, tied=False):
        case, pytorch = self.case, self.case["initialisation"] == "pytorch"
        scale = case.get("initializer_range", 0.02) / math.sqrt(2 * case["num_hidden_layers"] if joins else 1)
        draw = {"uniform": 1 / math.sqrt(inputs)} if pytorch else {"normal": scale}
        if not tied:
            self.add(name + ".weight", (outputs, inputs), **draw)
        if case["bias"]:
            self.add(name + ".bias", (outputs,), **(draw if pytorch else {"constant": 0.0}))

    def add_norm(self, name):
        self.add(name + ".weight", (self.width,), constant=1.0)
        if self.case["norm"] == "layer_norm":
            self.add(name + ".bias", (self.width,), constant=0.0)

    def add_parameters(self):
        case = self.case
        scale = 1.0 if case["initialisation"] == "pytorch" else case["initializer_range"]
        self.add("embedding.weight", (self.vocabulary, self.width), normal=scale)
        if case["position"] == "learned":
            self.add("embedding.position.weight", (case["sequence_length"], self.width), normal=scale)
        for layer in range(case["num_hidden_layers"]):
            name, hidden = f"layers.{layer}.", case["intermediate_size"]
            self.add_linear(name + "attention.query_key_value", (self.heads + 2 * self.kv_heads) * self.head_dim, self.width)
            self.add_linear(name + "attention.output", self.width, self.heads * self.head_dim, joins=True)
            self.add_linear(name + "feed_forward.up", hidden * (2 if case["hidden_act"] == "swiglu" else 1), self.width)
            self.add_linear(name + "feed_forward.down", self.width, hidden, joins=True)
            self.add_norm(name + "attention_norm")
            self.add_norm(name + "feed_forward_norm")
        if case["norm_position"] == "pre":
            self.add_norm("norm")
        self.add_linear("output", self.vocabulary, self.width, tied=case["tie_word_embeddings"])

    def linear(self, x, name):
        return F.linear(x, self.parameters[name + ".weight"], self.parameters.get(name + ".bias"))

    def norm(self, x, name):
        gain, bias = self.parameters[name + ".weight"], self.parameters.get(name + ".bias")
        if bias is None:
            return gain * x / torch.sqrt((x * x).mean(-1, keepdim=True) + 1e-5)
        return F.layer_norm(x, (self.width,), gain, bias, 1e-5)

    def rotate(self, x, direction):
        """x [batch, heads, time, head_dim], in halves, by direction * position * 10000^(-2i/head_dim)."""
        half = self.head_dim // 2
        angle = direction * torch.arange(x.shape[2])[:, None] * 10000.0 ** (-torch.arange(half) / half)
        a, b = x[..., :half], x[..., half:]
        return torch.cat((a * angle.cos() - b * angle.sin(), b * angle.cos() + a * angle.sin()), -1)

    def drop(self, x, micro_step, site):
        """Of x [batch, time, width] the elements whose word is below probability * 2^32; None: not in training."""
        p = float(numpy.float32(self.case["dropout"]))
        if micro_step is None or p == 0:
            return x
        row = numpy.arange(x.shape[0] * x.shape[1], dtype=numpy.uint64)[:, None]
        column = numpy.arange(x.shape[2], dtype=numpy.uint64)[None, :]
        u = numpy.uint64
        blocks = row * u(2**32) + column // u(64) * u(16) + column % u(16)
        words = philox(self.case["seed"], DROPOUT | site << 8, micro_step, blocks)
        word = numpy.take_along_axis(words, numpy.broadcast_to(column // u(16) % u(4), blocks.shape)[..., None].astype(int), -1)[..., 0]
        return x * torch.tensor((word >= round(p * 2**32)) / (1 - p)).reshape(x.shape)

    def weight_factors(self, batch, time, micro_step, site):
        """Of dropout of attention weights: [batch, heads, time, time]."""
        threshold = round(self.case["attention_dropout"] * 2**16)
        first = philox(self.case["seed"], ATTENTION_DROPOUT, micro_step, [site])[0]
        factors = numpy.empty((batch, self.heads, time, time))
        m, n = numpy.arange(time)[:, None], numpy.arange(time)[None, :]
        for b in range(batch):
            for h in range(self.heads):
                second = philox(int(first[0]) | int(first[1]) << 32, ATTENTION_DROPOUT, h, [b])[0]
                words = philox(int(second[0]) | int(second[1]) << 32, ATTENTION_DROPOUT, 0,
                               n // 32 * 16 + n % 16 + (m // 4 << 32))
                word = numpy.take_along_axis(words, numpy.broadcast_to(m % 4, (time, time))[..., None], -1)[..., 0]
                bits = numpy.where(n // 16 % 2 == 1, word >> numpy.uint64(16), word & numpy.uint64(0xFFFF))
                factors[b, h] = (bits >= threshold) * (2**16 / (2**16 - threshold))
        return torch.tensor(factors)

    def attention(self, x, name, micro_step, site):
        batch, time, _ = x.shape
        widths = [count * self.head_dim for count in (self.heads, self.kv_heads, self.kv_heads)]
        q, k, v = (t.view(batch, time, -1, self.head_dim).transpose(1, 2)
                   for t in self.linear(x, name + ".query_key_value").split(widths, -1))
        if self.case["position"] in ("rope", "roper"):
            q, k = self.rotate(q, 1), self.rotate(k, 1)
        if self.case["position"] == "roper":
            v = self.rotate(v, 1)
        k, v = (t.repeat_interleave(self.heads // self.kv_heads, 1) for t in (k, v))
        scores = q @ k.transpose(-1, -2) / math.sqrt(self.head_dim)
        p = torch.softmax(scores.masked_fill(torch.ones(time, time, dtype=torch.bool).triu(1), -math.inf), -1)
        if micro_step is not None and self.case["attention_dropout"] > 0:
            p = p * self.weight_factors(batch, time, micro_step, site)
        o = p @ v
        if self.case["position"] == "roper":
            o = self.rotate(o, -1)
        return self.linear(o.transpose(1, 2).flatten(-2), name + ".output")

    def feed_forward(self, x, name):
        h = self.linear(x, name + ".up")
        if self.case["hidden_act"] == "swiglu":
            gate, up = h.chunk(2, -1)
            h = F.silu(gate) * up
        else:
            h = torch.relu(h) if self.case["hidden_act"] == "relu" else F.gelu(h)
        return self.linear(h, name + ".down")

    def logits(self, tokens, micro_step=None):
        case = self.case
        x = self.parameters["embedding.weight"][tokens] * (math.sqrt(self.width) if case["scale_embedding"] else 1.0)
        if case["position"] == "learned":
            x = x + self.parameters["embedding.position.weight"][:tokens.shape[1]]
        x, site = self.drop(x, micro_step, 0), 0
        for layer in range(case["num_hidden_layers"]):
            for kind in ("attention", "feed_forward"):
                name, site = f"layers.{layer}.{kind}", site + 1
                h = self.norm(x, name + "_norm") if case["norm_position"] == "pre" else x
                y = self.attention(h, name, micro_step, site) if kind == "attention" else self.feed_forward(h, name)
                x = x + self.drop(y, micro_step, site)
                if case["norm_position"] == "post":
                    x = self.norm(x, name + "_norm")
        if case["norm_position"] == "pre":
            x = self.norm(x, "norm")
        if case["tie_word_embeddings"]:
            return F.linear(x, self.parameters["embedding.weight"], self.parameters.get("output.bias"))
        return self.linear(x, "output")


# ---- training and evaluation ----

def learning_rate(case, step):
    rate, minimum, warmup, steps = (case[key] for key in ("learning_rate", "minimum_learning_rate", "warmup_steps", "steps"))
    if case["schedule"] == "noam":
        return rate * case["hidden_size"] ** -0.5 * min(step ** -0.5, step * warmup ** -1.5)
    if step <= warmup:
        return rate * step / warmup
    p = (step - warmup) / (steps - warmup)
    return minimum + (rate - minimum) * (1 - p if case["schedule"] == "linear" else (1 + math.cos(math.pi * p)) / 2)


def optimizer_of(case, parameters):
    groups = [{"params": [p for p in parameters if p.dim() == 2], "weight_decay": case["weight_decay"]},
              {"params": [p for p in parameters if p.dim() == 1], "weight_decay": 0.0}]
    kind = torch.optim.AdamW if case["optimizer"] == "adamw" else torch.optim.Adam
    return kind(groups, lr=0.0, betas=(case["beta1"], case["beta2"]), eps=case["epsilon"])


def take_step(model, optimizer, step):
    """The loss that is logged, which has no label smoothing, the learning rate and the norm of the gradients."""
    case = model.case
    batch, micro_batches = case["batch_size"], case["gradient_accumulation_steps"]
    rows = [row_of(case, TASK, step, row) for row in range(batch * micro_batches)]
    targets, logged = len(rows) * case["sequence_length"], 0.0
    optimizer.zero_grad()
    for micro in range(micro_batches):
        tokens = torch.tensor(rows[micro * batch:(micro + 1) * batch])
        logits = model.logits(tokens[:, :-1], (step - 1) * micro_batches + micro).flatten(0, 1)
        answers = tokens[:, 1:].flatten()
        logged += F.cross_entropy(logits, answers, reduction="sum").item() / targets
        (F.cross_entropy(logits, answers, reduction="sum", label_smoothing=case["label_smoothing"]) / targets).backward()
    parameters = list(model.parameters.values())
    clip = case["max_grad_norm"]
    norm = torch.nn.utils.clip_grad_norm_(parameters, clip if clip > 0 else math.inf).item()
    for group in optimizer.param_groups:
        group["lr"] = learning_rate(case, step)
    optimizer.step()
    return logged, learning_rate(case, step), norm


def validation_loss(model, seed):
    rows = torch.tensor([row_of(model.case | {"seed": seed}, EVALUATE, 0, row) for row in range(model.case["validation_sequences"])])
    return F.cross_entropy(model.logits(rows[:, :-1]).flatten(0, 1), rows[:, 1:].flatten()).item()


def next_token(logits, length, problem, how):
    """Greedily, or by the cumulative sum of softmax(logits / temperature). Exits where rounding could decide."""
    if how is None:
        best = logits.topk(2).values
        assert best[0] - best[1] > 1e-3, "two tokens are nearly as probable: choose another seed"
        return int(logits.argmax())
    word = philox(how["seed"], SAMPLE, length, [problem // 4])[0][problem % 4]
    uniform, sums = (int(word) >> 8) / 2**24, torch.softmax(logits / how["temperature"], -1).cumsum(-1)
    assert (sums - uniform).abs().min() > 2e-5, f"{uniform} falls on the edge of a token: choose another seed"
    return int((sums <= uniform).sum())


def solve(model, seed, how=None):
    """Prompts of the problems and what the model makes of them."""
    texts = []
    for problem in range(model.case["problems"]):
        prompt, _ = index_example(model.case, Random(seed, EVALUATE, 1, problem), True)
        text = prompt
        while len(text) - len(prompt) < model.case["index_letters"] + 3 and text[-1:] != "#":
            tokens = torch.tensor([[INDEX_ALPHABET.index(c) for c in text]])
            text += INDEX_ALPHABET[next_token(model.logits(tokens)[0, -1], len(text), problem, how)]
        texts.append((prompt, text[len(prompt):]))
    return texts


def probes(model):
    """Of each parameter the dot product with cos(0.9 i + 0.5), and the norm."""
    values = {name: value.detach().flatten() for name, value in model.parameters.items()}
    return {name: ((v * torch.cos(0.9 * torch.arange(len(v)) + 0.5)).sum().item(), v.norm().item()) for name, v in values.items()}


# ---- the header ----

def print_texts(kind, number, texts):
    print(f"static const struct golden_text {kind}_{number}[] = {{")
    for prompt, generated in texts or [("", "")]:
        print(f"    {{{json.dumps(prompt)}, {json.dumps(generated)}}},")
    print("};")


def print_case(number, given):
    case = DEFAULTS | COMMON | given
    model = Model(case)
    optimizer, first = optimizer_of(case, model.parameters.values()), probes(model)
    print(f"static const struct golden_step steps_{number}[] = {{")
    evaluations = []
    for step in range(1, case["steps"] + 1):
        loss, rate, norm = take_step(model, optimizer, step)
        with torch.no_grad():
            validated = validation_loss(model, case["seed"]) if step % case["evaluate_every"] == 0 else math.nan
        evaluations += [validated] * (validated == validated)
        print(f"    {{{loss:.12e}, {rate:.12e}, {norm:.12e}, {validated:.12e}}},".replace("nan", "0"))
    last = probes(model)
    print(f"}};\nstatic const struct golden_parameter parameters_{number}[] = {{")
    for name in first:
        begin, end = (f"{{{product:.12e}, {norm:.12e}}}" for product, norm in (first[name], last[name]))
        print(f'    {{"{name}",\n     {begin}, {end}}},')
    print("};")
    with torch.no_grad():
        print_texts("greedy", number, solve(model, case["seed"]))
        print_texts("sampled", number, solve(model, SAMPLED["seed"], SAMPLED))
        return validation_loss(model, SAMPLED["seed"])


def main():
    print("/* SPDX-License-Identifier: Apache-2.0\n *\n * Made by tests/golden/make_trajectory_goldens.py: do not edit. "
          "Steps: training loss, learning rate, norm of\n * the gradients, validation loss (0: none is due). Parameters: dot "
          "product with cos(0.9 i + 0.5) and norm, at\n * first and at last. Texts: of the problems, greedily and sampled. */")
    print(f"static const uint64_t sampled_seed = {SAMPLED['seed']};\nstatic const float sampled_temperature = {SAMPLED['temperature']}f;")
    losses = [print_case(number, case) for number, case in enumerate(CASES)]
    print("static const struct golden_run golden_runs[] = {")
    for number, case in enumerate(CASES):
        pairs = [f"{json.dumps(key)}:{json.dumps(value)}" for key, value in (COMMON | case).items()]
        lines = ["{" + ",".join(pairs[:5])] + ["," + ",".join(pairs[at:at + 4]) for at in range(5, len(pairs), 4)]
        lines[-1] += "}"
        print("    {.configuration =\n" + "\n".join(f"         {json.dumps(line)}" for line in lines) + ",")
        print(f"     .steps = steps_{number},\n     .step_count = sizeof steps_{number} / sizeof *steps_{number},\n"
              f"     .parameters = parameters_{number},\n"
              f"     .parameter_count = sizeof parameters_{number} / sizeof *parameters_{number},\n"
              f"     .problems = {case.get('problems', 0)},\n     .greedy = greedy_{number},\n     .sampled = sampled_{number},\n"
              f"     .other_validation_loss = {losses[number]:.12e}}},")
    print("};")


main()
