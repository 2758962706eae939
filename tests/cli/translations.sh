# SPDX-License-Identifier: Apache-2.0
# Training and evaluating translations of a small corpus, comparing them, and the speed of their training.
. "$(dirname "$0")/support.sh"

# pairs NAME COUNT: sentences of one to five words, and the same words in capitals.
pairs() {
    awk -v n="$2" 'BEGIN {
        split("ja nein du er wir ihr gut rot tag weg", words, " ")
        for (x = n; n > 0; n--) {
            x = (x * 1103 + 12345) % 65536
            line = words[1 + x % 10]
            for (i = x % 5; i > 0; i--) { x = (x * 1103 + 12345) % 65536; line = line " " words[1 + int(x / 64) % 10] }
            print line
        }
    }' >"$1.de"
    tr a-z A-Z <"$1.de" >"$1.en"
}
pairs train 80
pairs val 9
pairs test 7
small="--set translation_data=. --set translation_test=test --set hidden_size=16 --set num_attention_heads=2
 --set num_hidden_layers=1 --set num_encoder_layers=1 --set batch_tokens=40 --set average_checkpoints=2
 --set checkpoint_every=10 --set evaluate_every=10 --set warmup_steps=5 --set translation_lowercase=false"

# shellcheck disable=SC2086
{
    does 0 train translation $small --set epochs=4 --out run --json
    has evaluation.translated 9
    has evaluation.test.translated 7
    bleu=$("$json_get" evaluation.test.bleu <out)
    [ "$(wc -l <run/translations.txt)" = 7 ] || complain "translations.txt has not a line for each test sentence"
    steps=$("$json_get" steps <out)
    [ "$steps" -gt 20 ] || complain "four epochs are $steps steps"

    # What was recorded at the end is what evaluating the averaged weights gives.
    does 0 evaluate run --checkpoint average --split test --json
    has evaluation.translated 7
    has split '"test"'
    [ "$("$json_get" evaluation.bleu <out | cut -c 1-8)" = "$(echo "$bleu" | cut -c 1-8)" ] ||
        complain "evaluate finds another BLEU than $bleu"
    does 0 evaluate run --checkpoint average --json
    has evaluation.translated 9
    does 0 evaluate run --split test --problems 3 --show 2
    says "BLEU"
    says "of 3 sentences"
    [ "$(grep -c '^translation  ' out)" = 2 ] || complain "--show 2 does not show two translations"
    refuses 2 "--temperature: evaluation translates greedily" evaluate run --temperature 1

    # More epochs, and other data than the run's.
    does 0 train translation --resume --out run --set epochs=6 --json
    [ "$("$json_get" steps <out)" -gt "$steps" ] || complain "six epochs are no more steps than four"
    refuses 2 "steps does nothing with epochs 4: wanted epochs 0, or no steps" train translation $small --set epochs=4 --set steps=7 --out other
    refuses 2 "batch_size is 3, which does nothing with batch_tokens 40" train translation $small --set batch_size=3 --out other
    refuses 2 "validation_sequences is 3" train translation $small --set validation_sequences=3 --out other
    refuses 2 "--steps and --set epochs=4 are given" train translation $small --steps 20 --set epochs=4 --out other
    does 0 train translation $small --steps 20 --set problems=2 --out fixed --json
    has steps 20
    grep -q '"step":10,"evaluation":.*"translated":2' fixed/metrics.jsonl || complain "problems=2 translates other than two sentences"

    # BLEU decides; exact match is no measure of translations.
    does 0 compare translation $small --set epochs=2 --set average_checkpoints=1 --positions sinusoidal,rope,roper --runs 2 --out all --json
    has primary_measure '"bleu"'
    has measures.1 '"validation_loss"'
    has arms.2.name '"roper"'
    does 0 report all --csv
    says ",bleu,"
    grep -q "steps_to_90\|exact_match" out && complain "translations are compared by exact match"
    grep -q "BLEU, test" all/report.html || complain "the page has no BLEU"
    refuses 1 "all is the folder of a comparison, wanted one of its runs: sinusoidal-1, rope-1, roper-1, sinusoidal-2" translate all

    # The paired bootstrap over sentences, of every pair and of their mean, and translations side by side.
    does 0 report all --json
    has sentences.sentences 7
    has sentences.split '"test"'
    has sentences.fault null
    has signature '"nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0+rotary.0.1.0"'
    "$json_get" contrasts.1.sentences.pairs.1.high <out >/dev/null || complain "a pair has no interval over sentences"
    [ "$("$json_get" contrasts.1.sentences.mean.mean <out | cut -c 1-9)" = "$("$json_get" contrasts.1.measures.bleu.mean <out | cut -c 1-9)" ] ||
        complain "the mean over the pairs of the bootstrap is not that of BLEU"
    does 0 report all
    says "paired bootstrap over the 7 sentences of the test set"
    says "  seed 2: "
    for text in "Paired bootstrap over the 7 sentences" "<h2>Translations</h2>" "case:mixed" "rotary heatmap all --input FILE"; do
        grep -q "$text" all/report.html || complain "the page does not say $text"
    done
    packed_alike all
    # The page links that of the heatmaps where `rotary heatmap` puts it.
    does 0 heatmap all --arms sinusoidal,rope --input test.de --target test.en
    does 0 report all
    grep -q 'href="heatmap/heatmap.html"' all/report.html || complain "the page has no link to the heatmaps"
    # A test set that has changed is no longer that of the runs: the rest is shown without it.
    cp test.en kept.en
    sed 1d kept.en >test.en
    does 0 report all
    says "no paired bootstrap over sentences: "
    grep -q "No paired bootstrap over sentences: .*test.en" all/report.html || complain "the page does not say what is wrong"
    mv kept.en test.en

    # Other text than that of the runs is refused, but that of training is not needed to evaluate.
    mv train.en kept.en
    does 0 evaluate run --split test
    { sed 1d kept.en && echo "EIN ANDERES"; } >train.en
    does 0 evaluate run --split test
    refuses 1 "the training text of the task translation has the hash" train translation --resume --out run --set epochs=9
    refuses 1 "in all/sinusoidal-1/config.json: wanted the lines that the run began with" compare translation $small --set epochs=2 --set average_checkpoints=1 --positions sinusoidal,rope,roper --runs 3 --out all
    mv kept.en train.en
    mv val.en kept.en
    sed 's/^./X/' kept.en >val.en
    refuses 1 "the validation text of the task translation has the hash" evaluate run
    mv kept.en val.en

    # A sweep chooses by the validation set: the test set judges.
    does 0 compare translation $small --set epochs=4 --sweep learning_rate=0.01,0.02 --sweep-runs 1 --positions rope --runs 2 --out swept
    tail -n 1 "swept/sweep/rope,learning_rate=0.02-1000001/metrics.jsonl" >last.json
    score=$("$json_get" sweep.scores.1.mean <swept/compare.json)
    [ "$score" = "$("$json_get" evaluation.bleu <last.json)" ] || complain "a sweep's score $score is not BLEU of the validation set"
    [ "$score" != "$("$json_get" evaluation.test.bleu <last.json)" ] || complain "both sets have BLEU $score: nothing was tested"

    does 0 bench train --task translation --preset quick $small --steps 1
}
does 0 evaluate all/rope-1 --split test
finish
