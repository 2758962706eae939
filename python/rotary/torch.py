# SPDX-License-Identifier: Apache-2.0
"""Rotations and attention on PyTorch tensors of the CPU, as custom operators with gradients.

They work under torch.compile without graph breaks, and pass torch.library.opcheck. A plan goes into an operator as text
(Rope.key), so graphs hold no Python objects. Tensors are read by their strides; one whose channels are not contiguous
is copied first. Arithmetic is f32, so gradients are those of f32: gradcheck needs the tolerances that
docs/reference/python.md gives.
"""
import functools
import typing

import torch
from torch import Tensor

from . import _arrays
from ._attention import Layout, plan
from ._rope import Rope

# Of the operators' schemas, which PyTorch infers from annotations.
OptionalTensor = typing.Optional[Tensor]
OptionalInt = typing.Optional[int]
OptionalFloat = typing.Optional[float]

__all__ = ["apply", "attention", "inverse"]


@functools.lru_cache(maxsize=64)
def _rope(key: str) -> Rope:
    return Rope.from_key(key)


def _readable(x: Tensor) -> Tensor:
    """x itself, or a copy whose channels are contiguous: gradients may have any strides, and stride 0 is common."""
    return x if x.stride(-1) == 1 or x.shape[-1] == 1 else x.contiguous()


def _described(name: str, x: Tensor) -> _arrays.Tensor:
    return _arrays.lift(name, x.data_ptr(), str(x.dtype).removeprefix("torch."), tuple(x.shape), tuple(x.stride()))


def _array(x: OptionalTensor) -> typing.Any:
    """A view of a small tensor for NumPy."""
    return None if x is None else x.detach().numpy()


def _tensor(x: typing.Any) -> OptionalTensor:
    """Lists and arrays are taken where tensors are wanted."""
    return x if x is None or isinstance(x, Tensor) else torch.as_tensor(x)


# ---- rotation ----

@torch.library.custom_op("rotary::rotate", mutates_args=(), device_types="cpu")
def _rotate(x: Tensor, rope: str, role: str, direction: str, positions: OptionalTensor, offset: int,
            offsets: OptionalTensor, starts: OptionalTensor) -> Tensor:
    x = _readable(x)
    result = torch.empty(x.shape, dtype=x.dtype)
    _rope(rope).rotate(_described("x", x), _described("out", result), role=role, direction=direction,
                       positions=_array(positions), offset=offset, offsets=_array(offsets), starts=_array(starts))
    return result


@_rotate.register_fake
def _(x: Tensor, rope: str, role: str, direction: str, positions: OptionalTensor, offset: int,
      offsets: OptionalTensor, starts: OptionalTensor) -> Tensor:
    return x.new_empty(x.shape)


def _save_rotation(ctx: typing.Any, inputs: tuple[typing.Any, ...], output: Tensor) -> None:
    _, ctx.rope, ctx.role, ctx.direction, positions, ctx.offset, offsets, starts = inputs
    ctx.save_for_backward(positions, offsets, starts)


def _rotation_gradient(ctx: typing.Any, gradient: Tensor) -> tuple[typing.Any, ...]:
    positions, offsets, starts = ctx.saved_tensors

    def rotate(role: str, direction: str) -> Tensor:
        return typing.cast(Tensor, _rotate(gradient, ctx.rope, role, direction, positions, ctx.offset, offsets, starts))

    if ctx.direction == "inverse" and ctx.role != "value":
        # The inverse is R^T / m, so its transpose is R / m. With the attention factor a and xPos's z, queries have the
        # magnitude a z and keys a / z: R / (a z) is what keys are rotated by, divided by a^2, and the other way round.
        other = rotate("key" if ctx.role == "query" else "query", "forward")
        rotated = other / _rope(ctx.rope).magnitude ** 2
    else:
        rotated = rotate(ctx.role, "transpose" if ctx.direction == "forward" else "forward")
    return rotated, None, None, None, None, None, None, None


_rotate.register_autograd(_rotation_gradient, setup_context=_save_rotation)


