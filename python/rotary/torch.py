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
from ._attention import Dropout, Layout, Rotate, plan
from ._rope import Rope

# Of the operators' schemas, which PyTorch infers from annotations.
OptionalTensor = typing.Optional[Tensor]
OptionalInt = typing.Optional[int]
OptionalFloat = typing.Optional[float]

__all__ = ["RotaryAttention", "apply", "attention", "inverse"]


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
    additive_mask: bool = False
    key_is_value: bool = False
    dropout: float = 0.0
    rotate: str = ""  # all that there is a rotation for


def _made(query: Tensor, key: Tensor, settings: _Settings) -> typing.Any:
    """The plan for these tensors."""
    return plan(heads=query.shape[-2], head_dim=query.shape[-1], key_value_heads=key.shape[-2],
                dtype=str(query.dtype).removeprefix("torch."), scale=settings.scale, causal=settings.causal,
                window=settings.window, softcap=settings.softcap, threads=settings.threads,
                rope=_rope(settings.rope) if settings.rope else None,
                value_rope=_rope(settings.value_rope) if settings.value_rope else None,
                key_is_value=settings.key_is_value, rotate=settings.rotate or None)


def _layout(settings: _Settings, *tensors: OptionalTensor) -> Layout:
    bias, query_starts, key_starts, key_lengths, query_positions, key_positions, sinks = map(_array, tensors)
    bias, additive_mask = (None, bias) if settings.additive_mask else (bias, None)
    return Layout(settings.first_query, settings.first_key, bias, query_starts, key_starts, key_lengths,
                  query_positions, key_positions, additive_mask, sinks)


def _inputs(query: Tensor, key: Tensor, value: OptionalTensor) -> list[Tensor]:
    """Without value, which keys then are."""
    return [_readable(x) for x in (query, key, value) if x is not None]


def _dropout(settings: _Settings, seed: OptionalTensor) -> Dropout:
    return Dropout(settings.dropout, 0 if seed is None else int(seed.item()))


@torch.library.custom_op("rotary::attention", mutates_args=(), device_types="cpu")
def _attention(query: Tensor, key: Tensor, value: OptionalTensor, bias: OptionalTensor, query_starts: OptionalTensor,
               key_starts: OptionalTensor, key_lengths: OptionalTensor, query_positions: OptionalTensor,
               key_positions: OptionalTensor, sinks: OptionalTensor, seed: OptionalTensor, rope: str,
               value_rope: str, causal: bool, window: int, scale: OptionalFloat, softcap: float, threads: int,
               first_query: OptionalInt, first_key: int, additive_mask: bool = False, key_is_value: bool = False,
               dropout: float = 0.0, rotate: str = "") -> tuple[Tensor, Tensor]:
    settings = _Settings(rope, value_rope, causal, window, scale, softcap, threads, first_query, first_key,
                         additive_mask, key_is_value, dropout, rotate)
    inputs = _inputs(query, key, value)
    output = torch.empty(query.shape, dtype=query.dtype)
    log_sum_exp = torch.empty(_rows(query), dtype=torch.float32)
    _made(query, key, settings).run_forward(
        [_described(name, x) for name, x in zip(("query", "key", "value"), inputs)],
        (_described("output", output), log_sum_exp.data_ptr()),
        _layout(settings, bias, query_starts, key_starts, key_lengths, query_positions, key_positions, sinks),
        _dropout(settings, seed))
    return output, log_sum_exp


def _rows(query: Tensor) -> tuple[int, int, int]:
    """The shape of the log-sum-exp, [batch, heads, queries]."""
    return (query.shape[0] if query.dim() == 4 else 1), query.shape[-2], query.shape[-3]


@_attention.register_fake
def _(query: Tensor, key: Tensor, value: OptionalTensor, *rest: typing.Any) -> tuple[Tensor, Tensor]:
    return query.new_empty(query.shape), query.new_empty(_rows(query), dtype=torch.float32)


