#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times rotary beside PyTorch, llama.cpp, CTranslate2, ggml, SentencePiece and tokenizers, and beside the machine's limits, and
prints two tables. scripts/bench-peers builds what it needs and starts it; --help lists the options.

Both sides compute on as many threads, in alternating rounds. PyTorch and the other Python packages stay resident, each in the
fastest of its modes. A round in which other work took more than 2% of the processors' time is taken again.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import time

from peer_rounds import Failed, Program, Resident, alternate, quartiles, run

ROTARY = "build/release/rotary"
PROMPT, NEW_TOKENS = 512, 128


class Comparisons:
    """The rows of both tables, which are printed as they come."""

    def __init__(self, options):
        self.options, self.rows, self.headed = options, [], ""

    def head(self, line):
        if self.headed != line:
            columns = line.count("|") - 1
            print(("\n" if self.headed else "") + line + "\n" + "|" + " --- |" * columns, flush=True)
            self.headed = line

    def add(self, label, ours, theirs, tokens=False):
        """Compares what both sides measure; tokens: seconds are those of a token."""
        try:
            made = theirs()
        except Failed as error:
            print(f"{label}: not compared: {error}", file=sys.stderr)
            return
        try:
            (here, there), kept, taken = alternate([ours, made], self.options.rounds)
        except Failed as error:
            print(f"{label}: not compared: {error}", file=sys.stderr)
            return
        finally:
            made.stop()
        self.head("| | rotary | the peer | times as fast | rounds |")
        for name in here[0]:
            if name not in there[0]:
                continue
            mine, yours = [found[name] for found in here], [found[name] for found in there]
            low, middle, high = quartiles([b / a for a, b in zip(mine, yours)])
            peer = f"{getattr(made, 'about', '')} {made.mode}".strip()
            print(f"| {label}{', ' if label and name else ''}{name} | {self.text(mine, tokens)} | {self.text(yours, tokens)}"
                  f"{' (' + peer + ')' if peer else ''} | {middle:.2f} ({low:.2f} to {high:.2f}) | {kept} of {taken} |", flush=True)
            self.rows.append({"what": label, "name": name, "seconds": mine, "peer": peer, "peer_seconds": yours,
                              "undisturbed_rounds": kept, "rounds": taken})

    def add_limit(self, read, *command):
        """A command's own alternation with the machine's limit; read gives {label: (seconds, share of the limit)}."""
        program = Program(lambda text: read(json.loads(text)), command)
        (found,), kept, taken = alternate([program], self.options.rounds)
        self.head("| | time | share of the limit | rounds |")
        for label in found[0]:
            seconds, shares = zip(*(measured[label] for measured in found))
            low, middle, high = quartiles(shares)
            print(f"| {label} | {self.text(seconds, False)} | {middle:.3g} ({low:.3g} to {high:.3g}) | {kept} of {taken} |", flush=True)
            self.rows.append({"what": label, "seconds": seconds, "shares": shares, "undisturbed_rounds": kept, "rounds": taken})

    @staticmethod
    def text(seconds, tokens):
        middle = quartiles(seconds)[1]
        if tokens:
            return f"{1 / middle:,.4g} tokens/s" if middle > 1e-3 else f"{1 / middle:,.0f} tokens/s"
        return f"{middle:.3g} s" if middle >= 0.1 else f"{1e3 * middle:.3g} ms"


def bench(options, *arguments):
    return [ROTARY, "bench", *arguments, "--threads", options.threads, "--json"]


def torch(options, script, *arguments):
    return [options.python, f"bench/torch_{script}.py", *arguments, "--threads", options.threads]


def has_bf16():
    with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
        return any(flag in file.read() for flag in ("avx512_bf16", "amx_bf16"))


# ---- the machine's limits ----


def train_shares(found):
    label = f"step of {found['task']}, {found['precision']}"
    return {label: (found["median_seconds"], found["operations"] / found["median_seconds"] / found["matmul_rate"])}


def attention_shares(found):
    rows = {}
    for result in found["results"]:
        shape = ",".join(map(str, result["shape"]))
        for name, factor in (("forward", 1), ("forward_and_backward", 3.5)):
            operations = factor * result["forward_operations"]
            for encoding, timed in result.items():
                if isinstance(timed, dict) and name in timed:
                    seconds = timed[name]["median_seconds"]
                    rows[f"attention {shape}, {result['precision']}, {encoding}, {name.replace('_', ' ')}"] = (
                        seconds, operations / seconds / result["matmul_rate"])
    return rows


def rope_shares(found):
    return {f"rotation {','.join(map(str, result['shape']))}, {result['precision']}, {result['pairing']}, beside scaling": (
        result["rotated"]["median_seconds"], 1 / result["median_ratio"]) for result in found["results"]}


