# SPDX-License-Identifier: Apache-2.0
"""The sources of two commits, built beside each other, for scripts/compare-programs and scripts/compare-speed."""
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / "build" / "compare"
ENVIRONMENT = {**os.environ, "OMP_WAIT_POLICY": "passive"}  # runs go beside one another
for variable in ("ROTARY_ISA", "OMP_NUM_THREADS"):
    ENVIRONMENT.pop(variable, None)


def say(text):
    print(text, flush=True)


def die(text):
    print(f"{pathlib.Path(sys.argv[0]).name}: {text}", file=sys.stderr)
    sys.exit(1)


def run(*command, **options):
    try:
        return subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, env=ENVIRONMENT, check=False, **options)
    except FileNotFoundError:
        die(f"cannot run {command[0]}: it is not installed")


def build(what, *command):
    result = run(*command)
    if result.returncode:
        text = (result.stdout + result.stderr).decode(errors="replace")
        die(f"{what} cannot be built: {' '.join(map(str, command))}\n{text[-4000:]}")


def commit_of(name):
    result = run("git", "-C", ROOT, "rev-parse", "--verify", "--quiet", name + "^{commit}")
    if result.returncode:
        die(f"there is no commit {name}; this needs a git checkout with its history")
    return result.stdout.decode().strip()


def source_of(commit):
    """The folder of the sources at the commit, unpacked there at the first time; None: of the working tree."""
    if commit is None:
        return ROOT
    source = FOLDER / commit[:12]
    if not source.exists():
        unpacked = FOLDER / (commit[:12] + ".unpacked")
        shutil.rmtree(unpacked, ignore_errors=True)
        unpacked.mkdir(parents=True)
        archive = unpacked.with_suffix(".tar")
        build(commit, "git", "-C", ROOT, "archive", "--output", archive, commit)
        build(commit, "tar", "-xf", archive, "-C", unpacked)
        archive.unlink()
        unpacked.rename(source)
    return source
