# SPDX-License-Identifier: Apache-2.0
# Every option of every command changes the result, or keeps it where that is promised. An option that the help lists and
# that is not here fails the test: add a line "changes", "differs" or "keeps", or say in "elsewhere" which test has it.
. "$(dirname "$0")/support.sh"
set -f # arguments are words that may have ? and *

# What a command prints and writes to files named o*, without what depends on time, and without options repeated.
result() {
    rm -f o.npy o2.npy o.txt o.svg o.safetensors
    "$rotary" "$@" >"$scratch/out" 2>"$scratch/err" </dev/null || complain "rotary $*: exit status $?" >&2
    sed -E '/seconds|_rate"|ratio|share|quartile|"(seed|data_seed|step|steps|split|checkpoint)":/d' "$scratch/out" | rounded
    cat o.npy o2.npy o.txt o.svg o.safetensors 2>/dev/null | cksum
}

# same OPTION FIRST SECOND: whether the results of two command lines are the same.
same() {
    echo "$1" >>tested
    # shellcheck disable=SC2086 # lists of words
    result $2 >first
    # shellcheck disable=SC2086
    result $3 >second
    cmp -s first second
}

# The name of a command: the words before the first operand or option that is not a command's.
command_of() {
    case $1 in
    bench* | tokenize*) echo "$1" | cut -d ' ' -f 1-2 ;;
    *) echo "$1" | cut -d ' ' -f 1 ;;
    esac
}

# changes LINE OPTION [OTHER]: with the option the result is another, and yet another with the other value of it.
# keeps LINE OPTION: it is the same.
changes() {
    ! same "$(command_of "$1") ${2%% *}" "$1" "$1 $2" || complain "rotary $1: $2 changes nothing"
    [ $# -lt 3 ] || differs "${2%% *}" "$1 $2" "$1 $3"
}
keeps() {
    same "$(command_of "$1") ${2%% *}" "$1" "${1% "${2%% *}" *} $2" || complain "rotary $1: $2 changes the result: $(diff first second | head -n 4)"
}
# differs OPTION LINE OTHER: the two lines have different results.
differs() {
    ! same "$(command_of "$2") $1" "$2" "$3" || complain "rotary $2: the same result as rotary $3"
}
# elsewhere COMMAND OPTION... : another test runs the command with and without these.
elsewhere() {
    name=$1
    shift
    for option in "$@"; do echo "$name $option" >>tested; done
}

# array FILE SHAPE SEED: an .npy of f32, signed and between 1/32 and 2.
array() {
    printf '\223NUMPY\001\000\166\000' >"$1"
    printf '%-117s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': ($2), }" >>"$1"
    # shellcheck disable=SC2059
    printf "$(echo "$2" | awk -F , -v x="$3" '{
        n = 1; for (i = 1; i <= NF; i++) if ($i != "") n *= $i
        for (i = 0; i < n; i++) {
            x = (x * 25173 + 13849) % 65536
            printf "\\000\\%03o\\%03o\\%03o", int(x / 256), x % 256, (x % 4 < 2 ? 61 : 189) + int(x / 64) % 3
        }
    }')" >>"$1"
}
# integers FILE SHAPE BYTES: an .npy of i32 from printf's escapes.
integers() {
    {
        printf '\223NUMPY\001\000\166\000'
        printf '%-117s\n' "{'descr': '<i4', 'fortran_order': False, 'shape': ($2), }"
        # shellcheck disable=SC2059
        printf "$3"
    } >"$1"
}

tiny=$(echo "$tiny" | tr '\n' ' ')

# ---- training ----

