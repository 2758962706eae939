# SPDX-License-Identifier: Apache-2.0
"""Rotary position embeddings (RoPE), RoPER, and attention fused with them, on NumPy arrays without copies.

rotary.torch has them as operators of PyTorch, rotary.runs reads the folders of runs and comparisons. Neither is
imported with the package. docs/reference/python.md shows all of it.
"""
from ._abi import InvalidArgumentError, OutOfMemoryError, RotaryError, UnsupportedError, library as _library
from ._attention import Attention, Dropout, Layout, attention
from ._rope import Rope

__all__ = ["Attention", "Dropout", "InvalidArgumentError", "Layout", "OutOfMemoryError", "Rope", "RotaryError",
           "UnsupportedError", "attention"]
__version__: str = _library.rotary_version().decode()
