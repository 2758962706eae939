#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# reference.sh ROOT: docs/reference/library.md names every function that the library exports, and none that it does not.
set -eu
cd "$1"
status=0
while read -r symbol; do
    grep -q "\`$symbol[\`(]" docs/reference/library.md || { echo "docs/reference/library.md does not name $symbol"; status=1; }
done <tests/rules/symbols.txt
# Types, and the two inline functions, are named by the headers alone.
for name in $(grep -o '`rotary_[a-z_0-9]*[`(]' docs/reference/library.md | tr -d '`(' | LC_ALL=C sort -u); do
    grep -qx "$name" tests/rules/symbols.txt || grep -q -e "} $name;" -e "static inline .* $name(" include/rotary/*.h ||
        { echo "docs/reference/library.md names $name, which no header declares"; status=1; }
done
exit $status
