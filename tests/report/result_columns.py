# SPDX-License-Identifier: Apache-2.0
"""What a column of a table of results has, by its name: for each name that documents use, the numbers or the words that
the cell of an arm, or of an archive, should have."""
import math
import re

from result_archives import BASELINES, MEASURES, mean_and_interval

STATISTICS = {"mean": "mean", "median": "median", "standard deviation": "standard_deviation", "minimum": "min",
              "maximum": "max", "mean without the worst": "without_worst"}
UNCHECKED = {"published", "archive", "measure"}  # the first by others, whom the document cites; words
# Parameters and steps of published experiments, for the column "share"; the article and the papers round them so.
PUBLISHED = {"addition": (20e6, 5_000), "index": (20e6, 5_000), "prefix": (0.6e6, 65_000), "short": (0.6e6, 65_000),
             "whole": (0.6e6, 65_000),
             "language": (200e6, None), "masked": (110e6, 100_000), "glue": (110e6, None), "sst-2": (110e6, None),
             "sts-b": (110e6, None)}
AGREES = {"better": "agrees", "worse": "does not"}  # as the published encoding was the better one


class Unknown(Exception):
    """A column or a row that no rule reads."""


def measure_of(name, archive):
    if not name:
        return archive.primary()
    if name.lower() not in MEASURES:
        raise Unknown(f'no measure is called "{name}": there are {", ".join(MEASURES)}')
    return MEASURES[name.lower()]


def difference(found, measure):
    values = found["measures"][measure]
    return [values["mean"], values["low"], values["high"]]


def over_texts(found):
    """A difference over sentences or examples."""
    return [found["mean"], found["low"], found["high"], found["p"]]


def between(archive, arm, other, measure, over):
    """What stands in a column "ARM − OTHER", OTHER being an arm or a baseline."""
    if other.lower() in BASELINES:
        found = arm["baselines"][BASELINES[other.lower()]]
        return over_texts(found["examples"]) if over else [found["mean"], found["low"], found["high"]]
    baseline = archive.arm(other)
    found = baseline and archive.contrast(arm, baseline)
    if not found:
        raise Unknown(f'{archive.path} compares no "{arm["name"]}" with "{other}"')
    return over_texts(found["texts"]["mean"]) if over else difference(found, measure)


def mean_of(arm, measure):
    """The mean, or in a cell with ± that and half of its interval."""
    values = arm["measures"][measure]
    half = None if values["low"] is None else (values["high"] - values["low"]) / 2
    return [values["mean"], half]


def reached_of(arm):
    values = arm["measures"]["steps_to_90"]
    median = values["reached"]["median"]
    return [values["max"] if median is None else median, values["reached"]["reached"], values["reached"]["runs"]]


def length_of(arm, tokens, scaling):
    found = [entry for entry in arm["lengths"] if entry["length"] == tokens and entry["scaling"] == scaling]
    if not found:
        return []
    return [found[0].get("perplexity", found[0]["mean"])]


def difference_at(archive, arm, other, tokens, scaling):
    """The difference to another arm at another length, both with the same scaling."""
    baseline = archive.arm(other)
    found = baseline and archive.contrast(arm, baseline)
    entries = [entry for entry in (found["lengths"] if found else [])
               if entry["length"] == tokens and entry["scaling"] == scaling]
    if not entries:
        raise Unknown(f'{archive.path} compares no "{arm["name"]}" with "{other}" at {tokens} tokens')
    return [entries[0]["mean"], entries[0]["low"], entries[0]["high"]]


def difference_of_growth(archive, arm, other, lengths, scaling):
    """By how much more than another arm's the loss of an arm grows from one length to another, of pairs of seeds."""
    begin, end = (int(number.replace(",", "")) for number in lengths)
    growths = []
    for one in (arm, archive.arm(other)):
        shorter, longer = archive.losses_at(one, begin, scaling), archive.losses_at(one, end, scaling)
        growths.append({seed: longer[seed] - shorter[seed] for seed in longer})
    return mean_and_interval([growths[0][seed] - growths[1][seed] for seed in growths[0]])


def tokens_of(text):
    """The number of a heading "1,024 tokens"; None: it is no such heading."""
    found = re.fullmatch(r"([\d,]+) tokens", text)
    return found and int(found[1].replace(",", ""))


def perplexity_at(archive, arm, first, last, scaling):
    """The perplexity at places first ... last of the longest sequences, of an arm's runs together."""
    longest = max(entry["length"] for entry in arm["lengths"] if "positions" in entry)
    bins = [entry["positions"] for entry in arm["lengths"]
            if entry["length"] == longest and entry["scaling"] == scaling]
    within = [one for one in bins[0] if first <= one["begin"] <= last] if bins else []
    tokens = sum(one["tokens"] for one in within)
    if not tokens:
        raise Unknown(f'{archive.path} has no positions {first} to {last} of "{arm["name"]}"')
    return [math.exp(sum(one["tokens"] * one["loss"] for one in within) / tokens)]


def split_name(header):
    """A header "BASE, MEASURE" or "BASE, over examples" as (BASE, MEASURE or "", whether it is over texts)."""
    base, _, rest = header.partition(", ")
    if rest in ("over examples", "over sentences"):
        return base, "", True
    return (base, "", False) if rest in ("95%", "95% interval", "over seeds", "%") else (base, rest, False)


