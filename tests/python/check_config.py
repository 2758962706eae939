# SPDX-License-Identifier: Apache-2.0
"""Rope.from_config: that it has what the program's reader reads (tests/rope_config says what that is), and where
transformers is installed that it rotates as transformers does."""
import json
import os
import pathlib
import warnings

import numpy

import rotary
from harness import Case, has, main, numbers, unpacked
from rotary import _config

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
SIZES = {"head_dim": 16, "max_position_embeddings": 64}
HALF = [1.0 + i for i in range(8)]
# A file's keys, and the arguments of Rope that they are: each of them at least once.
CASES = [
    ({}, {}),
    ({"rope_theta": 500.0}, {"base": 500.0}),
    ({"partial_rotary_factor": 0.5}, {"rotary_dim": 8}),
    ({"partial_rotary_factor": 0.5, "span": "back"}, {"rotary_dim": 8, "rotary_start": 8}),
    ({"pairing": "interleaved"}, {"pairing": "interleaved"}),
    ({"rope_interleave": True}, {"pairing": "interleaved"}),
    ({"angles": "f32"}, {"angles_f32": True}),
    ({"tables": "bf16"}, {"table_dtype": "bfloat16"}),
    ({"pair_factors": HALF}, {"pair_factors": HALF}),
    ({"inverse_frequencies": HALF}, {"inverse_frequencies": HALF}),
    ({"xpos_scale": 64.0, "position": "rope"}, {"sequence_length": 64}),
    ({"xpos_scale": 64.0, "position": "xpos"}, {"xpos_scale": 64.0, "xpos_origin": 32.0, "sequence_length": 64}),
    ({"position": "xpos", "xpos_origin": 9}, {"xpos_scale": 512.0, "xpos_origin": 9, "sequence_length": 64}),
    ({"rope_sequence_length": 99}, {"sequence_length": 99}),
    ({"rope_scaling": {"type": "mrope", "mrope_section": [2, 3, 3]}}, {"axes": "sections", "sections": [2, 3, 3]}),
    ({"rope_scaling": {"type": "mrope", "mrope_section": [2, 3, 3], "mrope_interleaved": True}},
     {"axes": "interleaved", "sections": [2, 3, 3]}),
    ({"rope_scaling": {"type": "ntk", "factor": 2}}, {"scaling": "ntk", "factor": 2}),
    ({"rope_scaling": {"type": "proportional", "partial_rotary_factor": 0.5}},
     {"scaling": "proportional", "rotary_fraction": 0.5}),
    ({"rope_scaling": {"type": "yarn", "factor": 2, "beta_fast": 8, "beta_slow": 2, "mscale": 0.5,
                       "mscale_all_dim": 0.7, "truncate": False, "original_max_position_embeddings": 32,
                       "attention_factor": 1.5}},
     {"scaling": "yarn", "factor": 2, "beta_fast": 8, "beta_slow": 2, "mscale": 0.5, "mscale_all_dim": 0.7,
      "truncate": False, "original_positions": 32, "attention_factor": 1.5}),
    ({"rope_scaling": {"type": "llama3", "factor": 8, "low_freq_factor": 2, "high_freq_factor": 9}},
     {"scaling": "llama3", "factor": 8, "low_frequency_factor": 2, "high_frequency_factor": 9}),
    ({"rope_scaling": {"type": "su", "short_factor": HALF, "long_factor": HALF[::-1], "short_mscale": 1.25,
                       "long_mscale": 1.5, "original_max_position_embeddings": 32}},
     {"scaling": "longrope", "short_factors": HALF, "long_factors": HALF[::-1], "short_attention_factor": 1.25,
      "long_attention_factor": 1.5, "original_positions": 32}),
    # What nothing reads is left out, as the program leaves it unread.
    ({"rope_scaling": {"type": "linear", "factor": 4, "beta_fast": 8, "high_freq_factor": 4, "long_mscale": 1.5}},
     {"scaling": "linear", "factor": 4}),
]


