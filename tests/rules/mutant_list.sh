#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# mutant_list.sh ROOT [SCRIPTS]: every mistake that tests/mutants/*.txt name can still be made. Code that moved is found
# again; what was written anew leaves a mutant out of date, which is no fault of the build: the test is skipped then.
set -eu
command -v python3 >/dev/null || { echo "skipped: there is no python3"; exit 77; }
exec python3 "${2-$1/scripts}/mutants" --check "$1"
