# SPDX-License-Identifier: Apache-2.0
"""The encodings that give scores and values vectors by distance, from the formulas of their papers. Imported by the scripts
here."""
import torch


def shaw(q, name, distance, causal, parameter, settings):
    """Shaw, Uszkoreit and Vaswani 2018, equations 3 and 4: tables of clipped distances, which the heads share. A decoder has
    the distances up to 0 alone."""
    most, dim = settings.get("max_relative_position", 16), q.shape[-1]
    row = distance.clamp(-most, 0 if causal else most) + most
    rows = most + 1 if causal else 2 * most + 1
    keys = parameter(name + ".relative_keys.weight", rows, dim)[row]
    values = parameter(name + ".relative_values.weight", rows, dim)[row]
    return q, torch.einsum("...td,tsd->...ts", q, keys), values


def transformer_xl(q, name, distance, parameter, settings):
    """Dai et al. 2019, 3.3: (q_i + u) . k_j + (q_i + v) . W_r R_(i - j). A stack shares u and v."""
    width, (heads, dim) = settings["hidden_size"], (q.shape[-3], q.shape[-1])
    stack = name[:name.index("layers.")]
    u = parameter(stack + "content_bias", heads, dim)[:, None]
    v = parameter(stack + "position_bias", heads, dim)[:, None]
    angle = -distance[..., None] * 10000.0 ** (-2.0 * torch.arange(width // 2) / width)
    sinusoids = torch.stack((torch.sin(angle), torch.cos(angle)), -1).flatten(-2)
    keys = sinusoids @ parameter(name + ".relative_keys.weight", heads * dim, width).T
    return q + u, torch.einsum("...htd,tshd->...hts", q + v, keys.unflatten(-1, (heads, dim))), None


def deberta(q, k, name, distance, parameter, settings):
    """He et al. 2021, equations 3 and 4: q_i . k_j + q_i . K_r[delta(i, j)] + k_j . Q_r[delta(j, i)], divided by the root
    of 3 d: here by that of 3, since every score is divided by that of d. delta(i, j) is i - j + k within 0 ... 2 k - 1. The
    layers of a stack share the table that they project."""
    most, width, (heads, dim) = settings.get("max_relative_position", 16), settings["hidden_size"], (q.shape[-3], q.shape[-1])
    table = parameter(name[:name.index("layers.")] + "relative_embeddings.weight", 2 * most, width)
    keys = (table @ parameter(name + ".relative_keys.weight", heads * dim, width).T).unflatten(-1, (heads, dim))
    queries = (table @ parameter(name + ".relative_queries.weight", heads * dim, width).T).unflatten(-1, (heads, dim))
    products = torch.einsum("...htd,tshd->...hts", q, keys[(most - distance).clamp(0, 2 * most - 1)])
    k = k.repeat_interleave(heads // k.shape[-3], -3)
    products = products + torch.einsum("...hsd,tshd->...hts", k, queries[(distance + most).clamp(0, 2 * most - 1)])
    return q / 3 ** 0.5, products / 3 ** 0.5, None


def vectors(position, q, k, name, causal, parameter, settings):
    """Of queries q and keys k [..., heads, tokens, D]: the queries that meet keys; what is added to their products with
    keys, [..., heads, queries, keys] or 0; and what is added to values, [queries, keys, D] or None. `name` is the
    sublayer's."""
    distance = torch.arange(k.shape[-2])[None, :] - torch.arange(q.shape[-2])[:, None]
    if position == "shaw":
        return shaw(q, name, distance, causal, parameter, settings)
    if position == "transformer-xl":
        return transformer_xl(q, name, distance, parameter, settings)
    if position == "deberta":
        return deberta(q, k, name, distance, parameter, settings)
    return q, 0.0, None


def weighted(weights, v, value_vectors):
    """The sum over values v [..., keys, D] and their vectors by distance."""
    out = weights @ v
    return out if value_vectors is None else out + torch.einsum("...ts,tsd->...td", weights, value_vectors)
