#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tiny Hugging Face decoders with random weights into folders, as save_pretrained does, and beside each the logits
that transformers computes of them for a few sequences: expected.json. Those of tests/huggingface/decoders are smaller ones:

    python3 tests/huggingface/make_decoders.py FOLDER
    python3 tests/huggingface/make_decoders.py tests/huggingface/decoders kept
"""
import copy
import json
import os
import sys
import torch
import transformers

SHARED = {"vocab_size": 61, "hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2,
          "intermediate_size": 48, "max_position_embeddings": 64, "pad_token_id": None, "bos_token_id": 1, "eos_token_id": 2}
LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 16}
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16}
LONGROPE = {"type": "longrope", "short_factor": [1.0, 1.1, 1.2, 1.3], "long_factor": [1.0, 2.0, 3.5, 5.0]}
GEMMA = {"sliding_window": 5, "head_dim": 16, "query_pre_attn_scalar": 24}
# name: class without "ForCausalLM", what differs in the configuration, type of the stored tensors. A name that ends with
# "-raw" keeps the configuration as it is here, as older versions of transformers wrote it.
CASES = {
    "llama": ("Llama", {}, "float32"),
    "llama-3": ("Llama", {"rope_scaling": LLAMA3, "rope_theta": 500000.0, "tie_word_embeddings": True}, "bfloat16"),
    "llama-3-raw": ("Llama", {"rope_scaling": LLAMA3, "rope_theta": 500000.0, "head_dim": 16}, "bfloat16"),
    "llama-biases-f16": ("Llama", {"attention_bias": True, "mlp_bias": True}, "float16"),
    "llama-linear-raw": ("Llama", {"rope_scaling": {"type": "linear", "factor": 2.0}, "num_key_value_heads": 4}, "float32"),
    "llama-yarn": ("Llama", {"rope_scaling": YARN}, "float32"),
    "llama-yarn-beside-raw": ("Llama", {"rope_scaling": YARN, "original_max_position_embeddings": 8}, "float32"),
    "llama-dynamic-inside-raw": ("Llama", {"rope_scaling": {"rope_type": "dynamic", "factor": 2.0, "original_max_position_embeddings": 4},
                                           "max_position_embeddings": 16}, "float32"),
    "gemma3-beside-raw": ("Gemma3Text", GEMMA | {"layer_types": ["sliding_attention", "full_attention", "sliding_attention"],
                                                 "rope_parameters": {"sliding_attention": {"rope_type": "default"}, "rope_theta": 77.0,
                                                                     "full_attention": YARN | {"truncate": False}}}, "float32"),
    "gpt-neox-other-keys-raw": ("GPTNeoX", {"rope_theta": 500.0, "partial_rotary_factor": 0.5}, "float32"),
    "gemma2-pattern-raw": ("Gemma2", GEMMA | {"sliding_window_pattern": 3}, "float32"),
    "llama-mscale": ("Llama", {"rope_scaling": YARN | {"mscale": 0.7, "mscale_all_dim": 1.5}}, "float32"),
    "llama-sees-all": ("Llama", {"is_causal": False}, "float32"),
    "llama-dynamic": ("Llama", {"rope_scaling": {"rope_type": "dynamic", "factor": 2.0}}, "float32"),
    "mistral": ("Mistral", {"sliding_window": 5, "head_dim": 16}, "bfloat16"),
    "mistral-full-raw": ("Mistral", {"sliding_window": None, "rope_theta": 1e6}, "bfloat16"),
    "ministral": ("Ministral", {"sliding_window": 5, "head_dim": 16, "layer_types": [
        "sliding_attention", "full_attention", "sliding_attention"]}, "bfloat16"),
    "ministral-all-raw": ("Ministral", {"sliding_window": 5, "head_dim": 16}, "float32"),
    "ministral3": ("Ministral3", {"rope_parameters": YARN | {"original_max_position_embeddings": 5, "llama_4_scaling_beta": 0.7}},
                   "float32"),
    "ministral3-window": ("Ministral3", {"sliding_window": 7, "rope_parameters": {
        "rope_type": "default", "rope_theta": 1e4, "original_max_position_embeddings": 4, "llama_4_scaling_beta": 0.3}},
                          "bfloat16"),
    "qwen2": ("Qwen2", {"tie_word_embeddings": True}, "bfloat16"),
    "qwen2-raw": ("Qwen2", {"use_sliding_window": False, "sliding_window": 5, "max_window_layers": 2}, "float32"),
    "qwen2-window-raw": ("Qwen2", {"use_sliding_window": True, "sliding_window": 5, "max_window_layers": 1}, "float32"),
    "qwen3": ("Qwen3", {"head_dim": 16, "tie_word_embeddings": True}, "bfloat16"),
    "qwen3-raw": ("Qwen3", {"head_dim": 12, "attention_bias": True, "rope_theta": 1e6, "rope_scaling": YARN}, "float32"),
    "qwen3-sees-all": ("Qwen3", {"head_dim": 16, "is_causal": False}, "bfloat16"),
    "olmo2": ("Olmo2", {}, "float16"),
    "olmo2-raw": ("Olmo2", {"attention_bias": True, "rope_theta": 5e5}, "float32"),
    "phi3": ("Phi3", {"sliding_window": 6}, "bfloat16"),
    "phi3-partial-raw": ("Phi3", {"partial_rotary_factor": 0.75, "hidden_size": 64}, "float32"),
    "phi3-short-raw": ("Phi3", {"rope_scaling": LONGROPE, "original_max_position_embeddings": 32}, "bfloat16"),
    "phi3-long-raw": ("Phi3", {"rope_scaling": LONGROPE, "original_max_position_embeddings": 5}, "bfloat16"),
    "phi3-yarn-raw": ("Phi3", {"rope_scaling": LONGROPE | {"type": "yarn", "original_max_position_embeddings": 9},
                               "original_max_position_embeddings": 5}, "float32"),
    "phi3-long": ("Phi3", {"rope_scaling": LONGROPE | {"rope_type": "longrope"}, "original_max_position_embeddings": 5}, "float32"),
    "gemma2": ("Gemma2", GEMMA, "bfloat16"),
    "gemma2-raw": ("Gemma2", GEMMA | {"attention_bias": True, "query_pre_attn_scalar": 11, "attn_logit_softcapping": 2.0,
                                      "final_logit_softcapping": 3.0, "head_dim": 12}, "float32"),
    "gemma3": ("Gemma3Text", GEMMA | {"num_hidden_layers": 7}, "bfloat16"),
    "gemma3-raw": ("Gemma3Text", GEMMA | {"sliding_window_pattern": 2, "rope_local_base_freq": 500.0, "rope_theta": 9e4,
                                          "rope_scaling": {"rope_type": "linear", "factor": 8.0}}, "float32"),
    "gpt-neox": ("GPTNeoX", {}, "float16"),
    "gpt-neox-raw": ("GPTNeoX", {"rotary_pct": 0.5, "rotary_emb_base": 5000, "use_parallel_residual": False}, "float32"),
    "gpt-neox-sees-all": ("GPTNeoX", {"is_causal": False}, "float32"),
    "gpt-neox-bare": ("GPTNeoX", {"attention_bias": False, "hidden_act": "relu"}, "float32"),
}
# An output projection of its own, which config.json then says is the embedding.
CASES |= {stem.lower() + "-own-head": (stem, {"tie_word_embeddings": False}, "bfloat16")
          for stem in ("Llama", "Mistral", "Qwen2", "Qwen3", "Olmo2", "Phi3", "Gemma2", "Gemma3Text", "GPTNeoX")}
KEPT = {name: CASES[name] for name in ("llama-3", "mistral", "gpt-neox", "gemma2-raw", "gemma3-raw", "phi3-short-raw", "olmo2",
                                       "qwen3-sees-all")}
SMALL = {"vocab_size": 19, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 1,
         "intermediate_size": 24}
LENGTHS = (23, 1, 8)


def configuration(stem, changes):
    keys = copy.deepcopy(SHARED | changes)  # its class completes dictionaries within it
    config = getattr(transformers, stem + "Config")
    if stem == "GPTNeoX":
        keys.pop("num_key_value_heads")
    return config, keys


def class_of(stem):
    return getattr(transformers, stem.removesuffix("Text") + "ForCausalLM")


def create(config, stem):
    model = class_of(stem)(config).eval()
    with torch.no_grad():  # so large that no bias, norm or position goes unnoticed
        for parameter in model.parameters():
            parameter.add_(0.25 * torch.randn(parameter.shape))
    return model


def write(folder, name, stem, changes, dtype):
    torch.manual_seed(len(name))
    path = os.path.join(folder, name)
    kind, keys = configuration(stem, changes)
    model = create(kind(**copy.deepcopy(keys), attn_implementation="eager"), stem).to(getattr(torch, dtype))
    model.save_pretrained(path, max_shard_size="8KB" if name.startswith("llama-3") else "1GB")
    generation = os.path.join(path, "generation_config.json")
    if os.path.exists(generation):
        os.remove(generation)
    if name.endswith("-raw"):
        raw = {"architectures": [class_of(stem).__name__], "model_type": model.config.model_type} | keys
        with open(os.path.join(path, "config.json"), "w", encoding="utf-8") as out:
            json.dump(raw, out, indent=1)
    if name.endswith("-own-head"):
        with open(os.path.join(path, "config.json"), encoding="utf-8") as file:
            said = json.load(file) | {"tie_word_embeddings": True}
        with open(os.path.join(path, "config.json"), "w", encoding="utf-8") as out:
            json.dump(said, out, indent=1)
    loaded = class_of(stem).from_pretrained(path, dtype=torch.float32, attn_implementation="eager")
    sequences = [torch.randint(0, loaded.config.vocab_size, (length,)).tolist() for length in LENGTHS]
    with torch.no_grad():
        logits = [loaded.eval()(torch.tensor([sequence]), use_cache=False).logits[0].tolist() for sequence in sequences]
    with open(os.path.join(path, "expected.json"), "w", encoding="utf-8") as out:
        json.dump({"sequences": sequences, "logits": logits}, out)


def make(folder, kept):
    for name, (stem, changes, dtype) in (KEPT if kept else CASES).items():
        write(folder, name, stem, (SMALL if kept else {}) | changes, dtype)


def main():
    make(sys.argv[1], sys.argv[2:] == ["kept"])


if __name__ == "__main__":
    main()