def decode_shares(found):
    return {f"decoding {','.join(map(str, result['shape']))}, {result['precision']}, beside a read": (
        result["decode"]["median_seconds"], result["median_share"]) for result in found["results"]}


# Steps of the article's models: task, batch, precision.
STEPS = (("prefix", 16, "bf16"), ("addition", 4, "bf16"), ("prefix", 16, "f32"))


def our_step(options, task, batch, precision):
    return bench(options, "train", "--task", task, "--preset", "paper", "--set", f"batch_size={batch}", "--precision", precision, "--steps", "10")


def limits(to):
    options = to.options
    for step in STEPS:
        to.add_limit(train_shares, *our_step(options, *step))
    for precision in ("bf16", "f32"):
        for shape in ("4,8,640,64", "1,8,2048,128", "16,4,512,32"):
            to.add_limit(attention_shares, *bench(options, "attention", "--shape", shape, "--precision", precision))
    to.add_limit(rope_shares, *bench(options, "rope", "--seconds", "0.5"))
    for precision in ("bf16", "f32"):
        to.add_limit(decode_shares, *bench(options, "decode", "--precision", precision))


# ---- training beside PyTorch ----


def median_seconds(found):
    return {"": found["median_seconds"]}


def seconds_per_token(found):
    return {"": found["median_seconds"] / found["tokens"]}


def from_json(read):
    return lambda text: read(json.loads(text))


def steps(to):
    for task, batch, precision in STEPS:
        ours = Program(from_json(median_seconds), our_step(to.options, task, batch, precision))
        command = torch(to.options, "step", f"presets/{task}/paper.json", "--batch", batch, "--precision", precision)
        to.add(f"step of {task}/paper, batch {batch}, {precision}", ours, lambda: Resident(median_seconds, [command]))


def biases(to):
    def our_pass(name):
        return from_json(lambda found: {"": found["results"][0]["bias"][name]["median_seconds"]})

    for shape in ("16,4,512,32", "4,8,640,64"):
        for name, flags in (("forward", ["--forward"]), ("forward_and_backward", [])):
            ours = Program(our_pass(name), bench(to.options, "attention", "--shape", shape, "--encodings", "bias", "--precision", "f32"))
            command = torch(to.options, "attention", shape, *flags)
            to.add(f"attention with a bias, {shape}, f32, {name.replace('_', ' ')}", ours, lambda: Resident(median_seconds, [command]))


def precisions():
    return ["f32", "bf16"] if has_bf16() else ["f32"]


def compare_training(to, task, label, preset, settings, fixed, theirs=()):
    """Either side in the faster of f32 and bf16; `fixed` says on which text of its own the task trains."""
    given = [word for setting in settings for word in ("--set", setting)]
    ours = Program(from_json(lambda found: {"": found["median_seconds"] / (found["tokens"] + found.get("source_tokens", 0))}),
                   bench(to.options, "train", "--task", task, "--preset", preset, *[word for key in fixed for word in ("--set", key)], *given,
                         "--steps", "5"))
    commands = [torch(to.options, task, f"presets/{task}/{preset}.json", *theirs, *given, "--precision", precision) for precision in precisions()]
    to.add(f"{task}, {label}", ours, lambda: Resident(seconds_per_token, commands), tokens=True)


# Windows of random words, so that nothing is padding; the vocabularies are those of the masked models.
def texts_of(to, task, preset):
    run([to.options.python, "bench/torch_masked.py", f"presets/masked/{preset}.json", "--write-corpus", "build/peer_texts"])
    return [f"{task}_{key}" for key in ("data=build/peer_texts", "train=train.txt", "validation=valid.txt", "test=", "cache=",
                                        "boundary=line", "tokenizer=words", "min_frequency=1")]


def language(to):
    fixed = texts_of(to, "language", "small") + ["language_windows=random"]
    compare_training(to, "language", "30 M parameters", "small", ("hidden_size=512", "num_attention_heads=8", "intermediate_size=1376",
                                                                "batch_tokens=8192"), fixed)
    fixed = texts_of(to, "language", "paper") + ["language_windows=random"]
    compare_training(to, "language", "paper, 4,096 tokens", "paper", ("language_vocab_size=30522", "gradient_accumulation_steps=1"), fixed)


def masked(to):
    for preset, label, settings in (("small", "small", ()), ("paper", "paper, 8 x 512 tokens", ("gradient_accumulation_steps=1",))):
        fixed = texts_of(to, "masked", preset)
        compare_training(to, "masked", label, preset, settings, fixed)
        compare_training(to, "masked", f"{label}, no attention dropout", preset, (*settings, "attention_dropout=0"), fixed)


