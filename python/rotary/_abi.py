# SPDX-License-Identifier: Apache-2.0
"""The ABI of librotary for ctypes: structs, enumerations, functions, and errors as exceptions.

Structs and functions are those of include/rotary/, where each member is documented; tests/python/check_layout.py
compares the two with the compiler. ctypes releases the GIL while a function of the library runs.
"""
from __future__ import annotations

import ctypes
import functools
import operator
import os
import pathlib
import sys
import typing
from ctypes import POINTER, c_bool, c_char, c_char_p, c_double, c_float, c_int, c_int64, c_size_t, c_uint, c_uint32
from ctypes import c_uint64, c_void_p

ABI = "0.1"  # of the structs below: the soname's number (docs/reference/abi.md)

# ---- enumerations ----

DTYPES = {"float32": 0, "float16": 1, "bfloat16": 2}
ISAS = {"auto": 0, "scalar": 1, "neon": 2, "avx2": 3, "avx512": 4, "amx": 5, "avx512bf16": 6}
PAIRINGS = {"half": 0, "interleaved": 1}
SCALINGS = {"none": 0, "linear": 1, "ntk": 2, "dynamic": 3, "yarn": 4, "longrope": 5, "llama3": 6, "proportional": 7}
COMPATS = {"none": 0, "huggingface": 1, "ggml": 2, "vllm": 3}
AXES = {"one": 0, "sections": 1, "interleaved": 2, "separate": 3}
DIRECTIONS = {"forward": 0, "inverse": 1, "transpose": 2}
ROTATES = {"q": 1, "k": 2, "qk": 3, "v": 4, "qv": 5, "kv": 6, "qkv": 7, "o": 8, "qo": 9, "ko": 10, "qko": 11, "vo": 12,
           "qvo": 13, "kvo": 14, "qkvo": 15}  # sums of rotary_attention_rotate
POSITION_TYPES = {"int64": 0, "int32": 1, "float32": 2}
MAX_AXES = 4


def code(names: dict[str, int], member: str, name: str) -> int:
    """The value of an enumeration by its name; ValueError with the list of names for another."""
    if name not in names:
        raise ValueError(f"{member} is {name!r}, wanted one of {', '.join(names)}")
    return names[name]


def whole(name: str, value: typing.Any, kind: typing.Any = c_int64) -> int:
    """A whole number that the type holds; ctypes would cut a larger one off."""
    number = operator.index(value)
    if kind(number).value != number:
        raise ValueError(f"{name} is {value}, wanted a number of {8 * ctypes.sizeof(kind)} bits")
    return number


# ---- structs ----

class Struct(ctypes.Structure):
    """A struct of the ABI. One with a struct_size says its own."""

    def __init__(self, **members: typing.Any) -> None:
        super().__init__(**members)
        if hasattr(self, "struct_size"):
            self.struct_size = ctypes.sizeof(self)


class Error(Struct):
    _fields_ = [("status", c_int), ("message", c_char * 512)]


class RopeConfig(Struct):
    _fields_ = [
        ("struct_size", c_size_t), ("head_dim", c_int64), ("rotary_dim", c_int64), ("rotary_start", c_int64),
        ("pairing", c_int), ("base", c_double), ("angles_f32", c_bool), ("table_positions", c_int64),
        ("threads", c_int), ("isa", c_int), ("scaling", c_int), ("compat", c_int), ("factor", c_double),
        ("original_positions", c_int64), ("max_positions", c_int64), ("sequence_length", c_int64),
        ("attention_factor", c_double), ("beta_fast", c_double), ("beta_slow", c_double), ("mscale", c_double),
        ("mscale_all_dim", c_double), ("truncate", c_bool), ("low_frequency_factor", c_double),
        ("high_frequency_factor", c_double), ("short_factors", POINTER(c_double)), ("long_factors", POINTER(c_double)),
        ("rotary_fraction", c_double), ("pair_factors", POINTER(c_double)), ("inverse_frequencies", POINTER(c_double)),
        ("xpos_scale", c_double), ("xpos_origin", c_double), ("axes", c_int), ("sections", c_int64 * MAX_AXES),
        ("table_dtype", c_int), ("short_attention_factor", c_double), ("long_attention_factor", c_double),
        ("query_scale_beta", c_double), ("query_scale_length", c_double), ("query_scale_offset", c_double),
    ]


