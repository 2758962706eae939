# SPDX-License-Identifier: Apache-2.0
# Folders and files that may not be read or written: one line names the place and the reason. Nothing stops root, so that
# root runs the program as nobody.
. "$(dirname "$0")/support.sh"
program=$rotary
as_nobody() {
    setpriv --reuid=65534 --regid=65534 --clear-groups "$program" "$@"
}
npy good.npy '(3, 8)' 96
echo '{"head_dim": 8, "rope_theta": 100.0, "num_attention_heads": 1}' >good.json
# shellcheck disable=SC2086 # a list of words
{
    does 0 train index $tiny --steps 2 --out good
    does 0 compare index $tiny --steps 2 --runs 1 --out both
}
if [ "$(id -u)" = 0 ]; then
    chown -R 65534:65534 .
    chmod 755 .
    as_nobody frequencies --config good.json >out 2>err ||
        { echo "skipped: root cannot run the program as another user"; exit 77; }
    rotary=as_nobody
fi

cp -rp good closed
cp -rp good unreadable
cp -rp good fixed
cp -rp both part
cp -rp both whole
mkdir blind
cp -p good.json good.npy blind
chown --reference=good blind
chmod 000 closed unreadable/config.json part/rope-1 blind
chmod 555 fixed
chmod 000 whole

for command in "report closed" "evaluate closed" "generate closed --prompt x" "train index --resume --out closed"; do
    # shellcheck disable=SC2086
    refuses 1 "cannot look at closed/config.json: Permission denied" $command
done
for command in report evaluate "train index --resume --out"; do
    # shellcheck disable=SC2086
    refuses 1 "cannot open unreadable/config.json: Permission denied" $command unreadable
done
refuses 1 "cannot look at part/rope-1/config.json: Permission denied" report part
refuses 1 "cannot look at whole/config.json: Permission denied" report whole
refuses 1 "cannot open blind/good.json: Permission denied" frequencies --config blind/good.json
refuses 1 "cannot open blind/good.npy: Permission denied" apply --config good.json --input blind/good.npy --output out.npy

# shellcheck disable=SC2086
{
    refuses 1 "cannot write to the folder closed: Permission denied" train index $tiny --steps 2 --out closed
    refuses 1 "cannot make the folder closed/below: Permission denied" train index $tiny --steps 2 --out closed/below
    refuses 1 "closed/compare.json: Permission denied" compare index $tiny --steps 2 --runs 1 --out closed
    refuses 1 "closed/below/compare.json: Permission denied" compare index $tiny --steps 2 --runs 1 --out closed/below
    for command in "train index" "compare index --runs 1"; do
        refuses 1 "cannot make the folder fixed/below: Permission denied" $command $tiny --steps 2 --out fixed/below
    done
}
refuses 1 "cannot write to the folder fixed: Permission denied" train index --resume --steps 3 --out fixed
refuses 1 "cannot create fixed/report.html.partial: Permission denied" report fixed
refuses 1 "cannot create closed/page.html.partial: Permission denied" report good --out closed/page.html
refuses 1 "cannot create closed/out.npy.partial: Permission denied" apply --config good.json --input good.npy --output closed/out.npy
refuses 1 "cannot create closed/curve.svg.partial: Permission denied" decay --config good.json --picture closed/curve.svg

# A folder that may be written to and not be listed is good enough for a result.
cp -rp good drop
chmod 333 drop
does 0 report good --out drop/page.html
chmod 755 drop
[ -s drop/page.html ] || complain "no page in a folder that cannot be listed"

# The reason is shown with a path of any length.
long=$(printf '%0240d/' 1 2 3 4 5 6 7 8 9)
refuses 1 "...: No such file or directory" frequencies --config "$long"
refuses 1 "...: No such file or directory" decay --config good.json --picture "$long"
refuses 1 "File name too long" frequencies --config "$(printf %0300d 1)"
chmod -R u+rwx .
finish