class Reader(Case):
    def test_arguments(self):
        seen = set()
        for config, arguments in CASES:
            with self.subTest(**config):
                wanted = rotary.Rope(16, max_positions=64, **arguments)
                self.assertEqual(rotary.Rope.from_config({**SIZES, **config}), wanted)
                seen |= set(arguments)
        unseen = {name for name, *_ in rotary._abi.RopeConfig._fields_} - seen - set(_config._OF_CALLER)
        self.assertEqual(unseen, {"head_dim", "max_positions", "query_scale_beta", "query_scale_length",
                                  "query_scale_offset"})

    def test_models(self):
        read = rotary.Rope.from_config
        self.assertEqual(read({"hidden_size": 64, "num_attention_heads": 4}), rotary.Rope(16))
        self.assertEqual(read({"text_config": {"head_dim": 16}}), rotary.Rope(16))
        self.assertEqual(read({"model_type": "gptj"}), rotary.Rope(256, rotary_dim=64, pairing="interleaved",
                                                                   max_positions=2048))
        gemma = {"model_type": "gemma3_text", "rope_scaling": {"rope_type": "linear", "factor": 8.0}}
        full, local = (read(gemma, layer_type) for layer_type in ("full_attention", "sliding_attention"))
        self.assertEqual((full.base, full.factor, full.scaling, full.head_dim), (1e6, 8.0, "linear", 256))
        self.assertEqual((local.base, local.factor, local.scaling), (None, None, "none"))
        # The rotated part of a head of multi-head latent attention, and keys that are values (DeepSeek-V4).
        deepseek = {"model_type": "deepseek_v3", "qk_rope_head_dim": 32, "qk_nope_head_dim": 64,
                    "num_attention_heads": 4, "max_position_embeddings": 64}
        self.assertEqual(read(deepseek), rotary.Rope(32, pairing="interleaved", max_positions=64))
        shared = read({"model_type": "deepseek_v4", "head_dim": 64, "qk_rope_head_dim": 16, "num_attention_heads": 4},
                      "sliding_attention")
        self.assertEqual((shared.head_dim, shared.rotary_dim, shared.rotary_start, shared.pairing),
                         (64, 16, 48, "interleaved"))
        run = read(unpacked("prefix-quick") / "rope-1")
        self.assertEqual((run.head_dim, run.rotary_dim, run.base, run.max_positions), (32, None, None, 256))

    def test_settings(self):
        read, yarn = rotary.Rope.from_config, {"rope_type": "yarn", "factor": 2.0, "beta_fast": 8.0}
        self.assertEqual(read({"head_dim": 16}, threads=1, base=5.0), rotary.Rope(16, threads=1, base=5.0))
        self.assertEqual(read({**SIZES, "rope_scaling": yarn}, scaling="none"), rotary.Rope(16, max_positions=64))
        mrope = {"head_dim": 8, "rope_scaling": {"type": "mrope", "mrope_section": [2, 2]}}
        self.assertEqual(read(mrope, axes="one"), rotary.Rope(8))
        self.refuses(ValueError, "factor is 4; wanted its default, 0", read, {"head_dim": 8}, factor=4.0)
        self.refuses(ValueError, "beta_slow is 2; wanted its default, 1: scaling yarn", read,
                     {"head_dim": 8, "rope_scaling": {"type": "linear", "factor": 2}}, beta_slow=2.0)
        nemotron = {"model_type": "nemotron", "head_dim": 16, "rope_percent": 0.25}
        self.assertEqual((read(nemotron).rotary_dim, read(nemotron, compat="huggingface").rotary_dim), (4, 8))
        self.refuses(ValueError, "compat is 'jax'", read, nemotron, compat="jax")

    def test_ignored_keys(self):
        read, config = rotary.Rope.from_config, {"head_dim": 16, "rope_gamma": 3, "use_rope": False}
        self.refuses(rotary.InvalidArgumentError, '"use_rope" is false, wanted true, or ignore use_rope', read, config)
        self.refuses(ValueError, "or ignore rope_gamma", read, config, ignore=["use_rope"])
        self.assertEqual(read(config, ignore=("use_rope", "rope_gamma")), rotary.Rope(16))
        with self.assertWarnsRegex(UserWarning, 'nothing is known of "model_type" nobody_knows') as caught:
            self.assertEqual(read({"model_type": "nobody_knows", "head_dim": 16}), rotary.Rope(16))
        self.assertEqual(caught.filename, __file__)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            unknown = {"model_type": "nobody_knows", "head_dim": 16}
            self.assertEqual(read(unknown, ignore=["model_type"]), rotary.Rope(16))
            self.assertEqual(read({"model_type": "llama", "head_dim": 16}).head_dim, 16)

    def test_refusals(self):
        read, scratch = rotary.Rope.from_config, pathlib.Path(os.environ["SCRATCH"])
        layers = {"rope_parameters": {"full": {"rope_theta": 5.0}, "sliding": {"rope_theta": 6.0}}}
        for config, text in (
                ({}, 'the configuration has no "head_dim"'),
                ({"head_dim": 15}, "wanted an even number of them"),
                ({"head_dim": 16, "rope_scaling": {"type": "linear", "factor": 2.0, "gamma": 1}}, '"gamma"'),
                ({"head_dim": 16, "rope_scaling": [1]}, "wanted an object"),
                ({"head_dim": 16, "position": "alibi"}, '"position" is "alibi", wanted rope, roper or xpos'),
                ({"head_dim": 16, "position": {"name": "mine"}}, "wanted rope, roper or xpos"),
                ({"head_dim": 16, "rope_parameters": {"llama_4_scaling_beta": 0.1}}, "llama_4_scaling_beta"),
                ({"head_dim": 16, "dual_chunk_attention_config": {"chunk_size": 4}}, "dual_chunk_attention_config"),
                ({"model_type": "bert", "head_dim": 16}, "has no rotary embedding"),
                ({"head_dim": 16, **layers}, "wanted layer_type with one of full, sliding"),
                ({"head_dim": 16, "rope_theta": float("nan")}, "not JSON compliant"),
                ({"head_dim": 10**400}, "head_dim"), ({"head_dim": "8"}, "head_dim"), ({"head_dim": True}, "head_dim")):
            self.refuses(ValueError, text, read, config)
        self.refuses(ValueError, "is list, wanted an object", read, [])
        self.refuses(ValueError, "has one rotation for all layer types", read, {"head_dim": 16}, "full")
        (scratch / "config.json").write_text('{"head_dim": 16')
        self.refuses(ValueError, "config.json, line 1, column 15", read, scratch)
        (scratch / "config.json").write_text('{"head_dim": 16}')
        self.assertEqual(read(scratch), rotary.Rope(16))
        self.assertEqual(read(str(scratch / "config.json")), rotary.Rope(16))
        self.assertRaises(FileNotFoundError, read, scratch / "nothing.json")

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

    def test_ntk(self):
        """The two formulas of two programs."""
        ntk = {"head_dim": 64, "rope_theta": 5e5, "rope_scaling": {"type": "ntk", "factor": 2.0}}
        pairs = numpy.arange(32)
        divided = (2 * 5e5) ** (-pairs / 32) / 2 ** (2 / 64)
        self.close(rotary.Rope.from_config(ntk).frequencies, 5e5 ** (-pairs / 32) * 2 ** (-pairs / 31), 1e-12)
        self.close(rotary.Rope.from_config(ntk, compat="vllm").frequencies, divided, 1e-12)
        new = {**ntk, "model_type": "new", "position_embedding_type": "rope"}
        self.close(rotary.Rope.from_config(new).frequencies, divided, 1e-12)


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
        config = StableLmConfig(num_key_value_heads=4, **sizes)
        cosine_sine = stablelm.StableLmRotaryEmbedding(config)
        rotated = int(32 * 0.25)

        def apply(query, key, cosine, sine):
            import torch
            parts = stablelm.apply_rotary_pos_emb(query[..., :rotated], key[..., :rotated], cosine, sine)
            return [torch.cat((x, rest[..., rotated:]), -1) for x, rest in zip(parts, (query, key))]

        self.agrees(config, cosine_sine, apply)


if __name__ == "__main__":
    main()
