# SPDX-License-Identifier: Apache-2.0
# Wrong usage: exit status 2, what is wrong in one line, the nearest name, the help that mends it.
. "$(dirname "$0")/support.sh"

refuses 2 'there is no command "trian"; did you mean "train"?' trian
refuses 2 'there is no command "--steps"' --steps 5
refuses 2 'there is no command "cmopare"; did you mean "compare"?' help cmopare
# What was typed may come from anywhere: no escape sequence of it reaches the terminal.
escape=$(printf '\033[31mtrain\302\2332J')
for words in "" help bench "help bench" tokenize "help train"; do
    # shellcheck disable=SC2086 # a list of words
    refuses 2 '?[31mtrain??2J' $words "$escape"
    tr -d '\n -~' <err | cmp -s - /dev/null || complain "rotary $words: a control character is printed"
done
refuses 2 'train wants TASK' train
refuses 2 'bench wants COMMAND' bench
refuses 2 'tokenize wants COMMAND' tokenize
refuses 2 'tokenize encode wants MODEL' tokenize encode
refuses 2 'tokenize decode got the argument "b", wanted MODEL alone' tokenize decode a b
refuses 2 '--vocab-size is "1", wanted a whole number from 5 to 1048576' tokenize train --vocab-size 1
refuses 2 '--punctuation with --type unigram' tokenize train --model a.model --punctuation
refuses 2 '--type is "bpee", wanted unigram, bpe or words; did you mean "bpe"?' tokenize train --type bpee
refuses 2 'there is no command "bench rpoe"; did you mean "rope"?' bench rpoe
refuses 2 'there is no command "bench rope x"' help bench 'rope x'
refuses 2 'there is no command "train rope": train has no commands below it' help train rope
refuses 2 'help settings takes no "train": wanted rotary help settings, or rotary help KEY for one of them' help settings train
refuses 2 'help presets takes no "small": wanted rotary help presets, or rotary help TASK/NAME for one of them' help presets small
refuses 2 'there is no command and no key "masked/smal"; the presets are in rotary help presets' help masked/smal
refuses 2 'there is no command and no key "learning_rat"; did you mean "learning_rate"?' help learning_rat
refuses 2 'SHELL is "tcsh", wanted bash, zsh or fish' completions tcsh
does 0 help learning_rate
says "prefix/quick  "
does 0 help presets
says "masked_data=DIR"
does 0 help masked/small
says "masked:" && says "  small  "
! grep -q '^  quick' out || complain "another preset is shown"
refuses 2 'bench train got the argument "prefix", wanted none' bench train prefix
refuses 2 'there is no option --shpae; did you mean --shape?' bench rope --shpae 1
refuses 2 '--shape is "4,5", wanted 3 whole numbers' bench rope --shape 4,5
refuses 2 '--shape is "4,5,6,7", wanted 3 whole numbers' bench rope --shape 4,5,6,7
refuses 2 '--shape is "1,2,0,4", wanted 4 or 5 whole numbers' bench attention --shape 1,2,0,4
refuses 2 '--encodings has "alibi", wanted none, rope' bench attention --encodings shaw,alibi
refuses 2 '--shape is "1,2,3,4,", wanted 4 or 5 whole numbers' bench attention --shape 1,2,3,4,
refuses 2 '--shape is "2000000,2000000,2", 8e+12 elements, wanted at most 2^40' bench rope --shape 2000000,2000000,2
refuses 2 'train got the argument "more", wanted TASK alone' train index more
refuses 2 'there is no option --stpes; did you mean --steps?' train index --stpes 5
grep -q '^  --steps N  *updates' err || complain "the help of --steps is not shown"
refuses 2 '--steps is "many", wanted a whole number' train index --steps many
refuses 2 '--steps wants a value' train index --steps
refuses 2 '--isa is "avx21", wanted auto, scalar, neon, avx2, avx512, amx or avx512bf16; did you mean "avx2"?' info --isa avx21
refuses 2 '--precision is "f16", wanted auto, f32 or bf16' info --precision f16
refuses 2 '--threads is "-1"' info --threads -1
refuses 2 '--seed is "x"' train index --seed x
refuses 2 '--window is "0", wanted a whole number from 1 to 9007199254740992' attend --causal --window 0
refuses 2 '--json takes no value' info --json=yes

