# SPDX-License-Identifier: Apache-2.0
"""Rope.from_config: against formulas, and where transformers is installed against its own rotations."""
import json
import os
import pathlib

import numpy

import rotary
from harness import Case, has, main, numbers, unpacked

SHARED = pathlib.Path(os.environ.get("ROTARY_SHARED", os.path.join(os.environ["ROTARY_SOURCE_DIR"], "../shared")))
LISTS = [1.0 + i / 8 for i in range(16)]
SCALINGS = [
    {"rope_type": "default"},
    {"rope_type": "linear", "factor": 4.0},
    {"rope_type": "dynamic", "factor": 4.0},
    {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 256},
    {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 256, "beta_fast": 8.0, "beta_slow": 2.0},
    {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 256, "attention_factor": 1.25},
    {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 256, "truncate": False},
    {"rope_type": "longrope", "factor": 4.0, "original_max_position_embeddings": 256, "short_factor": LISTS,
     "long_factor": LISTS[::-1]},
    {"rope_type": "llama3", "factor": 8.0, "original_max_position_embeddings": 256, "low_freq_factor": 1.0,
     "high_freq_factor": 4.0},
]


class Formulas(Case):
    def test_sizes_and_names(self):
        read = rotary.Rope.from_config
        self.assertEqual(read({"head_dim": 16}), rotary.Rope(16))
        sizes = {"hidden_size": 64, "num_attention_heads": 4}
        self.assertEqual(read({**sizes, "rope_theta": 500.0}), rotary.Rope(16, base=500.0))
        self.assertEqual(read({"head_dim": 16, "partial_rotary_factor": 0.5}).rotary_dim, 8)
        self.assertEqual(read({"head_dim": 16, "pairing": "interleaved"}).pairing, "interleaved")
        self.assertEqual(read({"text_config": {"head_dim": 16}, "head_dim": 99}).head_dim, 16)
        self.assertEqual(read({"head_dim": 16}, threads=1, base=5.0), rotary.Rope(16, threads=1, base=5.0))
        by_layer = {"full_attention": {"rope_theta": 1e6, "rope_type": "default"},
                    "sliding_attention": {"rope_theta": 1e4, "rope_type": "default"}}
        several = {"head_dim": 16, "rope_parameters": by_layer}
        self.assertEqual(read(several, "full_attention").base, 1e6)
        self.assertEqual(read(several, "sliding_attention").base, 1e4)
        self.refuses(ValueError, "wanted one of them as layer_type", read, several)
        mrope = {"head_dim": 128, "rope_scaling": {"type": "mrope", "mrope_section": [16, 24, 24]}}
        self.assertEqual(read(mrope).position_axes, 3)

    def test_own_keys(self):
        read, rope = rotary.Rope.from_config, rotary.Rope
        half = {"head_dim": 16, "partial_rotary_factor": 0.5}
        factors = [1.0 + i for i in range(8)]
        for settings, wanted in (
                ({**half, "span": "back"}, rope(16, rotary_dim=8, rotary_start=8)),
                ({**half, "span": "front"}, rope(16, rotary_dim=8)),
                ({"angles": "f32"}, rope(16, angles_f32=True)), ({"angles": "f64"}, rope(16)),
                ({"tables": "bf16"}, rope(16, table_dtype="bfloat16")),
                ({"pair_factors": factors}, rope(16, pair_factors=factors)),
                ({"inverse_frequencies": factors}, rope(16, inverse_frequencies=factors)),
                ({"xpos_scale": 64.0, "position": "rope"}, rope(16)),
                ({"xpos_scale": 64.0, "position": "xpos", "max_position_embeddings": 100},
                 rope(16, xpos_scale=64.0, xpos_origin=50.0, max_positions=100)),
                ({"position": "xpos", "xpos_origin": 9}, rope(16, xpos_scale=512.0, xpos_origin=9))):
            self.assertEqual(read({"head_dim": 16, **settings}), wanted)
        with self.assertRaisesRegex(ValueError, '"position" is .alibi., wanted rope, roper or xpos'):
            read({"head_dim": 16, "position": "alibi"})
        dynamic = {"rope_scaling": {"rope_type": "dynamic", "factor": 2.0}, "max_position_embeddings": 64}
        for settings, length in (({}, None), ({"position": "rope"}, 64), ({"rope_sequence_length": 99}, 99)):
            self.assertEqual(read({"head_dim": 16, **dynamic, **settings}).sequence_length, length)
        run = read(unpacked("prefix-quick") / "rope-1")
        self.assertEqual((run.head_dim, run.rotary_dim, run.base), (32, None, 1e4))

    def test_older_files(self):
        gemma = {"model_type": "gemma3_text", "head_dim": 32, "rope_theta": 1e6, "rope_local_base_freq": 1e4,
                 "rope_scaling": {"rope_type": "linear", "factor": 8.0}}
        full, local = (rotary.Rope.from_config(gemma, layer) for layer in ("full_attention", "sliding_attention"))
        self.assertEqual((full.base, full.factor, full.scaling), (1e6, 8.0, "linear"))
        self.assertEqual((local.base, local.factor, local.scaling), (1e4, None, "none"))

        # The published files have neither bases nor sizes: rope_scaling is of full attention.
        gemma = {"model_type": "gemma3_text", "rope_scaling": {"rope_type": "linear", "factor": 8.0}}
        full, local = (rotary.Rope.from_config(gemma, layer) for layer in ("full_attention", "sliding_attention"))
        self.assertEqual((full.base, full.factor, full.scaling, full.head_dim), (1e6, 8.0, "linear", 256))
        self.assertEqual((local.base, local.factor, local.scaling), (1e4, None, "none"))
        self.assertEqual(rotary.Rope.from_config({**gemma, "rope_theta": 5.0}, "full_attention").base, 5.0)
        self.assertEqual(rotary.Rope.from_config({**gemma, "rope_theta": 5.0}, "sliding_attention").base, 1e4)

    def test_lengths_before_scaling(self):
        """As tests/rope_config/test_rope_lengths.c has them of the program."""
        read = rotary.Rope.from_config
        sizes = {"head_dim": 8, "max_position_embeddings": 2048, "original_max_position_embeddings": 512}
        inside = {"original_max_position_embeddings": 1024}
        yarn, dynamic = {"rope_type": "yarn", "factor": 2.0}, {"rope_type": "dynamic", "factor": 2.0}
        llama3 = {"rope_type": "llama3", "factor": 2.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
        phi3 = {"rope_type": "longrope", "short_factor": [1.0] * 4, "long_factor": [2.0] * 4}
        for config, compat, original in (
                ({**sizes, "rope_scaling": {**yarn, **inside}}, "none", 512),
                ({**sizes, "rope_scaling": yarn}, "none", 512),
                ({**sizes, "rope_scaling": {**llama3, **inside}}, "huggingface", 512),
                ({"head_dim": 8, "max_position_embeddings": 64, "rope_scaling": llama3}, "none", None),
                ({**sizes, "rope_scaling": {**dynamic, **inside}}, "none", 1024),
                ({**sizes, "rope_scaling": {**dynamic, **inside}}, "huggingface", None),
                ({**sizes, "rope_scaling": {**dynamic, **inside}}, "vllm", None),
                ({**sizes, "rope_parameters": {"full_attention": {**yarn, **inside}}}, "none", 1024),
                ({**sizes, "rope_parameters": {"full_attention": yarn, **inside}}, "none", None),
                ({"model_type": "phi3", "head_dim": 8, "rope_scaling": {**phi3, **inside}}, "none", 4096)):
            layer = "full_attention" if "full_attention" in config.get("rope_parameters", {}) else None
            self.assertEqual(read(config, layer, compat=compat).original_positions, original, (config, compat))

    def test_keys_beside_layer_types(self):
        read = rotary.Rope.from_config
        layers = {"full_attention": {"rope_type": "yarn", "factor": 2.0, "rope_theta": 9.0}, "rope_theta": 7.0,
                  "rope_type": "linear"}
        config = {"head_dim": 8, "max_position_embeddings": 64, "rope_parameters": layers}
        self.assertEqual((read(config, "full_attention").base, read(config, "full_attention").scaling), (9.0, "yarn"))
        config["rope_parameters"] = {**layers, "truncate": False}
        self.assertEqual(read(config, "full_attention").truncate, False)
        config["rope_parameters"] = {**layers, "full_attention": {**layers["full_attention"], "truncate": False}}
        self.assertEqual(read(config, "full_attention").truncate, False)
        self.assertEqual(read(config, "full_attention", compat="huggingface").truncate, None)
        self.refuses(ValueError, "gamma", read, {**config, "rope_parameters": {**layers, "gamma": 3}}, "full_attention")
        for beside, text in (
                ({"rope_type": "yarn", "factor": 8.0}, '"rope_type" is \'yarn\', wanted it among the parameters of'),
                ({"type": "yarn"}, '"type" is \'yarn\', wanted it among the parameters of each layer type'),
                ({"rope_theta": 99}, '"rope_theta" is 99, wanted it among the parameters of each layer type'),
                ({"partial_rotary_factor": 0.5}, '"partial_rotary_factor" is 0.5, wanted it among'),
                ({"attention_factor": 2.0}, '"attention_factor" is 2.0, wanted it among'),
                ({"rotary_pct": 0.5}, "rotary_pct")):
            several = {"rope_theta": 3, "rope_parameters": {"full_attention": {}, **beside}}
            self.refuses(ValueError, text, read, {"head_dim": 8, **several}, "full_attention")
        harmless = {"rope_type": "default", "type": "default", "rope_theta": None, "gamma": None, "truncate": False,
                    "original_max_position_embeddings": 5}
        self.assertEqual(read({"head_dim": 8, "rope_parameters": {"full_attention": {}, **harmless}}, "full_attention"),
                         rotary.Rope(8))
        self.refuses(ValueError, "an object for each layer type", read,
                     {"model_type": "olmo3", "head_dim": 8, "rope_parameters": {"rope_theta": 5.0}}, "full_attention")

    def test_keys_that_nothing_reads(self):
        """Those of a file are left out, as the program leaves them unread; those of the caller are refused."""
        read, yarn = rotary.Rope.from_config, {"rope_type": "yarn", "factor": 2.0, "beta_fast": 8.0, "truncate": False}
        linear = {**yarn, "rope_type": "linear", "high_freq_factor": 4.0, "long_mscale": 1.5, "short_factor": [1.0] * 4}
        self.assertEqual(read({"head_dim": 8, "rope_scaling": linear}), rotary.Rope(8, scaling="linear", factor=2.0))
        sizes = {"head_dim": 8, "max_position_embeddings": 64}
        self.assertEqual(read({**sizes, "rope_scaling": yarn}, scaling="none"), rotary.Rope(8, max_positions=64))
        self.assertEqual(read({**sizes, "rope_scaling": yarn}).beta_fast, 8.0)
        own = {"head_dim": 8, "rope_theta": 500.0, "inverse_frequencies": [1.0] * 4}
        self.assertEqual(read(own), rotary.Rope(8, inverse_frequencies=[1.0] * 4))
        ggml = {"compat": "ggml", "angles_f32": True}
        self.assertEqual(read(own, **ggml), rotary.Rope(8, base=500.0, inverse_frequencies=[1.0] * 4, **ggml))
        mrope = {"head_dim": 8, "rope_scaling": {"type": "mrope", "mrope_section": [2, 2]}}
        self.assertEqual(read(mrope, axes="one"), rotary.Rope(8))
        self.refuses(ValueError, "factor is 4.0 with scaling none", read, {"head_dim": 8}, factor=4.0)
        self.refuses(ValueError, "beta_slow is 2.0 with scaling linear", read, {**sizes, "rope_scaling": linear},
                     beta_slow=2.0)
        for kind in ({}, {"type": None}):
            self.refuses(ValueError, 'a "factor" and no "rope_type", wanted both or none', read,
                         {"head_dim": 8, "rope_scaling": {**kind, "factor": 4.0}})
        for kind in ([], 0, ""):
            self.refuses(ValueError, "wanted one of default, linear", read,
                         {"head_dim": 8, "rope_parameters": {"rope_type": kind, "rope_theta": 5.0}})

    def test_ambiguous_rotations(self):
        """As tests/rope_config/test_ambiguous_rotations.c has them of the program."""
        read, linear = rotary.Rope.from_config, {"type": "linear", "factor": 2}
        llama3 = {"type": "llama3", "factor": 8, "original_max_position_embeddings": 8192}
        half, neox = {"partial_rotary_factor": 0.5}, {"model_type": "gpt_neox", "rotary_emb_base": 10000}
        for config, text in (
                # Numbers of a scaling are read where it is, and where it has them.
                ({"factor": 2, "rope_scaling": {"type": "linear"}}, 'no "factor" among the parameters of the rotation'),
                ({"low_freq_factor": 2, "high_freq_factor": 9, "rope_scaling": llama3}, 'no "low_freq_factor" among'),
                ({"rope_scaling": {**linear, "attention_factor": 2}}, '"attention_factor" is 2, wanted 1: of yarn and'),
                ({"rope_parameters": {"rope_theta": 9, "attention_factor": 0.5}}, '"attention_factor" is 0.5, wanted'),
                ({"rope_type": "linear", "factor": 2, "attention_factor": 2}, '"attention_factor" is 2, wanted 1'),
                # Two names of one thing, with two values.
                ({**half, "rotary_pct": 0.25}, '"rotary_pct" is 0.25, wanted the same as "partial_rotary_factor"'),
                ({"rope_pct": 0.5, "rotary_emb_fraction": 1}, '"rotary_emb_fraction" is 1, wanted the same as "rope'),
                ({"rotary_pct": 1, "rope_pct": True}, '"rope_pct" is True, wanted the same as "rotary_pct"'),
                ({**half, "rope_percent": 0.25}, '"rope_percent" is 0.25, wanted the same as "partial_rotary_factor"'),
                ({"partial_rotary_factor": 0.75, "rotary_dim": 4}, '"rotary_dim" is 4, wanted the channels that the'),
                ({"rope_parameters": half, "rotary_dim": 8}, '"rotary_dim" is 8, wanted the channels that the share'),
                ({**neox, "rope_theta": 500000}, '"rotary_emb_base" is 10000, wanted the same as "rope_theta"'),
                ({"rope_scaling": linear, **neox, "rope_theta": 5}, '"rotary_emb_base" is 10000, wanted the same as'),
                # Without an object of their own the parameters are names among others.
                ({"rope_type": "default", **half, "rotary_pct": 0.25}, '"rotary_pct" is 0.25, wanted the same as'),
                ({"rope_type": "default", **neox, "rope_theta": 5}, '"rotary_emb_base" is 10000, wanted the same as'),
                # Other names of the share are the model's.
                ({"rope_scaling": {"type": "default", "rotary_pct": 0.5}}, '"rotary_pct", which this reader does not'),
                ({"rope_parameters": {"type": "default", "rope_percent": 0.5}}, '"rope_percent", which this reader')):
            self.refuses(ValueError, text, read, {"head_dim": 8, **config})
        yarn = {"type": "yarn", "factor": 2, "original_max_position_embeddings": 64}
        longrope = {"type": "longrope", "factor": 2, "original_max_position_embeddings": 64}
        lists = {"short_factor": [1.0] * 4, "long_factor": [2.0] * 4}
        plain, beside = {"head_dim": 8}, {"factor": 9, "attention_factor": 9, "beta_fast": 99, "mscale": 9}
        wanted = read({**plain, "rope_scaling": yarn})
        self.assertEqual(read({**plain, **beside, "rope_scaling": {**yarn, "attention_factor": None}}), wanted)
        self.assertEqual(read({**plain, **beside}), rotary.Rope(8))
        self.assertEqual(read({**plain, **lists, "rope_scaling": longrope}),
                         read({**plain, "rope_scaling": {**longrope, **lists}}))
        for scaling in (yarn, {**longrope, **lists}):
            self.assertEqual(read({**plain, "rope_scaling": {**scaling, "attention_factor": 2}}).attention_factor, 2)
        scaled = {**plain, "rope_scaling": {**linear, "attention_factor": 2}}
        self.assertEqual(read(scaled, compat="huggingface").attention_factor, None)
        self.assertEqual(read({**plain, "rope_scaling": {**linear, "attention_factor": 1.0}}).magnitude, 1)
        # What agrees, and what comes first.
        same = {"head_dim": 8, **half, "rotary_pct": 0.5, "rotary_dim": 4, "rope_theta": 5, "rotary_emb_base": 5.0}
        self.assertEqual(read(same), rotary.Rope(8, rotary_dim=4, base=5))
        self.assertEqual(read({"rope_type": "default", **same}), read(same))
        inner = {"rope_parameters": {"partial_rotary_factor": 0.5, "rope_theta": 9}}
        outer = {"partial_rotary_factor": 1, "rotary_pct": 0.25, "rope_theta": 5, "rotary_emb_base": 7}
        self.assertEqual(read({**plain, **outer, **inner}), rotary.Rope(8, rotary_dim=4, base=9))
        self.assertEqual(read({**plain, **half, "rope_percent": 0.25}, compat="huggingface").rotary_dim, 4)
        # A family's default contradicts nothing: what the file says comes first.
        self.assertEqual(read({"model_type": "glm", "head_dim": 128, "rotary_dim": 32}).rotary_dim, 32)
        self.assertEqual(read({"model_type": "gptj", "head_dim": 256, **half}).rotary_dim, 128)

    def test_ntk_and_percent(self):
        read, nemotron = rotary.Rope.from_config, {"model_type": "nemotron", "head_dim": 16, "rope_percent": 0.25}
        self.assertEqual((read(nemotron).rotary_dim, read(nemotron, compat="huggingface").rotary_dim), (4, 8))
        ntk = {"head_dim": 64, "rope_theta": 500000.0, "rope_scaling": {"type": "ntk", "factor": 2.0}}
        pairs = numpy.arange(32)
        divided = (2 * 500000.0) ** (-pairs / 32) / 2 ** (2 / 64)
        self.close(read(ntk).frequencies, 500000.0 ** (-pairs / 32) * 2 ** (-pairs / 31), 1e-12)
        self.close(read(ntk, compat="vllm").frequencies, divided, 1e-12)
        self.close(read({**ntk, "model_type": "new", "position_embedding_type": "rope"}).frequencies, divided, 1e-12)
        new = {**ntk, "model_type": "new", "position_embedding_type": "absolute"}
        self.refuses(ValueError, "position_embedding_type", read, new)

    def test_wrong_types_are_refused(self):
        """No value of another type passes for one that is meant, and each is refused as the wrong value of a file."""
        whole = {"head_dim": 32, "rope_theta": 1e4, "max_position_embeddings": 1024, "partial_rotary_factor": 1.0,
                 "pairing": "half", "hidden_size": 128, "num_attention_heads": 4, "rope_local_base_freq": None}
        refused = 0
        for scaling in SCALINGS:
            for place, keys in (("model", whole), ("parameters", scaling)):
                for key in keys:
                    for value in ("8", [], ["a"], {"a": 1}, True, -1, 0, float("nan"), 10**400):
                        model, parameters = dict(whole), dict(scaling)
                        (model if place == "model" else parameters)[key] = value
                        try:
                            rope = rotary.Rope.from_config({**model, "rope_parameters": parameters})
                        except ValueError:
                            refused += 1
                        else:
                            self.assertTrue(numpy.isfinite(rope.frequencies).all(), (key, value))
        self.assertGreater(refused, 300)

    def test_families(self):
        read = rotary.Rope.from_config
        self.assertEqual(read({"model_type": "gptj", "head_dim": 256}).pairing, "interleaved")
        self.assertEqual(read({"model_type": "gptj", "head_dim": 256}).rotary_dim, 64)
        self.assertEqual(read({"model_type": "glm", "head_dim": 128}).rotary_dim, 64)
        self.assertEqual(read({"model_type": "nobody_knows", "head_dim": 16}), rotary.Rope(16))
        phi3 = {"model_type": "phi3", "head_dim": 32, "max_position_embeddings": 131072}
        scaled = {"rope_scaling": {"type": "su", "short_factor": LISTS, "long_factor": LISTS}}
        self.assertEqual(read({**phi3, **scaled}).original_positions, 4096)
        self.assertEqual(read({**phi3, "rope_scaling": {"type": "linear", "factor": 2.0}}).original_positions, None)
        root = {"head_dim": 16, "rope_type": "linear", "factor": 2.0}  # parameters without an object of their own
        self.assertEqual(read(root), read({"head_dim": 16, "rope_parameters": {"rope_type": "linear", "factor": 2.0}}))
        for config, text in (({"model_type": "deepseek_v3"}, "qk_rope_head_dim"),
                             ({"head_dim": 16, "qk_rope_head_dim": 8}, "qk_rope_head_dim"),
                             ({"model_type": "qwen2_vl_vision"}, "does not know")):
            self.refuses(ValueError, text, read, config)

    def test_published_frequencies(self):
        path = SHARED / "conformance" / "huggingface_inv_freq.json"
        if not path.exists():
            self.skipTest("ROTARY_SHARED has no published frequencies")
        cases = json.loads(path.read_text())["cases"]
        self.assertGreater(len(cases), 0)
        for case in cases:
            sizes = ("head_dim", "max_position_embeddings")
            config = {key: value for key, value in case["config"].items() if key in sizes}
            parameters = {key: value for key, value in case["config"].items() if key not in sizes}
            for name in ("rope_parameters", "rope_scaling"):
                self.close(rotary.Rope.from_config({**config, name: parameters}).frequencies, case["inv_freq"], 1e-4)

    def test_refusals(self):
        read, scratch = rotary.Rope.from_config, pathlib.Path(os.environ["SCRATCH"])
        for config, text in (
                ({}, 'no "head_dim"'), ({"hidden_size": 10, "num_attention_heads": 3}, "multiple"),
                ({"head_dim": 16, "rope_scaling": {"type": "spiral"}}, '"type" is \'spiral\', wanted one of default'),
                ({"head_dim": 16, "rope_scaling": {"type": "linear"}}, 'no "factor"'),
                ({"head_dim": 16, "rope_scaling": {"type": "linear", "factor": 2.0, "gamma": 1}}, '"gamma"'),
                ({"head_dim": 16, "rope_scaling": [1]}, "wanted an object"),
                ({"head_dim": 16, "partial_rotary_factor": 2}, "partial_rotary_factor"),
                # What rotates no channel is not taken for what rotates all.
                ({"head_dim": 16, "partial_rotary_factor": 0}, "partial_rotary_factor"),
                ({"head_dim": 16, "rotary_pct": 0.0}, "rotary_pct"),
                ({"head_dim": 8, "partial_rotary_factor": 0.1}, "at least 2 of a head's 8 channels"),
                ({"head_dim": 16, "rotary_dim": 0}, "rotary_dim"),
                ({"head_dim": 10**400, "partial_rotary_factor": 0.5}, "wanted a whole number from 1 to 2^63 - 1"),
                ({"head_dim": 16, "rotary_percent": 0.0}, "rotary_percent"),
                ({"head_dim": 16, "qk_rope_head_dim": 0, "qk_nope_head_dim": 16}, "qk_rope_head_dim"),
                ({"head_dim": 16, "use_rope": False}, "use_rope"),
                ({"head_dim": 16, "rope_parameters": {"rope_type": "proportional", "partial_rotary_factor": 0}},
                 "partial_rotary_factor"),
                ({"head_dim": 16, "local_rope_theta": 5.0}, '"local_rope_theta"'),
                ({"head_dim": 16, "attn_config": {"rope_theta": 5.0}}, "attn_config"),
                ({"model_type": "gptj", "head_dim": 256, "rotary_dim": None}, '"rotary_dim" is None'),
                ({"head_dim": 16, "dual_chunk_attention_config": {"chunk_size": 4}}, "dual_chunk_attention_config"),
                ({"head_dim": 16, "rope_parameters": {"llama_4_scaling_beta": 0.1}}, "llama_4_scaling_beta"),
                ({"head_dim": 16, "attn_temperature_len": 1024}, "attn_temperature_len"),
                ({"head_dim": 16, "yarn": {"factor": 4}}, '"yarn" is'),
                ({"head_dim": 16, "llama_4_scaling": {"beta": 0.1}}, '"llama_4_scaling" is'),
                ({"head_dim": 16, "rope_type": "yarn", "scaling_factor": 4, "max_position_embeddings": 64},
                 "scaling_factor"),
                ({"head_dim": 16, "rope_type": "spiral"}, "spiral"),
                ({"model_type": "deepseek_v4", "rope_scaling": {"type": "yarn", "factor": 16}}, "span"),
                ({"head_dim": 16, "position": {"frequencies": []}}, "position"),
                ({"head_dim": 16, "rope_scaling": {"rope_type": "default", "mrope_section": [0.5]}}, "whole numbers"),
                ({"head_dim": 15}, "even")):
            self.refuses(ValueError, text, read, config)
        (scratch / "config.json").write_text('{"head_dim": 16')
        self.refuses(ValueError, "config.json is not JSON", read, scratch)
        (scratch / "config.json").write_text('{"head_dim": 16}')
        self.assertEqual(read(scratch), rotary.Rope(16))
        self.assertEqual(read(str(scratch / "config.json")), rotary.Rope(16))


class Transformers(Case):
    """The modules of the models themselves, which compute in f32."""

    def setUp(self):
        if not has("torch", "transformers"):
            self.skipTest("there is no transformers")

    def agrees(self, config, embedding, apply, layer_type=None, length=200, **settings):
        import torch
        rope = rotary.Rope.from_config(config.to_dict(), layer_type, **settings)
        query, key = numbers(1, 1, length, 4, rope.head_dim), numbers(2, 1, length, 2, rope.head_dim)
        heads_first = [torch.tensor(x).transpose(1, 2) for x in (query, key)]
        arguments = [heads_first[0], torch.arange(length)[None]] + ([layer_type] if layer_type else [])
        cosine, sine = embedding(*arguments)
        wanted = [x.transpose(1, 2).numpy() for x in apply(*heads_first, cosine, sine)]
        self.close(rope.apply(query), wanted[0], 2e-5)
        self.close(rope.apply(key, role="key"), wanted[1], 2e-5)

    def test_scalings(self):
        from transformers import LlamaConfig
        from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding, apply_rotary_pos_emb
        for scaling in SCALINGS:
            config = LlamaConfig(hidden_size=128, num_attention_heads=4, max_position_embeddings=1024,
                                 rope_parameters={"rope_theta": 10000.0, **scaling})
            with self.subTest(**scaling):
                self.agrees(config, LlamaRotaryEmbedding(config), apply_rotary_pos_emb, sequence_length=200)

    def test_families(self):
        import transformers.models.gemma3.modeling_gemma3 as gemma3
        import transformers.models.glm.modeling_glm as glm
        import transformers.models.gpt_neox.modeling_gpt_neox as gpt_neox
        import transformers.models.stablelm.modeling_stablelm as stablelm
        from transformers import Gemma3TextConfig, GlmConfig, GPTNeoXConfig, StableLmConfig
        sizes = {"hidden_size": 128, "num_attention_heads": 4}
        config = GPTNeoXConfig(**sizes)
        self.agrees(config, gpt_neox.GPTNeoXRotaryEmbedding(config), gpt_neox.apply_rotary_pos_emb)
        config = GlmConfig(head_dim=32, **sizes)
        self.agrees(config, glm.GlmRotaryEmbedding(config), glm.apply_rotary_pos_emb)
        config = Gemma3TextConfig(head_dim=32, **sizes)
        embedding = gemma3.Gemma3RotaryEmbedding(config)
        for layer_type in ("full_attention", "sliding_attention"):
            self.agrees(config, embedding, gemma3.apply_rotary_pos_emb, layer_type)
        config = StableLmConfig(**sizes)
        cosine_sine = stablelm.StableLmRotaryEmbedding(config)
        rotated = int(32 * 0.25)

        def apply(query, key, cosine, sine):
            import torch
            parts = stablelm.apply_rotary_pos_emb(query[..., :rotated], key[..., :rotated], cosine, sine)
            return [torch.cat((x, rest[..., rotated:]), -1) for x, rest in zip(parts, (query, key))]

        self.agrees(config, cosine_sine, apply)


if __name__ == "__main__":
    main()
