# SPDX-License-Identifier: Apache-2.0
# Fine-tuning: comparisons of classifiers, which their labels decide, that begin with pre-trained models, with baselines; and
# scripts/glue, which has one for each dataset.
. "$(dirname "$0")/support.sh"
glue=$(dirname "$(realpath "$0")")/../../scripts/glue

# rows COUNT SEED FORMAT: sentences whose label is the word before the last. In the format L is the label as 0 or 1, S a score,
# A the text, B another one and N the row's number.
rows() {
    awk -v n="$1" -v x="$2" -v format="$3" 'BEGIN {
        split("the a this film book story plot cast end music", words, " ")
        for (row = 1; row <= n; row++) {
            text = ""
            for (i = 0; i < 4; i++) { x = (x * 1103 + 12345) % 65536; text = text words[1 + int(x / 64) % 10] " " }
            label = int(x / 64) % 2
            line = format
            gsub("L", label, line); gsub("S", label * 3 + (x % 7) / 7, line); gsub("N", row, line)
            gsub("B", "it ends", line); gsub("A", text row " was " (label ? "good" : "bad") " here", line)
            print line
        }
    }'
}
# table FILE HEADER COUNT SEED FORMAT
table() {
    { [ -z "$2" ] || printf '%b\n' "$2"; rows "$3" "$4" "$(printf '%b' "$5")"; } >"$1"
}
mkdir -p data/CoLA data/SST-2 data/MRPC data/STS-B data/RTE data/QNLI data/QQP data/MNLI pretrained text
table data/CoLA/train.tsv "" 80 1 'x\tL\t\tA'
table data/CoLA/dev.tsv "" 30 2 'x\tL\t\tA'
table data/SST-2/train.tsv 'sentence\tlabel' 80 3 'A\tL'
table data/SST-2/dev.tsv 'sentence\tlabel' 30 4 'A\tL'
table data/MRPC/msr_paraphrase_train.txt 'Quality\t#1 ID\t#2 ID\t#1 String\t#2 String' 90 5 'L\tN\tN\tA\tB N'
table data/STS-B/sts-train.tsv "" 80 6 'x\tx\tx\tN\tS\tA\tB'
table data/STS-B/sts-dev.tsv "" 30 7 'x\tx\tx\tN\tS\tA\tB'
table data/RTE/train.tsv 'index\tsentence1\tsentence2\tlabel' 80 8 'N\tA\tB\tL'
table data/RTE/dev.tsv 'index\tsentence1\tsentence2\tlabel' 30 9 'N\tA\tB\tL'
for part in train dev; do
    table data/QNLI/$part.tsv 'index\tquestion\tsentence\tlabel' 30 11 'N\tA\tB\tL'
    table data/QQP/$part.tsv 'id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate' 30 12 'N\tN\tN\tA\tB\tL'
done
for part in train dev_matched dev_mismatched; do
    table data/MNLI/$part.tsv 'index\tsentence1\tsentence2\tgold_label' 30 13 'N\tA\tB\tL'
done
rows 80 10 A >text/train.txt

# last FOLDER PATH: of a run's last evaluation.
last() {
    grep evaluation "$1/metrics.jsonl" | tail -n 1 >last
    "$json_get" "$2" <last
}
# same SHARE PATH: the number there, in hundredths, is that share.
same() {
    "$json_get" "$2" <out | awk -v wanted="$1" '{ d = $1 / 100 - wanted; exit !(d * d < 1e-12) }' ||
        complain "$2 is not $1 in hundredths"
}

model="--set hidden_size=16 --set num_attention_heads=2 --set num_hidden_layers=1 --set batch_tokens=200 --set warmup_steps=2
 --set checkpoint_every=0 --set evaluate_every=0 --set sequence_length=16"