# trained ARGUMENTS...: the lines of metrics of a new run, without times and checksums. Wraps train in place of `result`.
runs=0
trained() {
    runs=$((runs + 1))
    # shellcheck disable=SC2086
    "$rotary" train $1 --out "t$runs" >out 2>err </dev/null || complain "rotary train $1: exit status $?" >&2
    sed -E 's/"(seconds|tokens_per_second|checksum)":[^,}]*//g' "t$runs/metrics.jsonl"
}
# trains_otherwise LINE OPTION [OTHER]: with the option the run is another, or than with the other.
trains_otherwise() {
    echo "train ${2%% *}" >>tested
    trained "$1 ${3-}" >first
    trained "$1 $2" >second
    ! cmp -s first second || complain "rotary train $1: $2 changes nothing"
}
base="index $tiny --steps 3"
trains_otherwise "$base" "--position roper"
trains_otherwise "$base" "--preset paper"
trains_otherwise "$base" "--set rope_theta=9"
trains_otherwise "index $tiny" "--steps 2" "--steps 3"
trains_otherwise "$base" "--seed 2"
echo "train --threads" >>tested
trained "$base --threads 1" >first
trained "$base --threads 2" >second
cmp -s first second || complain "train --threads changes the result"
elsewhere train --out --resume --profile # runs.sh
elsewhere train --tensorboard   # test_event_file.c, tensorboard_reader.py
elsewhere train --init # masked.sh
elsewhere train --text # own_text.sh
elsewhere data --text  # own_text.sh
elsewhere data --baselines # classification.sh
elsewhere evaluate --predictions # classification.sh
elsewhere evaluate --set # masked.sh
elsewhere evaluate --evaluate-factors # language.sh
elsewhere evaluate --picture --csv --rows # init.sh
elsewhere fill --top-k --checkpoint # masked.sh
elsewhere classify --top-k --checkpoint # classification.sh

# A run whose rate rises until it diverges, so that its best model is not the last.
# shellcheck disable=SC2086
does 0 train index $tiny --precision f32 --steps 9 --set evaluate_every=1 --set learning_rate=1 --set warmup_steps=9 --set num_hidden_layers=2 --out run
# shellcheck disable=SC2086
does 0 train index $tiny --steps 2 --set initializer_range=0.1 --set initialisation=normal --position roper --seed 4 --out other

# ---- data, evaluation, generation ----

elsewhere evaluate --split # translations.sh
evaluate="evaluate run --json --show 4"
changes "$evaluate" "--temperature 5" "--temperature 2"
changes "$evaluate" "--checkpoint best"
changes "$evaluate" "--problems 3" "--problems 2"
changes "$evaluate" "--seed 9" "--seed 8"
changes "$evaluate --temperature 5" "--seed 9" "--seed 8"
changes "$evaluate" "--evaluate-lengths 96" "--evaluate-lengths 128"
changes "$evaluate --evaluate-lengths 128" "--evaluate-scaling linear" "--evaluate-scaling yarn"
changes "evaluate run" "--show 1" "--show 2"
printf '%s' "?s='dyjeofuxvejmg'; s[8:]=='vejmg'#" >text.txt
echo "[1, 2, 3, 2, 1, 4, 5]" >tokens.txt
echo "[1, 2, 3, 2, 1, 4, 6]" >others.txt
evaluate="evaluate run --json --text text.txt"
changes "evaluate run --json" "--text text.txt"
changes "evaluate run --json" "--tokens tokens.txt" "--tokens others.txt"
changes "$evaluate" "--context 7" "--context 9"
changes "$evaluate --context 9" "--stride 2" "--stride 3"
changes "$evaluate" "--logits o.npy"
changes "evaluate run" "--json"
keeps "$evaluate --threads 1" "--threads 2"
differs DIR "$evaluate" "evaluate other --json --show 4"

