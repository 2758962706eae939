# SPDX-License-Identifier: Apache-2.0
"""What the oracle's tests share: running the program in a folder of its own, and comparing."""
import json
import os
import struct
import subprocess
import sys
import tempfile
import zlib

import numpy as np

rotary = os.path.realpath(sys.argv[1])
source = os.environ.get("ROTARY_SOURCE_DIR", os.path.join(os.path.dirname(__file__), "../.."))
compared = 0
failures = 0
_folder = tempfile.TemporaryDirectory()
os.chdir(_folder.name)
os.environ.pop("ROTARY_ISA", None)


def run(*arguments):
    return subprocess.run([rotary, *map(str, arguments)], capture_output=True, text=True, timeout=60)


def check(about, holds, more=""):
    global compared, failures
    compared += 1
    if not holds:
        failures += 1
        print(f"FAILED: {about} {more}")
    return holds


def near(about, got, wanted, bound):
    """Every number within `bound` (a number or an array) of what is wanted; a NaN anywhere fails."""
    got, wanted = np.asarray(got, np.float64), np.asarray(wanted, np.float64)
    if not check(about, got.shape == wanted.shape, f"shape {got.shape}, wanted {wanted.shape}"):
        return
    error = np.abs(got - wanted)
    check(about, bool((error <= bound).all()), f"is off by {np.max(error)}")


def result(*arguments):
    """The JSON object that the command prints; None, and a failure, if it fails."""
    done = run(*arguments)
    if check(f"rotary {' '.join(map(str, arguments))}", done.returncode == 0 and done.stderr == "", done.stderr):
        return json.loads(done.stdout)
    return None


def config(content, name="config.json"):
    with open(name, "w") as file:
        json.dump(content, file)
    return name


def array(name, values):
    np.save(name, np.ascontiguousarray(values))
    return name


def write_safetensors(name, tensors, metadata):
    header, data = {"__metadata__": metadata}, b""
    for key, (kind, shape, content) in tensors.items():
        header[key] = {"dtype": kind, "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(name, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def read_safetensors(name):
    with open(name, "rb") as file:
        content = file.read()
    (length,) = struct.unpack("<Q", content[:8])
    header, data = json.loads(content[8:8 + length]), content[8 + length:]
    metadata = header.pop("__metadata__")
    return {key: (x["dtype"], x["shape"], data[slice(*x["data_offsets"])]) for key, x in header.items()}, metadata


def _content():
    return zlib.crc32(b"".join(open(name, "rb").read() for name in sorted(os.listdir(".")) if os.path.isfile(name)))


def refuses(status, text, *arguments):
    """Exit status and one line that says `text`; no file changes."""
    before = _content()
    done = run(*arguments)
    about = f"rotary {' '.join(map(str, arguments))}"
    check(about, done.returncode == status, f"exits {done.returncode}, wanted {status}")
    check(about, done.stdout == "", "prints results")
    lines = done.stderr.splitlines()
    check(about, bool(lines) and lines[0].startswith("rotary: ") and text in lines[0], done.stderr)
    check(about, len(lines) == 1 if status == 1 else len(lines) >= 2, done.stderr)
    check(about, before == _content(), "changes files")


def report():
    print(f"{compared} comparisons, {failures} failures")
    sys.exit(1 if failures or not compared else 0)
