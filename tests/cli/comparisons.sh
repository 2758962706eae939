# SPDX-License-Identifier: Apache-2.0
# What can be compared and with which seeds, and what a report says of runs that are not alike.
. "$(dirname "$0")/support.sh"
small="$tiny_prefix --set prefix_substring=8 --steps 2"

# Values of any key; a rerun changes no byte, whatever it leaves out.
# shellcheck disable=SC2086
{
    does 0 compare prefix $small --vary value_fraction=0,1 --vary norm=layer_norm,rms_norm --set position=roper --seeds 4,7-8 --out keys --json
    has arms.0.name '"value_fraction=0.0,norm=layer_norm"'
    has arms.1.name '"value_fraction=0.0,norm=rms_norm"'
    has arms.2.name '"value_fraction=1.0,norm=layer_norm"'
    has arms.3.runs.2.seed 8
    has contrasts.2.baseline '"value_fraction=0.0,norm=layer_norm"'
    has unlike null
    "$json_get" contrasts.3 <out 2>/dev/null && complain "all pairs are compared unasked"
    "$json_get" config.position <keys/compare.json | grep -qx '"roper"' || complain "the arms have another position"
    fingerprint keys >kept
    does 0 compare prefix $small --set position=roper --out keys --all-pairs --json
    has contrasts.5.arm '"value_fraction=1.0,norm=rms_norm"'
    fingerprint keys | grep -v report.html >again
    grep -v report.html kept | cmp -s - again || complain "a rerun of a finished comparison changes it"
    refuses 1 "keys/compare.json compares values of value_fraction, norm" compare prefix $small --out keys --positions rope,roper
}

# Every subset of queries, keys, values and outputs that rotates, each of which learns something else.
# shellcheck disable=SC2086
{
    does 0 compare prefix $small --vary rotate=qk,q,k,v,qv,kv,qkv,o,qo,ko,qko,vo,qvo,kvo,qkvo --seeds 5 --out subsets --json
    has arms.0.name '"rotate=qk"'
    has arms.14.name '"rotate=qkvo"'
    test "$(sha256sum subsets/rotate=*/model.safetensors | cut -d ' ' -f 1 | sort -u | wc -l)" = 15 || complain "two subsets learn alike"
    grep -q '"rotate": "kv"' subsets/rotate=kv-5/config.json || complain "a run does not say what rotates"
    refuses 2 'position is roper, which rotates qkvo, and rotate is k: wanted position rope' compare prefix $small \
        --positions rope,roper --vary rotate=qkvo,k --runs 1 --out both
    refuses 2 'wanted position, q, k, qk' compare prefix $small --vary rotate=qk,vk --runs 1 --out both
    does 0 compare prefix $small --vary rotate=vo,all --runs 1 --out fifteen --dry-run
    [ "$(grep -c '^rotate=.*-1: 2 steps' out)" = 15 ] || complain "not fifteen ways to rotate"
    # What is given is applied, or refused.
    refuses 2 '--positions is given twice, the second time as "roper": wanted one value' compare prefix --positions rope --positions roper
    refuses 2 '--steps is given twice' compare prefix --steps 3 --steps=3
    refuses 2 'problems is 5, which does nothing with task prefix' compare prefix $small --problems 5
    refuses 2 '--steps sets "epochs", which the comparison sweeps' compare translation --steps 1 --sweep epochs=2,3 --dry-run
    for key in seed=3 steps=3 init=fifteen precision=bf16 position=none; do
        refuses 2 "and --set $key are given: wanted one of them" train prefix --position rope --steps 2 --seed 2 --precision f32 \
            --init fifteen --set $key
    done
}

# Of two problems or more, and with an own measure.
# shellcheck disable=SC2086
does 0 compare index $tiny --steps 2 --runs 1 --problems 7 --out seven --json
has problems 7
grep -q "verdict" err && complain "the power of a single seed"
# shellcheck disable=SC2086
does 0 compare index $tiny --steps 2 --runs 6 --problems 1 --out two
grep -q "a verdict takes p <= 0.05 by sign flips of 6 seeds, all six pairs of one sign; a difference of 3 standard deviations of a score gives one 9[0-3] times in 100" err ||
    complain "compare does not say its rule before it trains"
grep -q "with the spread of results/index-quick, 6 seeds find a difference of 10 points of exact match 1[6-9] times in 100; 80 times takes about 2[0-2] seeds" err ||
    complain "compare does not say how many seeds exact match needs"
# shellcheck disable=SC2086
does 0 compare index $tiny --set primary_measure=validation_loss --steps 2 --runs 2 --out loss
grep -q "seeds find" err && complain "the power of exact match where the loss decides"
grep -q "^2 seeds can give no verdict, which takes 6" err || complain "compare does not say that two seeds give no verdict"

