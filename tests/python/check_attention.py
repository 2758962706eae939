# SPDX-License-Identifier: Apache-2.0
"""rotary.attention and rotary.Attention against the formula in double precision and its finite differences."""
import concurrent.futures
import dataclasses
import gc
import pickle
import unittest.mock
import warnings

import numpy

import rotary
from harness import Case, has, largest, main, misaligned, numbers, rotated, swapped

BOUND = 2e-6


def softmax_attention(query, key, value, *, rope=None, value_rope=None, causal=False, window=0, scale=None,
                      softcap=0.0, bias=None, first_query=0, first_key=0, query_positions=None, key_positions=None,
                      key_lengths=None, sinks=None, rotate="qkvo"):
    """[batch, time, heads, channels] in double precision: the output and the log-sum-exp."""
    query, key, value = (numpy.asarray(x, "float64") for x in (query, key, value))
    queries, keys = first_query + numpy.arange(query.shape[1]), first_key + numpy.arange(key.shape[1])
    at_query = queries if query_positions is None else query_positions
    at_key = keys if key_positions is None else key_positions
    group = query.shape[2] // key.shape[2]
    if rope and "q" in rotate:
        query = rotated(query, rope.frequencies, at_query)
    if rope and "k" in rotate:
        key = rotated(key, rope.frequencies, at_key)
    if value_rope and "v" in rotate:
        value = rotated(value, value_rope.frequencies, at_key)
    key, value = key.repeat(group, 2), value.repeat(group, 2)
    scores = numpy.einsum("bthd,bshd->bhts", query, key) * (query.shape[-1] ** -0.5 if scale is None else scale)
    scores = softcap * numpy.tanh(scores / softcap) if softcap else scores
    scores = scores if bias is None else scores + bias
    behind = queries[:, None] - keys
    hidden = (behind < 0) | (window and behind >= window) if causal else numpy.zeros_like(behind, bool)
    scores = numpy.where(hidden, -numpy.inf, scores)
    if key_lengths is not None:
        beyond = numpy.arange(key.shape[1]) >= numpy.asarray(key_lengths)[:, None]
        scores = numpy.where(beyond[:, None, None], -numpy.inf, scores)
    sums = numpy.logaddexp.reduce(scores, -1)
    sums = sums if sinks is None else numpy.logaddexp(sums, numpy.asarray(sinks, "float64")[:, None])
    output = numpy.einsum("bhts,bshd->bthd", numpy.exp(scores - sums[..., None]), value)
    if value_rope and "o" in rotate:
        output = rotated(output, value_rope.frequencies, at_query, inverse=True)
    return output, sums


def tensors(batch=2, queries=7, keys=7, heads=4, shared=2, channels=8, dtype="float32"):
    return tuple(numbers(seed, batch, time, number, channels, dtype=dtype)
                 for seed, time, number in ((1, queries, heads), (2, keys, shared), (3, keys, shared)))


ROPE = rotary.Rope(8, base=100.0)
PARTIAL = rotary.Rope(8, rotary_dim=4)


