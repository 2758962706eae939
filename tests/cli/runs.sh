# SPDX-License-Identifier: Apache-2.0
# What the commands do when all is well: results on stdout, as text and as JSON; resuming.
. "$(dirname "$0")/support.sh"

# One run.
# shellcheck disable=SC2086 # a list of words
does 0 train index --position roper --seed 3 $tiny --steps 5 --out run --json
has task '"index"'
has position '"roper"'
has seed 3
has steps 5
has first_step 0
has folder '"run"'
has evaluation.problems 4
grep -q "\"commit\": *\"$("$rotary" info --json | sed -n 's/.*"commit": *"\([^"]*\)".*/\1/p')\"" run/config.json ||
    complain "the run's configuration does not have the program's commit"
for file in config.json metrics.jsonl model.safetensors optimizer.safetensors best.safetensors; do
    [ -s run/$file ] || complain "the run has no $file"
done
grep -q 'step 5: .* of 4 correct' err || complain "the evaluation is not shown while training"

# The same in two parts, in the configuration that is in the folder.
# shellcheck disable=SC2086
does 0 train index --position roper --seed 3 $tiny --steps 2 --out parts
does 0 train index --steps 5 --resume --out parts --json
has first_step 2
has steps 5
cmp run/model.safetensors parts/model.safetensors || complain "a resumed run has other weights"
# Once more: nothing is left to do.
does 0 train index --resume --out parts
says "5 steps"

# What the encoding's name does not say is said.
# shellcheck disable=SC2086
does 0 train index --position roper --set key_is_value=true $tiny --steps 1 --out shared
says 'index, roper, keys as values, seed 1'
# shellcheck disable=SC2086
does 0 train index --set rotate=kv $tiny --steps 1 --out subset
does 0 evaluate subset
says 'index, rope, rotate kv, step 1'

# Learned biases and vectors by distance resume likewise.
for position in kerple shaw transformer-xl deberta fire; do
    for steps in 4 2; do
        # shellcheck disable=SC2086
        does 0 train index --position $position $tiny --steps $steps --out $position$steps
    done
    does 0 train index --steps 4 --resume --out ${position}2
    cmp ${position}4/model.safetensors ${position}2/model.safetensors || complain "a resumed run with $position has other weights"
done

# A rotation as transformers describe it, in --set, in config.json, and for the other commands that read it.
yarn='{"rope_type":"yarn","factor":4,"original_max_position_embeddings":16}'
# shellcheck disable=SC2086
does 0 train index --position roper $tiny --set "rope_scaling=$yarn" --steps 2 --out yarn
does 0 train index --steps 3 --set "rope_scaling=$yarn" --resume --out yarn --json
has steps 3
does 0 frequencies --config yarn/config.json
has rope_type '"yarn"'
refuses 1 'rope_scaling is {"rope_type": "yarn", "factor": 4' train index --steps 4 --set rope_scaling=null --resume --out yarn
does 0 generate yarn --prompt '?s=' --json

# Options are checked against the configuration of the run that is resumed: six heads of 96 channels, which 128 have no place for.
six="--set num_attention_heads=6 --set num_key_value_heads=6"
# shellcheck disable=SC2086
does 0 train index $tiny --set hidden_size=96 $six --steps 1 --out six
# shellcheck disable=SC2086
does 0 train index $six --steps 2 --resume --out six --json
has steps 2

# Where the time of the steps went; the evaluations between them are no part of it.
# shellcheck disable=SC2086
does 0 train index $tiny --steps 3 --set evaluate_every=1 --out profiled --profile --json
row=0
while [ $row -lt 64 ] && [ "$("$json_get" "profile.$row.operation" <out)" != '"attention, forward"' ]; do
    row=$((row + 1))
done
has profile.$row.calls 3
# shellcheck disable=SC2086
does 0 train index $tiny --steps 2 --out profiled-text --profile
says "attention, forward"
says "measured limits: matmul alone"

# Default folders.
# shellcheck disable=SC2086
does 0 train prefix --position none $tiny_prefix --set prefix_substring=8 --steps 1
says "runs/prefix-quick-none"
[ -s runs/prefix-quick-none/model.safetensors ] || complain "the default folder is another"

# Help knows every key of a run's configuration.
does 0 help settings
keys=0
for key in $(sed -n 's/^  "\([a-z0-9_]*\)": .*/\1/p' run/config.json); do
    keys=$((keys + 1))
    [ $key != checksum ] || continue # the last, of the others
    case $key in format | parameters | vocabulary | vocabulary_hash | special_tokens | provenance) continue ;; esac
    grep -q "^  $key  " out || complain "help settings does not have $key"
done
[ $keys -gt 30 ] || complain "config.json has $keys keys"

# What can be done with a run.
does 0 evaluate run
says "index, roper, step 5: "
does 0 evaluate run --show 2
[ "$(grep -c "^wrong  ?s='.*  wanted '" out)" = 2 ] || complain "not two problems with their answers"
does 0 evaluate run --json --show 2 --problems 3
has evaluation.problems 3
has seed 3
has evaluation.samples.1.correct false
# The best checkpoint.
does 0 evaluate run --checkpoint best --json
has evaluation.problems 4
does 0 evaluate run --json
has evaluation.problems 4
does 0 generate run --checkpoint best --prompt "?s='" --max-new-tokens 7
refuses 2 "--checkpoint is \"worst\"" evaluate run --checkpoint worst
cp -r run without-best
rm without-best/best.safetensors
refuses 1 "holds no best checkpoint" evaluate without-best --checkpoint best
refuses 1 "holds no best checkpoint" generate without-best --checkpoint best --prompt "?s='"
does 0 generate run --prompt "?s='" --max-new-tokens 7
[ "$(wc -c <out)" = 12 ] || complain "not seven characters after four"
does 0 generate run --prompt "?s='" --max-new-tokens 7 --json
has tokens 7
cp out greedy
does 0 generate run --prompt "?s='" --max-new-tokens 7 --json
cmp -s out greedy || complain "greedy generation is not the same twice"
does 0 generate run --prompt "?s='" --max-new-tokens 40 --temperature 5 --seed 1
cp out sampled
does 0 generate run --prompt "?s='" --max-new-tokens 40 --temperature 5 --seed 1
cmp -s out sampled || complain "the same seed samples other characters"
does 0 generate run --prompt "?s='" --max-new-tokens 40 --temperature 5 --seed 2
cmp -s out sampled && complain "another seed samples the same characters"
refuses 1 "!" generate run --prompt "hello!"
refuses 1 "positions" generate run --prompt "?s='" --max-new-tokens 61
refuses 2 "--stop is empty" generate run --prompt a --stop ""
refuses 1 "--stop \"%\" cannot occur: no tokens of the vocabulary make it up" generate run --prompt a --stop a --stop "%"
# Stop strings end the text before them, across tokens; what was generated is the same up to there.
does 0 generate run --prompt "?s='" --max-new-tokens 40 --temperature 5 --seed 1
two=$(cut -c 20-21 out)
does 0 generate run --prompt "?s='" --max-new-tokens 40 --temperature 5 --seed 1 --stop "no such" --stop "$two"
[ "$(wc -c <out)" -le 20 ] || complain "the stop string does not stop"
case $(cat sampled) in "$(cat out)$two"*) ;; *) complain "not the text before the stop string" ;; esac
does 0 generate run --prompt "?s='" --max-new-tokens 40 --temperature 5 --seed 1 --stop "$two" --json
has finish '"stop"'
# Beyond the positions of the model: half of the context leaves when it is full.
does 0 generate run --prompt "?s='" --max-new-tokens 200 --context 40 --keep 4
[ "$(wc -c <out)" = 205 ] || complain "not 200 characters after four"
cp out shifted
does 0 generate run --prompt "?s='" --max-new-tokens 36
[ "$(head -c 40 shifted)" = "$(head -c 40 out)" ] || complain "the text is another before a shift"
refuses 1 "--context is 65: the model has 64 positions" generate run --prompt a --context 65
refuses 2 "--keep is 4 of a --context of 5" generate run --prompt a --context 5 --keep 4
refuses 2 "--keep without --context" generate run --prompt a --keep 4
# Prompts of a file: as each alone where nothing is drawn, and the same in batches of any size.
printf "?s='\n?s='abcdefgh\nab\n" >prompts
does 0 generate run --prompts prompts --max-new-tokens 20
while IFS= read -r prompt; do "$rotary" generate run --prompt "$prompt" --max-new-tokens 20; done <prompts >alone
cmp -s out alone || complain "prompts together are not continued as alone"
does 0 generate run --prompts prompts --max-new-tokens 20 --temperature 3
cp out together
for size in 1 2; do
    does 0 generate run --prompts prompts --max-new-tokens 20 --temperature 3 --batch-size $size
    cmp -s out together || complain "batches of $size are continued otherwise"