generate="generate run --prompt ?s='abc --max-new-tokens 30"
changes "$generate" "--temperature 5" "--temperature 2"
changes "$generate --temperature 5" "--seed 9" "--seed 8"
keeps "$generate" "--seed 9" # greedy
changes "$generate --temperature 5" "--checkpoint best"
differs --stop "$generate --temperature 5 --json --stop no" "$generate --temperature 5 --json --stop a --stop b --stop c --stop d --stop e"
changes "$generate --temperature 5" "--top-k 3" "--top-k 4"
changes "$generate --temperature 5" "--top-p 0.3" "--top-p 0.1"
changes "$generate --temperature 5" "--min-p 0.5" "--min-p 0.9"
shifted="generate run --prompt ?s='abc --max-new-tokens 57 --temperature 1"
changes "$shifted" "--context 10" "--context 14"
changes "$shifted --context 10" "--keep 2" "--keep 5"
changes "$generate" "--repetition-penalty 5" "--repetition-penalty 0.2"
changes "$generate" "--json"
printf 'abc\nabd\nfgh\n' >prompts
printf 'abc\nabd\nfgi\n' >others
differs --prompts "generate run --prompts prompts" "generate run --prompts others"
keeps "generate run --temperature 3 --prompts prompts" "--batch-size 2"
keeps "$generate --temperature 5 --threads 1" "--threads 2"
differs --prompt "generate run --prompt ?s='abc" "generate run --prompt ?s='abd"
heat="heatmap run --text ?s='abc --output heat"
changes "$heat" "--json"
changes "$heat --json" "--max-new-tokens 5" "--max-new-tokens 9"
changes "$heat --json" "--checkpoint best"
keeps "$heat --json --threads 1" "--threads 2"
differs --text "heatmap run --text ?s='abc --output heat --json" "heatmap run --text ?s='abd --output heat --json"
differs --output "heatmap run --text abc --output heat" "heatmap run --text abc --output other"
printf 'abc\nabd\n' >two.txt
printf 'abc\n' >one.txt
differs --input "heatmap run --input one.txt --output heat --json" "heatmap run --input two.txt --output heat --json"
differs --shown "heatmap run --input two.txt --output heat --shown 1" "heatmap run --input two.txt --output heat --shown 2"
elsewhere heatmap --target --target-text --arms # heatmap.sh

differs --max-new-tokens "generate run --prompt a --max-new-tokens 3" "generate run --prompt a --max-new-tokens 4"

data="data index $tiny --json"
differs --preset "data index --json --preset quick --set sequence_length=64" "data index --json --preset paper --set sequence_length=64"
changes "$data" "--set index_letters=5"
differs --run "data index --json --run run" "data index --json --run other"
changes "$data" "--split validation" "--split problems"
changes "$data" "--step 2" "--step 3"
changes "$data" "--rows 1"
changes "$data" "--output o.npy"
changes "$data" "--seed 2" "--seed 3"
changes "data index $tiny" "--json"
keeps "$data --threads 1" "--threads 2"

# ---- comparisons and reports ----

# What a comparison finds, in a folder of its own.
compared() {
    runs=$((runs + 1))
    # shellcheck disable=SC2086
    "$rotary" compare index $1 --json --out "c$runs" >out 2>err </dev/null || complain "rotary compare $1: exit status $?" >&2
    sed -E '/seconds|"(folder|report|seed|steps|seeds)":/d' out | rounded
}
compares_otherwise() {
    echo "compare ${2%% *}" >>tested
    compared "$1 ${3-}" >first
    compared "$1 $2" >second
    ! cmp -s first second || complain "rotary compare $1: $2 changes nothing"
}
base="$tiny --steps 2 --runs 1"
compares_otherwise "$base" "--positions none,learned"
compares_otherwise "$base" "--preset paper"
compares_otherwise "$base" "--set rope_theta=9"
compares_otherwise "$base" "--seed 5"
compares_otherwise "$tiny --runs 1" "--steps 2" "--steps 3"
compares_otherwise "$tiny --steps 2" "--runs 2" "--runs 1"
compares_otherwise "$tiny --steps 2" "--seeds 3,5" "--seeds 3,6"
compares_otherwise "$base" "--problems 9" "--problems 7"
compares_otherwise "$base" "--vary rope_theta=9,99" "--vary rope_theta=9,98"
compares_otherwise "$base" "--sweep learning_rate=1e-3" "--sweep learning_rate=2e-3"
compares_otherwise "$tiny --steps 2 --runs 2 --positions none,rope,roper" "--all-pairs"
three=c$runs
elsewhere compare --until --sweep-runs --evaluate-lengths --evaluate-scaling # comparisons.sh
elsewhere compare --evaluate-factors # language.sh
elsewhere compare --text # own_text.sh
elsewhere compare --dry-run # messages.sh
elsewhere compare --list # listing.sh
elsewhere compare --tensorboard # tensorboard_reader.py
elsewhere compare --out --threads --json --jobs # runs.sh, signals.sh, tests/study/test_compare.c

