# SPDX-License-Identifier: Apache-2.0
"""Reads the rotation of a Hugging Face config.json, or of a run's, into arguments of Rope.

The program's reader (src/rope_config/rope_config.c) knows more: towers of images, multi-head latent attention, axes
that are not sections. What this one does not know is refused, never guessed. The defaults of model families are the
program's table.
"""
from __future__ import annotations

import functools
import json
import os
import pathlib
import re
import sys
import typing

from . import _abi

Json = typing.Mapping[str, typing.Any]

# Numbers of the rotation's parameters, and the arguments of Rope that they are.
_NUMBERS = {
    "factor": "factor", "attention_factor": "attention_factor", "beta_fast": "beta_fast", "beta_slow": "beta_slow",
    "mscale": "mscale", "mscale_all_dim": "mscale_all_dim", "low_freq_factor": "low_frequency_factor",
    "high_freq_factor": "high_frequency_factor", "short_mscale": "short_attention_factor",
    "long_mscale": "long_attention_factor", "rope_theta": "base",
}
_LISTS = {"short_factor": "short_factors", "long_factor": "long_factors", "pair_factors": "pair_factors",
          "inverse_frequencies": "inverse_frequencies"}
# Read by a function of their own, or without a meaning for the angles.
_OTHER_PARAMETERS = {"rope_type", "type", "partial_rotary_factor", "truncate", "original_max_position_embeddings",
                     "mrope_section", "mrope_interleaved", "pairing", "span", "angles", "tables", "xpos_scale",
                     "xpos_origin", "finetuned"}
_PARAMETERS = {*_NUMBERS, *_LISTS, *_OTHER_PARAMETERS}
# Parameters that have other names in the model, and are among those where there is no object of parameters.
_OF_OBJECT = {"rope_theta", "partial_rotary_factor"}
_BESIDE_LAYER_TYPES = {"truncate", "original_max_position_embeddings"}  # the latter is read of a layer type alone
# Keys of the model that name a rotation and are read, or say which layers rotate, which is the caller's to know.
_MODEL = {"rope_scaling", "rope_parameters", "rotary_dim", "rotary_pct", "rope_pct", "rope_percent", "rotary_emb_base",
          "rotary_emb_fraction", "rope_interleave", "rotary_emb_interleaved", "rope_local_base_freq",
          "rope_sequence_length", "no_rope_layers", "no_rope_layer_interval", "use_rope", "use_rotary_pos_emb"}
# What a family's row may have; another key is of a rotation that this reader does not know.
_FAMILY = {"head_dim", "hidden_size", "num_attention_heads", "max_position_embeddings", "rope_theta", "pairing",
           "partial_rotary_factor", "rotary_dim", "original_max_position_embeddings", "rope_parameters", "ntk_divides",
           "reads_position_embedding_type"}
_OTHER_SPELLINGS = ("scaling_factor", "extrapolation_factor", "attn_factor")  # Grok 2's, beside a rope_type
_SCALINGS = {"default": "none", "su": "longrope", "mrope": "none", "deepseek_yarn": "yarn"}
_TYPES = ("linear", "ntk", "dynamic", "yarn", "longrope", "llama3", "proportional")
_NEEDED = {"linear": ["factor"], "ntk": ["factor"], "dynamic": ["factor"], "longrope": ["short_factor", "long_factor"],
           "llama3": ["factor", "low_freq_factor", "high_freq_factor"]}
_MAGNITUDES = ("yarn", "longrope")  # scalings with an attention_factor
_LENGTHS_BESIDE = ("yarn", "llama3", "longrope")  # scalings whose length beside the parameters comes first
_OWN_LENGTH = ("huggingface", "vllm")  # whose dynamic NTK has max_position_embeddings alone
_DEFAULTS = ("rope_theta", "partial_rotary_factor", "head_dim")  # of a family's layer type, for single keys
_TABLES = {"f32": "float32", "f16": "float16", "bf16": "bfloat16"}
_XPOS_SCALE = 512.0  # of a model with xPos whose file does not say


@functools.lru_cache(maxsize=1)
def _families() -> Json:
    """The program's table of model types."""
    path = _abi.packaged("model_types.json")
    if path is None:
        raise FileNotFoundError("the package has no model_types.json: it was not installed by pip")
    table: Json = json.loads(path.read_text(encoding="utf-8"))["model_types"]
    return table


