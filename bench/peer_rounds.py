# SPDX-License-Identifier: Apache-2.0
"""Alternating rounds of two programs, without those that other work disturbed. A side is something with measure(), which
gives {name: seconds}, processes() and stop()."""
import json
import os
import resource
import statistics
import subprocess
import sys
import time

# Of the processors' time in a round; other work takes a core from one side and not from the other.
DISTURBED_SHARE = 0.02
TICK = 1 / os.sysconf("SC_CLK_TCK")


class Failed(Exception):
    """A program failed; the message is for the reader."""


def run(command, stdin=None, stdout=subprocess.PIPE):
    """Its standard output, unless that goes elsewhere."""
    done = subprocess.run([str(word) for word in command], stdin=stdin, stdout=stdout, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise Failed(f"{command[0]} failed: {(done.stderr.strip().splitlines() or ['it says nothing'])[-1]}")
    return done.stdout


class Program:
    """A program that is started for each round; read makes {name: seconds} of what it prints."""

    def __init__(self, read, *commands):
        self.read, self.commands, self.mode = read, commands, ""

    def measure(self):
        found = {}
        for command in self.commands:
            found.update(self.read(run(command)))
        return found

    def processes(self):
        return []

    def stop(self):
        pass


class Resident:
    """Of programs that stay and print a line of JSON for each line that they read, the one that is fastest."""

    def __init__(self, read, commands, environments=({},)):
        """Tries each of the commands in each of the environments."""
        self.read, self.process, self.mode, self.about, best = read, None, "", "", 0.0
        for command in commands:
            for environment in environments:
                try:
                    seconds, process, mode, about = self.start(command, environment)
                except Failed as error:
                    print(error, file=sys.stderr)
                    continue
                faster = not self.process or seconds < best
                loser = self.process if faster else process
                if faster:
                    self.process, self.mode, self.about, best = process, mode, about, seconds
                if loser:
                    end(loser)
        if not self.process:
            raise Failed(f"{commands[0][1]} does not work")

    def start(self, command, environment):
        process = subprocess.Popen([str(word) for word in command] + ["--resident"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL, text=True, env={**os.environ, **environment})
        line = process.stdout.readline()
        if not line:
            end(process)
            raise Failed(f"{command[1]} fails; to see why: {' '.join(map(str, command))}")
        first = json.loads(line)
        mode = ", ".join(filter(None, [first["mode"], *(f"{key}={value}" for key, value in environment.items())]))
        return min(self.read(first).values()), process, mode, first["peer"]

    def measure(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise Failed(f"{self.process.args[1]} ended")
        return self.read(json.loads(line))

    def processes(self):
        return [self.process.pid]

    def stop(self):
        end(self.process)


def end(process):
    process.stdin.close()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def busy_seconds():
    """Of all processors since the machine began, with what a host took of them."""
    with open("/proc/stat", encoding="ascii") as file:
        user, nice, system, _, _, interrupts, soft, steal = [int(word) for word in file.readline().split()[1:9]]
    return TICK * (user + nice + system + interrupts + soft + steal)


def own_seconds(pids):
    """Of this process, its children that have ended, and processes that have not."""
    used = sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    for pid in pids:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            used += TICK * sum(map(int, file.read().rpartition(")")[2].split()[11:15]))
    return used


def is_disturbed(before, after, pids):
    """Whether other work took more than its share between two readings of [time, busy, own]."""
    wall, busy, own = (now - then for now, then in zip(after, before))
    return busy - own > DISTURBED_SHARE * wall * os.cpu_count() + 4 * TICK * (1 + len(pids))


def alternate(sides, rounds):
    """[{name: seconds}, ...] of each side, the rounds that counted, and all rounds. Every other round begins with the last
    side. A round that other work disturbed is taken again, at most as often as there are rounds; if too many were, they
    count, and that is said."""
    pids = [pid for side in sides for pid in side.processes()]

    def now():
        return time.monotonic(), busy_seconds(), own_seconds(pids)

    kept, disturbed = [], []
    while len(kept) < rounds and len(kept) + len(disturbed) < 2 * rounds:
        order = list(range(len(sides)))
        if (len(kept) + len(disturbed)) % 2:
            order.reverse()
        before, found = now(), [None] * len(sides)
        for side in order:
            found[side] = sides[side].measure()
        (disturbed if is_disturbed(before, now(), pids) else kept).append(found)
    counted = kept if len(kept) >= 2 or len(kept) == rounds else kept + disturbed
    return [[found[side] for found in counted] for side in range(len(sides))], len(kept), len(kept) + len(disturbed)


def quartiles(values):
    """Lower quartile, median, upper quartile."""
    if len(values) < 2:
        return [values[0]] * 3
    return statistics.quantiles(values, n=4, method="inclusive")
