# SPDX-License-Identifier: Apache-2.0
"""rotary.Rope: what it computes, from which memory, and what it refuses."""
import concurrent.futures
import copy
import dataclasses
import gc
import pickle
import unittest.mock

import numpy

import rotary
from harness import Case, has, largest, main, misaligned, numbers, rotated, swapped

BOUND = 1e-6


def formula(channels, base=10000.0):
    return base ** (-numpy.arange(0, channels, 2) / channels)


def can_run(isa):
    try:
        rotary.Rope(8, isa=isa)
    except rotary.UnsupportedError:
        return False
    return True


class Numbers(Case):
    def test_pairings_spans_and_shapes(self):
        for pairing in ("half", "interleaved"):
            for settings in ({}, {"rotary_dim": 8}, {"rotary_dim": 8, "rotary_start": 16}, {"base": 500.0}):
                rope = rotary.Rope(24, pairing=pairing, **settings)
                wanted = formula(settings.get("rotary_dim", 24), settings.get("base", 10000.0))
                self.close(rope.frequencies, wanted, 1e-14)
                x = numbers(1, 2, 9, 3, 24)
                y = rotated(x, wanted, numpy.arange(9), pairing, settings.get("rotary_start", 0))
                self.close(rope.apply(x), y, BOUND)
                self.close(rope.apply(x[0]), y[0], BOUND)
                self.close(rope.apply(x[1, :, 2]), y[1, :, 2], BOUND)
                self.close(rope.inverse(rope.apply(x)), x, BOUND)
                self.assertGreater(largest(rope.apply(x), x), 0.1)

    def test_no_channel(self):
        """A rotary_dim of 0 rotates nothing, to the bit; none is the whole head."""
        x = numbers(1, 2, 5, 3, 8)
        x[0, 1, 0, :4] = numpy.inf, -numpy.inf, numpy.nan, -0.0
        same = {"err_msg": "a rotation of no channels changes something", "strict": True}
        for rope in (rotary.Rope(8, rotary_dim=0), rotary.Rope(8, rotary_dim=0, base=500.0, pairing="interleaved"),
                     rotary.Rope.from_key(rotary.Rope(8, rotary_dim=0).key),
                     rotary.Rope.from_config({"head_dim": 8}, rotary_dim=0)):
            self.assertEqual((rope.rotary_dim, rope.frequencies.shape, rope.position_axes), (0, (0,), 1))
            self.assertEqual((rope.magnitude, rope.softmax_factor), (1.0, 1.0))
            for kind in ("float32", "float16"):
                for view in (x, x[0], x[:, ::-1], x.transpose(0, 2, 1, 3)):
                    view = view.astype(kind, copy=False)
                    for got in (rope.apply(view, offset=3), rope.inverse(view, role="key"),
                                rope.apply(view, positions=numpy.linspace(0, 9, view.shape[-3], dtype="float32"))):
                        numpy.testing.assert_array_equal(numpy.signbit(got), numpy.signbit(view), **same)
                        numpy.testing.assert_array_equal(got, view, **same)
            half = numpy.empty(x.shape, "float16")
            numpy.testing.assert_array_equal(rope.apply(x, out=half), x.astype("float16"))
            fused = numpy.zeros((2, 5, 2, 3, 8), "float32")
            numpy.testing.assert_array_equal(rope.apply(x, out=fused[:, :, 1]), x)
            numpy.testing.assert_array_equal(fused[:, :, 0], 0)
            self.assertIs(rope.apply(x, out=x), x)
            self.refuses(ValueError, "wanted head_dim, 8", rope.apply, x[..., :7])
            self.refuses(ValueError, "wanted [5] or [2, 5]", rope.apply, x, positions=[1, 2, 3])
            self.assertNotEqual(rope, rotary.Rope(8))
            self.assertEqual(pickle.loads(pickle.dumps(rope)), rope)
        if has("ml_dtypes"):
            import ml_dtypes
            brain = x.astype(ml_dtypes.bfloat16)
            numpy.testing.assert_array_equal(rope.apply(brain), brain)
            numpy.testing.assert_array_equal(rope.apply(brain, out=numpy.empty(x.shape, "f4")), brain.astype("f4"))
        self.assertEqual(rotary.Rope(7, rotary_dim=0).head_dim, 7)
        whole = rotary.Rope(8, rotary_dim=None)
        self.assertEqual((whole, len(whole.frequencies)), (rotary.Rope(8), 4))
        # What would have an effect has none.
        for settings in ({"scaling": "linear", "factor": 2.0}, {"attention_factor": 2.0}, {"xpos_scale": 512.0},
                         {"axes": "sections", "sections": (0,)}):
            self.refuses(rotary.InvalidArgumentError, "leave it out", rotary.Rope, 8, rotary_dim=0, **settings)
        self.refuses(ValueError, "wanted 0, one for each pair", rotary.Rope, 8, rotary_dim=0, pair_factors=[1.0])
        self.refuses(ValueError, "head_dim", rotary.Rope, 0, rotary_dim=0)
        self.refuses(ValueError, "base", rotary.Rope, 8, rotary_dim=0, base=-1.0)
        # What another rotation checks.
        for settings in ({"threads": 99999}, {"rotary_start": 9}, {"table_positions": -1}):
            self.refuses(rotary.InvalidArgumentError, next(iter(settings)), rotary.Rope, 8, rotary_dim=0, **settings)
        missing = [isa for isa in ("neon", "avx2") if not can_run(isa)]  # of the two no machine has both
        self.assertTrue(missing)
        for isa in missing:
            self.refuses(rotary.UnsupportedError, isa, rotary.Rope, 8, rotary_dim=0, isa=isa)
        none = rotary.Rope(8, rotary_dim=0)
        for rope in (none, rotary.Rope(8)):
            self.refuses(rotary.InvalidArgumentError, "starts", rope.apply, x[:1], starts=[0, 9])
            self.refuses(rotary.InvalidArgumentError, "batch is 2", rope.apply, x, starts=[0, 5])
            self.refuses(rotary.InvalidArgumentError, "wanted a finite number", rope.apply, x,
                         positions=numpy.float32([0, 1, numpy.nan, 3, 4]))
            overlapping = numpy.lib.stride_tricks.as_strided(x.copy(), x.shape, (480, 0, 32, 4))
            self.refuses(rotary.InvalidArgumentError, "vectors overlap", rope.apply, x, out=overlapping)
        self.assertEqual(rotary.Rope(8, rotary_dim=0, pair_factors=(), table_positions=2**40).magnitude, 1.0)
        self.assertEqual(len(rotary.Rope(8, rotary_dim=0, inverse_frequencies=()).frequencies), 0)
        numpy.testing.assert_array_equal(none.apply(x[:1], starts=[0, 2, 5], offsets=[1, 2]), x[:1])
        # A share is a rotary_dim, unless the scaling has one.
        self.refuses(ValueError, "rotary_dim says how many channels rotate", rotary.Rope, 8, rotary_fraction=0.25)
        for scaling in ("none", "proportional"):
            self.refuses(ValueError, "rotary_fraction is 0, wanted a share above 0; rotary_dim=0 rotates none",
                         rotary.Rope, 8, scaling=scaling, rotary_fraction=0.0)

    def test_types(self):
        rope, x = rotary.Rope(16), numbers(2, 5, 2, 16)
        half = x.astype("float16")
        self.assertEqual(rope.apply(half).dtype, numpy.float16)
        self.close(rope.apply(half), rotated(half, rope.frequencies, numpy.arange(5)), 2**-11)
        if has("ml_dtypes"):
            import ml_dtypes
            brain = x.astype(ml_dtypes.bfloat16)
            self.assertEqual(rope.apply(brain).dtype, brain.dtype)
            self.close(rope.apply(brain), rotated(brain.astype("f4"), rope.frequencies, numpy.arange(5)), 2**-8)

    def test_positions(self):
        rope, x = rotary.Rope(8), numbers(3, 2, 5, 1, 8)
        wanted = formula(8)
        at = numpy.array([[4, 0, 70000, 2, 2], [9, 8, 7, 6, 5]])
        self.close(rope.apply(x, offset=7), rotated(x, wanted, numpy.arange(5) + 7), BOUND)
        self.close(rope.apply(x, offset=1, offsets=[10, 20]),
                   rotated(x, wanted, numpy.arange(5) + [[11], [21]]), BOUND)
        for kind in ("int64", "int32", "float32"):
            self.close(rope.apply(x, positions=at.astype(kind)), rotated(x, wanted, at), BOUND)
            self.close(rope.apply(x, positions=at[1].astype(kind)), rotated(x, wanted, at[1]), BOUND)
        self.close(rope.apply(x, positions=numpy.float32([0.5, 1, 1.5, 2, 2.5])),
                   rotated(x, wanted, [0.5, 1, 1.5, 2, 2.5]), BOUND)
        self.close(rope.apply(x[:1], starts=[0, 2, 5]), rotated(x[:1], wanted, [0, 1, 0, 1, 2]), BOUND)
        for kind in ("int64", "int32", "float32"):
            for other in (swapped, misaligned):
                self.assertTrue(numpy.array_equal(rope.apply(x, positions=other(at.astype(kind))),
                                                  rope.apply(x, positions=at.astype(kind))), (kind, other))

    def test_the_library_gets_native_positions(self):
        """Some processors cannot read others."""
        rope, x = rotary.Rope(8), numbers(3, 1, 5, 1, 8)
        given = {"positions": numpy.arange(5), "offsets": numpy.array([1, 2]), "starts": numpy.int32([0, 2, 5])}
        for other in (misaligned, swapped):
            with unittest.mock.patch.object(rotary._abi, "call") as call:
                rope.apply(x, **{name: other(entries) for name, entries in given.items()})
            places = call.call_args.args[2]._obj.positions
            self.assertEqual([places.array % 8, places.offsets % 8, places.starts % 4], [0, 0, 0])

    def test_several_axes(self):
        rope, x = rotary.Rope(8, axes="sections", sections=(1, 3)), numbers(4, 2, 3, 1, 8)
        self.assertEqual(rope.position_axes, 2)
        at = numpy.array([[[5, 1, 2], [3, 4, 5]], [[0, 7, 8], [6, 2, 1]]])  # [axes, batch, time]
        wanted = numpy.array([rotated(x[b:b + 1], formula(8) * [1, 0, 0, 0], at[0, b])[0] for b in range(2)])
        wanted = numpy.array([rotated(wanted[b:b + 1], formula(8) * [0, 1, 1, 1], at[1, b])[0] for b in range(2)])
        self.close(rope.apply(x, positions=at), wanted, BOUND)
        self.close(rope.apply(x[:1], positions=at[:, 0]), wanted[:1], BOUND)
        self.refuses(ValueError, "wanted [3] or [2, 3] or [2, 2, 3]", rope.apply, x, positions=at[:, :1])

    def test_magnitudes(self):
        rope, x = rotary.Rope(8, attention_factor=1.5, xpos_scale=512.0), numbers(5, 6, 2, 8)
        self.assertEqual(rope.magnitude, 1.5)
        for role in ("query", "key"):
            self.close(rope.inverse(rope.apply(x, role=role), role=role), x, 2 * BOUND)
        query, key, value = (rope.apply(x, role=role, offset=300) for role in ("query", "key", "value"))
        self.close(query * key, (1.5 * rotated(x, formula(8), numpy.arange(300, 306))) ** 2, 4 * BOUND)
        self.close(value, rotated(x, formula(8), numpy.arange(300, 306)), BOUND)
        # <R x, y> = <x, R^T y>
        y = numbers(6, 6, 2, 8)
        self.close([(rope.apply(x, offset=9) * y).sum()],
                   [(x * rope.apply(y, offset=9, direction="transpose")).sum()], 1e-5)

    def test_every_setting_reaches_the_library(self):
        factors = tuple(numpy.linspace(1, 3, 8))
        yarn = {"scaling": "yarn", "factor": 4.0, "original_positions": 4096}
        longrope = {"scaling": "longrope", "original_positions": 64, "max_positions": 256, "short_factors": factors,
                    "long_factors": factors[::-1]}
        llama3 = {"scaling": "llama3", "factor": 8.0, "original_positions": 64}
        separate = {"axes": "separate", "sections": (3, 5)}
        cases = [  # what is the same, and what changes something
            ({}, {"rotary_dim": 8}), ({"rotary_dim": 8}, {"rotary_start": 4}), ({}, {"pairing": "interleaved"}),
            ({}, {"base": 100.0}), ({}, {"angles_f32": True}), ({}, {"table_dtype": "bfloat16"}),
            ({}, {"attention_factor": 2.0}), ({}, {"pair_factors": factors}), ({}, {"inverse_frequencies": factors}),
            ({}, {"scaling": "linear", "factor": 2.0}), ({}, {"scaling": "ntk", "factor": 2.0}),
            ({"scaling": "linear", "factor": 2.0}, {"factor": 3.0}),
            ({"scaling": "linear", "original_positions": 64, "max_positions": 128}, {"max_positions": 256}),
            ({"scaling": "dynamic", "factor": 2.0, "original_positions": 64}, {"sequence_length": 200}),
            ({}, yarn), (yarn, {"beta_fast": 4.0}), (yarn, {"beta_slow": 0.5}), (yarn, {"truncate": False}),
            (yarn, {"original_positions": 512}), (yarn, {"mscale": 0.7, "mscale_all_dim": 0.5}),
            ({**yarn, "mscale": 0.7}, {"mscale_all_dim": 0.5}), ({**yarn, "truncate": False}, {"compat": "ggml"}),
            ({}, longrope), (longrope, {"sequence_length": 200}), (longrope, {"short_attention_factor": 1.7}),
            ({**longrope, "sequence_length": 200}, {"long_attention_factor": 1.7}),
            (longrope, {"short_factors": factors[::-1]}),
            ({**longrope, "sequence_length": 200}, {"long_factors": factors}),
            ({}, llama3), (llama3, {"low_frequency_factor": 0.5}), (llama3, {"high_frequency_factor": 2.0}),
            ({}, {"scaling": "proportional", "rotary_fraction": 0.5}),
            ({"scaling": "proportional", "rotary_fraction": 0.5}, {"rotary_fraction": 0.25}),
            ({}, {"xpos_scale": 512.0}), ({"xpos_scale": 512.0}, {"xpos_origin": 100.0}), ({}, separate),
            (separate, {"sections": (4, 4)}), (separate, {"axes": "sections"}),
            ({"axes": "sections", "sections": (3, 3, 2)}, {"axes": "interleaved"}),
        ]
        x = numbers(7, 40, 1, 16)
        tried = {"head_dim", "table_positions", "threads", "isa"}
        for settings, change in cases:
            outputs = []
            for rope in (rotary.Rope(16, **settings), rotary.Rope(16, **{**settings, **change})):
                axes = rope.position_axes
                at = numpy.arange(40) * (97 if axes == 1 else numpy.array([[97], [53], [61]][:axes]))
                outputs.append(numpy.concatenate([rope.apply(x, positions=at).ravel(), [rope.softmax_factor]]))
            self.assertFalse(numpy.array_equal(*outputs), f"{change} changes nothing beside {settings}")
            tried |= set(change)
        self.assertEqual({field.name for field in dataclasses.fields(rotary.Rope)} - tried, set())
        # These change no result.
        outputs = [rotary.Rope(16, **settings).apply(x) for settings in ({}, {"table_positions": 8}, {"threads": 1})]
        self.assertTrue(numpy.array_equal(outputs[0], outputs[2]))
        self.close(outputs[0], outputs[1], BOUND)
        self.close(rotary.Rope(16, isa="scalar").apply(x), outputs[0], BOUND)


