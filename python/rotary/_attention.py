# SPDX-License-Identifier: Apache-2.0
"""Attention fused with rotary position embeddings: plans of the library, and calls on NumPy arrays."""
from __future__ import annotations

import ctypes
import dataclasses
import functools
import typing
import weakref

import numpy

from . import _abi, _arrays
from ._arrays import Array, Tensor
from ._rope import Rope

_INPUTS = ("query", "key", "value")
Isa = typing.Literal["auto", "scalar", "neon", "avx2", "avx512", "avx512bf16", "amx"]
Rotate = typing.Literal["q", "k", "qk", "v", "qv", "kv", "qkv", "o", "qo", "ko", "qko", "vo", "qvo", "kvo", "qkvo"]


@dataclasses.dataclass(frozen=True, eq=False)
class Layout:
    """Which tokens a call has, where they are, and what they may attend to besides `causal` and `window`.

    first_query, first_key      positions of the first query and the first key. Without first_query the last query is at
                                the position of the last key, so that a step of decoding is a query of length 1;
                                packed sequences begin at 0.
    bias                        f32, added to the scores, or a mask of bools that is true where attention is allowed
                                (converted). Broadcast to [batch, heads, queries, keys]. Zeros and ones in f32 are
                                refused: they may be such a mask, or numbers to be added.
    additive_mask               the same, f32, and always added, whatever its numbers. Instead of bias.
    sinks                       [heads]: a logit of each head in the denominator of its softmax, whose value is 0.
    query_starts, key_starts    packed sequences (cu_seqlens), [sequences + 1], in a batch of one; key_starts are those
                                of the queries if not given.
    key_lengths                 [batch]: how many keys each sequence of a padded batch has.
    query_positions,            [batch, queries] and [batch, keys]: for the rotation alone; what a query sees follows
    key_positions               from first_query and first_key.
    """
    first_query: int | None = None
    first_key: int = 0
    bias: Array | None = None
    query_starts: typing.Any = None
    key_starts: typing.Any = None
    key_lengths: typing.Any = None
    query_positions: typing.Any = None
    key_positions: typing.Any = None
    additive_mask: Array | None = None
    sinks: typing.Any = None

    def fill(self, call: typing.Any, heads: int) -> list[Array]:
        """Fills in a call that has the sizes of its shape. Returns the arrays that must live until it is done."""
        shape, kept = call.shape, []
        packed = self.query_starts is not None
        shape.first_key = _abi.whole("first_key", self.first_key)
        last = shape.first_key + shape.keys - shape.queries
        first = self.first_query if self.first_query is not None else 0 if packed else last
        shape.first_query = _abi.whole("first_query", first)

        def keep(name: str, dtype: str, *sizes: int) -> int:
            kept.append(_arrays.vector(name, getattr(self, name), dtype, sizes))
            return int(kept[-1].ctypes.data)

        if packed:
            starts = call.packed_sequences
            count = len(self.query_starts)
            starts.sequences, starts.query_starts = count - 1, keep("query_starts", "int32", count)
            if self.key_starts is not None:
                starts.key_starts = keep("key_starts", "int32", count)
        elif self.key_starts is not None:
            raise ValueError("key_starts are given without query_starts, wanted both")
        if self.key_lengths is not None:
            call.key_lengths = keep("key_lengths", "int64", shape.batch)
        if self.query_positions is not None:
            call.query_positions = keep("query_positions", "int32", shape.batch, shape.queries)
        if self.key_positions is not None:
            call.key_positions = keep("key_positions", "int32", shape.batch, shape.keys)
        if self.sinks is not None:
            kept.append(_arrays.numbers("sinks", self.sinks, (heads,)))
            call.sinks = kept[-1].ctypes.data
        bias = self._bias()
        if bias is not None:
            kept.append(_broadcast_bias(bias, (shape.batch, heads, shape.queries, shape.keys)))
            batch, head, query, _ = _arrays.memory("bias", kept[-1], False)
            call.bias = _abi.AttentionBias(data=kept[-1].ctypes.data, batch_stride=batch, head_stride=head,
                                           query_stride=query)
        return kept

    def _bias(self) -> Array | None:
        """What is added to scores, or a mask of bools; refused where it may be meant as either."""
        if self.bias is not None and self.additive_mask is not None:
            raise ValueError("bias and additive_mask are both given, wanted one of them")
        name = "bias" if self.bias is not None else "additive_mask"
        bias, kinds = getattr(self, name), ("float32", "bool") if name == "bias" else ("float32",)
        if bias is None:
            return None
        if not isinstance(bias, numpy.ndarray) or bias.dtype.name not in kinds:
            raise TypeError(f"{name} is {getattr(bias, 'dtype', type(bias).__name__)}, wanted an array of "
                            f"{' or '.join(kinds)}")
        if name == "bias" and bias.dtype.name == "float32" and _is_visibility(bias):
            raise ValueError("bias is float32 and holds zeros and ones alone, which may mean what is seen or what is "
                             "added: wanted a mask of bools (bias=mask != 0), or additive_mask=bias")
        return bias