# Unknown task, preset, position, key: the nearest valid name is suggested.
refuses 2 'there is no task "indx", wanted addition, classification, copy, index, language, masked, passkey, prefix, reverse or translation; did you mean "index"?' train indx
refuses 2 'there is no task "bicycle", wanted addition, classification, copy, index, language, masked, passkey, prefix, reverse or translation' compare bicycle
refuses 2 'there is no preset of task index named "quikc", wanted paper or quick; did you mean "quick"?' train index --preset quikc
refuses 2 'there is no preset of task index named "papr", wanted paper or quick; did you mean "paper"?' compare index --preset papr
refuses 2 'did you mean "roper"?' train index --position ropre
refuses 2 '"position" is "ropee"' train index --position ropee
refuses 2 'did you mean "sinusoidal"?' compare index --positions rope,sinusodial
refuses 2 '--positions names rope twice' compare index --positions rope,roper,rope
refuses 2 '"position" is ""' compare index --positions rope,
refuses 2 'did you mean "roper"?' bench train --position rope,rooper
refuses 2 '--position names rope twice' bench train --position rope,none,rope
refuses 2 '"position" is ""' bench train --position ,rope
refuses 2 'head' bench train --position none,rope --set head_dim=33
refuses 2 'there is no key "hiden_size"; did you mean "hidden_size"?' train index --set hiden_size=64
refuses 2 'there is no key "steep"; did you mean "steps"?' compare index --set steep=64
refuses 2 '"hidden_act" is "gleu"' train index --set hidden_act=gleu
refuses 2 '"hidden_size" is "wide", wanted a whole number' train index --set hidden_size=wide
refuses 2 '"nonsense" is not key=value' train index --set nonsense
refuses 2 'the configuration has task prefix, wanted index' train index --set task=prefix
refuses 2 'generate wants --prompt TEXT' generate absent
refuses 2 '--prompt and --prompts exclude each other' generate absent --prompt a --prompts texts
refuses 2 'and --output FILE; there is no --value' attend --query a.npy --key b.npy --output c.npy
refuses 2 'and --output FILE; there is no --query and --output' attend --key b.npy --key-is-value
refuses 2 'there is no option --typo' attend --rope config.json --typo
! grep -q -- '--rope' err || complain "the help of an option that is right is shown for one that is wrong"
refuses 2 'heatmap wants --input FILE or --text TEXT' heatmap absent
refuses 2 'heatmap got the argument "three", wanted DIR [DIR] alone' heatmap one two three --input x
refuses 2 '--shown is "0", wanted a whole number from 1 to 1000' heatmap absent --input x --shown 0

# Members that do not fit together.
refuses 2 'channels would rotate' train index --set hidden_size=36 --set num_attention_heads=4 --set num_key_value_heads=4
refuses 2 '"rope_scaling" is "yarn", wanted an object' train index --set rope_scaling=yarn
refuses 2 'did you mean "factor"?' train index --set 'rope_scaling={"rope_type":"linear","factr":2}'
refuses 2 'has no "factor", which rope_type linear needs' train index --set 'rope_scaling={"rope_type":"linear"}'
refuses 2 'layer_types has 1 entries' train index --set 'layer_types=["full_attention"]'
refuses 2 'num_attention_heads' train index --set hidden_size=130 --set num_attention_heads=4
refuses 2 'num_key_value_heads' train index --set num_key_value_heads=3
refuses 2 'sequence_length' train index --set sequence_length=16
refuses 2 'head' compare index --positions rope,none --set hidden_size=130
refuses 2 'wanted --positions none' compare index --set position=none
for jobs in 0 -1 1025 two 2x ''; do
    refuses 2 "--jobs is \"$jobs\": wanted 1 ... 1024, or auto" compare index --jobs="$jobs"
