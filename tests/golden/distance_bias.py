# SPDX-License-Identifier: Apache-2.0
"""The encodings that add a bias by distance to scores, from the formulas of their papers. Imported by the scripts here."""
import math
import torch


def alibi_slopes(heads):
    """Press, Smith and Lewis 2022: a geometric sequence from 2^(-8/n) for n heads, a power of two; other numbers of heads
    take every second slope of the next power for those beyond the last."""
    power = 2 ** int(math.log2(heads))
    slopes = [2.0 ** (-8.0 * (h + 1) / power) for h in range(power)]
    return torch.tensor(slopes + [2.0 ** (-4.0 * (2 * h + 1) / power) for h in range(heads - power)])


def t5_bucket(distance, causal, buckets, max_distance):
    """Raffel et al. 2020: the first half of the buckets are single distances, the others grow with the logarithm up to
    max_distance. Where both directions are seen, each has half of the buckets."""
    away, first = distance.abs(), 0
    if not causal:
        buckets //= 2
        first = buckets * (distance > 0)
    exact = buckets // 2
    edges = [exact * (max_distance / exact) ** (k / (buckets - exact)) for k in range(buckets - exact)]
    beyond = exact - 1 + (away[..., None] >= torch.tensor(edges) * (1 - 1e-12)).sum(-1)
    return first + torch.where(away < exact, away, beyond)


def kerple(distance, heads, parameter, kernel):
    """Chi, Fan, Ramadge and Rudnicky 2022: -r1 ln(1 + r2 u) or -r1 u^r2, here of parameters without bounds."""
    scale = torch.exp(parameter("kerple.log_scale", heads))[:, None, None]
    if kernel == "log":
        return -scale * torch.log(1.0 + torch.exp(parameter("kerple.log_slope", heads))[:, None, None] * distance)
    exponent = 2.0 * torch.sigmoid(parameter("kerple.exponent_logit", heads))[:, None, None]
    away = distance.clamp(min=1).double()  # the power of 0 has no gradient here either
    return -scale * torch.where(distance > 0, away ** exponent, 0.0)


def layer_bias(position, heads, queries, keys, name, parameter, settings):
    """Biases that each layer has for itself, [heads, queries, keys]; 0 for other encodings. `name` is the sublayer's. FIRE, Li
    et al. 2024, as in their listing: a network of psi(|m - n|) / (psi(max(L, m)) + 1e-6)."""
    if position != "fire":
        return 0.0
    width, length = settings.get("fire_width", 32), settings.get("fire_length", 512.0)
    c = parameter(name + ".fire.c", 1).abs()
    threshold = parameter(name + ".fire.length_multiplier", 1).abs() * length
    m = torch.arange(queries, dtype=torch.float64)[:, None]
    away = (m - torch.arange(keys, dtype=torch.float64)).abs()
    x = torch.log(1.0 + c * away) / (torch.log(1.0 + c * torch.maximum(m, threshold)) + 1e-6)
    weight = parameter(name + ".fire.hidden.weight", width, 1)
    hidden = torch.relu(x[..., None] @ weight.T + parameter(name + ".fire.hidden.bias", width))
    out = hidden @ parameter(name + ".fire.output.weight", heads, width).T + parameter(name + ".fire.output.bias", heads)
    return out.movedim(-1, 0)


def bias(position, heads, queries, keys, causal, parameter, settings):
    """[heads, queries, keys], added to the scores of self-attention; 0 for encodings without a bias. parameter(name, shape)
    returns a parameter; settings is a dictionary with the keys of configurations."""
    distance = torch.arange(keys)[None, :] - torch.arange(queries)[:, None]
    if causal:
        distance = distance.clamp(max=0)  # later keys are masked
    if position == "alibi":
        return -alibi_slopes(heads)[:, None, None] * distance.abs()
    if position == "t5":
        buckets = settings.get("relative_attention_num_buckets", 32)
        bucket = t5_bucket(distance, causal, buckets, settings.get("relative_attention_max_distance", 128))
        return parameter("relative_attention_bias.weight", buckets, heads)[bucket].movedim(-1, 0)
    if position == "kerple":
        return kerple(distance.abs(), heads, parameter, settings.get("kerple_kernel", "log"))
    if position == "sandwich":
        channels = settings.get("sandwich_channels", 128)
        angle = distance[..., None] * 10000.0 ** (-2.0 * torch.arange(channels // 2) / channels)
        return torch.cos(angle).sum(-1) / (8.0 * torch.arange(1, heads + 1) / heads)[:, None, None]
    return 0.0