def _is_visibility(bias: Array) -> bool:
    """Whether an array holds zeros and ones alone, and both: a mask of what is seen, where it is no bias."""
    def is_binary(numbers: Array) -> bool:
        return bool(((numbers == 0) | (numbers == 1)).all())

    entries = numpy.atleast_1d(bias)
    first_row = entries[(0,) * (entries.ndim - 1)] if entries.size > 0 else entries  # ends most searches
    return is_binary(first_row) and is_binary(entries) and bool(entries.any()) and not bool(entries.all())


def _broadcast_bias(bias: Array, shape: tuple[int, int, int, int]) -> Array:
    """[batch, heads, queries, keys]. Where the library cannot read an array it is copied, as one of bools is."""
    if bias.dtype.name == "bool":
        bias = numpy.where(bias, numpy.float32(0), numpy.float32(-numpy.inf))
    try:
        wide = numpy.broadcast_to(bias, shape)
    except ValueError:
        raise ValueError(f"bias is {list(bias.shape)}, wanted what broadcasts to [batch, heads, queries, keys], "
                         f"{list(shape)}") from None
    if (shape[-1] > 1 and wide.strides[-1] != wide.itemsize) or min(wide.strides) < 0:
        along_keys = numpy.broadcast_to(bias, (*bias.shape[:-1], shape[-1]))
        wide = numpy.broadcast_to(numpy.ascontiguousarray(along_keys), shape)
    return wide


@dataclasses.dataclass(frozen=True)
class Dropout:
    """Dropout of attention weights: each is 0 with this probability, a multiple of 2^-16, and the others are divided by
    1 - probability. The seed says which, the same in the forward and the backward pass and for any number of threads.
    """
    probability: float = 0.0
    seed: int = 0

    def struct(self) -> _abi.AttentionDropout:
        return _abi.AttentionDropout(probability=self.probability, seed=_abi.whole("seed", self.seed, ctypes.c_uint64))


