# SPDX-License-Identifier: Apache-2.0
"""oracle_peers.py ROTARY: attend --position against the attention of transformers, where Python has it, and against the biases
of x-transformers where it is there too."""

import numpy as np
import torch
from oracle_support import array, near, report, result

from transformers import DebertaV2Config, T5Config, Wav2Vec2ConformerConfig
from transformers.models.deberta_v2.modeling_deberta_v2 import DisentangledSelfAttention
from transformers.models.speecht5.modeling_speecht5 import SpeechT5RelativePositionalEncoding
from transformers.models.t5.modeling_t5 import T5Attention
from transformers.models.wav2vec2_conformer.modeling_wav2vec2_conformer import (Wav2Vec2ConformerRelPositionalEmbedding,
                                                                               Wav2Vec2ConformerSelfAttention)

torch.manual_seed(20240617)
torch.set_default_dtype(torch.float64)
T, H, D = 70, 6, 8
W = H * D


def filled(module):
    for parameter in module.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    return module.eval()


def split(x):
    """[1, T, W] as [T, H, D]."""
    return x.detach().reshape(T, H, D).numpy()


def oracle(query, key, value, *flags):
    arrays = [array(f"{name}.npy", split(x)) for name, x in [("q", query), ("k", key), ("v", value)]]
    result("attend", "--query", arrays[0], "--key", arrays[1], "--value", arrays[2], "--output", "o.npy", "--json", *flags)
    return np.load("o.npy").reshape(T, W)


def parameters(**values):
    words = []
    for name, value in values.items():
        name = name.replace("__", ".")
        words += ["--parameter", f"{name}={array(name + '.npy', value.detach().numpy())}"]
    return words


x = torch.randn(1, T, W)
later = torch.ones(T, T, dtype=torch.bool).triu(1)

# T5 does not scale.
for causal in [True, False]:
    t5 = filled(T5Attention(T5Config(d_model=W, d_kv=D, num_heads=H, is_decoder=causal, relative_attention_num_buckets=16,
                                     relative_attention_max_distance=40, attn_implementation="eager"),
                            has_relative_attention_bias=True, layer_idx=0))
    t5.o.weight.data = torch.eye(W)
    mask = torch.where(later, -np.inf, 0.0)[None, None] if causal else None
    with torch.no_grad():
        wanted = t5(x, mask=mask)[0][0]
    got = oracle(t5.q(x), t5.k(x), t5.v(x), "--position", "t5", "--scale", 1, "--set", "relative_attention_num_buckets=16",
                 "--set", "relative_attention_max_distance=40", *(["--causal"] if causal else []),
                 *parameters(relative_attention_bias__weight=t5.relative_attention_bias.weight))
    near(f"T5, causal {causal}", got, wanted, 1e-12)

# Wav2Vec2-Conformer has Transformer-XL's attention without a mask; its sinusoids are in f32.
config = Wav2Vec2ConformerConfig(hidden_size=W, num_attention_heads=H, position_embeddings_type="relative", max_source_positions=T,
                                 attention_dropout=0.0, attn_implementation="eager")
conformer = filled(Wav2Vec2ConformerSelfAttention(config))
conformer.linear_out.weight.data, conformer.linear_out.bias.data = torch.eye(W), torch.zeros(W)
with torch.no_grad():
    wanted = conformer(x, relative_position_embeddings=Wav2Vec2ConformerRelPositionalEmbedding(config)(x))[0][0]
got = oracle(conformer.linear_q(x), conformer.linear_k(x), conformer.linear_v(x), "--position", "transformer-xl",
             *parameters(relative_keys__weight=conformer.linear_pos.weight, content_bias=conformer.pos_bias_u,
                         position_bias=conformer.pos_bias_v))
near("Transformer-XL", got, wanted, 1e-5)

# DeBERTa-v2. Its position to content has the vectors of delta(i, j) where the paper has delta(j, i): for distances below k, the
# table in reverse. Its projections of positions have biases.
for kind, reach in [("c2p", 20), ("p2c", T + 1)]:
    config = DebertaV2Config(hidden_size=W, num_attention_heads=H, relative_attention=True, max_relative_positions=reach,
                             position_buckets=-1, pos_att_type=[kind], attention_probs_dropout_prob=0.0, hidden_dropout_prob=0.0)
    deberta = filled(DisentangledSelfAttention(config))
    table = torch.randn(2 * reach, W)
    zero = torch.zeros(W, W)
    for causal in [True, False]:
        mask = ~later[None, None] if causal else torch.ones(1, 1, T, T)
        projection = deberta.pos_key_proj if kind == "c2p" else deberta.pos_query_proj
        torch.nn.init.zeros_(projection.bias)
        with torch.no_grad():
            wanted = deberta(x, mask, rel_embeddings=table)[0][0]
        placed = table if kind == "c2p" else table[(-torch.arange(2 * reach)) % (2 * reach)]
        got = oracle(deberta.query_proj(x), deberta.key_proj(x), deberta.value_proj(x), "--position", "deberta", "--scale",
                     (2 * D)**-0.5, "--set", f"max_relative_position={reach}", *(["--causal"] if causal else []),
                     *parameters(relative_embeddings__weight=placed,
                                 relative_keys__weight=projection.weight if kind == "c2p" else zero,
                                 relative_queries__weight=projection.weight if kind == "p2c" else zero))
        near(f"DeBERTa, {kind}, causal {causal}", got, wanted, 1e-6)  # it takes the root of 2 d in f32

# SpeechT5 has Shaw's vectors of keys, of m - n in -k ... k - 1.
reach = 9
table = filled(SpeechT5RelativePositionalEncoding(D, reach))
query, key, value = (torch.randn(1, T, W) for _ in range(3))
with torch.no_grad():
    vectors = table(x)
    q, k, v = (y.reshape(T, H, D) for y in (query, key, value))
    score = (torch.einsum("thd,shd->hts", q, k) + torch.einsum("thd,tsd->hts", q, vectors)) * D**-0.5
    wanted = torch.einsum("hts,shd->thd", torch.softmax(score.masked_fill(later, -np.inf), -1), v).reshape(T, W)
    rows = table.pe_k.weight[reach:]  # of m - n = 0 ... k - 1
got = oracle(query, key, value, "--position", "shaw", "--causal", "--set", f"max_relative_position={reach - 1}",
             *parameters(relative_keys__weight=rows.flip(0), relative_values__weight=torch.zeros(reach, D)))
near("Shaw", got, wanted, 1e-12)

try:
    from x_transformers.x_transformers import AlibiPositionalBias, RelativePositionBias
except ImportError as missing:
    print(f"without x-transformers: {missing}")
    report()


def attended(bias):
    score = torch.einsum("thd,shd->hts", q, k) * D**-0.5 + bias.detach()
    return torch.einsum("hts,shd->thd", torch.softmax(score, -1), v).reshape(T, W)


near("ALiBi of x-transformers", oracle(query, key, value, "--position", "alibi"), attended(AlibiPositionalBias(H)(T, T)), 1e-6)
for causal in [True, False]:
    t5 = filled(RelativePositionBias(1.0, causal, 16, 40, H))
    got = oracle(query, key, value, "--position", "t5", "--set", "relative_attention_num_buckets=16", "--set",
                 "relative_attention_max_distance=40", *(["--causal"] if causal else []),
                 *parameters(relative_attention_bias__weight=t5.relative_attention_bias.weight))
    bias = t5(T, T)
    near(f"T5 of x-transformers, causal {causal}", got, attended(bias.masked_fill(later, -np.inf) if causal else bias), 1e-12)
report()