done
"$rotary" generate run --prompts - --max-new-tokens 20 --temperature 3 <prompts | cmp -s - together ||
    complain "prompts of the standard input are continued otherwise"
does 0 generate run --prompts prompts --max-new-tokens 20 --json
has results.2.prompt '"ab"'
has results.2.finish '"length"'
printf 'ab\n\n' >prompts
refuses 1 "prompts, line 2: the prompt has no tokens" generate run --prompts prompts
printf 'ab\nhello!\n' >prompts
refuses 1 "prompts, line 2:" generate run --prompts prompts
refuses 1 "absent" generate run --prompts absent
refuses 2 "top_p without a temperature" generate run --prompt a --top-p 0.5
refuses 2 "--prompt and --prompts exclude each other" generate run --prompt a --prompts prompts
refuses 2 "--batch-size without --prompts" generate run --prompt a --batch-size 2
does 0 report run --json
has report '"run/report.html"'
[ -s run/report.html ] || complain "no page"

# A comparison, twice: the second time all of it is found finished.
# shellcheck disable=SC2086
compare="compare index --positions rope,roper,none --runs 2 $tiny --steps 2 --out both"
# shellcheck disable=SC2086
does 0 $compare
says "rope"
says "both/report.html"
[ -s both/report.html ] || complain "no page"
fingerprint both | grep -v -e report.html -e compare.json >kept
# shellcheck disable=SC2086
does 0 $compare --json
has folder '"both"'
"$json_get" '' <out >/dev/null || complain "the result is no JSON"
grep -q 'finished before' err || complain "a finished run is not found finished"
fingerprint both | grep -v -e report.html -e compare.json | cmp -s - kept || complain "a finished comparison is changed"
refuses 1 "hidden_size" $compare --set hidden_size=32
# The report says what the comparison said, also as one object and as rows.
# shellcheck disable=SC2086
does 0 $compare
cp out said
does 0 report both
cmp -s out said || complain "report and compare say different things"
does 0 report both --json
has report '"both/report.html"'
has primary_measure '"exact_match"'
does 0 report both --csv
[ "$(wc -l <out)" = 7 ] || complain "wanted a head and six runs"
does 0 report both --csv --rows pairs --all-pairs
[ "$(wc -l <out)" = 19 ] || complain "wanted a head and two pairs of three contrasts by three measures"
refuses 2 "--csv and --json are both given" report both --csv --json
refuses 2 "--rows needs --csv" report both --rows pairs
# What only a rotation could not do is no matter where none is named.
# shellcheck disable=SC2086
does 0 compare index $tiny --set head_dim=9 --positions none,learned --runs 1 --steps 1 --out odd