class RopePositions(Struct):
    _fields_ = [
        ("offset", c_int64), ("offsets", c_void_p), ("array", c_void_p), ("array_type", c_int),
        ("array_batch_stride", c_int64), ("array_axis_stride", c_int64), ("starts", c_void_p), ("sequences", c_int64),
    ]


class RopeView(Struct):
    """rotary_rope_view and rotary_rope_const_view."""
    _fields_ = [
        ("data", c_void_p), ("dtype", c_int), ("batch_stride", c_int64), ("time_stride", c_int64),
        ("head_stride", c_int64),
    ]


class RopeTensor(Struct):
    _fields_ = [("heads", c_int64), ("input", RopeView), ("output", RopeView)]


class RopeTables(Struct):
    _fields_ = [
        ("cosine", c_void_p), ("sine", c_void_p), ("dtype", c_int), ("per_token", c_bool), ("rows", c_int64),
        ("row_stride", c_int64), ("batch_stride", c_int64),
    ]


class RopeApplyCall(Struct):
    _fields_ = [
        ("struct_size", c_size_t), ("batch", c_int64), ("time", c_int64), ("direction", c_int),
        ("positions", RopePositions), ("tables", RopeTables), ("query", RopeTensor), ("key", RopeTensor),
        ("value", RopeTensor),
    ]


class AttentionConfig(Struct):
    _fields_ = [
        ("struct_size", c_size_t), ("heads", c_int64), ("key_value_heads", c_int64), ("head_dim", c_int64),
        ("dtype", c_int), ("scale", c_float), ("causal", c_bool), ("window", c_int64), ("softcap", c_float),
        ("rope", c_void_p), ("value_rope", c_void_p), ("threads", c_int), ("isa", c_int),
        ("key_is_value", c_bool), ("value_start", c_int64), ("value_channels", c_int64), ("rotate", c_uint),
    ]


class AttentionView(Struct):
    """rotary_attention_view and rotary_attention_const_view."""
    _fields_ = [("data", c_void_p), ("batch_stride", c_int64), ("time_stride", c_int64), ("head_stride", c_int64)]


class AttentionShape(Struct):
    _fields_ = [
        ("batch", c_int64), ("queries", c_int64), ("keys", c_int64), ("first_query", c_int64), ("first_key", c_int64),
    ]


class AttentionBias(Struct):
    _fields_ = [("data", c_void_p), ("batch_stride", c_int64), ("head_stride", c_int64), ("query_stride", c_int64)]


class AttentionDistanceBias(Struct):
    _fields_ = [
        ("data", c_void_p), ("distances", c_int64), ("first", c_int64), ("head_stride", c_int64),
        ("gradient", c_void_p),
    ]


class AttentionPiecewiseBias(Struct):
    _fields_ = [
        ("intercepts", c_void_p), ("slopes", c_void_p), ("knots", c_void_p), ("segments", c_int64),
        ("distance_inputs", c_void_p), ("distances", c_int64), ("first", c_int64), ("query_scales", c_void_p),
        ("positions", c_int64), ("intercept_gradient", c_void_p), ("slope_gradient", c_void_p),
        ("input_gradient", c_void_p), ("scale_gradient", c_void_p),
    ]


class AttentionDistanceVectors(Struct):
    _fields_ = [
        ("data", c_void_p), ("distances", c_int64), ("first", c_int64), ("head_stride", c_int64),
        ("distance_stride", c_int64), ("gradient", c_void_p),
    ]


class AttentionDropout(Struct):
    _fields_ = [
        ("probability", c_float), ("first_sequence", c_uint32), ("seed", c_uint64), ("step", c_uint32),
        ("site", c_uint32),
    ]


