# SPDX-License-Identifier: Apache-2.0
"""rotary.torch: against PyTorch's own attention, by gradcheck and opcheck, eager and compiled."""
import itertools
import unittest
import warnings

import torch

import rotary
import rotary.torch
from harness import Case, main, numbers

torch.set_num_threads(1)
# The library computes in f32, so finite differences take large steps: their error is some step^2, and rounding divided
# by the step. PyTorch's own operators in f32 need the same.
CHECK = {"eps": 1e-2, "atol": 2e-3, "rtol": 2e-3}
ROPE = rotary.Rope(8, base=100.0)
SCALED = rotary.Rope(8, base=100.0, attention_factor=1.5, xpos_scale=64.0)


def gradcheck(function, inputs, check=torch.autograd.gradcheck):
    with warnings.catch_warnings():  # that the numbers are no doubles
        warnings.simplefilter("ignore")
        return check(function, inputs, **CHECK)


def tensors(batch=2, queries=5, keys=5, heads=4, shared=2, channels=8, dtype=torch.float32):
    shapes = ((batch, queries, heads, channels), *[(batch, keys, shared, channels)] * 2)
    return tuple((torch.tensor(numbers(seed, *shape)).clamp(-2, 2)).to(dtype).requires_grad_()
                 for seed, shape in enumerate(shapes))


def plain(query, key, value, rope=None, value_rope=None, causal=False, bias=None, scale=None, rotate="qkvo"):
    """The same by PyTorch's operators alone; its autograd gives the gradients."""
    def rotated(x, plan, sign=1):
        angle = sign * torch.arange(x.shape[1], dtype=torch.float64)[:, None] * torch.tensor(plan.frequencies)
        cosine, sine = angle.cos().to(x.dtype)[:, None], angle.sin().to(x.dtype)[:, None]
        a, b = x.chunk(2, -1)
        return torch.cat((a * cosine - b * sine, a * sine + b * cosine), -1)

    if rope and "q" in rotate:
        query = rotated(query, rope)
    if rope and "k" in rotate:
        key = rotated(key, rope)
    if value_rope and "v" in rotate:
        value = rotated(value, value_rope)
    query, key, value = (x.transpose(1, 2) for x in (query, key, value))
    output = torch.nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=bias, is_causal=causal,
                                                              scale=scale, enable_gqa=True).transpose(1, 2)
    return rotated(output, value_rope, -1) if value_rope and "o" in rotate else output


class Rotation(Case):
    def test_equals_numpy(self):
        for dtype in (torch.float32, torch.float16):
            x = tensors(dtype=dtype)[0].detach()
            at = torch.tensor([[4, 0, 7, 2, 2], [9, 8, 7, 6, 5]])
            for settings in ({}, {"offset": 7}, {"offsets": torch.tensor([3, 9])}, {"positions": at},
                             {"positions": at[0].float() / 2}, {"role": "key"}):
                named = {name: value.numpy() if isinstance(value, torch.Tensor) else value
                         for name, value in settings.items()}
                for ours, theirs in ((rotary.torch.apply, SCALED.apply), (rotary.torch.inverse, SCALED.inverse)):
                    wanted = torch.tensor(theirs(x.numpy(), **named))
                    self.assertTrue(torch.equal(ours(x, SCALED, **settings), wanted))
                    heads_first = x.transpose(1, 2).contiguous().transpose(1, 2)
                    self.assertTrue(torch.equal(ours(heads_first, SCALED, **settings), wanted))
                    strange = x.transpose(2, 3).contiguous().transpose(2, 3)
                    self.assertTrue(torch.equal(ours(strange, SCALED, **settings), wanted))
        packed = rotary.torch.apply(x[:1], ROPE, starts=[0, 2, 5])
        self.assertTrue(torch.equal(packed, torch.tensor(ROPE.apply(x[:1].numpy(), starts=[0, 2, 5]))))
        brain = tensors(dtype=torch.bfloat16)[0].detach()
        self.close(rotary.torch.apply(brain, ROPE).float(), ROPE.apply(brain.float().numpy()), 2**-8)

    def test_gradients(self):
        x = tensors(queries=3, heads=2)[0]
        cases = itertools.product((ROPE, SCALED), (rotary.torch.apply, rotary.torch.inverse), ("query", "key", "value"))
        for rope, function, role in cases:
            run = lambda x, f=function, rope=rope, role=role: f(x, rope, offset=3, role=role)  # noqa: E731
            self.assertTrue(gradcheck(run, (x,)))
        twice = torch.autograd.gradgradcheck
        self.assertTrue(gradcheck(lambda x: rotary.torch.inverse(x, SCALED) ** 2, (x[:1],), twice))

    def test_operator(self):
        x, at = tensors()[0], torch.arange(5)
        torch.library.opcheck(torch.ops.rotary.rotate, (x, ROPE.key, "query", "forward", at, 3, None, None))
        torch.library.opcheck(torch.ops.rotary.rotate, (x.transpose(1, 2), SCALED.key, "key", "inverse", None, 0,
                                                        torch.tensor([1, 2]), None))

    def test_refusals(self):
        x = tensors()[0].detach()
        self.refuses(TypeError, "float64", rotary.torch.apply, x.double(), ROPE)
        self.refuses(ValueError, "8 channels, wanted head_dim, 4", rotary.torch.apply, x, rotary.Rope(4))
        self.refuses(rotary.InvalidArgumentError, "starts", rotary.torch.apply, x[:1], ROPE, starts=[0, 9])


