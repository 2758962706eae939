#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rotations of models in Hugging Face's transformers, computed by their own code in double.

Each case is a model's configuration. The model's class computes frequencies, cosines and sines from it, and the model's
function rotates numbers by them; torch.float32 is replaced by float64 meanwhile. Writes tests/rope/rope_goldens.h, with
the configurations that test_rope_goldens.c reads. Made with torch 2.15.0 and transformers 5.23.0:

    python3 tests/golden/make_rope_goldens.py > tests/rope/rope_goldens.h
"""
import importlib
import json
import sys

import torch

torch.float32 = torch.float = torch.float64
torch.Tensor.float = torch.Tensor.double
torch.set_default_dtype(torch.float64)

SAMPLES = 12  # channels of a token that are written

INTERLEAVED = {"pairing": "interleaved"}
LLAMA31 = {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8192,
           "rope_type": "llama3"}
DEEPSEEK = {"beta_fast": 32, "beta_slow": 1, "factor": 40, "original_max_position_embeddings": 4096, "type": "yarn"}
GEMMA = {"hidden_size": 2560, "num_attention_heads": 8, "num_hidden_layers": 6, "head_dim": 256, "sliding_window_pattern": 6}
MODERNBERT = {"hidden_size": 768, "num_attention_heads": 12, "num_hidden_layers": 22, "max_position_embeddings": 8192,
              "global_attn_every_n_layers": 3, "local_attention": 128, "global_rope_theta": 160000.0,
              "local_rope_theta": 10000.0, "position_embedding_type": "absolute", "model_type": "modernbert"}
PHI3 = {"hidden_size": 3072, "num_attention_heads": 32, "max_position_embeddings": 131072,
        "original_max_position_embeddings": 4096}
LONG = {"type": "longrope", "short_factor": [round(1 + 0.04 * i + 0.01 * (i % 3), 4) for i in range(48)],
        "long_factor": [round(1.1 + 0.35 * i * (1 + i / 20), 4) for i in range(48)]}
PATCHES = [[0, 3, 47], [0, 60, 2]]  # rows and columns
QWEN2_VL = {"depth": 32, "embed_dim": 1280, "mlp_ratio": 4, "num_heads": 16, "hidden_size": 3584, "patch_size": 14,
            "spatial_merge_size": 2, "temporal_patch_size": 2}
PIXTRAL = {"head_dim": 64, "hidden_size": 1024, "image_size": 1540, "num_attention_heads": 16, "num_hidden_layers": 24,
           "patch_size": 14, "rope_theta": 10000.0}
# Published are equal magnitudes.
PHIMOE = {"hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 8, "max_position_embeddings": 131072,
          "original_max_position_embeddings": 4096, "rope_theta": 10000.0, "rope_scaling": {"type": "longrope",
          "short_mscale": 1.243163121016122, "long_mscale": 1.243163121016122 / 0.98, "original_max_position_embeddings": 4096,
          "short_factor": [round(1 + 0.03 * i + 0.01 * (i % 3), 4) for i in range(64)],
          "long_factor": [round(1.2 + 0.25 * i * (1 + i / 20), 4) for i in range(64)]}}
PHI4 = {"hidden_size": 3072, "num_attention_heads": 24, "max_position_embeddings": 131072,
        "original_max_position_embeddings": 4096}


def llama(**more):
    return dict({"hidden_size": 4096, "num_attention_heads": 32, "max_position_embeddings": 4096}, **more)


# name, module, what its classes are called, configuration, our own keys beside it, type of layer, positions
CASES = [
    ("Llama 2", "llama", "Llama", llama(), {}, None, [0, 1, 4095]),
    ("Llama 3.1", "llama", "Llama", llama(rope_theta=500000.0, max_position_embeddings=131072, rope_scaling=LLAMA31), {},
     None, [5, 8191, 131071]),
    ("Llama 3.2 1B", "llama", "Llama", {"head_dim": 64, "hidden_size": 2048, "num_attention_heads": 32,
     "max_position_embeddings": 131072, "rope_theta": 500000.0, "rope_scaling": dict(LLAMA31, factor=32.0)}, {}, None, [100000]),
    ("Llama, linear", "llama", "Llama", llama(rope_scaling={"type": "linear", "factor": 4.0}), {}, None, [3, 16383]),
    ("Llama, dynamic, short", "llama", "Llama", llama(rope_scaling={"type": "dynamic", "factor": 2.0}), {}, None, [7, 4000]),
    ("Llama, dynamic, long", "llama", "Llama", llama(rope_scaling={"type": "dynamic", "factor": 2.0}), {}, None, [7, 9999]),
    ("Llama, YaRN, factor of its own", "llama", "Llama", llama(rope_scaling={"type": "yarn", "factor": 16.0,
     "original_max_position_embeddings": 2048, "attention_factor": 1.5, "beta_fast": 24, "beta_slow": 2}), {}, None, [9, 30000]),
    ("Llama, rope_parameters", "llama", "Llama", llama(rope_parameters={"rope_type": "yarn", "rope_theta": 20000.0,
     "factor": 8.0, "original_max_position_embeddings": 512}), {}, None, [1, 4000]),
    ("Mistral 7B v0.3", "mistral", "Mistral", {"hidden_size": 4096, "num_attention_heads": 32, "head_dim": 128,
     "rope_theta": 1000000.0, "max_position_embeddings": 32768}, {}, None, [32767]),
    ("Qwen2.5 with YaRN", "qwen2", "Qwen2", {"hidden_size": 3584, "num_attention_heads": 28, "max_position_embeddings": 32768,
     "rope_theta": 1000000.0, "rope_scaling": {"factor": 4.0, "original_max_position_embeddings": 32768, "type": "yarn"}}, {},
     None, [2, 131071]),
    ("Qwen3 with YaRN", "qwen3", "Qwen3", {"hidden_size": 1024, "num_attention_heads": 16, "head_dim": 128,
     "max_position_embeddings": 40960, "rope_theta": 1000000, "rope_scaling": {"rope_type": "yarn", "factor": 4.0,
     "original_max_position_embeddings": 32768}}, {}, None, [100000]),
    ("Qwen3-Next", "qwen3_next", "Qwen3Next", {"hidden_size": 2048, "num_attention_heads": 16, "head_dim": 256,
     "partial_rotary_factor": 0.25, "rope_theta": 10000000, "max_position_embeddings": 262144}, {}, None, [3, 262143]),
    ("DeepSeek V2", "deepseek_v2", "DeepseekV2", {"hidden_size": 5120, "num_attention_heads": 128, "qk_rope_head_dim": 64,
     "qk_nope_head_dim": 128, "v_head_dim": 128, "max_position_embeddings": 163840,
     "rope_scaling": dict(DEEPSEEK, mscale=0.707, mscale_all_dim=0.707)}, INTERLEAVED, None, [6, 163839]),
    ("DeepSeek V3", "deepseek_v3", "DeepseekV3", {"hidden_size": 7168, "num_attention_heads": 128, "qk_rope_head_dim": 64,
     "qk_nope_head_dim": 128, "v_head_dim": 128, "max_position_embeddings": 163840, "rope_theta": 10000,
     "rope_scaling": dict(DEEPSEEK, mscale=1.0, mscale_all_dim=1.0)}, INTERLEAVED, None, [6, 163839]),
    ("DeepSeek, mscale alone", "deepseek_v3", "DeepseekV3", {"hidden_size": 7168, "num_attention_heads": 128,
     "qk_rope_head_dim": 64, "qk_nope_head_dim": 128, "v_head_dim": 128, "max_position_embeddings": 163840,
     "rope_scaling": dict(DEEPSEEK, mscale=1.0, mscale_all_dim=0.5)}, INTERLEAVED, None, [70]),
    ("Phi-3, short", "phi3", "Phi3", dict(PHI3, rope_scaling=LONG), {}, None, [4095]),
    ("Phi-3, long", "phi3", "Phi3", dict(PHI3, rope_scaling=LONG), {}, None, [4096, 100000]),
    ("Phi-3.5-MoE, short", "phimoe", "Phimoe", PHIMOE, {"model_type": "phimoe"}, None, [0, 4095]),
    ("Phi-3.5-MoE, beyond 4096", "phimoe", "Phimoe", PHIMOE, {"model_type": "phimoe"}, None, [1, 4096, 100000]),
    ("Phi-4-mini, long", "phi3", "Phi3", dict(PHI4, rope_scaling=dict(LONG, partial_rotary_factor=0.75)), {}, None, [4096, 100000]),
    ("Phi-2", "phi", "Phi", {"hidden_size": 2560, "num_attention_heads": 32, "partial_rotary_factor": 0.4,
     "max_position_embeddings": 2048}, {}, None, [2047]),
    ("StableLM 2", "stablelm", "StableLm", {"hidden_size": 2048, "num_attention_heads": 32, "partial_rotary_factor": 0.25,
     "max_position_embeddings": 4096}, {}, None, [4095]),
    ("gpt-oss", "gpt_oss", "GptOss", {"hidden_size": 2880, "num_attention_heads": 64, "head_dim": 64, "rope_theta": 150000,
     "max_position_embeddings": 131072, "rope_scaling": {"beta_fast": 32.0, "beta_slow": 1.0, "factor": 32.0,
     "original_max_position_embeddings": 4096, "rope_type": "yarn", "truncate": False}}, {}, None, [8, 131071]),
    ("Gemma 3, full", "gemma3", "Gemma3", dict(GEMMA, rope_theta=1000000.0, rope_local_base_freq=10000.0,
     rope_scaling={"factor": 8.0, "rope_type": "linear"}), {}, "full_attention", [131071]),
    ("Gemma 3, sliding", "gemma3", "Gemma3", dict(GEMMA, rope_theta=1000000.0, rope_local_base_freq=10000.0,
     rope_scaling={"factor": 8.0, "rope_type": "linear"}), {}, "sliding_attention", [131071]),
    ("Gemma 3, rope_parameters", "gemma3", "Gemma3", dict(GEMMA, rope_parameters={
     "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1000000.0},
     "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0}}), {}, "full_attention", [7]),
    ("Gemma 4, full", "gemma4", "Gemma4", {"hidden_size": 2560, "num_attention_heads": 8, "num_hidden_layers": 6,
     "head_dim": 256, "global_head_dim": 512, "rope_parameters": {
     "full_attention": {"rope_type": "proportional", "partial_rotary_factor": 0.25, "rope_theta": 1000000.0},
     "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0}}}, {}, "full_attention", [130000]),
    ("ModernBERT, full", "modernbert", "ModernBert", MODERNBERT, {}, "full_attention", [8191]),
    ("ModernBERT, sliding", "modernbert", "ModernBert", MODERNBERT, {}, "sliding_attention", [8191]),
    ("GLM-4 9B", "glm", "Glm", {"hidden_size": 4096, "num_attention_heads": 32, "head_dim": 128, "partial_rotary_factor": 0.5,
     "rope_theta": 10000.0, "max_position_embeddings": 131072}, INTERLEAVED, None, [4, 131071]),
    ("GLM-4.5", "glm4_moe", "Glm4Moe", {"hidden_size": 4096, "num_attention_heads": 96, "head_dim": 128,
     "partial_rotary_factor": 0.5, "rope_theta": 1000000, "max_position_embeddings": 131072}, {}, None, [131071]),
    ("Command R", "cohere", "Cohere", {"hidden_size": 8192, "num_attention_heads": 64, "rope_theta": 4000000.0,
     "max_position_embeddings": 131072}, INTERLEAVED, None, [1, 131071]),
    ("ERNIE 4.5", "ernie4_5", "Ernie4_5", {"hidden_size": 1024, "num_attention_heads": 16, "head_dim": 128,
     "rope_theta": 500000.0, "max_position_embeddings": 131072}, INTERLEAVED, None, [131071]),
    ("GPT-J 6B", "gptj", "GPTJ", {"n_embd": 4096, "n_head": 16, "rotary_dim": 64, "n_positions": 2048}, INTERLEAVED, None,
     [0, 2047]),
    ("CodeGen 350M", "codegen", "CodeGen", {"n_embd": 1024, "n_head": 16, "rotary_dim": 32, "n_positions": 2048}, INTERLEAVED,
     None, [2047]),
    ("Pythia", "gpt_neox", "GPTNeoX", {"hidden_size": 2048, "num_attention_heads": 16, "rotary_pct": 0.25,
     "rotary_emb_base": 10000, "max_position_embeddings": 2048}, {}, None, [3, 2047]),
    ("HunYuan 7B", "hunyuan_v1_dense", "HunYuanDenseV1", {"hidden_size": 4096, "num_attention_heads": 32, "head_dim": 128,
     "rope_theta": 10000.0, "max_position_embeddings": 32768, "rope_scaling": {"alpha": 1000.0, "beta_fast": 32,
     "beta_slow": 1, "factor": 1.0, "mscale": 1.0, "mscale_all_dim": 0.0, "type": "dynamic"}}, {}, None, [200000]),
    ("Llama 4 Scout", "llama4", "Llama4Text", {"hidden_size": 5120, "num_attention_heads": 40, "head_dim": 128,
     "rope_theta": 500000.0, "max_position_embeddings": 10485760, "rope_scaling": {"factor": 16.0, "high_freq_factor": 1.0,
     "low_freq_factor": 1.0, "original_max_position_embeddings": 8192, "rope_type": "llama3"}}, INTERLEAVED, None,
     [12, 1000000]),
    ("Llama 4 Maverick", "llama4", "Llama4Text", {"hidden_size": 5120, "num_attention_heads": 40, "head_dim": 128,
     "rope_theta": 500000.0, "max_position_embeddings": 1048576}, INTERLEAVED, None, [1048575]),
    ("MiniMax M2", "minimax_m2", "MiniMaxM2", {"hidden_size": 3072, "num_attention_heads": 48, "head_dim": 128,
     "rotary_dim": 64, "rope_theta": 5000000, "max_position_embeddings": 196608}, {}, None, [196607]),
    ("Nemotron 4", "nemotron", "Nemotron", {"hidden_size": 3072, "num_attention_heads": 24, "head_dim": 128,
     "partial_rotary_factor": 0.5, "max_position_embeddings": 4096}, {}, None, [4095]),
    ("SmolLM 3", "smollm3", "SmolLM3", {"hidden_size": 2048, "num_attention_heads": 16, "rope_theta": 5000000.0,
     "max_position_embeddings": 65536}, {}, None, [65535]),
    ("EXAONE 4", "exaone4", "Exaone4", {"hidden_size": 2048, "num_attention_heads": 32, "head_dim": 64,
     "rope_theta": 1000000, "max_position_embeddings": 65536, "rope_scaling": {"factor": 16.0, "high_freq_factor": 4.0,
     "low_freq_factor": 1.0, "original_max_position_embeddings": 8192, "rope_type": "llama3"}}, {}, None, [65535]),
    ("Qwen2-VL", "qwen2_vl", "Qwen2VL", {"hidden_size": 3584, "num_attention_heads": 28, "rope_theta": 1000000.0,
     "max_position_embeddings": 32768, "rope_scaling": {"type": "mrope", "mrope_section": [16, 24, 24]}}, {}, None,
     [[0, 5, 31], [0, 900, 17], [0, 33, 12000]]),
    ("Qwen3-VL", "qwen3_vl", "Qwen3VLText", {"hidden_size": 4096, "num_attention_heads": 32, "head_dim": 128,
     "rope_theta": 5000000, "max_position_embeddings": 262144, "rope_scaling": {"rope_type": "default",
     "mrope_section": [24, 20, 20], "mrope_interleaved": True}}, {}, None, [[0, 5, 31], [0, 900, 17], [0, 33, 200000]]),
    ("GLM-4.1V", "glm4v", "Glm4v", {"hidden_size": 4096, "num_attention_heads": 32, "rope_theta": 10000.0,
     "max_position_embeddings": 65536, "partial_rotary_factor": 0.5, "rope_scaling": {"type": "default",
     "mrope_section": [8, 12, 12]}}, INTERLEAVED, None, [[0, 5, 31], [0, 900, 17], [0, 33, 60000]]),
    ("Ministral 3", "ministral3", "Ministral3", {"hidden_size": 4096, "num_attention_heads": 32, "head_dim": 128,
     "max_position_embeddings": 262144, "rope_parameters": {"type": "yarn", "rope_theta": 1000000.0, "factor": 16.0,
     "original_max_position_embeddings": 16384, "beta_fast": 32.0, "beta_slow": 1.0, "mscale": 1.0, "mscale_all_dim": 1.0,
     "llama_4_scaling_beta": 0.1}}, {}, None, [262143]),
    ("DeepSeek V4, smaller", "deepseek_v4", "DeepseekV4", {"hidden_size": 4096, "num_attention_heads": 64, "head_dim": 128,
     "rope_parameters": {"main": {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.5},
     "compress": {"rope_type": "yarn", "rope_theta": 160000.0, "partial_rotary_factor": 0.5, "factor": 16.0,
     "original_max_position_embeddings": 65536, "attention_factor": 1.0}}}, {"model_type": "deepseek_v4"}, "compress", [9, 1000000]),
    ("MiMo V2 Flash, silent", "mimo_v2_flash", "MiMoV2Flash", {}, {"model_type": "mimo_v2_flash"}, "full_attention", [3, 131071]),
    ("Moonshine Streaming", "moonshine_streaming", "MoonshineStreaming", {"hidden_size": 320, "num_attention_heads": 8,
     "head_dim": 40, "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.8}},
     {"model_type": "moonshine_streaming"}, None, [2, 4095]),
    ("Privacy filter, silent", "openai_privacy_filter", "OpenAIPrivacyFilter", {}, {"model_type": "openai_privacy_filter"}, None,
     [8, 131071]),
    ("Qwen2-VL's tower", "qwen2_vl", "Qwen2VLVision", QWEN2_VL, {"model_type": "qwen2_vl_vision"}, None, PATCHES),
    ("Qwen2-VL's tower, own keys", "qwen2_vl", "Qwen2VLVision", {"embed_dim": 1280, "num_heads": 16}, {"head_dim": 80,
     "axes": "separate", "mrope_section": [20, 20]}, None, PATCHES),
    ("Qwen2.5-VL's tower", "qwen2_5_vl", "Qwen2_5_VLVision", {"depth": 32, "hidden_size": 1280, "num_heads": 16,
     "patch_size": 14, "out_hidden_size": 3584}, {"model_type": "qwen2_5_vl_vision"}, None, PATCHES),
    ("Qwen3-VL's tower", "qwen3_vl", "Qwen3VLVision", {"depth": 27, "hidden_size": 1152, "num_heads": 16, "patch_size": 16,
     "out_hidden_size": 4096, "rope_parameters": {"rope_type": "axial", "rope_theta": 10000.0}},
     {"model_type": "qwen3_vl_vision"}, None, PATCHES),
    ("Pixtral's tower", "pixtral", "PixtralVision", PIXTRAL, {"model_type": "pixtral"}, None, PATCHES),
    ("Pixtral's tower, own keys", "pixtral", "PixtralVision", {"hidden_size": 1024, "num_attention_heads": 16,
     "rope_theta": 10000.0}, {"mrope_section": [16, 16],
     "inverse_frequencies": [1e4**-(2 * i / 64) for i in [*range(0, 32, 2), *range(1, 32, 2)]]}, None, PATCHES),
]


def number(i):
    """Signed, over seven octaves, and exact in f32; test_rope_goldens.c has the same."""
    return ((((1103515245 * i + 12345) & 0xFFFFFFFF) >> 8 & 0xFFFF) - 32768) / 32768 * 2.0 ** (i % 7 - 3)


def inputs(tokens, dim):
    return torch.tensor([[[[number(t * dim + c) for c in range(dim)] for t in range(tokens)]]])


def interleave(x):
    """Halves to neighbours."""
    return torch.stack(x.chunk(2, -1), -1).flatten(-2)


def made(name, module, prefix, settings, layer_type, positions):
    """Frequencies, attention factor, softmax factor, heads' channels, and what becomes of inputs()."""
    code = importlib.import_module(f"transformers.models.{module}.modeling_{module}")
    kinds = importlib.import_module(f"transformers.models.{module}.configuration_{module}")
    names = [f"{prefix}Config", f"{prefix}TextConfig", f"{prefix}VisionConfig"]
    if module in ("qwen2_vl", "gemma3", "gemma4", "glm4v") and "Vision" not in prefix:
        names = names[1:]
    config = next(getattr(kinds, x) for x in names if hasattr(kinds, x))(**settings)
    at = torch.tensor(positions)
    tokens = at.shape[-1]
    if module in ("gptj", "codegen"):
        dim, rotary = settings["n_embd"] // settings["n_head"], settings["rotary_dim"]
        table = code.create_sinusoidal_positions(config.n_positions, rotary).double()
        exact = 1e4 ** (-torch.arange(0, rotary, 2) / rotary)
        assert (table[1, : rotary // 2] - exact.sin()).abs().max() < 1e-6
        angles = at[None, :, None] * exact  # its table is float32 whatever we say
        x = inputs(tokens, dim).transpose(1, 2)
        y = torch.cat([code.apply_rotary_pos_emb(x[..., :rotary], angles.sin(), angles.cos()), x[..., rotary:]], -1)
        return exact, 1.0, 1.0, dim, y.transpose(1, 2)
    cls = next(getattr(code, f"{prefix}{x}RotaryEmbedding") for x in ("", "Text") if hasattr(code, f"{prefix}{x}RotaryEmbedding"))
    rotary = cls(config)
    where = at[:, None] if at.ndim == 2 else at[None]
    if "tower" in name:
        where = at.T
    more = {"layer_type": layer_type} if layer_type else {}
    returned = rotary(inputs(tokens, 1), where, **more)
    if module == "pixtral":
        returned = [part[None] for part in returned]
    frequencies = getattr(rotary, f"{layer_type}_inv_freq" if layer_type else "inv_freq")
    factor = getattr(rotary, f"{layer_type}_attention_scaling" if layer_type else "attention_scaling")
    if module == "phimoe":  # computes frequencies and magnitude anew in each call, and keeps neither
        frequencies, factor = rotary.rope_init_fn(config)[0], torch.hypot(*returned)[0, 0, 0]
    heads = settings.get("num_attention_heads", settings.get("num_heads"))
    width = settings.get("embed_dim", settings.get("hidden_size"))
    dim = settings.get("qk_rope_head_dim", settings.get("head_dim", width // heads if settings else config.head_dim))
    if layer_type == "full_attention":
        dim = settings.get("global_head_dim", dim)
    softmax = 0.0 if module == "ministral3" else 1.0  # 0: has mscale_all_dim, and multiplies no scale by it
    if module in ("deepseek_v2", "deepseek_v3"):
        with torch.device("meta"):
            attention = getattr(code, f"{prefix}Attention")(config, 0)
        softmax = attention.scaling * attention.qk_head_dim**0.5
    x = inputs(tokens, dim)
    if module == "llama4":
        y = code.apply_rotary_emb(x.transpose(1, 2), x.transpose(1, 2), returned)[0].transpose(1, 2)
    elif module == "deepseek_v2":
        y = code.apply_rotary_emb(x, x, returned)[0]
    elif module == "deepseek_v3":
        y = interleave(code.apply_rotary_pos_emb_interleave(x, x, *returned)[0])
    elif prefix.startswith("Qwen") and prefix.endswith("Vision"):
        cosine, sine = (part.reshape(tokens, -1) for part in returned)
        y = code.apply_rotary_pos_emb_vision(x[0].transpose(0, 1), x[0].transpose(0, 1), cosine, sine)[0].transpose(0, 1)[None]
    elif module in ("gemma4", "deepseek_v4"):
        y = code.apply_rotary_pos_emb(x, *returned)
    else:
        rotary_dim = returned[0].shape[-1] * (2 if module in ("gpt_oss", "openai_privacy_filter") else 1)
        front = x[..., :rotary_dim]
        y = torch.cat([code.apply_rotary_pos_emb(front, front, *returned)[0], x[..., rotary_dim:]], -1)
    if prefix.startswith("Qwen") and prefix.endswith("Vision"):
        frequencies = torch.cat([frequencies.flatten(), frequencies.flatten()])
    return frequencies, factor, softmax, dim, y


def listed(values, digits):
    return "".join(f"{v:.{digits}g}, " for v in values).rstrip()


def main():
    import transformers

    print("/* SPDX-License-Identifier: Apache-2.0 */")
    print("/* Written by tests/golden/make_rope_goldens.py. */")
    rows = []
    for i, (name, module, prefix, settings, ours, layer_type, positions) in enumerate(CASES):
        frequencies, factor, softmax, dim, rotated = made(name, module, prefix, dict(settings), layer_type, positions)
        rotated = rotated.reshape(-1, dim)
        channels = [(11 * j + j // 3) % dim for j in range(SAMPLES)]
        flat = torch.tensor(positions)
        for kind, label, values in [
            ("double", "frequencies", listed(frequencies.flatten().tolist(), 16)),
            ("int64_t", "positions", "".join(f"{p}, " for p in flat.flatten().tolist()).rstrip()),
            ("double", "rotated", listed(rotated[:, channels].flatten().tolist(), 12)),
        ]:
            print(f"static const {kind} {label}_{i}[] = {{{values}}};")
        text = json.dumps(dict(settings, **ours)).replace('"', '\\"')
        layer = f'"{layer_type}"' if layer_type else "NULL"
        axes, tokens = (len(positions), len(positions[0])) if flat.ndim == 2 else (1, len(positions))
        rows.append(f'    {{"{name}", "{text}", {layer}, {axes}, {tokens}, {dim}, {frequencies.numel()}, {float(factor)!r}, '
                    f"{float(softmax)!r}, frequencies_{i}, positions_{i}, rotated_{i}}},")
        print(f"{name}: {frequencies.numel()} pairs of {dim}", file=sys.stderr)
    print(f"enum {{ SAMPLES = {SAMPLES} }};")
    print("static const struct golden goldens[] = {", *rows, "};", sep="\n")
    print(f"transformers {transformers.__version__}, torch {torch.__version__}", file=sys.stderr)


main()
