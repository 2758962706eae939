# SPDX-License-Identifier: Apache-2.0
"""Reads the rotation of a Hugging Face config.json into arguments of Rope.

The program's reader (src/file/rope_config.c) knows more: towers of images, multi-head latent attention, layers that
differ. What this one does not know is refused, never guessed. The defaults of model families are the program's table.
"""
from __future__ import annotations

import functools
import json
import os
import pathlib
import typing

Json = typing.Mapping[str, typing.Any]

# Keys of the rotation's parameters, and the arguments of Rope that they are.
_PARAMETERS = {
    "factor": "factor", "attention_factor": "attention_factor", "beta_fast": "beta_fast", "beta_slow": "beta_slow",
    "mscale": "mscale", "mscale_all_dim": "mscale_all_dim", "truncate": "truncate",
    "low_freq_factor": "low_frequency_factor", "high_freq_factor": "high_frequency_factor",
    "short_factor": "short_factors", "long_factor": "long_factors", "short_mscale": "short_attention_factor",
    "long_mscale": "long_attention_factor", "original_max_position_embeddings": "original_positions",
    "rope_theta": "base",
}
_READ_ELSEWHERE = {"rope_type", "type", "partial_rotary_factor", "mrope_section", "mrope_interleaved"}
_SCALINGS = {"default": "none", "su": "longrope", "mrope": "none", "deepseek_yarn": "yarn"}
_TYPES = {"none", "linear", "ntk", "dynamic", "yarn", "longrope", "llama3", "proportional"}
_NEEDED = {"linear": ["factor"], "ntk": ["factor"], "dynamic": ["factor"], "longrope": ["short_factor", "long_factor"],
           "llama3": ["factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"]}
# What a family's row may have; another key is of a rotation that this reader does not know.
_FAMILY = {"head_dim", "hidden_size", "num_attention_heads", "max_position_embeddings", "rope_theta", "pairing",
           "partial_rotary_factor", "rotary_dim", "original_max_position_embeddings", "rope_parameters"}
# Keys of the model that change the rotation in ways that this reader does not know.
_UNKNOWN = ("qk_rope_head_dim", "no_rope_layers", "rope_local_base_freq", "rope_ratio", "global_rope_theta",
            "axes", "attn_config")


@functools.lru_cache(maxsize=1)
def _families() -> Json:
    """The program's table of model types."""
    path = pathlib.Path(__file__).with_name("model_types.json")
    table: Json = json.loads(path.read_text(encoding="utf-8"))["model_types"]
    return table


def _load(config: Json | str | os.PathLike[str]) -> tuple[Json, str]:
    """The object, and what messages call it."""
    if isinstance(config, (str, os.PathLike)):
        path = pathlib.Path(config)
        if path.is_dir():
            path = path / "config.json"
        try:
            loaded = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise ValueError(f"{path} is not JSON: {error}") from None
        config, where = loaded, str(path)
    else:
        where = "the configuration"
    if not isinstance(config, typing.Mapping):
        raise ValueError(f"{where} is {type(config).__name__}, wanted an object")
    text = config.get("text_config")
    return (text if isinstance(text, typing.Mapping) else config), where


def _parameters(config: Json, family: Json, layer_type: str | None, where: str) -> Json:
    """The object rope_parameters or rope_scaling; of several by layer type the one that is asked for."""
    found = config.get("rope_parameters") or config.get("rope_scaling") or family.get("rope_parameters") or {}
    if not isinstance(found, typing.Mapping):
        raise ValueError(f"{where}: the rotation's parameters are {found!r}, wanted an object")
    by_layer = [key for key, value in found.items() if key.endswith("_attention")]
    if not by_layer:
        return found
    if layer_type not in by_layer:
        raise ValueError(f"{where} has rotations for {', '.join(by_layer)}, wanted one of them as layer_type, "
                         f"got {layer_type}")
    if not isinstance(found[layer_type], typing.Mapping):
        raise ValueError(f"{where}: layers of {layer_type} have no rotation")
    return typing.cast(Json, found[layer_type])


def _number(config: Json, family: Json, *keys: str) -> typing.Any:
    """The first of these keys that the model or its family has; None: neither."""
    for source in (config, family):
        for key in keys:
            if source.get(key) is not None:
                return source[key]
    return None