class Attention(Case):
    def test_equals_pytorch(self):
        bias = torch.tensor(numbers(5, 2, 4, 5, 5))
        for settings in ({}, {"rope": ROPE}, {"rope": ROPE, "value_rope": ROPE}, {"rope": ROPE, "causal": True},
                         {"value_rope": ROPE, "causal": True, "scale": 0.7}, {"rope": ROPE, "bias": bias},
                         {"bias": bias > -1}, *({"rope": ROPE, "value_rope": ROPE, "causal": True, "rotate": rotate}
                                                for rotate in ("q", "k", "v", "o", "kv", "qko", "vo"))):
            ours, theirs = tensors(), tensors()
            mask = settings.get("bias")
            layout = rotary.Layout(bias=mask)
            got = rotary.torch.attention(*ours, **{k: v for k, v in settings.items() if k != "bias"}, layout=layout)
            wanted = plain(*theirs, **settings)
            gradient = torch.tensor(numbers(7, *got.shape))
            got.backward(gradient)
            wanted.backward(gradient)
            self.close(got.detach(), wanted.detach(), 2e-6)
            for a, b in zip(ours, theirs):
                self.close(a.grad, b.grad, 5e-6)

    def test_sinks(self):
        """PyTorch's softmax with one more score a head, as gpt-oss has it."""
        (query, key, value), theirs = tensors(), tensors()
        sinks, wanted_sinks = (torch.tensor([0.5, -1, 2, 0], requires_grad=True) for _ in range(2))
        got = rotary.torch.attention(query, key, value, layout=rotary.Layout(sinks=sinks))
        q, k, v = (x.transpose(1, 2) for x in theirs)
        k, v = k.repeat_interleave(2, 1), v.repeat_interleave(2, 1)
        scores = torch.cat((q @ k.transpose(2, 3) * 8**-0.5, wanted_sinks[:, None, None].expand(2, -1, 5, 1)), -1)
        wanted = (scores.softmax(-1)[..., :-1] @ v).transpose(1, 2)
        gradient = torch.tensor(numbers(7, *got.shape))
        got.backward(gradient)
        wanted.backward(gradient)
        self.close(got.detach(), wanted.detach(), 2e-6)
        for a, b in zip((query, key, value, sinks), (*theirs, wanted_sinks)):
            self.close(a.grad, b.grad, 5e-6)
        for wrong in (torch.ones(4, dtype=torch.bool), torch.ones(4, dtype=torch.complex64)):
            self.refuses(ValueError, "wanted numbers [4]", rotary.torch.attention, query, key, value,
                         layout=rotary.Layout(sinks=wrong))

    def test_keys_as_values(self):
        """With and without the rotation back of the output, and without a rotation; the gradient of both is one."""
        for settings in ({"rope": ROPE, "value_rope": ROPE, "causal": True}, {"rope": ROPE}, {}):
            (query, key, _), theirs = tensors(), tensors()
            got = rotary.torch.attention(query, key, key_is_value=True, **settings)
            if settings.get("value_rope") or not settings:
                wanted = plain(theirs[0], theirs[1], theirs[1], **settings)
            else:  # the rotated key, and nothing back
                rotated = rotary.torch.apply(theirs[1], ROPE)
                wanted = plain(rotary.torch.apply(theirs[0], ROPE), rotated, rotated)
            gradient = torch.tensor(numbers(7, *got.shape))
            got.backward(gradient)
            wanted.backward(gradient)
            self.close(got.detach(), wanted.detach(), 2e-6)
            for a, b in zip((query, key), theirs):
                self.close(a.grad, b.grad, 5e-6)
            arrays = [x.detach().numpy() for x in (query, key)]
            by_numpy = rotary.attention(*arrays, key_is_value=True, **settings)
            self.assertTrue(torch.equal(got.detach(), torch.tensor(by_numpy)))

    def test_f16(self):
        """As in f32, but for roundings of what is stored."""
        halves = tuple(x.detach().half().requires_grad_() for x in tensors())
        floats = tuple(x.detach().float().requires_grad_() for x in halves)
        settings = {"rope": ROPE, "value_rope": ROPE, "causal": True}
        got, wanted = rotary.torch.attention(*halves, **settings), rotary.torch.attention(*floats, **settings)
        self.assertTrue(torch.equal(got, wanted.half()))
        gradient = torch.tensor(numbers(7, *got.shape)).half()
        got.backward(gradient)
        wanted.backward(gradient.float())
        for a, b in zip(halves, floats):
            self.assertEqual(a.grad.dtype, torch.float16)
            self.close(a.grad.float(), b.grad, 4e-3)  # the output, which gradients are made of, is rounded too

    def test_weights(self):
        """Those of the formula: grouped heads, masks, windows, sinks, positions; more keys than a head has channels."""
        bias, sinks = torch.tensor(numbers(5, 2, 4, 5, 19)), torch.tensor([0.5, -1, 2, 0])
        inputs = tensors(keys=19)
        for settings in ({}, {"causal": True, "window": 4, "rope": ROPE},
                         {"layout": rotary.Layout(bias=bias, sinks=sinks)}):
            got, weights = rotary.torch.attention(*inputs, **settings, need_weights=True)
            self.assertEqual((weights.shape, weights.requires_grad), ((2, 4, 5, 19), False))
            at, standing = torch.arange(14, 19), torch.arange(19)
            q, k = (rotary.torch.apply(x, ROPE, positions=p) if "rope" in settings else x
                    for x, p in zip(inputs, (at, standing)))
            scores = torch.einsum("bthd,bshd->bhts", q, k.repeat_interleave(2, 2)) * 8**-0.5
            if "window" in settings:
                apart = at[:, None] - standing
                scores = scores.masked_fill((apart < 0) | (apart >= 4), -torch.inf)
            if "layout" in settings:
                scores = torch.cat((scores + bias, sinks[:, None, None].expand(2, -1, 5, 1)), -1)
            self.close(weights, scores.softmax(-1)[..., :19].detach(), 2e-6)
            values = inputs[2].repeat_interleave(2, 2)
            self.close(got.detach(), torch.einsum("bhts,bshd->bthd", weights, values).detach(), 2e-6)
        for rotate, shared in (("q", False), ("kv", False), ("vo", False), ("v", True), ("o", True)):
            settings = {"rope": ROPE, "value_rope": ROPE, "rotate": rotate, "key_is_value": shared}
            values = None if shared else inputs[2]
            weights = rotary.torch.attention(*inputs[:2], values, **settings, need_weights=True)[1]
            q = rotary.torch.apply(inputs[0], ROPE, offset=14) if "q" in rotate else inputs[0]
            k = rotary.torch.apply(inputs[1], ROPE) if "k" in rotate or (shared and "v" in rotate) else inputs[1]
            scores = torch.einsum("bthd,bshd->bhts", q, k.repeat_interleave(2, 2)) * 8**-0.5
            self.close(weights, scores.softmax(-1).detach(), 2e-6)
        for half in (torch.bfloat16, torch.float16):
            weights = rotary.torch.attention(*(x.detach().to(half) for x in inputs), need_weights=True)[1]
            self.assertEqual(weights.dtype, torch.float32)
            self.close(weights.sum(-1), torch.ones(2, 4, 5), 1e-6)

    def test_dropout(self):
        """The weights say which are dropped: PyTorch's autograd with that mask gives the output and the gradients."""
        settings = {"rope": ROPE, "value_rope": ROPE, "causal": True, "dropout": 0.25}
        ours, theirs = tensors(queries=40, keys=40), tensors(queries=40, keys=40)
        torch.manual_seed(5)
        got, weights = rotary.torch.attention(*ours, **settings, need_weights=True)
        torch.manual_seed(5)
        self.assertTrue(torch.equal(got, rotary.torch.attention(*ours, **settings)))
        self.assertFalse(torch.equal(got, rotary.torch.attention(*ours, **settings)))
        seen = torch.ones(40, 40, dtype=torch.bool).tril()
        dropped = (weights[..., seen] == 0).float().mean().item()
        self.assertTrue(0.2 < dropped < 0.3, dropped)
        q, k, v = (rotary.torch.apply(x, ROPE) for x in theirs)
        k, v = k.repeat_interleave(2, 2), v.repeat_interleave(2, 2)
        scores = (torch.einsum("bthd,bshd->bhts", q, k) * 8**-0.5).masked_fill(~seen, -torch.inf)
        kept = scores.softmax(-1) * (weights != 0) / 0.75
        self.close(weights, kept.detach(), 5e-6)
        wanted = rotary.torch.inverse(torch.einsum("bhts,bshd->bthd", kept, v), ROPE)
        gradient = torch.tensor(numbers(7, *got.shape))
        got.backward(gradient)
        wanted.backward(gradient)
        self.close(got.detach(), wanted.detach(), 5e-6)
        for a, b in zip(ours, theirs):
            self.close(a.grad, b.grad, 1e-5)

    def test_bf16(self):
        ours, theirs = tensors(dtype=torch.bfloat16), tensors()
        settings = {"rope": ROPE, "value_rope": ROPE, "causal": True}
        got, wanted = rotary.torch.attention(*ours, **settings), plain(*theirs, **settings)
        self.assertEqual(got.dtype, torch.bfloat16)
        got.sum().backward()
        wanted.sum().backward()
        self.close(got.detach().float(), wanted.detach(), 2**-6)
        for a, b in zip(ours, theirs):
            self.assertEqual(a.grad.dtype, torch.bfloat16)
            self.close(a.grad.float(), b.grad, 2**-5)

    def test_layouts_equal_numpy(self):
        at = torch.tensor([[9, 2, 4, 0, 6]] * 2)
        for members, sizes in (({"first_query": 2, "first_key": 1}, {}), ({}, {"queries": 2}),
                               ({"query_positions": at, "key_positions": at + 1}, {}),
                               ({"key_lengths": torch.tensor([5, 2])}, {}),
                               ({"query_starts": torch.tensor([0, 2, 5])}, {"batch": 1}),
                               ({"query_starts": [0, 2, 4], "key_starts": [0, 1, 5]}, {"batch": 1, "queries": 4})):
            inputs = tensors(**sizes)
            named = {k: v.numpy() if isinstance(v, torch.Tensor) else v for k, v in members.items()}
            settings = {"rope": ROPE, "causal": "key_starts" not in members, "window": 0, "softcap": 3.0}
            got = rotary.torch.attention(*inputs, **settings, layout=rotary.Layout(**members))
            arrays = [x.detach().numpy() for x in inputs]
            made = rotary.Attention(4, 8, 2, **settings)
            outputs = made.forward(*arrays, rotary.Layout(**named))
            self.assertTrue(torch.equal(got.detach(), torch.tensor(outputs[0])), members)
            gradient = numbers(3, *got.shape)
            got.backward(torch.tensor(gradient))
            wanted = made.backward(tuple(arrays), outputs, gradient, rotary.Layout(**named))
            for x, by_numpy in zip(inputs, wanted):
                self.assertTrue(torch.equal(x.grad, torch.tensor(by_numpy)), members)

    def test_masks_of_numbers(self):
        """As on arrays: zeros and ones are added only where that is said, in the backward pass too."""
        visible = torch.ones(5, 5).tril()
        run = rotary.torch.attention
        self.refuses(ValueError, "wanted a mask of bools", run, *tensors(), layout=rotary.Layout(bias=visible))
        self.refuses(ValueError, "both given", run, *tensors(),
                     layout=rotary.Layout(bias=visible, additive_mask=visible))
        for layout, mask in ((rotary.Layout(additive_mask=visible.t()), visible.t()),
                             (rotary.Layout(bias=visible != 0), visible != 0)):
            ours, theirs = tensors(), tensors()
            got, wanted = run(*ours, rope=ROPE, layout=layout), plain(*theirs, rope=ROPE, bias=mask)
            self.close(got.detach(), wanted.detach(), 2e-6)
            got.sum().backward()
            wanted.sum().backward()
            for a, b in zip(ours, theirs):
                self.close(a.grad, b.grad, 5e-6)

    def test_a_rotation_of_no_channels(self):
        none = rotary.Rope(8, rotary_dim=0)
        inputs = tensors()
        self.assertTrue(torch.equal(rotary.torch.attention(*inputs, rope=none, value_rope=none),
                                    rotary.torch.attention(*inputs)))
        for kind in (torch.float32, torch.bfloat16):
            x = inputs[0].detach().to(kind).requires_grad_()
            for function in (rotary.torch.apply, rotary.torch.inverse):
                got = function(x, none, offset=3)
                self.assertTrue(torch.equal(got, x))
                self.assertTrue(torch.equal(torch.autograd.grad(got.sum(), x)[0], torch.ones_like(x)))

    def test_strides(self):
        inputs = tensors()
        wanted = rotary.torch.attention(*inputs, rope=ROPE).detach()
        heads_first = [x.detach().transpose(1, 2).contiguous().requires_grad_() for x in inputs]
        got = rotary.torch.attention(*(x.transpose(1, 2) for x in heads_first), rope=ROPE)
        self.assertTrue(torch.equal(got.detach(), wanted))
        got.sum().backward()  # a gradient whose strides are 0
        self.assertTrue(all(torch.isfinite(x.grad).all() and x.grad.abs().sum() > 0 for x in heads_first))
        strange = [x.detach().transpose(2, 3).contiguous().transpose(2, 3) for x in inputs]
        self.assertTrue(torch.equal(rotary.torch.attention(*strange, rope=ROPE), wanted))
        without_batch = rotary.torch.attention(*(x.detach()[0] for x in inputs), rope=ROPE)
        self.assertTrue(torch.equal(without_batch, wanted[0]))

    def test_gradients(self):
        for settings in ({"rope": ROPE, "causal": True}, {"rope": ROPE, "value_rope": ROPE, "softcap": 2.0},
                         {"rope": SCALED, "window": 2, "causal": True}):
            run = lambda *inputs, named=settings: rotary.torch.attention(*inputs, **named)  # noqa: E731
            inputs = tensors(batch=1, queries=4, keys=4, heads=2, shared=1)
            self.assertTrue(gradcheck(run, inputs))

    def test_operator(self):
        inputs = tensors()
        rest = (ROPE.key, ROPE.key, True, 0, None, 0.0, 0, None, 0)
        torch.library.opcheck(torch.ops.rotary.attention, (*inputs, *[None] * 8, *rest))
        bias, lengths = torch.zeros(5, 5), torch.tensor([5, 3])
        torch.library.opcheck(torch.ops.rotary.attention, (*inputs, bias, None, None, lengths, None, None,
                                                           torch.ones(4), torch.tensor([7]), *rest, False, False, 0.25))
        shared = (*inputs[:2], None, *[None] * 8, *rest, False, True)
        torch.library.opcheck(torch.ops.rotary.attention, shared)

    def test_refusals(self):
        inputs = tensors()
        run = rotary.torch.attention
        learned = rotary.Layout(bias=torch.zeros(5, 5, requires_grad=True))
        self.refuses(ValueError, "detach it", run, *inputs, layout=learned)
        self.refuses(ValueError, "float16", run, inputs[0].detach().half(), *inputs[1:])
        self.refuses(ValueError, "value is given, but keys are the values", run, *inputs, key_is_value=True)
        self.refuses(ValueError, "value is missing", run, *inputs[:2])
        self.refuses(rotary.InvalidArgumentError, "attention factor of 1.5", run, *inputs[:2], rope=SCALED,
                     key_is_value=True)
        self.refuses(rotary.InvalidArgumentError, "dropout", run, *inputs, dropout=1.0)
        self.refuses(ValueError, "float64", run, *(x.detach().double() for x in inputs))
        self.refuses(ValueError, "key is float32 [1, 5, 2, 8]", run, inputs[0], inputs[1][:1], inputs[2])
        with torch.no_grad():
            output, sums = torch.ops.rotary.attention(*inputs, *[None] * 8, "", "", False, 0, None, 0.0, 0, None, 0)
            self.refuses(ValueError, "log-sum-exp", torch.ops.rotary.attention_backward, output, output, sums[:1],
                         *inputs, *[None] * 8, "", "", False, 0, None, 0.0, 0, None, 0)
        gradient, = torch.autograd.grad(run(*inputs).sum(), inputs[:1], create_graph=True)
        self.refuses(RuntimeError, "autograd", gradient.sum().backward)