# An operator returns no None: without value its gradient has no elements, and without sinks theirs.
@torch.library.custom_op("rotary::attention_backward", mutates_args=(), device_types="cpu")
def _attention_backward(gradient: Tensor, output: Tensor, log_sum_exp: Tensor, query: Tensor, key: Tensor,
                        value: OptionalTensor, bias: OptionalTensor, query_starts: OptionalTensor,
                        key_starts: OptionalTensor, key_lengths: OptionalTensor, query_positions: OptionalTensor,
                        key_positions: OptionalTensor, sinks: OptionalTensor, seed: OptionalTensor, rope: str,
                        value_rope: str, causal: bool, window: int, scale: OptionalFloat, softcap: float,
                        threads: int, first_query: OptionalInt, first_key: int, additive_mask: bool = False,
                        key_is_value: bool = False,
                        dropout: float = 0.0, rotate: str = "") -> tuple[Tensor, Tensor, Tensor, Tensor]:
    settings = _Settings(rope, value_rope, causal, window, scale, softcap, threads, first_query, first_key,
                         additive_mask, key_is_value, dropout, rotate)
    inputs = _inputs(query, key, value)
    gradient, log_sum_exp = _readable(gradient), log_sum_exp.contiguous()
    if log_sum_exp.shape != _rows(query) or log_sum_exp.dtype != torch.float32:
        raise ValueError(f"the log-sum-exp is {log_sum_exp.dtype} {list(log_sum_exp.shape)}, wanted float32 "
                         f"{list(_rows(query))}")
    results = [torch.empty(x.shape, dtype=x.dtype) for x in inputs]
    sinks_gradient = torch.zeros(0 if sinks is None else query.shape[-2], dtype=torch.float32)
    _made(query, key, settings).run_backward(
        [_described(name, x) for name, x in zip(("query", "key", "value"), inputs)],
        (_described("output", _readable(output)), log_sum_exp.data_ptr()), _described("output_gradient", gradient),
        [_described("gradient", x) for x in results],
        _layout(settings, bias, query_starts, key_starts, key_lengths, query_positions, key_positions, sinks),
        None if sinks is None else sinks_gradient.data_ptr(), _dropout(settings, seed))
    if value is None:
        results.append(torch.empty(0, dtype=query.dtype))
    return results[0], results[1], results[2], sinks_gradient


@_attention_backward.register_fake
def _(gradient: Tensor, output: Tensor, log_sum_exp: Tensor, query: Tensor, key: Tensor, value: OptionalTensor,
      *rest: typing.Any) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    sinks = rest[_SINKS - 3]
    return (query.new_empty(query.shape), key.new_empty(key.shape),
            query.new_empty(0 if value is None else value.shape),
            query.new_empty(0 if sinks is None else query.shape[-2], dtype=torch.float32))


_TENSORS = 11  # of the operator's arguments: query, key, value, the tensors of Layout and the seed
_SINKS = 9


def _save_attention(ctx: typing.Any, inputs: tuple[typing.Any, ...], output: tuple[Tensor, Tensor]) -> None:
    ctx.save_for_backward(*output, *inputs[:_TENSORS])
    ctx.settings = inputs[_TENSORS:]


def _attention_gradient(ctx: typing.Any, gradient: Tensor, _: Tensor) -> tuple[typing.Any, ...]:
    query, key, value, sinks = _attention_backward(gradient, *ctx.saved_tensors, *ctx.settings)
    tensors = ctx.saved_tensors[2:]
    return (query, key, None if tensors[2] is None else value, *[None] * (_SINKS - 3),
            None if tensors[_SINKS] is None else sinks, None, *[None] * len(ctx.settings))


_attention.register_autograd(_attention_gradient, setup_context=_save_attention)


@typing.overload
def attention(query: Tensor, key: Tensor, value: OptionalTensor = None, *, rope: typing.Optional[Rope] = None,
              value_rope: typing.Optional[Rope] = None, causal: bool = False, scale: OptionalFloat = None,
              window: int = 0, softcap: float = 0.0, layout: Layout = Layout(), threads: int = 0,
              key_is_value: bool = False, dropout: float = 0.0, rotate: typing.Optional[Rotate] = None,
              need_weights: typing.Literal[False] = False) -> Tensor: ...


@typing.overload
def attention(query: Tensor, key: Tensor, value: OptionalTensor = None, *, rope: typing.Optional[Rope] = None,
              value_rope: typing.Optional[Rope] = None, causal: bool = False, scale: OptionalFloat = None,
              window: int = 0, softcap: float = 0.0, layout: Layout = Layout(), threads: int = 0,
              key_is_value: bool = False, dropout: float = 0.0, rotate: typing.Optional[Rotate] = None,
              need_weights: bool) -> typing.Union[Tensor, tuple[Tensor, Tensor]]: ...


