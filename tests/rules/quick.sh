#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# quick.sh TIME_LIMIT: the program that every test labelled quick runs under fails a test that computes for too long,
# itself or by a program that it runs, lets one pass that waits, and exits as the test does otherwise.
set -u
limit=$1 failures=0

# expect STATUS ABOUT COMMAND...
expect() {
    wanted=$1 about=$2
    shift 2
    "$limit" 0.1 "$@" >/dev/null 2>&1
    got=$?
    [ $got = "$wanted" ] || { echo "$about: exit status $got, wanted $wanted"; failures=1; }
}

computes='i=0; while [ $i -lt 400000 ]; do i=$((i + 1)); done'
expect 0 "a test that does nothing" true
expect 0 "a test that waits for longer than the limit" sleep 0.3
expect 1 "a test that computes for too long" sh -c "$computes"
expect 1 "a test whose program computes for too long" sh -c "sh -c '$computes'; true"
expect 1 "a test that fails" false
expect 77 "a test that is skipped" sh -c 'exit 77'
expect 77 "a test that is skipped after a while" sh -c "$computes; exit 77"
expect 1 "a test that a signal ends" sh -c 'kill -SEGV $$'
expect 127 "a test that is not there" ./no/such/program
exit $failures
