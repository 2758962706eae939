# SPDX-License-Identifier: Apache-2.0
"""tensorboard_reader.py ROTARY: what TensorBoard reads of the event files of `rotary train --tensorboard` and `compare --tensorboard`,
beside metrics.jsonl: of a run, of one resumed, and of one that gets its file later."""
import glob
import json
import os
import sys

sys.path.insert(0, os.path.join(os.environ["ROTARY_SOURCE_DIR"], "tests/oracle"))
import numpy as np  # noqa: E402
from oracle_support import check, report, run  # noqa: E402
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator  # noqa: E402

TINY = ["--threads", "1", "--set", "hidden_size=16", "--set", "num_hidden_layers=1", "--set", "sequence_length=48", "--set", "batch_size=2",
        "--set", "problems=4", "--set", "log_every=2", "--set", "evaluate_every=3"]


def read(folder):
    """{(tag, step): value} of the events."""
    events = EventAccumulator(folder, size_guidance={"scalars": 0})
    events.Reload()
    times = [e.wall_time for tag in events.Tags()["scalars"] for e in events.Scalars(tag)]
    check(f"{folder}: times", times and min(times) > 1.7e9)
    return {(tag, e.step): e.value for tag in events.Tags()["scalars"] for e in events.Scalars(tag)}


def wanted(folder):
    numbers = {}
    with open(f"{folder}/metrics.jsonl") as file:
        for line in map(json.loads, file):
            scores, prefix = (line["evaluation"], "validation") if "evaluation" in line else (line, "train")
            numbers.update({(f"{prefix}/{key}", line["step"]): np.float32(value) for key, value in scores.items()
                            if isinstance(value, (int, float)) and key != "step"})
    return numbers


def compare(folder, steps):
    got, expected = read(folder), wanted(folder)
    check(f"{folder}: {steps} steps", max(step for _, step in expected) == steps)
    check(f"{folder}: scalars", got == expected, f"{set(got) ^ set(expected)}")


def does(*arguments):
    done = run(*arguments)
    check(f"rotary {' '.join(arguments)}", done.returncode == 0, done.stderr)


does("train", "index", *TINY, "--steps", "6", "--tensorboard", "--out", "a")
compare("a", 6)
does("train", "index", "--resume", "--steps", "10", "--threads", "1", "--out", "a")
compare("a", 10)
does("train", "index", *TINY, "--steps", "4", "--out", "late")
check("a run without --tensorboard", not glob.glob("late/events*"))
does("train", "index", "--resume", "--steps", "6", "--threads", "1", "--tensorboard", "--out", "late")
compare("late", 6)
does("compare", "index", *TINY, "--steps", "4", "--positions", "rope,roper", "--runs", "1", "--jobs", "1", "--tensorboard", "--out", "both")
for name in ("rope-1", "roper-1"):
    compare(f"both/{name}", 4)
report()