# The comparison of three, and two runs that differ in one key.
report="report $three --json --out here.html"
# shellcheck disable=SC2086
does 0 train index $tiny --steps 2 --set rope_theta=9 --out theta
# shellcheck disable=SC2086
does 0 train index $tiny --steps 2 --set rope_theta=99 --out other-theta
changes "report theta other-theta --json --out here.html" "--vary rope_theta"
rm here.html
does 0 report run --out here.html
if [ ! -s here.html ] || [ -e run/report.html ]; then complain "report --out writes elsewhere"; fi
elsewhere report --out --archive # archives.sh
differs --all-pairs "$report" "$report --all-pairs"
changes "report run --out here.html" "--json"
changes "report $three --out here.html" "--csv"
changes "report $three --out here.html --csv" "--rows arms" "--rows pairs"
changes "report $three --out here.html" "--latex"
does 0 report $three --out here.html --svg figures
echo "report --svg" >>tested
for figure in paired-differences validation-loss; do
    grep -q '^<svg xmlns=' "figures/$figure.svg" || complain "report --svg writes no $figure.svg"
done
does 0 report $three --out here.html --latex
if [ "$(grep -c '^.begin{table}' out)" -lt 3 ] || [ "$(grep -c '^.end{table}' out)" -lt 3 ]; then
    complain "report --latex prints no tables"
fi
refuses 2 "--csv and --latex are both given: wanted one" report $three --out here.html --csv --latex
refuses 2 "--archive and --svg are both given: wanted one" report $three --archive a.tar.gz --svg figures

# ---- scores of translations ----

printf 'A man, in 1-2 hats.\nTwo dogs ("big") run\nA b c d e\n' >ref.txt
printf 'a man in 1-2 hats.\nTwo dogs (small) run away\nA b x d e\n' >one.txt
printf 'A man, in 1-2 HATS.\nDogs ("big") run\nb A d c e\n' >two.txt
printf 'A man\nTwo dogs\nA b x d e f\n' >three.txt
bleu="bleu ref.txt one.txt --json"
differs --input "$bleu" "bleu ref.txt --input two.txt --json"
changes "$bleu" "--metrics chrf" "--metrics bleu,chrf"
changes "$bleu" "--lowercase"
changes "$bleu" "--tokenize char" "--tokenize none"
changes "bleu ref.txt two.txt --json" "--smooth-method floor" "--smooth-method none"
changes "bleu ref.txt two.txt --json --smooth-method add-k" "--smooth-value 0.5" "--smooth-value 0.25"
changes "$bleu --metrics chrf" "--chrf-char-order 4" "--chrf-char-order 3"
changes "$bleu --metrics chrf" "--chrf-word-order 2" "--chrf-word-order 1"
changes "$bleu --metrics chrf" "--chrf-beta 1" "--chrf-beta 3"
changes "$bleu --metrics chrf" "--chrf-lowercase"
changes "$bleu --metrics chrf" "--chrf-whitespace"
changes "bleu ref.txt three.txt --json --metrics chrf --chrf-word-order 8" "--chrf-eps-smoothing"
changes "$bleu" "--sentence-level"
changes "$bleu" "--confidence"
changes "$bleu --confidence" "--confidence-n 50" "--confidence-n 60"
changes "$bleu --confidence" "--seed 2" "--seed 3"
both="bleu ref.txt --input one.txt --input two.txt --json"
changes "$both" "--paired-bs" "--paired-ar"
changes "$both --paired-bs" "--paired-bs-n 50" "--paired-bs-n 60"
changes "$both --paired-ar" "--paired-ar-n 50" "--paired-ar-n 60"
differs --paired-ar "$both" "$both --paired-ar"
keeps "$both --paired-bs --threads 1" "--threads 2"
keeps "$both --paired-ar --threads 1" "--threads 2"
changes "bleu ref.txt one.txt" "--json"
changes "bleu ref.txt one.txt" "--score-only"
changes "bleu ref.txt one.txt --score-only" "--width 3" "--width 4"
changes "$bleu" "--width 3"

# ---- the oracle ----

