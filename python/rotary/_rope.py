# SPDX-License-Identifier: Apache-2.0
"""Rotary position embeddings: a plan of the library as an immutable object, and the rotation of NumPy arrays."""
from __future__ import annotations

import ctypes
import dataclasses
import json
import operator
import typing
import weakref

import numpy

from . import _abi, _arrays
from ._arrays import Array
from ._config import LISTS, Config, arguments, read, struct

Role = typing.Literal["query", "key", "value"]
Direction = typing.Literal["forward", "inverse", "transpose"]


@dataclasses.dataclass(frozen=True, repr=False)
class Rope:
    """A rotation: which pairs of channels are rotated, by which frequencies (rotary_rope_config in rope.h).

    What is not given has the library's default: all channels in half-split pairs, base 10000, no scaling. With a
    rotary_dim of 0 nothing rotates, which only Python has: in the library 0 is the default. Immutable, hashable and
    picklable; any number of threads may use one. Raises InvalidArgumentError for what cannot be, and for what nothing
    would read, such as a factor without a scaling.
    """
    head_dim: int
    rotary_dim: int | None = None
    rotary_start: int | None = None
    pairing: typing.Literal["half", "interleaved"] = "half"
    base: float | None = None
    angles_f32: bool | None = None
    table_positions: int | None = None
    scaling: typing.Literal["none", "linear", "ntk", "dynamic", "yarn", "longrope", "llama3", "proportional"] = "none"
    compat: typing.Literal["none", "huggingface", "ggml", "vllm"] = "none"
    factor: float | None = None
    original_positions: int | None = None
    max_positions: int | None = None
    sequence_length: int | None = None
    attention_factor: float | None = None
    beta_fast: float | None = None
    beta_slow: float | None = None
    mscale: float | None = None
    mscale_all_dim: float | None = None
    truncate: bool | None = None
    low_frequency_factor: float | None = None
    high_frequency_factor: float | None = None
    short_factors: typing.Sequence[float] | None = None
    long_factors: typing.Sequence[float] | None = None
    short_attention_factor: float | None = None
    long_attention_factor: float | None = None
    rotary_fraction: float | None = None
    pair_factors: typing.Sequence[float] | None = None
    inverse_frequencies: typing.Sequence[float] | None = None
    xpos_scale: float | None = None
    xpos_origin: float | None = None
    axes: typing.Literal["one", "sections", "interleaved", "separate"] = "one"
    sections: typing.Sequence[int] | None = None
    table_dtype: typing.Literal["float32", "float16", "bfloat16"] = "float32"
    threads: int = 0
    isa: typing.Literal["auto", "scalar", "neon", "avx2", "avx512", "avx512bf16", "amx"] = "auto"

    def __post_init__(self) -> None:
        for name in (*LISTS, "sections"):
            values = getattr(self, name)
            if values is not None:
                object.__setattr__(self, name, tuple(values))
        if self.rotary_fraction == 0:  # the library's default, of which all channels rotate
            raise ValueError("rotary_fraction is 0, wanted a share above 0; rotary_dim=0 rotates none")
        config = struct(vars(self))
        is_empty = self.rotary_dim == 0
        plan = self._create(self._checker(config) if is_empty else config)
        object.__setattr__(self, "_plan", plan)
        object.__setattr__(self, "_handle", None if is_empty else plan)
        given = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)
                 if getattr(self, field.name) != field.default}
        # The configuration as text: what a custom operator of PyTorch gets, and pickle.
        object.__setattr__(self, "key", json.dumps(given, sort_keys=True, default=operator.methodcaller("item")))

    def _create(self, config: _abi.RopeConfig) -> ctypes.c_void_p:
        handle = ctypes.c_void_p()
        _abi.call("rotary_rope_create", ctypes.byref(handle), ctypes.byref(config))
        weakref.finalize(self, _abi.library.rotary_rope_destroy, handle)
        return handle

    def _checker(self, config: _abi.RopeConfig) -> _abi.RopeConfig:
        """The configuration with two channels, since the library has no plan that rotates none: this one makes the
        checks of a call. What would change angles, magnitudes or the softmax has nothing to change."""
        if self.head_dim < 1:
            raise _abi.InvalidArgumentError(f"head_dim is {self.head_dim}; wanted at least 1")
        if not 0 <= (self.rotary_start or 0) <= self.head_dim:
            raise _abi.InvalidArgumentError(f"rotary_start is {self.rotary_start}; wanted 0 ... {self.head_dim}")
        for name in ("scaling", "axes", "attention_factor", "xpos_scale"):
            if getattr(self, name) not in (None, 0, "none", "one"):
                raise _abi.InvalidArgumentError(f"{name} is {getattr(self, name)} with a rotary_dim of 0, by which "
                                                "nothing rotates: leave it out")
        config.head_dim, config.rotary_dim, config.rotary_start = max(self.head_dim, 2), 2, 0
        config.table_positions = min(config.table_positions, 0)  # the table would not be read
        for name in LISTS:  # they have no number
            setattr(config, name, None)
        return config

    def __repr__(self) -> str:
        """What differs from the defaults."""
        given = (f"{field.name}={getattr(self, field.name)!r}" for field in dataclasses.fields(self)
                 if getattr(self, field.name) != field.default)
        return f"Rope({', '.join(given)})"

    def __reduce__(self) -> tuple[typing.Any, ...]:
        return Rope.from_key, (self.key,)

    if typing.TYPE_CHECKING:
        _handle: ctypes.c_void_p | None = dataclasses.field(init=False)  # None: nothing rotates
        _plan: ctypes.c_void_p = dataclasses.field(init=False)  # the same, or what checks calls
        key: str = dataclasses.field(init=False)

    @staticmethod
    def from_key(key: str) -> Rope:
        """The rotation whose `key` this is."""
        return Rope(**json.loads(key))

    @staticmethod
    def from_config(config: Config, layer_type: str | None = None, *, ignore: typing.Iterable[str] = (),
                    **settings: typing.Any) -> Rope:
        """The rotation that a config.json of Hugging Face describes: its path or its content. `layer_type` names one
        of the objects where rope_parameters has several. Keys to `ignore` are read as if they were not there.
        `settings` are arguments of Rope, which override. What the file says and nothing reads beside them is left out.

        InvalidArgumentError for a rotation that the program's reader does not know or no Rope has; a UserWarning where
        nothing is known of the model's type; UnsupportedError where the package was built without the reader.
        """
        of_file = read(config, layer_type, ignore, settings.get("compat") or "none")
        plan = struct({**of_file, **settings})
        _abi.library.rotary_rope_config_drop_unread_sized(ctypes.byref(plan), ctypes.sizeof(plan))
        kept = arguments(plan)
        return Rope(**{**{name: value for name, value in of_file.items() if name in kept}, **settings})

    # ---- properties ----

    @property
    def frequencies(self) -> Array:
        """The inverse frequencies after scaling, [pairs], in radians per position, in double precision."""
        if self._handle is None:
            return numpy.zeros(0)
        pairs = _abi.library.rotary_rope_pairs(self._handle)
        pointer = _abi.library.rotary_rope_inverse_frequencies(self._handle)
        return numpy.ctypeslib.as_array(pointer, (pairs,)).copy()

    @property
    def magnitude(self) -> float:
        """What cosines and sines of queries and keys are multiplied by: the attention factor in force."""
        return float(_abi.library.rotary_rope_attention_factor(self._handle)) if self._handle else 1.0

    @property
    def softmax_factor(self) -> float:
        """What the model also multiplies its softmax scale by (DeepSeek's YaRN); attention does not apply it."""
        return float(_abi.library.rotary_rope_softmax_factor(self._handle)) if self._handle else 1.0

    @property
    def position_axes(self) -> int:
        """How many numbers a position has."""
        return int(_abi.library.rotary_rope_axes(self._handle)) if self._handle else 1

    # ---- rotation ----

    def apply(self, x: Array, *, positions: typing.Any = None, offset: int = 0, offsets: typing.Any = None,
              starts: typing.Any = None, role: Role = "query", direction: Direction = "forward",
              out: Array | None = None) -> Array:
        """Rotates x, [time, channels], [time, heads, channels] or [batch, time, heads, channels], in f32, f16 or bf16.

        A token is at its entry of `positions`, or at its index, plus `offset`, plus that of its sequence in `offsets`.
        `positions` are [time] or [batch, time], with several axes [axes, time] or [axes, batch, time]; i64, i32 or
        f32. `starts`, [sequences + 1], are those of packed sequences (cu_seqlens). `role` matters where queries and
        keys have magnitudes, which values never have. Strides are passed on; channels are contiguous. Writes to `out`
        and returns it, which may be x itself or have another type, else to a new array. The error bound is that of
        rotary_rope_apply.
        """
        source = _arrays.tensor("x", x)
        result: Array = numpy.empty(x.shape, x.dtype) if out is None else out
        if result.shape != x.shape:
            raise ValueError(f"out is {list(result.shape)}, wanted {list(x.shape)}")
        if out is not None:
            _arrays.separate("out", out, [x], in_place=True)
        self.rotate(source, _arrays.tensor("out", result, writable=True), role=role, direction=direction,
                    positions=positions, offset=offset, offsets=offsets, starts=starts)
        return result

    def inverse(self, x: Array, *, positions: typing.Any = None, offset: int = 0, offsets: typing.Any = None,
                starts: typing.Any = None, role: Role = "query", out: Array | None = None) -> Array:
        """The inverse rotation, which also divides by magnitudes: inverse(apply(x)) is x but for rounding."""
        return self.apply(x, positions=positions, offset=offset, offsets=offsets, starts=starts, role=role,
                          direction="inverse", out=out)

    def rotate(self, source: _arrays.Tensor, target: _arrays.Tensor, *, role: str, direction: str,
               positions: typing.Any = None, offset: int = 0, offsets: typing.Any = None,
               starts: typing.Any = None) -> None:
        """apply for memory that is described: arrays and tensors of any library."""
        batch, time, heads, channels = source.shape
        if channels != self.head_dim:
            raise ValueError(f"x has {channels} channels, wanted head_dim, {self.head_dim}")
        if role not in ("query", "key", "value"):
            raise ValueError(f"role is {role!r}, wanted query, key or value")
        places = _abi.RopePositions(offset=_abi.whole("offset", offset))
        kept = [self._place_tokens(places, positions, batch, time)]
        if offsets is not None:
            sequences = batch if starts is None else len(starts) - 1
            kept.append(_arrays.vector("offsets", offsets, "int64", (sequences,)))
            places.offsets = kept[-1].ctypes.data
        if starts is not None:
            kept.append(_arrays.vector("starts", starts, "int32", (len(starts),)))
            places.starts, places.sequences = kept[-1].ctypes.data, len(starts) - 1
        call = _abi.RopeApplyCall(batch=batch, time=time, positions=places,
                                  direction=_abi.code(_abi.DIRECTIONS, "direction", direction))
        if self._handle is None:
            _abi.call("rotary_rope_apply", self._plan, ctypes.byref(call))  # without a tensor it only checks
            _arrays.check_overlap("out", target)
            _arrays.copy(source, target)
            return
        setattr(call, role, _abi.RopeTensor(heads=heads, input=source.rope_view(), output=target.rope_view()))
        _abi.call("rotary_rope_apply", self._handle, ctypes.byref(call))

    def _place_tokens(self, places: _abi.RopePositions, positions: typing.Any, batch: int, time: int) -> Array:
        """Fills in an array of positions, and returns it, because it must live until the call is done."""
        if positions is None:
            return numpy.empty(0)
        array = numpy.asarray(positions)
        if array.dtype.name not in _abi.POSITION_TYPES:
            raise TypeError(f"positions are {array.dtype.name}, wanted {', '.join(_abi.POSITION_TYPES)}")
        axes = self.position_axes
        wanted = [(time,), (batch, time)] if axes == 1 else [(time,), (axes, time), (axes, batch, time)]
        if array.shape not in wanted:
            shapes = " or ".join(str(list(shape)) for shape in wanted)
            raise ValueError(f"positions are {list(array.shape)}, wanted {shapes}")
        array = _arrays.native(array, array.dtype.newbyteorder("="))
        places.array, places.array_type = array.ctypes.data, _abi.POSITION_TYPES[array.dtype.name]
        has_axes, has_batch = axes > 1 and array.ndim > 1, array.ndim == (3 if axes > 1 else 2)
        places.array_batch_stride = time if has_batch else 0
        places.array_axis_stride = (time * batch if has_batch else time) if has_axes else 0
        return array