done
refuses 2 'value_fraction is 0.5, which does nothing with position rope' train index --set value_fraction=0.5
refuses 2 'index_letters is 5, which does nothing with task addition' train addition --set index_letters=5
refuses 2 'value_fraction' compare index --positions none,roper --set value_fraction=0.3
refuses 2 'value_fraction is 0.5, which does nothing with position none' compare index --positions none,rope \
    --set value_fraction=0.5
refuses 2 'value_fraction is 0.5, which does nothing with position rope' compare index --vary value_fraction=1,0.5
refuses 1 "the name of a folder is empty" evaluate ""
refuses 1 "the name of the file to write is empty" data index --output ""

# Nothing was made of any of it.
[ -z "$(find . -mindepth 1 -not -name out -not -name err)" ] || complain "something was left behind: $(ls)"

# Help that is requested: exit status 0.
does 0 help
says "rotary compare prefix"
refuses 2 'bleu wants REFERENCE' bleu
refuses 2 'bleu wants REFERENCE... HYPOTHESIS, or' bleu one.txt
refuses 2 '--tokenize is "13b", wanted 13a, intl, char or none; did you mean "13a"?' bleu one.txt two.txt --tokenize 13b
refuses 2 '--metrics names "blue", wanted bleu, chrf or bleu,chrf; did you mean "bleu"?' bleu one.txt two.txt --metrics blue
refuses 2 '--metrics names "", wanted' bleu one.txt two.txt --metrics bleu,
refuses 2 '--metrics names chrf twice' bleu one.txt two.txt --metrics chrf,bleu,chrf
refuses 2 '--smooth-value wants --smooth-method floor or add-k' bleu one.txt two.txt --smooth-value 1
refuses 2 '--smooth-value is "-1"' bleu one.txt two.txt --smooth-method floor --smooth-value -1
refuses 2 "are BLEU's, and --metrics is chrf" bleu one.txt two.txt --metrics chrf --lowercase
refuses 2 'options of chrF want --metrics chrf' bleu one.txt two.txt --chrf-beta 3
refuses 2 '--chrf-char-order 0 wants --chrf-word-order' bleu one.txt two.txt --metrics chrf --chrf-char-order 0
refuses 2 '--paired-bs and --paired-ar exclude' bleu one.txt --input a --input b --paired-bs --paired-ar
refuses 2 'wants two systems or more' bleu one.txt two.txt --paired-bs
refuses 2 '--confidence is for one system' bleu one.txt --input a --input b --confidence
refuses 2 '--confidence-n wants --confidence' bleu one.txt two.txt --confidence-n 9
refuses 2 '--paired-bs-n wants --paired-bs' bleu one.txt --input a --input b --paired-bs-n 9
refuses 2 '--paired-ar-n wants --paired-ar' bleu one.txt --input a --input b --paired-bs --paired-ar-n 9
refuses 2 '--sentence-level wants one system and one metric' bleu one.txt two.txt --sentence-level --metrics bleu,chrf
refuses 2 '--sentence-level and --confidence exclude' bleu one.txt two.txt --sentence-level --confidence
refuses 2 '--score-only and --json exclude' bleu one.txt two.txt --score-only --json
refuses 2 '--score-only wants one system' bleu one.txt --input a --input b --score-only
refuses 2 'can be read only once' bleu - -

does 0 --help
does 0 train --help
says "usage: rotary train TASK"
does 0 train -h
says "usage: rotary train TASK"
does 0 bench -h
does 0 bench --help
says "usage: rotary bench COMMAND"
does 0 --version
says "rotary 0."
does 0 -V
says "rotary 0."
# --out and --output are one option, whichever a command has.
refuses 2 '--out wants a value: --out DIR' train index --output
refuses 2 '--output wants a value: --output FILE' apply --out
does 2
finish
