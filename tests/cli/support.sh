# SPDX-License-Identifier: Apache-2.0
# Read by the tests of the program: `. support.sh ROTARY JSON_GET`. Runs in a folder of its own, gone at the end.
set -u
rotary=$(realpath "$1")
json_get=$(realpath "$2")
scratch=$(mktemp -d)
# With a trap that ends the shell, a killed test cleans up too.
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' INT TERM
cd "$scratch" || exit 1
failures=0
# What a developer has set for himself is no part of a test.
unset ROTARY_ISA
export LC_ALL=C

complain() {
    echo "FAILED: $*"
    failures=$((failures + 1))
    [ ! -s "$scratch/out" ] || sed 's/^/  out: /' "$scratch/out"
    [ ! -s "$scratch/err" ] || sed 's/^/  err: /' "$scratch/err"
}

# does STATUS ARGUMENTS...: rotary exits with STATUS; its output is in the files out and err.
does() {
    wanted=$1
    shift
    "$rotary" "$@" >"$scratch/out" 2>"$scratch/err" </dev/null
    got=$?
    [ $got = "$wanted" ] || complain "rotary $*: exit status $got, wanted $wanted"
    [ $got = "$wanted" ]
}

# refuses STATUS TEXT ARGUMENTS...: rotary exits with STATUS, prints nothing on stdout, and on stderr a first line that
# begins with "rotary: " and contains TEXT. With status 1 that is the only line; with 2, help follows.
refuses() {
    status=$1 text=$2
    shift 2
    does "$status" "$@" || return 0
    [ ! -s "$scratch/out" ] || complain "rotary $*: prints results"
    # How far training came before it failed is no complaint.
    sed -i '/step [0-9]* of [0-9]* /d; / seeds find a difference of /d; /step [0-9]*: .* of tokens correct$/d' "$scratch/err"
    first=$(head -n 1 "$scratch/err")
    case $first in
    "rotary: "*"$text"*) ;;
    *) complain "rotary $*: does not say \"$text\"" ;;
    esac
    lines=$(wc -l <"$scratch/err")
    case $status in
    1) [ "$lines" = 1 ] || complain "rotary $*: says $lines lines, wanted one" ;;
    2) [ "$lines" -ge 2 ] || complain "rotary $*: shows no help that mends it" ;;
    esac
    if tail -n +2 "$scratch/err" | grep -q '^rotary: '; then
        complain "rotary $*: complains more than once"
    fi
}

# documents NAME COUNT: paragraphs of a few lines of words that follow one another by a rule.
documents() {
    awk -v n="$2" 'BEGIN {
        split("the cat dog sees old red tree by a river and sleeps", words, " ")
        for (x = n; n > 0; n--) {
            for (line = n % 4; line >= 0; line--) {
                for (i = 0; i < 6; i++) { x = (x * 1103 + 12345) % 65536; printf "%s ", words[1 + int(x / 64) % 12] }
                print "."
            }
            print ""
        }
    }' >"$1"
}

# says TEXT: the last output has it.
says() {
    grep -qF -- "$1" "$scratch/out" || complain "no \"$1\" on stdout"
}

# has PATH VALUE: the last output is one JSON object with VALUE at PATH.
has() {
    value=$("$json_get" "$1" <"$scratch/out" 2>&1) || complain "no $1 in the JSON: $value"
    [ "$value" = "$2" ] || complain "$1 is $value, wanted $2"
}

# fingerprint FOLDER: names and contents of all there is in it.
fingerprint() {
    (cd "$1" && find . -type f | sort | xargs -r sha256sum)
}

# packed_alike FOLDER: an archive of it says what it says itself, where archives can be written.
packed_alike() {
    does 0 report "$1" --json --out page.html
    cp "$scratch/out" unpacked
    ! "$rotary" report "$1" --archive "$1.tar.gz" >/dev/null 2>&1 || does 0 report "$1.tar.gz" --json --out page.html
    sed "s,$1\.tar\.gz,$1," "$scratch/out" | cmp -s - unpacked || complain "an archive of $1 says other things than it"
}

# A model so small that a run takes no time; tiny_prefix for the task prefix, which has no problems.
tiny_prefix="--set hidden_size=16 --set num_attention_heads=2 --set num_key_value_heads=2 --set num_hidden_layers=1
 --set intermediate_size=32 --set sequence_length=64 --set batch_size=2 --set validation_sequences=2
 --set log_every=1 --set warmup_steps=1"
tiny="$tiny_prefix --set problems=4"

# Real numbers have as many digits in JSON as the longest of them wants, and the longest may be a time.
rounded() {
    awk '{
        line = ""
        while (match($0, /[0-9]+\.[0-9]+(e-?[0-9]+)?/)) {
            line = line substr($0, 1, RSTART - 1) sprintf("%.12g", substr($0, RSTART, RLENGTH))
            $0 = substr($0, RSTART + RLENGTH)
        }
        print line $0
    }'
}

# npy FILE SHAPE BYTES: zeros in f32.
npy() {
    rm -f "$1"
    header="{'descr': '<f4', 'fortran_order': False, 'shape': $2}"
    # shellcheck disable=SC2059 # octal escapes are made
    printf "\\223NUMPY\\001\\000\\$(printf %03o ${#header})\\000$header" >"$1"
    truncate -s $((10 + ${#header} + $3)) "$1"
}

finish() {
    [ $failures = 0 ] && echo "all as it should be"
    [ $failures = 0 ]
    exit $?
}