class Memory(Case):
    def test_strides_are_passed_on(self):
        rope = rotary.Rope(8)
        fused = numbers(8, 2, 5, 3, 4, 8)  # [batch, time, part, heads, channels]
        for part in range(3):
            x = fused[:, :, part]
            self.assertFalse(x.flags.c_contiguous)
            self.assertTrue(numpy.array_equal(rope.apply(x), rope.apply(x.copy())))
        heads_first = numbers(9, 2, 4, 5, 8).transpose(0, 2, 1, 3)
        self.assertTrue(numpy.array_equal(rope.apply(heads_first), rope.apply(heads_first.copy())))
        self.assertTrue(numpy.array_equal(rope.apply(heads_first[:, ::-1]), rope.apply(heads_first[:, ::-1].copy())))

    def test_out_and_in_place(self):
        rope, fused = rotary.Rope(8), numbers(10, 2, 5, 3, 4, 8)
        before = fused.copy()
        wanted = rope.apply(fused[:, :, 1].copy())
        result = rope.apply(fused[:, :, 1], out=fused[:, :, 1])
        self.assertTrue(numpy.shares_memory(result, fused))
        self.assertTrue(numpy.array_equal(fused[:, :, 1], wanted))
        self.assertTrue(numpy.array_equal(fused[:, :, ::2], before[:, :, ::2]))
        into = numpy.zeros_like(before[:, :, 0])
        self.assertIs(rope.apply(before[:, :, 1], out=into), into)
        self.assertTrue(numpy.array_equal(into, wanted))
        half = numpy.empty(into.shape, "float16")
        self.close(rope.apply(before[:, :, 1], out=half), wanted, 2**-11)

    def test_refusals(self):
        rope, x = rotary.Rope(8), numbers(11, 2, 5, 4, 8)
        read_only = x.copy()
        read_only.flags.writeable = False
        self.refuses(ValueError, "wanted contiguous channels", rope.apply, x[..., ::-1])
        self.refuses(ValueError, "wanted contiguous channels", rope.apply, numbers(1, 5, 16)[:, ::2])
        self.refuses(TypeError, "float64", rope.apply, x.astype("float64"))
        self.refuses(TypeError, "list", rope.apply, x.tolist())
        self.refuses(ValueError, "read-only", rope.apply, x, out=read_only)
        self.refuses(ValueError, "wanted [2, 5, 4, 8]", rope.apply, x, out=x[0])
        self.refuses(ValueError, "7 channels, wanted head_dim, 8", rope.apply, x[..., :7])
        self.refuses(ValueError, "1 axes", rope.apply, x[0, 0, 0])
        self.refuses(ValueError, "at least one element", rope.apply, x[:, :0])
        self.refuses(ValueError, "byte order", rope.apply, x.astype(">f4"))
        self.refuses(ValueError, "wanted [5] or [2, 5]", rope.apply, x, positions=[1, 2, 3])
        self.refuses(TypeError, "float64", rope.apply, x, positions=[0.5] * 5)
        self.refuses(ValueError, "offsets", rope.apply, x, offsets=[1, 2, 3])
        self.refuses(ValueError, "int32 cannot hold", rope.apply, x[:1], starts=[0, 2**40])
        self.refuses(ValueError, "role is 'head'", rope.apply, x, role="head")
        self.refuses(ValueError, "direction is 'back'", rope.apply, x, direction="back")
        # The library's own messages, as exceptions that are also Python's.
        self.refuses(ValueError, "shares memory", rope.apply, x[:, 1:], out=x[:, :-1])
        fused = numpy.zeros((2, 5, 2, 4, 8), "float32")
        self.assertTrue(numpy.shares_memory(rope.apply(fused[:, :, 0], out=fused[:, :, 1]), fused))
        self.refuses(ValueError, "starts", rope.apply, x[:1], starts=[])
        overlapping = numpy.lib.stride_tricks.as_strided(x.copy(), (2, 5, 4, 8), (0, 128, 32, 4))
        for kind in (rotary.InvalidArgumentError, rotary.RotaryError, ValueError):
            self.refuses(kind, "wanted", rope.apply, x, out=overlapping)
            self.refuses(kind, "starts", rope.apply, x[:1], starts=[0, 9])
            self.refuses(kind, "rotary_dim is 7", rotary.Rope, 7)
        self.refuses(ValueError, "wanted one of half, interleaved", rotary.Rope, 8, pairing="pairs")
        self.refuses(ValueError, "pair_factors has 3 entries, wanted 4", rotary.Rope, 8, pair_factors=[1.0] * 3)
        self.refuses(ValueError, "at most 4", rotary.Rope, 64, axes="sections", sections=(1, 1, 1, 1, 28))
        self.refuses(TypeError, "", rotary.Rope, "8")
        # ctypes would cut these off.
        self.refuses(ValueError, "wanted a number of 64 bits", rotary.Rope, 2**64 + 8)
        self.refuses(ValueError, "wanted a number of 32 bits", rotary.Rope, 8, threads=2**32 + 1)
        self.refuses(ValueError, "sections", rotary.Rope, 8, axes="sections", sections=(2**64 + 1, 3))
        self.refuses(ValueError, "offset", rope.apply, x, offset=2**64)


