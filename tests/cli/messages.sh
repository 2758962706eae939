# SPDX-License-Identifier: Apache-2.0
# Natural mistakes, each with what to type instead in its message.
. "$(dirname "$0")/support.sh"

tiny="--steps 1 --set warmup_steps=0 --set hidden_size=16 --set num_hidden_layers=1 --set num_attention_heads=1"
mkdir -p only
i=0
while [ $i -lt 200 ]; do
    printf 'line %d of the text\n\n' $i
    i=$((i + 1))
done >only/train.txt
# shellcheck disable=SC2086 # a list of words
{
    refuses 1 'there is no only/valid.txt: wanted the validation text of the task language, or --set language_validation= to hold' train language --set language_data=only
    does 0 train language --set language_data=only --set language_validation= $tiny --out held
    refuses 1 'language_data is only/train.txt, which is a file: wanted the folder that has it, and its name in language_train, or --text only/train.txt' train language --set language_data=only/train.txt
    refuses 1 'there is no folder data/english, which language_data names: texts do not come with the program, and docs/reference/data.md says where' compare language --preset small
    refuses 1 'there is no folder data/english, which masked_data names' train masked --preset small
    refuses 1 'there is no folder data/glue/MRPC, which classification_data names' compare classification --preset paper
    refuses 1 'there is no folder data/multi30k, which translation_data names' compare translation --preset paper

    does 0 compare prefix $tiny --runs 1 --out comparison
    refuses 1 'comparison is not the folder of a run, but has folders of runs: wanted one of them, such as comparison/rope-1' evaluate comparison
    refuses 1 "only/train.txt is a file, wanted a run's folder" evaluate only/train.txt
    refuses 1 'nowhere is not the folder of a run: there is no such folder' evaluate nowhere
    refuses 1 'comparison/rope-1 holds a run already: wanted --resume, which goes on with it, or another folder by --out' train prefix $tiny --out comparison/rope-1
    refuses 2 'comparison holds a comparison on the task prefix, wanted one on index: another folder by --out' compare index --out comparison

    does 0 train prefix ${tiny#--steps 1} --out comparison/rope-1 --resume --steps 3
    grep -q 'comparison/rope-1: resumed after step 1 of 3, 2 left' err || complain "resuming does not say what is left"
    does 0 compare prefix ${tiny#--steps 1} --steps 3 --runs 1 --out comparison

    # --dry-run says what is left and how long it takes, and writes nothing.
    does 0 compare prefix ${tiny#--steps 1} --steps 3 --runs 2 --out comparison --dry-run
    says "rope-1: finished"
    says "roper-2: 3 steps"
    grep -q '2 runs of 3 steps to train: about' err || complain "--dry-run does not say how long it takes"
    [ ! -e comparison/rope-2 ] || complain "--dry-run trains"
    does 0 compare prefix $tiny --runs 1 --out planned --dry-run --json --sweep learning_rate=1e-3,2e-3 --sweep-runs 3
    has runs.1.run '"roper-1"'
    has runs.1.steps_left 1
    has sweep_runs 12
    [ ! -e planned ] || complain "--dry-run writes a folder"

    # A preset of one's own is a file; its keys are checked as those of --set are.
    echo '{"task": "prefix", "steps": 1, "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 1}' >mine.json
    does 0 train prefix --preset mine.json
    grep -q '"hidden_size": *16' runs/prefix-mine-rope/config.json || complain "a preset of one's own is not applied"
    refuses 2 'the configuration has task prefix, wanted index' train index --preset mine.json
    echo '{"task": "prefix", "hiden_size": 16}' >wrong.json
    refuses 2 'wrong.json: there is no key "hiden_size"; did you mean "hidden_size"?' train prefix --preset wrong.json
    refuses 2 'there is no preset of task prefix named "quik", wanted paper or quick; did you mean "quick"?' train prefix --preset quik
    does 0 train prefix $tiny --threads 1000 --out many
    grep -q 'note: --threads 1000 is more than the' err || complain "too many threads are not said"

    # Words in the place of others.
    refuses 2 'there is no command "eval"; did you mean "evaluate"?' eval comparison
    refuses 2 'there is no command "prefix"; it is a task: rotary compare prefix' prefix
    refuses 2 'there is no command "--preset"; the command comes before its options' --preset quick compare prefix
    refuses 2 'there is no command "version"; wanted rotary --version' version
    refuses 2 'there is no command "bench speed", wanted train, generate, translate, rope' bench speed
    refuses 2 'train wants TASK, such as: rotary train index' train
    refuses 2 '; it is a file: a text of your own is read by rotary compare language --text only/train.txt' compare only/train.txt
    refuses 2 '; it is a folder: rotary evaluate held scores a run' train held
    refuses 2 '; it is a position encoding: rotary train prefix --position roper' train roper
    refuses 2 'there is no command and no key "rope"; it is a position encoding' help rope
    refuses 2 'there is no command and no key "index"; it is a task: rotary compare index' help index
    refuses 2 'there is no command and no key "paper"; it is a preset: rotary compare' help paper
    refuses 2 'there is no command and no key "keys"; did you mean "settings"?' help keys
    does 0 help lr && says "learning_rate  "
    does 0 help n_layers && says "num_hidden_layers  "
    does 0 help batch-size && says "batch_size  "

    # Options and keys of other programs.
    while IFS='|' read -r option value wanted; do
        refuses 2 "there is no option $option$wanted" train prefix "$option" "$value"
    done <<'ROWS'
--lr|1e-3|, but a key of the configuration: wanted --set learning_rate=1e-3
--learning-rate|1e-3|, but a key of the configuration: wanted --set learning_rate=1e-3
--epochs|3|, but a key of the configuration: wanted --set epochs=3
--batch-size|8|, but a key of the configuration: wanted --set batch_size=8
--num-layers|2|, but a key of the configuration: wanted --set num_hidden_layers=2
--layers|2|, but a key of the configuration: wanted --set num_hidden_layers=2
--num-heads|2|, but a key of the configuration: wanted --set num_attention_heads=2
--d-model|64|, but a key of the configuration: wanted --set hidden_size=64
--hidden-size|64|, but a key of the configuration: wanted --set hidden_size=64
--dropout|0.1|, but a key of the configuration: wanted --set dropout=0.1
--weight-decay|0.1|, but a key of the configuration: wanted --set weight_decay=0.1
--warmup|10|, but a key of the configuration: wanted --set warmup_steps=10
--max-steps|10|; did you mean --steps?
--iterations|10|; did you mean --steps?
--output_dir|here|; did you mean --out?
-o|here|; did you mean --out?
--dtype|bf16|; did you mean --precision?
--workers|2|; did you mean --threads?
--data|only/train.txt|; did you mean --text?
--config|mine.json|; did you mean --preset?
--positions|rope,roper|; did you mean --position?
--gpu|0|: wanted --device cuda, of commands that train or run a model
--fp16|-|: wanted --precision bf16
--resume_from|comparison|: wanted --resume, with the run's folder in --out DIR
--jobs|2| here, but rotary compare has it
--seeds|1,2| here, but rotary compare has it
--dry-run|-| here, but rotary compare has it
ROWS
    refuses 2 'wanted --vary learning_rate=1e-3,2e-3' compare prefix --lr 1e-3,2e-3
    refuses 2 'there is no option --position; did you mean --positions?' compare prefix --position rope
    refuses 2 'there is no option --max-tokens; did you mean --max-new-tokens?' generate held --max-tokens 5
    refuses 2 'there is no option --prompt; did you mean --text?' heatmap held --prompt line
    refuses 2 'there is no option --position here, but rotary train has it' evaluate held --position rope
    refuses 1 '--set: "hidden_size" is a key of the model or of its training, and is that of held: wanted keys of the task alone' evaluate held --set hidden_size=3
    refuses 1 '--set: there is no key "hiden_size"' evaluate held --set hiden_size=3
    : >empty
    refuses 1 'empty: the text has 1 tokens, wanted at least 2' evaluate held --text empty
    while read -r assignment wanted; do
        refuses 2 "; did you mean \"$wanted\"?" train prefix --set "$assignment"
    done <<'ROWS'
lr=1e-3 learning_rate
n_layers=2 num_hidden_layers
num_layers=2 num_hidden_layers
d_model=64 hidden_size
n_head=2 num_attention_heads
d_ff=64 intermediate_size
theta=1e6 rope_theta
block_size=64 sequence_length
wd=0.1 weight_decay
grad_clip=1 max_grad_norm
tie_embeddings=true tie_word_embeddings
hidden_act=silu swiglu
norm=rmsnorm rms_norm
precision=bfloat16 bf16
precision=fp32 f32
ROWS

    # Spaces and colons where a comma or an equals sign was wanted.
    refuses 2 '; wanted --positions rope,roper, without a space' compare prefix --positions rope, roper
    refuses 2 '; wanted --positions rope,roper, without a space' compare prefix --positions rope roper
    refuses 2 '; wanted --set learning_rate=1e-3, without a space' train prefix --set learning_rate 1e-3
    refuses 2 "; wanted --text 'my book.txt', if it is one text" train language --text my book.txt
    refuses 2 "; did you mean --prompt 'hello'?" generate held hello
    refuses 2 "; did you mean --config 'x.json'?" frequencies x.json
    refuses 2 'is not key=value, wanted learning_rate=1e-3' train prefix --set learning_rate:1e-3
    refuses 2 'is not key=value, wanted learning_rate=VALUE' train prefix --set learning_rate

    # Files and folders.
    refuses 2 'there is no preset of task prefix named "presets/prefix/quick", wanted paper or quick; did you mean "quick"?' train prefix --preset presets/prefix/quick
    refuses 2 'wanted paper or quick, or a file NAME.json of your own' train prefix --preset mine.txt
    refuses 2 'held/config.json is the configuration of a run' train language --preset held/config.json
    refuses 2 '--position: "position" is "roepr", wanted none' train prefix --position roepr
    grep -q ', an object, or a file NAME.json; did you mean "roper"?' err || complain "a file is no position encoding"
    grep -q ' alibi-learned, p-rope or rope-kerple, an object' err || complain "encodings that come with the program are not named"
    refuses 2 '; did you mean "rope-kerple"?' train prefix --position rope-kerpel
    refuses 1 '--text absent.txt: there is no such file' compare language --text absent.txt
    refuses 1 'held/model.safetensors is a file, wanted a run'"'"'s folder: held' evaluate held/model.safetensors
    refuses 1 'meta/llama is not the folder of a run: there is no such folder; models are not downloaded, wanted a folder that has one' evaluate meta/llama
    refuses 1 'absent holds neither a run nor a comparison: there is no such folder' report absent
    refuses 1 'comparison holds a comparison, which the rotary compare that began it resumes' train prefix --resume --out comparison
    refuses 1 'there is no run in absent to resume, as it has no config.json: wanted the folder of one by --out' train prefix --resume --out absent
    refuses 1 'comparison holds a comparison: wanted another folder by --out' train prefix --out comparison
    refuses 1 "held holds a single run: wanted a comparison to resume, or another folder by --out" compare language --out held
    mkdir -p model && echo '{"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4}' >model/config.json
    refuses 1 'model is a folder, wanted a file; did you mean model/config.json?' frequencies --config model
    printf '{"task": "prefix",\n "steps": 10,\n}' >comma.json
    refuses 1 "comma.json, line 3, column 1: string or '}' expected near '}'; the comma before } is one too many" train prefix --preset comma.json
    echo "{'task': 'prefix'}" >quotes.json
    refuses 1 '; names and texts stand in double quotes' train prefix --preset quotes.json
    echo '{"bias": True}' >true.json
    refuses 1 '; wanted true' train prefix --preset true.json
    mkdir -p runs/here && refuses 1 'here is not the folder of a run: there is no such folder; did you mean runs/here?' evaluate here
}
finish