class AttentionPackedSequences(Struct):
    _fields_ = [("query_starts", c_void_p), ("key_starts", c_void_p), ("sequences", c_int64)]


class AttentionForwardCall(Struct):
    _fields_ = [
        ("struct_size", c_size_t), ("shape", AttentionShape), ("query", AttentionView), ("key", AttentionView),
        ("value", AttentionView), ("output", AttentionView), ("log_sum_exp", c_void_p), ("workspace", c_void_p),
        ("bias", AttentionBias), ("packed_sequences", AttentionPackedSequences), ("keys_rotated", c_bool),
        ("key_lengths", c_void_p), ("query_positions", c_void_p), ("key_positions", c_void_p),
        ("distance_bias", AttentionDistanceBias), ("dropout", AttentionDropout),
        ("distance_keys", AttentionDistanceVectors), ("query_bias", c_void_p),
        ("distance_queries", AttentionDistanceVectors), ("distance_values", AttentionDistanceVectors),
        ("piecewise_bias", AttentionPiecewiseBias), ("sinks", c_void_p),
    ]


class AttentionBackwardCall(Struct):
    _fields_ = [
        ("struct_size", c_size_t), ("shape", AttentionShape), ("query", AttentionView), ("key", AttentionView),
        ("value", AttentionView), ("output", AttentionView), ("output_gradient", AttentionView),
        ("log_sum_exp", c_void_p), ("query_gradient", AttentionView), ("key_gradient", AttentionView),
        ("value_gradient", AttentionView), ("workspace", c_void_p), ("bias", AttentionBias),
        ("packed_sequences", AttentionPackedSequences), ("key_lengths", c_void_p), ("query_positions", c_void_p),
        ("key_positions", c_void_p), ("distance_bias", AttentionDistanceBias), ("dropout", AttentionDropout),
        ("distance_keys", AttentionDistanceVectors), ("query_bias", c_void_p), ("query_bias_gradient", c_void_p),
        ("distance_queries", AttentionDistanceVectors), ("distance_values", AttentionDistanceVectors),
        ("piecewise_bias", AttentionPiecewiseBias), ("sinks", c_void_p), ("sinks_gradient", c_void_p),
    ]


class ConfigSource(Struct):
    """Of librotary_config (src/config_library/config_library.h)."""
    _fields_ = [
        ("name", c_char_p), ("text", c_char_p), ("bytes", c_size_t), ("layer_type", c_char_p),
        ("ignored", POINTER(c_char_p)), ("compat", c_int),
    ]


# ---- functions ----

FUNCTIONS: dict[str, tuple[typing.Any, list[typing.Any]]] = {
    "rotary_version": (c_char_p, []),
    "rotary_isa_best": (c_int, []),
    "rotary_rope_config_default_sized": (None, [POINTER(RopeConfig), c_size_t]),
    "rotary_rope_config_drop_unread_sized": (None, [POINTER(RopeConfig), c_size_t]),
    "rotary_rope_create": (c_int, [POINTER(c_void_p), POINTER(RopeConfig), POINTER(Error)]),
    "rotary_rope_destroy": (None, [c_void_p]),
    "rotary_rope_pairs": (c_int64, [c_void_p]),
    "rotary_rope_inverse_frequencies": (POINTER(c_double), [c_void_p]),
    "rotary_rope_attention_factor": (c_double, [c_void_p]),
    "rotary_rope_softmax_factor": (c_double, [c_void_p]),
    "rotary_rope_axes": (c_int, [c_void_p]),
    "rotary_rope_apply": (c_int, [c_void_p, POINTER(RopeApplyCall), POINTER(Error)]),
    "rotary_attention_config_default_sized": (None, [POINTER(AttentionConfig), c_size_t]),
    "rotary_attention_create": (c_int, [POINTER(c_void_p), POINTER(AttentionConfig), POINTER(Error)]),
    "rotary_attention_destroy": (None, [c_void_p]),
    "rotary_attention_forward_call_bytes": (c_size_t, [c_void_p, POINTER(AttentionForwardCall)]),
    "rotary_attention_forward": (c_int, [c_void_p, POINTER(AttentionForwardCall), POINTER(Error)]),
    "rotary_attention_backward_call_bytes": (c_size_t, [c_void_p, POINTER(AttentionBackwardCall)]),
    "rotary_attention_backward": (c_int, [c_void_p, POINTER(AttentionBackwardCall), POINTER(Error)]),
}

