# SPDX-License-Identifier: Apache-2.0
# What the build takes for its commit (cmake/commit.cmake). Usage: commit.sh CMAKE SCRIPT
cmake=$1
script=$2
command -v git >/dev/null || { echo "git is missing"; exit 77; }
here=$(cd "$(mktemp -d)" && pwd -P) || exit 1
trap 'rm -rf "$here"' EXIT
unset GIT_DIR GIT_WORK_TREE
export GIT_CONFIG_NOSYSTEM=1 HOME="$here" GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
failed=0

# The text in the file that is written for a folder; $2: git.
commit_of() {
    "$cmake" -DSOURCE="$1" -DGIT="$2" -DOUTPUT="$here/commit.c" -P "$script" || failed=1
    sed -n 's/.*return "\(.*\)";/\1/p' "$here/commit.c"
}
wants() { # WHAT GOT WANTED
    [ "$2" = "$3" ] || { echo "$1: \"$2\", wanted \"$3\""; failed=1; }
}

git=$(command -v git)
mkdir -p "$here/tree/archive"
wants "outside a repository" "$(commit_of "$here/tree" "$git")" unknown
cd "$here/tree" && git init -q . && echo 1 >file && git add file && git commit -qm first || exit 1
first=$(git rev-parse HEAD)
wants "a commit" "$(commit_of "$here/tree" "$git")" "$first"
wants "without git" "$(commit_of "$here/tree" "")" unknown
wants "an archive inside another repository" "$(commit_of "$here/tree/archive" "$git")" unknown
git tag -a -m v1 v1
wants "with a tag" "$(commit_of "$here/tree" "$git")" "$first"
touch -d '2001-01-01' "$here/commit.c"
commit_of "$here/tree" "$git" >/dev/null
[ "$(date -r "$here/commit.c" +%Y)" = 2001 ] || { echo "the same commit is written anew"; failed=1; }
echo 2 >file
wants "with changes" "$(commit_of "$here/tree" "$git")" "$first-dirty"
git commit -qam second
wants "the next" "$(commit_of "$here/tree" "$git")" "$(git rev-parse HEAD)"
exit $failed
