# SPDX-License-Identifier: Apache-2.0
# conformance.sh TEST_DECODERS FOLDER: the tiny decoders of FOLDER (NAME.safetensors, NAME_config.json, NAME_logits.json),
# laid out as transformers does, for test_decoders; 77 where there are none.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
for weights in "$2"/*.safetensors; do
    [ -e "$weights" ] || { echo "skipped: $2 has no models"; exit 77; }
    name=$(basename "$weights" .safetensors)
    mkdir "$scratch/$name"
    ln -s "$weights" "$scratch/$name/model.safetensors"
    ln -s "$2/${name}_config.json" "$scratch/$name/config.json"
    ln -s "$2/${name}_logits.json" "$scratch/$name/expected.json"
done
"$1" "$scratch"/*
