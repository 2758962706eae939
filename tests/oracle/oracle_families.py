# SPDX-License-Identifier: Apache-2.0
"""oracle_families.py ROTARY: frequencies and attend, with the config.json that models are released with, against transformers'
own attention on random weights: DeepSeek-V4 (all three types of layers), DeepSeek-V2 and V3 (heads, and their latents), RoFormer
with rotary_value, gpt-oss.

The modules get cosines and sines in double, and compute in double where they say no type; so only what they do in f32 differs."""
import sys

import numpy as np
import torch
from oracle_support import array, check, config, near, refuses, report, result

try:
    from transformers import DeepseekV4Config
except ImportError:
    print("skipped: these transformers have no DeepSeek-V4")
    sys.exit(77)
from transformers import DeepseekV2Config, DeepseekV3Config, GptOssConfig, RoFormerConfig
from transformers.models.deepseek_v2.modeling_deepseek_v2 import DeepseekV2Attention, DeepseekV2RotaryEmbedding
from transformers.models.deepseek_v3.modeling_deepseek_v3 import DeepseekV3Attention, DeepseekV3RotaryEmbedding
from transformers.models.deepseek_v4.modeling_deepseek_v4 import DeepseekV4Attention, DeepseekV4RotaryEmbedding
from transformers.models.gpt_oss.modeling_gpt_oss import GptOssAttention, GptOssRotaryEmbedding
from transformers.models.roformer.modeling_roformer import RoFormerSelfAttention

torch.manual_seed(20260424)
torch.set_default_dtype(torch.float64)
torch.Tensor.float = torch.Tensor.double  # the modules rotate in f32
T, H, W = 150, 4, 24
x = torch.randn(1, T, W)
positions = np.arange(T)
heads = {"hidden_size": W, "num_attention_heads": H, "num_hidden_layers": 3, "vocab_size": 8}
yarn = {"type": "yarn", "factor": 16, "beta_fast": 32, "beta_slow": 1, "original_max_position_embeddings": 64}


def filled(module):
    module = module.double().eval()
    for parameter in module.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
    return module


def made(kind, released):
    """transformers' object for a file."""
    return kind.from_dict({**released, "attn_implementation": "eager"})


def table(found):
    """Angles, and what multiplies cosines and sines: [1, T, pairs] each."""
    angles = torch.tensor(positions[:, None] * np.array(found["inv_freq"]))[None]
    return angles.cos() * found["attention_factor"], angles.sin() * found["attention_factor"]


def agree(about, found, inverse_frequencies, factor):
    near(f"{about}, frequencies", found["inv_freq"], inverse_frequencies, 1e-6 * np.array(found["inv_freq"]))
    near(f"{about}, attention factor", found["attention_factor"], factor, 1e-12)


def visible(window):
    """[T, T]: the mask of a layer, and the same as is added."""
    apart = positions[:, None] - positions
    seen = (apart >= 0) & (apart < window)
    return seen, torch.tensor(np.where(seen, 0.0, -np.inf))[None, None]


def attend(query, key, value, *flags):
    """All [T, heads, channels]."""
    for name, values in [("q", query), ("k", key), ("v", value)]:
        array(f"{name}.npy", values.detach().numpy())
    result("attend", "--query", "q.npy", "--key", "k.npy", "--value", "v.npy", "--output", "o.npy", "--json", *flags)
    return torch.tensor(np.load("o.npy"))


# ---- DeepSeek-V4: one latent is key and value ----

D, RANK = 16, 8
released = {**heads, "model_type": "deepseek_v4", "num_key_value_heads": 1, "head_dim": D, "qk_rope_head_dim": 8, "q_lora_rank": 12,
            "o_lora_rank": 4, "o_groups": 2, "max_position_embeddings": 1024, "rope_theta": 5000, "compress_rope_theta": 90000,
            "rope_scaling": yarn, "sliding_window": 16, "compress_ratios": [0, 4, 128], "index_n_heads": 2, "index_head_dim": 8,
            "index_topk": 5, "num_hash_layers": 3, "num_nextn_predict_layers": 1}
file = config(released, "v4.json")
v4 = made(DeepseekV4Config, dict(released))
rotary = DeepseekV4RotaryEmbedding(v4)
tables = {}
for kind, layer_type in [("main", "sliding_attention"), ("compress", "compressed_sparse_attention"),
                         ("compress", "heavily_compressed_attention")]:
    found = result("frequencies", "--config", file, "--layer-type", layer_type)
    check("the same by the rotation's name", found == result("frequencies", "--config", file, "--layer-type", kind))
    agree(f"V4 {layer_type}", found, getattr(rotary, f"{kind}_inv_freq").numpy(), getattr(rotary, f"{kind}_attention_scaling"))
    check("interleaved pairs at the back", (found["pairing"], found["rotary_start"], found["rotary_dim"]) == ("interleaved", 8, 8))
    tables[kind] = table(found)