def by_formula(module, fractions, query, key, value, mask):
    """RotaryAttention by PyTorch's operators alone, [batch, time, d_model]; its autograd gives the gradients. As in the
    published class, the first channels of a head rotate in half-split pairs, and the weighted sum rotates back."""
    def rotate(x, fraction, sign=1):
        channels = int(x.shape[-1] * fraction)
        front, rest = x[..., :channels], x[..., channels:]
        frequencies = 10000.0 ** (-torch.arange(0, channels, 2) / max(channels, 1))
        angle = torch.outer(torch.arange(x.shape[1]).double(), frequencies)
        cosine, sine = angle.cos().float()[:, None], sign * angle.sin().float()[:, None]
        a, b = front.chunk(2, -1) if channels else (front, front)
        return torch.cat((a * cosine - b * sine, b * cosine + a * sine, rest), -1) if channels else x

    def split(x):
        return x.view(*x.shape[:2], module.heads, -1)

    q, k = split(module.query(query)), rotate(split(module.key(key)), fractions[0])
    v = k if module.key_is_value else rotate(split(module.value(value)), fractions[1])
    scores = torch.einsum("bihd,bjhd->bhij", rotate(q, fractions[0]), k) / q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf) if mask.dtype == torch.bool else scores + mask
    if module.sinks is not None:
        scores = torch.cat((scores, module.sinks[:, None, None].expand(scores.shape[0], -1, scores.shape[2], 1)), -1)
    weights = scores.softmax(-1)[..., :key.shape[1]]
    x = rotate(torch.einsum("bhij,bjhd->bihd", weights, v), fractions[1], -1)
    return module.output(x.flatten(-2)), weights