def apply(x: Tensor, rope: Rope, *, positions: typing.Any = None, offset: int = 0, offsets: typing.Any = None,
          starts: typing.Any = None, role: str = "query") -> Tensor:
    """Rope.apply of a tensor [..., time, heads, channels] in f32, f16 or bf16: a new, contiguous tensor.

    Differentiable in x, as often as wanted. positions, offsets and starts are as in Rope.apply.
    """
    return typing.cast(Tensor, _rotate(x, rope.key, role, "forward", _tensor(positions), offset, _tensor(offsets),
                                       _tensor(starts)))


def inverse(x: Tensor, rope: Rope, *, positions: typing.Any = None, offset: int = 0, offsets: typing.Any = None,
            starts: typing.Any = None, role: str = "query") -> Tensor:
    """Rope.inverse of a tensor, differentiable likewise."""
    return typing.cast(Tensor, _rotate(x, rope.key, role, "inverse", _tensor(positions), offset, _tensor(offsets),
                                       _tensor(starts)))


# ---- attention ----

# What the operators of attention take besides tensors: settings of the plan, and the members of Layout.
class _Settings(typing.NamedTuple):
    rope: str
    value_rope: str
    causal: bool
    window: int
    scale: OptionalFloat
    softcap: float
    threads: int
    first_query: OptionalInt
    first_key: int
    additive_mask: bool


def _made(query: Tensor, key: Tensor, settings: _Settings) -> typing.Any:
    """The plan for these tensors."""
    return plan(heads=query.shape[-2], head_dim=query.shape[-1], key_value_heads=key.shape[-2],
                dtype=str(query.dtype).removeprefix("torch."), scale=settings.scale, causal=settings.causal,
                window=settings.window, softcap=settings.softcap, threads=settings.threads,
                rope=_rope(settings.rope) if settings.rope else None,
                value_rope=_rope(settings.value_rope) if settings.value_rope else None)


def _layout(settings: _Settings, *tensors: OptionalTensor) -> Layout:
    bias, query_starts, key_starts, key_lengths, query_positions, key_positions, sinks = map(_array, tensors)
    bias, additive_mask = (None, bias) if settings.additive_mask else (bias, None)
    return Layout(settings.first_query, settings.first_key, bias, query_starts, key_starts, key_lengths,
                  query_positions, key_positions, additive_mask, sinks)


@torch.library.custom_op("rotary::attention", mutates_args=(), device_types="cpu")
def _attention(query: Tensor, key: Tensor, value: Tensor, bias: OptionalTensor, query_starts: OptionalTensor,
               key_starts: OptionalTensor, key_lengths: OptionalTensor, query_positions: OptionalTensor,
               key_positions: OptionalTensor, sinks: OptionalTensor, rope: str, value_rope: str, causal: bool,
               window: int, scale: OptionalFloat, softcap: float, threads: int, first_query: OptionalInt,
               first_key: int, additive_mask: bool = False) -> tuple[Tensor, Tensor]:
    settings = _Settings(rope, value_rope, causal, window, scale, softcap, threads, first_query, first_key,
                         additive_mask)
    inputs = [_readable(x) for x in (query, key, value)]
    output = torch.empty(query.shape, dtype=query.dtype)
    log_sum_exp = torch.empty(_rows(query), dtype=torch.float32)
    _made(query, key, settings).run_forward(
        [_described(name, x) for name, x in zip(("query", "key", "value"), inputs)],
        (_described("output", output), log_sum_exp.data_ptr()),
        _layout(settings, bias, query_starts, key_starts, key_lengths, query_positions, key_positions, sinks))
    return output, log_sum_exp


def _rows(query: Tensor) -> tuple[int, int, int]:
    """The shape of the log-sum-exp, [batch, heads, queries]."""
    return (query.shape[0] if query.dim() == 4 else 1), query.shape[-2], query.shape[-3]


@_attention.register_fake
def _(query: Tensor, key: Tensor, value: Tensor, *rest: typing.Any) -> tuple[Tensor, Tensor]:
    return query.new_empty(query.shape), query.new_empty(_rows(query), dtype=torch.float32)


