#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# archives.sh ROTARY JSON_GET: runs packed into one file say what their folders say; what is no such file, or a damaged
# one, is refused and leaves nothing behind.
. "$(dirname "$0")/support.sh"
mkdir temporary
export TMPDIR=$scratch/temporary
# shellcheck disable=SC2086
does 0 compare index $tiny --steps 2 --runs 2 --out both
if ! "$rotary" report both --archive try.tar.gz >out 2>&1; then
    grep -q "built without zlib: install zlib1g-dev" out || complain "an archive cannot be written"
    exit 77
fi

# The archive and the folder have one name, in two places: all that is drawn of them is equal.
mkdir packed whole
mv both whole/both.tar.gz
does 0 report whole/both.tar.gz --archive packed/both.tar.gz
says "packed/both.tar.gz: 9 files, "
does 0 report whole/both.tar.gz --archive again.tar.gz --json
has files 9
has archive '"again.tar.gz"'
touch whole/both.tar.gz/rope-1/metrics.jsonl
does 0 report whole/both.tar.gz --archive again.tar.gz
cmp -s again.tar.gz packed/both.tar.gz || complain "equal files make another archive"
draw() {
    (cd "$1" && shift && "$rotary" report "$@" --out page.html && "$rotary" report "$@" --json --out page.html &&
        for rows in runs arms contrasts pairs; do "$rotary" report "$@" --csv --rows $rows --out page.html; done)
}
equal() {
    draw whole "$@" >first 2>err || complain "a folder has no report: $*"
    draw packed "$@" >second 2>err || complain "an archive has no report: $*"
    cmp -s first second || complain "an archive says other things than its folder: $*"
    cmp -s whole/page.html packed/page.html || complain "an archive has another page than its folder: $*"
}
equal both.tar.gz
equal both.tar.gz/rope-1 both.tar.gz/roper-1/
# What is not read again is not in it, and `tar` unpacks the rest.
tar -xzf packed/both.tar.gz && mv both.tar.gz both
[ "$(cd both && find . -type f | wc -l)" = 9 ] || complain "tar does not unpack nine files"
for file in $(cd both && find . -type f); do
    cmp -s "both/$file" "whole/both.tar.gz/$file" || complain "$file is another"
    case $file in *.json | *.jsonl) ;; *) complain "$file is in an archive" ;; esac
done
# A finished run without weights is finished: comparing goes on with those that are missing, and changes no other.
cp -r both longer
# shellcheck disable=SC2086
does 0 compare index $tiny --steps 2 --runs 3 --out longer
grep -q "roper, seed 2 (4 of 6): finished before" err && grep -q "roper, seed 3 (6 of 6): step 2:" err ||
    complain "what is missing is not what is trained"
for file in $(cd both && find rope*); do
    [ -d "both/$file" ] || cmp -s "both/$file" "longer/$file" || complain "$file was trained again"
done
[ ! -e longer/rope-1/model.safetensors ] || complain "rope-1 was trained again"
# Of one run weights are wanted, and there are none to go on from: it says so.
does 0 train index --resume --out longer/rope-1
grep -qx 'metrics.jsonl has lines up to step 2, but there is no checkpoint: training begins at the first step' err ||
    complain "a run begins anew and does not say so"