def _is_number(value: typing.Any) -> bool:
    """Whether it is a number that a double holds; JSON also has NaN here."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def _load(config: Json | str | os.PathLike[str]) -> tuple[Json, str]:
    """The object, and what messages call it."""
    where = "the configuration"
    if isinstance(config, (str, os.PathLike)):
        path = pathlib.Path(config)
        path = path / "config.json" if path.is_dir() else path
        where = str(path)
        try:
            config = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise ValueError(f"{where} is not JSON: {error}") from None
    if not isinstance(config, typing.Mapping):
        raise ValueError(f"{where} is {type(config).__name__}, wanted an object")
    text = config.get("text_config")
    return (text if isinstance(text, typing.Mapping) else config), where


class _Reader:
    """One configuration: `model`, the `family` that its model_type names, and the rotation's `parameters`."""

    def __init__(self, config: Json | str | os.PathLike[str], layer_type: str | None, compat: str) -> None:
        self.model, self.where = _load(config)
        self.compat = compat
        self.by_layer_type = False
        self.local_base: float | None = None  # of layers that do not use that of full attention
        self.shared: Json = {}  # beside the parameters of layer types
        self.defaults: Json = {}  # the family's, of the layer type
        self.family: Json = _families().get(str(self.model.get("model_type")), {})
        self.parameters: Json = {}
        self._refuse_unknown(self.family, _FAMILY)
        rotation = re.compile(r"(^|_)(rope|rotary)")
        # A number of 0 may mean that nothing rotates.
        self._refuse_unknown([key for key, value in self.model.items()
                              if (value or _is_number(value)) and rotation.search(key)], _MODEL | _PARAMETERS)
        for key in ("use_rope", "use_rotary_pos_emb"):
            if self.model.get(key) is False:
                raise self.error(key, "true: the model has no rotation")
        # Keys without a word that names a rotation, whose values have one.
        for key in ("axes", "position", "attn_config", "dual_chunk_attention_config", "yarn", "llama_4_scaling"):
            if isinstance(self.model.get(key), typing.Mapping) or (key == "axes" and self.model.get(key)):
                raise self.error(key, "none: this reader does not know such models")
        if (self.number("attn_temperature_len") or 0) > 0:
            raise self.error("attn_temperature_len", "0: no score grows with its query's position")
        kind = self.model.get("position_embedding_type")
        if self.family.get("reads_position_embedding_type") and not re.search("rope|rotary", str(kind or "rope")):
            raise self.error("position_embedding_type", "rotary or rope")
        if self.model.get("position") not in (None, "rope", "roper", "xpos"):  # a run's
            raise self.error("position", "rope, roper or xpos: with others layers rotate nothing")
        self.parameters = self._find_parameters(layer_type)
        self._refuse_unknown(self.parameters, _PARAMETERS)

    def error(self, key: str, wanted: str, source: Json | None = None) -> ValueError:
        """`source` has the value; if it is not given, the parameters or the model."""
        got = self.parameters.get(key, self.model.get(key)) if source is None else source.get(key)
        return ValueError(f'{self.where}: "{key}" is {got!r}, wanted {wanted}')

    def _refuse_unknown(self, keys: typing.Iterable[str], known: typing.Container[str]) -> None:
        for key in keys:
            if key not in known:
                raise ValueError(f'{self.where}: the model has "{key}", which this reader does not know and which may '
                                 "change the angles; `rotary frequencies --config` may know it")

    def _find_parameters(self, layer_type: str | None) -> Json:
        """The object rope_parameters or rope_scaling; of several by layer type the one that is asked for. The family's
        where there is none."""
        local = self.number("rope_local_base_freq")
        name = next((key for key in ("rope_parameters", "rope_scaling") if self.model.get(key)), "rope_parameters")
        given = self.model.get(name) or {}
        if not given and self.model.get("rope_type"):  # without an object of their own
            self._refuse_unknown([key for key in _OTHER_SPELLINGS if self.model.get(key) is not None], ())
            given = {key: value for key, value in self.model.items() if key in _PARAMETERS - _OF_OBJECT}
        if not isinstance(given, typing.Mapping):
            raise self.error(name, "an object")
        family: Json = self.family.get("rope_parameters") or {}
        of_family = [key for key in family if key.endswith("_attention")]
        layers = [key for key, value in given.items()
                  if key.endswith("_attention") or isinstance(value, typing.Mapping)]
        if layers:
            self.shared = {key: value for key, value in given.items() if key not in layers}
            self._refuse_unknown([key for key, value in self.shared.items() if value is not None], _PARAMETERS)
        elif of_family and given and name == "rope_parameters":
            raise self.error(name, f"an object for each layer type: {', '.join(of_family)}")
        elif of_family or local:  # Gemma 3: local layers have a base of their own, and no scaling
            layers = of_family or ["full_attention", "sliding_attention"]
            given = {key: given if key == "full_attention" else {} for key in layers}
        if not layers:
            return given or family
        if layer_type is None or layer_type not in layers:
            raise ValueError(f"{self.where} has rotations for {', '.join(layers)}, wanted one of them as layer_type, "
                             f"got {layer_type}")
        self.by_layer_type = True
        entry, default = given[layer_type], family.get(layer_type, {}) if of_family else {}
        if not isinstance(entry, typing.Mapping) or not isinstance(default, typing.Mapping):
            raise ValueError(f"{self.where}: layers of {layer_type} have no rotation")
        self._check_shared(entry)
        kept = ("rope_theta", "head_dim") if entry else tuple(default)  # a file's own parameters have no default share
        self.defaults = {key: default[key] for key in kept if key in default}
        if layer_type == "sliding_attention":
            self.local_base = local or self.defaults.get("rope_theta")
        return typing.cast(Json, entry or {key: value for key, value in self.defaults.items() if key not in _DEFAULTS})

    def _check_shared(self, entry: Json) -> None:
        """Refuses what stands beside the parameters of layer types and would change this entry of them if it were
        read. transformers saves there what each of them has too, and that there is no scaling."""
        for key, value in self.shared.items():
            is_default = key in ("rope_type", "type") and value == "default"
            if value is not None and entry.get(key) is None and key not in _BESIDE_LAYER_TYPES and not is_default:
                raise self.error(key, "it among the parameters of each layer type: it stands beside them", self.shared)

    # ---- values ----

    def find(self, *keys: str, family: bool = True) -> tuple[str, typing.Any]:
        """The first of these keys that parameters, model or family have, with its value; None if none has one."""
        for source in (self.parameters, self.model, *([self.defaults, self.family] if family else [])):
            for key in keys:
                if source.get(key) is not None:
                    return key, source[key]
        return keys[0], None

    def number(self, *keys: str, family: bool = True) -> typing.Any:
        """Likewise, a number or None."""
        key, value = self.find(*keys, family=family)
        if value is not None and not _is_number(value):
            raise self.error(key, "a number")
        return value

    def number_of_scaling(self, key: str) -> typing.Any:
        """Likewise, among the parameters alone: a model may mean something else by it."""
        return None if self.parameters.get(key) is None else self.number(key)

    def agreed(self, *keys: str) -> tuple[str, typing.Any]:
        """Likewise, with its key, where the keys are names of one thing: two values in the model are refused, since
        programs differ in which they take. The first of them comes before all if it is among the parameters."""
        if self.parameters.get(keys[0]) is None:
            given = [key for key in keys if self.model.get(key) is not None]
            for key in given[1:]:
                value, first = self.model[key], self.model[given[0]]
                if value != first or isinstance(value, bool) != isinstance(first, bool):
                    raise self.error(key, f'the same as "{given[0]}"', self.model)
        key, _ = self.find(*keys)
        return key, self.number(key)

    def integer(self, *keys: str, family: bool = True) -> int | None:
        key, value = self.find(*keys, family=family)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or not 0 < value < 2**63):
            raise self.error(key, "a whole number from 1 to 2^63 - 1")
        return value

    def numbers(self, key: str) -> list[float] | None:
        _, value = self.find(key)
        if value is not None and not (isinstance(value, (list, tuple)) and all(map(_is_number, value))):
            raise self.error(key, "a list of numbers")
        return typing.cast("list[float] | None", value)

    def choice(self, key: str, choices: typing.Iterable[typing.Any]) -> typing.Any:
        _, value = self.find(key)
        if value is not None and value not in choices:
            raise self.error(key, f"one of {', '.join(map(str, choices))}")
        return value

    # ---- the rotation ----

    def head_dim(self) -> int:
        of_layer: int | None = self.defaults.get("head_dim")
        given = of_layer or self.integer("head_dim", family="head_dim" not in self.model)
        if given:
            return given
        hidden = self.integer("hidden_size", "n_embd", "d_model")
        heads = self.integer("num_attention_heads", "n_head", "n_heads")
        if not hidden or not heads:
            raise ValueError(f'{self.where} has no "head_dim", wanted that, or "hidden_size" and "num_attention_heads"')
        if hidden % heads:
            raise self.error("hidden_size", f'a multiple of "num_attention_heads", {heads}')
        return hidden // heads

    def scaling(self) -> str:
        key = "rope_type" if self.parameters.get("rope_type") is not None else "type"
        name = self.parameters.get(key)
        if name is None and self.parameters.get("factor") is not None:
            raise ValueError(f'{self.where} has a "factor" and no "rope_type", wanted both or none')
        name = "default" if name is None else name
        scaling = _SCALINGS.get(name, name) if isinstance(name, str) else ""
        if scaling not in ("none", *_TYPES):
            raise self.error(key, f"one of default, {', '.join(_TYPES)}")
        for needed in _NEEDED.get(scaling, []):
            beside = self.model if needed in _LISTS else {}
            if self.parameters.get(needed) is None and beside.get(needed) is None:
                raise ValueError(f'{self.where} has no "{needed}" among the parameters of the rotation, which '
                                 f"rope_type {name} needs")
        return scaling

    def span(self, scaling: str, head_dim: int) -> dict[str, typing.Any]:
        """Which channels rotate: rotary_dim of them, or a share of the head."""
        # Nemotron's percent is not read by transformers, whose class has 0.5.
        percent = () if self.compat == "huggingface" else ("rope_percent",)
        key, fraction = self.agreed("partial_rotary_factor", "rotary_pct", "rope_pct", "rotary_emb_fraction", *percent)
        if fraction is not None and not 0 < fraction <= 1:
            raise self.error(key, "a number above 0 and at most 1")
        if "rotary_dim" in self.family and self.model.get("rotary_dim", 0) is None:
            raise self.error("rotary_dim", "the channels of a head that rotate")
        given = self.find(key, family=False)[1] is not None
        rotary_dim = self.integer("rotary_dim", family=not given)
        if given and rotary_dim is not None and rotary_dim != _channels(head_dim, fraction):
            raise self.error("rotary_dim", "the channels that the share of a head beside it makes")
        if scaling == "proportional":
            return {"rotary_fraction": fraction or 1}
        if rotary_dim is None and fraction is not None and fraction < 1:
            rotary_dim = _channels(head_dim, fraction)
            if rotary_dim == 0:
                raise self.error(key, f"one by which at least 2 of a head's {head_dim} channels rotate")
        back = self.choice("span", ("front", "back")) == "back"
        return {"rotary_dim": rotary_dim, "rotary_start": head_dim - (rotary_dim or head_dim) if back else None}

    def base(self) -> typing.Any:
        if self.local_base is not None and self.parameters.get("rope_theta") is None:
            return self.local_base
        return self.agreed("rope_theta", "rotary_emb_base")[1]

    def attention_factor(self, scaling: str) -> typing.Any:
        """transformers does not read that of a scaling without magnitudes."""
        factor = self.number_of_scaling("attention_factor")
        if factor in (None, 1) or scaling in _MAGNITUDES:
            return factor
        if self.compat != "huggingface":
            raise self.error("attention_factor", "1: of yarn and longrope alone it is read")
        return None

    def original_positions(self, scaling: str) -> int | None:
        """The context before scaling, where the file gives one. As in transformers, one beside the parameters comes
        first, and layer types have their own alone; dynamic NTK there has max_position_embeddings."""
        key = "original_max_position_embeddings"
        if scaling == "dynamic" and self.compat in _OWN_LENGTH:
            return None
        inside, beside = self.parameters, {**self.family, **self.model}
        if scaling not in _LENGTHS_BESIDE:
            beside = {**self.model}
        order = [inside] if self.by_layer_type else [beside, inside] if scaling in _LENGTHS_BESIDE else [inside, beside]
        value = next((source[key] for source in order if source.get(key) is not None), None)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
            raise self.error(key, "a whole number from 1 on")
        return value

    def truncate(self) -> typing.Any:
        """transformers looks beside the parameters of layer types alone."""
        inside, beside = self.parameters.get("truncate"), self.shared.get("truncate")
        if self.by_layer_type and self.compat == "huggingface":
            inside = None
        value = beside if inside is None else inside
        if value not in (None, False, True):
            raise self.error("truncate", "one of False, True")
        return value

    def pairing(self) -> str:
        for key in ("rope_interleave", "rotary_emb_interleaved"):
            if self.model.get(key) and not self.model.get("pairing"):
                return "interleaved"
        return self.choice("pairing", ("half", "interleaved")) or "half"

    def xpos(self, max_positions: int | None) -> dict[str, typing.Any]:
        """A run's configuration has an xpos_scale whatever its position is."""
        position = self.model.get("position")
        if position is not None and position != "xpos":
            return {}
        scale, origin = self.number("xpos_scale"), self.number("xpos_origin")
        if position == "xpos":
            scale = _XPOS_SCALE if scale is None else scale
            origin = (max_positions or 0) / 2 if origin is None else origin
        return {"xpos_scale": scale, "xpos_origin": origin}

    def axes(self) -> dict[str, typing.Any]:
        sections = self.numbers("mrope_section")
        if not sections:
            return {}
        if any(isinstance(pairs, float) for pairs in sections):
            raise self.error("mrope_section", "a list of whole numbers")
        return {"axes": "interleaved" if self.parameters.get("mrope_interleaved") else "sections", "sections": sections}

    def sequence_length(self, max_positions: int | None) -> int | None:
        """Of a run, whose one plan is for all lengths; other models' is the caller's to say."""
        return self.integer("rope_sequence_length") or (max_positions if "position" in self.model else None)