training="--set batch_tokens=200 --set warmup_steps=2 --set checkpoint_every=0 --set evaluate_every=0 --set sequence_length=16"
fine="$training --set classification_min_frequency=1"
# shellcheck disable=SC2086
{
    for position in learned rope; do
        does 0 train masked $model --set masked_data=text --set masked_boundary=line --set masked_min_frequency=1 \
            --set masked_validation= --set epochs=0 --steps 3 --position $position --out pretrained/$position
    done

    # Each arm has the model and the vocabulary of its own run, but for what is given; without one it begins anew.
    sst="--set classification_data=data/SST-2 --set classification_dataset=sst2 --set classification_split=sentences"
    begin="compare classification $fine $sst --vary init=pretrained/learned,pretrained/rope/, --set dropout=0.25 --out arms"
    does 0 $begin --sweep learning_rate=1e-9,0.02 --sweep epochs=1,6 --sweep-runs 1 --runs 2 --json
    has arms.0.name '"learned"'
    has arms.1.name '"rope"'
    has arms.2.name '"scratch"'
    has unlike null
    for arm in learned rope; do
        grep -q "\"init\": \"pretrained/$arm/*\"" arms/$arm-1/config.json || complain "$arm begins with another run"
        grep -q "\"position\": \"$arm\"" arms/$arm-1/config.json || complain "$arm has another model"
        grep -q '"hidden_size": 16' arms/$arm-1/config.json || complain "$arm has another size"
        grep -q '"dropout": 0.25' arms/$arm-1/config.json || complain "what is given does not hold for $arm"
    done
    grep -q '"init": ""' arms/scratch-1/config.json || complain "an arm without a run has one"
    grep -q '"hidden_size": 128' arms/scratch-1/config.json || complain "an arm without a run has the model of another"

    # The labels' score decides, of the test set; a sweep chooses by that of the validation set.
    has primary_measure '"accuracy"'
    has predictions.split '"test"'
    has sweep.measure '"accuracy"'
    has sweep.chosen.scratch.learning_rate 0.02
    i=0
    for values in 1e-9,epochs=1 1e-9,epochs=6 0.02,epochs=1 0.02,epochs=6; do
        same "$(last "arms/sweep/learned,learning_rate=$values-1000001" evaluation.labels.accuracy)" sweep.scores.$i.mean
        i=$((i + 1))
    done
    for seed in 1 2; do
        same "$(last arms/rope-$seed evaluation.test.labels.accuracy)" arms.1.runs.$((seed - 1)).accuracy
    done
    [ "$(wc -l <arms/rope-1/predictions.tsv)" = "$(($("$json_get" predictions.examples <out) + 1))" ] ||
        complain "the predictions kept are not those of the test set"

    # The baselines, as `rotary data` has them, in table, page and CSV.
    majority=$("$json_get" predictions.baselines.majority <out)
    does 0 data classification $sst --rows 1 --baselines --json
    "$json_get" baselines.test.majority.accuracy <out |
        awk -v wanted="$majority" '{ d = 100 * $1 - wanted; exit !(d * d < 1e-6) }' || complain "another majority"
    does 0 report arms
    grep -q '^majority  *-  *[0-9.]*$' out || complain "no majority in the table"
    grep -q '^bag of words  *-  *100.0$' out || complain "no bag of words in the table"
    grep -q '^scratch - bag of words, mean of 2 runs: .*over examples \[' out || complain "no interval beside a baseline"
    grep -q 'bag of words</th><td>–</td><td>100.0</td>' arms/report.html || complain "no baseline on the page"
    does 0 report arms --csv --rows arms
    grep -q '^accuracy,bag of words,,,100,,,,,,,$' out || complain "no baseline in the CSV"

    packed_alike arms

    # Called again, it trains nothing; other predictions than those that were scored are noticed.
    fingerprint arms >kept
    does 0 $begin
    fingerprint arms | grep -v report.html >again
    grep -v report.html kept | cmp -s - again || complain "a rerun of a finished comparison changes it"
    awk -F'\t' -v OFS='\t' 'NR == 2 { $3 = 1 - $3 } { print }' arms/rope-1/predictions.tsv >other
    mv other arms/rope-1/predictions.tsv
    does 0 report arms
    says "no baselines: the score of arms/rope-1/predictions.tsv is"
    packed_alike arms

    # A low-rank adaptation trains A, B and the head; its merged weights are a model like any other.
    lora="train classification --init pretrained/rope $training $sst --set lora_rank=2 --set epochs=0 --steps 2"
    does 0 $lora --out adapted
    for tensor in moment1.layers.0.attention.value.lora_B.weight layers.0.attention.query.base_layer.weight moment1.classifier.weight; do
        head -c 8192 adapted/optimizer.safetensors | grep -aqF "\"$tensor\"" || complain "an adaptation has no $tensor"
    done
    head -c 8192 adapted/optimizer.safetensors | grep -aqF '"moment1.embedding.weight"' && complain "an adaptation trains the embedding"
    does 0 evaluate adapted
    refuses 2 "init names none" train classification $fine $sst --set lora_rank=2 --out none
    refuses 2 "lora_alpha is 4" train classification --init pretrained/rope $training $sst --set lora_alpha=4 --out none
    refuses 2 "did you mean \"query\"" $lora --set lora_targets=qeury --out none

    # The same task: pre-training goes on.
    does 0 compare masked $training --set masked_data=text --set masked_boundary=line --set masked_validation= --set epochs=0 \
        --vary init=pretrained/learned,pretrained/rope --steps 2 --runs 1 --out more --json
    has arms.1.name '"rope"'
    refuses 2 "two arms have the name rope: wanted each value once, and folders" compare classification $training \
        --vary init=pretrained/rope,pretrained/../pretrained/rope --out none
    refuses 2 "which the comparison varies" compare classification $training --vary init=pretrained/rope --set init=pretrained/rope --out none

    # Runs that are compared without a comparison: by the folders that they begin with, which must not be taken for one.
    mkdir copied
    cp -r pretrained/rope copied
    for folder in pretrained/rope pretrained/learned copied/rope; do
        does 0 train classification --init $folder $training $sst --set position=rope --set epochs=0 --steps 2 --out "plain/$folder"
    done
    does 0 report plain/pretrained/rope plain/pretrained/learned --vary init --out page.html --json
    has arms.0.name '"rope"'
    has arms.1.name '"learned"'
    refuses 1 "differ in init, by which both are named rope" report plain/pretrained/rope plain/copied/rope --vary init --out page.html

    # Five datasets, one table.
    ROTARY=$rotary sh "$glue" data glue pretrained/learned pretrained/rope -- $training --set learning_rate=0.02 --set epochs=2 --runs 2 \
        >table 2>err || complain "scripts/glue fails"
    cp table out
    head -n 2 table | tr -s ' ' | tr '\n' '|' >heads
    grep -qx ' CoLA SST-2 MRPC STS-B RTE| matthews accuracy f1 spearman accuracy|' heads || complain "other columns"
    [ "$(sed '1,2d; s/  .*//' table | tr '\n' '|')" = "learned|rope|majority|bag of words|" ] || complain "other rows"
    [ "$(grep -c '^\(learned\|rope\)\(  *-*[0-9.]* ± [0-9.]*\)\{5\}$' table)" = 2 ] || complain "not a mean and an interval in each column"
    grep -q '^majority  *0.0 .*  -  ' table || complain "the majority has a correlation"
    mean=$(awk -F, '$1 == "f1" && $2 == "rope" { printf "%.1f", $5 }' glue/MRPC.csv)
    awk -v wanted="$mean" '$1 == "rope" { exit $8 != wanted }' table || complain "a cell is not the mean of its dataset: $mean"

    # The others are trained on where they are named.
    DATASETS="QNLI QQP MNLI" ROTARY=$rotary sh "$glue" data glue pretrained/learned -- $training --steps 1 --set epochs=0 --runs 1 \
        >table 2>err || complain "scripts/glue fails with other datasets"
    head -n 2 table | tr -s ' ' | tr '\n' '|' >heads
    grep -qx ' QNLI QQP MNLI| accuracy f1 accuracy|' heads || complain "other columns of other datasets"
    DATASETS=WNLI ROTARY=$rotary sh "$glue" data glue pretrained/learned 2>err && complain "scripts/glue takes any dataset"
    grep -q "there is no dataset WNLI, wanted CoLA" err || complain "another refusal of a dataset"
}
finish