def training(to):
    run([to.options.python, "bench/torch_translation.py", "--write-corpus", "build/peer_corpus"])
    fixed = ("translation_data=build/peer_corpus", "translation_test=test", "translation_tokenizer=words", "translation_min_frequency=1",
             "translation_shared_vocabulary=true")
    compare_training(to, "translation", "3 + 3 layers of 256", "multi30k",
                     ("hidden_size=256", "num_hidden_layers=3", "num_encoder_layers=3", "num_attention_heads=8", "intermediate_size=1024"),
                     fixed, ["build/peer_corpus"])
    compare_training(to, "translation", "6 + 6 layers of 512", "paper",
                     ("batch_tokens=4096", "gradient_accumulation_steps=1", "attention_dropout=0"), fixed, ["build/peer_corpus"])


# ---- translation beside CTranslate2 ----


def translate(to):
    for beams in (1, 5):
        for precision, types in (("f32", ["float32"]), ("bf16", ["float32", "int8", "bfloat16"])):
            ours = Program(from_json(lambda found: {"": found["seconds"]}),
                           bench(to.options, "translate", "--beams", beams, "--precision", precision))
            commands = [[to.options.python, "bench/ctranslate2_translate.py", "--beams", beams, "--compute", compute, "--threads",
                         to.options.threads] for compute in types]
            to.add(f"translation, beam {beams}, {precision}", ours,
                   lambda: Resident(median_seconds, commands, ({"CT2_USE_MKL": "0"}, {"CT2_USE_MKL": "1"})))


# ---- generation beside llama.cpp ----

MODELS = {
    "29 M": (8000, ("--preset", "small", "--set", "hidden_size=512", "--set", "num_attention_heads=8", "--set", "intermediate_size=1376")),
    "196 M": (32000, ("--preset", "paper")),
}


def make_model(to, name):
    """A folder with a run of initial weights, and its weights in each type as a Hugging Face folder and as a file of llama.cpp. One
    that was made before is kept."""
    words, settings = MODELS[name]
    folder, text = f"build/peer_generate/{name.replace(' ', '')}", "build/peer_generate/train.txt"
    if os.path.exists(f"{folder}/made"):
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    lines = [" ".join(f"w{i}" for i in range(first, min(first + 16, words + 1))) for first in range(1, words + 1, 16)]
    for path, some in ((text, lines), ("build/peer_generate/valid.txt", lines[:4])):
        with open(path, "w", encoding="ascii") as file:
            file.write("\n".join(some) + "\n")
    fixed = ("data=build/peer_generate", "train=train.txt", "validation=valid.txt", "test=", "cache=", "boundary=line", "tokenizer=words",
             "min_frequency=1")
    run([ROTARY, "train", "language", *settings, *[word for key in fixed for word in ("--set", "language_" + key)], "--set", "sequence_length=1024",
         "--set", "batch_tokens=1024", "--set", "precision=f32", "--threads", to.options.threads, "--steps", "0", "--out", f"{folder}/run"])
    for dtype in ("f32", "f16", "bf16"):
        run([ROTARY, "export", f"{folder}/run", "--format", "huggingface", "--dtype", dtype, "--out", f"{folder}/{dtype}"])
        run([ROTARY, "export", f"{folder}/run", "--format", "gguf", "--dtype", dtype, "--out", f"{folder}/{dtype}.gguf"])
    with open(f"{folder}/made", "w", encoding="ascii"):
        return folder


def read_llama(text):
    """llama-bench prints a line of JSON a test: a prompt, or tokens after one."""
    found = {}
    for line in text.splitlines():
        test = json.loads(line)
        found["prompt" if test["n_prompt"] else "token"] = 1 / test["avg_ts"]
    return found


def generate(to):
    """Weights are mapped from files, or packed in a run. Keys and values of llama.cpp are f16, as it has no f32 for them. There is
    no precision f16: such weights are for activations in f32."""
    if not to.options.llama_bench:
        raise Failed("there is no llama-bench on the PATH, and no --llama-bench")

    def read(text):
        found = json.loads(text)
        return {"prompt": found["prompt_seconds"] / PROMPT, "token": found["step_seconds"]}

    def theirs(weights):
        def llama(*tests):
            return [to.options.llama_bench, "-m", weights, "-t", to.options.threads, "-r", "2", "-o", "jsonl", *tests]

        program = Program(read_llama, llama("-p", PROMPT, "-n", "0"), llama("-p", "0", "-n", NEW_TOKENS, "-d", PROMPT))
        program.mode = "llama.cpp"
        return program

    for name in MODELS:
        folder = make_model(to, name)
        for dtype in ("f32", "f16", "bf16"):
            for held, source in (("mapped", f"{folder}/{dtype}"), ("packed", f"{folder}/run")):
                if (held, dtype) == ("packed", "f16"):
                    continue
                ours = Program(read, bench(to.options, "generate", source, "--precision", "f32" if dtype == "f16" else dtype,
                                           "--batch-size", "1", "--prompt-tokens", PROMPT, "--max-new-tokens", NEW_TOKENS))
                to.add(f"{name}, {dtype}, {held}", ours, lambda: theirs(f"{folder}/{dtype}.gguf"), tokens=True)