def attention(query: Tensor, key: Tensor, value: OptionalTensor = None, *, rope: typing.Optional[Rope] = None,
              value_rope: typing.Optional[Rope] = None, causal: bool = False, scale: OptionalFloat = None,
              window: int = 0, softcap: float = 0.0, layout: Layout = Layout(), threads: int = 0,
              key_is_value: bool = False, dropout: float = 0.0, rotate: typing.Optional[Rotate] = None,
              need_weights: bool = False) -> typing.Union[Tensor, tuple[Tensor, Tensor]]:
    """rotary.attention of tensors [batch, time, heads, channels] in f32, bf16 or f16: a new, contiguous tensor.

    The products and sums of f16 are f32's. Differentiable once in query, key, value and layout.sinks. The members of
    `layout` may be tensors; a bias gets no gradient, and one that wants it is refused.

    With key_is_value the rotated keys are the values too, and value is left out: with value_rope, which is then rope,
    the output is rotated back. `dropout` is of the weights; torch.manual_seed decides which are dropped. With
    need_weights the weights follow the output, after dropout: [batch, heads, queries, keys] in f32, without a gradient.
    """
    if layout.bias is not None and layout.additive_mask is not None:
        raise ValueError("bias and additive_mask are both given, wanted one of them")
    if (value is None) != key_is_value:
        raise ValueError("value is given, but keys are the values (key_is_value), wanted none" if key_is_value else
                         "value is missing, wanted query, key, value, or key_is_value=True")
    bias = _tensor(layout.bias if layout.bias is not None else layout.additive_mask)
    if bias is not None and bias.requires_grad:
        raise ValueError("bias requires a gradient, which attention does not compute: detach it")
    sinks = None if layout.sinks is None else torch.as_tensor(layout.sinks)
    if sinks is not None and (sinks.dtype == torch.bool or sinks.is_complex()):
        raise ValueError(f"sinks is {sinks.dtype}, wanted numbers [{query.shape[-2]}]")
    sinks = None if sinks is None else sinks.to(torch.float32)
    seed = torch.randint(1 << 62, (1,)) if dropout > 0 else None
    tensors = (bias, _tensor(layout.query_starts), _tensor(layout.key_starts), _tensor(layout.key_lengths),
               _tensor(layout.query_positions), _tensor(layout.key_positions), sinks, seed)
    settings = _Settings(rope.key if rope is not None else "", value_rope.key if value_rope is not None else "", causal,
                         window, scale, softcap, threads, layout.first_query, layout.first_key,
                         layout.additive_mask is not None, key_is_value, dropout, rotate or "")
    result = typing.cast(Tensor, _attention(query, key, value, *tensors, *settings)[0])
    return (result, _weights(query, key, tensors, settings)) if need_weights else result


def _weights(query: Tensor, key: Tensor, tensors: tuple[OptionalTensor, ...], settings: _Settings) -> Tensor:
    """The weights of keys are the outputs where each key's value is a unit vector, of as many keys as it has channels.
    So they have all that attention has: masks, windows, sinks, dropout."""
    rotate, shared = settings.rotate, "v" if settings.key_is_value else ""  # keys that are values rotate by either
    scores = ("q" if "q" in rotate else "") + ("k" if "k" in rotate or (shared and shared in rotate) else "")
    settings = settings._replace(rope=settings.rope if scores or not rotate else "", value_rope="", key_is_value=False,
                                 rotate=scores)
    query, key = query.detach().float(), key.detach().float()
    tensors = tuple(None if x is None else x.detach() for x in tensors)
    keys, channels = key.shape[-3], key.shape[-1]
    parts = []
    for first in range(0, keys, channels):
        at = torch.arange(first, min(first + channels, keys))
        value = torch.zeros(key.shape)
        value[..., at, :, at - first] = 1
        output = typing.cast(Tensor, _attention(query, key, value, *tensors, *settings)[0])
        parts.append(output[..., :len(at)])
    whole = torch.cat(parts, -1) if parts else query.new_zeros((*query.shape[:-1], 0))
    return whole.transpose(-2, -3).contiguous()


