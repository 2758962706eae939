# SPDX-License-Identifier: Apache-2.0
"""NumPy arrays as the library sees them: memory, type, and strides that count elements. Nothing is copied."""
from __future__ import annotations

import ctypes
import typing

import numpy
import numpy.typing

from . import _abi

Array = numpy.ndarray[typing.Any, typing.Any]


_MAX_WORK: typing.Any = 10000  # candidates to try; NumPy's annotations know fewer values than NumPy


class Tensor(typing.NamedTuple):
    """A tensor [batch, time, heads, channels] in memory that someone else owns."""
    pointer: int
    dtype: str
    shape: tuple[int, int, int, int]
    strides: tuple[int, int, int, int]

    def rope_view(self) -> _abi.RopeView:
        batch, time, heads, _ = self.strides
        return _abi.RopeView(data=self.pointer, dtype=_abi.DTYPES[self.dtype], batch_stride=batch, time_stride=time,
                             head_stride=heads)

    def attention_view(self) -> _abi.AttentionView:
        batch, time, heads, _ = self.strides
        return _abi.AttentionView(data=self.pointer, batch_stride=batch, time_stride=time, head_stride=heads)


def lift(name: str, pointer: int, dtype: str, shape: tuple[int, ...], strides: tuple[int, ...]) -> Tensor:
    """[time, channels] and [time, heads, channels] get the axes that they lack. Strides count elements."""
    if dtype not in _abi.DTYPES:
        raise TypeError(f"{name} is {dtype}, wanted {', '.join(_abi.DTYPES)}")
    if not 2 <= len(shape) <= 4:
        raise ValueError(f"{name} has {len(shape)} axes, wanted [time, channels], [time, heads, channels] or "
                         "[batch, time, heads, channels]")
    if 0 in shape:
        raise ValueError(f"{name} is {list(shape)}, wanted at least one element")
    if shape[-1] > 1 and strides[-1] != 1:
        raise ValueError(f"{name} has a stride of {strides[-1]} elements between channels, wanted contiguous channels")
    if len(shape) == 2:
        shape, strides = (shape[0], 1, shape[1]), (strides[0], 0, strides[1])
    if len(shape) == 3:
        shape, strides = (1, *shape), (0, *strides)
    return Tensor(pointer, dtype, typing.cast("tuple[int, int, int, int]", shape),
                  typing.cast("tuple[int, int, int, int]", strides))


def _array(described: Tensor) -> Array:
    """The memory as an array. Where NumPy has no bfloat16, that of ml_dtypes, its bits are whole numbers."""
    try:
        dtype = numpy.dtype(described.dtype)
    except TypeError:
        dtype = numpy.dtype("uint16")
    memory_type = ctypes.c_char * dtype.itemsize
    # The first element alone is described to NumPy: strides may be below 0.
    element = numpy.frombuffer(memoryview(memory_type.from_address(described.pointer)), dtype)
    strides = tuple(stride * dtype.itemsize for stride in described.strides)
    return numpy.lib.stride_tricks.as_strided(element, described.shape, strides)


def copy(source: Tensor, target: Tensor) -> None:
    """Copies a tensor into another of its shape, and of its type or another one."""
    if source.pointer != target.pointer or source.strides != target.strides or source.dtype != target.dtype:
        numpy.copyto(_array(target), _array(source), casting="unsafe")


def memory(name: str, array: Array, writable: bool) -> tuple[int, ...]:
    """The strides of an array in elements, once its memory can be given to the library."""
    if not isinstance(array, numpy.ndarray):
        raise TypeError(f"{name} is {type(array).__name__}, wanted a NumPy array")
    if writable and not array.flags.writeable:
        raise ValueError(f"{name} is read-only, wanted an array to write to")
    if not array.flags.aligned or not array.dtype.isnative:
        raise ValueError(f"{name} is misaligned or of another byte order, wanted native elements")
    size = array.dtype.itemsize
    if any(stride % size for stride in array.strides):
        raise ValueError(f"{name} has the strides {array.strides} in bytes, wanted multiples of {size}")
    return tuple(stride // size for stride in array.strides)


def tensor(name: str, array: Array, writable: bool = False) -> Tensor:
    """An array of f32, f16 or bf16 (the dtype `bfloat16` of ml_dtypes), with contiguous channels."""
    strides = memory(name, array, writable)
    return lift(name, array.ctypes.data, array.dtype.name, array.shape, strides)


def check_overlap(name: str, target: Tensor) -> None:
    """Refuses strides with which the vectors of an output may overlap, as rotary_rope_apply does."""
    extent = target.shape[-1]
    axes = [(abs(stride), size) for stride, size in zip(target.strides[:-1], target.shape) if size > 1]
    for stride, size in sorted(axes):
        if stride < extent:
            raise _abi.InvalidArgumentError(f"{name} has the strides {target.strides} for {list(target.shape)}, so "
                                            "vectors overlap; wanted each at least the extent of smaller ones")
        extent += stride * (size - 1)


def separate(name: str, out: Array, inputs: typing.Iterable[Array], in_place: bool = False) -> None:
    """Refuses an output that shares elements with an input, which the library cannot see. in_place: it may be one."""
    for x in inputs:
        if in_place and out.ctypes.data == x.ctypes.data and out.strides == x.strides and out.dtype == x.dtype:
            continue
        try:
            shared = numpy.shares_memory(x, out, max_work=_MAX_WORK)
        except RuntimeError:  # TooHardError: strides like these cannot be compared in little time
            shared = False
        if shared:
            raise ValueError(f"{name} shares memory with an input, wanted memory of its own"
                             + (", or the input itself" if in_place else ""))


def native(array: Array, dtype: numpy.typing.DTypeLike) -> Array:
    """An array that the library can read, contiguous, aligned and in this machine's byte order: itself, or a copy."""
    return numpy.require(array, dtype, ["C", "A"])


def numbers(name: str, values: typing.Any, shape: tuple[int, ...]) -> Array:
    """A native array of float32 and this shape: `values` itself if it is one. Lists are converted."""
    array = numpy.asarray(values)
    if array.dtype.kind not in "iuf" or array.shape != shape:
        raise ValueError(f"{name} is {array.dtype.name} {list(array.shape)}, wanted numbers {list(shape)}")
    with numpy.errstate(over="ignore"):  # refused below, in one line
        result = native(array, "float32")
    lost = array[numpy.isfinite(array) & ~numpy.isfinite(result)]
    if lost.size > 0:
        raise ValueError(f"{name} has the number {lost[0]}, wanted ones that float32 holds, up to "
                         f"{numpy.finfo(numpy.float32).max}")
    return result


def vector(name: str, values: typing.Any, dtype: str, shape: tuple[int, ...]) -> Array:
    """A native array of this type and shape: `values` itself if it is one. Whole numbers are converted."""
    array = numpy.asarray(values)
    if array.dtype.kind not in "iu" or array.shape != shape:
        raise ValueError(f"{name} is {array.dtype.name} {list(array.shape)}, wanted whole numbers {list(shape)}")
    result = native(array, dtype)
    if not numpy.array_equal(result, array):
        raise ValueError(f"{name} has numbers that {dtype} cannot hold")
    return result
