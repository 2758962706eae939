# SPDX-License-Identifier: Apache-2.0
"""terminal.py ROTARY: what training shows on a terminal: one line, drawn anew in place, that fits and is gone at the end."""
import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios

from oracle_support import check, report, rotary

steps = 400
settings = dict(hidden_size=16, num_attention_heads=2, num_key_value_heads=2, num_hidden_layers=1, intermediate_size=32,
                sequence_length=64, batch_size=2, problems=4, validation_sequences=2, evaluate_every=200)
anew = "\r\033[K"


def shown_by(columns, kind, arguments):
    """All that the program writes to a terminal of that many columns."""
    try:
        screen, slave = pty.openpty()
    except OSError as error:
        print(f"skipped: no terminal is to be had ({error})")
        sys.exit(77)
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    run = subprocess.Popen([rotary, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=slave,
                           env={**os.environ, "TERM": kind})
    os.close(slave)
    text = b""
    while True:
        try:
            some = os.read(screen, 65536)
        except OSError:  # nobody writes there any more
            break
        if not some:
            break
        text += some
    check("it ends well", run.wait() == 0, run.returncode)
    os.close(screen)
    return text.decode().replace("\r\n", "\n")


def shown(columns, kind, command):
    """Likewise, of training with the settings above."""
    arguments = [*command, "--out", f"{command[0]}-{kind}-{columns}"]
    for name, value in settings.items():
        arguments += ["--set", f"{name}={value}"]
    return shown_by(columns, kind, arguments)


train = ["train", "index", "--steps", str(steps), "--seed", "7"]
for columns in (120, 70, 20):
    text = shown(columns, "xterm", train)
    drawn = text.split(anew)
    check("nothing is printed before the first bar", drawn[0] == "", drawn[0])
    bars = 0
    for part in drawn[1:]:
        if part == "" or "\n" in part:  # cleared for notes, or for the end
            for note in part.splitlines():
                check("a note is an evaluation", re.match(r"step \d+: .* of 4 correct, .* of tokens correct$", note), note)
            continue
        bars += 1
        check("a bar leaves the last column free", len(part) < columns, part)
        check("a bar has no more to control the terminal", part.isprintable(), part)
        found = re.match(r"(?:\[(#*)(\.*)\] )?(\d+)/(\d+)  loss \d", part)
        check("a bar says step and loss", found, part)
        if not found:
            continue
        check("its steps", int(found[4]) == steps and 1 <= int(found[3]) <= steps, part)
        check("it is drawn where it has room", (found[1] is not None) == (columns >= 70), part)
        if found[1] is not None:
            width = len(found[1] + found[2])
            check("it is as full as steps are done", len(found[1]) == int(int(found[3]) / steps * width), part)
            check("its width", 8 <= width <= 40, part)
    check("bars were seen", bars > 0, text)
    check("the last bar is gone at the end", drawn[-1] == "" or drawn[-1].endswith("\n"), drawn[-1])
    check("both evaluations are noted", len(re.findall("of tokens correct\n", text)) == 2, text)

text = shown(70, "dumb", train)
check("a terminal that cannot draw gets lines", "\033" not in text and "\r" not in text, text)
check("they say the steps", re.match(rf"step 1 of {steps}  loss ", text), text)

# Runs side by side: what they will take, then one line for all of them. A line is drawn ten times a second, so that both
# jobs are on one only if runs take longer than that.
longer = 4 * steps
settings["evaluate_every"] = longer // 2
beside = ["compare", "index", "--steps", str(longer), "--runs", "2", "--jobs", "2", "--threads", "2"]
takes = (rf"4 runs of {longer} steps to train, 2 at a time with 1 thread each: about \S+, \d+ MiB of memory each, "
         r"\d+ MiB together\n")
for columns in (120, 30):
    text = shown(columns, "xterm", beside)
    first, *drawn = text.split(anew)
    check("what it will take comes before the first line", re.search(takes + ".* verdict.*\n$", first), first)
    lines = [part for part in drawn if part and "\n" not in part]
    check("lines were seen", len(lines) > 0, text)
    check("they leave the last column free", all(len(line) < columns for line in lines), lines)
    whole = r"([0-4]) of 4 runs done  \d+s left((?:  (?:rope|roper), seed [12]: (?:100|[1-9]?\d)%){0,2})"
    found = [re.fullmatch(whole, line) for line in lines] if columns == 120 else []
    check("they say how many are done and what the others are at", all(found), lines)
    check("both jobs are seen", columns < 120 or any(match[2].count(":") == 2 for match in found), lines)
    done = [int(match[1]) for match in found]
    check("more and more are done", done == sorted(done), done)
    check("every evaluation is noted with its run",
          len(re.findall(r"(?:rope|roper), seed [12]: step \d+: .* of tokens correct\n", text)) == 8, text)
    check("the last line is gone at the end", drawn[-1] == "" or drawn[-1].endswith("\n"), drawn[-1])
text = shown(70, "dumb", beside)
check("elsewhere the lines name the runs", re.search(r"^0 of 4 runs done  \d+s left  rope", text, re.M), text)

# A tokenizer is trained in one go: the line says at what.
with open("text", "w") as file:
    file.write("a b a b\n" * 20)
words = ["tokenize", "train", "--type", "words", "--input", "text", "--model", "words.json"]
text = shown_by(70, "xterm", words)
check("it says what is read, and what is trained", text == anew + "reading text" + anew
      + "training a tokenizer (words) on 20 lines" + anew, text)
text = shown_by(20, "xterm", words)
check("it leaves the last column free", all(len(part) < 20 for part in text.split(anew)), text)
check("a terminal that cannot draw gets nothing", shown_by(70, "dumb", words) == "")
report()
