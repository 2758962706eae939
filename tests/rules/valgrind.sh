#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# valgrind.sh PROGRAM ARGUMENTS...: the test runs without an invalid access, an uninitialised decision or a lost block.
set -eu
command -v valgrind >/dev/null || { echo "skipped: there is no valgrind"; exit 77; }
exec valgrind --quiet --leak-check=full --show-leak-kinds=definite \
    --errors-for-leak-kinds=definite --error-exitcode=9 "$@"