def arm_column(archive, arm, label, header, first, caption):
    """What the cell of an arm's row should have: numbers, or words."""
    base, measure, over = split_name(header)
    name = base.lower()
    plain = {"perplexity": lambda: [arm["text"]["perplexity"]], "bits per byte": lambda: [arm["text"]["bits_per_byte"]],
             "parameters": lambda: [arm["cost"]["parameters"]], "time": lambda: [arm["cost"]["time"]],
             "best": lambda: [archive.lowest_loss(arm)], "runs": lambda: [len(arm["runs"])],
             "predicted": lambda: [100 * archive.last_evaluation(arm, "accuracy")],
             "steps to 90%": lambda: reached_of(arm)}
    if name in plain and not measure:
        return plain[name]()
    if name in STATISTICS:
        return [arm["measures"][measure_of(measure or caption_measure(caption), archive)][STATISTICS[name]]]
    if tokens := tokens_of(name):
        return length_of(arm, tokens, scaling_of(label))
    if found := re.fullmatch(r"([\d,]+) to ([\d,]+)", name):
        places = [int(number.replace(",", "")) for number in found.groups()]
        return perplexity_at(archive, arm, *places, scaling_of(label))
    if re.fullmatch(r"[\d,]+", name) and first == "tokens":
        return length_of(arm, int(name.replace(",", "")), scaling_of(label))
    if re.fullmatch(r"[\d,]+", name) and first == "step":
        loss = archive.at_step(arm, int(name.replace(",", "")), "training loss" in caption.lower())
        if loss is None:
            raise Unknown(f"{archive.path} has no loss of {arm['name']} at step {name}")
        return [loss]
    if found := re.fullmatch(r"seed (\d+)", name):
        key = measure_of(measure or caption_measure(caption), archive)
        return [run[key] for run in arm["runs"] if run["seed"] == int(found[1])]
    found = re.fullmatch(r"(?:difference to|minus) (?:the )?(.+)", base)
    if found and (lengths := re.fullmatch(r"([\d,]+) to ([\d,]+) tokens", measure)):
        return difference_of_growth(archive, arm, found[1], lengths.groups(), scaling_of(label))
    if found and tokens_of(measure):
        return difference_at(archive, arm, found[1], tokens_of(measure), scaling_of(label))
    if found:
        return between(archive, arm, found[1], measure_of(measure or caption_measure(caption), archive), over)
    if name == "verdict":
        return archive.contrast(arm, archive.report["arms"][0])["verdict"]
    if name in MEASURES and not measure:
        return mean_of(arm, MEASURES[name])
    raise Unknown(f'no rule reads the column "{header}"')


def caption_measure(caption):
    """The measure that a caption names first, if it names one."""
    found = [(caption.lower().find(name), name) for name in MEASURES if name in caption.lower()]
    return min(found)[1] if found else ""


def scaling_of(label):
    return label.partition(", ")[2].lower() or "none"


def archive_column(archive, header, row):
    """What the cell of an archive's row should have."""
    base, measure, over = split_name(header)
    name = base.lower()
    measure = measure_of(measure or row_measure(row), archive)
    contrast = archive.report["contrasts"][0] if archive.report["contrasts"] else None
    if name in UNCHECKED:
        return None
    if name == "examples":
        return [archive.examples]
    if name in BASELINES:
        return [archive.scores[BASELINES[name]]]
    if found := re.fullmatch(r"(.+) − (.+)", base):
        return between(archive, archive.arm(found[1]), found[2], measure, over)
    if name == "difference":
        return difference(contrast, measure)
    if name in ("pairs", "seeds"):
        return [contrast["pairs"]]
    if name == "hours":
        return [archive.hours()]
    if name == "verdict":
        return AGREES.get(contrast["verdict"], "cannot tell") if "published" in row else contrast["verdict"]
    if name == "share":
        return share_of(archive, row)
    if name == "loss":
        return [archive.report["arms"][0]["measures"]["validation_loss"]["mean"]]
    if name == "predicted":
        return [100 * archive.last_evaluation(archive.report["arms"][0], "accuracy")]
    if name == "here":
        arms = [archive.arms[contrast["baseline"]], archive.arms[contrast["arm"]]]
        return [arm["measures"][measure]["mean"] for arm in arms]
    if arm := archive.arm(base):
        return mean_of(arm, measure)
    raise Unknown(f'no rule reads the column "{header}"')


def share_of(archive, row):
    """The size of the model and its steps in percent of the published ones, as far as both are known."""
    name = re.match(r"\[?([\w-]+)", next(iter(row.values())))[1].lower()
    if name not in PUBLISHED:
        raise Unknown(f'result_columns.py has no published size of "{name}"')
    sizes = archive.report["arms"][0]["cost"]["parameters"], archive.report["steps"]
    return [100 * ours / theirs for ours, theirs in zip(sizes, PUBLISHED[name]) if ours and theirs]


def row_measure(row):
    """The measure that a row's cell "loss in nats" or "exact match, % of 128 problems" names."""
    text = " ".join(cell for column, cell in row.items() if column != "published").lower()
    if "loss" in text or "nats" in text:
        return "validation loss"
    return "exact match" if "exact match" in text else ""
