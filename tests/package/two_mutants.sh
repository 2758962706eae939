# SPDX-License-Identifier: Apache-2.0
# two_mutants.sh SCRIPT: scripts/mutants works, as two mutants show. All of them take an hour. Without optimization the
# build takes a third of the time.
set -eu
command -v python3 >/dev/null || { echo "skipped: there is no python3"; exit 77; }
exec python3 "$1" -n 2 --build-type Plain sine
