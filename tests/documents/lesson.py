# SPDX-License-Identifier: Apache-2.0
"""Follows a tutorial literally, in an empty folder: makes the files, runs the commands, compares what is printed.

A paragraph that ends with "`NAME`:" above a block of code says that the block is the file NAME. A block of sh is run. A
block without a language below it is what the commands print:

- White space is compared as one space. A line of three dots stands for any lines, three dots at a line's end for its
  rest.
- Durations and sizes in MiB are whatever they are.
- Of commands that train or read what was trained, a number with a point may be off by half of it or by 0.1: losses
  depend on the processor. Their words, and whole numbers, are compared exactly.
- Below a paragraph that ends with "something like:", anything may be printed, but not nothing.
"""
import os
import re
import subprocess
import sys
from dataclasses import dataclass

TRAINED = re.compile(r"\brotary (compare|train|evaluate|report)\b")
NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?![\w.]*\w)")
CHANGING = re.compile(r"\b\d+ MiB\b|\b(?:\d+[hm])*\d+(?:\.\d+)? ?s\b")


@dataclass
class Block:
    line: int
    language: str
    text: str
    before: str  # the paragraph above it


class Wrong(Exception):
    pass


def blocks(text):
    """The blocks of code of a page, in order."""
    paragraph, ended, inside = "", True, None
    for number, line in enumerate(text.splitlines(), 1):
        if inside is not None and line == "```":
            yield inside
            paragraph, inside = "", None
        elif inside is not None:
            inside.text += line + "\n"
        elif line.startswith("```"):
            inside = Block(number, line[3:], "", paragraph)
        elif line == "":
            ended = True
        else:
            paragraph = line if ended else paragraph + " " + line
            ended = False
    if inside is not None:
        raise Wrong(f"the block of line {inside.line} does not end")


def matches_number(shown, printed):
    if "." not in shown and "e" not in shown:
        return shown == printed
    want, got = float(shown), float(printed)
    return abs(got - want) <= max(0.5 * abs(want), 0.1)


def matches_line(shown, printed, loosely):
    shown, printed = (" ".join(CHANGING.sub("_", line.replace("\u2212", "-")).split()) for line in (shown, printed))
    if shown.endswith("..."):
        shown, cut = shown[:-3].split(), shown[-4:-3] != " "
        printed = printed.split()[: len(shown)]
        if cut and len(printed) == len(shown):
            printed[-1] = printed[-1][: len(shown[-1])]
        shown, printed = " ".join(shown), " ".join(printed)
    if not loosely:
        return shown == printed
    numbers = NUMBER.findall(shown), NUMBER.findall(printed)
    if NUMBER.sub("0", shown) != NUMBER.sub("0", printed):
        return False
    return all(matches_number(a, b) for a, b in zip(*numbers))


def matches(shown, printed, loosely):
    """Whether the lines are those shown, in which "..." stands for any."""
    if not shown:
        return not printed
    if shown[0] == "...":
        return any(matches(shown[1:], printed[start:], loosely) for start in range(len(printed) + 1))
    return bool(printed) and matches_line(shown[0], printed[0], loosely) and matches(shown[1:], printed[1:], loosely)


def lines_of(text):
    return [line.strip() for line in text.splitlines() if line.strip()]


def follow(page, folder, environment):
    """Raises Wrong where the page says something that is not so."""
    command = printed = None
    ran = 0
    with open(page, encoding="utf-8") as file:
        text = file.read()
    for block in blocks(text):
        at = f"{os.path.basename(page)}, line {block.line}"
        name = re.search(r"`([\w.-]+)`:$", block.before)
        if name:
            with open(os.path.join(folder, name.group(1)), "w", encoding="utf-8") as file:
                file.write(block.text)
        elif block.language == "sh":
            command = block.text
            done = subprocess.run(["sh", "-e", "-c", command], cwd=folder, env=environment, text=True, timeout=500,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            printed = done.stdout
            ran += 1
            if done.returncode != 0 and "refused" not in block.before:
                raise Wrong(f"{at}: it ends with {done.returncode}:\n{command}{printed}")
            if done.returncode == 0 and "refused" in block.before:
                raise Wrong(f"{at}: it is not refused:\n{command}{printed}")
        elif block.language == "" and command is not None:
            like = block.before.endswith("something like:")
            if like and not printed.strip() or not like and not matches(
                    lines_of(block.text), lines_of(printed), bool(TRAINED.search(command))):
                raise Wrong(f"{at}: it prints\n{printed}where the page has\n{block.text}")
        else:
            raise Wrong(f"{at}: a block that is no file, no command and nothing that is printed")
    if ran == 0:
        raise Wrong(f"{page} has no command")
    for target in re.findall(r"`(runs/[\w./-]+)`", text):
        if not os.path.exists(os.path.join(folder, target)):
            raise Wrong(f"{page} speaks of {target}, which is not there")


if __name__ == "__main__":
    try:
        follow(sys.argv[1], sys.argv[2], dict(os.environ))
    except Wrong as wrong:
        sys.exit(str(wrong))