array x.npy "6, 2, 16" 3000
array y.npy "6, 2, 16" 4100
array z.npy "6, 2, 16" 5200
array w.npy "32, 8" 3000
array v.npy "32, 8" 4000
array cos.npy "6, 8" 3300
array sin.npy "6, 8" 4500
array mask.npy "6, 6" 3700
array flat.npy "6, 32" 3000
array past.npy "3, 2, 16" 5000
array batch.npy "2, 6, 2, 16" 3000
array half.npy "6, 16" 4000
array few.npy "6, 3" 3700
array past2.npy "3, 2, 16" 3500
integers positions.npy "6," '\3\0\0\0\1\0\0\0\4\0\0\0\1\0\0\0\5\0\0\0\11\0\0\0'
integers lengths.npy "2," '\3\0\0\0\5\0\0\0'
echo '{"head_dim": 16}' >plain.json
echo '{"head_dim": 16, "rope_theta": 70}' >theta.json
echo '{"head_dim": 8}' >eight.json
echo '{"head_dim": 4, "num_attention_heads": 8, "num_key_value_heads": 2}' >grouped.json
echo '{"head_dim": 16, "max_position_embeddings": 100, "rope_scaling": {"rope_type": "dynamic", "factor": 4.0}}' >dynamic.json
echo '{"head_dim": 16, "rope_scaling": {"rope_type": "linear", "factor": 4.0, "whim": 1}}' >whim.json
echo '{"head_dim": 16, "rope_parameters": {"full_attention": {"rope_type": "default", "rope_theta": 10000.0},
 "sliding_attention": {"rope_type": "default", "rope_theta": 50.0}}}' >types.json

# rotation LINE OPTION: the options that say which rotation, for a command line that ends before them.
rotation() {
    differs "$2" "$1 $2 plain.json" "$1 $2 theta.json"
    differs --layer-type "$1 $2 types.json --layer-type full_attention" "$1 $2 types.json --layer-type sliding_attention"
    changes "$1 $2 dynamic.json" "--length 300" "--length 400"
    changes "$1 $2 dynamic.json" "--compat vllm"
    # shellcheck disable=SC2086 # lists of words
    refuses 1 whim $1 $2 whim.json
    # shellcheck disable=SC2086
    does 0 $1 $2 whim.json --ignore whim
    echo "$(command_of "$1") --ignore" >>tested
}
rotation frequencies --config
rotation "apply --input x.npy --output o.npy" --config
rotation "attend --query x.npy --key y.npy --value z.npy --output o.npy" --rope
rotation decay --config
changes "decay --config plain.json" "--distance 30" "--distance 40"
changes "decay --config plain.json" "--picture o.svg"
changes "decay --config plain.json" "--json"
differs --position "decay --position alibi" "decay --position sandwich"
changes "decay run" "--sequences 1" "--sequences 2"
changes "decay run" "--checkpoint best"
changes "decay run" "--distance 30" "--distance 40"
changes "decay run" "--seed 9" "--seed 8"
changes "decay run" "--json"
differs --measure "decay run --picture o.svg" "decay run --picture o.svg --measure weight"
changes "decay run" "--length 128" "--length 192"
changes "decay run --length 512" "--scaling yarn" "--scaling linear"
changes "decay run" "--by query"
keeps "decay run --threads 1" "--threads 2"
differs DIR "decay run" "decay other"
changes "decay --position alibi" "--heads 4" "--heads 5"
changes "decay --position rope" "--channels 64" "--channels 32"

apply="apply --config plain.json --output o.npy"
differs --input "$apply --input x.npy" "$apply --input y.npy"
changes "$apply --input x.npy" "--offset 5" "--offset 6"
changes "$apply --input x.npy" "--positions positions.npy"
changes "$apply --input x.npy" "--inverse"
changes "$apply --input x.npy" "--arithmetic bf16" "--arithmetic f16"
changes "$apply --input x.npy" "--angles bf16" "--angles f16"
changes "$apply --input x.npy" "--layout heads"
given="apply --cos cos.npy --sin sin.npy --output o.npy"
differs --heads "$given --layout flat --input flat.npy --heads 1" "$given --layout flat --input flat.npy --heads 2"
differs --cos "$given --input x.npy" "apply --cos sin.npy --sin sin.npy --output o.npy --input x.npy"
differs --sin "$given --input x.npy" "apply --cos cos.npy --sin cos.npy --output o.npy --input x.npy"
changes "$given --input x.npy" "--pairing interleaved"
echo '{"head_dim": 16, "max_position_embeddings": 64, "rope_scaling": {"rope_type": "yarn", "factor": 4.0}}' >yarn.json
changes "apply --config yarn.json --output o.npy --input x.npy" "--as value"
elsewhere apply --output