@dataclasses.dataclass(frozen=True)
class Attention:
    """A plan of attention (rotary_attention_config in attention.h).

    `rope` rotates queries and keys (RoPE), `value_rope` values and, back, outputs (RoPER). `rotate` leaves some out: it
    has the letters q, k, v and o of what is rotated, in this order, and only with qk, vo and qkvo does attention depend
    on differences of positions alone. With key_is_value the rotated keys are the values too, or value_channels of their
    channels from value_start on (0: all), and calls have no value; k and v are then one. key_value_heads divides
    heads. scale is 1 / sqrt(head_dim) unless given; 0 is no window and no soft cap. The type is float32, float16 or
    bfloat16.
    Immutable; any number of threads may use one.
    """
    heads: int
    head_dim: int
    key_value_heads: int | None = None
    dtype: typing.Literal["float32", "float16", "bfloat16"] = "float32"
    scale: float | None = None
    causal: bool = False
    window: int = 0
    softcap: float = 0.0
    rope: Rope | None = None
    value_rope: Rope | None = None
    threads: int = 0
    isa: Isa = "auto"
    key_is_value: bool = False
    value_start: int = 0
    value_channels: int = 0
    rotate: Rotate | None = None

    def __post_init__(self) -> None:
        config = _abi.AttentionConfig()
        _abi.library.rotary_attention_config_default_sized(ctypes.byref(config), ctypes.sizeof(config))
        config.heads = _abi.whole("heads", self.heads)
        config.head_dim = _abi.whole("head_dim", self.head_dim)
        heads = self.heads if self.key_value_heads is None else self.key_value_heads
        config.key_value_heads = _abi.whole("key_value_heads", heads)
        config.dtype, config.isa = _abi.code(_abi.DTYPES, "dtype", self.dtype), _abi.code(_abi.ISAS, "isa", self.isa)
        if self.scale == 0:  # the library's default
            raise ValueError("scale is 0, wanted a number above 0, or None for 1 / sqrt(head_dim)")
        for name, value, instead in (("scale", self.scale, "None for 1 / sqrt(head_dim)"),
                                     ("softcap", self.softcap, "0 for none")):
            if value and ctypes.c_float(value).value == 0:  # which would be taken for the default
                raise ValueError(f"{name} is {value}, which is 0 in float32, wanted a greater number, or {instead}")
        config.scale = 0 if self.scale is None else self.scale
        config.causal, config.softcap = self.causal, self.softcap
        config.window = _abi.whole("window", self.window)
        config.threads = _abi.whole("threads", self.threads, ctypes.c_int)
        config.key_is_value = self.key_is_value
        config.value_start = _abi.whole("value_start", self.value_start)
        config.value_channels = _abi.whole("value_channels", self.value_channels)
        config.rope, config.value_rope = (self._rotation(name) for name in ("rope", "value_rope"))
        if self.rotate is not None:
            self._choose(config, _abi.code(_abi.ROTATES, "rotate", self.rotate))
        handle = ctypes.c_void_p()
        _abi.call("rotary_attention_create", ctypes.byref(handle), ctypes.byref(config))
        object.__setattr__(self, "_handle", handle)
        # The rotations are borrowed: they are held here, and so outlive the plan.
        weakref.finalize(self, _destroy, handle, self.rope, self.value_rope)

    def _rotation(self, name: str) -> ctypes.c_void_p | None:
        """The library's plan, which a rotation of no channels does not have."""
        rope = getattr(self, name)
        if rope is None:
            return None
        if rope.head_dim != self.head_dim:
            raise _abi.InvalidArgumentError(f"{name} was made for heads of {rope.head_dim} channels; wanted head_dim, "
                                            f"{self.head_dim}")
        return typing.cast("ctypes.c_void_p | None", rope._handle)

    def _choose(self, config: _abi.AttentionConfig, rotate: int) -> None:
        """Rotates these parts alone, without those of a rotation of no channels."""
        by_rope = rotate & (7 if self.key_is_value else 3)
        by_value_rope = rotate - by_rope
        if self.rope is not None and config.rope is None:
            rotate -= by_rope
        if self.value_rope is not None and config.value_rope is None:
            rotate -= by_value_rope
        if rotate == 0:
            config.rope = config.value_rope = None
        config.rotate = rotate

    if typing.TYPE_CHECKING:
        _handle: ctypes.c_void_p = dataclasses.field(init=False)

    def __reduce__(self) -> tuple[typing.Any, ...]:
        return Attention, tuple(getattr(self, field.name) for field in dataclasses.fields(self))

    # ---- arrays ----

    def forward(self, query: Array, key: Array, value: Array | None = None, layout: Layout = Layout(),
                out: Array | None = None, *, dropout: Dropout = Dropout()) -> tuple[Array, Array]:
        """The output, like query, and the log-sum-exp, [batch, heads, queries] in f32, which backward needs.

        query is [batch, queries, heads, head_dim], key and value are [batch, keys, key_value_heads, head_dim]; or all
        without batch. Strides are passed on; channels are contiguous. None of them is rotated yet.
        """
        given = self._given((query, key, value))
        inputs = [_arrays.tensor(name, x) for name, x in zip(_INPUTS, given)]
        result: Array = numpy.empty(query.shape, query.dtype) if out is None else out
        if out is not None:
            _arrays.separate("out", out, given)
        batch, queries, heads, _ = inputs[0].shape
        log_sum_exp: Array = numpy.empty((batch, heads, queries), numpy.float32)
        self.run_forward(inputs, (_arrays.tensor("out", result, writable=True), log_sum_exp.ctypes.data), layout,
                         dropout)
        return result, log_sum_exp

    def _given(self, inputs: tuple[Array | None, ...]) -> tuple[Array, ...]:
        """Query, key and, unless keys are the values, value."""
        if self.key_is_value and len(inputs) > 2 and inputs[2] is not None:
            raise ValueError("value is given, but keys are the values (key_is_value), wanted none")
        wanted = 2 if self.key_is_value else 3
        if len(inputs) < wanted or any(x is None for x in inputs[:wanted]):
            raise ValueError(f"value is missing, wanted {', '.join(_INPUTS[:wanted])}")
        return typing.cast("tuple[Array, ...]", inputs[:wanted])

    def backward(self, inputs: tuple[Array, ...], outputs: tuple[Array, Array], output_gradient: Array,
                 layout: Layout = Layout(), *, sinks_gradient: Array | None = None,
                 dropout: Dropout = Dropout()) -> tuple[Array, ...]:
        """The gradients of query, key and value, from what forward took and returned. bias gets no gradient.

        With key_is_value there are two, and that of key is the gradient of both.

        That of layout.sinks is added to sinks_gradient, contiguous float32 [heads].
        """
        if sinks_gradient is not None:
            _check_float32("sinks_gradient", sinks_gradient, (self.heads,), writable=True)
        given = self._given(inputs)
        gradients = [numpy.empty(x.shape, x.dtype) for x in given]
        tensors = [_arrays.tensor(name, x) for name, x in zip(_INPUTS, given)]
        batch, queries, heads, _ = tensors[0].shape
        _check_float32("the log-sum-exp", outputs[1], (batch, heads, queries), "what forward returned, ")
        self.run_backward(tensors, (_arrays.tensor("output", outputs[0]), outputs[1].ctypes.data),
                          _arrays.tensor("output_gradient", output_gradient),
                          [_arrays.tensor("gradient", x, writable=True) for x in gradients], layout,
                          None if sinks_gradient is None else sinks_gradient.ctypes.data, dropout)
        return tuple(gradients)

    # ---- described memory: arrays and tensors of any library ----

    def run_forward(self, inputs: typing.Sequence[Tensor], outputs: tuple[Tensor, int], layout: Layout,
                    dropout: Dropout = Dropout()) -> None:
        """`outputs` are the output and the pointer to the log-sum-exp."""
        call = _abi.AttentionForwardCall(shape=self._shape(*inputs), log_sum_exp=outputs[1], dropout=dropout.struct())
        self._check("output", outputs[0], inputs[0].shape)
        for name, x in zip(_INPUTS, inputs):
            setattr(call, name, x.attention_view())
        call.output = outputs[0].attention_view()
        kept = layout.fill(call, self.heads)
        kept.append(self._workspace("forward", call))
        _abi.call("rotary_attention_forward", self._handle, ctypes.byref(call))

    def run_backward(self, inputs: typing.Sequence[Tensor], outputs: tuple[Tensor, int], output_gradient: Tensor,
                     gradients: typing.Sequence[Tensor], layout: Layout, sinks_gradient: int | None = None,
                     dropout: Dropout = Dropout()) -> None:
        call = _abi.AttentionBackwardCall(shape=self._shape(*inputs), log_sum_exp=outputs[1],
                                          sinks_gradient=sinks_gradient, dropout=dropout.struct())
        self._check("output", outputs[0], inputs[0].shape)
        self._check("output_gradient", output_gradient, inputs[0].shape)
        for name, x, gradient in zip(_INPUTS, inputs, gradients):
            setattr(call, name, x.attention_view())
            setattr(call, name + "_gradient", gradient.attention_view())
        call.output, call.output_gradient = outputs[0].attention_view(), output_gradient.attention_view()
        kept = layout.fill(call, self.heads)
        kept.append(self._workspace("backward", call))
        _abi.call("rotary_attention_backward", self._handle, ctypes.byref(call))

    def _shape(self, query: Tensor, key: Tensor, value: Tensor | None = None) -> _abi.AttentionShape:
        batch, queries, keys = query.shape[0], query.shape[1], key.shape[1]
        heads = self.heads if self.key_value_heads is None else self.key_value_heads
        self._check("query", query, (batch, queries, self.heads, self.head_dim))
        self._check("key", key, (batch, keys, heads, self.head_dim))
        if value is not None:
            self._check("value", value, (batch, keys, heads, self.head_dim))
        return _abi.AttentionShape(batch=batch, queries=queries, keys=keys)

    def _check(self, name: str, tensor: Tensor, shape: tuple[int, ...]) -> None:
        """The library sees one shape and one type for all."""
        if tensor.shape != shape or tensor.dtype != self.dtype:
            raise ValueError(f"{name} is {tensor.dtype} {list(tensor.shape)}, wanted {self.dtype} {list(shape)}")

    def _workspace(self, direction: str, call: typing.Any) -> Array:
        """Memory that is aligned to 64 bytes; the array that owns it."""
        measure = getattr(_abi.library, f"rotary_attention_{direction}_call_bytes")
        size = measure(self._handle, ctypes.byref(call))
        if size == ctypes.c_size_t(-1).value:
            raise _abi.OutOfMemoryError("attention's workspace has more bytes than can be addressed")
        owner: Array = numpy.empty(size + 64, numpy.uint8)
        call.workspace = (owner.ctypes.data + 63) // 64 * 64
        return owner


