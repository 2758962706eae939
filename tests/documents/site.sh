#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# site.sh ROOT: the documents become a site without a warning. Every link and anchor of its pages leads somewhere in it,
# and they load nothing from other hosts.
set -eu
for python in python3 /usr/bin/python3; do
    "$python" -c '' 2>/dev/null && break
done
command -v mkdocs >/dev/null || { echo "skipped: there is no mkdocs"; exit 77; }
mkdocs build --help | grep -q material || { echo "skipped: there is no mkdocs-material"; exit 77; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$1/scripts/site" "$scratch/site" || { echo "MkDocs builds no site"; exit 1; }
"$python" "$(dirname "$0")/site_links.py" "$scratch/site"
