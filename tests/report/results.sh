#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# results.sh ROTARY ROOT: the numbers in the documents' tables of results are those of the archives in results.
set -eu
command -v python3 >/dev/null || { echo "skipped: there is no python3"; exit 77; }
[ -d "$2/results" ] && [ -d "$2/docs" ] || { echo "skipped: the tree is without results or documents"; exit 77; }
PYTHONDONTWRITEBYTECODE=1 exec python3 "$(dirname "$0")/check_results.py" "$1" "$2"