# ---- the library beside ggml ----


def ggml(to):
    folder = to.options.ggml
    if not folder:
        raise Failed("--ggml says where ggml is installed (include, lib)")
    # The order of the libraries matters for static linking; a shared ggml works too.
    run(["cc", "-O2", "-D_GNU_SOURCE", f"-I{folder}/include", "bench/ggml_peer.c", "-o", "build/ggml_peer", f"-L{folder}/lib",
         f"-Wl,-rpath,{folder}/lib", "-lggml-cpu", "-lggml-base", "-lstdc++", "-fopenmp", "-lpthread", "-lm", "-ldl"])

    def read(text):
        found = {}
        for result in json.loads(text)["results"]:
            shape = ",".join(map(str, result["shape"]))
            if "rotated" in result:
                found[f"rope {result['precision']} {result['pairing']}"] = result["rotated"]["best_seconds"]
            else:
                found[f"attention {shape}"] = result["rope"]["forward"]["best_seconds"]
        return found

    def read_theirs(text):
        return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in text.splitlines()}

    ours = Program(read, bench(to.options, "rope", "--seconds", "0.5"), bench(to.options, "attention", "--seconds", "0.5"))
    theirs = Program(read_theirs, ["build/ggml_peer", to.options.threads])
    theirs.mode = "ggml"
    to.add("", ours, lambda: theirs)


# ---- text beside SentencePiece and tokenizers ----


class Encoder(Program):
    """rotary tokenize encode, from a file to nowhere; its start is in the time."""

    def __init__(self, options, model):
        super().__init__(None, [ROTARY, "tokenize", "encode", model, "--threads", options.threads])
        self.text = options.text

    def measure(self):
        with open(self.text, "rb") as text:
            begin = time.perf_counter()
            run(self.commands[0], stdin=text, stdout=subprocess.DEVNULL)
            return {"": time.perf_counter() - begin}


def text(to):
    """--tokenizer may name models; without one two are trained on the text."""
    if not to.options.text:
        raise Failed("--text names a file of lines")
    models = to.options.tokenizer or []
    if not models:
        for kind in ("unigram", "bpe"):
            models.append(f"build/peer_{kind}.model")
            run([ROTARY, "tokenize", "train", "--type", kind, "--input", to.options.text, "--model", models[-1]])
    for model in models:
        command = [to.options.python, "bench/python_tokenize.py", model, to.options.text, "--threads", to.options.threads]
        environment = {"RAYON_NUM_THREADS": str(to.options.threads)} if model.endswith(".json") else {}
        to.add(f"tokens of text, {os.path.basename(model)}", Encoder(to.options, model), lambda: Resident(median_seconds, [command], [environment]))


# ---- all ----

GROUPS = {"limits": limits, "steps": steps, "biases": biases, "language": language, "masked": masked, "training": training,
          "translate": translate, "generate": generate, "ggml": ggml, "text": text}


def main():
    parser = argparse.ArgumentParser(prog="scripts/bench-peers", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="of each comparison (default: 5)")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="default: every processor")
    parser.add_argument("--only", default=",".join(GROUPS), help=f"some of {', '.join(GROUPS)}")
    parser.add_argument("--llama-bench", default=shutil.which("llama-bench"), help="llama.cpp's (default: the one on the PATH)")
    parser.add_argument("--ggml", help="where ggml is installed (include, lib)")
    parser.add_argument("--text", help="lines of text, to encode")
    parser.add_argument("--tokenizer", action="append", help="a SentencePiece model or a tokenizer.json to encode with; may be given again")
    parser.add_argument("--records", help="write what was measured to this file, as JSON")
    options = parser.parse_args()
    options.python = sys.executable
    chosen = options.only.split(",")
    unknown = [group for group in chosen if group not in GROUPS]
    if unknown or options.rounds < 1 or options.threads < 1:
        parser.error(f"--only {options.only}: wanted some of {', '.join(GROUPS)}" if unknown else "--rounds and --threads are 1 or more")
    to = Comparisons(options)
    try:
        for group in chosen:
            try:
                GROUPS[group](to)
            except Failed as error:
                print(f"{group}: not compared: {error}", file=sys.stderr)
    finally:
        if options.records:
            with open(options.records, "w", encoding="utf-8") as file:
                json.dump({"threads": options.threads, "rows": to.rows}, file, indent=1)
    return 0 if to.rows else 1


if __name__ == "__main__":
    sys.exit(main())
