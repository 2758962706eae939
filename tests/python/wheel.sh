#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# wheel.sh: builds a wheel of the tree, installs it into an environment of its own, and uses it. 77 where there is no
# Python with pip, scikit-build-core and NumPy: nothing is fetched. PYTHON is one to try first.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
for python in "${PYTHON:-}" python3 /usr/bin/python3; do
    [ -n "$python" ] && "$python" -c 'import numpy, pip, scikit_build_core, venv' 2>/dev/null && break
    python=
done
[ -n "$python" ] || { echo "skipped: there is no Python with pip, scikit-build-core and NumPy"; exit 77; }

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' INT TERM
export PYTHONDONTWRITEBYTECODE=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INDEX=1
unset PYTHONPATH ROTARY_LIBRARY
# Built beside the tree, so that the tree's own build/wheel is left alone.
"$python" -m pip wheel -q --no-deps --no-build-isolation -w "$scratch/wheels" -C build-dir="$scratch/build" "$root" ||
    exit 1
"$python" -m venv --without-pip "$scratch/venv" || exit 1
# The environment is empty but for the NumPy of the Python that built the wheel, and what lies beside it.
"$python" -c 'import numpy, pathlib; print(pathlib.Path(numpy.__file__).parent.parent)' \
    >"$(echo "$scratch"/venv/lib/python*/site-packages)/numpy.pth"
"$python" -m pip --python "$scratch/venv/bin/python" install -q --no-deps "$scratch"/wheels/rotary-*.whl || exit 1
cd "$scratch" || exit 1
"$scratch/venv/bin/python" - "$scratch" <<'END'
import importlib.metadata
import os
import sys

import numpy

import rotary

assert os.path.realpath(rotary.__file__).startswith(os.path.realpath(sys.argv[1])), rotary.__file__
assert importlib.metadata.version("rotary") == rotary.__version__
files = {str(path) for path in importlib.metadata.files("rotary")}
assert {"rotary/librotary.so", "rotary/model_types.json", "rotary/py.typed", "rotary/torch.py"} <= files, files
assert not [path for path in files if path.endswith((".a", ".h", ".cmake", ".pc")) or "/bin/" in path], files
rope = rotary.Rope.from_config({"model_type": "gptj", "head_dim": 64, "rotary_dim": 32})
x = numpy.ones((1, 5, 2, 64), "float32")
assert numpy.abs(rope.inverse(rope.apply(x)) - x).max() <= 1e-6
assert rotary.attention(x, x, x, rope=rope, value_rope=rope, causal=True).shape == x.shape
print(rotary.__version__, sorted(files)[-1])
END