# The preset quick has six seeds, and eight of more than two arms; others have ten.
# shellcheck disable=SC2086
{
    does 0 compare prefix $small --out six --json
    has contrasts.0.pairs 6
    has family 1
    does 0 compare prefix $small --positions rope,roper,none --out eight --json
    has contrasts.1.pairs 8
    has family 2
    grep -q "sign flips of 8 seeds, jointly for 2 contrasts (step-down max t); " err ||
        complain "compare does not say how many contrasts it judges"
    does 0 compare prefix $small --positions rope,roper,none --all-pairs --out eight --json
    has family 3
    grep -q "jointly for 3 contrasts" err || complain "compare does not count all pairs"
    does 0 compare prefix --preset paper $small --out ten --json
    has contrasts.0.pairs 10
}

# Until there is a verdict, and with values chosen for each arm.
# shellcheck disable=SC2086
{
    # With weights of another run: what begins with random ones has not begun to learn by then, and has no verdict.
    does 0 train prefix ${small% --steps 2} --steps 1 --out begun
    does 0 compare prefix ${small% --steps 2} --set init=begun --steps 6 --vary learning_rate=1e-9,1e-2 --until 10 --out until --json
    has max_pairs 10
    has contrasts.0.verdict '"better"'
    does 0 compare prefix ${small% --steps 2} --set init=begun --steps 6 --vary learning_rate=1e-9,1.0000001e-9,1e-2 --until 8 --out three --json
    has contrasts.1.verdict '"better"'
    has contrasts.1.pairs 8 # the other contrast has no verdict yet
    # Its verdicts have the rule that it was begun with, whoever asks for them.
    refuses 1 "begun with --until and without --all-pairs" report three --all-pairs
    cp -r three pairs
    sed -i 's/"all_pairs": false/"all_pairs": true/' pairs/compare.json
    does 0 report pairs --json
    has contrasts.2.pairs 8
    does 0 compare prefix ${small% --steps 2} --steps 6 --vary learning_rate=1e-9,1e-2 --runs 7 --out short --json
    has contrasts.0.verdict '"trained too short to rank"'
    has arms.0.too_short true
    has arms.0.runs.0.begun.begun false
    [ "$(grep -c "is trained too short to rank: 7 of 7 runs have not begun to learn" short/report.html)" = 2 ] || complain "the page does not say it"
    does 0 compare prefix $small --out usual --json
    has contrasts.0.seeds.5 6
    has contrasts.0.pairs 6
    does 0 compare prefix $small --runs 1 --sweep learning_rate=1e-9,1e-2 --sweep-runs 1 --out swept
    [ "$(head -n 2 out | grep -c "^rope.* at learning_rate=0.01, the best by validation_loss: .*; the largest learning_rate tried")" = 2 ] ||
        complain "compare does not say which values it chose"
    [ -s swept/sweep/rope,learning_rate=1e-9-1000001/metrics.jsonl ] || complain "the runs of a sweep are elsewhere"
    [ -e swept/sweep/rope,learning_rate=1e-9-1000002 ] && complain "more runs of the sweep than asked for"
    grep -q '"learning_rate": 0.01,' swept/roper-1/config.json || complain "the runs do not have the chosen values"
    does 0 report swept --json
    has sweep.chosen.roper.learning_rate 0.01
    does 0 report swept
    [ "$(grep -c "the best by validation_loss" out)" = 2 ] || complain "a report does not say which values were chosen"
    grep -q "roper at learning_rate=0.01, the best by validation_loss" swept/report.html || complain "the page does not say it"
    refuses 2 '--set sets "learning_rate", which the comparison sweeps' compare prefix $small --set learning_rate=7 --out swept
}

# Called again, the arms and seeds are those of the folder.
# shellcheck disable=SC2086
{
    does 0 compare prefix $small --set value_fraction=0.5 --runs 1 --out recalled
    does 0 compare prefix $small --set value_fraction=0.5 --out recalled
    refuses 2 '--set sets "position", which the comparison varies' compare prefix $small --set position=none --out recalled
    refuses 1 'compares every arm with rope, and roper is named first: wanted rope first' compare prefix $small \
        --set value_fraction=0.5 --positions roper,rope --out recalled
    does 0 compare index $tiny --steps 2 --problems 1 --out two
    grep -q ", 6 seeds find a difference" err || complain "the power of other seeds than the folder's"
}

# Without a preset, and without what its configuration has already, but not with something else.
fingerprint recalled | grep -v report.html >kept
does 0 compare prefix --out recalled
fingerprint recalled | grep -v report.html | cmp -s - kept || complain "a comparison called by its folder alone changes it"
does 0 compare prefix --steps 3 --out recalled
"$json_get" value_fraction <recalled/roper-1/config.json | grep -qx 0.5 || complain "the runs have another value_fraction"
"$json_get" config.steps <recalled/compare.json | grep -qx 3 || complain "the folder's comparison has no more steps"
refuses 1 value_fraction compare prefix --set value_fraction=0.25 --out recalled
refuses 1 "sequence_length is 64 in recalled" compare prefix --preset quick --out recalled
refuses 2 "recalled holds a comparison on the task prefix, wanted one on index" compare index --out recalled