class Module(Case):
    """rotary.torch.RotaryAttention against the same class written in PyTorch."""

    def agrees(self, module, fractions, inputs, mask, causal=False):
        seen = mask if not causal else torch.ones(inputs[0].shape[1], inputs[1].shape[1], dtype=torch.bool).tril()
        values = inputs[2] if module.value is not None else None
        got, weights = module(inputs[0], inputs[1], values, mask=mask, causal=causal, need_weights=True)
        wanted, by_hand = by_formula(module, fractions, *inputs, seen)
        self.close(got.detach(), wanted.detach(), 5e-6)
        self.close(weights, by_hand.detach(), 5e-6)
        gradient = torch.tensor(numbers(3, *got.shape))
        used = [x for x in inputs if x is not inputs[2] or module.value is not None] + list(module.parameters())
        ours, theirs = (torch.autograd.grad((x * gradient).sum(), used) for x in (got, wanted))
        for a, b in zip(ours, theirs):
            # A bias of keys has no gradient but rounding, unless it is one of values.
            self.assertTrue((a - b).abs().max() <= 2e-5 * max(b.abs().max(), gradient.abs().max()))

    def test_fractions_and_masks(self):
        torch.manual_seed(1)
        inputs = [torch.tensor(numbers(seed, 2, 7, 32)).clamp(-2, 2).requires_grad_() for seed in range(3)]
        diagonal, some = torch.eye(7, dtype=torch.bool), torch.rand(2, 1, 7, 7) < 0.5
        masks = [None, torch.ones(7, 7, dtype=torch.bool).tril(), some | diagonal,
                 torch.tensor([7, 4])[:, None, None, None] > torch.arange(7), torch.tensor(numbers(9, 1, 4, 7, 7))]
        fractions = (0, 0.25, 0.5, 1)
        for rope, value, mask in itertools.product(fractions, fractions, masks):
            self.agrees(rotary.torch.RotaryAttention(32, 4, rope, value), (rope, value), inputs, mask)
        for rope, back, sinks in itertools.product(fractions, (False, True), (False, True)):
            module = rotary.torch.RotaryAttention(32, 4, rope, rope if back else 0, key_is_value=True, sinks=sinks)
            self.agrees(module, (rope, rope if back else 0), inputs, masks[2])
            self.agrees(module, (rope, rope if back else 0), inputs, None, causal=True)

    def test_self_attention_and_dropout(self):
        x = torch.tensor(numbers(1, 2, 9, 32))
        module = rotary.torch.RotaryAttention(32, 4, dropout=0.5, sinks=True)
        self.assertTrue(torch.equal(module.eval()(x, causal=True), module(x, x, x, causal=True)))
        torch.manual_seed(2)
        dropped, weights = module.train()(x, need_weights=True)
        self.assertTrue(0.3 < (weights == 0).float().mean().item() < 0.7)
        self.assertFalse(torch.equal(dropped, module(x)))
        padded = module.eval()(x, key_lengths=torch.tensor([9, 5]))
        self.close(padded[1].detach(), module(x[1:], x[1:, :5], mask=None, first_query=0)[0].detach(), 1e-5)
        self.assertEqual(sorted(module.state_dict())[-1], "value.weight")

    def test_refusals(self):
        make = rotary.torch.RotaryAttention
        self.refuses(ValueError, "heads that divide it", make, 30, 4)
        self.refuses(ValueError, "rope_fraction is 0.4, which rotates 3 of 8 channels", make, 32, 4, 0.4)
        self.refuses(ValueError, "value_fraction is 0.5 with key_is_value", make, 32, 4, 1.0, 0.5, True)
        x = torch.zeros(1, 3, 32)
        self.refuses(ValueError, "value is given", make(32, 4, key_is_value=True), x, x, x)


