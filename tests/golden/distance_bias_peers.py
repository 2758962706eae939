# SPDX-License-Identifier: Apache-2.0
"""distance_bias.py against transformers, where Python has it: ALiBi's slopes are those of BLOOM and MPT."""
import sys

import torch
from distance_bias import alibi_slopes

try:
    from transformers.models.bloom.modeling_bloom import build_alibi_tensor
    from transformers.models.mpt.modeling_mpt import build_mpt_alibi_tensor
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
sys.exit(failures > 0)