def _check_float32(name: str, array: Array, shape: tuple[int, ...], wanted: str = "", writable: bool = False) -> None:
    """Refuses an array that is not contiguous float32 of this shape, of which the library sees the pointer alone."""
    _arrays.memory(name, array, writable)
    if array.dtype.name != "float32" or not array.flags.c_contiguous or array.shape != shape:
        raise ValueError(f"{name} is {array.dtype.name} {list(array.shape)}, wanted {wanted}contiguous float32 "
                         f"{list(shape)}")


def _destroy(handle: ctypes.c_void_p, *_rotations: Rope | None) -> None:
    _abi.library.rotary_attention_destroy(handle)


@functools.lru_cache(maxsize=64)
def plan(**settings: typing.Any) -> Attention:
    """Plans that were used lately: making one costs more than a small call."""
    return Attention(**settings)


def attention(query: Array, key: Array, value: Array | None = None, *, rope: Rope | None = None,
              value_rope: Rope | None = None, causal: bool = False, scale: float | None = None, window: int = 0,
              softcap: float = 0.0, layout: Layout = Layout(), out: Array | None = None, threads: int = 0,
              key_is_value: bool = False, rotate: Rotate | None = None) -> Array:
    """Attention in one call: Attention.forward with the sizes and the type of the tensors; the output alone.

    rope alone is RoPE; rope and value_rope are RoPER; rotate is that of Attention. Fewer key-value heads than query
    heads are grouped queries. With key_is_value the rotated keys are the values too, and value is left out.
    """
    for name, x in zip(_INPUTS, (query, key, value)):
        if x is not None and x.dtype.name not in _abi.DTYPES:
            raise TypeError(f"{name} is {x.dtype.name}, wanted {' or '.join(_abi.DTYPES)}")
    if query.ndim not in (3, 4) or key.ndim != query.ndim:
        raise ValueError(f"query is {list(query.shape)} and key {list(key.shape)}, wanted [tokens, heads, head_dim] or "
                         "[batch, tokens, heads, head_dim]")
    made = plan(heads=query.shape[-2], head_dim=query.shape[-1], key_value_heads=key.shape[-2], dtype=query.dtype.name,
                scale=scale, causal=causal, window=window, softcap=softcap, rope=rope, value_rope=value_rope,
                threads=threads, key_is_value=key_is_value, rotate=rotate)
    return made.forward(query, key, value, layout, out)[0]
