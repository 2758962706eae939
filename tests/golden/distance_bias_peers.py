# SPDX-License-Identifier: Apache-2.0
"""distance_bias.py against transformers, where Python has it: ALiBi's slopes are those of BLOOM and MPT, T5's buckets those of
T5."""
import sys

import torch
from distance_bias import alibi_slopes, t5_bucket

try:
    from transformers.models.bloom.modeling_bloom import build_alibi_tensor
    from transformers.models.mpt.modeling_mpt import build_mpt_alibi_tensor
    from transformers.models.t5.modeling_t5 import T5Attention
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

failures = 0


def same(what, got, wanted, bound):
    global failures
    error = (got.double() - wanted.double()).abs().max().item()
    if not error <= bound:
        print(f"{what}: off by {error}")
        failures += 1


torch.set_default_dtype(torch.float64)
for heads in (1, 2, 3, 4, 6, 8, 12, 16, 20, 32):
    steps = build_alibi_tensor(torch.ones(1, 2), heads, torch.float32).view(heads, 2)
    same(f"alibi, {heads} heads", alibi_slopes(heads), steps[:, 1] - steps[:, 0], 1e-6)
    steps = build_mpt_alibi_tensor(heads, 2).view(heads, 2)
    same(f"alibi of MPT, {heads} heads", alibi_slopes(heads), steps[:, 1] - steps[:, 0], 1e-6)
distance = torch.arange(-600, 601)
for causal in (True, False):
    for buckets, max_distance in ((32, 128), (32, 512), (8, 16), (64, 100), (4, 8)):
        seen = distance[distance <= 0] if causal else distance
        wanted = T5Attention._relative_position_bucket(seen, not causal, buckets, max_distance)
        got = t5_bucket(seen, causal, buckets, max_distance)
        same(f"t5, {buckets} buckets up to {max_distance}, causal {causal}", got, wanted, 0)
sys.exit(failures > 0)
