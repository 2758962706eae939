# SPDX-License-Identifier: Apache-2.0
"""Reads the folders that `rotary train` and `rotary compare` write: settings, losses, scores, weights.

Lines of metrics.jsonl are dictionaries; tables are pandas' and weights NumPy arrays by name. pandas and safetensors are
imported where they are needed (`pip install 'rotary[runs]'`). docs/reference/files.md describes the files. A path may
be, or go on below, an archive that `rotary report --archive` wrote: "results/books.tar.gz/rope-1".
"""
from __future__ import annotations

import errno
import functools
import gzip
import json
import os
import pathlib
import re
import tarfile
import typing
import zlib

import numpy

if typing.TYPE_CHECKING:
    import pandas

_FORMATS = {"config.json": 2, "compare.json": 3}  # of a run and of a comparison

Weights = dict[str, "numpy.ndarray[typing.Any, typing.Any]"]
Object = dict[str, typing.Any]


_MAX_BYTES, _MAX_FILES = 2**30, 100000  # of an archive, as the program has them


@functools.lru_cache(maxsize=4)
def _members(archive: pathlib.Path, size: int, changed: int) -> dict[str, bytes]:
    """The files of an archive by their paths below the folder that was packed. ValueError if it is damaged."""
    del size, changed  # they are part of the key: a file that was replaced is read again
    files: dict[str, bytes] = {}
    left = _MAX_BYTES
    try:
        with tarfile.open(archive) as tar:
            for member in tar:
                if not member.isfile():
                    continue
                left -= member.size
                if left < 0 or len(files) >= _MAX_FILES:
                    raise ValueError(f"{archive} holds more than {_MAX_FILES} files or {_MAX_BYTES} bytes")
                file = tar.extractfile(member)
                files[os.path.normpath(member.name)] = file.read() if file else b""
            while tar.fileobj and tar.fileobj.read(2**20):  # to the checksum at the end
                pass
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile) as error:
        fault = str(error).partition("\n")[0]
        raise ValueError(f"{archive} is not an archive of runs, or it is damaged: {fault}") from None
    first = {name.partition("/")[0] for name in files}
    packed = first.pop() + "/" if len(first) == 1 else ""
    inside = all(name.startswith(packed) for name in files)
    return {name[len(packed):]: data for name, data in files.items()} if inside else files


def _in_archive(path: pathlib.Path) -> tuple[dict[str, bytes], str] | None:
    """The archive that the path goes on below, and its name in it; None: the path is one of the file system."""
    for archive in path.parents:
        if archive.is_file():
            about = archive.stat()
            return _members(archive, about.st_size, about.st_mtime_ns), path.relative_to(archive).as_posix()
        if archive.exists():
            break
    return None


def _read_bytes(path: pathlib.Path) -> bytes:
    found = _in_archive(path)
    if not found:
        return path.read_bytes()
    if found[1] not in found[0]:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
    return found[0][found[1]]


def _exists(path: pathlib.Path) -> bool:
    found = _in_archive(path)
    return found[1] in found[0] if found else path.exists()


