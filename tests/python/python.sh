#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# python.sh LIBRARY SCRIPT MODULE...: runs a test of the Python package on this shared library, by a Python that has the
# modules; 77 where there is none. PYTHON is one to try first.
set -u
library=$1 script=$2
shift 2
root=$(cd "$(dirname "$0")/../.." && pwd)
modules=$(echo "$*" | tr ' ' ,)
for python in "${PYTHON:-}" python3 /usr/bin/python3; do
    [ -n "$python" ] && "$python" -c "import $modules" 2>/dev/null && break
    python=
done
[ -n "$python" ] || { echo "skipped: there is no Python with $*"; exit 77; }

# The package as a wheel has it (cmake/python.cmake).
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' INT TERM
mkdir "$scratch/rotary"
cp "$root"/python/rotary/* "$scratch/rotary" 2>/dev/null
cp "$library" "$scratch/rotary/librotary.so"
reader=$(dirname "$library")/librotary_config.so
[ ! -e "$reader" ] || cp "$reader" "$scratch/rotary"
export PYTHONPATH="$scratch" PYTHONDONTWRITEBYTECODE=1 ROTARY_SOURCE_DIR="$root" SCRATCH="$scratch"
export OMP_NUM_THREADS=1 OMP_WAIT_POLICY=passive
unset ROTARY_LIBRARY
"$python" "$root/tests/python/$script"
