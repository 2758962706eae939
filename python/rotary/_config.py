# SPDX-License-Identifier: Apache-2.0
"""Arguments of Rope: as the struct of the library, and from a config.json by the program's reader, librotary_config."""
from __future__ import annotations

import ctypes
import json
import os
import pathlib
import typing
import warnings

from . import _abi

Config: typing.TypeAlias = typing.Union[typing.Mapping[str, typing.Any], str, os.PathLike[str]]

_ENUMERATIONS = {"pairing": _abi.PAIRINGS, "isa": _abi.ISAS, "scaling": _abi.SCALINGS, "compat": _abi.COMPATS,
                 "axes": _abi.AXES, "table_dtype": _abi.DTYPES}
LISTS = ("short_factors", "long_factors", "pair_factors", "inverse_frequencies")
_OF_CALLER = ("struct_size", "compat", "threads", "isa", "table_positions")  # a file says nothing about them


# ---- arguments of Rope as the library's struct, and back ----

def _list(name: str, values: typing.Sequence[float], settings: typing.Mapping[str, typing.Any]) -> typing.Any:
    """A list with one number for each pair; the library cannot see how long it is."""
    rotary_dim = settings.get("rotary_dim")
    pairs = (settings["head_dim"] if rotary_dim is None else rotary_dim) // 2
    if len(values) != pairs:
        raise ValueError(f"{name} has {len(values)} entries, wanted {pairs}, one for each pair")
    return (ctypes.c_double * pairs)(*values)


def struct(settings: typing.Mapping[str, typing.Any]) -> _abi.RopeConfig:
    """The configuration with these settings, of which None is the library's default."""
    config = _abi.RopeConfig()
    _abi.library.rotary_rope_config_default_sized(ctypes.byref(config), ctypes.sizeof(config))
    kinds: dict[str, typing.Any] = {name: kind for name, kind, *_ in _abi.RopeConfig._fields_}
    for name, value in settings.items():
        if value is None:
            continue
        if name in _ENUMERATIONS:
            setattr(config, name, _abi.code(_ENUMERATIONS[name], name, value))
        elif name in LISTS:
            setattr(config, name, _list(name, value, settings))
        elif name == "sections":
            if len(value) > _abi.MAX_AXES:
                raise ValueError(f"sections has {len(value)} entries, wanted at most {_abi.MAX_AXES}")
            config.sections = (ctypes.c_int64 * _abi.MAX_AXES)(*(_abi.whole(name, pairs) for pairs in value))
        elif kinds[name] in (ctypes.c_int64, ctypes.c_int):
            setattr(config, name, _abi.whole(name, value, kinds[name]))
        else:
            setattr(config, name, value)
    return config


def _argument(plan: _abi.RopeConfig, name: str) -> typing.Any:
    """A member of the plan as Rope has it."""
    value = getattr(plan, name)
    if name in _ENUMERATIONS:
        return next(key for key, code in _ENUMERATIONS[name].items() if code == value)
    if name == "sections":
        return [pairs for axis, pairs in enumerate(value) if any(value[axis:])]
    if isinstance(value, ctypes._Pointer):
        return value[:plan.rotary_dim // 2]
    return value


def arguments(plan: _abi.RopeConfig) -> dict[str, typing.Any]:
    """The members that differ from the library's defaults, by name."""
    default = _abi.RopeConfig()
    _abi.library.rotary_rope_config_default_sized(ctypes.byref(default), ctypes.sizeof(default))
    default.head_dim, default.rotary_dim = 0, plan.head_dim
    return {name: _argument(plan, name) for name, *_ in plan._fields_
            if name not in _OF_CALLER and _bytes(plan, name) != _bytes(default, name)}


def _bytes(plan: _abi.RopeConfig, name: str) -> bytes:
    member = getattr(_abi.RopeConfig, name)
    return bytes(plan)[member.offset:member.offset + member.size]


# ---- files ----

def _load(config: Config) -> tuple[str, bytes]:
    """What messages call it, and its content."""
    if isinstance(config, (str, os.PathLike)):
        path = pathlib.Path(config)
        path = path / "config.json" if path.is_dir() else path
        return str(path), path.read_bytes()
    if not isinstance(config, typing.Mapping):
        raise ValueError(f"the configuration is {type(config).__name__}, wanted an object")
    return "the configuration", json.dumps(config, allow_nan=False).encode()


def read(config: Config, layer_type: str | None = None, ignore: typing.Iterable[str] = (),
         compat: str = "none") -> dict[str, typing.Any]:
    """The arguments of Rope. ValueError, with the file's name, for what the reader does not know or no Rope has."""
    name, text = _load(config)
    keys = [key.encode() for key in ignore]
    source = _abi.ConfigSource(name=os.fsencode(name), text=text, bytes=len(text),
                               layer_type=None if layer_type is None else layer_type.encode(),
                               ignored=(ctypes.c_char_p * (len(keys) + 1))(*keys, None),
                               compat=_abi.code(_abi.COMPATS, "compat", compat))
    reader, rotation = _abi.config_library(), ctypes.c_void_p()
    _abi.call("rotary_config_rotation_create", ctypes.byref(rotation), ctypes.byref(source), of=reader)
    try:
        unknown = reader.rotary_config_rotation_unknown_type(rotation).decode("utf-8", "replace")
        if unknown:
            warnings.warn(f'{name}: nothing is known of "model_type" {unknown}, so that general defaults stand for its '
                          "own; ignore=[\"model_type\"] says that they are meant", stacklevel=3)
        return arguments(reader.rotary_config_rotation_plan(rotation).contents)
    finally:
        reader.rotary_config_rotation_destroy(rotation)