class Numbers(Case):
    def agrees(self, inputs, settings, layout=rotary.Layout(), **reference):
        """Output, log-sum-exp and, by finite differences of the reference, gradients."""
        query, key, _ = inputs
        plan = rotary.Attention(query.shape[2], query.shape[3], key.shape[2], **settings)
        outputs = plan.forward(*inputs, layout)

        def run(*tensors):
            return softmax_attention(*tensors, **settings, **reference)

        wanted, sums = run(*inputs)
        self.close(outputs[0], wanted, BOUND)
        self.close(outputs[1], sums, BOUND)
        gradient = numbers(9, *query.shape)
        gradients = plan.backward(inputs, outputs, gradient, layout)
        for i, got in enumerate(gradients):
            direction = numbers(20 + i, *got.shape).astype("float64")
            step = 1e-5
            moved = [[x + sign * step * direction if j == i else x for j, x in enumerate(inputs)] for sign in (1, -1)]
            slope = ((run(*moved[0])[0] - run(*moved[1])[0]) * gradient).sum() / (2 * step)
            size = numpy.abs(got * direction).sum()
            self.assertTrue(abs((got * direction).sum() - slope) <= 1e-5 * size, f"gradient {i}")

    def test_rotations(self):
        for rope in (None, ROPE):
            for value_rope in (None, ROPE, PARTIAL):
                for causal in (False, True):
                    self.agrees(tensors(), {"rope": rope, "value_rope": value_rope, "causal": causal})

    def test_subsets(self):
        """Each subset of queries, keys, values and outputs that rotates."""
        subsets = ("q", "k", "qk", "v", "qv", "kv", "qkv", "o", "qo", "ko", "qko", "vo", "qvo", "kvo", "qkvo")
        outputs = []
        for rotate in subsets:
            settings = {"rope": ROPE, "value_rope": PARTIAL, "causal": True, "rotate": rotate}
            self.agrees(tensors(), settings)
            outputs.append(rotary.attention(*tensors(), **settings))
            self.assertFalse(any((outputs[-1] == other).all() for other in outputs[:-1]), rotate)
        empty = rotary.Rope(8, rotary_dim=0)
        same = rotary.attention(*tensors(), rope=ROPE, value_rope=empty, rotate="kvo")
        self.assertTrue((same == rotary.attention(*tensors(), rope=ROPE, rotate="k")).all())
        self.assertTrue((rotary.attention(*tensors(), rope=empty, rotate="q") == rotary.attention(*tensors())).all())
        make = rotary.Attention
        self.refuses(ValueError, "rotate is 'vk', wanted one of q, k, qk", make, 4, 8, rope=ROPE, rotate="vk")
        self.refuses(rotary.InvalidArgumentError, "there is no value_rope", make, 4, 8, rope=ROPE, rotate="o")

    def test_settings(self):
        for settings in ({"scale": 0.7}, {"causal": True, "window": 3}, {"softcap": 1.5}):
            self.agrees(tensors(), {"rope": ROPE, **settings})
        self.agrees(tensors(heads=3, shared=1), {"rope": ROPE})
        self.agrees(tensors(shared=4), {"rope": ROPE})

    def test_layouts(self):
        Layout, roper = rotary.Layout, {"rope": ROPE, "value_rope": ROPE}
        causal = {**roper, "causal": True}
        self.agrees(tensors(queries=2), causal, first_query=5)  # the last query is at the last key
        self.agrees(tensors(queries=2), causal, Layout(first_query=1), first_query=1)
        self.agrees(tensors(queries=2), causal, Layout(first_key=3), first_key=3, first_query=8)
        at = numpy.array([[9, 2, 4, 4, 0, 31, 6]] * 2)
        self.agrees(tensors(), causal, Layout(query_positions=at, key_positions=at + 1), query_positions=at,
                    key_positions=at + 1)
        self.agrees(tensors(), roper, Layout(key_lengths=[7, 4]), key_lengths=[7, 4])

    def test_biases(self):
        for shape in ((2, 4, 7, 7), (1, 4, 7, 7), (4, 7, 7), (7, 7), (4, 1, 7), (7,)):
            bias = numbers(6, *shape)
            self.agrees(tensors(), {"rope": ROPE}, rotary.Layout(bias=bias), bias=bias.astype("float64"))
        mask = numbers(7, 2, 1, 7, 7) > 0
        mask[..., 0] = True
        self.agrees(tensors(), {"rope": ROPE}, rotary.Layout(bias=mask), bias=numpy.where(mask, 0, -numpy.inf))

    def test_sinks(self):
        """Of any size, with their gradient."""
        sinks = numpy.array([0.5, 100, -100, 2], "float32")
        causal = {"rope": ROPE, "value_rope": ROPE, "causal": True}
        self.agrees(tensors(), causal, rotary.Layout(sinks=sinks), sinks=sinks)
        plan, inputs, gradient = rotary.Attention(4, 8, 2, **causal), tensors(), numbers(9, 2, 7, 4, 8)
        got = numpy.ones(4, "float32")  # it is added to
        layout = rotary.Layout(sinks=sinks)
        plan.backward(inputs, plan.forward(*inputs, layout), gradient, layout, sinks_gradient=got)
        for head in range(4):
            step = 1e-5 * (numpy.arange(4) == head)
            more, less = (softmax_attention(*inputs, **causal, sinks=sinks + sign * step)[0] for sign in (1, -1))
            # Terms of order 1 in f32 cancel in the sum, so its error is of their size, and not of the sum's.
            self.close(got[head], 1 + ((more - less) * gradient).sum() / 2e-5, 4e-6)
        self.refuses(ValueError, "sinks is float32 [3], wanted numbers [4]", plan.forward, *inputs,
                     rotary.Layout(sinks=sinks[:3]))
        self.refuses(ValueError, "sinks_gradient is float32 [3]", plan.backward, inputs, plan.forward(*inputs, layout),
                     gradient, layout, sinks_gradient=got[:3].copy())

    def test_shared_keys(self):
        """Keys that are the values give what two equal tensors give."""
        query, key, _ = tensors()
        settings = {"rope": ROPE, "value_rope": ROPE, "causal": True}
        shared = rotary.Attention(4, 8, 2, **settings, key_is_value=True)
        apart = rotary.Attention(4, 8, 2, **settings)
        outputs, wanted = shared.forward(query, key), apart.forward(query, key, key)
        self.assertTrue((outputs[0] == wanted[0]).all() and (outputs[1] == wanted[1]).all())
        gradient = numbers(9, *query.shape)
        got = shared.backward((query, key), outputs, gradient)
        both = apart.backward((query, key, key), wanted, gradient)
        self.assertEqual(len(got), 2)
        self.assertTrue((got[0] == both[0]).all())
        self.close(got[1], both[1].astype("float64") + both[2], 1e-6)
        self.refuses(ValueError, "value is given", shared.forward, query, key, key)
        self.refuses(ValueError, "value is missing", apart.forward, query, key)
        part = rotary.Attention(4, 8, 2, key_is_value=True, value_start=2, value_channels=5).forward(query, key)[0]
        self.assertTrue((part[..., :2] == 0).all() and (part[..., 7:] == 0).all() and (part[..., 2:7] != 0).all())

    def test_permuted_biases(self):
        """Axes in any order and direction, and one number for all keys."""
        mask = numbers(7, 7, 4, 2, 7) > 0  # [keys, heads, batch, queries]
        mask[0] = True
        for given in (numbers(6, 7, 4, 2, 7), mask):
            for bias in (given.transpose(2, 1, 3, 0), given.transpose(2, 1, 3, 0)[:, ::-1, ::-1],
                         given.transpose(2, 1, 0, 3)[..., ::-1, :1], given[0, :, :1].transpose(0, 2, 1),
                         given[:, 0, 0].T, given[:, 0, 0, ::-1].T[::2][[0, 1, 2, 3, 0, 1, 2]], given[::-1, 0, 0, 0]):
                if bias.dtype == bool and not (bias | numpy.zeros(7, bool)).any(-1).all():
                    continue  # a query that sees no key has no log-sum-exp
                wanted = numpy.where(bias, 0, -numpy.inf) if bias.dtype == bool else bias.astype("float64")
                self.agrees(tensors(), {"rope": ROPE}, rotary.Layout(bias=bias), bias=wanted)

    def test_masks_of_numbers(self):
        """Zeros and ones are a mask to one and a bias to another: it is asked for by name."""
        query, key, value = tensors()
        visible = numpy.tri(7, dtype="float32")
        for mask in (visible, visible.T, numpy.broadcast_to(visible, (2, 4, 7, 7)), visible[:, 2:3], visible[3]):
            self.refuses(ValueError, "wanted a mask of bools (bias=mask != 0), or additive_mask=bias", rotary.attention,
                         query, key, value, layout=rotary.Layout(bias=mask))
            self.agrees(tensors(), {"rope": ROPE}, rotary.Layout(additive_mask=mask), bias=mask.astype("float64"))
        self.agrees(tensors(), {"rope": ROPE}, rotary.Layout(bias=visible != 0),
                    bias=numpy.where(visible, 0, -numpy.inf))
        # These are no masks: each has one meaning, or both have the same result.
        for bias in (visible * 2, visible - 1, numpy.zeros((7, 7), "float32"), numpy.ones((7, 7), "float32")):
            self.agrees(tensors(), {"rope": ROPE}, rotary.Layout(bias=bias), bias=bias.astype("float64"))
        self.refuses(ValueError, "both given", rotary.attention, query, key, value,
                     layout=rotary.Layout(bias=visible * 2, additive_mask=visible))
        self.refuses(TypeError, "additive_mask is bool, wanted an array of float32", rotary.attention, query, key,
                     value, layout=rotary.Layout(additive_mask=visible != 0))

    def test_a_rotation_of_no_channels(self):
        """It is none, in either place."""
        inputs, none = tensors(), rotary.Rope(8, rotary_dim=0)
        for given, wanted in (({"rope": none}, {}), ({"rope": none, "value_rope": none}, {}),
                              ({"rope": ROPE, "value_rope": none}, {"rope": ROPE}),
                              ({"rope": none, "value_rope": ROPE}, {"value_rope": ROPE})):
            self.assertTrue(numpy.array_equal(rotary.attention(*inputs, **given), rotary.attention(*inputs, **wanted)))
        self.refuses(rotary.InvalidArgumentError, "head_dim", rotary.attention, *inputs,
                     rope=rotary.Rope(16, rotary_dim=0))

    def test_packed_sequences(self):
        inputs, starts = tensors(batch=1, queries=9, keys=9), [0, 2, 2, 9]
        settings = {"rope": ROPE, "value_rope": ROPE, "causal": True}
        plan, layout = rotary.Attention(4, 8, 2, **settings), rotary.Layout(query_starts=starts)
        gradient = numbers(8, 1, 9, 4, 8)
        outputs = plan.forward(*inputs, layout)
        gradients = plan.backward(inputs, outputs, gradient, layout)
        for first, last in ((0, 2), (2, 9)):
            alone = [x[:, first:last] for x in inputs]
            wanted = plan.forward(*alone)
            self.assertTrue(numpy.array_equal(outputs[0][:, first:last], wanted[0]))
            self.assertTrue(numpy.array_equal(outputs[1][..., first:last], wanted[1]))
            for got, by_itself in zip(gradients, plan.backward(tuple(alone), wanted, gradient[:, first:last])):
                self.assertTrue(numpy.array_equal(got[:, first:last], by_itself))
        cross = [inputs[0][:, :5], *(x[:, :9] for x in inputs[1:])]
        layout = rotary.Layout(query_starts=[0, 3, 5], key_starts=[0, 4, 9])
        got = rotary.attention(*cross, layout=layout)
        self.close(got[:, :3], softmax_attention(cross[0][:, :3], cross[1][:, :4], cross[2][:, :4])[0], BOUND)

    def test_f16(self):
        """That of f32, rounded once."""
        inputs = tuple(x.astype("float16") for x in tensors())
        wide = tuple(x.astype("f4") for x in inputs)
        plans = [rotary.Attention(4, 8, 2, rope=ROPE, value_rope=ROPE, causal=True, dtype=name)
                 for name in ("float16", "float32")]
        (got, sums), (wanted, wide_sums) = (plan.forward(*x) for plan, x in zip(plans, (inputs, wide)))
        self.assertEqual(got.dtype, numpy.float16)
        numpy.testing.assert_array_equal(got, wanted.astype("float16"))
        numpy.testing.assert_array_equal(sums, wide_sums)
        gradient = numbers(9, *got.shape).astype("float16")
        gradients = plans[0].backward(inputs, (got, sums), gradient)
        wanted = plans[1].backward(wide, (got.astype("f4"), sums), gradient.astype("f4"))
        for a, b in zip(gradients, wanted):
            self.assertEqual(a.dtype, numpy.float16)
            numpy.testing.assert_array_equal(a, b.astype("float16"))

    def test_bf16(self):
        if not has("ml_dtypes"):
            self.skipTest("there is no ml_dtypes")
        import ml_dtypes
        inputs = tuple(x.astype(ml_dtypes.bfloat16) for x in tensors())
        got = rotary.attention(*inputs, rope=ROPE, value_rope=ROPE, causal=True)
        self.assertEqual(got.dtype, inputs[0].dtype)
        wanted = softmax_attention(*(x.astype("f4") for x in inputs), rope=ROPE, value_rope=ROPE, causal=True)[0]
        self.close(got.astype("f4"), wanted, 2**-6)


