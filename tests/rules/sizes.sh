#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sizes.sh ROOT: no file is longer than a person wants to read at once.
set -eu
cd "$1"
find bench examples include python src tests scripts -name '*.[ch]' -o -name '*.cc' -o -name '*.cu' -o -name '*.inc' -o -name '*.sh' -o -name '*.py' 2>/dev/null | LC_ALL=C sort | xargs awk -v max=700 '
FNR == 1 { files++ }
FNR == max + 1 {
    printf "%s has more than %d lines\n", FILENAME, max
    failed = 1
}
END { exit failed || files == 0 }'