def _channels(head_dim: int, fraction: float) -> int:
    """rope_config_channels: the product, rounded down, unless rounding left it just below an even number."""
    product = head_dim * fraction
    return int(product) if int(product) % 2 == 0 else int(product + 1e-9)


def _divide_ntk(settings: dict[str, typing.Any], head_dim: int) -> None:
    """The ntk of a family whose code multiplies the base by the factor and divides all frequencies by
    factor^(2 / d): linear scaling with another base."""
    factor = settings["factor"]
    settings["base"] = (settings["base"] or 1e4) * factor
    settings["factor"] = factor ** (2 / (settings["rotary_dim"] or head_dim))
    settings["scaling"] = "linear"


def read(config: Json | str | os.PathLike[str], layer_type: str | None = None,
         compat: str = "none") -> dict[str, typing.Any]:
    """The arguments of Rope; ValueError, with the file's name, for what this reader does not know."""
    reader = _Reader(config, layer_type, compat)
    scaling, head_dim = reader.scaling(), reader.head_dim()
    max_positions = reader.integer("max_position_embeddings", "n_positions")
    settings = {argument: reader.number_of_scaling(key) for key, argument in _NUMBERS.items()}
    settings.update({argument: reader.numbers(key) for key, argument in _LISTS.items()})
    settings.update(reader.span(scaling, head_dim), **reader.xpos(max_positions), **reader.axes())
    settings.update(
        head_dim=head_dim, scaling=scaling, pairing=reader.pairing(), max_positions=max_positions,
        base=reader.base(), attention_factor=reader.attention_factor(scaling),
        original_positions=reader.original_positions(scaling),
        sequence_length=reader.sequence_length(max_positions) if scaling in ("dynamic", "longrope") else None,
        truncate=reader.truncate(),
        angles_f32=True if reader.choice("angles", ("f64", "f32")) == "f32" else None,
        table_dtype=_TABLES.get(reader.choice("tables", tuple(_TABLES)) or ""))
    if scaling == "ntk" and reader.family.get("ntk_divides"):
        _divide_ntk(settings, head_dim)
    return {name: value for name, value in settings.items() if value is not None}