class Memory(Case):
    def test_strides_are_passed_on(self):
        fused = numbers(10, 2, 7, 8, 8)  # [batch, time, heads of queries, keys and values, channels]
        views = fused[:, :, :4], fused[:, :, 4:6], fused[:, :, 6:]
        wanted = rotary.attention(*(x.copy() for x in views), rope=ROPE)
        self.assertTrue(numpy.array_equal(rotary.attention(*views, rope=ROPE), wanted))
        heads_first = [x.transpose(0, 2, 1, 3).copy().transpose(0, 2, 1, 3) for x in views]
        out = numpy.zeros((2, 4, 7, 8), "float32").transpose(0, 2, 1, 3)
        self.assertIs(rotary.attention(*heads_first, rope=ROPE, out=out), out)
        self.assertTrue(numpy.array_equal(out, wanted))
        without_batch = rotary.attention(*(x[0] for x in views), rope=ROPE)
        self.assertTrue(numpy.array_equal(without_batch, wanted[0]))

    def test_refusals(self):
        query, key, value = tensors()
        run, plan = rotary.attention, rotary.Attention(4, 8, 2)
        self.refuses(ValueError, "key is float32 [1, 7, 2, 8], wanted float32 [2, 7, 2, 8]", run, query, key[:1], value)
        self.refuses(ValueError, "value is float32 [2, 6, 2, 8]", run, query, key, value[:, :6])
        self.refuses(ValueError, "wanted [tokens, heads, head_dim]", run, query[0, 0], key[0, 0], value[0, 0])
        self.refuses(ValueError, "output is", run, query, key, value, out=query[:1].copy())
        self.refuses(ValueError, "query is float32 [2, 7, 4, 8]", rotary.Attention(2, 8).forward, query, key, value)
        self.refuses(TypeError, "query is float64, wanted float32 or float16 or bfloat16", run,
                     *(x.astype("float64") for x in (query, key, value)))
        self.refuses(rotary.InvalidArgumentError, "heads", run, query, key[:, :, [0, 1, 1]], value[:, :, [0, 1, 1]])
        self.refuses(rotary.InvalidArgumentError, "head_dim", run, query, key, value, rope=rotary.Rope(16))
        self.refuses(rotary.InvalidArgumentError, "window", run, query, key, value, window=-1, causal=True)
        self.refuses(ValueError, "scale is 0", run, query, key, value, scale=0.0)
        for tiny in (1e-46, -1e-46):  # the library would see its default
            self.refuses(ValueError, f"scale is {tiny}, which is 0 in float32", rotary.Attention, 4, 8, scale=tiny)
            self.refuses(ValueError, f"softcap is {tiny}, which is 0 in float32", rotary.Attention, 4, 8, softcap=tiny)
        self.assertEqual(rotary.Attention(4, 8, scale=1e-45, softcap=1e-45).scale, 1e-45)  # the least number above 0
        bad = [({"bias": numbers(1, 7, 6)}, "broadcasts to"),
               ({"key_starts": [0, 7]}, "wanted both"), ({"query_starts": [0, 7]}, "batch is 2"),
               ({"key_lengths": [7]}, "wanted whole numbers [2]"), ({"key_lengths": [7, 8]}, "key_lengths"),
               ({"query_positions": [[0] * 7]}, "wanted whole numbers [2, 7]")]
        for layout, text in bad:
            self.refuses(ValueError, text, run, query, key, value, layout=rotary.Layout(**layout))
        self.refuses(TypeError, "float64", run, query, key, value, layout=rotary.Layout(bias=numpy.zeros((7, 7))))
        outputs = plan.forward(query, key, value)
        self.refuses(ValueError, "window", run, query, key, value, causal=True, window=2**64 + 1)
        self.refuses(ValueError, "first_key", run, query, key, value, layout=rotary.Layout(first_key=2**64))
        for sums in (outputs[1].astype("float64"), outputs[1][:1], numpy.asfortranarray(outputs[1])):
            self.refuses(ValueError, "wanted what forward returned, contiguous float32 [2, 4, 7]", plan.backward,
                         (query, key, value), (outputs[0], sums), outputs[0])
        for sums in (swapped(outputs[1]), misaligned(outputs[1])):
            self.refuses(ValueError, "the log-sum-exp is misaligned or of another byte order", plan.backward,
                         (query, key, value), (outputs[0], sums), outputs[0])
        self.refuses(ValueError, "shares memory", run, query, key, value, out=query)
        self.refuses(ValueError, "output_gradient", plan.backward, (query, key, value), outputs, query[:1])

    def test_sinks_memory(self):
        """Sinks are converted where float32 holds them, and their gradient is written where it may be."""
        query, key, value = tensors()
        sinks = numpy.array([0.5, 100, -100, 2], "float32")
        plan, layout = rotary.Attention(4, 8, 2), rotary.Layout(sinks=sinks)
        wanted = plan.forward(query, key, value, layout)
        for other in (swapped, misaligned):
            given = rotary.Layout(sinks=other(sinks))
            self.assertTrue(numpy.array_equal(plan.forward(query, key, value, given)[0], wanted[0]))
            with unittest.mock.patch.object(rotary._abi, "call") as call:
                plan.forward(query, key, value, given)
            self.assertEqual(call.call_args.args[2]._obj.sinks % 4, 0)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for huge in ([1e300, 0, 0, 0], numpy.array([0, 0, 0, -1e39])):
                self.refuses(ValueError, "wanted ones that float32 holds", plan.forward, query, key, value,
                             rotary.Layout(sinks=huge))
        read_only = numpy.ones(4, "float32")
        read_only.flags.writeable = False
        ones = numpy.ones(4, "float32")
        for gradient, text in ((read_only, "read-only"), (swapped(ones), "another byte order"),
                               (misaligned(ones), "misaligned"), (ones[:3], "contiguous float32 [4]"),
                               (ones.astype("float64"), "contiguous float32 [4]"),
                               (numpy.ones(8, "float32")[::2], "contiguous float32 [4]")):
            before = gradient.copy()
            self.refuses(ValueError, text, plan.backward, (query, key, value), wanted, query, layout,
                         sinks_gradient=gradient)
            self.assertTrue(numpy.array_equal(gradient, before))
        self.refuses(TypeError, "sinks_gradient is list", plan.backward, (query, key, value), wanted, query, layout,
                     sinks_gradient=[1.0] * 4)

    def test_objects(self):
        plan = rotary.Attention(4, 8, 2, rope=ROPE, value_rope=PARTIAL, causal=True)
        other = pickle.loads(pickle.dumps(plan))
        self.assertEqual(other, plan)
        inputs = tensors()
        self.assertTrue(numpy.array_equal(other.forward(*inputs)[0], plan.forward(*inputs)[0]))
        # A plan holds the rotations that it borrows.
        plan = dataclasses.replace(plan, rope=rotary.Rope(8, base=100.0))
        gc.collect()
        self.assertTrue(numpy.array_equal(other.forward(*inputs)[0], plan.forward(*inputs)[0]))

    def test_threads(self):
        inputs = tensors(queries=65, keys=65)
        wanted = rotary.attention(*inputs, rope=ROPE, causal=True, threads=1)
        self.assertTrue(numpy.array_equal(rotary.attention(*inputs, rope=ROPE, causal=True, threads=3), wanted))
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            results = list(pool.map(lambda _: rotary.attention(*inputs, rope=ROPE, causal=True, threads=1), range(32)))
        self.assertTrue(all(numpy.array_equal(result, wanted) for result in results))
        self.assertGreater(largest(rotary.attention(*inputs, causal=True), wanted), 0.01)


if __name__ == "__main__":
    main()