class Rotations(torch.nn.Module):
    """In place of the module that a compressor has: cosines and sines in double, or of no rotation."""

    def __init__(self, rotates):
        super().__init__()
        self.rotates = rotates

    def forward(self, like, position_ids, layer_type):
        angles = position_ids[..., None] * torch.tensor(found["inv_freq"])
        return (angles.cos(), angles.sin()) if self.rotates else (torch.ones_like(angles), torch.zeros_like(angles))


seen, mask = visible(released["sliding_window"])
for layer, layer_type in enumerate(v4.layer_types):
    module = filled(DeepseekV4Attention(v4, layer))
    about = f"V4 {layer_type}"
    ids = torch.tensor(positions)[None]
    residual = module.q_a_norm(module.q_a_proj(x))
    query = module.q_b_norm(module.q_b_proj(residual).view(T, H, D))
    latent = module.kv_norm(module.kv_proj(x)).view(T, 1, D)
    flags = ["--rope", file, "--layer-type", layer_type, "--roper", "--sinks", array("sinks.npy", module.sinks.detach().numpy())]
    if module.compressor is None:
        flags += ["--causal", "--window", released["sliding_window"]]
    else:
        # The latents of the compressor before their rotation, at their positions in the sequence.
        module.compressor.rotary_emb = Rotations(False)
        ratio = v4.compress_rates[layer_type]
        compressed, bias = module.compressor(x, residual, ids, None, layer)
        module.compressor.rotary_emb = Rotations(True)
        count = compressed.shape[2]
        check(f"{about} compresses", count == T // ratio)
        latent = torch.cat([latent, compressed[0, 0][:, None]])
        at = np.concatenate([positions, ratio * np.arange(count)])
        both = np.concatenate([seen, np.isfinite(bias[0, 0].detach().numpy())], 1)
        flags += ["--mask", array("mask.npy", both), "--key-positions", array("at.npy", at), "--first-query", 0]
    with torch.no_grad():
        wanted = module(x, tables, ids, mask)[0][0]
        output = attend(query, latent, latent, *flags)
        shared = result("attend", "--query", "q.npy", "--key", "k.npy", "--key-is-value", "--output", "shared.npy", "--json", *flags)
        check(f"{about}, --key-is-value", np.array_equal(np.load("shared.npy"), output.numpy()), str(shared))
        got = module.o_b_proj(module.o_a_proj(output.reshape(1, T, v4.o_groups, -1)).flatten(2))[0]
    near(about, got, wanted, 1e-11 * wanted.abs().max().item())
    plain = attend(query, latent, latent, *[flag for flag in flags if flag != "--roper"], "--ignore", "model_type")
    refuses(1, "wanted --rotate qkvo, or --ignore model_type", "attend", "--query", "q.npy", "--key", "k.npy", "--value", "v.npy", "--output",
            "o.npy", *[flag for flag in flags if flag != "--roper"])
    check(f"{about}: the inverse rotation matters", (plain - output).abs().max() > 1e-2)

# ---- DeepSeek-V2 and V3: a latent beside the rotated part ----

NOPE, ROPE, V, LATENT = 12, 8, 10, 14
mla = {**heads, "num_key_value_heads": H, "qk_nope_head_dim": NOPE, "qk_rope_head_dim": ROPE, "v_head_dim": V, "kv_lora_rank": LATENT,
       "q_lora_rank": 12, "max_position_embeddings": 1024, "rope_theta": 10000,
       "rope_scaling": {**yarn, "mscale": 0.707, "mscale_all_dim": 1.0}}
for name, kinds in [("deepseek_v2", (DeepseekV2Config, DeepseekV2Attention, DeepseekV2RotaryEmbedding)),
                    ("deepseek_v3", (DeepseekV3Config, DeepseekV3Attention, DeepseekV3RotaryEmbedding))]:
    for scaling in [mla["rope_scaling"], None]:
        released = {**mla, "model_type": name, "rope_scaling": scaling}
        file = config(released, "mla.json")
        of_transformers = made(kinds[0], dict(released))
        rotary, module = kinds[2](of_transformers), filled(kinds[1](of_transformers, 0))
        about = f"{name}, {'YaRN' if scaling else 'no scaling'}"
        found = result("frequencies", "--config", file)
        agree(about, found, rotary.inv_freq.numpy(), rotary.attention_scaling)
        check(f"{about}, pairing", found["pairing"] == "interleaved")
        near(f"{about}, softmax factor", found["softmax_factor"] * (NOPE + ROPE)**-0.5, module.scaling, 1e-12)
        cosine, sine = table(found)
        embeddings = torch.complex(cosine, sine) if name == "deepseek_v2" else tuple(torch.cat([y, y], -1) for y in (cosine, sine))
        _, mask = visible(T)
        with torch.no_grad():
            wanted = module(hidden_states=x, position_embeddings=embeddings, attention_mask=mask)[0][0]
            query = module.q_b_proj(module.q_a_layernorm(module.q_a_proj(x))).view(T, H, NOPE + ROPE)
            latent, rope = module.kv_a_proj_with_mqa(x)[0].split([LATENT, ROPE], -1)
            latent = module.kv_a_layernorm(latent)
            up = module.kv_b_proj.weight.view(H, NOPE + V, LATENT)
            key = torch.cat([torch.einsum("tl,hnl->thn", latent, up[:, :NOPE]), rope[:, None].expand(T, H, ROPE)], -1)
            value = torch.einsum("tl,hvl->thv", latent, up[:, NOPE:])
            output = attend(query, key, value, "--rope", file, "--causal")
            near(f"{about}, heads", module.o_proj(output.reshape(T, -1)), wanted, 1e-6 * wanted.abs().max().item())
            # Absorbed: one key head, which is the latent and the rotated part, and whose latent is the value.
            absorbed = torch.cat([torch.einsum("thn,hnl->thl", query[..., :NOPE], up[:, :NOPE]), query[..., NOPE:]], -1)
            key = torch.cat([latent, rope], -1)[:, None]
            output = attend(absorbed, key, latent[:, None], "--rope", file, "--causal")
            output = torch.einsum("thl,hvl->thv", output, up[:, NOPE:])
            near(f"{about}, latents", module.o_proj(output.reshape(T, -1)), wanted, 1e-6 * wanted.abs().max().item())

# ---- RoFormer with rotary_value: values rotate, and the output does not ----

released = {**heads, "model_type": "roformer", "hidden_size": 32, "rotary_value": True, "max_position_embeddings": 1024}
file = config(released, "roformer.json")
module = filled(RoFormerSelfAttention(made(RoFormerConfig, dict(released))))
cosine, sine = table(result("frequencies", "--config", file))
y = torch.randn(1, T, 32)
query, key, value = (project(y).view(T, H, 8) for project in (module.query, module.key, module.value))
with torch.no_grad():
    wanted = module(y, sinusoidal_pos=torch.cat([sine, cosine], -1)[None])[0][0]
    output = attend(query, key, value, "--rope", file, "--rotate", "qkv")
near("RoFormer, rotary_value", output.reshape(T, -1), wanted, 1e-12 * wanted.abs().max().item())
for flags in [[], ["--roper"], ["--rotate", "qko"]]:
    refuses(1, "wanted --rotate qkv, or --ignore rotary_value", "attend", "--query", "q.npy", "--key", "k.npy", "--value", "v.npy",
            "--output", "o.npy", "--rope", file, *flags)

# ---- gpt-oss: YaRN whose range is not rounded, sinks, a window on every second layer ----

released = {**heads, "model_type": "gpt_oss", "num_key_value_heads": 2, "head_dim": 16, "sliding_window": 16, "rope_theta": 150000,
            "max_position_embeddings": 2048, "attention_bias": True, "layer_types": ["sliding_attention", "full_attention"] * 2,
            "num_hidden_layers": 4, "rope_scaling": {"rope_type": "yarn", "factor": 32.0, "beta_fast": 32.0, "beta_slow": 1.0,
                                                      "original_max_position_embeddings": 4096, "truncate": False}}
file = config(released, "oss.json")
oss = made(GptOssConfig, dict(released))
rotary = GptOssRotaryEmbedding(oss)
found = result("frequencies", "--config", file)
agree("gpt-oss", found, rotary.inv_freq.numpy(), rotary.attention_scaling)
rounded = config({**released, "rope_scaling": {**released["rope_scaling"], "truncate": True}}, "rounded.json")
check("truncate matters", result("frequencies", "--config", rounded)["inv_freq"] != found["inv_freq"])
for layer in range(2):
    window = released["sliding_window"] if layer == 0 else T
    _, mask = visible(window)
    module = filled(GptOssAttention(oss, layer))
    query, key, value = (project(x).view(T, -1, 16) for project in (module.q_proj, module.k_proj, module.v_proj))
    with torch.no_grad():
        wanted = module(x, table(found), mask)[0][0]
        output = attend(query, key, value, "--rope", file, "--causal", "--sinks", array("sinks.npy", module.sinks.detach().numpy()),
                        *(["--window", window] if layer == 0 else []))
        near(f"gpt-oss, layer {layer}", module.o_proj(output.reshape(T, -1)), wanted, 1e-12 * wanted.abs().max().item())
report()