# A key that does nothing in one run of a comparison is no matter when that run alone is resumed.
# shellcheck disable=SC2086
does 0 compare index $tiny --set value_fraction=0.5 --runs 1 --steps 1 --out half
does 0 train index --resume --out half/rope-1 --set value_fraction=0.5 --steps 2
refuses 1 "value_fraction is 0.5 in half/rope-1" train index --resume --out half/rope-1 --set value_fraction=0.25

# A run does not go into a comparison's folder, which could then not be resumed.
# shellcheck disable=SC2086
refuses 1 "both holds a comparison" train index $tiny --steps 1 --out both

# What is timed, as text and as JSON.
# shellcheck disable=SC2086
{
    does 0 bench train --task index $tiny --steps 2 --profile
    says "to the first step"
    says "attention, forward"
    does 0 bench train --task index $tiny --steps 2 --profile --json
    has task '"index"'
    has steps 2
    has profile.0.operation '"data, batch"'
    has profile.0.calls 2
    does 0 bench train --task index $tiny --steps 2 --set position=none --json
    has position '"none"'
    refuses 2 "--position and --set position=none are given: wanted one of them" bench train --task index --position roper $tiny \
        --set position=none
    refuses 2 "--position and --set position=none are given: wanted one of them" bench train --task index --position roper,rope \
        $tiny --set position=none
    refuses 2 "xpos_scale" bench train --task index $tiny --steps 2 --set xpos_scale=64
    does 0 bench train --task index --position rope,roper,none $tiny --steps 3 --profile
    says "index, roper, "
    says "ratio to rope "
    [ "$(grep -c '(median of 3 pairs; quartiles ' out)" = 2 ] || complain "not two ratios to the first of three"
    [ "$(grep -c '^attention, forward' out)" = 3 ] || complain "not three profiles"
    does 0 bench train --task index --position roper,rope $tiny --steps 3 --profile --json
    has steps 3
    has results.0.position '"roper"'
    has results.0.profile.0.calls 3
    has results.1.position '"rope"'
    has results.1.profile.0.calls 3
    has results.1.ratio.to '"roper"'
    has results.1.ratio.pairs 3
    for number in lower_quartile median upper_quartile; do
        "$json_get" results.1.ratio.$number <out
    done | awk '$1 > last { rises++; last = $1 } END { exit rises != 3 }' || complain "quartiles of the ratio do not rise from 0"
    does 0 bench generate --task index --preset quick $tiny --batch-size 5 --max-new-tokens 9
    says "5 prompts, 9 new tokens each"
    does 0 bench generate --task index --preset quick $tiny --batch-size 5 --max-new-tokens 9 --json
    has batch_size 5
    has max_new_tokens 9
    refuses 1 "positions" bench generate --task index --preset quick $tiny --max-new-tokens 64
    small="--set hidden_size=16 --set num_hidden_layers=1 --set vocab_size=50 --set source_vocab_size=50"
    does 0 bench translate $small --sentences 7 --source-tokens 4 --tokens 3 --beams 2 --batch-size 3 --profile
    says "7 sentences, 3 tokens of each, 2 beams"
    says "output, most probable"
    does 0 bench translate $small --sentences 7 --source-tokens 4 --tokens 3 --json
    has sentences 7
    has beams 5
    refuses 2 "num_attention_heads" bench translate --set num_attention_heads=3
    refuses 2 "there is no key \"steps\"" bench translate --set steps=3
}
for precision in f32 bf16; do
    does 0 bench rope --shape 7,3,10 --seconds 0 --precision $precision --json
    has results.1.pairing '"interleaved"'
    has results.1.precision "\"$precision\""
    has results.1.rounds 5
    has results.1.bytes $([ $precision = f32 ] && echo 1680.0 || echo 840.0)
    does 0 bench attention --shape 2,3,17,10 --seconds 0 --precision $precision --json
    has results.0.shape '[2,3,17,10]'
    has results.0.forward_operations 36720.0
    does 0 bench decode --shape 2,6,3,17,10 --seconds 0 --precision $precision --json
    has results.0.bytes $([ $precision = f32 ] && echo 8640.0 || echo 4320.0)
done
does 0 bench rope --shape 7,3,10 --seconds 0
says "f16  interleaved"
does 0 bench attention --shape 2,3,17,10 --seconds 0
does 0 bench attention --shape 9,3,17,10,5 --seconds 0
says "times RoPE's, medians of pairs"
says "transformer-xl"
does 0 bench attention --shape 2,3,17,10 --seconds 0 --encodings fire,shaw --json
says '"fire"'
! grep -q deberta "$scratch/out" || complain "deberta was timed too"
does 0 bench decode --shape 2,6,3,17,10 --seconds 0
says "read only"

# The machine.
does 0 info
says "kernels in use:"
does 0 info --json --isa scalar --threads 1 --precision f32
has isa '"scalar"'
has kernels.rotation '"scalar"'
has kernels.layers '"scalar"'
has threads 1
has precision '"f32"'
finish