# Other lengths: each finished run is scored once, and again when it has other steps.
# shellcheck disable=SC2086
{
    longer="compare index $tiny --positions rope,learned --runs 2 --out lengths"
    does 0 $longer --steps 2 --evaluate-lengths 64,128 --evaluate-scaling none,yarn --json
    has arms.0.lengths.0.length 64
    has arms.0.lengths.3.scaling '"yarn"'
    has arms.0.lengths.3.runs 2
    has arms.0.lengths.3.mean 0.0
    has arms.1.lengths.2.mean null # beyond the learned table
    fingerprint lengths | grep -v report.html >kept
    does 0 $longer --steps 2 --evaluate-lengths 128
    says "tokens            64       128"
    says "rope, yarn       0.0       0.0"
    says "learned          0.0         -"
    fingerprint lengths | grep -v report.html | cmp -s - kept || complain "the same lengths change a finished comparison"
    does 0 report lengths
    says "rope, yarn"
    grep -q "Other lengths" lengths/report.html || complain "the page has no other lengths"
    does 0 $longer --steps 3
    ! grep -q "rope, yarn" out || complain "scores of other steps are shown"
    does 0 $longer --steps 3 --evaluate-lengths 96
    has_not=$(cat lengths/rope-1/lengths.json)
    case $has_not in *128*) complain "scores of other steps are kept" ;; esac
    says "tokens         96"
    refuses 2 '--evaluate-lengths is "x", wanted numbers of tokens' $longer --evaluate-lengths x
    refuses 2 "--evaluate-lengths: sequence_length 32 is too short for task index" $longer --evaluate-lengths 32
}

# What is wrong with such options.
refuses 2 "--until and --runs are given" compare prefix --until 9 --runs 3
refuses 2 "--seeds and --runs are given" compare prefix --seeds 1 --runs 3
refuses 2 "--seeds and --seed are given" compare prefix --seeds 1 --seed 3
for seeds in 1,1 3-1 -1 1- 1,,2 x 1.5 1-1001 9007199254740992 99999999999999999999 ''; do
    refuses 2 "--seeds is \"$seeds\", wanted whole numbers" compare prefix "--seeds=$seeds"
done
refuses 2 "--sweep-runs needs --sweep" compare prefix --sweep-runs 3
refuses 2 "position is compared: wanted another key for the sweep" compare prefix --sweep position=rope,none
refuses 2 "seed cannot be varied" compare prefix --sweep seed=1,2
refuses 2 '--vary is "norm", wanted key=value,value,...' compare prefix --vary norm
refuses 2 '--set sets "norm", which the comparison varies; wanted --vary norm=rms_norm' compare prefix --vary norm=layer_norm --set norm=rms_norm
refuses 2 "position is varied already" compare prefix --positions rope --vary position=none
refuses 2 "are the same configuration" compare prefix --vary intermediate_size=0,512

# Runs that are not alike.
# shellcheck disable=SC2086
{
    does 0 train prefix $small --seed 1 --out rope-1
    does 0 train prefix $small --seed 1 --position none --out none-1
    does 0 train prefix $small --seed 1 --set rope_theta=99 --out other-1
}
does 0 report rope-1 none-1 --json --out page.html
has contrasts.0.seeds.0 1
does 0 report rope-1 none-1 other-1 --out page.html
head -n 1 out | grep -q "the runs differ in rope_theta (1e4 in rope-1, 99.0 in other-1)" || complain "the first line does not say what differs"
grep -qx 'note: --vary position,rope_theta compares these runs' err || complain "no note of what --vary would compare"
does 0 report rope-1 none-1 other-1 --vary position,rope_theta --json --out page.html
has unlike null
[ ! -s err ] || complain "a note of --vary where it is given"
does 0 report rope-1 other-1 --out page.html
grep -qx 'note: --vary rope_theta compares these runs' err || complain "no note of the key that runs differ in"
does 0 report rope-1 none-1 other-1 --json --out page.html
has contrasts.0.seeds '[]'
does 0 report rope-1 other-1 --vary rope_theta --json --out page.html
has contrasts.0.arm '"rope_theta=99.0"'
has contrasts.0.seeds.0 1
has unlike null

# A run that was trained beforehand is taken over, unless it is another.
# shellcheck disable=SC2086
{
    does 0 train prefix $small --seed 1 --out before/rope-1
    does 0 compare prefix $small --runs 1 --out before
    grep -q "^rope, seed 1 (1 of 2): finished before" err || complain "a run trained beforehand is not taken over"
    does 0 train prefix $small --set rope_theta=99 --seed 1 --out beforehand/rope-1
    refuses 1 "rope_theta is 99.0 in beforehand/rope-1" compare prefix $small --runs 1 --out beforehand
    [ -e beforehand/compare.json ] && complain "a comparison that was refused has begun"
}
finish