class Object(Case):
    def test_values(self):
        rope = rotary.Rope(16, scaling="yarn", factor=4.0, original_positions=64, pair_factors=[1.5] * 8)
        for other in (pickle.loads(pickle.dumps(rope)), copy.deepcopy(rope), rotary.Rope.from_key(rope.key),
                      dataclasses.replace(rope)):
            self.assertEqual(other, rope)
            self.assertEqual(hash(other), hash(rope))
            self.assertTrue(numpy.array_equal(other.frequencies, rope.frequencies))
        self.assertNotEqual(dataclasses.replace(rope, factor=8.0), rope)
        self.assertEqual(repr(rotary.Rope(16, pairing="interleaved")), "Rope(head_dim=16, pairing='interleaved')")
        of_numpy = rotary.Rope(numpy.int64(16), base=numpy.float32(500), pair_factors=numpy.ones(8, "float32"))
        self.assertEqual(of_numpy, rotary.Rope.from_key(of_numpy.key))
        with self.assertRaises(dataclasses.FrozenInstanceError):
            rope.base = 1.0

    def test_unread_settings(self):
        """A setting that would change nothing is refused: it was meant to change something."""
        eight, linear = [1.5] * 8, {"scaling": "linear", "factor": 2.0}
        cases = [  # the rotation, what nothing reads beside it, and the message
            ({}, {"factor": 4.0, "max_positions": 8192, "original_positions": 2048}, "factor is 4; wanted its default"),
            ({"scaling": None, "axes": None}, {"factor": 4.0}, "factor is 4; wanted its default, 0: a scaling alone"),
            (linear, {"beta_fast": 8.0}, "beta_fast is 8; wanted its default, 32: scaling yarn alone reads it"),
            ({}, {"truncate": False}, "truncate is false; wanted true: scaling yarn alone reads it"),
            ({}, {"high_frequency_factor": 5.0}, "scaling llama3 alone"),
            ({}, {"short_factors": eight}, "short_factors are given; wanted none: scaling longrope alone reads them"),
            (linear, {"long_attention_factor": 1.5}, "scaling longrope alone"),
            (linear, {"rotary_fraction": 0.5}, "scaling proportional alone reads it, and rotary_dim says how many"),
            ({}, {"sections": (4, 4)}, "sections are given; wanted none: positions of one axis"),
            ({"xpos_scale": 0.0}, {"xpos_origin": 9.0}, "xpos_origin is 9; wanted its default, 0: it is read with an"),
            ({"inverse_frequencies": eight}, {"base": 500.0}, "base is 500; wanted its default, 10000: inverse_freq"),
        ]
        for settings, unread, text in cases:
            rotary.Rope(16, **settings)
            self.refuses(rotary.InvalidArgumentError, text, rotary.Rope, 16, **settings, **unread)
        # Lengths are what they are without a scaling, and ggml's angles have roundings of the base.
        lengths = {"max_positions": 8192, "original_positions": 2048, "sequence_length": 5}
        numpy.testing.assert_array_equal(rotary.Rope(16, **lengths).frequencies, rotary.Rope(16).frequencies)
        ggml = {"inverse_frequencies": eight, "compat": "ggml", "angles_f32": True}
        x = numbers(13, 9, 1, 16)
        self.assertFalse(numpy.array_equal(*(rotary.Rope(16, base=base, **ggml).apply(x, offset=999)
                                             for base in (10000.0, 777.0))))

    def test_threads_share_a_plan(self):
        rope, x = rotary.Rope(64, threads=1), numbers(12, 200, 4, 64)
        wanted = rope.apply(x)
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            results = list(pool.map(lambda _: rope.apply(x), range(32)))
        self.assertTrue(all(numpy.array_equal(result, wanted) for result in results))

    def test_plans_are_freed(self):
        for _ in range(20):
            rotary.Rope(1024, inverse_frequencies=[0.0] * 512, table_positions=10000)  # 40 MB each
        gc.collect()
        with open("/proc/self/statm") as statm:
            pages = int(statm.read().split()[1])
        self.assertLess(pages * 4096, 300e6)


if __name__ == "__main__":
    main()