def _head_dim(config: Json, family: Json, where: str) -> int:
    head_dim = config.get("head_dim") or (None if "head_dim" in config else family.get("head_dim"))
    if head_dim:
        return int(head_dim)
    hidden = _number(config, family, "hidden_size", "n_embd", "d_model")
    heads = _number(config, family, "num_attention_heads", "n_head", "n_heads")
    if not hidden or not heads:
        raise ValueError(f'{where} has no "head_dim", wanted that, or "hidden_size" and "num_attention_heads"')
    if hidden % heads:
        raise ValueError(f'{where}: "hidden_size" is {hidden}, wanted a multiple of "num_attention_heads", {heads}')
    return int(hidden // heads)


def _channels(head_dim: int, fraction: float) -> int:
    """rope_config_channels: the product, rounded down, unless rounding left it just below an even number."""
    product = head_dim * fraction
    return int(product) if int(product) % 2 == 0 else int(product + 1e-9)


def _scaling(parameters: Json, config: Json, where: str) -> str:
    name = parameters.get("rope_type") or parameters.get("type") or "default"
    scaling = _SCALINGS.get(name, name)
    if scaling not in _TYPES:
        raise ValueError(f"{where}: rope_type is {name!r}, wanted default, {', '.join(sorted(_TYPES - {'none'}))}")
    for key in _NEEDED.get(scaling, []):
        if parameters.get(key) is None and config.get(key) is None:
            raise ValueError(f'{where} has no "{key}", which rope_type {name} needs')
    unknown = [key for key in parameters if key not in _PARAMETERS and key not in _READ_ELSEWHERE]
    if unknown:
        raise ValueError(f"{where}: the rotation's parameters have {unknown[0]!r}, which this reader does not know")
    return scaling


def _axes(parameters: Json, settings: dict[str, typing.Any]) -> None:
    if parameters.get("mrope_section"):
        settings["axes"] = "interleaved" if parameters.get("mrope_interleaved") else "sections"
        settings["sections"] = parameters["mrope_section"]


def read(config: Json | str | os.PathLike[str], layer_type: str | None = None) -> dict[str, typing.Any]:
    """The arguments of Rope; ValueError, with the file's name, for what this reader does not know."""
    model, where = _load(config)
    family: Json = _families().get(str(model.get("model_type")), {})
    strange = [key for key in family if key not in _FAMILY] + [key for key in _UNKNOWN if model.get(key)]
    if strange:
        raise ValueError(f"{where}: models of type {model.get('model_type')} have {strange[0]!r}, which this reader "
                         "does not know; `rotary frequencies --config` may")
    parameters = _parameters(model, family, layer_type, where)
    scaling = _scaling(parameters, model, where)
    settings: dict[str, typing.Any] = {"head_dim": _head_dim(model, family, where), "scaling": scaling}
    settings["base"] = _number(model, family, "rope_theta", "rotary_emb_base")
    settings["max_positions"] = _number(model, family, "max_position_embeddings", "n_positions")
    longer = scaling in ("yarn", "longrope")  # of other scalings the family's number is not the context before scaling
    settings["original_positions"] = _number(model, family if longer else {}, "original_max_position_embeddings")
    for key, argument in _PARAMETERS.items():
        if parameters.get(key) is not None:
            settings[argument] = parameters[key]
    fraction = _number({**model, **parameters}, family, "partial_rotary_factor", "rotary_pct", "rope_pct") or 1
    if not 0 < fraction <= 1:
        raise ValueError(f'{where}: "partial_rotary_factor" is {fraction}, wanted a number above 0 and at most 1')
    rotary_dim = _number(model, family, "rotary_dim")
    if scaling == "proportional":
        settings["rotary_fraction"] = fraction
    elif rotary_dim or fraction < 1:
        settings["rotary_dim"] = rotary_dim or _channels(settings["head_dim"], fraction)
    settings["pairing"] = _number(model, family, "pairing") or "half"
    if model.get("rope_interleave") or model.get("rotary_emb_interleaved"):
        settings["pairing"] = "interleaved"
    settings["angles_f32"] = True if model.get("angles") == "f32" else None
    _axes(parameters, settings)
    return {name: value for name, value in settings.items() if value is not None}