class Compiled(Case):
    """One graph, without breaks; the operators give the same bits."""

    def agrees(self, function, inputs, **compiled):
        wanted = function(*inputs)
        gradients = torch.autograd.grad(wanted.square().sum(), inputs)
        got = torch.compile(function, fullgraph=True, **compiled)(*inputs)
        self.assertTrue(torch.equal(got, wanted))
        for a, b in zip(torch.autograd.grad(got.square().sum(), inputs), gradients):
            self.assertTrue(torch.equal(a, b))

    def test_graphs(self):
        def roper(query, key, value):
            return rotary.torch.attention(query, key, value, rope=ROPE, value_rope=ROPE, causal=True)

        def layer(query, key, value):
            at = torch.arange(query.shape[1]) * 2
            query, key = rotary.torch.apply(query, SCALED, positions=at), rotary.torch.apply(key, SCALED, role="key")
            layout = rotary.Layout(bias=torch.zeros(query.shape[1], key.shape[1]), key_lengths=[5, 4])
            return rotary.torch.inverse(rotary.torch.attention(query, key, value, layout=layout), SCALED)

        def shared(query, key, value):
            return rotary.torch.attention(query, key, rope=ROPE, value_rope=ROPE, key_is_value=True) * value.sum()

        for function in (roper, layer, shared):
            self.agrees(function, tensors(), backend="aot_eager")
        self.agrees(roper, tensors(queries=6, keys=6), backend="aot_eager", dynamic=True)
        module = rotary.torch.RotaryAttention(32, 4, 0.5, 0.5, sinks=True)
        self.agrees(lambda x: module(x, causal=True), (torch.tensor(numbers(1, 2, 5, 32)).requires_grad_(),),
                    backend="aot_eager")

    def test_inductor(self):
        def model(query, key, value):
            return torch.nn.functional.gelu(rotary.torch.attention(query * 2, key, value, rope=ROPE, causal=True)) + 1

        inputs = tensors()
        wanted = model(*inputs)
        try:
            got = torch.compile(model, fullgraph=True)(*inputs)
        except RuntimeError as error:  # it compiles C++
            if "compiler" in str(error).lower():
                raise unittest.SkipTest("inductor finds no C++ compiler") from None
            raise
        self.close(got.detach(), wanted.detach(), 1e-6)
        for a, b in zip(torch.autograd.grad(got.sum(), inputs), torch.autograd.grad(wanted.sum(), inputs)):
            self.close(a, b, 1e-6)


if __name__ == "__main__":
    main()
