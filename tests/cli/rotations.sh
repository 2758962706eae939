# SPDX-License-Identifier: Apache-2.0
# A configuration whose numbers are valid one by one and give no rotation is refused by every command that reads it, with
# one line that names the file. What is printed as JSON has numbers or null, whatever the input.
. "$(dirname "$0")/support.sh"

header='{"x":{"dtype":"F32","shape":[4,2,8],"data_offsets":[0,256]}}'
# tensor FILE BYTES: 64 numbers of f32, all made of the same four bytes.
tensor() {
    {
        # shellcheck disable=SC2059 # octal escapes are made
        printf "\\$(printf %03o ${#header})\\0\\0\\0\\0\\0\\0\\0$header"
        for _ in 1 2 3 4 5 6 7 8; do
            # shellcheck disable=SC2059
            printf "$2$2$2$2$2$2$2$2"
        done
    } >"$1"
}
tensor one.safetensors '\0\0\200\077'
tensor nan.safetensors '\0\0\300\177'
tensor inf.safetensors '\0\0\200\177'

# no_rotation TEXT JSON: refused.
no_rotation() {
    echo "$2" >config.json
    refuses 1 "config.json: $1" frequencies --config config.json
    refuses 1 "config.json: $1" frequencies --config config.json --json
    refuses 1 "config.json: $1" decay --config config.json --json
    refuses 1 "config.json: $1" apply --config config.json --input one.safetensors --output y.npy
    refuses 1 "config.json: $1" attend --rope config.json --query one.safetensors --key one.safetensors \
        --value one.safetensors --output y.npy --json
    [ ! -e y.npy ] || complain "something was written: $2"
}
yarn='"max_position_embeddings": 64, "rope_scaling": {"rope_type": "yarn", "factor": 4'
no_rotation '"rope_theta" is 0' '{"head_dim": 8, "rope_theta": 0}'
no_rotation '"rope_theta" is -1' '{"head_dim": 8, "rope_theta": -1}'
no_rotation '"factor" is 0' '{"head_dim": 8, "rope_scaling": {"rope_type": "linear", "factor": 0}}'
no_rotation '"beta_slow" is 0' "{\"head_dim\": 8, $yarn, \"beta_slow\": 0}}"
no_rotation 'beta_fast is 1' "{\"head_dim\": 8, $yarn, \"beta_fast\": 1, \"beta_slow\": 32}}"
no_rotation 'base is 1' "{\"head_dim\": 8, \"rope_theta\": 1, $yarn}}"
pair='the configuration (base'
no_rotation "$pair" '{"head_dim": 8, "rope_theta": 1e-308}'
no_rotation "$pair" '{"head_dim": 8, "rope_theta": 1e300, "angles": "f32"}'
no_rotation "$pair" '{"head_dim": 8, "rope_scaling": {"rope_type": "linear", "factor": 1e-308}}'
no_rotation "$pair" '{"head_dim": 8, "rope_scaling": {"rope_type": "ntk", "factor": 1e308}}'
no_rotation "$pair" '{"head_dim": 8, "pair_factors": [1, 1, 1, 1e-320]}'
no_rotation "$pair" '{"head_dim": 8, "inverse_frequencies": [1, 1, 1, 1e300]}'
no_rotation 'the configuration has the attention factor 1e+300' "{\"head_dim\": 8, $yarn, \"attention_factor\": 1e300}}"
no_rotation 'xpos_scale is 1e-310' '{"head_dim": 8, "xpos_scale": 1e-310}'
for position in alibi none learned deberta; do
    echo "{\"head_dim\": 8, \"position\": \"$position\"}" >config.json
    refuses 1 "config.json: \"position\" is $position, with which layers rotate nothing" frequencies --config config.json
    refuses 1 "\"position\" is $position" decay --config config.json
    refuses 1 "\"position\" is $position" apply --config config.json --input one.safetensors --output y.npy
done
does 0 frequencies --config config.json --ignore position

# A configuration that comes through a pipe can be read once.
piped() {
    echo '{"head_dim": 8, "position": "rope"}' | "$rotary" "$@" >"$scratch/out" 2>&1 || complain "rotary $*: $(cat "$scratch/out")"
}
piped frequencies --config /dev/stdin
piped apply --config /dev/stdin --input one.safetensors --output y.npy
piped attend --rope /dev/stdin --query one.safetensors --key one.safetensors --value one.safetensors --output y.npy
rm y.npy
for number in 1e999 NaN Infinity; do
    no_rotation "\"rope_theta\" is $number" "{\"head_dim\": 8, \"rope_theta\": $number}"
done
refuses 2 "$pair" train index --set 'rope_scaling={"rope_type":"linear","factor":1e-308}'

# numbers_or_null ARGUMENTS...
numbers_or_null() {
    does 0 "$@"
    "$json_get" output <"$scratch/out" >value 2>&1 || complain "rotary $*: no JSON"
    ! grep -qwiE 'nan|inf|infinity' "$scratch/out" || complain "rotary $*: prints a word that is not JSON"
}
echo '{"head_dim": 8}' >config.json
for input in nan inf; do
    numbers_or_null apply --config config.json --input $input.safetensors --output y.npy --json
    numbers_or_null attend --rope config.json --query $input.safetensors --key $input.safetensors \
        --value $input.safetensors --output y.npy --json
done
finish