attend="attend --query x.npy --key y.npy --value z.npy --output o.npy"
differs --query "$attend" "attend --query y.npy --key y.npy --value z.npy --output o.npy"
differs --key "$attend" "attend --query x.npy --key x.npy --value z.npy --output o.npy"
differs --value "$attend" "attend --query x.npy --key y.npy --value y.npy --output o.npy"
elsewhere attend --output
changes "$attend" "--layout heads"
flat="attend --query flat.npy --key flat.npy --value flat.npy --output o.npy --layout flat"
differs --heads "$flat --heads 1" "$flat --heads 2"
keys="attend --query flat.npy --key half.npy --value half.npy --output o.npy --layout flat --heads 4"
# shellcheck disable=SC2086
refuses 1 half.npy $keys
# shellcheck disable=SC2086
does 0 $keys --key-heads 2
elsewhere attend --key-heads
changes "$attend" "--past-key past.npy --past-value past.npy"
differs --past-value "$attend --past-key past.npy --past-value past.npy" "$attend --past-key past.npy --past-value past2.npy"
batched="attend --query batch.npy --key batch.npy --value batch.npy --output o.npy"
changes "$batched" "--key-lengths lengths.npy"
changes "$attend --rope plain.json --first-query 0" "--key-positions positions.npy"
changes "$attend" "--weights o2.npy"
changes "$attend" "--scores o2.npy"
changes "$attend --softcap 1 --causal --scores o2.npy" "--stage scaled" "--stage capped"
changes "$attend --past-key past.npy --past-value past.npy" "--present-key o2.npy"
changes "$attend --past-key past.npy --past-value past.npy" "--present-value o2.npy"
changes "$attend --rope plain.json" "--roper"
changes "$attend --rope plain.json" "--rotate kv" "--rotate o"
changes "$attend --rope plain.json" "--unrotated"
shared="attend --query x.npy --key y.npy --rope plain.json --output o.npy"
differs --key-is-value "$shared --key-is-value" "$shared --value y.npy"
# shellcheck disable=SC2086
refuses 2 "--key-is-value and --value exclude each other" $attend --key-is-value
changes "$attend" "--position alibi" "--position sandwich"
changes "$attend --position sandwich" "--set sandwich_channels=8" "--set sandwich_channels=16"
array one.npy "2," 900
array two.npy "2," 901
kerple="$attend --position kerple --parameter kerple.log_scale=one.npy"
differs --parameter "$kerple --parameter kerple.log_slope=one.npy" "$kerple --parameter kerple.log_slope=two.npy"
changes "$attend" "--causal"
changes "$attend --causal" "--window 2" "--window 3"
changes "$attend" "--window-left 2" "--window-left 3"
changes "$attend" "--window-right 2" "--window-right 3"
changes "$attend" "--mask mask.npy"
# shellcheck disable=SC2086
refuses 1 mask $attend --mask few.npy
# shellcheck disable=SC2086
does 0 $attend --mask few.npy --pad-mask
echo "attend --pad-mask" >>tested
npy binary.npy "(6, 6)" 144
truncate -s -4 binary.npy
printf '\000\000\200\077' >>binary.npy
# shellcheck disable=SC2086
refuses 1 additive-mask $attend --mask binary.npy
# shellcheck disable=SC2086
does 0 $attend --mask binary.npy --additive-mask
echo "attend --additive-mask" >>tested
array sinks.npy "2," 902
array sinks2.npy "2," 903
changes "$attend" "--sinks sinks.npy" "--sinks sinks2.npy"
changes "$attend" "--scale 3" "--scale 2"
changes "$attend" "--softcap 0.5" "--softcap 0.6"
changes "$attend --causal" "--first-query 2" "--first-query 3"

permute="permute --input w.npy --output o.npy"
differs --config "$permute --config plain.json --to half" "$permute --config eight.json --to half"
differs --to "$permute --config plain.json --to half" "$permute --config plain.json --to interleaved"
differs --input "$permute --config plain.json --to half" "permute --input v.npy --output o.npy --config plain.json --to half"
moved="permute --config run/config.json --input run/model.safetensors --output o.safetensors --to half"
changes "$moved --fused stacked" "--tensor layers.1.*.query_key_value.*"
differs --fused "permute --config grouped.json --input run/model.safetensors --output o.safetensors --to half --fused stacked" \
    "permute --config grouped.json --input run/model.safetensors --output o.safetensors --to half --fused grouped"
