# SPDX-License-Identifier: Apache-2.0
# What a run is made of, for those who repeat it elsewhere: initial weights, what is said of its schedule, its data.
. "$(dirname "$0")/support.sh"

# Initial weights; the run goes on as if it had never stopped.
# shellcheck disable=SC2086 # a list of words
{
    does 0 train index --position roper --seed 3 $tiny --steps 0 --out begun
    says "index, roper, seed 3, "
    says ": initial weights, no step"
    does 0 evaluate begun --json
    has evaluation.problems 4
    does 0 train index --resume --out begun --json
    has steps 0
    has loss null
    has evaluation null
    does 0 train index --resume --steps 4 --out begun --json
    has first_step 0
    does 0 train index --position roper --seed 3 $tiny --steps 4 --out whole
    for file in config.json model.safetensors optimizer.safetensors best.safetensors; do
        cmp "begun/$file" "whole/$file" || complain "a run begun with --steps 0 has another $file"
    done
    refuses 2 "steps is 0, wanted at least 1" compare index $tiny --set steps=0 --out none
    refuses 2 '--steps is "0"' compare index --steps 0
}

# A number of steps that makes something else of the schedule.
# shellcheck disable=SC2086
{
    does 0 train index $tiny --steps 2 --out usual
    ! grep '^rotary: ' err || complain "a constant rate is remarked upon"
    does 0 train index $tiny --set warmup_steps=3 --steps 2 --out warm
    grep -q '^rotary: the warm-up takes 3 steps and the run has 2: ' err || complain "a warm-up longer than the run is not said"
    does 0 train index $tiny --set schedule=linear --steps 2 --out linear
    grep -q '^rotary: the linear schedule is shortened: it ends at step 2 instead of step 600$' err ||
        complain "a schedule cut short is not said"
}
finish
