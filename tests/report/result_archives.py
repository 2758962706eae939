# SPDX-License-Identifier: Apache-2.0
"""What the archives of results hold: what `rotary report --json` says of them, and the lines of their runs' logs."""
import functools
import json
import pathlib
import re
import statistics
import subprocess
import tarfile
import tempfile

MEASURES = {
    "exact match": "exact_match", "validation loss": "validation_loss", "over training": "validation_loss_area",
    "steps to 90%": "steps_to_90", "bleu": "bleu", "accuracy": "accuracy", "f1": "f1", "matthews": "matthews",
    "spearman": "spearman",
}
QUANTILES = {6: 2.570582, 7: 2.446912, 8: 2.364624}  # Student's 97.5%, by the number of seeds
BASELINES = {"bag of words": "bag_of_words", "majority": "majority", "tf-idf": "tfidf"}
ENCODINGS = {"kerple (log)": "kerple", "rope with k = v": "rope,key_is_value=true",
             "roper with k = v": "roper,key_is_value=true"}


class Archive:
    """One archive, or a folder in it: PATH is as `rotary report` takes it, such as results/glue-57m.tar.gz/CoLA."""

    def __init__(self, rotary, root, path, on_texts):
        self.root = root
        self.path = path
        self.report = report_of(rotary, root, path)
        self.arms = {arm["name"]: arm for arm in self.report["arms"]}
        key = path.removeprefix("results/").replace(".tar.gz", "")
        texts = on_texts.get(key, {})
        self.examples = texts.get("examples")
        self.scores = texts.get("baselines", {})  # of the baselines themselves
        for name, baselines in texts.get("arms", {}).items():
            self.arms[name]["baselines"] = baselines
        for contrast in self.report["contrasts"]:
            contrast["texts"] = texts.get("contrasts", {}).get(f'{contrast["arm"]} - {contrast["baseline"]}')

    def arm(self, label):
        """The arm of a label such as "RoPE": of that name, or of a run of that kind ("masked-rope")."""
        name = ENCODINGS.get(label.lower(), label.lower())
        if name in self.arms:
            return self.arms[name]
        for varied in (f"{name},key_is_value=false", f"rotate={name}", f"key_is_value={name}"):
            if varied in self.arms:
                return self.arms[varied]
        found = [arm for other, arm in self.arms.items() if other.lower().endswith("-" + name)]
        return found[0] if len(found) == 1 else None

    def contrast(self, arm, baseline):
        for contrast in self.report["contrasts"]:
            if (contrast["arm"], contrast["baseline"]) == (arm["name"], baseline["name"]):
                return contrast
        return None

    def primary(self):
        return self.report["primary_measure"]

    def logs(self, arm):
        """The logs of an arm's runs; of a run that was stopped, which counts among no arm's, its own."""
        return [log_of(self.root, folder) for folder in [run["folder"] for run in arm["runs"]] or [self.path]]

    def at_step(self, arm, step, training=False):
        """The mean loss of an arm's runs at a step, of validation or of training."""
        values = []
        for log in self.logs(arm):
            found = [line for line in log if line["step"] == step and ("evaluation" in line) != training]
            if not found:
                return None
            values.append(found[-1]["loss"] if training else found[-1]["evaluation"]["loss"])
        return sum(values) / len(values)

    def losses_at(self, arm, tokens, scaling):
        """The loss of each of an arm's runs in sequences of a length, by its seed."""
        return {run["seed"]: entry["loss"] for run in arm["runs"]
                for entry in json.loads(file_of(self.root, run["folder"], "lengths.json"))["lengths"]
                if (entry["length"], entry["scaling"]) == (tokens, scaling)}

    def last_evaluation(self, arm, name):
        values = [[line for line in log if "evaluation" in line][-1]["evaluation"][name] for log in self.logs(arm)]
        return sum(values) / len(values)

    def lowest_loss(self, arm):
        lowest = [min(line["evaluation"]["loss"] for line in log if "evaluation" in line) for log in self.logs(arm)]
        return sum(lowest) / len(lowest)

    def hours(self):
        """How long its runs trained, in hours, by the tokens per second that they logged."""
        return sum(run_hours(self.root, run["folder"]) for arm in self.report["arms"] for run in arm["runs"])

    def intervals(self):
        """Every interval that its report has."""
        found = []

        def visit(value):
            if isinstance(value, dict):
                if isinstance(value.get("low"), (int, float)):
                    found.append((value["low"], value["high"]))
                for inner in value.values():
                    visit(inner)
            elif isinstance(value, list):
                for inner in value:
                    visit(inner)

        visit(self.report)
        return found


def mean_and_interval(values):
    mean = statistics.fmean(values)
    half = QUANTILES[len(values)] * statistics.stdev(values) / len(values) ** 0.5
    return [mean, mean - half, mean + half]


@functools.cache
def report_of(rotary, root, path):
    with tempfile.TemporaryDirectory() as scratch:
        done = subprocess.run([rotary, "report", path, "--json", "--out", f"{scratch}/report.html"], cwd=root,
                              capture_output=True, text=True, check=False)
    if done.returncode:
        raise LookupError(done.stderr.strip())
    return json.loads(done.stdout)


@functools.cache
def files_of(archive):
    with tarfile.open(archive) as tar:
        return {member.name: tar.extractfile(member).read().decode("utf-8") for member in tar if member.isfile()
                and member.name.endswith((".jsonl", "config.json", "lengths.json"))}


def file_of(root, folder, name):
    archive, inner = re.fullmatch(r"(.*\.tar\.gz)/?(.*)", folder).groups()
    files = files_of(str(pathlib.Path(root) / archive))
    base = pathlib.Path(archive).name.removesuffix(".tar.gz")
    return files[str(pathlib.PurePosixPath(base, inner, name))]


@functools.cache
def log_of(root, folder):
    return [json.loads(line) for line in file_of(root, folder, "metrics.jsonl").splitlines()]


def run_hours(root, folder):
    config = json.loads(file_of(root, folder, "config.json"))
    tokens = config.get("batch_tokens") or config["batch_size"] * config["sequence_length"]
    seconds, before = 0.0, 0
    for line in log_of(root, folder):
        if "tokens_per_second" in line:
            seconds += (line["step"] - before) * tokens / line["tokens_per_second"]
            before = line["step"]
    return seconds / 3600
