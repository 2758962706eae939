#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# wheel.sh: makes the source distribution, builds a wheel of it, installs it into an environment of its own, and uses the
# package and the program; then the same of the wheel with bundled libraries (scripts/wheel), where there are auditwheel
# and patchelf. 77 where there is no Python with pip, scikit-build-core and NumPy: nothing is fetched. PYTHON is one to try
# first.
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
export PYTHONDONTWRITEBYTECODE=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INDEX=1 PYTHON="$python"
unset PYTHONPATH ROTARY_LIBRARY
status=0
complain() {
    echo "FAILED: $*"
    status=1
}

# The package in Python; the argument is the environment.
cat >"$scratch/package.py" <<'END'
import importlib.metadata
import os
import sys

import numpy

import rotary

assert os.path.realpath(rotary.__file__).startswith(os.path.realpath(sys.argv[1])), rotary.__file__
assert importlib.metadata.version("rotary") == rotary.__version__
files = {str(path) for path in importlib.metadata.files("rotary")}
assert {"rotary/librotary.so", "rotary/py.typed", "rotary/torch.py"} <= files, files
assert not [path for path in files if path.endswith((".a", ".h", ".cmake", ".pc"))], files
config = {"model_type": "gptj", "head_dim": 64, "rotary_dim": 32}
rope = rotary.Rope(64, rotary_dim=32, pairing="interleaved", max_positions=2048)
try:
    assert rotary.Rope.from_config(config) == rope
    assert "rotary/librotary_config.so" in files, files
except rotary.UnsupportedError as error:
    assert "libjansson-dev" in str(error) and "rotary/bin/rotary" not in files, error
x = numpy.ones((1, 5, 2, 64), "float32")
assert numpy.abs(rope.inverse(rope.apply(x)) - x).max() <= 1e-6
assert rotary.attention(x, x, x, rope=rope, value_rope=rope, causal=True).shape == x.shape
print(rotary.__version__)
END

# The program, by the path alone and in an empty folder: it has its presets and completions, and it trains and compares.
cat >"$scratch/program.sh" <<'END'
set -eu
tiny="--set warmup_steps=0 --set hidden_size=16 --set num_hidden_layers=1 --set num_attention_heads=1"
rotary --version
rotary info >info
rotary help presets >presets
rotary completions bash >completions
while read -r _; do read=1; done <completions
[ "$read" = 1 ]
rotary train prefix --steps 2 $tiny --out run
rotary evaluate run
rotary compare prefix --steps 1 --runs 1 $tiny --out both
[ -s both/report.html ]
END

# use WHEEL: in an environment that is empty but for the NumPy of the Python that built the wheel, and what lies beside it.
use() {
    environment=$(mktemp -d "$scratch/environment.XXXXXX") && mkdir "$environment/empty"
    "$python" -m venv --without-pip "$environment/venv" || exit 1
    packages=$(echo "$environment"/venv/lib/python*/site-packages)
    "$python" -c 'import numpy, pathlib; print(pathlib.Path(numpy.__file__).parent.parent)' >"$packages/numpy.pth"
    "$python" -m pip --python "$environment/venv/bin/python" install -q --no-deps "$1" || exit 1
    cd "$environment/empty" || exit 1
    "$environment/venv/bin/python" "$scratch/package.py" "$environment" || complain "the package in $1 does not work"
    sh "$root/tests/rules/symbols.sh" "$packages/rotary/librotary.so" "$root/tests/rules/symbols.txt" ||
        complain "$1 exports other symbols"
    if [ -e "$packages/rotary/bin/rotary" ]; then
        sh "$root/tests/rules/symbols.sh" "$packages/rotary/librotary_config.so" "$root/tests/rules/config_symbols.txt" write ||
            complain "the reader of configurations in $1 exports other symbols"
        env -i PATH="$environment/venv/bin" /bin/sh "$scratch/program.sh" >log 2>&1 ||
            { cat log; complain "the program in $1 does not work"; }
        grep -q "oneDNN" info || complain "rotary info does not say what is linked"
    else
        says=$(env -i PATH="$environment/venv/bin" /bin/sh -c rotary 2>&1) && complain "rotary runs without a program"
        case $says in
        *"there is no program"*libdnnl-dev*) ;;
        *) complain "rotary does not say what is missing: $says" ;;
        esac
    fi
    cd "$root" || exit 1
}

cd "$root" || exit 1
"$python" -c 'import sys; from scikit_build_core.build import build_sdist; build_sdist(sys.argv[1])' "$scratch" \
    >"$scratch/log" 2>&1 || { cat "$scratch/log"; exit 1; }
# In plain C without optimisation, which takes a tenth of the time.
set -- -C build-dir="$scratch/build" -C cmake.build-type=Plain -C cmake.define.ROTARY_PLAIN_C=ON
(cd "$scratch" && "$python" -m pip wheel -q --no-deps --no-build-isolation -w wheels "$@" rotary-*.tar.gz) || exit 1
use "$(echo "$scratch"/wheels/rotary-*.whl)"

"$python" -m pip wheel -q --no-deps --no-build-isolation -w "$scratch/library" "$@" -C cmake.define.ROTARY_TRAINER=OFF \
    "$root" || exit 1
use "$(echo "$scratch"/library/rotary-*.whl)"

if "$python" -c 'import auditwheel, shutil, sys
sys.exit(not shutil.which("patchelf", path=sys.exec_prefix + "/bin"))' 2>/dev/null; then
    scripts/wheel "$scratch/bundled" "$@" -C cmake.define.ROTARY_TRAINER=ON >"$scratch/log" 2>&1 ||
        { cat "$scratch/log"; exit 1; }
    grep -q 'manylinux.*: [0-9.]* MB$' "$scratch/log" || complain "scripts/wheel does not say the size"
    use "$(echo "$scratch"/bundled/rotary-*manylinux*.whl)"
    "$python" -m zipfile -l "$scratch"/bundled/rotary-*.whl >"$scratch/list"
    for name in rotary.libs/libdnnl licenses/bundled/libdnnl.txt rotary/bin/rotary; do
        grep -q "$name" "$scratch/list" || complain "the wheel has no $name"
    done
else
    echo "the wheel with bundled libraries is skipped: there is no auditwheel, or no patchelf"
fi
exit $status