elsewhere export --format --out --dtype --checkpoint # export.sh
elsewhere permute --output --detect --ignore --layer-type # tests/oracle/oracle.py
elsewhere permute --length --compat                       # they say how far it rotates, which matters nothing here

# ---- the machine ----

for command in train compare evaluate generate translate fill classify info "bench train" "bench generate" "bench attention"; do
    elsewhere "$command" --device # device.sh
done
changes "info --json" "--isa scalar"
differs --threads "info --json --threads 1" "info --json --threads 2"
changes "info" "--json"

timed="--seconds 0 --json"
differs --shape "bench rope $timed --shape 7,3,10" "bench rope $timed --shape 7,3,12"
differs --shape "bench decode $timed --shape 2,6,3,17,10" "bench decode $timed --shape 2,6,3,17,12"
differs --seconds "bench rope --shape 7,3,10 --json --seconds 0" "bench rope --shape 7,3,10 --json --seconds 0.05"
# These measure the machine's limits first, which takes a second: runs.sh.
elsewhere "bench attention" --shape --seconds --encodings
elsewhere "bench decode" --seconds
elsewhere "bench train" --preset --set --position --task --steps --profile
elsewhere "bench translate" --set --sentences --source-tokens --tokens --beams --batch-size --profile # runs.sh
elsewhere "bench generate" --preset --set --position --task --batch-size --prompt-tokens --max-new-tokens --profile

# ---- text ----

{ "$rotary" help train && "$rotary" help compare; } | sed 's/Q/q/g' >text.txt
awk '{ print; if (NR % 9 == 0) print $0, "Q\303\274" }' text.txt >more.txt
head -c 40000 text.txt | tr '\n' ' ' >long.txt
words="tokenize train --type words --model o.txt"
differs --input "$words --input text.txt" "$words --input more.txt"
differs --type "$words --input text.txt" "$words --input text.txt --min-frequency 1"
changes "$words --input text.txt" "--punctuation"
changes "$words --input text.txt" "--mask"
changes "$words --input text.txt" "--min-frequency 3" "--min-frequency 4"
does 0 tokenize train --type words --input text.txt --model words.json
changes "tokenize encode words.json" "--json"
changes "tokenize decode words.json" "--json"
elsewhere translate --beams --length-penalty --n-best --scores --max-length --top-k --copy-unknown --batch-size --temperature \
    --checkpoint # translate.sh
elsewhere "tokenize encode" --pieces --begin --end # tokenize.sh
elsewhere "tokenize train" --model
if "$rotary" info | grep -q 'SentencePiece *not in this program'; then
    elsewhere "tokenize train" --vocab-size --character-coverage --byte-fallback --max-line-bytes
else
    pieces="tokenize train --input more.txt --input long.txt --model o.txt --json"
    differs --type "$pieces --vocab-size 200 --type bpe" "$pieces --vocab-size 200 --type unigram"
    differs --vocab-size "$pieces --vocab-size 200" "$pieces --vocab-size 201"
    changes "$pieces --vocab-size 250" "--character-coverage 0.98" "--character-coverage 0.99"
    changes "$pieces --vocab-size 340 --max-line-bytes 50000" "--byte-fallback"
    changes "$pieces --vocab-size 100" "--max-line-bytes 50000" "--max-line-bytes 70"
fi

# ---- nothing is left out ----

"$rotary" help >out
for command in $(sed -n 's/^  \([a-z]*\)  .*/\1/p' out) "bench train" "bench generate" "bench translate" "bench rope" "bench attention" "bench decode" \
    "tokenize train" "tokenize encode" "tokenize decode"; do
    # shellcheck disable=SC2086
    "$rotary" help $command | sed -n '/^options of every command/q; s/^  \(--[a-z-]*\) .*/\1/p' >listed
    while read -r option; do
        grep -qx -- "$command $option" tested || echo "FAILED: no line here tries $option of rotary $command"
    done <listed
done >untried
cat untried
failures=$((failures + $(wc -l <untried)))
finish