def _read_object(path: pathlib.Path) -> Object:
    """A JSON object in a format that this reader knows. OSError if the file cannot be read, else ValueError."""
    data = _read_bytes(path)
    try:
        value = json.loads(data.decode("utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise ValueError(f"{path} is {type(value).__name__}, wanted an object")
    wanted = _FORMATS[path.name]
    if value.get("format") != wanted:
        raise ValueError(f"{path} has format {value.get('format')}, wanted {wanted}")
    return value


_MEMBER = re.compile(rb',"checksum":"([0-9a-f]{16})"}\Z')


def _checksum(data: bytes) -> str:
    """The checksum of src/file/checksum/checksum.h."""
    mask = 2**64 - 1

    def mix(lane: int, word: int) -> int:
        lane = (lane ^ word) * 0x9E3779B97F4A7C15 & mask
        return lane ^ lane >> 32

    lanes = [1, 2, 3, 4]
    words = numpy.frombuffer(data + bytes(-len(data) % 32), "<u8").tolist()
    for place, word in enumerate(words):
        lanes[place % 4] = mix(lanes[place % 4], word)
    result = len(data)
    for lane in lanes:
        result = mix(result, lane)
    return f"{mix(result, 0):016x}"


def _read_line(text: bytes) -> Object | None:
    """A line of metrics without its checksum, which must match where there is one. None: it is no such line."""
    found = _MEMBER.search(text)
    try:
        value = json.loads(text)
    except ValueError:
        return None
    if not isinstance(value, dict) or "step" not in value:
        return None
    if "checksum" in value and (not found or found[1].decode() != _checksum(text[:found.start()])):
        return None
    value.pop("checksum", None)
    return value


def _flat(object: Object, prefix: str = "") -> Object:
    """Nested objects as columns: {"test": {"loss": 1}} is {"test.loss": 1}."""
    columns: Object = {}
    for key, value in object.items():
        columns.update(_flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key: value})
    return columns


class Run:
    """The folder of one run, which may still be trained: `config` is read at once, the rest when asked for."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = pathlib.Path(folder)
        self.config: Object = _read_object(self.folder / "config.json")

    def __repr__(self) -> str:
        return f"Run({str(self.folder)!r})"

    def lines(self) -> list[Object]:
        """The lines of metrics.jsonl, without their checksums; one that is just being written is left out."""
        path = self.folder / "metrics.jsonl"
        text = _read_bytes(path)
        lines = []
        for number, line in enumerate(text.split(b"\n")[:-1], 1):
            value = _read_line(line)
            if value is None:
                raise ValueError(f"{path}, line {number}: not a line of metrics, or not as the run wrote it")
            lines.append(value)
        return lines

    @property
    def diverged(self) -> str | None:
        """What became infinite or NaN, where that ended the run."""
        return next((str(line["diverged"]) for line in self.lines() if "diverged" in line), None)

    def losses(self) -> pandas.DataFrame:
        """A row for every logged step: step, loss, learning_rate, gradient_norm, tokens_per_second."""
        import pandas
        return pandas.DataFrame([line for line in self.lines() if "loss" in line])

    def evaluations(self) -> pandas.DataFrame:
        """A row for every evaluation: step, and its numbers by name: loss (of validation), accuracy, correct, ..."""
        import pandas
        return pandas.DataFrame([{"step": line["step"], **_flat(line["evaluation"])} for line in self.lines()
                                 if "evaluation" in line])

    def weights(self, checkpoint: str = "model") -> Weights:
        """The tensors of `checkpoint`.safetensors by name: "model", "best", "average" or "optimizer"; archives have
        none."""
        from safetensors.numpy import load_file
        return typing.cast(Weights, load_file(self.folder / f"{checkpoint}.safetensors"))

    def metadata(self, checkpoint: str = "model") -> dict[str, str]:
        """The metadata of that file: step, task, seed, configuration and others."""
        from safetensors import safe_open
        with safe_open(self.folder / f"{checkpoint}.safetensors", framework="numpy") as file:
            return dict(file.metadata() or {})


class Comparison:
    """The folder of a comparison, or its archive: arms × seeds. Runs that have not begun are left out.

    arms        the names of the arms, the baseline first
    seeds       in the order in which they were added
    runs        the Run of each (arm, seed) that has begun
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = pathlib.Path(folder)
        path = self.folder / "compare.json"
        self.file: Object = _read_object(path)
        try:
            self.arms: list[str] = [str(arm["name"]) for arm in self.file["arms"]]
            self.seeds: list[int] = [int(seed) for seed in self.file["seeds"]]
        except (KeyError, TypeError, ValueError):
            raise ValueError(f'{path} has no "arms" with a "name", or no "seeds"') from None
        self.runs: dict[tuple[str, int], Run] = {
            (arm, seed): Run(self.folder / f"{arm}-{seed}") for arm in self.arms for seed in self.seeds
            if _exists(self.folder / f"{arm}-{seed}" / "metrics.jsonl")}

    def __repr__(self) -> str:
        return f"Comparison({str(self.folder)!r})"

    def losses(self) -> pandas.DataFrame:
        """Run.losses of all runs, with the columns arm and seed before them."""
        return self._table(Run.losses)

    def evaluations(self) -> pandas.DataFrame:
        """Run.evaluations of all runs, with the columns arm and seed before them."""
        return self._table(Run.evaluations)

    def differences(self, measure: str = "loss", baseline: str | None = None) -> pandas.DataFrame:
        """`measure` of the evaluations minus that of the baseline with the same seed at the same step, for the other
        arms: arm, seed, step, difference. Pairs of which one is missing are left out."""
        table = self.evaluations()[["arm", "seed", "step", measure]]
        baseline = self.arms[0] if baseline is None else baseline
        if baseline not in self.arms:
            raise ValueError(f"the baseline is {baseline!r}, wanted one of {', '.join(self.arms)}")
        pairs = table[table.arm != baseline].merge(table[table.arm == baseline], on=["seed", "step"])
        pairs = pairs.rename(columns={"arm_x": "arm"})
        pairs["difference"] = pairs[f"{measure}_x"] - pairs[f"{measure}_y"]
        return pairs[["arm", "seed", "step", "difference"]]

    def _table(self, rows: typing.Callable[[Run], pandas.DataFrame]) -> pandas.DataFrame:
        import pandas
        tables = []
        for (arm, seed), run in self.runs.items():
            table = rows(run)
            table.insert(0, "arm", arm)
            table.insert(1, "seed", seed)
            tables.append(table)
        return pandas.concat(tables, ignore_index=True) if tables else pandas.DataFrame()
