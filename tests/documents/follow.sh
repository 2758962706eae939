#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# follow.sh PAGE BUILD ROTARY [NEEDED...]: follows a tutorial (lesson.py) with what this build has: the program on the
# path, the library installed where pkg-config finds it, and the Python package. Skipped without a NEEDED program or
# file, or numpy.
set -eu
page=$1 build=$2 rotary=$3
shift 3
here=$(cd "$(dirname "$0")" && pwd)
python=
for candidate in ${PYTHON:+"$PYTHON"} python3 /usr/bin/python3; do
    if "$candidate" -c '' 2>/dev/null && { [ "${1-}" != numpy ] || "$candidate" -c 'import numpy' 2>/dev/null; }; then
        python=$(command -v "$candidate")
        break
    fi
done
[ -n "$python" ] || { echo "skipped: there is no Python${1:+ with $1}"; exit 77; }
for needed in "$@"; do
    case $needed in
    numpy) ;;
    /*) [ -e "$needed" ] || { echo "skipped: there is no $needed"; exit 77; } ;;
    *) command -v "$needed" >/dev/null || { echo "skipped: there is no $needed"; exit 77; } ;;
    esac
done
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' INT TERM
mkdir "$scratch/bin" "$scratch/empty" "$scratch/python" "$scratch/python/rotary"
ln -s "$rotary" "$scratch/bin/rotary"
printf '#!/bin/sh\nexec %s "$@"\n' "$python" >"$scratch/bin/python3"
chmod +x "$scratch/bin/python3"
cmake --install "$build" --component library --prefix "$scratch/prefix" >/dev/null
cp "$here"/../../python/rotary/*.py "$build/librotary_config.so" "$scratch/python/rotary"
cp -L "$(find "$scratch/prefix" -name librotary.so)" "$scratch/python/rotary"
PKG_CONFIG_PATH=$(dirname "$(find "$scratch/prefix" -name rotary.pc)")
export PATH="$scratch/bin:$PATH" HOME="$scratch" PKG_CONFIG_PATH PYTHONPATH="$scratch/python"
unset ROTARY_LIBRARY ROTARY_ISA
"$python" "$here/lesson.py" "$page" "$scratch/empty"