[ -s longer/rope-1/model.safetensors ] || complain "a run that begins anew has no weights"
# The page goes beside the archive.
does 0 report packed/both.tar.gz
says "packed/both.html"
cp packed/both.tar.gz here.tar.gz
does 0 report here.tar.gz --json
has report '"here.html"'
has arms.0.runs.0.folder '"here.tar.gz/rope-1"'
does 0 report here.tar.gz/rope-1 --json
has report '"here-rope-1.html"'
# A folder that has none but in its folders names one of them.
mkdir -p above/none
cp -r both above/both
refuses 1 "above holds neither a run nor a comparison, but folders that do: wanted one of them, such as above/both" report above
does 0 report above --archive above.tar.gz
refuses 1 "above.tar.gz holds neither a run nor a comparison, but folders that do: wanted one of them, such as above.tar.gz/both" report above.tar.gz
# A folder of runs, packed or not, stands for its runs.
mkdir -p apart/sub
mv both/rope-1 both/roper-1 apart
mv both/rope-2 apart/sub
does 0 report apart --csv
[ "$(wc -l <out)" = 3 ] || complain "a folder of two runs does not stand for them"
does 0 report apart --archive apart.tar.gz
says ": 6 files, "
does 0 report apart.tar.gz --csv
[ "$(wc -l <out)" = 3 ] || complain "an archive of two runs does not stand for them"
does 0 report apart.tar.gz/sub/rope-2 --csv
grep -q ',apart.tar.gz/sub/rope-2$' out || complain "a run below a folder is not found"
refuses 1 "apart.tar.gz/absent holds neither a run nor a comparison" report apart.tar.gz/absent

# However it was packed.
for format in ustar gnu pax v7; do
    tar --format=$format -C apart -cf other.tar . 2>err || continue
    case $format in
    v7) refuses 1 "other.tar is not an archive of runs" report other.tar ;;
    *) does 0 report other.tar --csv && { [ "$(wc -l <out)" = 3 ] || complain "tar's format $format is not read"; } ;;
    esac
done
gzip -c other.tar >other.tar.gz
tar --format=ustar -cf other.tar apart
does 0 report other.tar

# Outputs.
fingerprint whole >kept
cp packed/both.tar.gz kept.tar.gz
refuses 1 "would replace" report packed/both.tar.gz --out packed/both.tar.gz
refuses 1 "would replace" report packed/both.tar.gz/rope-1 --out ./packed/both.tar.gz
cmp -s packed/both.tar.gz kept.tar.gz || complain "a page replaces its archive"
ln -s both.tar.gz/rope-1/config.json whole/link.tar.gz
refuses 1 "would replace" report whole/both.tar.gz --archive whole/link.tar.gz
rm whole/link.tar.gz whole/page.html
sed -i '/page.html/d' kept
fingerprint whole | cmp -s - kept || complain "an archive replaces a file of a run"
refuses 2 "--archive is \"x.zip\", wanted a name that ends in .tar.gz" report apart --archive x.zip
refuses 2 "--archive and --out are both given" report apart --archive x.tar.gz --out x.html
refuses 2 "--archive and --csv are both given" report apart --archive x.tar.gz --csv
refuses 2 "--archive packs one folder, got 2" report apart/rope-1 apart/roper-1 --archive x.tar.gz
refuses 1 "temporary holds neither a run nor a comparison" report temporary --archive x.tar.gz
refuses 1 "apart.tar.gz is a file, wanted a run's folder; \`tar -xf\`" report apart.tar.gz --archive x.tar.gz
[ ! -e x.tar.gz ] || complain "a refused archive is written"

# What trains, or wants weights.
cp apart.tar.gz before
# shellcheck disable=SC2086
for command in "train index $tiny --steps 1 --out" "train index --resume --out" "compare index $tiny --steps 1 --out" \
    evaluate "decay" "heatmap --text a" "generate --prompt a"; do
    refuses 1 "apart.tar.gz/rope-1 is below a file, wanted a run's folder; \`tar -xf\` unpacks" $command apart.tar.gz/rope-1
done
# shellcheck disable=SC2086
refuses 1 "apart.tar.gz is a file, wanted" compare index $tiny --steps 1 --out apart.tar.gz
cmp -s apart.tar.gz before || complain "an archive is changed"