CONFIG_FUNCTIONS: dict[str, tuple[typing.Any, list[typing.Any]]] = {
    "rotary_config_rotation_create": (c_int, [POINTER(c_void_p), POINTER(ConfigSource), POINTER(Error)]),
    "rotary_config_rotation_plan": (POINTER(RopeConfig), [c_void_p]),
    "rotary_config_rotation_unknown_type": (c_char_p, [c_void_p]),
    "rotary_config_rotation_destroy": (None, [c_void_p]),
}


def packaged(name: str) -> pathlib.Path | None:
    """A file that the build puts into the package, which has a second folder where it is installed editable."""
    paths = (pathlib.Path(folder) / name for folder in sys.modules[__name__.rpartition(".")[0]].__path__)
    return next((path for path in paths if path.exists()), None)


def _declare(opened: ctypes.CDLL, path: str, functions: dict[str, tuple[typing.Any, list[typing.Any]]]) -> None:
    for name, (result, arguments) in functions.items():
        try:
            function = getattr(opened, name)
        except AttributeError:
            raise ImportError(f"{path} has no {name}, wanted librotary {ABI}") from None
        function.restype, function.argtypes = result, arguments


def _open() -> ctypes.CDLL:
    """The library that ROTARY_LIBRARY names, or that of the package, or an installed one."""
    path = os.environ.get("ROTARY_LIBRARY") or str(packaged("librotary.so") or f"librotary.so.{ABI}")
    try:
        opened = ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(f"librotary cannot be loaded: {error}") from error
    _declare(opened, path, FUNCTIONS)
    version = opened.rotary_version().decode()
    if not version.startswith(ABI + "."):
        raise ImportError(f"{path} is librotary {version}, wanted {ABI}")
    return opened


library = _open()


# ---- errors ----

class RotaryError(Exception):
    """A call of the library failed; the text says what was wrong, what was got and what was wanted."""


class InvalidArgumentError(RotaryError, ValueError):
    """A value, a shape or a combination of arguments is wrong."""


class OutOfMemoryError(RotaryError, MemoryError):
    """There is not enough memory."""


class UnsupportedError(RotaryError, NotImplementedError):
    """Not available on this machine or in this build."""


_EXCEPTIONS: dict[int, type[RotaryError]] = {1: InvalidArgumentError, 2: OutOfMemoryError, 4: InvalidArgumentError,
                                             5: UnsupportedError}


def call(name: str, *arguments: typing.Any, of: ctypes.CDLL = library) -> None:
    """Calls a function that returns a rotary_status and takes a rotary_error last; a failure is raised."""
    error = Error()
    status = getattr(of, name)(*arguments, ctypes.byref(error))
    if status != 0:
        raise _EXCEPTIONS.get(status, RotaryError)(error.message.decode("utf-8", "replace"))


# ---- librotary_config ----

@functools.lru_cache(maxsize=1)
def config_library() -> ctypes.CDLL:
    """The reader of configurations: beside the library that ROTARY_LIBRARY names, or in the package. UnsupportedError
    where the package was built without it."""
    beside = os.environ.get("ROTARY_LIBRARY")
    path = pathlib.Path(beside).with_name("librotary_config.so") if beside else packaged("librotary_config.so")
    if path is None or not path.exists():
        raise UnsupportedError(f"there is no {path or 'librotary_config.so in the package'}, which reads config.json: "
                               "it is built where oneDNN, jansson and libunistring are found (in Debian libdnnl-dev, "
                               "libjansson-dev, libunistring-dev)")
    opened = ctypes.CDLL(str(path))
    _declare(opened, str(path), CONFIG_FUNCTIONS)
    return opened
