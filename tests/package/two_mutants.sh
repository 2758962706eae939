# SPDX-License-Identifier: Apache-2.0
# two_mutants.sh SCRIPT: scripts/mutants works, as two mutants show. All of them take an hour; two in plain C take seconds.
set -eu
command -v python3 >/dev/null || { echo "skipped: there is no python3"; exit 77; }
exec python3 "$1" --plain "sine "