# Damaged, and made by somebody who means ill. Each is one line that names the archive.
head -c 300 packed/both.tar.gz >cut.tar.gz
refuses 1 "cut.tar.gz is truncated" report cut.tar.gz
head -c 5000 other.tar >cut.tar
refuses 1 "cut.tar is truncated" report cut.tar
{
    head -c 400 packed/both.tar.gz
    printf wrong
    tail -c +406 packed/both.tar.gz
} >bad.tar.gz
refuses 1 "bad.tar.gz is damaged" report bad.tar.gz
{ printf x && tail -c +2 other.tar; } >bad.tar
refuses 1 "bad.tar is damaged: a header does not match its checksum" report bad.tar
{ cat other.tar && echo more; } >more.tar
refuses 1 "more.tar has bytes after its end" report more.tar
: >empty.tar
refuses 1 "empty.tar is not an archive of runs" report empty.tar
echo text >text.tar.gz
refuses 1 "text.tar.gz is damaged" report text.tar.gz
head -c 10240 /dev/zero >none.tar
refuses 1 "none.tar holds no files of runs" report none.tar
fill() {
    rm -f ill.tar
    tar --format=ustar -P "$@" -cf ill.tar apart/rope-1/config.json
}
fill --transform 's,^apart,../../apart,'
refuses 1 "ill.tar: \"../../apart/rope-1/config.json\" is no name within a folder" report ill.tar
fill --transform "s,^apart,/apart,"
refuses 1 "ill.tar: \"/apart/rope-1/config.json\" is no name" report ill.tar
fill --transform 's,rope-1,..,'
refuses 1 "ill.tar: \"apart/../config.json\" is no name" report ill.tar
rm ill.tar
tar --format=ustar -cf ill.tar apart/rope-1
tar --format=ustar -rf ill.tar apart/rope-1/config.json
refuses 1 "ill.tar has apart/rope-1/config.json twice" report ill.tar
ln -s /etc/passwd apart/link
mkdir apart/ill
ln -s ../rope-1/metrics.jsonl apart/ill/config.json
tar --format=ustar -cf ill.tar apart/ill
refuses 1 "ill.tar: apart/ill/config.json is neither a file nor a folder (its type is \"2\")" report ill.tar
long=$(printf '%0120d' 0)
mkdir "apart/$long"
cp apart/rope-1/config.json "apart/$long"
for format in gnu pax; do
    tar --format=$format -cf ill.tar "apart/$long"
    refuses 1 "wanted files as \`tar --format=ustar\` packs them" report ill.tar
done
rm -r "apart/${long:?}" apart/link apart/ill
mkdir large
truncate -s 1100M large/metrics.jsonl
tar --format=ustar -cf - large 2>err | head -c 100000 >ill.tar
refuses 1 "ill.tar holds more than 100000 files or 1073741824 bytes" report ill.tar
# A file within it that is wrong is named by its archive.
sed '2s/loss/lost/' apart/rope-1/metrics.jsonl >changed
mv changed apart/rope-1/metrics.jsonl
tar --format=ustar -czf wrong.tar.gz apart
refuses 1 "wrong.tar.gz/rope-1/metrics.jsonl, line 2: it does not match its checksum" report wrong.tar.gz
TMPDIR=$scratch/nowhere
refuses 1 "cannot unpack here.tar.gz in $TMPDIR: No such file or directory" report here.tar.gz
export TMPDIR=$scratch/temporary

# Interrupted while it unpacks, it removes what it has.
truncate -s 100M large/metrics.jsonl
cp both/rope-2/config.json large 2>/dev/null || cp apart/sub/rope-2/config.json large
tar --format=ustar -czf large.tar.gz large
for signal in INT TERM; do
    "$rotary" report large.tar.gz >out 2>err </dev/null &
    while [ -z "$(ls temporary)" ] && kill -0 $! 2>/dev/null; do :; done
    kill -$signal $! 2>/dev/null
    wait $!
    [ $? -lt 128 ] || grep -q "interrupted" err || complain "$signal ends a report without a word"
    [ -z "$(ls temporary)" ] || complain "$signal leaves what was unpacked"
done

[ -z "$(ls temporary)" ] || complain "something stays in TMPDIR: $(ls temporary)"
finish