@torch.library.custom_op("rotary::attention_backward", mutates_args=(), device_types="cpu")
def _attention_backward(gradient: Tensor, output: Tensor, log_sum_exp: Tensor, query: Tensor, key: Tensor,
                        value: Tensor, bias: OptionalTensor, query_starts: OptionalTensor,
                        key_starts: OptionalTensor, key_lengths: OptionalTensor, query_positions: OptionalTensor,
                        key_positions: OptionalTensor, sinks: OptionalTensor, rope: str, value_rope: str,
                        causal: bool, window: int, scale: OptionalFloat, softcap: float, threads: int,
                        first_query: OptionalInt, first_key: int,
                        additive_mask: bool = False) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    settings = _Settings(rope, value_rope, causal, window, scale, softcap, threads, first_query, first_key,
                         additive_mask)
    inputs = [_readable(x) for x in (query, key, value)]
    gradient, log_sum_exp = _readable(gradient), log_sum_exp.contiguous()
    if log_sum_exp.shape != _rows(query) or log_sum_exp.dtype != torch.float32:
        raise ValueError(f"the log-sum-exp is {log_sum_exp.dtype} {list(log_sum_exp.shape)}, wanted float32 "
                         f"{list(_rows(query))}")
    results = tuple(torch.empty(x.shape, dtype=x.dtype) for x in inputs)
    sinks_gradient = torch.zeros(0 if sinks is None else query.shape[-2], dtype=torch.float32)
    _made(query, key, settings).run_backward(
        [_described(name, x) for name, x in zip(("query", "key", "value"), inputs)],
        (_described("output", _readable(output)), log_sum_exp.data_ptr()), _described("output_gradient", gradient),
        [_described("gradient", x) for x in results],
        _layout(settings, bias, query_starts, key_starts, key_lengths, query_positions, key_positions, sinks),
        None if sinks is None else sinks_gradient.data_ptr())
    return results[0], results[1], results[2], sinks_gradient


@_attention_backward.register_fake
def _(gradient: Tensor, output: Tensor, log_sum_exp: Tensor, query: Tensor, key: Tensor, value: Tensor,
      *rest: typing.Any) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    sinks = rest[_TENSORS - 4]
    return (query.new_empty(query.shape), key.new_empty(key.shape), value.new_empty(value.shape),
            query.new_empty(0 if sinks is None else query.shape[-2], dtype=torch.float32))


_TENSORS = 10  # of the operator's arguments: query, key, value and the tensors of Layout, sinks last


def _save_attention(ctx: typing.Any, inputs: tuple[typing.Any, ...], output: tuple[Tensor, Tensor]) -> None:
    ctx.save_for_backward(*output, *inputs[:_TENSORS])
    ctx.settings = inputs[_TENSORS:]


def _attention_gradient(ctx: typing.Any, gradient: Tensor, _: Tensor) -> tuple[typing.Any, ...]:
    *gradients, sinks_gradient = _attention_backward(gradient, *ctx.saved_tensors, *ctx.settings)
    sinks = ctx.saved_tensors[-1]
    return (*gradients, *[None] * (_TENSORS - 4), None if sinks is None else sinks_gradient,
            *[None] * len(ctx.settings))


_attention.register_autograd(_attention_gradient, setup_context=_save_attention)


def attention(query: Tensor, key: Tensor, value: Tensor, *, rope: typing.Optional[Rope] = None,
              value_rope: typing.Optional[Rope] = None, causal: bool = False, scale: OptionalFloat = None,
              window: int = 0, softcap: float = 0.0, layout: Layout = Layout(), threads: int = 0) -> Tensor:
    """rotary.attention of tensors [batch, time, heads, channels] in f32 or bf16: a new, contiguous tensor.

    Differentiable once in query, key, value and layout.sinks. The members of `layout` may be tensors; a bias gets no
    gradient, and one that wants it is refused.
    """
    if layout.bias is not None and layout.additive_mask is not None:
        raise ValueError("bias and additive_mask are both given, wanted one of them")
    bias = _tensor(layout.bias if layout.bias is not None else layout.additive_mask)
    if bias is not None and bias.requires_grad:
        raise ValueError("bias requires a gradient, which attention does not compute: detach it")
    sinks = None if layout.sinks is None else torch.as_tensor(layout.sinks).to(torch.float32)
    output, _ = _attention(
        query, key, value, bias, _tensor(layout.query_starts), _tensor(layout.key_starts), _tensor(layout.key_lengths),
        _tensor(layout.query_positions), _tensor(layout.key_positions), sinks,
        rope.key if rope is not None else "", value_rope.key if value_rope is not None else "", causal, window, scale,
        softcap, threads, layout.first_query,
        layout.first_key, layout.additive_mask is not None)
    return typing.cast(Tensor, output)