class RotaryAttention(torch.nn.Module):
    """Multi-head attention with rotary position embeddings (RoPE) and rotary values (RoPER), as a module.

    d_model         channels of inputs and outputs, of which each of `heads` has d_model / heads
    rope_fraction   of a head's query and key channels that are rotated, from the first on, in half-split pairs
    value_fraction  of its value channels; the output is rotated back. 0: RoPE
    key_is_value    there is no projection of values: they are the rotated keys. value_fraction is then rope_fraction,
                    so that the output is rotated back (DeepSeek-V4), or 0, so that it is not
    sinks           a learned logit of each head in the denominator of its softmax (gpt-oss)
    dropout         of the weights, in training

    Parameters are those of torch.nn.Linear: query, key, value and output, and sinks, [heads].
    """

    def __init__(self, d_model: int, heads: int, rope_fraction: float = 1.0, value_fraction: float = 1.0,
                 key_is_value: bool = False, sinks: bool = False, dropout: float = 0.0, *, bias: bool = True,
                 base: float = 10000.0, threads: int = 0) -> None:
        super().__init__()
        if heads < 1 or d_model % heads != 0:
            raise ValueError(f"d_model is {d_model} and heads {heads}, wanted heads that divide it")
        if key_is_value and value_fraction not in (0, rope_fraction):
            raise ValueError(f"value_fraction is {value_fraction} with key_is_value, wanted rope_fraction, "
                             f"{rope_fraction}, or 0, as values are the rotated keys")
        self.heads, self.key_is_value, self.dropout, self.threads = heads, key_is_value, dropout, threads
        head_dim = d_model // heads
        self.rope = _fraction("rope_fraction", head_dim, rope_fraction, base)
        self.value_rope = _fraction("value_fraction", head_dim, value_fraction, base)
        self.query = torch.nn.Linear(d_model, d_model, bias=bias)
        self.key = torch.nn.Linear(d_model, d_model, bias=bias)
        self.value = None if key_is_value else torch.nn.Linear(d_model, d_model, bias=bias)
        self.output = torch.nn.Linear(d_model, d_model, bias=bias)
        self.sinks = torch.nn.Parameter(torch.zeros(heads)) if sinks else None

    def forward(self, query: Tensor, key: OptionalTensor = None, value: OptionalTensor = None, *,
                mask: OptionalTensor = None, causal: bool = False, key_lengths: OptionalTensor = None,
                first_query: OptionalInt = None, need_weights: bool = False) -> typing.Any:
        """The output, [batch, queries, d_model], of query, [batch, queries, d_model], key and value, [batch, keys,
        d_model]: key is query if not given, and value is key.

        mask is of bools, true where a query attends to a key, or f32, added to scores; broadcast to [batch, heads,
        queries, keys]. key_lengths, [batch], is how many keys each sequence of a padded batch has. A query without a
        key gets output.bias. Positions count tokens; the last query is at the last key, unless first_query says where
        the first is. With need_weights the weights follow the output, [batch, heads, queries, keys], without a
        gradient.
        """
        if value is not None and self.value is None:
            raise ValueError("value is given, but keys are the values (key_is_value), wanted none")
        key = query if key is None else key
        layout = Layout(first_query, bias=typing.cast(typing.Any, mask), key_lengths=key_lengths, sinks=self.sinks)
        result = attention(self._split(self.query(query)), self._split(self.key(key)),
                           None if self.value is None else self._split(self.value(key if value is None else value)),
                           rope=self.rope, value_rope=self.value_rope, causal=causal, layout=layout,
                           threads=self.threads, key_is_value=self.key_is_value,
                           dropout=self.dropout if self.training else 0.0, need_weights=need_weights)
        context, weights = result if isinstance(result, tuple) else (result, None)
        output = self.output(context.flatten(-2))
        return (output, weights) if need_weights else output

    def _split(self, x: Tensor) -> Tensor:
        """[batch, time, heads, head_dim]."""
        return x.reshape(*x.shape[:-1], self.heads, -1)

    def extra_repr(self) -> str:
        return f"heads={self.heads}, key_is_value={self.key_is_value}, dropout={self.dropout}"


def _fraction(name: str, head_dim: int, fraction: float, base: float) -> typing.Optional[Rope]:
    """A rotation of the first channels of a head; None: of none."""
    channels = int(head_dim * fraction)
    if not 0 <= fraction <= 1 or channels % 2 != 0:
        raise ValueError(f"{name} is {fraction}, which rotates {channels} of {head_dim} channels: wanted an even "
                         "number of them")
    return Rope(head_dim, rotary_dim=channels, base=base) if channels > 0 else None
