# SPDX-License-Identifier: Apache-2.0
"""What the timings of PyTorch (torch_step.py, torch_attention.py and their kin) share."""
import argparse
import contextlib
import json
import statistics
import sys
import time

import torch

WARM_UP = 3


def rotate(x, cosine, sine):
    half = x.shape[-1] // 2
    return x * cosine + torch.cat((-x[..., half:], x[..., :half]), -1) * sine


def rotation_tables(length, head_dim):
    """Cosines and sines [length, head_dim], f32, of half-split pairs and base 10000."""
    pairs = head_dim // 2
    angle = torch.arange(length).double()[:, None] * 10000.0 ** (-torch.arange(pairs).double() / pairs)
    angle = torch.cat((angle, angle), -1)
    return angle.cos().float(), angle.sin().float()


def autocast(bf16, device="cpu"):
    return torch.autocast(device, torch.bfloat16) if bf16 else contextlib.nullcontext()


def wait_for(device):
    """Until what a device was told before is done."""
    if device == "cuda":
        torch.cuda.synchronize()


def update(model, optimizer):
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()


def timed(run, device):
    """Seconds of a call of run()."""
    wait_for(device)
    begin = time.perf_counter()
    run()
    wait_for(device)
    return time.perf_counter() - begin


def time_step(step, steps, warm_up, device="cpu"):
    """Seconds of `steps` calls of step(), after `warm_up` that are not timed."""
    for _ in range(warm_up):
        step()
    return [timed(step, device) for _ in range(steps)]


def parser(modes, precision, steps):
    """Of the options that all scripts have; the last two are defaults."""
    made = argparse.ArgumentParser()
    made.add_argument("--precision", default=precision, choices=("bf16", "f32"))
    made.add_argument("--mode", default="best", choices=("best", *modes))
    made.add_argument("--steps", type=int, default=steps)
    made.add_argument("--threads", type=int, default=0)
    made.add_argument("--resident", action="store_true", help="stay, and time so many steps again for each line read")
    return made


def read_preset(path, assignments, **defaults):
    """A preset over defaults, with KEY=VALUE set in it."""
    with open(path, encoding="utf-8") as file:
        sizes = {**defaults, **json.load(file)}
    for assignment in assignments:
        key, value = assignment.split("=", 1)
        sizes[key] = json.loads(value)
    return sizes


def fastest(modes, make_step, device):
    """The mode of which make_step(mode) is fastest in two steps, and the seconds of each that works."""
    tried = {}
    for mode in modes:
        try:
            tried[mode] = min(time_step(make_step(mode), 2, WARM_UP, device))
            print(f"{mode}: {tried[mode]:.4f} s", file=sys.stderr)
        except Exception as error:  # what a version cannot do it says in its own words
            print(f"{mode}: not possible: {str(error).splitlines()[0][:100]}", file=sys.stderr)
    return min(tried, key=tried.get), tried


def report(arguments, modes, make_step, describe):
    """Times the steps that make_step(mode) gives in the mode asked for, or in the fastest, and prints one JSON object with what
    describe(median seconds) adds. With --resident it does so again for each line on standard input."""
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    device = getattr(arguments, "device", "cpu")
    mode, tried = (arguments.mode, {}) if arguments.mode != "best" else fastest(modes, make_step, device)
    step, warm_up = make_step(mode), WARM_UP
    while True:
        times = time_step(step, arguments.steps, warm_up, device)
        median = statistics.median(times)
        print(json.dumps({"peer": "PyTorch " + torch.__version__, "mode": mode, "precision": arguments.precision,
                          **describe(median), "median_seconds": median, "best_seconds": min(times), "tried": tried}), flush=True)
        warm_up = 1  # caches hold what ran meanwhile
        if not arguments.resident or not sys.stdin.readline():
            return
